"""Solves a batch from checked arrays: each instance by a lane kernel, or several at once by XLA.

A lane kernel takes one instance from start to end, so no instance waits for the events of another,
and it compiles in a fraction of the time. XLA solves on GPUs, in reverse mode, with a progress
meter, and equations that a lane kernel cannot contain.
"""

from __future__ import annotations

import diffrax
import equinox as eqx
import equinox.internal as eqxi
import jax
import jax.numpy as jnp
from jaxtyping import Array, PyTree

from vegasfluid.dde.adaptive.arguments import Arguments, TracedArguments, require_first_step
from vegasfluid.dde.adaptive.build import solve_dde
from vegasfluid.dde.adaptive.equation import Equation, traced_equation
from vegasfluid.dde.adaptive.ode_fallback import solve_ode
from vegasfluid.dde.solution import Solution
from vegasfluid.lanes.builder import NoLaneKernel
from vegasfluid.lanes.primitive import by_lanes

__all__ = ["solve_arrays"]

NO_REVERSE_MODE = (
    "dde.solve: jax.grad needs adjoint=diffrax.RecursiveCheckpointAdjoint() and max_steps no "
    "larger than necessary; jax.jacfwd needs neither."
)
"""The error where reverse mode differentiates a solve whose adjoint is forward mode."""
CPU_CHUNK = 64
"""Instances in a chunk on a CPU by default, if there are no events: so many histories fit in the
cache."""
SAVED_TOGETHER = 32
"""Number of save times that XLA evaluates together (chosen)."""
SAVED_BY_LANE = 4
"""Number of save times that a lane kernel evaluates together; more make its program larger."""


@eqx.filter_jit
def solve_arrays(
    arguments: Arguments,
    saveat: diffrax.SaveAt,
    traced: TracedArguments,
    args: PyTree,
    chunk: int | None,
) -> Solution:
    """The solution of a batch of equations from their checked arguments; the batch axis first.

    Compiled as a whole: JAX would compile a loop over chunks anew at each call.

    Args:
        arguments: static arguments.
        saveat: what is saved.
        traced: times and states; every leaf has the batch axis first.
        args: the user's arguments; every leaf has the batch axis first.
        chunk: number of instances that XLA solves side by side; None: a lane kernel if possible.

    Raises:
        InvalidInput: if one of the user's functions returns another shape than it must.
    """
    require_first_step(arguments, traced)
    equation, closed_over = traced_equation(arguments, traced, args)
    solution = None
    if chunk is None and has_history(arguments, equation) and may_be_lane(arguments):
        solution = in_lanes(arguments, saveat, traced, args, equation, closed_over)
    if solution is None:
        solution = in_chunks(arguments, saveat, traced, args, chunk)
    if arguments.reverse:
        return solution
    return eqxi.nondifferentiable_backward(solution, msg=NO_REVERSE_MODE)


def has_history(arguments: Arguments, equation: Equation) -> bool:
    """Whether our own loop solves the equation; diffrax itself solves all others."""
    return bool(equation.delayed or arguments.events or arguments.project)


def may_be_lane(arguments: Arguments) -> bool:
    """Whether the options allow a lane kernel: forward mode, and no progress meter."""
    return not arguments.reverse and isinstance(arguments.meter, diffrax.NoProgressMeter)


def in_lanes(
    arguments: Arguments,
    saveat: diffrax.SaveAt,
    traced: TracedArguments,
    args: PyTree,
    equation: Equation,
    closed_over: tuple[Array, ...],
) -> Solution | None:
    """The solution by a lane kernel, or None where there is none; arguments as `solve_arrays`.

    Args:
        arguments: static arguments.
        saveat: what is saved.
        traced: times and states; every leaf has the batch axis first.
        args: the user's arguments; every leaf has the batch axis first.
        equation: the user's functions.
        closed_over: traced arrays that they close over, without a batch axis.
    """

    def one(traced: TracedArguments, args: PyTree) -> Solution:
        """The solution of one instance: its arguments and results have no batch axis."""
        times, given = jax.tree.map(lambda leaf: leaf[None], (traced, args))
        solution = solve_dde(arguments, saveat, times, given, equation, closed_over, SAVED_BY_LANE)
        return jax.tree.map(lambda leaf: leaf[0], solution)

    try:
        return by_lanes(one, traced, args)
    except NoLaneKernel:
        return None


def chunk_size(chunk: int | None, batch: int, events: bool) -> int:
    """Number of instances of a batch that XLA solves side by side, at most `batch`.

    Args:
        chunk: number given by the user; None: on a CPU 64, or 1 with events; else all.
        batch: number of instances.
        events: whether the equation has bounds, guards, resets or an `event`.
    """
    if chunk is None:
        fitting = 1 if events else CPU_CHUNK
        return min(batch, fitting) if jax.default_backend() == "cpu" else batch
    return min(chunk, batch)


def in_chunks(
    arguments: Arguments,
    saveat: diffrax.SaveAt,
    traced: TracedArguments,
    args: PyTree,
    chunk: int | None,
) -> Solution:
    """The solution of a batch that XLA solves in chunks, one after the other.

    Args:
        arguments: static arguments.
        saveat: what is saved.
        traced: times and states; every leaf has the batch axis first.
        args: the user's arguments; every leaf has the batch axis first.
        chunk: instances in a chunk; copies of the last instance fill up the last chunk.
    """
    batch = traced.y0.shape[0]
    size = chunk_size(chunk, batch, arguments.events)
    if size >= batch:
        return by_xla(arguments, saveat, traced, args)
    chunks = -(-batch // size)
    order = jnp.minimum(jnp.arange(chunks * size), batch - 1).reshape(chunks, size)

    def solved(which: Array) -> Solution:
        return by_xla(arguments, saveat, *jax.tree.map(lambda leaf: leaf[which], (traced, args)))

    result = jax.lax.map(solved, order)
    return jax.tree.map(lambda leaf: leaf.reshape(chunks * size, *leaf.shape[2:])[:batch], result)


def by_xla(
    arguments: Arguments, saveat: diffrax.SaveAt, traced: TracedArguments, args: PyTree
) -> Solution:
    """The solution of a batch whose instances XLA solves side by side.

    Diffrax itself solves equations without history reads, events, bounds, guards and projection.
    """
    equation, closed_over = traced_equation(arguments, traced, args)
    if has_history(arguments, equation):
        return solve_dde(arguments, saveat, traced, args, equation, closed_over, SAVED_TOGETHER)
    return solve_ode(arguments, saveat, traced, args)
