"""Lane kernels beside the same functions compiled by XLA."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.sharding import Mesh, PartitionSpec

from vegasfluid.lanes import LaneKernelWarning, cpu, lane_kernel, primitive
from vegasfluid.lanes.gpu import ptx
from vegasfluid.lanes.program import gpu_program

pytestmark = pytest.mark.optimised
"""What users run: vectors and single numbers agree to the last digit in optimised code."""

X = jnp.linspace(-2.0, 3.0, 6).reshape(2, 3)
ROWS = 512


def ring(x):
    """A history in a large array that a loop changes where it stands."""

    def turn(k, carry):
        history, y = carry
        history = lax.dynamic_update_slice(history, jnp.sin(y * x[0])[None], (k & (ROWS - 1), 0))
        return history, y + 0.01 * history[(k - 3) & (ROWS - 1)] - 0.01 * y

    return lax.fori_loop(0, 700, turn, (jnp.zeros((ROWS, 3)), x[1]))


def old_and_new(x):
    """The array before a change is asked for after it, so that the change needs a copy."""

    def turn(carry, k):
        large, total = carry
        changed = lax.dynamic_update_slice(large, (total + k.astype(float))[None], (k,))
        return (changed, total + large[k] + changed[k]), large[(k + 1) % 300]

    return lax.scan(turn, (jnp.zeros(300), x.sum()), jnp.arange(20))


def kept_outside(x):
    """An array that a loop must not change, as it is a result too."""
    large = jnp.broadcast_to(x.sum(), (300,)) * 1.0
    changed = lax.fori_loop(0, 5, lambda k, y: y.at[k].set(y[k + 1] + x[0, 0]), large)
    return large, changed


def backwards(x):
    """A scan from the end, with outputs and a large array as input."""
    each = jnp.arange(600.0) * x[0, 1]
    return lax.scan(lambda c, e: (c * 0.5 + e, (c, e > 3)), x[1], each, reverse=True)


def uneven(x):
    """A loop that each lane leaves in its own time."""
    return lax.while_loop(lambda y: y[0] < 50, lambda y: y * 1.5 + 1, jnp.abs(x[0]))


def counted(x):
    """A loop that lanes leave at different times, with counts that are the same until then."""

    def turn(carry):
        count, marked = carry
        return count + 1, marked.at[count].set(1.0)

    return lax.while_loop(lambda carry: carry[0] < 3 * jnp.abs(x[0, 0]), turn, (0, jnp.zeros(300)))


def read_after(x):
    """A small array that is read by number in a loop without an iteration, and after it."""
    table = x[0] * 2
    number = jnp.abs(x[1, 0]).astype(int) % 3
    skipped = lax.while_loop(lambda y: y < -1e9, lambda y: y + table[number], x[0, 0])
    return skipped + table[number]


def of_nothing(x):
    """Reductions along axes without elements."""
    some = [x, x.astype(jnp.int32)]
    sums = [f(y[:, :0], 1) for y in some for f in (jnp.sum, jnp.prod)]
    ends = [f(y[:, :0], 1, initial=7) for y in some for f in (jnp.max, jnp.min)]
    return [*sums, *ends, (x[:, :0] > 0).any(1), (x[:, :0] > 0).all(1)]


def places(x):
    """Indices of extremes; nan is the most extreme of all."""
    with_nan = jnp.array([1.0, jnp.nan, -2.0, jnp.nan]) * x[0, 0]
    extremes = (jnp.argmin, jnp.argmax)
    return [*(f(x, axis) for f in extremes for axis in (0, 1)), *(f(with_nan) for f in extremes)]


FUNCTIONS = {
    "arithmetic": lambda x: (x + 2) * x / (1 - x) - x**3 + x**-2 + jnp.square(x),
    "comparisons": lambda x: [x < 1, x <= 1, x > 1, x >= 1, x == 1, x != 1, (x > 0) ^ (x < 2)],
    "extremes": lambda x: [jnp.maximum(x, 0.5), jnp.minimum(0.5, x), jnp.maximum(x, x[::-1])],
    "nan": lambda x: [f(x / (x * 0), 1.0) for f in (jnp.maximum, jnp.minimum)],
    "clip": lambda x: [jnp.clip(x, -1, 1), jnp.where(x > 0, x, -x), jnp.sign(x), jnp.abs(x)],
    "rounding": lambda x: [jnp.floor(x), jnp.ceil(x), jnp.round(x), jnp.sqrt(jnp.abs(x))],
    "functions": lambda x: [jnp.exp(x), jnp.log(x), jnp.log1p(x), jnp.tanh(x), jnp.cbrt(x)],
    "more": lambda x: [jnp.sin(x), jnp.cos(x), lax.logistic(x), lax.rsqrt(x), jnp.power(2.5, x)],
    "whole": lambda x: [x.astype(jnp.int32) // 2, x.astype(int) & 3, 1 << jnp.arange(4)],
    "finite": lambda x: [jnp.isfinite(1 / (x - 1)), jnp.isnan(jnp.log(x))],
    "sums": lambda x: [x.sum(0), x.prod(), x.max(1), x.min(), (x > 0).any(0), (x > 0).all()],
    "shapes": lambda x: [x.T, x[::-1], x[:, 1:], x.reshape(-1)[::2], jnp.tile(x, 2)],
    "joining": lambda x: [jnp.concatenate([x, x], 1), jnp.stack([x, x], 1), *jnp.split(x, 3, 1)],
    "products": lambda x: [x @ x.T, jnp.einsum("ij,ik->ijk", x, x), x.cumsum(1), jnp.pad(x, 1)],
    "picking": lambda x: [x[jnp.array([1, 0])], x[:, jnp.array([2, 2])], jnp.take(x, 7)],
    "by number": lambda x: [
        x[jnp.abs(x[0, 1]).astype(int)],
        x.at[1].get(),
        x[0, (x[1] > 0).astype(int)],
    ],
    "slices": lambda x: lax.dynamic_slice(x, (x[0, 0].astype(int), 1), (1, 2)),
    "updates": lambda x: lax.dynamic_update_slice(x, x[:1, :1], (1, x[1, 1].astype(int))),
    "branches": lambda x: lax.cond(x[0, 0] > 0, lambda y: y + 1, lambda y: y * 2, x),
    "switch": lambda x: lax.switch(x[1, 1].astype(int), [jnp.sin, jnp.cos, jnp.abs], x),
    "large": lambda x: jnp.broadcast_to(x[0, :1], (400,)) * 2 + jnp.arange(400.0),
    "permuted": lambda x: (jnp.tile(x, (50, 2)) + 1).T[::-1] * 2,
    "counted": lambda x: jnp.zeros(4).at[x[0].astype(int)].add(1.0).at[jnp.array([1, 1])].max(0.5),
    "barrier": lambda x: lax.optimization_barrier((x, x + 1)),
    "float32": lambda x: [f(x.astype(jnp.float32) * 3) for f in (jnp.sum, jnp.exp, jnp.tanh)],
    "sorted": lambda x: jnp.searchsorted(jnp.arange(4.0), x),
    "empty": lambda x: (x[:, :0] @ x[:0], x[0, :0] @ x[0, :0], x[:0] @ x.T, x[:0].sum(1)),
    "empty sums": lambda x: (jnp.cumsum(x[:, :0], 1), jnp.cumsum(x[:0], 1)),
    "ring": ring,
    "old and new": old_and_new,
    "kept outside": kept_outside,
    "backwards": backwards,
    "uneven": uneven,
    "counted loop": counted,
    "read after a loop": read_after,
    "of nothing": of_nothing,
    "places": places,
}
BATCH = jnp.stack([X * scale + 0.1 for scale in np.linspace(-1, 2, 21)])


@pytest.fixture
def _strict():
    """A warning that XLA was used is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", LaneKernelWarning)
        yield


