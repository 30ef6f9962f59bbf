"""Implicit methods for stiff delay equations."""

from __future__ import annotations

import functools

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from tests.dde.adaptive.solving import tolerance
from vegasfluid import dde

KVAERNO = (diffrax.Kvaerno3(), diffrax.Kvaerno4(), diffrax.Kvaerno5())
SLOW = pytest.mark.slow


def name(value):
    return type(value).__name__ if isinstance(value, diffrax.AbstractSolver) else None


@functools.cache
def staircase():
    """Y' = -k (y - y(t - 1) / 2 - 1) with Kvaerno5, saved in the middle of each lag."""

    @jax.jit
    def run(k):
        return dde.solve(
            lambda t, y, history, k: -k * (y - history(t - 1.0) / 2 - 1),
            diffrax.Kvaerno5(), 0.0, 19.9, None, jnp.zeros(1), k, history_capacity=4096,
            saveat=diffrax.SaveAt(ts=jnp.append(jnp.arange(19.0) + 0.5, 19.9)), throw=False,
        )  # fmt: skip

    return run


@pytest.mark.slow
@pytest.mark.unoptimised
@pytest.mark.parametrize("k", [1e3, 1e4])
def test_each_lag_of_a_stiff_equation_halves_the_distance(k):
    """On lag n the fast solution is y_n = y_{n-1} / 2 + 1, from y = 0: 2 (1 - 2^-n).

    An explicit method needs about k / 3 steps in each lag. The equation forgets the errors of
    former steps, but half the error one lag ago enters: with the tolerance in a step, and again
    in the interpolation of the past, e_n <= 1.5 tolerance + e_{n-1} / 2, so at most three times it.
    """
    solution = staircase()(k)
    known = 2 * (1 - 2.0 ** -(np.arange(20) + 1))
    np.testing.assert_allclose(solution.ys[:, 0], known, rtol=3e-6, atol=3e-9)
    assert int(solution.stats["num_accepted_steps"] + solution.stats["num_rejected_steps"]) < 800


def by_cosine(t, k, lag):
    """The solution of y' = -k (y - y(t - lag) / 2 - cos t) that follows the cosine."""
    first, second = k * (1 - jnp.cos(lag) / 2), 1 + k * jnp.sin(lag) / 2
    return k * (first * jnp.cos(t) + second * jnp.sin(t)) / (first**2 + second**2)


@functools.cache
def following(solver):
    """The equation of `by_cosine`, with it as the past."""

    @jax.jit
    def run(k, lag, rtol):
        return dde.solve(
            lambda t, y, history, args: -args[0] * (y - history.ago(args[1]) / 2 - jnp.cos(t)),
            solver, 0.0, 6.0, None, by_cosine(0.0, k, lag)[None], (k, lag), throw=False,
            initial_history=lambda s, args: by_cosine(s, *args)[None], history_capacity=4096,
            stepsize_controller=tolerance(rtol),
            saveat=diffrax.SaveAt(ts=jnp.linspace(0.0, 6.0, 61)),
        )  # fmt: skip

    return run


@pytest.mark.parametrize("solver", [pytest.param(each, marks=SLOW) for each in KVAERNO], ids=name)
def test_errors_follow_the_tolerance(solver):
    """With lags far shorter than the steps, about as long, and longer; stiff and not."""
    for k, lag, rtol in (
        (1e4, 0.01, 1e-4), (1e4, 0.01, 1e-6), (1e4, 1e-4, 1e-8), (1.0, 0.5, 1e-8), (1e6, 0.5, 1e-6),
    ):  # fmt: skip
        solution = following(solver)(k, lag, rtol)
        assert solution.result == dde.Outcome.SUCCESS
        known = by_cosine(np.linspace(0.0, 6.0, 61), k, lag)
        np.testing.assert_allclose(solution.ys[:, 0], known, rtol=0, atol=10 * rtol)


