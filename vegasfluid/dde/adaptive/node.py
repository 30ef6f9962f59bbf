"""The state of a batch between two steps, and what a step that ends there leaves behind."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int32

from vegasfluid.dde.adaptive.bounds import Modes, bounded_components
from vegasfluid.dde.adaptive.compensated_time import CompensatedTime
from vegasfluid.dde.adaptive.events import StartValues
from vegasfluid.dde.adaptive.problem import Problem
from vegasfluid.dde.adaptive.step import Trial

__all__ = ["AttemptedStep", "EventRecord", "Node", "active_bounds", "on_bounds", "pick"]


class Node(NamedTuple):
    """The state of each instance between two steps.

    Args:
        clock: the time.
        y: state, shape (n, batch).
        slope: dy/dt for the next step, shape (n, batch).
        free: dy/dt that bounded components would have without bounds, shape (bound_count, batch).
        start_values: reads, indicators and breaks at the start of the next step.
        modes: active bounds and guard signs of the next step.
    """

    clock: CompensatedTime
    y: Float[Array, "n batch"]
    slope: Float[Array, "n batch"]
    free: Float[Array, "bound_count batch"]
    start_values: StartValues
    modes: Modes


class EventRecord(NamedTuple):
    """The event that ended a step, for the reverse pass; undefined for steps without an event.

    Args:
        first: number of the indicator that was zero first, shape (batch,).
        reached: whether each bound was reached or left, lower bounds first; (2 bounds, batch).
        resets: whether each reset acted, shape (resets, batch).
        ended: whether each condition of `event` ended the solve, shape (events, batch).
        break_at: time of the break that a lag passed, relative to the step's start; undefined for
            other events; shape (batch,).
    """

    first: Int32[Array, " batch"]
    reached: Bool[Array, "bounds batch"]
    resets: Bool[Array, "resets batch"]
    ended: Bool[Array, "events batch"]
    break_at: Float[Array, " batch"]

    @classmethod
    def nothing(cls, problem: Problem) -> EventRecord:
        """The record of a step without an event: zeros and false, for all instances."""
        equation, batch = problem.equation, problem.y0.shape[1]
        counts = (2 * len(equation.bounded), len(equation.resets), len(equation.event_directions))
        reached, resets, ended = (jnp.zeros((count, batch), bool) for count in counts)
        break_at = jnp.zeros(batch, problem.y0.dtype)
        return cls(jnp.zeros(batch, jnp.int32), reached, resets, ended, break_at)


def pick(which: Bool[Array, " batch"], these: Any, those: Any) -> Any:
    """The leaves of `these` for the instances in `which`, those of `those` for the others.

    The batch axis is the last one of every leaf.
    """
    return jax.tree.map(lambda this, that: jnp.where(which, this, that), these, those)


def active_bounds(problem: Problem, y: Array, free: Array) -> Int32[Array, "bound_count batch"]:
    """The active bounds of the bounded components: -1 lower, 1 upper, 0 none; (bounds, batch).

    A bound is active where the state y is at or beyond it and `free`, dy/dt without bounds, is 0 or
    points outward. If both are, the lower one counts.
    """
    values, (lower, upper) = bounded_components(y, problem.equation.bounded), problem.bounds
    low = ((values <= lower) & (free <= 0)).astype(jnp.int32)
    high = ((values >= upper) & (free >= 0)).astype(jnp.int32)
    return high * (1 - low) - low


class AttemptedStep(NamedTuple):
    """An attempted step with its error test.

    Args:
        trial: the attempted step.
        step: its length, shape (batch,).
        keep: whether its error is small enough, shape (batch,).
        node: the state at its start.
    """

    trial: Trial
    step: Float[Array, " batch"]
    keep: Bool[Array, " batch"]
    node: Node


def on_bounds(problem: Problem, y: Array, lower: Array, upper: Array) -> Float[Array, "n batch"]:
    """State at an event, with components exactly on the bounds that they reached or left.

    Components whose bounds were not reached or left do not change.

    Args:
        problem: the batch, with its bounds.
        y: state at the event, shape (n, batch).
        lower: which lower bounds were reached or left, shape (bounds, batch).
        upper: which upper bounds were reached or left, shape (bounds, batch).
    """
    for number, component in enumerate(problem.equation.bounded):
        value = jnp.where(lower[number], problem.bounds.lower[number], y[component])
        value = jnp.where(upper[number], problem.bounds.upper[number], value)
        y = y.at[component].set(value)
    return y
