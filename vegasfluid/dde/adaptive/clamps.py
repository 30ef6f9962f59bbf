"""Clamps and switches: in which mode each of them is, and what that means for the slope."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int32, PyTree

__all__ = ["Bounds", "Clamp", "Modes", "bounds_of", "free_of", "hold"]

Bound = float | Callable[[PyTree], Any]


class Clamp(NamedTuple):
    """A component that is held between bounds: at a bound while its slope points outward.

    Args:
        component: of the state.
        lower: a number, or a function of `args`; None: no bound.
        upper: likewise.

    >>> Clamp(1, lower=0.0, upper=lambda args: args["buffer"]).component
    1
    """

    component: int
    lower: Bound | None = None
    upper: Bound | None = None


class Bounds(NamedTuple):
    """Bounds of the clamped components, infinite where there are none; shape (clamps, *batch)."""

    lower: Float[Array, "clamps batch"]
    upper: Float[Array, "clamps batch"]


class Modes(NamedTuple):
    """What a step holds fixed.

    Args:
        held: for each clamp -1 at the lower bound, 1 at the upper, 0 free; (clamps, *batch).
        above: for each switch whether its indicator is not negative; (m, *batch).
    """

    held: Int32[Array, "clamps batch"]
    above: Bool[Array, "m batch"]


def bounds_of(clamps: tuple[Clamp, ...], args: PyTree, dtype: Any) -> Bounds:
    """The bounds of one instance.

    >>> bounds_of((Clamp(0, lower=lambda args: 2 * args),), 3.0, jnp.float32).lower.tolist()
    [6.0]
    """

    def value(bound: Bound | None, none: float) -> Array:
        given = bound(args) if callable(bound) else none if bound is None else bound
        return jnp.asarray(given, dtype).reshape(())

    lower = [value(clamp.lower, -jnp.inf) for clamp in clamps]
    upper = [value(clamp.upper, jnp.inf) for clamp in clamps]
    none = jnp.zeros(0, dtype)
    return Bounds(jnp.stack(lower), jnp.stack(upper)) if clamps else Bounds(none, none)


def free_of(values: Float[Array, "n batch"], clamped: tuple[int, ...]) -> Array:
    """The clamped components of a state or slope; shape (clamps, *batch)."""
    parts = [values[component] for component in clamped]
    return jnp.stack(parts) if parts else jnp.zeros((0, *values.shape[1:]), values.dtype)


def hold(
    slope: Float[Array, "n batch"], modes: Modes, clamped: tuple[int, ...]
) -> Float[Array, "n batch"]:
    """The slope with that of held components zero."""
    for number, component in enumerate(clamped):
        held = modes.held[number] != 0
        slope = slope.at[component].set(jnp.where(held, 0.0, slope[component]))
    return slope
