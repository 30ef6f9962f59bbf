"""The ring and its interpolation."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vegasfluid.dde import solve_fixed
from vegasfluid.dde.fixed.history import FixedStepHistory, Grid, empty_ring, hermite, record
from vegasfluid.errors import InvalidInput

jax.config.update("jax_enable_x64", True)

STEP, LONGEST = 0.25, 2.0
GRID = Grid(start=1.0, step=STEP, longest_lag=LONGEST, time_tolerance=1e-9)


def cubic(t):
    return np.stack([t**3 - 2 * t, 3 * t**2 + 1], axis=-1)


def cubic_slope(t):
    return np.stack([3 * t**2 - 2, 6 * t], axis=-1)


def filled(last, grid=GRID):
    """A ring that has gone round: the cubic at the grid points up to `last`."""
    ring = empty_ring(jnp.zeros(2), grid.rows)
    for number in range(last + 1):
        t = grid.start + STEP * number
        slot = grid.row(jnp.int32(number))
        ring = record(ring, slot, jnp.array(cubic(t)), jnp.array(cubic_slope(t)))
    return FixedStepHistory(ring, jnp.int32(last), 0.0, grid, lambda s: jnp.stack([s, -s]))


LAST = 37
RING = filled(LAST)
NOW = GRID.start + STEP * LAST


@settings(deadline=None, max_examples=30)
@given(part=st.floats(0, 1), step=st.floats(1e-3, 10))
def test_hermite_is_exact_for_cubics(part, step):
    before, after = (np.concatenate([cubic(t), cubic_slope(t)]) for t in (0.5, 0.5 + step))
    found = hermite(jnp.array(before), jnp.array(after), jnp.array(part), step)
    scale = np.abs(cubic(np.array([0.5, 0.5 + step]))).max() + step * np.abs(after[2:]).max()
    np.testing.assert_allclose(found, cubic(0.5 + part * step), rtol=0, atol=1e-13 * scale)


@settings(deadline=None, max_examples=30)
@given(lag=st.floats(0, LONGEST))
def test_ring_remembers_as_far_as_longest_lag(lag):
    np.testing.assert_allclose(RING(NOW - lag), cubic(NOW - lag), rtol=1e-13)
    assert not RING.too_long
    assert not RING.too_short


def test_rows_that_are_not_in_use_change_nothing():
    larger = dataclasses.replace(GRID, rows=16 * GRID.rows, mask=np.int32(GRID.rows - 1))
    history = filled(LAST, larger)
    assert not np.any(history._ring[GRID.rows :])
    for lag in np.linspace(0.0, LONGEST, 7):
        np.testing.assert_array_equal(history(NOW - lag), RING(NOW - lag))


def test_an_array_of_times_is_read_like_single_times():
    lags = np.linspace(0.0, LONGEST, 6).reshape(2, 3)
    found = RING(jnp.array(NOW - lags))
    assert found.shape == (2, 3, 2)
    one_by_one = [[RING(NOW - lag) for lag in row] for row in lags]
    np.testing.assert_allclose(found, np.array(one_by_one), rtol=1e-14)


def test_past_answers_before_the_start():
    history = filled(3)
    early = jnp.array([GRID.start - 1.0, GRID.start])
    np.testing.assert_allclose(history(early), [[0.0, 0.0], cubic(GRID.start)])


@pytest.mark.parametrize(
    ("lag", "taken", "long", "short"),
    [(LONGEST + 0.01, LONGEST, True, False), (-0.01, 0.0, False, True)],
)
def test_lags_out_of_bounds_are_cut_and_marked(lag, taken, long, short):
    history = filled(LAST)
    np.testing.assert_allclose(history(NOW - lag), cubic(NOW - taken), rtol=1e-13)
    assert (bool(history.too_long), bool(history.too_short)) == (long, short)


@pytest.mark.parametrize("ahead", [0.5, 1.0])
def test_within_a_step_a_lag_counts_from_the_time_of_evaluation(ahead):
    """Neither the last grid point's time nor the step's end is the one that lags refer to."""
    time, within = NOW + ahead * STEP, 0.1 * STEP
    for lag, taken, long in (
        (LONGEST - within, LONGEST - within, False),
        (LONGEST + within, LONGEST, True),
        (LONGEST + STEP, LONGEST, True),
    ):
        history = FixedStepHistory(RING._ring, RING._last, ahead, GRID, lambda s: jnp.stack([s, s]))
        np.testing.assert_allclose(history(time - lag), cubic(time - taken), rtol=1e-13)
        assert (bool(history.too_long), bool(history.too_short)) == (long, False)
    history(NOW + within)
    assert history.too_short


def test_one_bad_lag_of_an_array_is_marked():
    history = filled(LAST)
    history(jnp.array([NOW - 1.0, NOW - LONGEST - 1.0]))
    assert history.too_long
    assert not history.too_short


def test_nan_stays_nan():
    history = filled(LAST)
    assert np.all(np.isnan(history(jnp.nan)))


@pytest.mark.parametrize(("longest_lag", "rows"), [(2.0, 16), (3.25, 16), (3.5, 32), (0.01, 4)])
def test_rows_are_a_power_of_two_above_the_longest_lag(longest_lag, rows):
    assert Grid(0.0, 0.25, longest_lag, 0.0).rows == rows


def test_times_do_not_drift():
    grid = Grid(0.0, 0.1, 1.0, 0.0)
    assert float(grid.time(jnp.int32(10**7), 0.0, jnp.float64)) == pytest.approx(1e6, rel=1e-15)


def test_the_slope_of_the_past_is_of_order_three() -> None:
    """y1 = sin t, and y2 grows as y1 did 0.7 s ago: y2 = sin(t - 0.7)."""

    def error(step: float) -> float:
        def rhs(t, y, history, args):
            late = history.slope(jnp.array([t - 0.7, t - 0.7]))
            alone = history.slope(t - 0.7 * jnp.ones(2), components=np.array([1, 0]))
            return jnp.stack([jnp.cos(t), late[0, 0] + 0 * jnp.sum(alone - late[0, ::-1])])

        found = jax.jit(
            lambda y0: solve_fixed(rhs, y0, ts=np.linspace(0.0, 7.0, 3), dt0=step, longest_lag=0.7)
        )(jnp.zeros(2))
        return abs(float(found.ys[-1, 1]) - np.sin(7.0 - 0.7))

    coarse, fine = error(0.07), error(0.035)
    assert fine < coarse / 6
    assert fine < 1e-5


def test_single_components_of_the_past() -> None:
    """Each at its own time, before the start too: as out of the whole state at that time."""

    def rhs(t, y, history, args):
        times, index = jnp.array([t - 0.3, t - 0.9]), np.array([1, 0])
        whole = history(times)
        alone = history(times, components=index)
        return jnp.stack([jnp.cos(t), -y[1], jnp.sum((alone - whole[np.arange(2), index]) ** 2)])

    found = solve_fixed(
        rhs,
        jnp.array([0.0, 1.0, 0.0]),
        ts=np.linspace(0.0, 3.0, 4),
        dt0=0.05,
        longest_lag=1.0,
        initial_history=lambda s: jnp.stack([5 + s, 7 - s, 0.0 * s]),
    )
    assert float(found.ys[-1, 2]) == 0.0
    assert float(found.ys[-1, 1]) == pytest.approx(np.exp(-3.0), rel=1e-5)


def test_only_leading_components_are_remembered_where_asked() -> None:
    def rhs(t, y, history, args):
        initial_history = history(t - 1.0)
        assert initial_history.shape == ((1,) if args else (3,))
        return jnp.concatenate([-initial_history[:1], y[:1], y[1:2]])

    times = np.linspace(0.0, 3.0, 4)
    every, few = (
        solve_fixed(
            rhs, jnp.ones(3), few, ts=times, dt0=0.1, longest_lag=1.0,
            history_components=1 if few else None,
        ).ys
        for few in (False, True)
    )  # fmt: skip
    np.testing.assert_array_equal(every, few)


@pytest.mark.parametrize("count", [0, 4, -1])
def test_more_than_there_is_cannot_be_remembered(count: int) -> None:
    with pytest.raises(InvalidInput, match="history_components must be a whole number from 1 to 3"):
        solve_fixed(
            lambda t, y, history, args: y, jnp.ones(3), ts=[0.0, 1.0], dt0=0.1,
            longest_lag=1.0, history_components=count,
        )  # fmt: skip


def test_what_is_saved_is_what_was_asked_for() -> None:
    """Of each time and state, also of the first; the solution itself is the same."""

    def solved(save):
        return solve_fixed(
            lambda t, y, history, args: -history(t - 1.0) * jnp.arange(1.0, 4.0),
            jnp.arange(3.0),
            ts=np.linspace(0.0, 3.0, 7), dt0=0.1, longest_lag=1.0, save=save,
        )  # fmt: skip

    whole, some = solved(None), solved(lambda t, y: jnp.array([t, y[1] * y[2]]))
    assert some.ys.shape == (7, 2)
    np.testing.assert_allclose(some.ys[:, 0], np.linspace(0.0, 3.0, 7), atol=1e-12)
    np.testing.assert_array_equal(some.ys[:, 1], whole.ys[:, 1] * whole.ys[:, 2])