def close(found, expected, rtol=1e-13):
    for one, other in zip(*map(jax.tree.leaves, (found, expected)), strict=True):
        if one.dtype == jax.dtypes.float0:  # the derivative of a whole number
            continue
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        tolerance = 1e-6 if one.dtype == jnp.float32 else rtol
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)


def one_and_all(function):
    """A function's results for one instance and for a batch, compiled together."""
    return jax.jit(lambda one, batch: (function(one), jax.vmap(function)(batch)))


@pytest.mark.usefixtures("_strict")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_one_instance_and_a_batch_are_what_xla_computes(name):
    function = FUNCTIONS[name]
    close(one_and_all(lane_kernel(function))(X, BATCH), one_and_all(function)(X, BATCH))


@pytest.mark.usefixtures("_strict")
@pytest.mark.parametrize("name", ["arithmetic", "functions", "ring", "backwards", "products"])
def test_derivatives_are_those_of_xla(name):
    function, way = FUNCTIONS[name], jnp.cos(X)
    close(jax.jvp(lane_kernel(function), (X,), (way,)), jax.jvp(function, (X,), (way,)), 1e-11)
    first = lambda f: lambda x: jax.tree.leaves(f(x))[0]  # noqa: E731
    forward = jax.vmap(jax.jacfwd(first(lane_kernel(function))))(BATCH[:4])
    close(forward, jax.vmap(jax.jacfwd(first(function)))(BATCH[:4]), 1e-10)


