"""Clamps and switches: when they change, and what the solution is beyond."""

from __future__ import annotations

import math

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.dde.adaptive.solving import answer, errors, sweep, tolerance
from tests.dde.switched_systems import EMPTIED, FIRST_STOP, LATER_STOP, LEAVES, RELAY
from vegasfluid import dde

BOSH3, TSIT5 = diffrax.Bosh3(), diffrax.Tsit5()
STEPS = diffrax.SaveAt(steps=True)
TIGHT = tolerance(1e-10)
ALLOWED = 2e-8
"""Error that 200 times the tight tolerance allows."""


def distance(times, solution):
    """From each time to the nearest end of a step."""
    ends = np.asarray(solution.ts)
    return np.abs(np.asarray(times)[:, None] - ends[np.isfinite(ends)]).min(1)


@pytest.fixture(scope="module")
def emptied():
    return sweep(EMPTIED, TSIT5)


@pytest.mark.parametrize("rtol", [1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9])
def test_emptied_queue_misses_no_excursion(emptied, rtol):
    """While the queue is held nothing limits the step but the clamp itself: it must see enough."""
    found = emptied(jnp.asarray(rtol), jnp.asarray(rtol))
    assert errors(EMPTIED, found.ys).max() < 100 * rtol
    assert int(found.stats["events"]) == 8


@pytest.fixture(scope="module")
def relay():
    return sweep(RELAY, TSIT5)


@pytest.mark.parametrize("rtol", [1e-3, 1e-6, 1e-9])
def test_relay_misses_no_switch(relay, rtol):
    """The slope is constant between switches, so any step is accurate."""
    found = relay(jnp.asarray(rtol), jnp.asarray(rtol))
    assert errors(RELAY, found.ys).max() < 1e-9


def test_clamp_is_met_and_left_at_the_right_times():
    """At roots known to Brent's method, and the state is exactly on the bound between them."""
    solution = dde.solve(
        EMPTIED.rhs, TSIT5, 0.0, 25.0, None, jnp.zeros(1),
        clamps=[dde.Clamp(0, lower=0.0)], stepsize_controller=TIGHT, saveat=STEPS,
    )  # fmt: skip
    later = [LEAVES + 2 * math.pi * k + u for k in range(4) for u in (0.0, LATER_STOP)]
    times = [FIRST_STOP, *(time for time in later if time < 25)]
    assert distance(times, solution).max() < 1e-8
    ts, ys = np.asarray(solution.ts), np.asarray(solution.ys)[:, 0]
    held = (ts > FIRST_STOP + 1e-7) & (ts < LEAVES - 1e-7)
    assert held.any()
    assert np.all(ys[held] == 0)
    assert np.nanmin(ys) >= 0


def between_bounds(t, y, history, args):
    return jnp.stack([jnp.sin(t)])


@pytest.mark.parametrize("solver", [BOSH3, TSIT5])
def test_both_bounds(solver):
    """Q' = sin t from 1/2 between 0 and 1: full at pi/3, falls from pi, empty at 3 pi/2."""
    solution = dde.solve(
        between_bounds, solver, 0.0, 7.0, None, jnp.array([0.5]),
        clamps=[dde.Clamp(0, lower=0.0, upper=1.0)], stepsize_controller=TIGHT, saveat=STEPS,
    )  # fmt: skip
    times = [math.pi / 3, math.pi, 3 * math.pi / 2, 2 * math.pi]
    assert distance(times, solution).max() < 1e-8
    assert int(solution.stats["events"]) == 4
    assert float(solution.ys[solution.ts == 7.0][0, 0]) == pytest.approx(1 - math.cos(7), abs=1e-8)


@pytest.fixture(scope="module")
def parabola():
    """Q' = 2 (t - 1) from 1 + low, with a floor at 0: lowest at t = 1, where it is low."""

    @jax.jit
    def run(low):
        return dde.solve(
            lambda t, y, history, args: jnp.stack([2 * (t - 1)]), TSIT5,
            0.0, 3.0, None, jnp.stack([1 + low]), clamps=[dde.Clamp(0, lower=0.0)],
            saveat=diffrax.SaveAt(ts=jnp.linspace(0.0, 3.0, 31)), stepsize_controller=TIGHT,
        )  # fmt: skip

    return run


@pytest.mark.parametrize("low", [1e-2, 1e-4, 1e-8, 0.0, -1e-8, -1e-4, -1e-2])
def test_grazing_contact(parabola, low):
    """The floor is just missed, touched, or holds from 1 - sqrt(-low) to 1.

    A contact may be passed over where it is no deeper than the error that is allowed anyway.
    """
    found = np.asarray(parabola(jnp.asarray(low)).ys)[:, 0]
    t = np.linspace(0.0, 3.0, 31)
    meets = 1 - math.sqrt(max(-low, 0))
    after = (t - 1) ** 2 + max(low, 0.0)
    known = np.where(t < meets, (t - 1) ** 2 + low, np.where(t < 1, max(low, 0), after))
    np.testing.assert_allclose(found, known, rtol=0, atol=ALLOWED)


