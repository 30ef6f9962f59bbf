"""Reads of the history as JAX primitives.

The user's functions are traced once, before the history exists. A read is then one equation of
the traced function, wherever it stands: under `jax.vmap`, `jax.jit`, `lax.cond` or `lax.scan`.
"""

from __future__ import annotations

from typing import Any, NoReturn

import jax.numpy as jnp
from jax.core import ShapedArray
from jax.extend import core
from jax.interpreters import ad, batching

from vegasfluid.errors import InvalidInput, Unsupported, Words

__all__ = ["read_p", "window_p"]

read_p = core.Primitive("history_read")
"""y or dy/dt at times, shape (...), in the unit of t: shape (..., size).

Parameters: `size`, number of components of the state; `ago`: the times are lags; `derivative`:
dy/dt and not y.
"""
window_p = core.Primitive("history_window")
"""Nodes of the quadrature over windows of the past, from their starts and ends, shape (...).

The results are the times of the nodes, their weights, shape (..., panels, nodes), and the states
there, shape (..., panels, nodes, size). Parameters: `size`, `nodes` and `panels`.
"""
window_p.multiple_results = True


def _misplaced(*given: Any, **parameters: Any) -> NoReturn:
    """Called where a history is read outside a solve, where it has no values.

    Raises:
        InvalidInput: always.
    """
    raise InvalidInput(
        "dde.solve", "history", "called by the functions given to solve", Words("called later")
    )


read_p.def_impl(_misplaced)
window_p.def_impl(_misplaced)


@read_p.def_abstract_eval
def _read_shape(times: Any, *, size: int, ago: bool, derivative: bool) -> Any:
    """Shape and dtype of the values read."""
    return ShapedArray((*times.shape, size), times.dtype)


@window_p.def_abstract_eval
def _window_shapes(start: Any, end: Any, *, size: int, nodes: int, panels: int) -> Any:
    """Shapes and dtype of the nodes' times and weights, and of the states there."""
    shape = (*start.shape, panels, nodes)
    return [ShapedArray(each, start.dtype) for each in (shape, shape, (*shape, size))]


def _read_batched(given: Any, axes: Any, **parameters: Any) -> tuple[Any, int]:
    """Batching rule (`jax.vmap`) of a read: one read of an array with the batch as its first axis.

    Returns the values read and the position of the batch axis, 0.
    """
    return read_p.bind(jnp.moveaxis(given[0], axes[0], 0), **parameters), 0


def _window_batched(given: Any, axes: Any, **parameters: Any) -> tuple[Any, tuple[int, ...]]:
    """Batching rule (`jax.vmap`) of windows: starts and ends with the batch as their first axis.

    Returns the times, weights and states, and the position of the batch axis in each, 0.
    """
    size = next(
        part.shape[axis] for part, axis in zip(given, axes, strict=True) if axis is not None
    )
    starts, ends = (
        jnp.broadcast_to(part, (size, *part.shape)) if axis is None else jnp.moveaxis(part, axis, 0)
        for part, axis in zip(given, axes, strict=True)
    )
    return window_p.bind(starts, ends, **parameters), (0, 0, 0)


batching.primitive_batchers[read_p] = _read_batched
batching.primitive_batchers[window_p] = _window_batched


def _read_tangent(tangent: Any, times: Any, *, derivative: bool, **parameters: Any) -> Any:
    """The derivative of a read by its times, where the user differentiates within a function.

    Raises:
        Unsupported: for a read of dy/dt, as dde.solve has no second derivative of the past.
    """
    if derivative:
        advice = "dde.solve has no second derivative of the past"
        raise Unsupported("history.derivative", "differentiation by its time in rhs", advice)
    slope = read_p.bind(times, derivative=True, **parameters)
    slope = -slope if parameters["ago"] else slope
    return slope * jnp.expand_dims(tangent, -1)


def _window_jvp(primals: Any, tangents: Any, **parameters: Any) -> NoReturn:
    """Nodes of a window have no derivative by its ends within a function.

    Raises:
        Unsupported: always.
    """
    advice = "write its derivative: the integrand at the ends"
    raise Unsupported("history.integral", "differentiation by its ends in rhs", advice)


ad.defjvp(read_p, _read_tangent)
ad.primitive_jvps[window_p] = _window_jvp
