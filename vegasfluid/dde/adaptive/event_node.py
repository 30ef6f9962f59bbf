"""The state right after an event: bounds, guard signs, resets and the breaking point."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int32

from vegasfluid.dde.adaptive.bounds import Modes, zero_slopes_at_bounds
from vegasfluid.dde.adaptive.breaking_points import (
    ActiveBreaks,
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
    mode_indicators,
    read_rates,
)
from vegasfluid.dde.adaptive.history_reader import EvaluationPoint
from vegasfluid.dde.adaptive.node import (
    AttemptedStep,
    EventRecord,
    Node,
    active_bounds,
    on_bounds,
)
from vegasfluid.dde.adaptive.problem import (
    Equation,
    Evaluation,
    Problem,
    StepContext,
    evaluate_rhs,
)
from vegasfluid.dde.adaptive.resets import acting_resets, after_resets, ending_events

__all__ = ["event_node"]

ZERO_AFTER_RESET = 1e-6
"""An indicator within this fraction of its change over the step counts as zero after a reset."""


def event_node(
    problem: Problem,
    context: StepContext,
    attempted: AttemptedStep,
    crossings: Crossings,
    location: EventLocation,
    passed: Float[Array, " batch"],
    event: Bool[Array, " batch"],
    breaks: BreakingPoints,
) -> tuple[Node, BreakingPoints, EventRecord]:
    """The node right after an event, the breaking points with one for it, and its record.

    `passed` is the time from the step's start to the event, `location` which event it is; `event`
    marks the instances with one. In the others only the breaking points are defined.
    """
    equation, bound_count = problem.equation, len(problem.equation.bounded)
    trial, at_bound = attempted.trial, context.modes.at_bound
    reached = location.which[: 2 * bound_count]
    flips = location.which[2 * bound_count : crossings.mode_count()]
    crossed = location.which[crossings.mode_count() :].astype(jnp.int32)
    active_breaks = attempted.node.start_values.active_breaks
    active_breaks = breaks.active_breaks(
        active_breaks.passed + jnp.where(crossings.rising, crossed, -crossed)
    )
    lower, upper = reached[:bound_count], reached[bound_count:]
    clock = context.now.after(passed)
    y = on_bounds(problem, trial.piece.at(passed), lower, upper)
    acting = acting_resets(equation, flips, context.modes.above)
    y = after_resets(problem, clock, y, acting)
    acts = jnp.any(acting, axis=0)
    # Where a guard changes sign, the lags may jump.
    interval = active_breaks.interval(context.now)
    jumps = jnp.any(flips, axis=0)
    interval = ActiveInterval(
        jnp.where(jumps, -jnp.inf, interval.lower), jnp.where(jumps, jnp.inf, interval.upper)
    )
    context = context._replace(interval=interval)
    point = EvaluationPoint(passed, y, trial.piece, trial.end.rows, arriving=False)
    above, evaluation = _signs_after(problem, context, point, context.modes.above ^ flips, acts)
    reaches, leaves = (lower | upper) & (at_bound == 0), (lower | upper) & (at_bound != 0)
    at_bound = jnp.where(leaves, 0, at_bound)
    at_bound = jnp.where(reaches | acts, active_bounds(problem, y, evaluation.free), at_bound)
    modes = Modes(at_bound, above, jnp.zeros_like(acts))
    level = jnp.where(acts, -1.0, _level(equation, crossings, location))
    # A break at which y has more continuous derivatives does not reduce the order.
    matters = level < max(equation.method.order - 2, 1) + equation.neutral
    breaks = breaks.added(event & matters, clock, level)
    read_times, active_breaks = _reads_after(
        problem, attempted, crossings, evaluation, passed, breaks, active_breaks.passed, clock
    )
    indicators = mode_indicators(problem, modes, y, evaluation)
    unknown = jnp.full_like(indicators, jnp.inf)
    start_values = StartValues(read_times, indicators, unknown, active_breaks)
    slope = zero_slopes_at_bounds(evaluation.slope, modes, equation.bounded)
    node = Node(clock, y, slope, evaluation.free, start_values, modes)
    ended = ending_events(equation, flips, attempted.node.modes.above)
    record = EventRecord(location.first, reached, acting, ended, location.break_at)
    return node, breaks, record


def _reads_after(
    problem: Problem,
    attempted: AttemptedStep,
    crossings: Crossings,
    evaluation: Evaluation,
    passed: Float[Array, " batch"],
    breaks: BreakingPoints,
    passed_breaks: Int32[Array, "sites batch"],
    clock: CompensatedTime,
) -> tuple[HistoryReads, ActiveBreaks]:
    """The past times read right after an event, and the breaks before and after each.

    `attempted` and `crossings` are the step, `evaluation` the right-hand side after the event.
    `passed` is the time from the step's start to the event, `clock` the event's time. `breaks` are
    all breaks; `passed_breaks` states how many of them each site has passed.
    """
    before = attempted.node.start_values.read_times.times
    rates = read_rates(before, attempted.trial.end.read_times, attempted.step)
    read_times = HistoryReads(evaluation.read_times - passed, evaluation.rows, rates)
    near = 2 * problem.time_tolerance + BREAK_TOLERANCE * passed
    near = jnp.where(crossings.rising, near, -near)
    active = updated_active_breaks(breaks, passed_breaks, clock, read_times.times, near)
    return read_times, active


def _signs_after(
    problem: Problem,
    context: StepContext,
    point: EvaluationPoint,
    above: Bool[Array, "m batch"],
    acts: Bool[Array, " batch"],
) -> tuple[Bool[Array, "m batch"], Evaluation]:
    """The signs of the guards right after an event, and the right-hand side there without bounds.

    A reset may change signs; that is not another event. Where a reset acts, each guard has the sign
    of its indicator after the reset or, where the indicator is zero, of the indicator's derivative
    along the solution.

    Args:
        problem: the batch.
        context: history and modes of the step that ends at the event.
        point: the event, with the state after it.
        above: whether each guard is not negative: as in the step, but reversed for the guards that
            change sign at the event; shape (m, batch).
        acts: whether a reset acts in each instance, shape (batch,).
    """
    none = jnp.zeros_like(context.modes.at_bound)

    def evaluate(point: EvaluationPoint, above: Array) -> Evaluation:
        modes = Modes(none, above, jnp.zeros_like(acts))
        return evaluate_rhs(problem, context._replace(modes=modes), point, with_guards=True)

    evaluation = evaluate(point, above)
    if not problem.equation.resets:
        return above, evaluation

    def indicators_at(ahead: Array, y: Array) -> Array:
        return evaluate(point._replace(ahead=ahead, y=y), above).indicators

    frozen = jax.lax.stop_gradient((point.ahead, point.y, evaluation.slope))
    moving = (jnp.ones_like(point.ahead), frozen[2])
    values, rates = jax.lax.stop_gradient(jax.jvp(indicators_at, frozen[:2], moving))
    zero = jnp.abs(values) <= ZERO_AFTER_RESET * jnp.abs(rates) * point.ahead
    signs = jnp.where(zero, rates, values) >= 0
    above = jnp.where(acts, signs, above)
    return above, evaluate(point, above)


def _level(
    equation: Equation, crossings: Crossings, location: EventLocation
) -> Float[Array, " batch"]:
    """Number of continuous derivatives of y at an event without resets; shape (batch,).

    Where a lag passes a breaking point, it is one more than at that point. Where a bound is reached
    or left, or a guard of the right-hand side changes its sign, it is 0. It is infinite where the
    right-hand side does not change.
    """
    mode_count, bounds = crossings.mode_count(), 2 * len(equation.bounded)
    parts = equation.guard_parts
    passed = location.which[mode_count:]
    level = 1 + jnp.min(jnp.where(passed, crossings.levels, jnp.inf), axis=0, initial=jnp.inf)
    modes = location.which[:mode_count]
    uncounted = slice(bounds + parts.resets.start, bounds + parts.events.stop)
    kink = jnp.any(modes[: uncounted.start], axis=0) | jnp.any(modes[uncounted.stop :], axis=0)
    return jnp.where(location.breaks, level, jnp.where(kink, 0.0, jnp.inf))
