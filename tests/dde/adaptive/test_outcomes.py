"""A solve that fails reports why and when, and does not change others in its batch."""

from __future__ import annotations

from typing import Any, NamedTuple

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from vegasfluid import dde
from vegasfluid.errors import SolveFailed

BOSH3 = diffrax.Bosh3()
TS = np.linspace(0.0, 4.0, 9)


class Fate(NamedTuple):
    """What becomes of y' = growth y^2 - y(t - lag) + 0 sqrt(end - t); the past ends at `known`."""

    growth: Any = 0.0
    lag: Any = 1.0
    shrink: Any = 0.0
    end: Any = 100.0
    known: Any = -100.0
    y0: Any = 1.0
    t1: Any = 4.0


def rhs(t, y, history, fate):
    old = history(t - fate.lag + fate.shrink * t)
    return fate.growth * y**2 - old + 0 * jnp.sqrt(fate.end - t)


def initial_history(s, fate):
    return jnp.where(s < fate.known, jnp.nan, jnp.ones(1))


FINE = Fate()
FATES = {
    # the lag 1 - t/2 is negative from 2 on
    "negative": (Fate(shrink=0.5), dde.Outcome.LAG_NEGATIVE, 2.0),
    # the lag 1 + 2 t asks for times before -1.5 from t = 1/2 on
    "unknown": (Fate(shrink=-2.0, known=-1.5), dde.Outcome.PAST_NOT_FINITE, 0.5),
    "undefined": (Fate(end=2.5), dde.Outcome.NOT_FINITE, 2.5),
    "reversed": (Fate(t1=-1.0), dde.Outcome.TIMES_REVERSED, 0.0),
    "no start": (Fate(y0=np.nan), dde.Outcome.START_NOT_FINITE, 0.0),
    "no slope": (Fate(end=-1.0), dde.Outcome.START_NOT_FINITE, 0.0),
    "no past": (Fate(known=0.0), dde.Outcome.START_NOT_FINITE, 0.0),
}


@pytest.fixture(scope="module")
def solutions():
    """Those that fail with fine ones around them; and the same batch with fine ones only."""
    run = jax.jit(batch_of)
    between = [FINE]
    for fate, *_ in FATES.values():
        between += [fate, FINE]
    with_failures = run(stacked(between))
    return with_failures, run(stacked([FINE] * len(between)))


def stacked(fates):
    return jax.tree.map(lambda *values: jnp.array(values), *fates)


def batch_of(fate):
    return dde.solve_batch(
        rhs, BOSH3, 0.0, fate.t1, None, fate.y0[:, None], fate,
        initial_history=initial_history, saveat=diffrax.SaveAt(ts=jnp.asarray(TS)), throw=False,
    )  # fmt: skip


@pytest.mark.parametrize("name", FATES)
def test_each_fails_in_its_own_way_and_at_its_time(solutions, name):
    number = 2 * list(FATES).index(name) + 1
    _, outcome, time = FATES[name]
    found = jax.tree.map(lambda leaf: leaf[number], solutions[0])
    if name == "no past":
        assert found.result in (outcome, dde.Outcome.PAST_NOT_FINITE)
    else:
        assert found.result == outcome
    assert float(found.time) == pytest.approx(time, abs=0.05)
    assert np.isnan(found.ys[time + 0.05 < TS]).all()


def test_what_was_reached_before_the_failure_is_there(solutions):
    """The solution until 2.5, after which a root of a negative number is taken."""
    number = 2 * list(FATES).index("undefined") + 1
    found, fine = (np.asarray(solution.ys)[number] for solution in solutions)
    reached = TS < 2.4
    np.testing.assert_allclose(found[reached], fine[reached], rtol=0, atol=1e-6)
    assert np.isfinite(found[reached]).all()


def test_neighbours_do_not_notice(solutions):
    """To the last bit: the same compiled code, with and without failures beside them."""
    for mixed, fine in zip(solutions[0].ys[::2], solutions[1].ys[::2], strict=True):
        np.testing.assert_array_equal(mixed, fine)
    assert np.all(np.asarray(solutions[0].result)[::2] == dde.Outcome.SUCCESS)
    assert np.isnan(np.asarray(solutions[0].time)[::2]).all()
    assert np.isfinite(solutions[1].ys).all()


def test_check_tells_which_of_a_batch(solutions):
    message = r"^dde\.solve failed at t = (1\.9|2)\d*.* \(number 1 of 15; 7 failed\): a lag was neg"
    with pytest.raises(SolveFailed, match=message):
        dde.check(solutions[0])
    assert dde.check(solutions[1]) is solutions[1]


class Failing(NamedTuple):
    """Y' = growth y^2 + rough |1 - t|^-0.9 - feedback y(t - lag)."""

    lag: Any = 5.0
    growth: Any = 0.0
    rough: Any = 0.0
    feedback: Any = 0.0
    rtol: Any = 1e-8


def failing(t, y, history, args):
    rough = args.rough * jnp.abs(1 - t) ** -0.9
    return args.growth * y**2 + rough - args.feedback * history(t - args.lag)


def solve_failing(throw=False, t1=2.0, **args):
    """With room for 16 steps of history, and for 16384 steps."""
    args = jax.tree.map(jnp.asarray, Failing(**args))
    controller = diffrax.PIDController(rtol=args.rtol, atol=args.rtol)
    return dde.solve(
        failing, BOSH3, 0.0, t1, None, jnp.ones(1), args, history_capacity=16, max_steps=16384,
        stepsize_controller=controller, throw=throw,
    )  # fmt: skip


