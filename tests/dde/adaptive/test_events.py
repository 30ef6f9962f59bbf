"""Clamps and switches: when they change, and what the solution is beyond."""

from __future__ import annotations

import math
from dataclasses import replace

import diffrax
import jax.numpy as jnp
import numpy as np
import pytest

from benchmarks.dde.switched_systems import EMPTIED, FIRST_STOP, LATER_STOP, LEAVES, RELAY
from tests.dde.adaptive.families import Family
from tests.dde.adaptive.solving import answer, at_answers, distance, equation, errors, stepped
from vegasfluid import dde

BOSH3, TSIT5 = diffrax.Bosh3(), diffrax.Tsit5()
TIGHT = 1e-10
ALLOWED = 2e-8
"""Error that 200 times the tight tolerance allows."""


def by_time(name, slope, t1, y0=0.0, lower=0.0, upper=None):
    """Y' = slope(t) between bounds."""
    return equation(
        name,
        lambda t, y, history, args: jnp.stack([slope(t)]),
        y0=(y0,),
        t1=t1,
        bounds=((0, lower, upper),),
    )


def by_side(name, slopes, switch, t1, y0, *bounds):
    """Y' = slopes[0] where a switch, a function of t and y, is not negative, else slopes[1]."""
    return equation(
        name,
        lambda t, y, history, args, above: jnp.where(above, *slopes) * jnp.ones(1),
        y0=(y0,),
        t1=t1,
        guards=lambda t, y, history, args: jnp.stack([switch(t, y[0])]),
        bounds=bounds,
    )


TWO_BOUNDS = by_time("two bounds", jnp.sin, 7.0, 0.5, 0.0, 1.0)
PARABOLA = by_time("parabola", lambda t: 2 * (t - 1), 3.0, 1.0)
ON_THE_BOUND = {
    "inward": (lambda t: 1 + 0 * t, [0.0, 1.0, 2.0]),
    "outward": (lambda t: -1 + 0 * t, [0.0, 0.0, 0.0]),
    "still": (lambda t: 0 * t, [0.0, 0.0, 0.0]),
    "inward later": (lambda t: t, [0.0, 0.5, 2.0]),
    "outward later": (lambda t: -t, [0.0, 0.0, 0.0]),
    "released": (lambda t: t - 1, [0.0, 0.0, 0.5]),
}
STARTS = {name: by_time(name, slope, 2.0) for name, (slope, _) in ON_THE_BOUND.items()}
FROM_A_SWITCH = by_side(
    "held from a switch on", (-1.0, 1.0), lambda t, y: t - 2.0, 4.0, 0.0, (0, 0.0, 1.0)
)
SLIDING = by_side("sliding", (-1.0, 1.0), lambda t, y: y, 2.0, 0.5)
BETWEEN = by_side("between two slopes", (-2.0, 3.0), lambda t, y: y - 1.0, 2.0, 0.0)
ONE = Family(EMPTIED, TWO_BOUNDS, PARABOLA, *STARTS.values(), FROM_A_SWITCH, SLIDING, BETWEEN)
TWO_CLAMPS = equation(
    "two clamps",
    lambda t, y, history, args: jnp.stack([t - 2, jnp.full_like(t, -2.0)]),
    y0=(1.5, 2.0),
    t1=3.0,
    bounds=((0, 0.0, None), (1, 0.0, None)),
)
TWO_SWITCHES = equation(
    "two switches",
    lambda t, y, history, args, above: jnp.where(
        above, jnp.array([-1.0, -2.0]), jnp.array([1.0, 2.0])
    ),
    y0=(0.0, 0.0),
    t1=1.5,
    guards=lambda t, y, history, args: jnp.stack([t - 1.0, y[1] - 2.0 + 2 * (t - 1.0)]),
)
TWO = Family(TWO_CLAMPS, TWO_SWITCHES)


