"""The result of an attempted step: it advances to its end or its first event, or is repeated."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int32

from vegasfluid.dde.adaptive.bounds import Modes, bounded_components, zero_slopes_at_bounds
from vegasfluid.dde.adaptive.breaking_points import (
    ActiveInterval,
    BreakingPoints,
    updated_active_breaks,
)
from vegasfluid.dde.adaptive.compensated_time import CompensatedTime
from vegasfluid.dde.adaptive.events import (
    BREAK_TOLERANCE,
    Crossings,
    EventLocation,
    HistoryReads,
    StartValues,
    locate,
    mode_indicators,
)
from vegasfluid.dde.adaptive.history import EvaluationPoint
from vegasfluid.dde.adaptive.problem import Problem, StepContext, evaluate_rhs
from vegasfluid.dde.adaptive.step import Trial

__all__ = [
    "END_TOLERANCE",
    "AttemptedStep",
    "EventRecord",
    "Node",
    "StepResult",
    "active_bounds",
    "on_bounds",
    "pick",
    "resolve_step",
]

END_TOLERANCE = 1e-6
"""A step that ends within this fraction of its length before t1 is made to end at t1."""
OVERSHOOT_TOLERANCE = 0.02
"""A step that read beyond a break by more than this fraction of its length counts as having passed
it, even if the read time is before the break again at its end."""
CROSSING_TOLERANCE = 1e-6
"""An indicator below zero by less than this fraction of its size counts as not negative."""


class Node(NamedTuple):
    """The state of each instance between two steps.

    Args:
        clock: the time.
        y: state, shape (n, batch).
        slope: dy/dt for the next step, shape (n, batch).
        free: dy/dt of the bounded components as without bounds, shape (bound_count, batch).
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
    """An event, as the reverse pass needs it; undefined for steps without one.

    Args:
        first: number of the indicator that was zero, shape (batch,).
        reached: bounds that were reached or left, lower ones first, shape (2 bounds, batch).
        break_at: time of the break, if it is one, relative to the step's start; (batch,).
    """

    first: Int32[Array, " batch"]
    reached: Bool[Array, "bounds batch"]
    break_at: Float[Array, " batch"]

    @classmethod
    def nothing(cls, problem: Problem) -> EventRecord:
        """The record of a step without an event: zeros and false, for all instances."""
        batch, bound_count = problem.y0.shape[1], len(problem.equation.bounded)
        reached = jnp.zeros((2 * bound_count, batch), bool)
        return cls(jnp.zeros(batch, jnp.int32), reached, jnp.zeros(batch, problem.y0.dtype))


class StepResult(NamedTuple):
    """What follows from an attempted step.

    Args:
        keep: whether the step is accepted, shape (batch,).
        node: the state at its end; undefined unless accepted.
        passed: time from the step's start to its end, shape (batch,).
        again: length of the next attempt where an event makes it shorter, else 0; (batch,).
        event: whether the step ends at an event, shape (batch,).
        landed: that event.
        breaks: all breaks so far.
    """

    keep: Bool[Array, " batch"]
    node: Node
    passed: Float[Array, " batch"]
    again: Float[Array, " batch"]
    event: Bool[Array, " batch"]
    landed: EventRecord
    breaks: BreakingPoints


def pick(which: Bool[Array, " batch"], these: Any, those: Any) -> Any:
    """The leaves of `these` for the instances in `which`, those of `those` for the others.

    The batch axis is the last one of every leaf.
    """
    return jax.tree.map(lambda this, that: jnp.where(which, this, that), these, those)


