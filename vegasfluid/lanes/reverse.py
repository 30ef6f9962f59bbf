"""Reverse-mode derivatives of lane kernels, each computed by a lane kernel itself.

The kernel of the derivatives computes the function once more and then goes back, so nothing but
the arguments is kept between the two, and both halves of the work stay in the memory of one lane.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
from jax.custom_derivatives import SymbolicZero
from jax.extend import core

from vegasfluid.lanes.primitive import batched_call, lanes_p, require_program
from vegasfluid.lanes.tracing import of_one_instance, traced, without_constants

__all__ = ["by_lanes_in_reverse"]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Kept:
    """What the derivatives of a function need, from the computation of its results.

    Args:
        shared: constants of the function of one instance.
        leaves: its arguments, the batch axis first.
        moving: whether each of both is differentiated.
    """

    shared: list[Any]
    leaves: list[Any]
    moving: tuple[bool, ...] = field(metadata={"static": True})


def by_lanes_in_reverse(
    function: Callable[..., Any], differentiable: Callable[..., Any], *arguments: Any
) -> Any:
    """The results of a function for each instance of a batch, with derivatives in reverse mode.

    As `by_lanes`, but JAX can differentiate it in reverse mode instead of forward mode, also with
    respect to arrays that the functions close over.

    Args:
        function: maps pytrees of arrays to a pytree of arrays, for one instance.
        differentiable: a function of the same arguments and results, which JAX can differentiate
            in reverse mode.
        arguments: their arguments; every leaf has the batch axis first.

    Returns:
        The results; every leaf has the batch axis first.

    Raises:
        NoLaneKernel: if the function cannot be translated, or JAX's default device is no CPU.
    """
    leaves = jax.tree.leaves(arguments)
    examples = of_one_instance(arguments)
    plain, results = traced(function, *examples)
    repeated, _ = traced(differentiable, *examples)
    call = batched_call(plain, leaves)
    require_program(call)

    @jax.custom_vjp
    def values(constants: list[Any], shared: list[Any], leaves: list[Any]) -> list[Any]:
        """The results, as a list of arrays; `shared` are constants of the derivatives only."""
        return lanes_p.bind(*constants, *leaves, call=call)

    def forward(constants: Any, shared: Any, leaves: Any) -> tuple[list[Any], Kept]:
        """The results, and what the derivatives need; each argument knows whether it moves."""
        given = [each.value for each in (*constants, *leaves)]
        moving = tuple(each.perturbed for each in (*shared, *leaves))
        inputs = [each.value for each in shared], [each.value for each in leaves]
        return lanes_p.bind(*given, call=call), Kept(*inputs, moving)

    def backward(kept: Kept, cotangents: list[Any]) -> tuple[Any, Any, Any]:
        """The cotangents of all arguments, by one kernel; None for those that do not move."""
        return None, *cotangents_of(repeated, kept, cotangents)

    values.defvjp(forward, backward, symbolic_zeros=True)
    return jax.tree.unflatten(results, values(plain.consts, repeated.consts, leaves))


def cotangents_of(closed: Any, kept: Kept, cotangents: list[Any]) -> tuple[list[Any], list[Any]]:
    """The cotangents of the constants and of the arguments of a function, from its results'.

    Args:
        closed: the closed jaxpr of the function of one instance.
        kept: its constants and arguments.
        cotangents: those of its results, the batch axis first; symbolic zeros where there are none.

    Returns:
        Arrays of the shapes of constants and arguments; None where they are not differentiated.
    """
    function = core.jaxpr_as_fun(core.ClosedJaxpr(without_constants(closed), ()))
    chosen = [number for number, each in enumerate(cotangents) if is_array(each)]
    flags, count = kept.moving, len(kept.shared)

    def back(leaves: list[Any], cotangents: list[Any]) -> list[Any]:
        """The cotangents of what moves, for one instance."""
        given = [*kept.shared, *leaves]

        def moved(*moving: Any) -> list[Any]:
            values = iter(moving)
            outputs = function(
                *(next(values) if flag else each for flag, each in zip(flags, given, strict=True))
            )
            return [outputs[number] for number in chosen]

        moving = [each for flag, each in zip(flags, given, strict=True) if flag]
        return list(jax.vjp(moved, *moving)[1](cotangents))

    arrays = [cotangents[number] for number in chosen]
    if not arrays or not any(flags):
        return [None] * count, [None] * len(kept.leaves)
    everything = kept.leaves, arrays
    reverse, _ = traced(back, *of_one_instance(everything))
    given = jax.tree.leaves(everything)
    found = iter(lanes_p.bind(*reverse.consts, *given, call=batched_call(reverse, given)))
    result = [next(found) if flag else None for flag in flags]
    totals = [None if each is None else jnp.sum(each, axis=0) for each in result[:count]]
    return totals, result[count:]


def is_array(cotangent: Any) -> bool:
    """Whether a cotangent is an array of numbers: no symbolic zero, and not of a whole number."""
    return not isinstance(cotangent, SymbolicZero) and cotangent.dtype != jax.dtypes.float0
