"""Times whose derivatives jump, and those that see them through a lag, are stepped on."""

from __future__ import annotations

import itertools
import math

import diffrax
import jax.numpy as jnp
import numpy as np
import pytest

from benchmarks.dde.systems import FELDSTEIN_NEVES, LOGARITHMIC_LAG, constant
from tests.dde.adaptive.families import Family
from tests.dde.adaptive.solving import (
    AT_STEPS,
    LAGS_OF_1_AND_SQRT2,
    READ_LATE,
    distance,
    ends_of,
    equation,
    stepped,
)
from vegasfluid.dde.adaptive.breaking_points import first_breaking_points
from vegasfluid.dde.adaptive.compensated_time import CompensatedTime

TSIT5 = diffrax.Tsit5()
SQRT2 = math.sqrt(2)


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


@pytest.mark.slow
@pytest.mark.unoptimised
def test_sums_of_two_lags_are_stepped_on_up_to_the_order():
    """At a sum of k lags derivative k + 1 jumps; Tsit5 notices up to derivative 4.

    Without an error estimate all of them are stepped on; they lie on no multiple of the step.
    """
    solution, _ = stepped(AT_STEPS, LAGS_OF_1_AND_SQRT2, TSIT5, step=0.19)
    tracked = np.concatenate(list(sums(3).values()))
    far = np.abs(tracked / 0.19 - np.round(tracked / 0.19))
    assert far.min() > 1e-3
    assert distance(tracked, solution).max() < 1e-12
    assert distance(sums(4)[4], solution).min() > 1e-6
    assert int(solution.stats["num_events"]) == len(tracked)
    ends = ends_of(solution)
    assert np.all(np.diff(ends) > 0)
    assert ends[-1] == 5.9


@pytest.mark.parametrize(
    ("system", "breaks"), [(FELDSTEIN_NEVES, [2.0]), (LOGARITHMIC_LAG, [math.e, math.e**2])]
)
def test_lag_by_the_state(system, breaks):
    """Where the lag reaches back to t0 follows from the solution, to its accuracy."""
    t1 = 8.0 if system is LOGARITHMIC_LAG else None
    solution, _ = stepped(AT_STEPS, system, TSIT5, step=0.019, t1=t1)
    assert distance(breaks, solution).max() < 1e-8


LAG, START = 0.83, 1000.0
FAR_FROM_ZERO = equation(
    "far from zero",
    lambda t, y, history, args: -history(t - LAG),
    y0=(1.0,),
    t0=START,
    t1=START + 4.0,
)
TURNING = equation(
    "lag that turns back",
    lambda t, y, history, args: history(0.2 - 0.7 * (t - 1) ** 2),
    y0=(1.0,),
    t1=2.0,
)
JUMPING = equation(
    "jump at the start",
    lambda t, y, history, args: -history(t - 1.0),
    y0=(1.0,),
    t1=2.0,
    initial_history=constant(3.0),
)
ENDING = {
    beyond: equation(
        f"past that is {beyond} beyond the start",
        lambda t, y, history, args: history(t - 1.0),
        y0=(1.0,),
        t1=1.5,
        initial_history=lambda s, args, beyond=beyond: jnp.where(s <= 0, jnp.cos(s), beyond)[
            ..., None
        ],
    )
    for beyond in (math.nan, 7.0)
}
FAMILY = Family(FAR_FROM_ZERO, TURNING, JUMPING, *ENDING.values())


@pytest.mark.slow
@pytest.mark.unoptimised
def test_breaks_are_stepped_on_to_the_order_that_matters():
    """At the fourth the first four derivatives go on: a method of order 5 need not know.

    Far from zero they are hit as well, to rounding of the time.
    """
    solution, ys = stepped(FAMILY, FAR_FROM_ZERO, TSIT5, rtol=1e-9)
    assert distance(START + LAG * np.arange(1, 4), solution).max() < 1e-12
    assert distance([START + 4 * LAG], solution).min() > 1e-6
    since = 4.0 - LAG * np.arange(5)
    known = 1 + sum((-part) ** k / math.factorial(k) for k, part in enumerate(since, 1))
    assert ends_of(solution)[-1] == START + 4
    assert float(ys[-1, 0]) == pytest.approx(known, abs=1e-8)


