"""The indicators of guards, resets and events that end a solve, as one function."""

from __future__ import annotations

from typing import Any

import diffrax
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, PyTree

from vegasfluid.dde.adaptive.arguments import Arguments
from vegasfluid.dde.shape_checks import check_flat
from vegasfluid.errors import InvalidInput, Unsupported, Words

__all__ = ["event_directions", "event_mask", "indicators"]


def indicators(arguments: Arguments, t: Any, y: Any, history: Any, args: PyTree) -> Array:
    """The indicators of guards, resets and ending events in this order, shape (m,).

    Args:
        arguments: static arguments of `dde.solve`, with the functions.
        t: time.
        y: state.
        history: the history at this time.
        args: the user's arguments.

    Raises:
        InvalidInput: if one of the functions returns another shape than it must.
        Unsupported: if a reset or an event returns a truth value instead of a number.
    """
    parts = []
    if arguments.guards is not None:
        parts.append(arguments.guards(t, y, history, args))
        check_flat("guards", parts[0])
    values = [reset.indicator(t, y, history, args) for reset in arguments.resets]
    values += [condition(t, y, args, history=history) for condition in _conditions(arguments.event)]
    names = ["resets"] * len(arguments.resets) + ["event"] * len(values)
    return jnp.concatenate([*parts, *map(_number, names, values)])


def _number(name: str, value: Any) -> Array:
    """The indicator of a reset or an ending event (the option `name`) as an array of shape (1,).

    Raises:
        InvalidInput: unless it is one number.
        Unsupported: for a truth value.
    """
    if jnp.result_type(value) == jnp.bool_:
        advice = "return a number that is zero at the event, not a condition"
        raise Unsupported("dde.solve", f"{name} with an indicator that is a bool", advice)
    if jnp.shape(value) != ():
        allowed = "with indicators that return one number"
        raise InvalidInput("dde.solve", name, allowed, Words(f"shape {jnp.shape(value)}"))
    return jnp.reshape(value, 1)


def event_directions(event: diffrax.Event | None) -> tuple[bool | None, ...]:
    """For each condition of an event the direction of its zeros that counts; empty without one.

    True: rising; False: falling; None: both.
    """
    if event is None:
        return ()
    return tuple(jax.tree.leaves(event.direction, is_leaf=lambda leaf: leaf is None))


def event_mask(event: diffrax.Event | None, ended: Bool[Array, "batch events"]) -> PyTree | None:
    """Which conditions of an event ended the solve: a pytree like its `cond_fn`.

    Each leaf has shape (batch,). None without an event.
    """
    if event is None:
        return None
    structure = jax.tree.structure(event.cond_fn, is_leaf=callable)
    return jax.tree.unflatten(structure, list(ended.T))


def _conditions(event: diffrax.Event | None) -> list[Any]:
    """The condition functions of an event, in order."""
    return [] if event is None else jax.tree.leaves(event.cond_fn, is_leaf=callable)
