"""Times whose derivatives jump, and those that see them through a lag, are stepped on."""

from __future__ import annotations

import itertools
import math

import diffrax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.dde.adaptive.solving import solved, tolerance
from tests.dde.systems import FELDSTEIN_NEVES, LOGARITHMIC_LAG
from vegasfluid import dde

STEPS = diffrax.SaveAt(steps=True)
SQRT2 = math.sqrt(2)


def nodes(solution):
    """The ends of the steps."""
    ts = np.asarray(solution.ts)
    return ts[np.isfinite(ts)]


def distance(times, ends):
    """From each time to the nearest end of a step."""
    return np.abs(np.asarray(times)[:, None] - ends).min(1)


def sums(most):
    """For each number of lags up to `most`, all sums of so many of 1 and sqrt 2, up to 5.9."""
    lags = (1.0, SQRT2)
    return {
        count: [
            sum(parts)
            for parts in itertools.combinations_with_replacement(lags, count)
            if sum(parts) < 5.9
        ]
        for count in range(1, most + 1)
    }


def two_lags(t, y, history, args):
    return -0.5 * history(t - 1.0) - 0.7 * history(t - SQRT2)


def test_sums_of_two_lags_are_stepped_on_up_to_the_order():
    """At a sum of k lags derivative k + 1 jumps; Tsit5 notices up to derivative 4.

    Without an error estimate all of them are stepped on; they lie on no multiple of the step.
    """
    solution = dde.solve(
        two_lags, diffrax.Tsit5(), 0.0, 5.9, 0.19, jnp.ones(1),
        saveat=STEPS, stepsize_controller=diffrax.ConstantStepSize(),
    )  # fmt: skip
    ends = nodes(solution)
    tracked = np.concatenate(list(sums(3).values()))
    far = np.abs(tracked / 0.19 - np.round(tracked / 0.19))
    assert far.min() > 1e-3
    assert distance(tracked, ends).max() < 1e-12
    assert distance(sums(4)[4], ends).min() > 1e-6
    assert int(solution.stats["events"]) == len(tracked)
    assert np.all(np.diff(ends) > 0)
    assert ends[-1] == 5.9


def test_breaks_are_stepped_on_to_the_order_that_matters():
    """At the fourth the first four derivatives go on: a method of order 5 need not know.

    Far from zero they are hit as well, to rounding of the time.
    """
    lag, start = 0.83, 1000.0
    solution = dde.solve(
        lambda t, y, history, lag: -history(t - lag), diffrax.Tsit5(),
        start, start + 4.0, None, jnp.ones(1), lag,
        saveat=STEPS, stepsize_controller=tolerance(1e-9),
    )  # fmt: skip
    assert distance(start + lag * np.arange(1, 4), nodes(solution)).max() < 1e-12
    assert distance([start + 4 * lag], nodes(solution)).min() > 1e-6
    since = 4.0 - lag * np.arange(5)
    known = 1 + sum((-part) ** k / math.factorial(k) for k, part in enumerate(since, 1))
    assert float(solution.ys[np.asarray(solution.ts) == start + 4][0, 0]) == pytest.approx(
        known, abs=1e-8
    )


@pytest.mark.parametrize(
    ("system", "breaks"), [(FELDSTEIN_NEVES, [2.0]), (LOGARITHMIC_LAG, [math.e, math.e**2])]
)
def test_lag_by_the_state(system, breaks):
    """Where the lag reaches back to t0 follows from the solution, to its accuracy."""
    solution = solved(
        system,
        diffrax.Tsit5(),
        t1=8.0 if system is LOGARITHMIC_LAG else None,
        dt0=0.019,
        saveat=STEPS,
        stepsize_controller=diffrax.ConstantStepSize(),
    )
    assert distance(breaks, nodes(solution)).max() < 1e-8


def test_clamps_and_switches_are_breaking_points_too():
    """Where a clamp begins to hold at 1, the slope of what reads it jumps at 1.7.

    What reads that in turn is smoother at 2.4, and stepped on as well.
    """

    def rhs(t, y, history, args):
        old = history(t - 0.7)
        return jnp.stack([jnp.ones(()), old[0], old[1]])

    solution = dde.solve(
        rhs, diffrax.Tsit5(), 0.0, 3.0, None, jnp.zeros(3),
        clamps=[dde.Clamp(0, upper=1.0)], saveat=STEPS,
    )  # fmt: skip
    assert distance([1.0, 1.7, 2.4], nodes(solution)).max() < 1e-12


def test_jump_at_the_start_does_not_spoil_the_solution():
    """Before 0 the state was 3, at 0 it is 1: y' = -y(t - 1) is 1 - 3 t until 1."""
    ts = jnp.array([0.0, 0.5, 1.0, 1.5, 2.0])
    solution = dde.solve(
        lambda t, y, history, args: -history(t - 1.0), diffrax.Bosh3(),
        0.0, 2.0, None, jnp.ones(1), past=lambda s, args: jnp.full(1, 3.0),
        saveat=diffrax.SaveAt(ts=ts),
    )  # fmt: skip

    def after(t):  # y(1) = -2, then y' = -(1 - 3 (t - 1))
        u = t - 1
        return -2 - u + 1.5 * u**2

    known = [1.0, -0.5, -2.0, after(1.5), after(2.0)]
    np.testing.assert_allclose(solution.ys[:, 0], known, rtol=0, atol=1e-12)


def test_lag_that_passes_a_break_and_turns_back():
    """Until it does the solution is a straight line, and the step as long as one likes."""
    width = math.sqrt(0.2 / 0.7)  # y at 0.2 - 0.7 (t - 1)^2 > 0 is asked for within that of t = 1
    solution = dde.solve(
        lambda t, y, history, args: history(0.2 - 0.7 * (t - 1) ** 2), diffrax.Tsit5(),
        0.0, 2.0, None, jnp.ones(1),
        saveat=STEPS, stepsize_controller=tolerance(1e-9),
    )  # fmt: skip
    ends = nodes(solution)
    assert distance([1 - width, 1 + width], ends).max() < 1e-9
    known = 3 + 2 * (0.2 * width - 0.7 * width**3 / 3)
    assert float(solution.ys[len(ends) - 1, 0]) == pytest.approx(known, abs=1e-9)


@pytest.mark.parametrize("beyond", [math.nan, 7.0])
def test_past_that_does_not_go_on_beyond_the_start(beyond):
    """A step that passes t0 may ask it for more; where it has no more, or jumps, it is no worse."""

    def past(s, args):
        return jnp.where(s <= 0, jnp.cos(s), beyond)[None]

    solution = dde.solve(
        lambda t, y, history, args: history(t - 1.0), diffrax.Tsit5(),
        0.0, 1.5, None, jnp.ones(1), past=past,
        saveat=diffrax.SaveAt(ts=jnp.array([1.0, 1.5])), stepsize_controller=tolerance(1e-9),
    )  # fmt: skip
    first = 1 + math.sin(1.0)
    second = first + 0.5 * first + math.cos(1.0) - math.cos(0.5)
    np.testing.assert_allclose(solution.ys[:, 0], [first, second], rtol=0, atol=1e-7)