@pytest.mark.slow
@pytest.mark.unoptimised
def test_jump_at_the_start_does_not_spoil_the_solution():
    """Before 0 the state was 3, at 0 it is 1: y' = -y(t - 1) is 1 - 3 t until 1."""
    _, ys = stepped(FAMILY, JUMPING, TSIT5, rtol=1e-6, ts=[0.0, 0.5, 1.0, 1.5, 2.0])

    def after(t):  # y(1) = -2, then y' = -(1 - 3 (t - 1))
        u = t - 1
        return -2 - u + 1.5 * u**2

    known = [1.0, -0.5, -2.0, after(1.5), after(2.0)]
    np.testing.assert_allclose(ys[:, 0], known, rtol=0, atol=1e-12)


@pytest.mark.slow
@pytest.mark.unoptimised
def test_lag_that_passes_a_break_and_turns_back():
    """Until it does the solution is a straight line, and the step as long as one likes."""
    width = math.sqrt(0.2 / 0.7)  # y at 0.2 - 0.7 (t - 1)^2 > 0 is asked for within that of t = 1
    solution, ys = stepped(FAMILY, TURNING, TSIT5, rtol=1e-9)
    assert distance([1 - width, 1 + width], solution).max() < 1e-9
    known = 3 + 2 * (0.2 * width - 0.7 * width**3 / 3)
    assert float(ys[-1, 0]) == pytest.approx(known, abs=1e-9)


@pytest.mark.slow
@pytest.mark.unoptimised
@pytest.mark.parametrize("beyond", ENDING)
def test_past_that_does_not_go_on_beyond_the_start(beyond):
    """A step that passes t0 may ask it for more; where it has no more, or jumps, it is no worse."""
    _, ys = stepped(FAMILY, ENDING[beyond], TSIT5, rtol=1e-9, ts=[1.0, 1.5])
    first = 1 + math.sin(1.0)
    second = first + 0.5 * first + math.cos(1.0) - math.cos(0.5)
    np.testing.assert_allclose(ys[:, 0], [first, second], rtol=0, atol=1e-7)


def test_clamps_are_breaking_points_too():
    """Where a clamp begins to hold at 1/2, the slope of what reads it has a kink at 1.2.

    What reads that in turn is smoother at 1.9, and stepped on as well; so is where it is left.
    """
    solution, _ = stepped(AT_STEPS, READ_LATE, TSIT5, step=0.19)
    assert distance([0.5, 1.2, 1.9], solution).max() < 1e-12
    left = 0.7 + 1 / 3
    assert distance([left, left + 0.7], solution).max() < 1e-9


def test_an_overwritten_break_shows_as_soon_as_it_is_needed_and_not_before():
    """With room for four, and break 0 kept for ever: break k is overwritten by break k + 4."""
    breaks = first_breaking_points(
        4, CompensatedTime.at(jnp.zeros(1)), jnp.zeros(1), jnp.zeros((0, 1))
    )
    for count in range(1, 11):
        for passed in range(1, count + 1):
            site = jnp.array([[passed]], jnp.int32)
            found = breaks.active_breaks(site)
            wanted = (passed - 1.0, float(passed) if passed < count else math.inf)
            kept = (float(found.lower.plain()[0, 0]), float(found.upper.plain()[0, 0])) == wanted
            assert bool(breaks.overflow(site)[0]) == (not kept)
            assert kept == (count <= 5 or passed > count - 4)
        time = CompensatedTime.at(jnp.array([float(count)]))
        breaks = breaks.added(jnp.ones(1, bool), time, jnp.ones(1))
