"""The result of an attempted step: it advances to its end or its first event, or is repeated."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from vegasfluid.dde.adaptive.breaking_points import BreakingPoints
from vegasfluid.dde.adaptive.event_node import event_node
from vegasfluid.dde.adaptive.events import (
    Crossings,
    HistoryReads,
    StartValues,
    locate,
    mode_indicators,
    read_rates,
)
from vegasfluid.dde.adaptive.node import AttemptedStep, EventRecord, Node, pick
from vegasfluid.dde.adaptive.problem import Problem, StepContext
from vegasfluid.dde.adaptive.step import Trial

__all__ = ["END_TOLERANCE", "StepResult", "resolve_step"]

END_TOLERANCE = 1e-6
"""A step that ends within this fraction of its length before t1 is made to end at t1."""
OVERSHOOT_TOLERANCE = 0.02
"""A step that read beyond a break by more than this fraction of its length counts as having passed
it, even if the read time is before the break again at its end."""
CROSSING_TOLERANCE = 1e-6
"""An indicator below zero by less than this fraction of its size counts as not negative."""


class StepResult(NamedTuple):
    """What follows from an attempted step.

    Args:
        keep: whether the step is accepted, shape (batch,).
        node: the state at its end; undefined unless accepted.
        passed: time from the step's start to its end, shape (batch,).
        again: length of the next attempt where the step is rejected because of a possible event,
            else 0; shape (batch,).
        event: whether the step ends at an event, shape (batch,).
        landed: the event at which the step ends; undefined where `event` is false.
        breaks: all breaks so far.
    """

    keep: Bool[Array, " batch"]
    node: Node
    passed: Float[Array, " batch"]
    again: Float[Array, " batch"]
    event: Bool[Array, " batch"]
    landed: EventRecord
    breaks: BreakingPoints


def resolve_step(
    problem: Problem,
    context: StepContext,
    attempted: AttemptedStep,
    crossings: Crossings,
    breaks: BreakingPoints,
) -> StepResult:
    """Decide whether an attempted step advances to its end, ends at an event or is repeated.

    `crossings` marks event indicators that turned negative in it; `breaks` are the breaking points
    so far. The result has time and state at the step's end, and whether the step is accepted. It
    has the event, the breaking points, and the length of the next attempt if an event shortens it.
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
    rates = read_rates(node.start_values.read_times.times, end.read_times, step)
    start_values = StartValues(
        HistoryReads(end.read_times - step, end.rows, rates),
        indicators,
        changes,
        node.start_values.active_breaks,
    )
    modes = context.modes._replace(confined=jnp.zeros_like(keep))
    at_end = Node(context.now.after(step), trial.y, end.slope, end.free, start_values, modes)
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
    """Time after a step's start at which an indicator is negative, although it is not at its end.

    An even number of crossings within a step would be missed otherwise. Indicators are checked at
    the middle of the step, and bounded components at their turning points. A component at a bound
    is checked at each stage: it may leave the bound. Shape (batch,), infinite where none is.

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
        leaves_at = _first_leave(problem, context, trial, number, step, rounding)
        missed_at = jnp.minimum(missed_at, leaves_at)
    exempt = jnp.any(crossings.wanted[:mode_count], axis=0) | (step <= 64 * problem.time_tolerance)
    return jnp.where(exempt, jnp.inf, missed_at)


def _first_leave(
    problem: Problem, context: StepContext, trial: Trial, number: int, step: Array, rounding: Array
) -> Float[Array, " batch"]:
    """Time after a step's start of the first stage at which a component would leave its bound.

    Slopes up to `rounding` do not count, nor those that move it by no more than rounding errors.
    Infinite where it is at no bound or stays there.
    """
    component, at_bound = problem.equation.bounded[number], context.modes.at_bound[number]
    scale = 64 * jnp.finfo(step.dtype).eps * (1 + jnp.abs(trial.y[component]))
    least = jnp.maximum(rounding, scale / step)
    leaves_at = jnp.full_like(step, jnp.inf)
    for time, free in zip(problem.equation.method.times, trial.frees[1:], strict=True):
        inward = jnp.where(at_bound < 0, free[number], -free[number])
        leaves = (at_bound != 0) & (inward > least) & (time < 1)
        leaves_at = jnp.where(leaves, jnp.minimum(leaves_at, time * step), leaves_at)
    return leaves_at


def _to_event(
    problem: Problem,
    context: StepContext,
    attempted: AttemptedStep,
    crossings: Crossings,
    through: StepResult,
) -> StepResult:
    """The results of a step in which some instances have an event.

    In these the step ends at the first event; the other instances keep `through`.

    Args:
        problem: the batch.
        context: history, and active bounds and guard signs, of the step.
        attempted: the step and its error test.
        crossings: the indicators of events that turned negative in it.
        through: the results without events.
    """
    step = attempted.step
    location = locate(problem, context, attempted.trial, crossings, step)
    # An event right at the start, where the last step ended at one, may be rounding: try a shorter
    # step before it is accepted.
    doubtful = crossings.any_crossed & (location.ahead <= 0) & (step > 64 * problem.time_tolerance)
    event = crossings.any_crossed & ~doubtful
    passed = jnp.where(event, location.ahead, step)
    node, breaks, landed = event_node(
        problem, context, attempted, crossings, location, passed, event, through.breaks
    )
    return StepResult(
        keep=through.keep & ~doubtful,
        node=pick(event, node, through.node),
        passed=passed,
        again=jnp.where(doubtful, step / 4, through.again),
        event=event,
        landed=landed,
        breaks=breaks,
    )
