"""Events that act on the state or end the solve: indicators, directions and effects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from vegasfluid.dde.adaptive.compensated_time import CompensatedTime
from vegasfluid.dde.adaptive.problem import Equation, Problem

__all__ = ["Reset", "acting_resets", "after_resets", "ending_events"]


class Reset(NamedTuple):
    """An event at which the state jumps: a dose, an impact, a switch that stays on.

    The jump enters the history: later reads at that time find the old state before the event and
    the new one after it. A component whose derivative is zero remembers that an event occurred.
    The jump itself triggers no further event.

    Args:
        indicator: function of (t, y, history, args) to a number, shape (); the event is its zero.
        effect: function of (t, y, args) that returns the state after the event, of the form of y.
        direction: True: only where the indicator rises through zero; False: only where it falls
            through zero; None: both.

    >>> dose = Reset(lambda t, y, history, args: t - 2.0, lambda t, y, args: y + args, True)
    >>> dose.effect(2.0, 1.0, 0.5)
    1.5
    """

    indicator: Callable[..., Array]
    effect: Callable[..., Any]
    direction: bool | None = None


def after_resets(
    problem: Problem, time: CompensatedTime, y: Float[Array, "n batch"], acting: Array
) -> Float[Array, "n batch"]:
    """The state y after the effects of all resets that act, one after the other; shape (n, batch).

    Args:
        problem: the batch, with its resets.
        time: the time of the event.
        y: the state before it.
        acting: which resets act, shape (resets, batch).
    """
    for number, reset in enumerate(problem.equation.resets):
        new = jax.vmap(reset.effect, in_axes=(-1, -1, 0), out_axes=-1)(
            time.plain(), y, problem.args
        )
        y = jnp.where(acting[number], new.astype(y.dtype), y)
    return y


def _crossed(
    directions: tuple[bool | None, ...], flips: Array, above: Array
) -> Bool[Array, "events batch"]:
    """Which events occur: their indicators change sign, in the direction that counts.

    Args:
        directions: True for a rising indicator, False for a falling one, None for both.
        flips: which indicators change sign, shape (events, batch).
        above: which were not negative before, shape (events, batch).
    """
    rows = [
        flip if direction is None else flip & (~before if direction else before)
        for direction, flip, before in zip(directions, flips, above, strict=True)
    ]
    return jnp.stack(rows) if rows else flips


def acting_resets(equation: Equation, flips: Array, above: Array) -> Bool[Array, "resets batch"]:
    """Which resets act at an event; shape (resets, batch).

    Args:
        equation: with its resets.
        flips: which guards change sign there, shape (guards, batch).
        above: which were not negative before, shape (guards, batch).
    """
    part = equation.guard_parts.resets
    directions = tuple(reset.direction for reset in equation.resets)
    return _crossed(directions, flips[part], above[part])


def ending_events(equation: Equation, flips: Array, above: Array) -> Bool[Array, "events batch"]:
    """Which conditions of the option `event` end the solve; shape (events, batch).

    Args:
        equation: with the directions of its events.
        flips: which guards change sign there, shape (guards, batch).
        above: which were not negative before, shape (guards, batch).
    """
    part = equation.guard_parts.events
    return _crossed(equation.event_directions, flips[part], above[part])