@pytest.mark.slow
@pytest.mark.unoptimised
def test_short_lags_do_not_shorten_the_steps():
    """Some steps are 50 times as long as the lag of a hundredth, and 1e4 times 1 / k."""
    solution = following(KVAERNO[2])(1e4, 0.01, 1e-4)
    assert solution.stats["num_accepted_steps"] + solution.stats["num_rejected_steps"] < 100


def robertson(t, y, history, lag):
    """Robertson's reaction with a delayed product (DelayDiffEq.jl, issue 67)."""
    late = history.ago(lag)[1]
    first, second, third = 0.04 * y[0], 1e4 * y[1] * y[2], 3e7 * (1 - late) * y[1] ** 2
    return jnp.stack([second - first, first - second - third, third])


def robertson_by_steps(lag, lags):
    """The same, lag by lag with SciPy's Radau, from (1, 0, 0)."""

    def late(s):
        return 0.0 if s <= 0 or not pieces else pieces[-1](s)[1]

    def rhs(t, y):
        rates = 0.04 * y[0], 1e4 * y[1] * y[2], 3e7 * (1 - late(t - lag)) * y[1] ** 2
        return [rates[1] - rates[0], rates[0] - rates[1] - rates[2], rates[2]]

    y, pieces = [1.0, 0.0, 0.0], []
    for number in range(lags):
        found = solve_ivp(
            rhs, (number * lag, (number + 1) * lag), y, "Radau", rtol=1e-9, atol=1e-13,
            dense_output=True,
        )  # fmt: skip
        y = found.y[:, -1]
        pieces.append(found.sol)
    return y


@pytest.mark.slow
def test_robertson_with_a_lag():
    """The lag shorter than most steps, and longer."""

    @jax.jit
    def run(lag, t1):
        return dde.solve(
            robertson, diffrax.Kvaerno5(), 0.0, t1, None, jnp.array([1.0, 0.0, 0.0]), lag,
            stepsize_controller=tolerance(1e-9, 1e-13), history_capacity=4096, throw=False,
        )  # fmt: skip

    for lag, lags in ((0.01, 40), (1.0, 12)):
        solution = run(lag, lag * lags)
        assert solution.result == dde.Outcome.SUCCESS
        np.testing.assert_allclose(solution.ys[-1], robertson_by_steps(lag, lags), rtol=1e-7)
    # Much later the reaction is that without a lag: Robertson's equations, by Radau.
    late = solve_ivp(
        lambda t, y: robertson_by_rates(y), (0.0, 1e5), [1.0, 0.0, 0.0], "Radau", rtol=1e-10,
        atol=1e-14,
    )  # fmt: skip
    np.testing.assert_allclose(run(0.01, 1e5).ys[-1], late.y[:, -1], rtol=1e-4)


def robertson_by_rates(y):
    rates = 0.04 * y[0], 1e4 * y[1] * y[2], 3e7 * y[1] ** 2
    return [rates[1] - rates[0], rates[0] - rates[1] - rates[2], rates[2]]


@pytest.mark.slow
@pytest.mark.parametrize("lag", [0.02, 0.7])
def test_forward_mode(lag):
    """Against the derivatives of the closed form, with lags within the steps and beyond."""

    def end(args):
        return dde.solve(
            lambda t, y, history, args: -args[0] * (y - history.ago(args[1]) / 2 - jnp.cos(t)),
            diffrax.Kvaerno5(), 0.0, 2.0, None, by_cosine(0.0, *args)[None], args,
            initial_history=lambda s, args: by_cosine(s, *args)[None],
            stepsize_controller=tolerance(1e-9),
        ).ys[-1, 0]  # fmt: skip

    found = jax.jacfwd(end)((50.0, lag))
    known = jax.jacfwd(lambda args: by_cosine(2.0, *args))((50.0, lag))
    np.testing.assert_allclose(found, known, rtol=1e-6)