@pytest.mark.parametrize(
    ("slope", "known"),
    [
        (lambda t: 1 + 0 * t, [0.0, 1.0, 2.0]),
        (lambda t: -1 + 0 * t, [0.0, 0.0, 0.0]),
        (lambda t: 0 * t, [0.0, 0.0, 0.0]),
        (lambda t: t, [0.0, 0.5, 2.0]),
        (lambda t: -t, [0.0, 0.0, 0.0]),
        (lambda t: t - 1, [0.0, 0.0, 0.5]),
    ],
    ids=["inward", "outward", "still", "inward later", "outward later", "released"],
)
def test_start_on_the_bound(slope, known):
    solution = dde.solve(
        lambda t, y, history, args: jnp.stack([slope(t)]), BOSH3,
        0.0, 2.0, None, jnp.zeros(1), clamps=[dde.Clamp(0, lower=0.0)],
        saveat=diffrax.SaveAt(ts=jnp.array([0.0, 1.0, 2.0])),
    )  # fmt: skip
    np.testing.assert_allclose(solution.ys[:, 0], known, rtol=0, atol=1e-9)


def test_two_clamps_at_once():
    """Both are empty at t = 1; one is released at 2, the other stays."""
    solution = dde.solve(
        lambda t, y, history, args: jnp.stack([t - 2, jnp.full_like(t, -2.0)]), TSIT5,
        0.0, 3.0, 0.3, jnp.array([1.5, 2.0]),
        clamps=[dde.Clamp(0, lower=0.0), dde.Clamp(1, lower=0.0)], saveat=STEPS,
        stepsize_controller=diffrax.ConstantStepSize(),
    )  # fmt: skip
    assert distance([1.0, 2.0], solution).max() < 1e-12
    ts, ys = np.asarray(solution.ts), np.asarray(solution.ys)
    between = (ts >= 1) & (ts < 2)
    assert between.any()
    assert np.all(ys[between] == 0)
    assert np.all(ys[ts >= 1, 1] == 0)
    assert float(ys[ts == 3.0][0, 0]) == pytest.approx(0.5, abs=1e-12)


def test_two_switches_at_once():
    """Both change at t = 1; slopes 1 and 2 become -1 and -2."""

    def rhs(t, y, history, args, above):
        return jnp.where(above, jnp.array([-1.0, -2.0]), jnp.array([1.0, 2.0]))

    def switches(t, y, history, args):
        return jnp.stack([t - 1.0, y[1] - 2.0 + 2 * (t - 1.0)])

    solution = dde.solve(
        rhs, TSIT5, 0.0, 1.5, None, jnp.zeros(2), switches=switches,
        saveat=diffrax.SaveAt(ts=jnp.array([0.5, 1.0, 1.5])),
    )  # fmt: skip
    known = [[0.5, 1.0], [1.0, 2.0], [0.5, 1.0]]
    np.testing.assert_allclose(solution.ys, known, rtol=0, atol=1e-9)


def test_clamp_is_held_from_a_switch_on():
    """A switch turns the slope outward while the state is at the bound already."""

    def rhs(t, y, history, args, above):
        return jnp.where(above, -1.0, 1.0)[:1] * jnp.ones(1)

    solution = dde.solve(
        rhs, TSIT5, 0.0, 4.0, None, jnp.zeros(1), clamps=[dde.Clamp(0, lower=0.0, upper=1.0)],
        switches=lambda t, y, history, args: jnp.stack([t - 2.0]),
        saveat=diffrax.SaveAt(ts=jnp.linspace(0.0, 4.0, 9)),
    )  # fmt: skip
    known = [0, 0.5, 1, 1, 1, 0.5, 0, 0, 0]
    np.testing.assert_allclose(solution.ys[:, 0], known, rtol=0, atol=1e-9)


def test_sliding_is_no_wrong_answer():
    """Y' = -sign y from 1/2 reaches 0 at 1/2 and cannot go on: it is not passed over."""
    solution = dde.solve(
        lambda t, y, history, args, above: jnp.where(above, -1.0, 1.0), TSIT5,
        0.0, 2.0, None, jnp.array([0.5]), switches=lambda t, y, history, args: y, throw=False,
    )  # fmt: skip
    assert solution.outcome == dde.Outcome.CHATTERING
    assert float(solution.time) == pytest.approx(0.5, abs=1e-9)
    assert np.isnan(solution.ys).all()


def test_answers_of_the_relay_are_checked():
    """The error of standing still would be seen."""
    known = answer(RELAY)[1]
    assert errors(RELAY, np.zeros_like(known)).max() == pytest.approx(1.0)
