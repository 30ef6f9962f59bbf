"""Lane kernels whose arrays are in memory, beside the same functions compiled by XLA."""

from __future__ import annotations

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from vegasfluid.lanes import cpu, lane_kernel, primitive, program
from vegasfluid.lanes.direct import DirectKernel, compile_directly

pytestmark = pytest.mark.optimised
"""What users run: LLVM vectorises the loops in optimised code only."""

X = jnp.linspace(-2.0, 3.0, 6).reshape(2, 3)
WIDE = jnp.linspace(-2.0, 3.0, 5 * 83).reshape(5, 83)
"""Rows that are no multiple of a vector's length."""
EVERY_OTHER = np.arange(WIDE.size) % 2 == 0


def looked_up(x):
    """Elements at numbers that are known when the program runs, some of them out of bounds."""
    numbers = (jnp.abs(x) * 50).astype(int)
    table = x[0] * 2
    modes = {"clip": {}, "fill": {"fill_value": -1.0}, "promise_in_bounds": {}}
    inside = numbers % table.size
    return [
        table.at[inside if mode == "promise_in_bounds" else numbers].get(mode=mode, **more)
        for mode, more in modes.items()
    ]


def deposited(x):
    """Masses added to cells whose numbers repeat; those out of bounds are left out."""
    cells = (jnp.abs(x) * 40).astype(int)
    rows = np.arange(x.shape[0])[:, None]
    some = jnp.zeros(x.shape).at[rows, cells].add(x * x)
    return some.at[rows, cells[:, ::-1]].max(x), jnp.zeros(3).at[cells % 3].add(x)


def searched(x):
    """The cell of each element, by bisection, which is a loop with arrays of integers."""
    edges = jnp.cumsum(jnp.abs(x[0]))
    return jnp.searchsorted(edges, jnp.abs(x), side="right")


def moved_along(x):
    """A loop in which one carried array takes the place of another."""

    def turn(_, carry):
        new, old, older = carry
        return new * 0.5 + older, new, old

    return lax.fori_loop(0, 7, turn, (x, x + 1, x * 2))


def overwritten(x):
    """An array that is read, changed where it stands, and read again."""
    large = jnp.concatenate([x, x], axis=1)
    before = large[:, 1:-1] * 2
    changed = lax.dynamic_update_slice(large, before, (0, 2))
    return changed, before, large.at[1, 0].set(7.0)


def wide(x):
    """An array of too many elements for the registers, from `x`."""
    return x.ravel()[:30, None] * x[0] if x.size > 30 else jnp.tile(x[:1], (200, 1)) + x[1, 0]


def reused(x):
    """Many arrays that live for a short time, and two that live on."""
    first, total = x * 3, x
    for k in range(12):
        total = jnp.where(total > k, total / 2, total + k) * jnp.flip(total, 1)
        total = total / (1 + jnp.abs(total.sum(1, keepdims=True)))
    return total, first


FUNCTIONS = {
    "elementwise": lambda x: [jnp.exp(x) / (1 + x * x), jnp.where(x > 0, x, -x), x > 1, ~(x > 1)],
    "broadcast": lambda x: [x + x[:1], x * x[:, :1], x[0, 0] + x, x[:, None] * x[0, :, None]],
    "shapes": lambda x: [x.T, x[::-1], x[:, 1:], x[:, ::2], x.reshape(-1)[3:], jnp.tile(x, 2)],
    "squeezed": lambda x: [(x * 2)[:, None, :, None], (x + 1)[0], (x * x)[:, 0], x.ravel() * 2],
    "sums": lambda x: [x.sum(), x.sum(0), (x * 2).sum(1), x.max(1), x.min(), jnp.cumsum(x, 1)],
    "truths": lambda x: [(x > 0).all(), (x > 0).any(1), jnp.isfinite(x).all(0)],
    "inner": lambda x: (x[:, None, :] * x[0][:, None]).sum((1, 2)),
    "products": lambda x: [
        wide(x) @ wide(x).T,
        jnp.einsum("ij,kj->ik", wide(x), x),
        jnp.einsum("bij,bj->bi", jnp.stack([wide(x)] * 2), jnp.stack([x[0], x[1]])),
        jnp.einsum("ij,ij->", wide(x), wide(x)),
    ],
    "joining": lambda x: [jnp.concatenate([x, x[:, :1]], 1), jnp.stack([x, -x], 2)],
    "dividing": lambda x: jnp.split(x * 2, [1, 2], axis=1),
    "padding": lambda x: [jnp.pad(x, ((0, 0), (2, 1)), constant_values=9.0), x.at[0].set(1.0)],
    "spread": lambda x: lax.pad(x, 0.5, ((1, 0, 0), (0, 2, 1))),
    "numbers": lambda x: [
        jnp.arange(1.0 * x.size) * x[0, 0],
        lax.broadcasted_iota(int, x.shape, 1),
    ],
    "constants": lambda x: jnp.where(EVERY_OTHER[: x.size].reshape(x.shape), x, x * x),
    "looked up": looked_up,
    "deposited": deposited,
    "searched": searched,
    "moved along": moved_along,
    "overwritten": overwritten,
    "reused": reused,
    "called": lambda x: jax.jit(lambda y: (y * y, y + 1))(x * 2),
}


