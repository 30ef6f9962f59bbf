"""The measured order of convergence, on problems whose solutions are known."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from vegasfluid import dde

jax.config.update("jax_enable_x64", True)

SQRT2 = math.sqrt(2)


def method_of_steps(t):
    """Solution of y' = -y(t-1), y = 1 for t <= 0: a polynomial between whole times."""
    terms = range(math.floor(t) + 2)
    return sum((-1) ** k * (t - (k - 1)) ** k / math.factorial(k) for k in terms)


def feldstein_neves(t):
    """Solution of y' = y(y - sqrt 2 + 1) / (2 sqrt t), y = 1 for t <= 1, up to t = 5.."""
    return math.sqrt(t) if t <= 2 else t / 4 + 0.5 + (1 - 1 / SQRT2) * math.sqrt(t)


def delayed_decay(t, y, history, rate):
    return -rate * history(t - 1.0)


def feldstein_neves_rhs(t, y, history, args):
    return history(y[0] - SQRT2 + 1.0) / (2 * jnp.sqrt(t))


def ddetst_d1(t, y, history, args):
    delayed = history(jnp.exp(1 - y[1]))[1]
    return jnp.stack([y[1], -delayed * y[1] ** 2 * jnp.exp(1 - y[1])])


def errors(rhs, args, initial_history, exact, start, end, counts, longest_lag):
    """Largest error at the end for each number of steps."""
    y0 = initial_history(jnp.asarray(start))

    def error(count):
        solution = dde.check(
            dde.solve_fixed(
                rhs,
                y0,
                args,
                ts=np.array([start, end]),
                dt0=(end - start) / count,
                longest_lag=longest_lag,
                initial_history=initial_history,
            )
        )
        return float(np.max(np.abs(solution.ys[-1] - np.asarray(exact(end)))))

    return [error(count) for count in counts]


def one(s):
    return jnp.ones(1)


def wave(s):
    """Solution of y' = -pi/2 y(t-1)."""
    return (jnp.cos(math.pi / 2 * s) + jnp.sin(math.pi / 2 * s))[None]


def logarithm(s):
    return jnp.stack([jnp.log(s), 1 / s])


def test_polynomials_up_to_degree_four_are_exact():
    [found] = errors(delayed_decay, 1.0, one, method_of_steps, 0.0, 3.0, [12], 1.0)
    assert found < 1e-14


@pytest.mark.parametrize(
    ("rhs", "args", "initial_history", "exact", "start", "end", "counts", "longest_lag"),
    [
        (delayed_decay, 1.0, one, method_of_steps, 0.0, 10.0, [40, 80], 1.0),
        (delayed_decay, math.pi / 2, wave, wave, 0.0, 10.0, [105, 205], 1.0),
        (feldstein_neves_rhs, None, one, feldstein_neves, 1.0, 4.5, [56, 112], 3.0),
        (ddetst_d1, None, logarithm, logarithm, 2.0, 5.0, [37, 74], 3.0),
    ],
    ids=["kinks on the grid", "lag between grid points", "lag by state", "lag by state, smooth"],
)
def test_order_is_four(rhs, args, initial_history, exact, start, end, counts, longest_lag):
    found = errors(rhs, args, initial_history, exact, start, end, counts, longest_lag)
    assert found[-1] > 1e-13, "rounding, not the method, would be measured"
    order = math.log(found[0] / found[1]) / math.log(counts[1] / counts[0])
    assert order == pytest.approx(4, abs=0.2)


def test_kink_between_grid_points_lowers_the_order():
    found = errors(delayed_decay, 1.0, one, method_of_steps, 0.0, 3.0, [31, 62, 124], 1.0)
    assert 1.5 < math.log2(found[0] / found[-1]) / 2 < 3.5


def test_constant_past_is_the_default():
    solve = {"ts": np.array([0.0, 2.0]), "dt0": 0.1, "longest_lag": 1.0}
    given = dde.solve_fixed(delayed_decay, jnp.ones(1), 1.0, initial_history=one, **solve)
    default = dde.solve_fixed(delayed_decay, jnp.ones(1), 1.0, **solve)
    np.testing.assert_array_equal(given.ys, default.ys)


def test_states_between_are_those_of_a_finer_save_grid():
    def states(count):
        ts = np.linspace(0.0, 6.0, count)
        solution = dde.solve_fixed(
            delayed_decay, jnp.ones(1), 1.0, ts=ts, dt0=0.05, longest_lag=1.0
        )
        return np.asarray(solution.ys)

    np.testing.assert_allclose(states(13)[::4], states(4), rtol=0, atol=1e-14)
