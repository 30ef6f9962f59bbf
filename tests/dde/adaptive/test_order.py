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

from tests.dde.adaptive.solving import answer, solved
from tests.dde.switched_systems import EMPTIED, FOLDED, RENO_RED, WALLS
from tests.dde.systems import BY_STATE, EXPONENTIAL, LINEAR, System

BOSH3, TSIT5, DOPRI5 = diffrax.Bosh3(), diffrax.Tsit5(), diffrax.Dopri5()


def sweep_of_steps(system: System, solver, *, t1=None, count=101, **options):
    """Largest error at times most of which lie between steps, as a function of the step."""
    ts, _ = answer(system, t1, count)

    @jax.jit
    def run(step):
        saveat = diffrax.SaveAt(ts=jnp.asarray(ts))
        return solved(
            system,
            solver,
            t1=t1,
            dt0=step,
            saveat=saveat,
            stepsize_controller=diffrax.ConstantStepSize(),
            **options,
        ).ys

    def error(step):
        known = answer(system, t1, count)[1]
        wrong = np.abs(np.asarray(run(jnp.asarray(step))) - known).max(0)
        return (wrong / np.abs(known).max(0)).max()

    return error


def measured_order(error, coarse, halvings=2):
    """The mean order over some halvings of the step."""
    first, last = error(coarse), error(coarse / 2**halvings)
    return math.log2(first / last) / halvings


@pytest.mark.parametrize(
    ("system", "solver", "coarse", "order"),
    [
        (EXPONENTIAL, BOSH3, 1 / 8, 3),
        (EXPONENTIAL, TSIT5, 1 / 8, 5),
        (EXPONENTIAL, DOPRI5, 1 / 8, 5),
        (BY_STATE, TSIT5, 1 / 12, 5),
    ],
    ids=lambda value: getattr(value, "name", type(value).__name__),
)
def test_smooth_solution_has_the_order_of_the_method(system, solver, coarse, order):
    """Also between the steps: the error of the dense output is of the same order."""
    assert measured_order(sweep_of_steps(system, solver), coarse) == pytest.approx(order, abs=0.2)


@pytest.mark.parametrize(
    ("system", "solver", "coarse", "order"),
    [
        (LINEAR, BOSH3, 0.11, 3),
        (FOLDED, TSIT5, 0.31, 5),
        (EMPTIED, BOSH3, 0.11, 3),
        (EMPTIED, TSIT5, 0.31, 5),
        (WALLS, TSIT5, 0.155, 5),  # in longer steps a wall is met and left
    ],
    ids=lambda value: getattr(value, "name", type(value).__name__),
)
def test_kinks_do_not_lower_the_order(system, solver, coarse, order):
    """No step divides the lags or the times of the kinks: they are landed on."""
    found = measured_order(sweep_of_steps(system, solver), coarse, halvings=3)
    assert found == pytest.approx(order, abs=0.3)


def test_tsit5_is_exact_on_the_polynomials_of_delayed_decay():
    """The solution is a polynomial of degree 4 up to t = 4, if 1, 2 and 3 are landed on."""
    error = sweep_of_steps(LINEAR, TSIT5, t1=4.0)
    assert error(0.37) < 1e-14


def kinks_in_the_equation(system: System):
    """Options and right-hand side that compare and project where the system has events."""

    def rhs(t, y, history, args):
        return system.rhs(t, y, history, args, system.switches(t, y, history, args) >= 0)

    ((queue, least, _),) = system.clamps

    def project(y, args):
        return y.at[queue].max(least)

    return rhs, {"clamps": (), "switches": None, "project": project}


END = 15.0


def test_reno_over_red_keeps_a_high_order():
    """Clamps, switches, a lag by the state and breaking points, all at once.

    Some 40 events shift with the steps, so single ratios scatter; the benchmark fits the order.
    """
    error = sweep_of_steps(RENO_RED, TSIT5, t1=END)
    found = [error(0.04 / 2**k) for k in range(4)]
    assert all(finer < coarser / 8 for coarser, finer in itertools.pairwise(found))
    assert math.log2(found[0] / found[-1]) / 3 > 4.3


def test_without_events_the_order_on_reno_over_red_is_lost():
    """The test above can fail: comparisons and projections in the equation cost the order."""
    rhs, options = kinks_in_the_equation(RENO_RED)
    error = sweep_of_steps(replace(RENO_RED, rhs=rhs), TSIT5, t1=END, **options)
    assert measured_order(error, 0.02) < 3
