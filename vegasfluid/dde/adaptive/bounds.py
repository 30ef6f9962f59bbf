"""Bounds of state components and guards: which are active, and the slope that follows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int32, PyTree

__all__ = [
    "Bound",
    "BoundArrays",
    "Modes",
    "bounded_components",
    "bounds_of",
    "clipped_state",
    "zero_slopes_at_bounds",
]

BoundValue = float | Callable[[PyTree], Any]
"""A bound in the unit of the component, or a function of the user's `args` that returns it."""


class Bound(NamedTuple):
    """Bounds of state components; each stays at a bound while its slope points outward.

    Args:
        component: index in a state of shape (n,), or a function of the state that selects one or
            several components, such as `lambda y: y["queue"]`.
        lower: lower bound, in the unit of the component: a number, or a function of `args`; None:
            no bound. For several components it is one number for all, or has their shape.
        upper: upper bound: a number, or a function of `args`; None: no bound.

    >>> Bound(1, lower=0.0, upper=lambda args: args["buffer"]).component
    1
    """

    component: int | Callable[[Any], Any]
    lower: BoundValue | None = None
    upper: BoundValue | None = None


class BoundArrays(NamedTuple):
    """Bounds of the bounded components, infinite where there is none; shape (bounds, batch)."""

    lower: Float[Array, "bounds batch"]
    upper: Float[Array, "bounds batch"]


class Modes(NamedTuple):
    """The active bounds and the signs of the guards, which are constant within a step.

    Args:
        at_bound: for each bounded component -1 at its lower bound, 1 at its upper one, 0 between
            them; shape (bounds, batch).
        above: for each guard whether its indicator is not negative; shape (m, *batch).
        confined: whether the right-hand side is evaluated with the bounded components clipped to
            their bounds, because it was not finite outside them; shape (*batch,).
    """

    at_bound: Int32[Array, "bounds batch"]
    above: Bool[Array, "m batch"]
    confined: Bool[Array, "*batch"]


def bounds_of(bounds: tuple[Bound, ...], args: PyTree, dtype: Any) -> BoundArrays:
    """The bounds of the bounded components of one instance, each array of shape (bounds,).

    Args:
        bounds: the user's bounds; functions among them are evaluated with `args`.
        args: the user's arguments of the instance.
        dtype: dtype of the result. A bound that is None is infinite.

    >>> bounds_of((Bound(0, lower=lambda args: 2 * args),), 3.0, jnp.float32).lower.tolist()
    [6.0]
    """

    def value(bound: BoundValue | None, default: float) -> Array:
        """One bound as an array of shape (), evaluated with `args`; `default` where it is None."""
        number = bound(args) if callable(bound) else default if bound is None else bound
        return jnp.asarray(number, dtype).reshape(())

    lower = [value(bound.lower, -jnp.inf) for bound in bounds]
    upper = [value(bound.upper, jnp.inf) for bound in bounds]
    empty = jnp.zeros(0, dtype)
    return BoundArrays(jnp.stack(lower), jnp.stack(upper)) if bounds else BoundArrays(empty, empty)


def bounded_components(values: Float[Array, "n batch"], bounded: tuple[int, ...]) -> Array:
    """The components of a state or slope that have bounds, shape (bounds, batch).

    Args:
        values: state or slope, shape (n, batch).
        bounded: indices of the bounded components.
    """
    parts = [values[component] for component in bounded]
    return jnp.stack(parts) if parts else jnp.zeros((0, *values.shape[1:]), values.dtype)


def clipped_state(
    y: Float[Array, "n batch"], bounds: BoundArrays, modes: Modes, bounded: tuple[int, ...]
) -> Float[Array, "n batch"]:
    """The state y, with the bounded components clipped to their bounds where `modes.confined`.

    Args:
        y: state, shape (n, batch).
        bounds: bounds of the bounded components.
        modes: states which instances are confined.
        bounded: indices of the bounded components.
    """
    for number, component in enumerate(bounded):
        inside = jnp.clip(y[component], bounds.lower[number], bounds.upper[number])
        y = y.at[component].set(jnp.where(modes.confined, inside, y[component]))
    return y


def zero_slopes_at_bounds(
    slope: Float[Array, "n batch"], modes: Modes, bounded: tuple[int, ...]
) -> Float[Array, "n batch"]:
    """A slope dy/dt with zeros for the components that stay at a bound; shape (n, batch).

    Args:
        slope: dy/dt as it would be without bounds, shape (n, batch).
        modes: states which bounded components are at a bound.
        bounded: indices of the bounded components.
    """
    for number, component in enumerate(bounded):
        at_bound = modes.at_bound[number] != 0
        slope = slope.at[component].set(jnp.where(at_bound, 0.0, slope[component]))
    return slope
