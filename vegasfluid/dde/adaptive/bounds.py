"""Clamps and switches: in which mode each of them is, and what that means for the slope."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int32, PyTree

__all__ = ["Bound", "BoundArrays", "Modes", "bounded_components", "bounds_of", "zero_held_slopes"]

BoundValue = float | Callable[[PyTree], Any]


class Bound(NamedTuple):
    """A component that is held between bounds: at a bound while its slope points outward.

    Args:
        component: of the state.
        lower: a number, or a function of `args`; None: no bound.
        upper: likewise.

    >>> Bound(1, lower=0.0, upper=lambda args: args["buffer"]).component
    1
    """

    component: int
    lower: BoundValue | None = None
    upper: BoundValue | None = None


class BoundArrays(NamedTuple):
    """Bounds of the clamped components, infinite where there are none; shape (clamps, *batch)."""

    lower: Float[Array, "bounds batch"]
    upper: Float[Array, "bounds batch"]


class Modes(NamedTuple):
    """What a step holds fixed.

    Args:
        held: for each clamp -1 at the lower bound, 1 at the upper, 0 free; (clamps, *batch).
        above: for each switch whether its indicator is not negative; (m, *batch).
    """

    held: Int32[Array, "bounds batch"]
    above: Bool[Array, "m batch"]


def bounds_of(bounds: tuple[Bound, ...], args: PyTree, dtype: Any) -> BoundArrays:
    """The bounds of one instance.

    >>> bounds_of((Bound(0, lower=lambda args: 2 * args),), 3.0, jnp.float32).lower.tolist()
    [6.0]
    """

    def value(bound: BoundValue | None, none: float) -> Array:
        given = bound(args) if callable(bound) else none if bound is None else bound
        return jnp.asarray(given, dtype).reshape(())

    lower = [value(bound.lower, -jnp.inf) for bound in bounds]
    upper = [value(bound.upper, jnp.inf) for bound in bounds]
    none = jnp.zeros(0, dtype)
    return BoundArrays(jnp.stack(lower), jnp.stack(upper)) if bounds else BoundArrays(none, none)


def bounded_components(values: Float[Array, "n batch"], bounded: tuple[int, ...]) -> Array:
    """The clamped components of a state or slope; shape (clamps, *batch)."""
    parts = [values[component] for component in bounded]
    return jnp.stack(parts) if parts else jnp.zeros((0, *values.shape[1:]), values.dtype)


def zero_held_slopes(
    slope: Float[Array, "n batch"], modes: Modes, bounded: tuple[int, ...]
) -> Float[Array, "n batch"]:
    """The slope with that of held components zero."""
    for number, component in enumerate(bounded):
        held = modes.held[number] != 0
        slope = slope.at[component].set(jnp.where(held, 0.0, slope[component]))
    return slope
