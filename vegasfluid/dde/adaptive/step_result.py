"""Where an attempted step leads: to its end, to its first event, or nowhere."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int32

from vegasfluid.dde.adaptive.bounds import Modes, bounded_components, zero_held_slopes
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
    "EventRecord",
    "JudgedStep",
    "Node",
    "StepResult",
    "holding",
    "on_bounds",
    "pick",
    "resolve_step",
]

END_TOLERANCE = 1e-6
"""An end of the solve this near the end of a step, as a share of it, is its end."""
OVERSHOOT_TOLERANCE = 0.02
"""A step that asked for the past beyond a break by more than this share of it passed that break,
also where its end is back again."""
CROSSING_TOLERANCE = 1e-6
"""An indicator that dips by less than this share of its size has not changed its sign."""


class Node(NamedTuple):
    """Where each instance stands between two steps.

    Args:
        clock: the time.
        y: state, shape (n, batch).
        slope: dy/dt from here on, shape (n, batch).
        free: that of the clamped components, were they free, shape (bound_count, batch).
        start_values: what a step from here on needs to know of its start.
        modes: of bound_count and switches from here on.
    """

    clock: CompensatedTime
    y: Float[Array, "n batch"]
    slope: Float[Array, "n batch"]
    free: Float[Array, "bound_count batch"]
    start_values: StartValues
    modes: Modes


class EventRecord(NamedTuple):
    """What a reverse solve needs to know of an event; without meaning where there was none.

    Args:
        first: the indicator that was zero, shape (batch,).
        reached: bounds that were met or left, lower ones first, shape (2 bounds, batch).
        break_at: the break that a lag passed, after the step's start, shape (batch,).
    """

    first: Int32[Array, " batch"]
    reached: Bool[Array, "bounds batch"]
    break_at: Float[Array, " batch"]

    @classmethod
    def nothing(cls, problem: Problem) -> EventRecord:
        """No event."""
        batch, bound_count = problem.y0.shape[1], len(problem.equation.bounded)
        reached = jnp.zeros((2 * bound_count, batch), bool)
        return cls(jnp.zeros(batch, jnp.int32), reached, jnp.zeros(batch, problem.y0.dtype))


class StepResult(NamedTuple):
    """What becomes of an attempt.

    Args:
        keep: whether the instance moves on, shape (batch,).
        node: where it then stands; without meaning unless kept.
        passed: time from the step's start to there, shape (batch,).
        again: length of the next attempt where this one is made anew for an event, else 0.
        event: whether it lands on an event, shape (batch,).
        landed: on which.
        breaks: so far.
    """

    keep: Bool[Array, " batch"]
    node: Node
    passed: Float[Array, " batch"]
    again: Float[Array, " batch"]
    event: Bool[Array, " batch"]
    landed: EventRecord
    breaks: BreakingPoints


def pick(which: Bool[Array, " batch"], these: Any, those: Any) -> Any:
    """One tree's leaves for the instances in `which`, another's for the others."""
    return jax.tree.map(lambda this, that: jnp.where(which, this, that), these, those)


def holding(problem: Problem, y: Array, free: Array) -> Int32[Array, "bound_count batch"]:
    """Which bounds hold a state with these free slopes."""
    values, (lower, upper) = bounded_components(y, problem.equation.bounded), problem.bounds
    low = ((values <= lower) & (free <= 0)).astype(jnp.int32)
    high = ((values >= upper) & (free >= 0)).astype(jnp.int32)
    return high * (1 - low) - low


class JudgedStep(NamedTuple):
    """An attempt that is judged, and what it started from.

    Args:
        trial: how it came out.
        step: its length, shape (batch,).
        keep: whether its error is small enough, shape (batch,).
        node: where it started.
    """

    trial: Trial
    step: Float[Array, " batch"]
    keep: Bool[Array, " batch"]
    node: Node


def resolve_step(
    problem: Problem,
    context: StepContext,
    judged_step: JudgedStep,
    crossings: Crossings,
    breaks: BreakingPoints,
) -> StepResult:
    """Where an attempt leads.

    Args:
        problem: the batch.
        context: what the step saw.
        judged_step: how it came out.
        crossings: what it passed.
        breaks: so far.
    """
    trial, step, keep, node = (
        judged_step.trial,
        judged_step.step,
        judged_step.keep,
        judged_step.node,
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
    plain = Node(context.now.after(step), trial.y, end.slope, end.free, start_values, context.modes)
    none, nobody = jnp.zeros_like(step), jnp.zeros(step.shape, bool)
    nothing = EventRecord.nothing(problem)
    through = StepResult(keep, plain, step, none, nobody, nothing, breaks)
    if not crossings.wanted.shape[0]:
        return through
    far = jnp.maximum(OVERSHOOT_TOLERANCE * step, 4 * problem.time_tolerance)
    overshot = (
        keep & (trial.overshoot > far) & ~jnp.any(crossings.wanted[crossings.kinds() :], axis=0)
    )
    through = through._replace(keep=keep & ~overshot, again=jnp.where(overshot, step / 2, 0.0))
    if crossings.kinds():
        missed_at = _missed_crossing(problem, context, node.slope, trial, crossings, step)
        missed = through.keep & (missed_at < step)
        again = jnp.where(missed, missed_at, through.again)
        through = through._replace(keep=through.keep & ~missed, again=again)
    crossings = crossings.among(through.keep)

    # Not `lax.cond`: XLA would hand its branches a copy of the ring, and a loop it does not.
    def land(state: tuple[StepResult, Array]) -> tuple[StepResult, Array]:
        landed = _to_event(problem, context, judged_step, crossings, state[0])
        return landed, jnp.zeros((), bool)

    begin = (through, jnp.any(crossings.wanted))
    return jax.lax.while_loop(lambda state: state[1], land, begin)[0]


def _missed_crossing(
    problem: Problem,
    context: StepContext,
    slope: Array,
    trial: Trial,
    crossings: Crossings,
    step: Array,
) -> Float[Array, " batch"]:
    """When an indicator that is not negative at the end of a step is negative within; else inf.

    Looked at are all indicators half way, and a clamped component where it turns round.
    """
    kinds, half = crossings.kinds(), step / 2
    assert crossings.at_half is not None
    middle = crossings.at_half[:kinds]
    size = CROSSING_TOLERANCE * jnp.maximum(
        jnp.abs(crossings.at_start[:kinds]), jnp.abs(crossings.at_end[:kinds])
    )
    missed_at = jnp.where(jnp.any(middle < -size, axis=0), half, jnp.inf)
    for number, component in enumerate(problem.equation.bounded):
        before, after = slope[component], trial.end.slope[component]
        turns = (before * after < 0) & (context.modes.held[number] == 0)
        turn = step * before / jnp.where(turns, before - after, 1.0)
        value = trial.piece.at(turn)[component]
        lower, upper = problem.bounds.lower[number], problem.bounds.upper[number]
        outside = jnp.maximum(lower - value, value - upper)
        sides = jnp.array([number, number + len(problem.equation.bounded)])
        rounding = jnp.max(size[sides] * crossings.scale[sides], axis=0)
        missed_at = jnp.where(turns & (outside > rounding), jnp.minimum(missed_at, turn), missed_at)
    plain = jnp.any(crossings.wanted[:kinds], axis=0) | (step <= 64 * problem.time_tolerance)
    return jnp.where(plain, jnp.inf, missed_at)


def _to_event(
    problem: Problem,
    context: StepContext,
    judged_step: JudgedStep,
    crossings: Crossings,
    through: StepResult,
) -> StepResult:
    """The moves of instances that met an event; those of the others are as they were."""
    step, bound_count = judged_step.step, len(problem.equation.bounded)
    location = locate(problem, context, judged_step.trial, crossings, step)
    # An event at the very start, where the step began on one: look nearer before it is believed.
    doubtful = crossings.any_crossed & (location.ahead <= 0) & (step > 64 * problem.time_tolerance)
    event = crossings.any_crossed & ~doubtful
    passed = jnp.where(event, location.ahead, step)
    at = (passed, event, through.breaks)
    node, breaks = _event_node(problem, context, judged_step, crossings, location, *at)
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
    judged_step: JudgedStep,
    crossings: Crossings,
    location: EventLocation,
    passed: Float[Array, " batch"],
    event: Bool[Array, " batch"],
    breaks: BreakingPoints,
) -> tuple[Node, BreakingPoints]:
    """Where an instance stands that landed on an event: modes changed, slope evaluated anew."""
    equation, bound_count = problem.equation, len(problem.equation.bounded)
    trial = judged_step.trial
    lower, upper, flips = jnp.split(
        location.which[: crossings.kinds()], [bound_count, 2 * bound_count]
    )
    crossed = location.which[crossings.kinds() :].astype(jnp.int32)
    active_breaks = judged_step.node.start_values.active_breaks
    active_breaks = breaks.active_breaks(
        active_breaks.passed + jnp.where(crossings.rising, crossed, -crossed)
    )
    y = on_bounds(problem, trial.piece.at(passed), lower, upper)
    above = context.modes.above ^ flips
    free_modes = Modes(jnp.zeros_like(context.modes.held), above)
    point = EvaluationPoint(passed, y, trial.piece, trial.end.rows, arriving=False)
    # With a switch the lags themselves may leap.
    interval = active_breaks.interval(context.now)
    leaps = jnp.any(flips, axis=0)
    interval = ActiveInterval(
        jnp.where(leaps, -jnp.inf, interval.lower), jnp.where(leaps, jnp.inf, interval.upper)
    )
    seen = evaluate_rhs(
        problem, context._replace(modes=free_modes, interval=interval), point, with_guards=True
    )
    met_now = (lower | upper) & (context.modes.held == 0)
    left_now = (lower | upper) & (context.modes.held != 0)
    held = jnp.where(left_now, 0, context.modes.held)
    held = jnp.where(met_now, holding(problem, y, seen.free), held)
    modes = Modes(held, above)
    clock = context.now.after(passed)
    level = jnp.where(location.breaks, _level(crossings, location), 0.0)
    # Where y has more continuous derivatives a lag may pass: the order does not suffer.
    matters = level < max(equation.method.order - 2, 1)
    breaks = breaks.added(event & matters, clock, level)
    read_times = HistoryReads(seen.read_times - passed, seen.rows)
    near = 2 * problem.time_tolerance + BREAK_TOLERANCE * passed
    active_breaks = updated_active_breaks(
        breaks, active_breaks.passed, clock, read_times.times, near
    )
    indicators = mode_indicators(problem, modes, y, seen)
    start_values = StartValues(
        read_times, indicators, jnp.full_like(indicators, jnp.inf), active_breaks
    )
    slope = zero_held_slopes(seen.slope, modes, equation.bounded)
    return Node(clock, y, slope, seen.free, start_values, modes), breaks


def on_bounds(problem: Problem, y: Array, lower: Array, upper: Array) -> Float[Array, "n batch"]:
    """A state with the clamped components that reached a bound put there."""
    for number, component in enumerate(problem.equation.bounded):
        value = jnp.where(lower[number], problem.bounds.lower[number], y[component])
        value = jnp.where(upper[number], problem.bounds.upper[number], value)
        y = y.at[component].set(value)
    return y


def _level(crossings: Crossings, location: EventLocation) -> Float[Array, " batch"]:
    """How smooth the solution is where a lag passes a break: by one more derivative than there."""
    passed = location.which[crossings.kinds() :]
    return 1 + jnp.min(jnp.where(passed, crossings.levels, jnp.inf), axis=0, initial=jnp.inf)
