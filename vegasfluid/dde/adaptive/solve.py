"""Solve delay differential equations with steps of controlled length, one or a batch of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Unpack

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
from jax.core import Tracer
from jaxtyping import Array, Float, PyTree
from numpy.typing import ArrayLike

from vegasfluid.dde.adaptive.options import Options, with_defaults
from vegasfluid.dde.adaptive.ordinary import Asking, run_ordinary
from vegasfluid.dde.adaptive.run import run
from vegasfluid.dde.adaptive.setup import (
    Numbers,
    Setup,
    check_saveat,
    checked_numbers,
    require_first_step,
    setup_of,
)
from vegasfluid.dde.outcome import Outcome
from vegasfluid.dde.shapes import check_flat, check_shape
from vegasfluid.dde.solution import Solution, check
from vegasfluid.errors import InvalidInput

__all__ = ["solve", "solve_batch"]

CPU_CHUNK = 64


def solve(
    rhs: Callable[..., Array],
    solver: diffrax.AbstractSolver,
    t0: ArrayLike,
    t1: ArrayLike,
    dt0: ArrayLike | None,
    y0: Float[ArrayLike, " n"],
    args: PyTree = None,
    **options: Unpack[Options],
) -> Solution:
    """Solve y'(t) = rhs(t, y(t), history, args) from t0 to t1; called as `diffrax.diffeqsolve`.

    Args:
        rhs: dy/dt, shape (n,), of (t, y, history, args); `history(s)` is y at s <= t, for a time
            or an array of times, and `history.ago(lag)` is y at t - lag. `Recall` says where it
            may be called. With `switches` there is a fifth argument: which side each is on.
        solver: `diffrax.Bosh3()`, `Tsit5()`, `Dopri5()`, `Dopri8()`. Where `rhs` never calls its
            history and nothing is clamped or switched, any: diffrax then solves the equation.
        t0: where to start.
        t1: where to end.
        dt0: first step; None: chosen by the controller. The step, if that is constant.
        y0: state at t0, shape (n,), floating; its dtype is that of the whole computation.
        args: handed to the functions; any pytree.
        options: see `Options`.

    Returns:
        The states at the times that were asked for, and how it ended.

    Raises:
        InvalidInput: an argument makes no sense.
        SolveFailed: it went wrong, unless `throw=False`; under `jax.jit`, JAX's runtime error.

    >>> import diffrax
    >>> solution = solve(
    ...     lambda t, y, history, rate: -rate * history(t - 1.0), diffrax.Bosh3(),
    ...     0.0, 3.0, None, jnp.ones(1), 1.0, saveat=diffrax.SaveAt(ts=jnp.array([1.5, 3.0])),
    ... )
    >>> [round(float(value), 3) for value in solution.ys[:, 0]]
    [-0.375, -0.167]
    """
    chosen = with_defaults(options)
    setup = setup_of(rhs, solver, chosen)
    numbers = checked_numbers(t0, t1, dt0, y0, dims=1)
    check_saveat(chosen["saveat"], numbers)
    numbers, args = jax.tree.map(lambda leaf: jnp.asarray(leaf)[None], (numbers, args))
    solution = _solved(setup, chosen["saveat"], numbers, args)
    return _thrown(jax.tree.map(lambda leaf: leaf[0], solution), chosen["throw"])


def solve_batch(
    rhs: Callable[..., Array],
    solver: diffrax.AbstractSolver,
    t0: ArrayLike,
    t1: ArrayLike,
    dt0: ArrayLike | None,
    y0: Float[ArrayLike, "batch n"],
    args: PyTree = None,
    *,
    chunk: int | None = None,
    **options: Unpack[Options],
) -> Solution:
    """Solve a batch of equations, each with its own steps; as `solve`, but for what is said here.

    The memory of an instance is its history's: rows times (4 + n times the powers of the dense
    output) numbers of the state's dtype. The powers are 4 for Bosh3, 5 for Tsit5 and Dopri5, 7
    for Dopri8.

    Args:
        rhs: of one instance; so are all other functions.
        solver: as in `solve`.
        t0: one for all, or shape (batch,).
        t1: likewise.
        dt0: likewise.
        y0: states at t0, shape (batch, n).
        args: a pytree; every leaf has the batch in front.
        chunk: instances that step side by side; the chunks follow each other. None: all of them,
            but on a CPU 64, whose history fits in the cache, and with clamps or switches 1:
            side by side all wait for each one's events.
        options: see `Options`; the save times are the same for all, `max_steps` is for each.

    Returns:
        As `solve`, with the batch in front of every array.

    Raises:
        InvalidInput: an argument makes no sense.
        SolveFailed: any went wrong, unless `throw=False`; it tells how many, and of the first why.

    >>> import diffrax
    >>> solution = solve_batch(
    ...     lambda t, y, history, rate: -rate * history(t - 1.0), diffrax.Bosh3(),
    ...     0.0, 0.5, None, jnp.ones((2, 1)), jnp.array([0.5, 1.0]),
    ... )
    >>> [round(float(value), 3) for value in solution.ys[:, 0, 0]]
    [0.75, 0.5]
    """
    chosen = with_defaults(options)
    setup, saveat = setup_of(rhs, solver, chosen), chosen["saveat"]
    numbers = checked_numbers(t0, t1, dt0, y0, dims=2)
    check_saveat(saveat, numbers)
    batch = numbers.y0.shape[0]
    args = jax.tree.map(jnp.asarray, args)
    for leaf in jax.tree.leaves(args):
        if leaf.shape[:1] != (batch,):
            allowed = f"a pytree whose leaves have {batch} instances in front"
            raise InvalidInput("dde.solve_batch", "args", allowed, f"shape {leaf.shape}")
    size = _chunk_size(chunk, batch, bool(setup.clamps) or setup.switches is not None)
    solution = _chunked(lambda own: _solved(setup, saveat, *own), (numbers, args), batch, size)
    return _thrown(solution, chosen["throw"])


def _chunk_size(chunk: int | None, batch: int, events: bool) -> int:
    if chunk is None:
        fitting = 1 if events else CPU_CHUNK
        return min(batch, fitting) if jax.default_backend() == "cpu" else batch
    if not isinstance(chunk, int) or chunk < 1:
        raise InvalidInput("dde.solve_batch", "chunk", "a whole number from 1 up, or None", chunk)
    return min(chunk, batch)


def _chunked(solve: Callable[[Any], Any], given: PyTree, batch: int, size: int) -> Any:
    """Solve chunk by chunk; the last one is filled up with repetitions of its last instance."""
    if size >= batch:
        return solve(given)
    chunks = -(-batch // size)
    order = jnp.minimum(jnp.arange(chunks * size), batch - 1).reshape(chunks, size)
    found = jax.lax.map(lambda which: solve(jax.tree.map(lambda leaf: leaf[which], given)), order)
    return jax.tree.map(lambda leaf: leaf.reshape(chunks * size, *leaf.shape[2:])[:batch], found)


@eqx.filter_jit
def _solved(setup: Setup, saveat: diffrax.SaveAt, numbers: Numbers, args: PyTree) -> Solution:
    """Solve a batch: by diffrax, if there is nothing that diffrax has not."""
    require_first_step(setup, numbers)
    asks, switches = _needs(setup, numbers, args)
    if asks or switches or setup.clamps or setup.project:
        return run(setup, saveat, numbers, args, switches)
    return run_ordinary(setup, saveat, numbers, args)


def _needs(setup: Setup, numbers: Numbers, args: PyTree) -> tuple[bool, int]:
    """Whether the right-hand side asks for the past, and how many switches there are."""
    asked = []

    def probe(time: Array, y: Array, own: PyTree) -> tuple[Array, Array]:
        history = Asking(y)
        found = jnp.zeros(0)
        if setup.switches is not None:
            found = setup.switches(time, y, history, own)
        sides = () if setup.switches is None else (found >= 0,)
        slope = setup.rhs(time, y, history, own, *sides)
        asked.append(history.asked)
        return slope, found

    one = jax.tree.map(lambda leaf: leaf[0], (numbers.t0, numbers.y0, args))
    slope, found = jax.eval_shape(probe, *one)
    check_shape("rhs", slope, numbers.y0.shape[1:])
    if setup.switches is not None:
        check_flat("switches", found)
    if setup.past is not None:
        past = jax.eval_shape(setup.past, one[0], one[2])
        check_shape("past", past, numbers.y0.shape[1:])
    return asked[0], found.shape[0]


def _thrown(solution: Solution, throw: bool) -> Solution:
    """The solution; a failure raises, under `jax.jit` when it runs."""
    if not throw:
        return solution
    if not isinstance(solution.outcome, Tracer) and not isinstance(solution.time, Tracer):
        return check(solution)
    worst = jnp.max(solution.outcome)
    messages = [f"dde.solve failed: {outcome.meaning}." for outcome in Outcome]
    return eqx.branched_error_if(solution, worst > 0, worst, messages)
