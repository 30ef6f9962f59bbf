"""Short scans and first iterations that are written out, and arrays that loops carry in memory."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from vegasfluid.lanes import lane_kernel
from vegasfluid.lanes.builder import LARGEST_IN_REGISTERS
from vegasfluid.lanes.loops import LARGEST_CARRIED
from vegasfluid.lanes.program import cpu_program
from vegasfluid.lanes.tracing import without_constants
from vegasfluid.lanes.unrolling import MOST_ITERATIONS, peeled, size_of, unrolled

pytestmark = [
    pytest.mark.optimised,
    pytest.mark.filterwarnings("error::vegasfluid.lanes.LaneKernelWarning"),
]

SIZES = [1, 5, LARGEST_CARRIED + 1, LARGEST_IN_REGISTERS + 1]
"""Numbers of elements: scalars, vectors, an array that loops carry in memory, one always there."""
BATCH = jnp.asarray(np.random.default_rng(3).normal(size=(5, 3)))


def stages(size):
    """A scan whose iterations write a row of a table, and read all rows and an input's slice."""

    def function(x):
        def stage(carry, inputs):
            table, large = carry
            number, weights, each = inputs
            row = jnp.tensordot(weights, table, 1) + x[0] * each
            table = lax.dynamic_update_index_in_dim(table, jnp.tanh(row), number, 0)
            large = large.at[number].add(jnp.sum(row))
            return (table, large), (row, jnp.max(row), number)

        weights = jnp.tril(jnp.ones((4, 5))) * x[1]
        inputs = (jnp.arange(1, 5), weights, jnp.linspace(0.0, 1.0, 4 * size).reshape(4, size))
        table = jnp.zeros((5, size)).at[0].set(x[2])
        return lax.scan(stage, (table, jnp.zeros(600)), inputs)

    return function


def backwards(size):
    """A scan from the end that reads the array it had at first, and stacks arrays."""

    def function(x):
        first = jnp.full(size, x[0]) + jnp.arange(float(size))

        def turn(carry, each):
            return carry * 0.5 + first * each, (carry, each > 0)

        return lax.scan(turn, first, x, reverse=True), first

    return function


def at_least_once(size):
    """A loop that is certain to run once, and changes an array that is needed after it too."""

    def function(x):
        start = jnp.full(size, x[0])

        def turn(state):
            table, count, total = state
            number = count % size
            return table.at[number].add(x[1]), count + 1, total + table[number]

        def continues(state):
            return (state[1] < 1) | ((state[2] < x[2]) & (state[1] < 40))

        return start, lax.while_loop(continues, turn, (start, jnp.int32(0), jnp.zeros(())))

    return function


def swapped(size):
    """A loop that swaps arrays, reads one of them by number and changes the other as a whole."""

    def function(x):
        def turn(k, pair):
            one, other = pair
            return other + one[k % size], jnp.where(other > one, one, x[1])

        pair = (jnp.full(size, x[0]), jnp.arange(float(size)) * x[2])
        return lax.fori_loop(0, 20, turn, pair)

    return function


def reduced(size):
    """Sums, products, extremes and inner products of many elements."""

    def function(x):
        column = jnp.sin(jnp.arange(float(size)) * x[0])
        table = jnp.stack([column, column * x[1], column + x[2]])
        sums = [f(table, axis) for f in (jnp.sum, jnp.max, jnp.min) for axis in (0, 1)]
        return [*sums, jnp.prod(column), x @ table, table @ column, jnp.any(column > 1, 0)]

    return function


WRITTEN = {f.__name__: f for f in (stages, backwards, at_least_once, swapped, reduced)}

LARGE = ("backwards", "at_least_once")
"""Those that may have arrays that are too large for registers."""


CASES = [
    (name, size)
    for name in WRITTEN
    for size in SIZES
    if size <= LARGEST_IN_REGISTERS or name in LARGE
]


@pytest.mark.parametrize(("name", "size"), CASES)
def test_written_out_as_xla_computes_it(name, size):
    function = WRITTEN[name](size)
    tangent = jnp.ones(3)
    cases = [
        (lambda f: jax.jit(f)(BATCH[0])),
        (lambda f: jax.jit(jax.vmap(f))(BATCH)),
        (lambda f: jax.jit(lambda x: jax.jvp(f, (x,), (tangent,)))(BATCH[1])),
    ]
    for case in cases[: 2 if size > LARGEST_IN_REGISTERS else 3]:
        expected = jax.tree.leaves(case(function))
        results = jax.tree.leaves(case(lane_kernel(function)))
        for result, value in zip(results, expected, strict=True):
            assert result.dtype == value.dtype
            if value.dtype != jax.dtypes.float0:
                np.testing.assert_allclose(result, value, rtol=1e-11, atol=1e-12)


def scan_of(length, size):
    """The parameters of a scan of this length whose iterations compute arrays of a size."""
    turn = jax.make_jaxpr(lambda x: lax.scan(lambda c, e: (c + e, c * e), x, jnp.ones(length)))
    return next(e.params for e in turn(jnp.zeros(size)).eqns if e.primitive.name == "scan")


def test_short_scans_are_written_out():
    assert unrolled(scan_of(MOST_ITERATIONS, 3), 1)
    assert not unrolled(scan_of(MOST_ITERATIONS + 1, 3), 1)
    assert unrolled(scan_of(1, 3), 0)
    assert not unrolled(scan_of(2, 3), 0), "a loop whose iterations are alike"
    assert size_of(scan_of(2, 3)["jaxpr"]) < size_of(scan_of(2, 400)["jaxpr"])
    long = jax.make_jaxpr(lambda x: lax.while_loop(lambda y: y[0] < 1, lambda y: y + 1, x))
    assert peeled(long(jnp.zeros(3)).eqns[-1].params)


def test_a_table_that_iterations_write_stays_in_registers():
    def squares(x):
        def turn(table, number):
            row = table[number] * x
            return lax.dynamic_update_index_in_dim(table, row, number + 1, 0), None

        return lax.scan(turn, jnp.ones((4, 2)), jnp.arange(3))[0]

    closed = jax.make_jaxpr(squares)(2.0)
    program = cpu_program(without_constants(closed), (False,) * (len(closed.consts) + 1), 1)
    assert "phi" not in program.text
    assert program.scratch == 64, "the least"