def test_lag_beyond_the_rows():
    given = {"lag": 2.0, "feedback": 1.0, "t1": 6.0}
    with pytest.raises(SolveFailed, match=r"reached past the history"):
        solve_failing(throw=True, **given)
    found = solve_failing(**given)
    assert found.result == dde.Outcome.HISTORY_OVERFLOW
    assert 0 < float(found.time) < 6
    assert np.isnan(found.ys).all()


def wave(t, y, history, args):
    return jnp.sin(args.turns * jnp.pi * t - 0.75)[None]


def zigzag(t, y, history, args, above):
    looked_at = jnp.where(args.lag > 0, t - args.lag, -1.0)
    return jnp.where(above, 1.0, -1.0) + 0 * history(looked_at)


class Turning(NamedTuple):
    turns: Any
    lag: Any


def turning(turns, lag, rows):
    """A wave that turns so often in a unit of time; looked at a lag ago, or before t0 if it is 0.

    There is room for a quarter as many breaks as `rows`.
    """
    args = jax.tree.map(jnp.asarray, Turning(float(turns), lag))
    controller = diffrax.PIDController(rtol=1e-6, atol=1e-6, dtmax=1 / args.turns)
    return dde.solve(
        zigzag, BOSH3, 0.0, 2.0, None, jnp.zeros(1), args, guards=wave, history_capacity=rows,
        throw=False, stepsize_controller=controller,
    )  # fmt: skip


def test_more_breaks_within_a_lag_than_are_kept():
    """It shows when the first of them is asked for: as the lag of 1 has passed t0."""
    found = turning(20, 1.0, 64)
    assert found.result == dde.Outcome.HISTORY_OVERFLOW
    assert float(found.time) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("turns", "lag", "rows"),
    [
        (20, 0.5, 64),
        (12, 1.0, 64),
        (80, 0.0, 64),
        pytest.param(80, 1.0, 1024, marks=pytest.mark.slow),
    ],
)
def test_breaks_that_are_kept(turns, lag, rows):
    """As many as there are rows for; and what is before t0 needs none."""
    found = turning(turns, lag, rows)
    assert found.result == dde.Outcome.SUCCESS
    assert int(found.stats["num_events"]) >= 2 * turns
    assert float(found.ys[0, 0]) == pytest.approx(0.0, abs=1e-6)


def by_lag(t, y, history, lag):
    return -history(t - lag)


def test_where_only_a_stage_of_a_long_step_has_a_negative_lag_the_step_is_shortened():
    """Y' = -50 y, read at t - y: y stays positive, but the stages of a step of 0.1 are not.

    So large a tolerance accepts any error, so that nothing else shortens the step.
    """
    found = dde.solve(
        lambda t, y, history, args: -50 * y + 0 * history(t - y[0]),
        BOSH3, 0.0, 0.1, 0.1, jnp.ones(1), None, throw=False,
        stepsize_controller=diffrax.PIDController(rtol=10.0, atol=10.0),
    )  # fmt: skip
    assert found.result == dde.Outcome.SUCCESS
    assert int(found.stats["num_rejected_steps"]) >= 1
    assert 0 < float(found.ys[-1, 0]) < 1


def test_too_few_steps():
    given = {"growth": -1.0, "rtol": 1e-15, "t1": 6.0}
    with pytest.raises(SolveFailed, match=r"^dde\.solve failed at t = .*allow more max_steps"):
        solve_failing(throw=True, **given)
    found = solve_failing(**given)
    assert found.result == dde.Outcome.MAX_STEPS_REACHED
    assert int(found.stats["num_accepted_steps"]) + int(found.stats["num_rejected_steps"]) == 16384
    assert 0 < float(found.time) < 6


@pytest.mark.slow
@pytest.mark.unoptimised
def test_failure_within_jit():
    """There the exception is JAX's or equinox's, with the same meaning; a good solve passes."""

    def run(y0):
        return dde.solve(by_lag, BOSH3, 0.0, 3.0, None, y0, 2.0).ys

    careful = eqx.filter_jit(run)
    assert float(careful(jnp.ones(1))[0, 0]) == pytest.approx(-1.5, abs=1e-5)
    message = "state or its slope was not finite at t0"
    with pytest.raises(eqx.EquinoxRuntimeError, match=message):
        careful(jnp.full(1, jnp.inf)).block_until_ready()


def test_blow_up():
    """Y' = y^2 from 1 is 1 / (1 - t): it ends at 1, whichever gives way first."""
    found = solve_failing(growth=1.0, rtol=1e-6)
    assert found.result in (dde.Outcome.STEP_UNDERFLOW, dde.Outcome.NOT_FINITE)
    assert float(found.time) == pytest.approx(1.0, abs=1e-3)
    assert np.isnan(found.ys).all()


def test_step_underflow():
    """An infinite slope at t = 1, integrable: |1 - t|^(-0.9) has a finite integral."""
    found = solve_failing(rough=1.0, rtol=1e-10)
    assert found.result == dde.Outcome.STEP_UNDERFLOW
    assert float(found.time) == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("outcome", list(dde.Outcome))
def test_every_outcome_has_a_meaning(outcome):
    assert len(outcome.meaning) > 10