@pytest.mark.parametrize("rtol", [1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9])
def test_emptied_queue_misses_no_excursion(rtol):
    """While the queue is at its bound only the bound limits the step: no event may be missed."""
    found = at_answers(EMPTIED, TSIT5, rtol)
    assert errors(EMPTIED, found.ys).max() < 100 * rtol
    assert int(found.stats["num_events"]) == 8


@pytest.mark.parametrize("rtol", [1e-3, 1e-6, 1e-9])
def test_relay_misses_no_switch(rtol):
    """The slope is constant between switches, so any step is accurate."""
    found = at_answers(RELAY, TSIT5, rtol)
    assert errors(RELAY, found.ys).max() < 1e-9


@pytest.mark.slow
@pytest.mark.unoptimised
def test_clamp_is_met_and_left_at_the_right_times():
    """At roots known to Brent's method, and the state is exactly on the bound between them."""
    solution, _ = stepped(ONE, EMPTIED, TSIT5, rtol=TIGHT)
    later = [LEAVES + 2 * math.pi * k + u for k in range(4) for u in (0.0, LATER_STOP)]
    times = [FIRST_STOP, *(time for time in later if time < 25)]
    assert distance(times, solution).max() < 1e-8
    ts, ys = np.asarray(solution.ts), np.asarray(solution.ys)[:, 0]
    at_bound = (ts > FIRST_STOP + 1e-7) & (ts < LEAVES - 1e-7)
    assert at_bound.any()
    assert np.all(ys[at_bound] == 0)
    assert np.nanmin(ys) >= 0


@pytest.mark.parametrize("solver", [pytest.param(BOSH3, marks=pytest.mark.slow), TSIT5])
def test_both_bounds(solver):
    """Q' = sin t from 1/2 between 0 and 1: full at pi/3, falls from pi, empty at 3 pi/2."""
    solution, _ = stepped(ONE, TWO_BOUNDS, solver, rtol=TIGHT)
    times = [math.pi / 3, math.pi, 3 * math.pi / 2, 2 * math.pi]
    assert distance(times, solution).max() < 1e-8
    assert int(solution.stats["num_events"]) == 4
    assert float(solution.ys[solution.ts == 7.0][0, 0]) == pytest.approx(1 - math.cos(7), abs=1e-8)


@pytest.mark.parametrize("start", [-0.1, 1.1])
def test_start_out_of_bounds(start):
    solution, ys = stepped(ONE, replace(TWO_BOUNDS, y0=(start,)), TSIT5, rtol=1e-6)
    assert solution.result == dde.Outcome.START_OUT_OF_BOUNDS
    assert np.isnan(solution.ys).all()
    assert np.isnan(ys[1:]).all()


@pytest.mark.parametrize("low", [1e-2, 1e-4, 1e-8, 0.0, -1e-8, -1e-4, -1e-2])
def test_grazing_contact(low):
    """Q' = 2 (t - 1) from 1 + low, with a floor at 0: lowest at t = 1, where it is low.

    The floor is just missed, touched, or holds from 1 - sqrt(-low) to 1. A contact may be passed
    over where it is no deeper than the error that is allowed anyway.
    """
    t = np.linspace(0.0, 3.0, 31)
    _, ys = stepped(ONE, replace(PARABOLA, y0=(1 + low,)), TSIT5, rtol=TIGHT, ts=t)
    meets = 1 - math.sqrt(max(-low, 0))
    after = (t - 1) ** 2 + max(low, 0.0)
    known = np.where(t < meets, (t - 1) ** 2 + low, np.where(t < 1, max(low, 0), after))
    np.testing.assert_allclose(ys[:, 0], known, rtol=0, atol=ALLOWED)


@pytest.mark.parametrize("name", STARTS)
def test_start_on_the_bound(name):
    _, ys = stepped(ONE, STARTS[name], TSIT5, rtol=1e-6, ts=[0.0, 1.0, 2.0])
    np.testing.assert_allclose(ys[:, 0], ON_THE_BOUND[name][1], rtol=0, atol=1e-9)


