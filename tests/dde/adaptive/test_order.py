"""Steps of one length: halving them divides the error by two to the order, kinks or not."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from benchmarks.dde.switched_systems import EMPTIED, FOLDED, RENO_RED, WALLS
from benchmarks.dde.systems import BY_STATE, EXPONENTIAL, LINEAR, System
from tests.dde.adaptive.families import Family
from tests.dde.adaptive.solving import AT_STEPS, answer, solved, stepped

BOSH3, TSIT5, DOPRI5 = diffrax.Bosh3(), diffrax.Tsit5(), diffrax.Dopri5()
BY_BOSH3 = Family(EXPONENTIAL, LINEAR, EMPTIED)
SLOW = pytest.mark.slow


def error_of(system: System, solver, *, family=None, t1=None):
    """Largest error at times most of which lie between steps, as a function of the step."""
    known = answer(system, t1)[1]

    def error(step):
        solution, ys = stepped(family or AT_STEPS, system, solver, step=step, t1=t1)
        assert solution.result == 0
        return (np.abs(ys - known).max(0) / np.abs(known).max(0)).max()

    return error


def measured_order(error, coarse, halvings=2):
    """The mean order over some halvings of the step."""
    first, last = error(coarse), error(coarse / 2**halvings)
    return math.log2(first / last) / halvings


def names(value):
    return getattr(value, "name", type(value).__name__)


@pytest.mark.parametrize(
    ("system", "solver", "family", "coarse", "order"),
    [
        (EXPONENTIAL, diffrax.Euler(), Family(EXPONENTIAL), 1 / 32, 1),
        pytest.param(EXPONENTIAL, diffrax.Heun(), Family(EXPONENTIAL), 1 / 16, 2, marks=SLOW),
        pytest.param(EXPONENTIAL, BOSH3, BY_BOSH3, 1 / 8, 3, marks=SLOW),
        (EXPONENTIAL, TSIT5, AT_STEPS, 1 / 8, 5),
        pytest.param(EXPONENTIAL, DOPRI5, Family(EXPONENTIAL), 1 / 8, 5, marks=SLOW),
        (BY_STATE, TSIT5, AT_STEPS, 1 / 12, 5),
    ],
    ids=names,
)
def test_smooth_solution_has_the_order_of_the_method(system, solver, family, coarse, order):
    """Also between the steps: the error of the dense output is of the same order."""
    error = error_of(system, solver, family=family)
    assert measured_order(error, coarse) == pytest.approx(order, abs=0.2)


@pytest.mark.parametrize(
    ("system", "solver", "family", "coarse", "order"),
    [
        (LINEAR, BOSH3, BY_BOSH3, 0.11, 3),
        (FOLDED, TSIT5, AT_STEPS, 0.31, 5),
        (EMPTIED, BOSH3, BY_BOSH3, 0.11, 3),
        (EMPTIED, TSIT5, AT_STEPS, 0.31, 5),
        # In longer steps a wall is met and left.
        pytest.param(WALLS, TSIT5, Family(WALLS), 0.155, 5, marks=SLOW),
    ],
    ids=names,
)
def test_kinks_do_not_lower_the_order(system, solver, family, coarse, order):
    """No step divides the lags or the times of the kinks: they are landed on."""
    error = error_of(system, solver, family=family)
    assert measured_order(error, coarse, halvings=3) == pytest.approx(order, abs=0.3)


def test_tsit5_is_exact_on_the_polynomials_of_delayed_decay():
    """The solution is a polynomial of degree 4 up to t = 4, if 1, 2 and 3 are landed on."""
    error = error_of(LINEAR, TSIT5, t1=4.0)
    assert error(0.37) < 1e-14


END = 15.0


def reno_over_red(system: System, **options):
    """The largest error in Reno over RED until END, as a function of the step."""
    ts, known = answer(RENO_RED, END)

    @jax.jit
    def run(step):
        return solved(
            system, TSIT5, t1=END, dt0=step, saveat=diffrax.SaveAt(ts=jnp.asarray(ts)),
            stepsize_controller=diffrax.ConstantStepSize(), **options,
        ).ys  # fmt: skip

    def error(step):
        wrong = np.abs(np.asarray(run(jnp.asarray(step))) - known).max(0)
        return (wrong / np.abs(known).max(0)).max()

    return error


def kinks_in_the_equation(system: System):
    """Options and right-hand side that compare and project where the system has events."""

    def rhs(t, y, history, args):
        return system.rhs(t, y, history, args, system.guards(t, y, history, args) >= 0)

    ((queue, least, _),) = system.bounds

    def project(y, args):
        return y.at[queue].max(least)

    return rhs, {"bounds": (), "guards": None, "project": project}


@pytest.mark.slow
def test_reno_over_red_keeps_a_high_order():
    """Clamps, switches, a lag by the state and breaking points, all at once.

    Some 40 events shift with the steps, so single ratios scatter; the benchmark fits the order.
    """
    error = reno_over_red(RENO_RED)
    found = [error(0.04 / 2**k) for k in range(4)]
    assert all(finer < coarser / 8 for coarser, finer in itertools.pairwise(found))
    assert math.log2(found[0] / found[-1]) / 3 > 4.3


@pytest.mark.slow
def test_without_events_the_order_on_reno_over_red_is_lost():
    """The test above can fail: comparisons and projections in the equation cost the order."""
    rhs, options = kinks_in_the_equation(RENO_RED)
    error = reno_over_red(replace(RENO_RED, rhs=rhs), **options)
    assert measured_order(error, 0.02) < 3