def active_bounds(problem: Problem, y: Array, free: Array) -> Int32[Array, "bound_count batch"]:
    """The active bounds of the bounded components: -1 lower, 1 upper, 0 none; (bounds, batch).

    A bound is active where the state y is at it and `free`, dy/dt as without bounds, points
    outward.
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


def resolve_step(
    problem: Problem,
    context: StepContext,
    attempted: AttemptedStep,
    crossings: Crossings,
    breaks: BreakingPoints,
) -> StepResult:
    """Decide whether an attempted step advances to its end, ends at an event or is repeated.

    `crossings` says which event indicators turned negative in it; `breaks` are the breaking points
    so far. The result says whether the step is accepted, the time and state where it ends, its
    event, the breaking points, and the length of the next attempt where an event shortens it (else
    0).
    """
    trial, step, keep, node = (
        attempted.trial,
        attempted.step,
        attempted.keep,
        attempted.node,
    )
    end = trial.end
    indicators = mode_indicators(problem, context.modes, trial.y, end)
    changes = jnp.abs(indicators - node.start_values.indicators)
    start_values = StartValues(
        HistoryReads(end.read_times - step, end.rows),
        indicators,
        changes,
        node.start_values.active_breaks,
    )
    at_end = Node(
        context.now.after(step), trial.y, end.slope, end.free, start_values, context.modes
    )
    zero, none = jnp.zeros_like(step), jnp.zeros(step.shape, bool)
    no_event = EventRecord.nothing(problem)
    through = StepResult(keep, at_end, step, zero, none, no_event, breaks)
    if not crossings.wanted.shape[0]:
        return through
    far = jnp.maximum(OVERSHOOT_TOLERANCE * step, 4 * problem.time_tolerance)
    overshot = (
        keep
        & (trial.overshoot > far)
        & ~jnp.any(crossings.wanted[crossings.mode_count() :], axis=0)
    )
    through = through._replace(keep=keep & ~overshot, again=jnp.where(overshot, step / 2, 0.0))
    if crossings.mode_count():
        missed_at = _missed_crossing(problem, context, node.slope, trial, crossings, step)
        missed = through.keep & (missed_at < step)
        again = jnp.where(missed, missed_at, through.again)
        through = through._replace(keep=through.keep & ~missed, again=again)
    crossings = crossings.among(through.keep)

    # A loop and not `lax.cond`, whose branches XLA would give a copy of the ring.
    def land(state: tuple[StepResult, Array]) -> tuple[StepResult, Array]:
        """The step results with those of instances that have an event ending there."""
        landed = _to_event(problem, context, attempted, crossings, state[0])
        return landed, jnp.zeros((), bool)

    initial = (through, jnp.any(crossings.wanted))
    return jax.lax.while_loop(lambda state: state[1], land, initial)[0]


def _missed_crossing(
    problem: Problem,
    context: StepContext,
    slope: Array,
    trial: Trial,
    crossings: Crossings,
    step: Array,
) -> Float[Array, " batch"]:
    """Time after a step's start at which an indicator is negative, though not at the end; else inf.

    It checks all indicators of bounds and guards at the middle, and each bounded component at its
    turning point. Shape (batch,).

    Args:
        problem: the batch.
        context: history, and active bounds and guard signs, of the step.
        slope: dy/dt at its start, shape (n, batch).
        trial: the attempted step.
        crossings: the indicators at its start, middle and end.
        step: its length, shape (batch,).
    """
    mode_count, half = crossings.mode_count(), step / 2
    assert crossings.at_half is not None
    middle = crossings.at_half[:mode_count]
    size = CROSSING_TOLERANCE * jnp.maximum(
        jnp.abs(crossings.at_start[:mode_count]), jnp.abs(crossings.at_end[:mode_count])
    )
    missed_at = jnp.where(jnp.any(middle < -size, axis=0), half, jnp.inf)
    for number, component in enumerate(problem.equation.bounded):
        before, after = slope[component], trial.end.slope[component]
        turns = (before * after < 0) & (context.modes.at_bound[number] == 0)
        turn = step * before / jnp.where(turns, before - after, 1.0)
        value = trial.piece.at(turn)[component]
        lower, upper = problem.bounds.lower[number], problem.bounds.upper[number]
        outside = jnp.maximum(lower - value, value - upper)
        sides = jnp.array([number, number + len(problem.equation.bounded)])
        rounding = jnp.max(size[sides] * crossings.scale[sides], axis=0)
        missed_at = jnp.where(turns & (outside > rounding), jnp.minimum(missed_at, turn), missed_at)
    exempt = jnp.any(crossings.wanted[:mode_count], axis=0) | (step <= 64 * problem.time_tolerance)
    return jnp.where(exempt, jnp.inf, missed_at)


def _to_event(
    problem: Problem,
    context: StepContext,
    attempted: AttemptedStep,
    crossings: Crossings,
    through: StepResult,
) -> StepResult:
    """The results of a step in which some instances have an event: those end at their first one.

    Args:
        problem: the batch.
        context: history, and active bounds and guard signs, of the step.
        attempted: the step and its error test.
        crossings: the indicators of events that turned negative in it.
        through: the results as without events, kept for the other instances.
    """
    step, bound_count = attempted.step, len(problem.equation.bounded)
    location = locate(problem, context, attempted.trial, crossings, step)
    # An event right at the start, where the last step ended at one, may be rounding: try a shorter
    # step before it is accepted.
    doubtful = crossings.any_crossed & (location.ahead <= 0) & (step > 64 * problem.time_tolerance)
    event = crossings.any_crossed & ~doubtful
    passed = jnp.where(event, location.ahead, step)
    node, breaks = _event_node(
        problem, context, attempted, crossings, location, passed, event, through.breaks
    )
    return StepResult(
        keep=through.keep & ~doubtful,
        node=pick(event, node, through.node),
        passed=passed,
        again=jnp.where(doubtful, step / 4, through.again),
        event=event,
        landed=EventRecord(location.first, location.which[: 2 * bound_count], location.break_at),
        breaks=breaks,
    )


def _event_node(
    problem: Problem,
    context: StepContext,
    attempted: AttemptedStep,
    crossings: Crossings,
    location: EventLocation,
    passed: Float[Array, " batch"],
    event: Bool[Array, " batch"],
    breaks: BreakingPoints,
) -> tuple[Node, BreakingPoints]:
    """Time, state y, slope and modes at an event, and the breaking points with one for it.

    `passed` is the time from the step's start to the event; `event` says which instances have one.
    """
    equation, bound_count = problem.equation, len(problem.equation.bounded)
    trial = attempted.trial
    lower, upper, flips = jnp.split(
        location.which[: crossings.mode_count()], [bound_count, 2 * bound_count]
    )
    crossed = location.which[crossings.mode_count() :].astype(jnp.int32)
    active_breaks = attempted.node.start_values.active_breaks
    active_breaks = breaks.active_breaks(
        active_breaks.passed + jnp.where(crossings.rising, crossed, -crossed)
    )
    y = on_bounds(problem, trial.piece.at(passed), lower, upper)
    above = context.modes.above ^ flips
    free_modes = Modes(jnp.zeros_like(context.modes.at_bound), above)
    point = EvaluationPoint(passed, y, trial.piece, trial.end.rows, arriving=False)
    # Where a guard changes sign, the lags may jump.
    interval = active_breaks.interval(context.now)
    jumps = jnp.any(flips, axis=0)
    interval = ActiveInterval(
        jnp.where(jumps, -jnp.inf, interval.lower), jnp.where(jumps, jnp.inf, interval.upper)
    )
    evaluation = evaluate_rhs(
        problem, context._replace(modes=free_modes, interval=interval), point, with_guards=True
    )
    reaches = (lower | upper) & (context.modes.at_bound == 0)
    leaves = (lower | upper) & (context.modes.at_bound != 0)
    at_bound = jnp.where(leaves, 0, context.modes.at_bound)
    at_bound = jnp.where(reaches, active_bounds(problem, y, evaluation.free), at_bound)
    modes = Modes(at_bound, above)
    clock = context.now.after(passed)
    level = jnp.where(location.breaks, _level(crossings, location), 0.0)
    # A break at which y has more continuous derivatives does not reduce the order.
    matters = level < max(equation.method.order - 2, 1)
    breaks = breaks.added(event & matters, clock, level)
    read_times = HistoryReads(evaluation.read_times - passed, evaluation.rows)
    near = 2 * problem.time_tolerance + BREAK_TOLERANCE * passed
    active_breaks = updated_active_breaks(
        breaks, active_breaks.passed, clock, read_times.times, near
    )
    indicators = mode_indicators(problem, modes, y, evaluation)
    start_values = StartValues(
        read_times, indicators, jnp.full_like(indicators, jnp.inf), active_breaks
    )
    slope = zero_slopes_at_bounds(evaluation.slope, modes, equation.bounded)
    return Node(clock, y, slope, evaluation.free, start_values, modes), breaks


def on_bounds(problem: Problem, y: Array, lower: Array, upper: Array) -> Float[Array, "n batch"]:
    """The state y with each bounded component set to the bound that it reached or left.

    Args:
        problem: the batch, with its bounds.
        y: state at the event, shape (n, batch).
        lower: which lower bounds were reached or left, shape (bounds, batch).
        upper: which upper bounds were reached or left, likewise.
    """
    for number, component in enumerate(problem.equation.bounded):
        value = jnp.where(lower[number], problem.bounds.lower[number], y[component])
        value = jnp.where(upper[number], problem.bounds.upper[number], value)
        y = y.at[component].set(value)
    return y


def _level(crossings: Crossings, location: EventLocation) -> Float[Array, " batch"]:
    """Number of continuous derivatives of y at an event where a lag passes a breaking point.

    It is one more than at the breaking point; infinite where no lag passes one. Shape (batch,).
    """
    passed = location.which[crossings.mode_count() :]
    return 1 + jnp.min(jnp.where(passed, crossings.levels, jnp.inf), axis=0, initial=jnp.inf)
