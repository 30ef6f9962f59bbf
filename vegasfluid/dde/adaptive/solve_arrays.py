"""Solves a batch from checked arrays: each instance by a lane kernel, or several at once by XLA.

A lane kernel takes one instance from start to end, so no instance waits for the events of another,
and it compiles in a fraction of the time. XLA solves on GPUs, with a progress meter, and equations
that a lane kernel cannot contain.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import diffrax
import equinox as eqx
import equinox.internal as eqxi
import jax
import jax.numpy as jnp
from jaxtyping import Array, PyTree

from vegasfluid.dde.adaptive.arguments import Arguments, TracedArguments, require_first_step
from vegasfluid.dde.adaptive.build import solve_dde
from vegasfluid.dde.adaptive.equation import traced_equation
from vegasfluid.dde.adaptive.ode_fallback import solve_ode
from vegasfluid.dde.adaptive.problem import Equation
from vegasfluid.dde.solution import Solution
from vegasfluid.lanes.builder import LARGEST_IN_REGISTERS, NoLaneKernel
from vegasfluid.lanes.primitive import by_lanes
from vegasfluid.lanes.reverse import by_lanes_in_reverse

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
"""Largest number of save times that a lane kernel evaluates together; more make its program
larger."""


Solve = Callable[[TracedArguments, PyTree], Solution]
"""Solves a batch, whose times, states and arguments have the batch axis first."""


@eqx.filter_jit
def solve_arrays(
    arguments: Arguments,
    saveat: diffrax.SaveAt,
    traced: TracedArguments,
    args: PyTree,
    chunk: int | None,
) -> Solution:
    """The solution of a batch of equations from their checked arguments; the batch axis first.

    Diffrax itself solves equations without history reads, events, bounds, guards and projection.
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
    own_loop = equation.delayed or arguments.events or arguments.project

    def together(block: int, taped: bool, traced: TracedArguments, args: PyTree) -> Solution:
        """Solve a batch side by side; `block` save times are evaluated together.

        If it is `taped`, JAX can differentiate it in reverse mode.
        """
        if own_loop:
            return solve_dde(arguments, saveat, traced, args, equation, closed_over, block, taped)
        return solve_ode(arguments, saveat, traced, args)

    solution = None
    if chunk is None and own_loop and isinstance(arguments.meter, diffrax.NoProgressMeter):
        block = saved_by_lane(equation, traced.y0.shape[-1])
        solution = in_lanes(partial(together, block), arguments.reverse, traced, args)
    if solution is None:
        size = chunk_size(chunk, traced.y0.shape[0], arguments.events)
        solution = by_xla(partial(together, SAVED_TOGETHER, arguments.reverse), traced, args, size)
    if arguments.reverse:
        return solution
    return eqxi.nondifferentiable_backward(solution, msg=NO_REVERSE_MODE)


def saved_by_lane(equation: Equation, size: int) -> int:
    """Number of save times that a lane kernel evaluates together, for `size` state components.

    It is 4, or fewer if the pieces of the dense output would be too large for its registers.
    """
    powers = len(equation.method.dense) + 1
    fitting = LARGEST_IN_REGISTERS // (3 + powers * size)
    return max(1, min(SAVED_BY_LANE, fitting))


def in_lanes(
    together: Callable[..., Solution], reverse: bool, traced: TracedArguments, args: PyTree
) -> Solution | None:
    """The solution by a lane kernel for each instance, or None where there is none.

    Args:
        together: solves a batch, here of one instance; its first argument states whether it is
            taped.
        reverse: whether the solution can be differentiated in reverse mode (by a kernel that tapes
            the solve); else in forward mode.
        traced: times and states; every leaf has the batch axis first.
        args: the user's arguments; every leaf has the batch axis first.
    """

    def one(taped: bool, traced: TracedArguments, args: PyTree) -> Solution:
        """The solution of one instance: its arguments and results have no batch axis."""
        solution = together(taped, *jax.tree.map(lambda leaf: leaf[None], (traced, args)))
        return jax.tree.map(lambda leaf: leaf[0], solution)

    plain, taped = partial(one, False), partial(one, True)
    try:
        if reverse:
            solution: Solution = by_lanes_in_reverse(plain, taped, traced, args)
        else:
            solution = by_lanes(plain, traced, args)
    except NoLaneKernel:
        return None
    return solution


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


def by_xla(together: Solve, traced: TracedArguments, args: PyTree, size: int) -> Solution:
    """The solution of a batch that XLA solves in chunks, one after the other.

    Args:
        together: solves the instances of a chunk side by side.
        traced: times and states; every leaf has the batch axis first.
        args: the user's arguments; every leaf has the batch axis first.
        size: instances in a chunk; copies of the last instance fill up the last chunk.
    """
    batch = traced.y0.shape[0]
    if size >= batch:
        return together(traced, args)
    chunks = -(-batch // size)
    order = jnp.minimum(jnp.arange(chunks * size), batch - 1).reshape(chunks, size)

    def solved(which: Array) -> Solution:
        return together(*jax.tree.map(lambda leaf: leaf[which], (traced, args)))

    result = jax.lax.map(solved, order)
    return jax.tree.map(lambda leaf: leaf.reshape(chunks * size, *leaf.shape[2:])[:batch], result)
