"""Compiled, batched, in either precision: the same numbers."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from vegasfluid import dde

jax.config.update("jax_enable_x64", True)


def rhs(t, y, history, args):
    lag = args["lag"] + 0.2 * jnp.tanh(y[0])
    old, older = history(t - lag), history(t - 2.0)
    return jnp.stack([y[1] - older[0] / 3, -args["pull"] * old[0] - 0.4 * y[1]])


def solve(args, y0):
    return dde.solve_fixed(rhs, y0, args, ts=np.linspace(0.0, 8.0, 5), dt0=0.05, longest_lag=2.0)


BATCH = {"lag": jnp.array([0.5, 0.9, 1.3, 2.5]), "pull": jnp.array([1.0, 2.0, 0.5, 1.0])}
STARTS = jnp.array([[1.0, 0.0], [0.2, -0.3], [0.0, 1.0], [1.0, 1.0]])


def test_batch_is_a_loop():
    """The lag of 2.0 is 40 steps: XLA rounds it in two ways, once reading the wrong interval."""
    batch = jax.jit(jax.vmap(solve))(BATCH, STARTS)
    one = jax.jit(solve)
    for i in range(4):
        single = one({name: values[i] for name, values in BATCH.items()}, STARTS[i])
        np.testing.assert_allclose(batch.ys[i], single.ys, rtol=1e-12, atol=1e-12)
        assert batch.result[i] == single.result
        np.testing.assert_array_equal(batch.time[i], single.time)
    assert batch.result.tolist() == [0, 0, 0, dde.Outcome.LAG_TOO_LONG]


def test_compiled_is_the_same_as_not_compiled():
    args = {"lag": 0.7, "pull": 1.0}
    np.testing.assert_allclose(
        solve(args, STARTS[0]).ys, jax.jit(solve)(args, STARTS[0]).ys, rtol=1e-12
    )


def test_array_of_lags_is_the_same_as_single_lags():
    def together(t, y, history, args):
        lag = args["lag"] + 0.2 * jnp.tanh(y[0])
        old, older = history(t - jnp.stack([lag, jnp.array(2.0)]))
        return jnp.stack([y[1] - older[0] / 3, -args["pull"] * old[0] - 0.4 * y[1]])

    args = {"lag": 0.7, "pull": 1.0}
    solution = dde.solve_fixed(
        together, STARTS[0], args, ts=np.linspace(0.0, 8.0, 5), dt0=0.05, longest_lag=2.0
    )
    np.testing.assert_allclose(solution.ys, solve(args, STARTS[0]).ys, rtol=1e-12)


def test_single_precision_stays_single():
    args = {"lag": np.float32(0.7), "pull": np.float32(1.0)}
    single = solve(args, STARTS[0].astype(jnp.float32))
    assert {leaf.dtype for leaf in (single.ts, single.ys, single.time)} == {jnp.dtype("float32")}
    assert single.result == dde.Outcome.SUCCESS
    double = solve({"lag": 0.7, "pull": 1.0}, STARTS[0])
    np.testing.assert_allclose(single.ys, double.ys, atol=2e-5)


def test_no_type_is_promoted_on_the_way():
    with jax.numpy_dtype_promotion("strict"):
        solution = solve({"lag": jnp.array(0.7), "pull": jnp.array(1.0)}, STARTS[0])
    assert solution.ys.dtype == jnp.float64


@pytest.mark.parametrize("transform", [jax.jit, lambda f: f])
def test_save_times_are_returned(transform):
    solution = transform(lambda y0: solve({"lag": 0.7, "pull": 1.0}, y0))(STARTS[0])
    np.testing.assert_array_equal(solution.ts, np.linspace(0.0, 8.0, 5))
    np.testing.assert_array_equal(solution.ys[0], STARTS[0])