def test_reverse_derivatives():
    def loss(function):
        return lambda x: (function(x)[1] ** 2).sum()

    def turns(x):
        return lax.scan(lambda y, _: (y * 0.9 + jnp.sin(y), y), x, None, length=30)

    close(jax.grad(loss(lane_kernel(turns)))(X), jax.grad(loss(turns))(X))


@pytest.mark.usefixtures("_strict")
def test_axes_that_are_mapped_one_after_the_other():
    def function(x, y):
        return x.sum() * y, jnp.exp(y)

    kernel, x, y = lane_kernel(function), BATCH[:3], jnp.arange(4.0)
    for axes in [((0, None), (None, 0)), ((None, 0), (0, None)), ((0, 0), (1, None))]:
        given = (x, y) if axes[1] != (1, None) else (BATCH[:4], jnp.ones((4, 2)))
        both = [jax.vmap(jax.vmap(f, axes[1]), axes[0]) for f in (kernel, function)]
        if axes[1] == (1, None):
            given = (jnp.swapaxes(given[0], 1, 2), given[1][:, 0])
        close(both[0](*given), both[1](*given))


@pytest.mark.usefixtures("_strict")
def test_any_number_of_lanes_and_threads(monkeypatch):
    function = lambda x: lax.fori_loop(0, 50, lambda k, y: y * 0.9 + k, x)  # noqa: E731
    for threads in (1, 2, 7):
        monkeypatch.setattr(primitive, "processors", lambda threads=threads: threads)
        for lanes in (1, 2, 7, 8, 9, 33):
            x = jnp.arange(lanes * 2.0).reshape(lanes, 2)
            found = jax.jit(jax.vmap(lane_kernel(function)))(x)
            close(found, jax.vmap(function)(x))


@pytest.mark.usefixtures("_strict")
def test_lanes_cut_over_devices():
    """As sweeps do."""

    def function(x):
        return lax.fori_loop(0, 5, lambda k, y: y * 0.5 + x, x * jnp.arange(3.0)), 2.0 + x

    mesh, along = Mesh(np.array(jax.local_devices()[:1]), ("points",)), PartitionSpec("points")
    cut = [
        jax.jit(jax.shard_map(jax.vmap(f), mesh=mesh, in_specs=along, out_specs=along))
        for f in (lane_kernel(function), function)
    ]
    close(cut[0](jnp.arange(20.0)), cut[1](jnp.arange(20.0)))


