"""`jax.vmap` inside the function of a lane kernel, once and twice, against XLA."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from vegasfluid.lanes import lane_kernel

TABLE = jnp.array([[0.5, -1.0, 2.0], [1.5, 0.0, -0.5], [3.0, 1.0, 0.25], [-2.0, 4.0, 1.0]])


def halved(x):
    """A loop that instances leave at different times."""
    return lax.while_loop(lambda s: s[0] > 0.4, lambda s: (s[0] / 2, s[1] + 1), (x, 0.0))


def summed(x):
    """A scan whose carry and output differ."""
    return lax.scan(lambda c, row: (c + x * row[0], c * row[1]), x, TABLE)


def chosen(x):
    """A condition that differs between instances."""
    return lax.cond(x > 1, lambda y: y * y, lambda y: y - 1, x)


def looked_up(x):
    row = jnp.clip(x.astype(jnp.int32), 0, 3)
    return TABLE[row], lax.dynamic_slice(TABLE, (row, jnp.int32(0)), (1, 2)), TABLE[:, row % 3]


def written(x):
    row = jnp.clip(x.astype(jnp.int32), 0, 3)
    new = lax.dynamic_update_slice(TABLE, jnp.full((1, 3), x), (row, jnp.int32(0)))
    return TABLE.at[row, 1].set(x), TABLE.at[row].add(x), new


def nested(x):
    """A loop in a loop, both left at different times."""

    def outer(state):
        left, total = state
        inner = lax.while_loop(lambda y: y < left, lambda y: y + 0.7, 0.1 * total)
        return left - 0.9, total + inner

    return lax.while_loop(lambda state: state[0] > 0, outer, (x, 0.0))[1]


def searched(x):
    """The number of an interval, by bisection in a loop of a known length."""
    edges = jnp.array([0.0, 0.3, 0.9, 1.7, 2.9])

    def halve(_, bounds):
        low, high = bounds
        middle = (low + high + 1) // 2
        return jnp.where(edges[middle] <= x, middle, low), jnp.where(
            edges[middle] <= x, high, middle - 1
        )

    return lax.fori_loop(0, 3, halve, (jnp.int32(0), jnp.int32(4)))[0]


def reduced(x):
    row = x * TABLE
    return row.sum(0), row.max(), row.argmin(1), jnp.cumsum(row, 0), row @ TABLE.T


def with_a_loop_in_a_scan(x):
    def step(carry, value):
        found = lax.while_loop(lambda y: y < value, lambda y: y + carry, -x)
        return carry + 0.5, found

    return lax.scan(step, x + 0.1, TABLE[:, 2])[1]


FUNCTIONS = (
    halved, summed, chosen, looked_up, written, nested, searched, reduced, with_a_loop_in_a_scan,
)  # fmt: skip
VALUES = jnp.array([[0.2, 3.1, 1.3], [2.6, 0.7, 5.0]])


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
@pytest.mark.parametrize("axes", [1, 2])
def test_each_instance_has_xlas_result(function, axes):
    several = jax.vmap(function) if axes == 1 else jax.vmap(jax.vmap(function))
    values = VALUES[0] if axes == 1 else VALUES
    found, expected = lane_kernel(several)(values), jax.jit(several)(values)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-13), found, expected)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_each_instance_of_each_lane_has_xlas_result(function):
    several = jax.vmap(function)
    found = jax.vmap(lane_kernel(several))(VALUES)
    expected = jax.jit(jax.vmap(several))(VALUES)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-13), found, expected)
