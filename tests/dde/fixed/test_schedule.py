"""Steps that do not end where the solution is read, and one program for steps of any length."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from vegasfluid import dde
from vegasfluid.dde.fixed.history import ring_rows
from vegasfluid.dde.fixed.schedule import anywhere, on_the_grid
from vegasfluid.dde.fixed.solve import solve_along

TRACES = []


@jax.jit
def along(steps):
    """Y' = -y(t - 1) from y = 1."""
    TRACES.append(1)
    return solve_along(steps, lambda t, y, history, args: -history(t - 1.0), jnp.ones(1))


def exact(t):
    """By the method of steps, up to t = 3."""
    first = 1 - t
    second = first + (t - 1) ** 2 / 2
    third = second - (t - 2) ** 3 / 6
    return np.where(t <= 1, first, np.where(t <= 2, second, third))


def read(times, step, **more):
    times = np.asarray(times)
    solution = dde.check(along(anywhere(times, step, 1.0, np.float64, **more)))
    np.testing.assert_array_equal(solution.ts, times)
    return np.asarray(solution.ys[:, 0])


def bowed(step):
    """The most that a straight line across a step is off: h^2 / 8 where the curvature is 1."""
    return step**2 / 8


def test_wherever_it_is_read_it_is_near_the_solution():
    times = np.sort(np.random.default_rng(1).uniform(0.0, 3.0, 40))
    times = np.concatenate([[0.0], times, [3.0]])
    for step in (0.125, 0.03125):
        np.testing.assert_allclose(read(times, step), exact(times), atol=bowed(step))
    assert np.ptp(read(times, 0.125) - exact(times)) > bowed(0.125) / 4


def test_readings_may_be_closer_than_steps():
    times = np.array([0.0, 1e-3, 0.01, 0.012, 0.4, 2.3, 2.301, 2.99])
    np.testing.assert_allclose(read(times, 0.25), exact(times), atol=bowed(0.25))


def test_readings_change_nothing_of_the_solution():
    few, many = np.linspace(0.0, 3.0, 4), np.linspace(0.0, 3.0, 61)
    np.testing.assert_array_equal(read(few, 0.3), read(many, 0.3)[::20])


def test_readings_at_ends_of_steps_are_those_of_a_grid():
    times = np.linspace(0.0, 3.0, 7)
    between = along(anywhere(times, 0.125, 1.0, np.float64))
    ends = along(on_the_grid(times, 0.125, 1.0, np.float64))
    np.testing.assert_array_equal(between.ys, ends.ys)


@pytest.mark.parametrize("turn", [0.9, 1.3, 2.6])
def test_steps_become_longer_at_any_time(turn):
    times = np.linspace(0.0, 3.0, 13)
    found = read(times, 0.0625, longer_steps=(turn, 4))
    np.testing.assert_allclose(found, exact(times), atol=1e-13)
    between = read(times + np.where(times > 0, 0.01, 0.0), 0.0625, longer_steps=(turn, 4))
    np.testing.assert_allclose(between[1:], exact(times[1:] + 0.01), atol=bowed(0.25))


def test_a_counter_never_counts_back():
    """Where its slope jumps from 0 to 1 within a step, a cubic there would undershoot."""

    def counted(t, y, history, args):
        return jnp.where(t > 0.99, jnp.ones(1), jnp.zeros(1))

    times = np.linspace(0.0, 2.0, 81)
    ys = solve_along(anywhere(times, 0.5, 1.0, np.float64), counted, jnp.zeros(1)).ys[:, 0]
    assert np.diff(ys).min() >= 0.0
    assert float(ys[0]) == 0.0


def test_one_program_serves_steps_of_any_length():
    times, rows = np.linspace(0.0, 3.0, 4), ring_rows(1.0, 0.01)
    read(times, 0.3, rows=rows)
    before = len(TRACES)
    for step in (0.2, 0.05, 0.01):
        np.testing.assert_allclose(read(times, step, rows=rows), exact(times), atol=1e-13)
    assert len(TRACES) == before


def test_a_lag_shorter_than_the_step_is_a_fault_at_its_time():
    solution = along(anywhere(np.linspace(0.0, 3.0, 4), 1.2, 1.5, np.float64))
    assert solution.result == dde.Outcome.LAG_TOO_SHORT
    assert float(solution.time) == pytest.approx(1.2)


@pytest.mark.parametrize("longer", [None, (1.3, 4)])
def test_what_is_saved_sees_the_time_of_its_state(longer):
    """Within steps, at their ends, and after they became longer; here y(t) = t, a straight line."""
    times = np.array([0.0, 0.01, 0.5, 0.77, 1.25, 1.3, 1.4, 2.0, 2.93, 3.0])
    solution = solve_along(
        anywhere(times, 0.125, 1.0, np.float64, longer_steps=longer),
        lambda t, y, history, args: jnp.ones(1),
        jnp.zeros(1),
        save=lambda t, y: jnp.stack([t, y[0]]),
    )
    np.testing.assert_allclose(solution.ys, np.stack([times, times], axis=1), atol=1e-13)


@pytest.mark.parametrize(("turn", "steps"), [(0.9, 8), (1.0, 8), (1.01, 12), (2.3, 20)])
def test_steps_are_not_longer_before_the_time_that_was_asked_for(turn, steps):
    """By hand: the next whole number of longer steps, of four times 1/8."""
    times = np.linspace(0.0, 3.0, 7)
    schedule = anywhere(times, 0.125, 1.0, np.float64, longer_steps=(turn, 4))
    assert int(np.sum(schedule.first.counts)) == steps
    assert schedule.then is not None
    assert int(np.sum(schedule.then.counts)) == (24 - steps) // 4