def test_all_threads_treat_tiny_numbers_alike(monkeypatch):
    monkeypatch.setattr(primitive, "processors", lambda: 7)
    below = lambda x: lax.fori_loop(0, 345, lambda k, y: y * 0.125, x)  # noqa: E731
    found = np.asarray(jax.jit(jax.vmap(lane_kernel(below)))(jnp.ones(5000)))
    assert len(set(found.tolist())) == 1


def test_what_cannot_be_translated_runs_on_xla_with_a_note():
    def function(x):
        return jnp.sort(x.ravel()), lax.linalg.cholesky(x @ x.T)

    with pytest.warns(LaneKernelWarning, match="no translation of sort"):
        found = jax.vmap(lane_kernel(function))(BATCH)
    close(found, jax.vmap(function)(BATCH))


def test_numbers_are_arguments_and_not_part_of_the_program():
    programs = len(cpu.REGISTERED)
    for scale in (2.0, 3.0, 4.0):
        kernel = jax.jit(lambda x, scale: lane_kernel(lambda y: y * scale)(x))
        close(kernel(X, scale), X * scale)
    assert len(cpu.REGISTERED) <= programs + 1


PROGRAM = """
import sys, jax, jax.numpy as jnp
jax.config.update("jax_compilation_cache_dir", sys.argv[1])
jax.config.update("jax_enable_x64", True)
from vegasfluid.lanes import cpu, lane_kernel
compiled = []
kept = cpu.emitted
cpu.emitted = lambda *given: compiled.append(1) or kept(*given)
print(float(lane_kernel(lambda x: jnp.exp(x) * 2)(1.0)), len(compiled))
"""


def test_machine_code_is_kept_and_a_damaged_folder_is_no_harm(tmp_path):
    def run():
        command = [sys.executable, "-c", PROGRAM, str(tmp_path)]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()

    assert run()[1] == "1"
    assert run()[1] == "0"
    (kept,) = (tmp_path / "lanes").iterdir()
    kept.write_bytes(kept.read_bytes()[:100])
    assert run()[1] == "1"


def history_of_exponentials(x):
    def turn(k, carry):
        history, y = carry
        history = lax.dynamic_update_slice(history, jnp.exp(-y)[None], (k & (ROWS - 1), 0))
        return history, y + history[(k - 3) & (ROWS - 1)]

    return lax.fori_loop(0, 700, turn, (jnp.zeros((ROWS, 3)), x[1]))


@pytest.mark.parametrize("name", ["history", "functions", "uneven"])
def test_programs_for_a_gpu_become_its_assembly_language(name):
    function = {
        "history": history_of_exponentials,
        "functions": lambda x: [jnp.exp(x), jnp.log1p(x), jnp.tanh(x), jnp.power(x, x)],
        "uneven": uneven,
    }[name]
    closed = jax.make_jaxpr(function)(X)
    text = ptx(gpu_program(closed.jaxpr, (True,)))
    assert ".visible .entry lanes_kernel(" in text
    assert ".func" not in text  # nothing that the driver would have to find elsewhere


SINGLE = """
import warnings
warnings.simplefilter("error")
import jax, jax.numpy as jnp
from vegasfluid import dde
from vegasfluid.lanes import lane_kernel
assert not jax.config.jax_enable_x64
print(lane_kernel(lambda x: jnp.where(x > 1, 2.0 * x, x + 3))(jnp.float32(0.5)))
field = lambda t, y, history, args: -history(t - 1.0)
times = jnp.linspace(0.0, 1.0, 3)
solution = dde.solve_fixed(field, jnp.ones(1), ts=times, dt0=0.1, longest_lag=1.0)
print(solution.ys[-1, 0])
"""


