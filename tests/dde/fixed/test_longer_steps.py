"""Steps that are longer from some time on: still of order 4, and a fault where a lag is shorter."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from vegasfluid import dde

TIMES = np.linspace(0.0, 8.0, 9)


@functools.cache
def program(step, longer_steps):
    """A compiled solve of y' = -rate y(t - lag)."""

    @jax.jit
    def run(rate, lag):
        return dde.solve_fixed(
            lambda t, y, history, args: -rate * history(t - lag),
            jnp.ones(1),
            ts=TIMES,
            dt0=step,
            longest_lag=1.0,
            longer_steps=longer_steps,
        )

    return run


def solved(step, longer_steps, lag=1.0):
    solution = program(step, longer_steps)(jnp.asarray(1.0), jnp.asarray(lag))
    return solution, np.asarray(solution.ys[:, 0])


def exact(t):
    """Y' = -y(t - 1), y = 1 before 0, by the method of steps."""
    total, factorial = 1.0, 1.0
    for k in range(1, int(t) + 2):
        factorial *= k
        total += (-1) ** k * (t - k + 1) ** k / factorial
    return total


EXACT = np.array([exact(t) for t in TIMES])


@pytest.mark.parametrize("factor", [2, 4, 5])
def test_the_solution_is_as_accurate_as_its_longest_steps(factor):
    solution, ys = solved(0.02, (2.0, factor))
    assert int(solution.result) == dde.Outcome.SUCCESS
    _, coarse = solved(0.02 * factor, None)
    assert np.abs(ys - EXACT).max() <= 1.2 * np.abs(coarse - EXACT).max() + 1e-13


def test_it_is_of_order_four():
    errors = []
    for step in (0.05, 0.025):
        _, ys = solved(step, (1.0, 4))
        errors.append(np.abs(ys - EXACT).max())
    assert errors[0] / errors[1] > 12
    assert errors[1] < 1e-6


def test_from_the_start_or_never_they_are_those_of_one_length():
    _, plain = solved(0.1, None)
    for longer in ((0.0, 1), (2.0, 1), (9.0, 1)):
        np.testing.assert_array_equal(solved(0.1, longer)[1], plain)
    _, late = solved(0.1, (9.0, 5))
    np.testing.assert_array_equal(late, plain)


def test_a_lag_that_is_shorter_than_the_longer_steps_is_a_fault_with_its_time():
    solution, _ = solved(0.05, (3.0, 4), lag=0.1)
    assert int(solution.result) == dde.Outcome.LAG_TOO_SHORT
    assert 3.0 <= float(solution.time) <= 3.4


@pytest.mark.slow
@pytest.mark.unoptimised
def test_it_can_be_batched_and_differentiated():
    def last(rate):
        return program(0.05, (2.0, 4))(rate, jnp.ones(())).ys[-1, 0]

    rates, h = jnp.array([0.5, 1.0]), 1e-5
    values, slopes = jax.jit(jax.vmap(jax.value_and_grad(last)))(rates)
    batch = jax.jit(jax.vmap(last))
    between = (batch(rates + h) - batch(rates - h)) / (2 * h)
    np.testing.assert_allclose(slopes, between, rtol=1e-6)
    np.testing.assert_allclose(values[1], EXACT[-1], atol=1e-5)