@pytest.fixture
def _in_memory(monkeypatch):
    """Arrays of more than two elements are in memory, and what cannot be translated is an error."""
    monkeypatch.setattr(program, "MOST_ELEMENTS", -1)
    monkeypatch.setattr(program, "LARGEST_IN_LONG_PROGRAM", 2)
    primitive.compiled.cache_clear()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield
    primitive.compiled.cache_clear()


def agree(ours, theirs):
    """Assert that two pytrees have equal shapes and dtypes, and equal elements up to rounding."""
    for one, other in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        assert one.shape == other.shape
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-13)


@pytest.mark.usefixtures("_in_memory")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_one_instance_is_what_xla_computes(name):
    function = FUNCTIONS[name]
    agree(jax.jit(lane_kernel(function))(WIDE), jax.jit(function)(WIDE))


@pytest.mark.usefixtures("_in_memory")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_batch_is_what_xla_computes(name):
    function, batch = FUNCTIONS[name], jnp.stack([X, X[::-1] * 0.7, X + 0.1])
    agree(jax.jit(jax.vmap(lane_kernel(function)))(batch), jax.jit(jax.vmap(function))(batch))


@pytest.mark.usefixtures("_in_memory")
@pytest.mark.parametrize("name", ["elementwise", "deposited", "overwritten", "reused", "sums"])
def test_derivatives_are_those_of_xla(name):
    function = FUNCTIONS[name]

    def slope(f):
        return jax.jit(lambda x: jax.jvp(f, (x,), (jnp.ones_like(x),)))(WIDE)

    ours, theirs = (
        [leaf for leaf in jax.tree.leaves(slope(f)) if leaf.dtype == float]
        for f in (lane_kernel(function), function)
    )
    agree(ours, theirs)


@pytest.mark.usefixtures("_in_memory")
def test_loops_over_large_arrays_run_in_vectors():
    jaxpr = jax.make_jaxpr(lambda x: jnp.sqrt(x * x + 1))(WIDE[0])
    text = program.cpu_program(jaxpr.jaxpr, (False,), 1).text
    assert "< 8 x double>" not in text
    optimised = str(cpu.optimised(text, cpu.machine(2)))
    assert "<8 x double>" in optimised


@pytest.mark.usefixtures("_in_memory")
def test_memory_of_arrays_that_are_not_needed_any_more_is_used_again():
    def chain(x, length):
        for k in range(length):
            x = jnp.flip(x, 1) * x + k  # read twice, so stored
        return x

    sizes = [
        program.cpu_program(jax.make_jaxpr(lambda x, n=n: chain(x, n))(WIDE).jaxpr, (False,), 1)
        for n in (4, 40)
    ]
    assert sizes[0].scratch == sizes[1].scratch


def test_a_long_program_keeps_arrays_in_memory():
    def long(x):
        for k in range(200):
            x = jnp.where(x > float(k), x / 2, x + 1)
        return x

    def lines(shape):
        jaxpr = jax.make_jaxpr(long)(jnp.zeros(shape)).jaxpr
        return program.cpu_program(jaxpr, (False,), 1).text.count("\n")

    assert lines(200) < 20_000  # in registers, 800 operations on 200 elements would be 160 000
    code = compile_directly(long, jnp.zeros(200))
    start = np.linspace(-3.0, 900.0, 200)
    agree(DirectKernel(code)([start]), [np.asarray(jax.jit(long)(start))])
