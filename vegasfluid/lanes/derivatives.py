"""Traced functions of the forward-mode derivative of a traced function."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import jax
from jax.extend import core

from vegasfluid.lanes.tracing import without_constants
from vegasfluid.lanes.varying import differing

__all__ = ["derivative", "with_tangents"]

RECENT = 32
"""Number of traced derivatives kept for reuse (chosen)."""


@lru_cache(RECENT)
def with_tangents(jaxpr: Any, moving: tuple[bool, ...], count: int) -> tuple[Any, tuple[Any, ...]]:
    """The traced function of `count` tangents at once, and its constants.

    Args:
        jaxpr: traced function of one tangent.
        moving: which of its arguments have an axis of tangents.
        count: number of tangents.
    """
    function = core.jaxpr_as_fun(core.ClosedJaxpr(jaxpr, ()))
    inputs = tuple(0 if moves else None for moves in moving)
    outputs = [0 if moves else None for moves in differing(jaxpr, moving)]
    several = jax.vmap(function, inputs, outputs, axis_size=count)
    examples = [
        jax.ShapeDtypeStruct((count,) * moves + each.aval.shape, each.aval.dtype)
        for each, moves in zip(jaxpr.invars, moving, strict=True)
    ]
    closed = jax.make_jaxpr(several)(*examples)
    return without_constants(closed), tuple(closed.consts)


@lru_cache(RECENT)
def derivative(jaxpr: Any, moving: tuple[bool, ...]) -> tuple[Any, tuple[Any, ...]]:
    """The traced function that returns the values and then their derivatives, and its constants.

    Its arguments are the constants, the arguments of `jaxpr`, and the tangents of those that move.
    Results that are not floats have no derivative among its results.

    Args:
        jaxpr: traced function of the values.
        moving: which of its arguments have a tangent.
    """
    function = core.jaxpr_as_fun(core.ClosedJaxpr(jaxpr, ()))

    def both(values: list[Any], pushed: list[Any]) -> list[Any]:
        """The results for `values`, and their derivatives for the tangents `pushed`."""
        moved = [value for value, moves in zip(values, moving, strict=True) if moves]

        def of_moving(*given: Any) -> list[Any]:
            each = iter(given)
            pairs = zip(values, moving, strict=True)
            return function(*(next(each) if moves else value for value, moves in pairs))

        outputs, slopes = jax.jvp(of_moving, moved, pushed)
        return [*outputs, *(slope for slope in slopes if slope.dtype != jax.dtypes.float0)]

    arguments = [jax.ShapeDtypeStruct(each.aval.shape, each.aval.dtype) for each in jaxpr.invars]
    moved = [each for each, moves in zip(arguments, moving, strict=True) if moves]
    closed = jax.make_jaxpr(both)(arguments, moved)
    return without_constants(closed), tuple(closed.consts)