def test_two_clamps_at_once():
    """Both are empty at t = 1; one is released at 2, the other stays."""
    solution, _ = stepped(TWO, TWO_CLAMPS, TSIT5, step=0.3)
    assert distance([1.0, 2.0], solution).max() < 1e-12
    ts, ys = np.asarray(solution.ts), np.asarray(solution.ys)
    between = (ts >= 1) & (ts < 2)
    assert between.any()
    assert np.all(ys[between] == 0)
    assert np.all(ys[ts >= 1, 1] == 0)
    assert float(ys[ts == 3.0][0, 0]) == pytest.approx(0.5, abs=1e-12)


def test_two_switches_at_once():
    """Both change at t = 1; slopes 1 and 2 become -1 and -2."""
    _, ys = stepped(TWO, TWO_SWITCHES, TSIT5, step=0.3, ts=[0.5, 1.0, 1.5])
    known = [[0.5, 1.0], [1.0, 2.0], [0.5, 1.0]]
    np.testing.assert_allclose(ys, known, rtol=0, atol=1e-9)


def test_a_bound_holds_from_a_switch_on():
    """A switch turns the slope outward while the state is at the bound already."""
    _, ys = stepped(ONE, FROM_A_SWITCH, TSIT5, rtol=1e-6, ts=np.linspace(0.0, 4.0, 9))
    known = [0, 0.5, 1, 1, 1, 0.5, 0, 0, 0]
    np.testing.assert_allclose(ys[:, 0], known, rtol=0, atol=1e-9)


def test_sliding_is_no_wrong_answer():
    """Y' = -sign y from 1/2 reaches 0 at 1/2 and cannot go on: it is not passed over."""
    solution, ys = stepped(ONE, SLIDING, TSIT5, rtol=1e-6, ts=[0.25, 1.0, 2.0])
    assert solution.result == dde.Outcome.CHATTERING
    assert float(solution.time) == pytest.approx(0.5, abs=1e-9)
    assert float(ys[0, 0]) == pytest.approx(0.25, abs=1e-9)
    assert np.isnan(ys[1:]).all()


def test_chattering():
    """A switch whose sides both lead back to it."""
    solution, _ = stepped(ONE, BETWEEN, TSIT5, rtol=1e-6)
    assert solution.result == dde.Outcome.CHATTERING
    assert float(solution.time) == pytest.approx(1 / 3, abs=1e-8)
    assert int(solution.stats["num_accepted_steps"]) < 200


def test_answers_of_the_relay_are_checked():
    """The error of standing still would be seen."""
    known = answer(RELAY)[1]
    assert errors(RELAY, np.zeros_like(known)).max() == pytest.approx(1.0)


@pytest.mark.unoptimised
def test_an_excursion_within_a_step_that_ends_further_away_is_found():
    """One end is within twice the change over the step, the other is not.

    The indicator is 0.46 s^2 - 0.41 s + 0.07 in the second of three steps: below 0 for
    sqrt(0.41^2 - 4 * 0.46 * 0.07) / 0.46 s, during which y' is 1.
    """

    def rhs(t, y, history, args, above):
        return jnp.where(above[0], 0.0, 1.0) * jnp.ones(1)

    def guards(t, y, history, args):
        s = jnp.clip(t - 1.0, 0.0, 1.0)
        return jnp.array([0.07 + s * (-0.41 + 0.46 * s)])

    found = dde.solve(
        rhs, diffrax.Bosh3(), 0.0, 3.0, 1.0, jnp.zeros(1), guards=guards, max_steps=50,
        stepsize_controller=diffrax.ConstantStepSize(),
    )  # fmt: skip
    assert int(found.stats["num_events"]) == 2
    assert float(found.ys[0, 0]) == pytest.approx(0.0393**0.5 / 0.46, rel=1e-6)