def test_in_jaxs_default_precision():
    """Nobody has switched JAX to 64 bits: y' = -y(t - 1) with y = 1 before 0 has y(1) = 0."""
    environment = {name: text for name, text in os.environ.items() if name != "JAX_ENABLE_X64"}
    done = subprocess.run(
        [sys.executable, "-c", SINGLE], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    kernel, solved = map(float, done.stdout.split())
    assert kernel == 3.5
    assert solved == pytest.approx(0.0, abs=1e-6)


def sizes_of_calls(function, x):
    """Numbers of lanes of the lane kernels that a function calls; None: a single lane."""
    equations = jax.make_jaxpr(function)(x).jaxpr.eqns
    calls = [each for each in equations if each.primitive is primitive.lanes_p]
    return [each.params["call"].size for each in calls]


@pytest.mark.usefixtures("_strict")
def test_several_tangents_share_a_lane():
    def swing(x):
        return lax.fori_loop(0, 5, lambda _, y: y * 0.9 + jnp.sin(y).sum() * x, jnp.cos(x))

    few, many = jnp.linspace(0.5, 1.0, 4), jnp.linspace(0.5, 1.0, primitive.MOST_TANGENTS + 1)
    slopes = jax.jacfwd(lane_kernel(swing))
    assert sizes_of_calls(slopes, few) == [None]
    assert sizes_of_calls(slopes, many) == [many.size], "a lane each, as the program would be long"
    for x in (few, many):
        close(jax.jit(slopes)(x), jax.jacfwd(swing)(x))
    batch = jnp.stack([few, few * 2, few - 1])
    assert sizes_of_calls(jax.vmap(slopes), batch) == [3]
    close(jax.jit(jax.vmap(slopes))(batch), jax.vmap(jax.jacfwd(swing))(batch))
    close(jax.jit(jax.jacfwd(slopes))(few), jax.jacfwd(jax.jacfwd(swing))(few), 1e-12)


@pytest.mark.usefixtures("_strict")
def test_tangents_have_a_lane_each_if_arrays_get_too_large_for_a_kernel():
    def chosen(x):
        wide = x.sum() * jnp.linspace(0.5, 1.0, 200)  # results of a conditional are in registers
        return lax.cond(x[0] > 0.7, lambda y: y * y, lambda y: y + 1.0, wide)

    x = jnp.linspace(0.5, 1.0, 4)
    slopes = jax.jacfwd(lane_kernel(chosen))
    assert sizes_of_calls(slopes, x) == [4]
    close(jax.jit(slopes)(x), jax.jacfwd(chosen)(x))


@pytest.mark.parametrize(
    ("size", "operations", "beside"), [(2, 5000, True), (8, 50, True), (8, 1100, False)]
)
def test_lanes_run_side_by_side_unless_many_wide_arrays_fill_vectors(size, operations, beside):
    def function(x):
        for number in range(operations):
            x = x * (x + number)
        return x

    closed = jax.make_jaxpr(function)(jnp.ones(size))
    program = primitive.compiled(closed.jaxpr, (True,), True)
    assert program.width == (cpu.native_width() if beside else 1)


def test_a_loop_of_several_instances_in_a_lane_ends_each_at_its_time():
    """`jax.vmap` inside the function; the numbers of iterations are the elements themselves."""

    def counted(target):
        def step(state):
            count, trail = state
            return count + 1, trail.at[count].set(target.astype(float))

        start = jnp.int32(0), jnp.zeros(6)
        return lax.while_loop(lambda state: state[0] < target, step, start)

    targets = jnp.array([3, 5, 1, 0], jnp.int32)
    counts, trails = lane_kernel(jax.vmap(counted))(targets)
    assert counts.tolist() == targets.tolist()
    expected = [[float(each)] * each + [0.0] * (6 - each) for each in targets.tolist()]
    assert trails.tolist() == expected
    both = jax.vmap(lane_kernel(jax.vmap(counted)))(jnp.stack([targets, targets[::-1]]))[0]
    assert both.tolist() == [targets.tolist(), targets[::-1].tolist()]
