"""A batch of problems, and a look at its right-hand side."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int32, PyTree

from vegasfluid.dde.adaptive.bounds import BoundArrays, Modes, bounded_components, zero_held_slopes
from vegasfluid.dde.adaptive.breaking_points import ActiveInterval
from vegasfluid.dde.adaptive.compensated_time import CompensatedTime
from vegasfluid.dde.adaptive.history import EvaluationPoint, History
from vegasfluid.dde.adaptive.history_ring import Ring, Track
from vegasfluid.dde.adaptive.method import Method

__all__ = [
    "Equation",
    "Evaluation",
    "InstanceContext",
    "Problem",
    "StepContext",
    "evaluate_rhs",
    "evaluate_rhs_one",
]


@jax.tree_util.register_static
@dataclass(frozen=True)
class Equation:
    """What is the same for every instance, and is compiled in; hashable.

    Args:
        rhs: dy/dt of (t, y, history, args), and of the sides of the switches if there are any.
        initial_history: y before t0, of (t, args).
        guards: None, or indicators of (t, y, history, args), shape (m,).
        project: y after a step, of (y, args); or None.
        guard_count: how many indicators there are.
        bounded: components that bounds hold.
        method: how a step is made.
    """

    rhs: Callable[..., Array]
    initial_history: Callable[[Array, PyTree], Array]
    guards: Callable[..., Array] | None
    project: Callable[[Array, PyTree], Array] | None
    guard_count: int
    bounded: tuple[int, ...]
    method: Method


class Problem(NamedTuple):
    """A batch of problems; arrays have the batch last, only those of `args` first.

    Args:
        equation: what they share.
        args: arguments; each leaf with the batch in front.
        y0: state at t0, shape (n, batch).
        begin: t0.
        end: t1, shape (batch,).
        bounds: of the clamped components.
        time_tolerance: rounding of a time, shape (batch,).
    """

    equation: Equation
    args: PyTree
    y0: Float[Array, "n batch"]
    begin: CompensatedTime
    end: Float[Array, " batch"]
    bounds: BoundArrays
    time_tolerance: Float[Array, " batch"]


class StepContext(NamedTuple):
    """What a step can see.

    Args:
        ring: the pieces up to row `last`.
        last: the latest row, shape (batch,).
        now: when the step starts.
        modes: in which it is made.
        previous_step: length of the last step, shape (batch,).
        interval: between which breaks each site reads; None: it is not known.
    """

    ring: Ring
    last: Int32[Array, " batch"]
    now: CompensatedTime
    modes: Modes
    previous_step: Float[Array, " batch"]
    interval: ActiveInterval | None = None


class Evaluation(NamedTuple):
    """The right-hand side at one time of each instance.

    Args:
        slope: dy/dt, clamped components held; shape (n, batch).
        free: dy/dt of the clamped components, were they free; shape (clamps, batch).
        indicators: of the switches; shape (m, batch).
        read_times: times that the history was asked for, after the step's start, last by the
            switches if they were wanted; (sites, batch).
        rows: where they were found; (sites, batch).
        fault: the first `Outcome` met.
        overlaps: whether a time within the step was asked for.
        overshoot: how far beyond its fence the past was asked for, at most; negative: nowhere.
    """

    slope: Float[Array, "n batch"]
    free: Float[Array, "bounds batch"]
    indicators: Float[Array, "m batch"]
    read_times: Float[Array, "sites batch"]
    rows: Int32[Array, "sites batch"]
    fault: Int32[Array, " batch"]
    overlaps: Bool[Array, " batch"]
    overshoot: Float[Array, " batch"]


class InstanceContext(NamedTuple):
    """What `evaluate_rhs_one` needs of one instance; with the batch beside it, of all."""

    args: PyTree
    begin: CompensatedTime
    time_tolerance: Float[Array, "*batch"]
    now: CompensatedTime
    modes: Modes
    previous_step: Float[Array, "*batch"]
    interval: ActiveInterval | None

    @classmethod
    def of(cls, problem: Problem, context: StepContext) -> InstanceContext:
        """All instances of a batch at the start of a step."""
        given = (problem.args, problem.begin, problem.time_tolerance)
        return cls(*given, context.now, context.modes, context.previous_step, context.interval)

    @classmethod
    def axes(cls) -> InstanceContext:
        """Where the batch is, for `jax.vmap`."""
        return cls(0, *[-1] * 6)  # type: ignore[arg-type]


def evaluate_rhs(
    problem: Problem, context: StepContext, point: EvaluationPoint, *, with_guards: bool = False
) -> Evaluation:
    """Evaluate the right-hand side of all instances.

    Args:
        problem: the batch.
        context: what the step can see.
        point: in the step.
        with_guards: whether the indicators of the switches are wanted too.
    """
    size, batch = point.y.shape
    point = point._replace(arriving=jnp.broadcast_to(jnp.asarray(point.arriving), (batch,)))

    def one(
        ring: Ring, last: Array, instance: InstanceContext, point: EvaluationPoint
    ) -> Evaluation:
        return evaluate_rhs_one(
            problem.equation, Track(ring, size, last), instance, point, with_guards
        )

    axes = (0, 0, InstanceContext.axes(), -1)
    instance_contexts = InstanceContext.of(problem, context)
    return jax.vmap(one, in_axes=axes, out_axes=-1)(
        context.ring, context.last, instance_contexts, point
    )


def evaluate_rhs_one(
    equation: Equation,
    track: Track,
    instance: InstanceContext,
    point: EvaluationPoint,
    with_guards: bool,
) -> Evaluation:
    """Evaluate the right-hand side of one instance."""

    def initial_history(s: Array) -> Array:
        return equation.initial_history(s, instance.args)

    seen = (instance.time_tolerance, instance.interval, instance.previous_step)
    history = History(track, instance.now, point, initial_history, instance.begin, *seen)
    time, y = instance.now.whole + (point.ahead + instance.now.rest), point.y
    sides = () if equation.guards is None else (instance.modes.above,)
    slope = equation.rhs(time, y, history, instance.args, *sides).astype(y.dtype)
    indicators = jnp.zeros(equation.guard_count, y.dtype)
    if with_guards and equation.guards is not None:
        indicators = equation.guards(time, y, history, instance.args).astype(y.dtype)
    free = bounded_components(slope, equation.bounded)
    held = zero_held_slopes(slope, instance.modes, equation.bounded)
    read_times, rows = _joined(history.read_times, y.dtype), _joined(history.rows, jnp.int32)
    notes = (history.fault, history.overlaps, history.overshoot)
    return Evaluation(held, free, indicators, read_times, rows, *notes)


def _joined(parts: list[Array], dtype: Any) -> Array:
    return jnp.concatenate(parts) if parts else jnp.zeros(0, dtype)
