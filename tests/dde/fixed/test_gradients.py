"""Derivatives against exact ones and against central differences."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from vegasfluid import dde

jax.config.update("jax_enable_x64", True)

INPUTS = {
    "growth": jnp.array(0.9),
    "lag": jnp.array(1.1),
    "stretch": jnp.array(0.3),
    "y0": jnp.array([0.5, 0.2]),
}
UNTIL = 20.0


def without_gradient(value):
    return jax.lax.stop_gradient(value)


def rhs(t, y, history, args, seen=lambda value: value):
    """Delayed logistic growth, whose lag rises with the state, and a follower."""
    lag = args["lag"] + args["stretch"] * y[0]
    old = seen(history(t - lag))
    return jnp.stack([args["growth"] * y[0] * (1 - old[0]), old[0] * old[1] - y[1]])


def final(inputs, seen=lambda value: value):
    solution = dde.solve_fixed(
        lambda t, y, history, args: rhs(t, y, history, args, seen),
        inputs["y0"],
        inputs,
        ts=np.array([0.0, UNTIL]),
        dt0=0.02,
        longest_lag=3.0,
        initial_history=lambda s: inputs["y0"] * (1 + 0.1 * jnp.sin(s)),
    )
    return solution.ys[-1]


def differences(function, inputs, name, size=1e-5):
    """Central differences by the named input, as `jax.jacfwd` lays them out."""

    def moved(by):
        return np.asarray(function({**inputs, name: inputs[name] + by}))

    directions = np.eye(inputs[name].size).reshape(-1, *inputs[name].shape) * size
    columns = [(moved(by) - moved(-by)) / (2 * size) for by in directions]
    return np.stack(columns, axis=-1).reshape(-1, *inputs[name].shape)


@pytest.fixture(scope="module")
def expected():
    function = jax.jit(final)
    return {name: differences(function, INPUTS, name) for name in INPUTS}


def largest_gap(found, expected):
    """Largest difference, relative to the largest derivative by that input."""
    gaps = [np.abs(found[name] - expected[name]) / np.abs(expected[name]).max() for name in INPUTS]
    return max(gap.max() for gap in gaps)


@pytest.mark.parametrize("jacobian", [jax.jacfwd, jax.jacrev])
def test_derivatives_agree_with_differences(jacobian, expected):
    assert largest_gap(jax.jit(jacobian(final))(INPUTS), expected) < 1e-5


@pytest.mark.parametrize("jacobian", [jax.jacfwd, jax.jacrev])
def test_forgetting_the_history_would_be_noticed(jacobian, expected):
    def without_history(inputs):
        return final(inputs, seen=without_gradient)

    assert largest_gap(jax.jit(jacobian(without_history))(INPUTS), expected) > 0.1


def test_gradient_of_a_sum_is_the_sum_of_the_differences(expected):
    gradient = jax.jit(jax.grad(lambda inputs: final(inputs).sum()))(INPUTS)
    for name, value in gradient.items():
        np.testing.assert_allclose(value, expected[name].sum(0), rtol=1e-4)


def decay(rate, lag, end, step, initial_history=None, y0=1.0):
    """Y at the end for y' = -rate y(t - lag)."""
    solution = dde.solve_fixed(
        lambda t, y, history, args: -args[0] * history(t - args[1]),
        jnp.asarray(y0).reshape(1),
        (rate, lag),
        ts=np.array([0.0, end]),
        dt0=step,
        longest_lag=2.0,
        initial_history=initial_history,
    )
    return solution.ys[-1, 0]


def test_derivatives_by_rate_lag_and_start_are_exact():
    """Up to t = 2 lag the solution is y0 (1 - a t + a^2 (t - lag)^2 / 2)."""
    rate, lag, end, y0 = 0.7, 1.0, 1.75, 1.3
    gradient = jax.jit(jax.grad(lambda inputs: decay(*inputs[:2], end, 0.25, y0=inputs[2])))
    by_rate, by_lag, by_start = gradient((rate, lag, y0))
    assert float(by_rate) == pytest.approx(y0 * (-end + rate * (end - lag) ** 2), rel=1e-13)
    assert float(by_lag) == pytest.approx(-y0 * rate**2 * (end - lag), rel=1e-13)
    exact = 1 - rate * end + rate**2 * (end - lag) ** 2 / 2
    assert float(by_start) == pytest.approx(exact, rel=1e-13)


@pytest.mark.parametrize("count", [16, 33])
def test_derivative_by_a_lag_is_of_order_one_after_a_kink_between_grid_points(count):
    end, rate = 1.7, 0.7
    found = jax.jit(jax.grad(lambda lag: decay(rate, lag, end, end / count)))(1.0)
    assert abs(float(found) + rate**2 * (end - 1.0)) < rate**2 * end / count


def test_derivative_by_a_lag_is_of_order_three_after_a_smooth_start():
    """Y = exp(-c t) solves y' = -a y(t - lag) for a = c exp(-c lag), so follow that curve."""

    def followed(lag, step):
        return decay(
            0.5 * jnp.exp(-0.5 * lag),
            lag,
            3.2,
            step,
            initial_history=lambda s: jnp.exp(-0.5 * s)[None],
        )

    def error(step):
        return abs(float(jax.jit(jax.jacfwd(lambda lag: followed(lag, step)))(1.03)))

    assert error(0.05) < 1e-7
    assert math.log2(error(0.1) / error(0.05)) > 2.8


@pytest.mark.parametrize("derivative", [jax.grad, jax.jacfwd])
def test_past_may_jump_and_close_over_what_is_differentiated(derivative):
    """Up to t = lag the solution is y0 - a level t, whatever y0 is."""

    def end(level):
        return decay(1.0, 1.0, 1.0, 0.25, initial_history=lambda s: level * jnp.ones(1))

    assert float(jax.jit(end)(2.0)) == pytest.approx(-1.0, rel=1e-13)
    assert float(jax.jit(derivative(end))(2.0)) == pytest.approx(-1.0, rel=1e-13)
