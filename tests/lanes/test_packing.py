"""Arrays of a few elements in vectors, in lane kernels of one lane, beside JAX's own results."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from vegasfluid.lanes import lane_kernel
from vegasfluid.lanes.builder import REAL, Builder, Item
from vegasfluid.lanes.packing import FEWEST, WIDEST, pack, packed, sizes_of

pytestmark = pytest.mark.filterwarnings("error::vegasfluid.lanes.LaneKernelWarning")

SIZES = [1, FEWEST - 1, FEWEST, 5, WIDEST, WIDEST + 1, 2 * WIDEST + 3]
"""Numbers of elements: fewer than a vector has, one vector, and several with a rest."""


def agrees(function, *arguments):
    """Compare a function's lane kernel with the function compiled by XLA."""
    expected = jax.tree.leaves(jax.jit(function)(*arguments))
    results = jax.tree.leaves(jax.jit(lane_kernel(function, warn=True))(*arguments))
    for result, value in zip(results, expected, strict=True):
        assert result.dtype == value.dtype
        np.testing.assert_allclose(result, value, rtol=1e-13)


def numbers(size):
    """Different doubles of both signs, shape (size,)."""
    return jnp.asarray(np.random.default_rng(size).normal(size=size))


@pytest.mark.parametrize("size", SIZES)
def test_elementwise_operations_of_every_type(size):
    def everything(x, y):
        whole = jnp.arange(size, dtype=jnp.int32) - 2
        chosen = jnp.where((x > y) & (whole < 3), x, jnp.minimum(y, 0.25))
        functions = jnp.exp(x) + jnp.log1p(jnp.abs(y)) * jnp.tanh(x) - jnp.cbrt(y)
        return (
            chosen,
            functions,
            whole * 3 + (x > 0).astype(jnp.int32),
            jnp.floor(x * 4).astype(jnp.int32),
            x > y,
        )

    agrees(everything, numbers(size), numbers(size)[::-1])


@pytest.mark.parametrize("size", SIZES)
def test_constants_scalars_and_parts_of_arrays(size):
    def mixed(x, scale):
        constants = jnp.linspace(1.0, 2.0, size)
        parts = jnp.concatenate([x[size // 2 :] * scale, x[: size // 2] + constants[: size // 2]])
        return parts * constants, x[::-1] - scale, jnp.full(size, scale) * 2, x.sum() + scale

    agrees(mixed, numbers(size), jnp.asarray(0.3))


@pytest.mark.parametrize("size", SIZES)
def test_a_division_by_zero_and_nan_stay_where_they_are(size):
    x = numbers(size).at[0].set(jnp.nan).at[size // 2].set(0.0)
    agrees(lambda x: (1 / x, jnp.maximum(x, 0.1), jnp.isfinite(x), jnp.sign(x)), x)


@pytest.mark.parametrize("size", SIZES)
def test_values_that_loops_carry_and_stack(size):
    def looped(x):
        def step(carry, number):
            a, b, flags = carry
            a = a * 0.5 + b.sum() * number
            return (a, -b, flags ^ (a > 0)), a[::-1]

        return jax.lax.scan(step, (x, x + 1, x > 0), jnp.arange(4.0))

    agrees(looped, numbers(size))


def test_a_vector_made_in_a_loop_is_made_again_behind_it():
    """The loop may run not at all, so that nothing behind it may use what is computed in it."""

    def repeated(x, count):
        y = jnp.stack([x, x + 1, x * 2, x - 3])
        total = jax.lax.fori_loop(0, count, lambda _, total: total + jnp.exp(y).sum(), 0.0)
        return total, jnp.exp(y) * total

    for count in (0, 3):
        agrees(repeated, jnp.asarray(0.7), jnp.int32(count))


@pytest.mark.parametrize("size", SIZES)
def test_elements_read_from_and_written_to_memory(size):
    def moved(table, x, row):
        table = jax.lax.dynamic_update_slice(table, x[None] * 2, (row, jnp.int32(0)))
        slices = jax.lax.dynamic_slice(table, (row - 1, jnp.int32(0)), (2, size))
        return slices, table[row + jnp.arange(3, dtype=jnp.int32)], table.at[row].add(x[::-1])

    table = jnp.asarray(np.random.default_rng(0).normal(size=(400 // size + 1, size)))
    agrees(moved, table, numbers(size), jnp.int32(7))


def test_integers_and_truth_values_in_memory():
    def moved(row):
        whole = jnp.arange(600, dtype=jnp.int32).reshape(100, 6)
        flags = whole % 5 == 0
        return (
            whole[row] + 1,
            ~flags[row],
            jax.lax.dynamic_update_slice(flags, ~flags[:1], (row, jnp.int32(0))),
        )

    agrees(moved, jnp.int32(11))


def test_derivatives_of_packed_arrays():
    def curve(x):
        return (jnp.exp(x) * x[::-1]).sum()

    x = numbers(5)
    kernel = jax.jit(jax.jacfwd(lane_kernel(curve, warn=True)))
    np.testing.assert_allclose(kernel(x), jax.jacfwd(curve)(x), rtol=1e-13)


def test_sizes_of_vectors():
    one_lane = Builder(1)
    assert list(sizes_of(one_lane, (2,))) == [(0, 1), (1, 1)]
    assert list(sizes_of(one_lane, (2, 4))) == [(0, 4), (4, 4)], "each row begins a vector"
    assert list(sizes_of(one_lane, (4, 2))) == [(0, WIDEST)], "rows too short for vectors"
    assert list(sizes_of(one_lane, (0, 3))) == list(sizes_of(one_lane, (3, 0))) == []
    assert list(sizes_of(one_lane, (WIDEST + 1,))) == [(0, WIDEST), (WIDEST, 1)]
    assert [size for _, size in sizes_of(Builder(4), (5,))] == [1] * 5, "vectors of lanes"
    assert [size for _, size in sizes_of(Builder(1, gpu=True), (5,))] == [1] * 5


def test_a_vector_is_joined_once_and_a_number_alone_stays_a_scalar():
    b = Builder(1)
    items = [Item(f"%x{number}", REAL) for number in range(FEWEST)]
    with b.side_by_side(FEWEST):
        vector = pack(b, items)
        lines = len(b.lines)
        assert pack(b, items) == vector
        assert len(b.lines) == lines
        assert pack(b, [items[0]] * FEWEST) == items[0]
    assert packed(b, items, (FEWEST,)) == [(FEWEST, vector)]
    assert b.width == 1
