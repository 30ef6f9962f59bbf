"""The adaptive loop over a batch: attempt a step, test its error, locate events, store it.

All instances step side by side, each with its own time and step; one that has ended waits. Each
iteration writes the newest pieces into the ring first and then only reads the new ring. If the ring
were read before it is written, XLA would copy it in every iteration.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import diffrax
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int32

from vegasfluid.dde.adaptive.bounds import Modes, bounded_components, zero_slopes_at_bounds
from vegasfluid.dde.adaptive.breaking_points import (
    BreakingPoints,
    first_breaking_point,
    updated_active_breaks,
)
from vegasfluid.dde.adaptive.events import (
    HistoryReads,
    StartValues,
    find_crossings,
    mode_indicators,
)
from vegasfluid.dde.adaptive.history import EvaluationPoint
from vegasfluid.dde.adaptive.history_ring import Piece, Ring, empty_ring
from vegasfluid.dde.adaptive.problem import Evaluation, Problem, StepContext, evaluate_rhs
from vegasfluid.dde.adaptive.save_times import Saved, empty_saved, save_passed
from vegasfluid.dde.adaptive.step import StepStart, Trial, attempt, initial_piece
from vegasfluid.dde.adaptive.step_result import (
    END_TOLERANCE,
    AttemptedStep,
    EventRecord,
    Node,
    StepResult,
    active_bounds,
    pick,
    resolve_step,
)
from vegasfluid.dde.adaptive.step_size import StepDecision, StepSizeControl
from vegasfluid.dde.adaptive.tape import Entry, Tape, empty_tape
from vegasfluid.dde.outcome import Outcome

__all__ = ["Limits", "State", "blank_entry", "integrate"]

ITERATION_WORTHWHILE = 4
"""A step shorter than this many shortest lags is cut to the lag; longer ones are worth the
iterations over their stages that reading within the step costs (chosen)."""
LAG_MARGIN = 0.95
"""With bounds or guards, largest step as a fraction of the shortest lag: a margin, because the lag
may shrink within the step (chosen)."""
VANISHING_LAG = 1e-4
"""With bounds or guards, lags shorter than this fraction of t1 - t0 do not limit the step."""
MAX_CHATTER = 16
"""Consecutive events at one time beyond which a solve fails with CHATTERING (chosen)."""


class Limits(NamedTuple):
    """Static sizes and limits of a solve.

    Args:
        rows: number of pieces in the ring; a power of two, or more than there can be steps.
        breaks: number of breaking points kept, a power of two.
        max_steps: largest number of attempted steps.
        meter: progress meter.
        taped: whether to record the tape for the reverse pass.
    """

    rows: int
    breaks: int
    max_steps: int
    meter: diffrax.AbstractProgressMeter
    taped: bool = False


class State(NamedTuple):
    """The loop's state.

    Args:
        ring: the pieces before `row`.
        row: row of the newest piece of each instance, shape (batch,).
        piece: the newest pieces, not yet in the ring.
        breaks: all breaking points so far.
        node: time and state of each instance.
        step: length of the next step, shape (batch,).
        uncut_step: its length before it was shortened for an event, else 0; shape (batch,).
        control: state of the step-size controller.
        outcome: an `Outcome`, shape (batch,).
        chatter_count: consecutive events at the present time, shape (batch,).
        saved: the solution at the save times so far.
        flushed: the row up to which save times have been evaluated, shape (batch,).
        steps: number of accepted steps, shape (batch,).
        rejected: number of rejected attempts, shape (batch,).
        landed: number of steps that ended at an event, shape (batch,).
        attempts: number of iterations of the loop.
        tape: the tape for the reverse pass; None without one.
    """

    ring: Ring
    row: Int32[Array, " batch"]
    piece: Piece
    breaks: BreakingPoints
    node: Node
    step: Float[Array, " batch"]
    uncut_step: Float[Array, " batch"]
    control: Any
    outcome: Int32[Array, " batch"]
    chatter_count: Int32[Array, " batch"]
    saved: Saved
    flushed: Int32[Array, " batch"]
    steps: Int32[Array, " batch"]
    rejected: Int32[Array, " batch"]
    landed: Int32[Array, " batch"]
    attempts: Int32[Array, ""]
    tape: Tape | None


def integrate(problem: Problem, control: StepSizeControl, limits: Limits, times: Array) -> State:
    """Integrate a batch of delay equations from t0 to t1 with steps of controlled length.

    Args:
        problem: the batch.
        control: error test and step-size control.
        limits: sizes and limits.
        times: save times, shape (m,), increasing; may be empty.

    Returns:
        The loop's state at the end: time, state y, outcome, history, saved states, step numbers.
    """

    def continues(state: State) -> Array:
        return jnp.any(_active(problem, state)) & (state.attempts < jnp.int32(limits.max_steps))

    def body(carry: tuple[State, Any]) -> tuple[State, Any]:
        state = _advance(problem, control, times, carry[0])
        return state, limits.meter.step(carry[1], _progress(problem, state))

    initial = (_begin(problem, control, limits, times), limits.meter.init())
    end, meter = jax.lax.while_loop(lambda carry: continues(carry[0]), body, initial)
    limits.meter.close(meter)
    ring = end.ring.write(end.row, end.piece)
    scheduled = jnp.ones((), bool)
    saved = save_passed(problem, end.saved, times, ring, end.row, end.node.clock, scheduled)
    unfinished = _active(problem, end)
    outcome = jnp.where(unfinished, jnp.int32(Outcome.MAX_STEPS_REACHED), end.outcome)
    return end._replace(outcome=outcome, ring=ring, saved=saved)


def _progress(problem: Problem, state: State) -> Float[Array, ""]:
    """Mean over the batch of the fraction (0 to 1) of t0 to t1 that has been integrated."""
    total = problem.begin.until(problem.end)
    done = 1 - state.node.clock.until(problem.end) / jnp.where(total > 0, total, 1.0)
    return jnp.mean(jnp.where(_active(problem, state), done, 1.0))


def _active(problem: Problem, state: State) -> Bool[Array, " batch"]:
    """Which instances have neither failed nor reached t1, shape (batch,)."""
    fine = state.outcome == jnp.int32(Outcome.SUCCESS)
    return fine & (state.node.clock.until(problem.end) > 0)


def _begin(problem: Problem, control: StepSizeControl, limits: Limits, times: Array) -> State:
    """The loop's state at t0: y0, its slope, the initial history and the first step's length."""
    batch = problem.y0.shape[1]
    zero, none = jnp.zeros(batch, problem.y0.dtype), jnp.zeros(batch, jnp.int32)
    empty = initial_piece(problem, jnp.zeros_like(problem.y0))
    ring = empty_ring(limits.rows, empty).write(none, empty)
    context = StepContext(ring, none, problem.begin, no_modes(problem), zero)
    slope, evaluation, modes = start(problem, context, empty)
    context = context._replace(modes=modes)
    breaks = first_breaking_point(limits.breaks, problem.begin, _smoothness(problem))
    nowhere = jnp.zeros(evaluation.read_times.shape, jnp.int32)
    active_breaks = updated_active_breaks(
        breaks, nowhere, problem.begin, evaluation.read_times, 2 * problem.time_tolerance
    )
    indicators = mode_indicators(problem, modes, problem.y0, evaluation)
    unknown = jnp.full_like(indicators, jnp.inf)
    start_values = StartValues(
        HistoryReads(evaluation.read_times, evaluation.rows), indicators, unknown, active_breaks
    )
    node = Node(problem.begin, problem.y0, slope, evaluation.free, start_values, modes)
    piece = initial_piece(problem, slope)
    step, controller_state = control.begin(problem, context, piece)
    outcome = _start_outcome(problem, slope, evaluation)
    return State(
        ring=ring,
        row=none,
        piece=piece,
        breaks=breaks,
        node=node,
        step=step,
        uncut_step=zero,
        control=controller_state,
        outcome=outcome,
        chatter_count=none,
        saved=empty_saved(problem, times),
        flushed=none,
        steps=none,
        rejected=none,
        landed=none,
        attempts=jnp.zeros((), jnp.int32),
        tape=empty_tape(limits.rows, blank_entry(problem, node)) if limits.taped else None,
    )


def blank_entry(problem: Problem, node: Node) -> Entry:
    """A tape entry of a step of length zero of each instance, for the shapes of the tape."""
    zero, interval = (
        jnp.zeros_like(problem.end),
        node.start_values.active_breaks.interval(node.clock),
    )
    false, no_event = zero > 0, EventRecord.nothing(problem)
    return Entry(
        zero, false, node.modes, interval, node.start_values.read_times.rows, false, zero, no_event
    )


def _smoothness(problem: Problem) -> Float[Array, " batch"]:
    """Number of continuous derivatives of y at t0: 0, or -1 where y itself jumps there."""
    initial_history = jax.vmap(problem.equation.initial_history, in_axes=(-1, 0), out_axes=-1)
    before = initial_history(problem.begin.plain(), problem.args)
    jumps = jnp.any(before != problem.y0, axis=0)
    return jnp.where(jumps, -1.0, 0.0).astype(problem.y0.dtype)


def _start_outcome(
    problem: Problem, slope: Array, evaluation: Evaluation
) -> Int32[Array, " batch"]:
    """The outcome at t0, shape (batch,): SUCCESS, or the first fault of the initial values.

    Args:
        problem: the batch: states at t0, bounds, t0 and t1.
        slope: dy/dt at t0, shape (n, batch).
        evaluation: the right-hand side at t0 with the faults of its history reads.
    """
    values, (lower, upper) = (
        bounded_components(problem.y0, problem.equation.bounded),
        problem.bounds,
    )
    faults = (
        (Outcome.TIMES_REVERSED, problem.begin.until(problem.end) < 0),
        (Outcome.START_NOT_FINITE, ~jnp.all(jnp.isfinite(problem.y0), axis=0)),
        (Outcome.START_OUT_OF_BOUNDS, jnp.any((values < lower) | (values > upper), axis=0)),
    )
    outcome = evaluation.fault
    finite = jnp.all(jnp.isfinite(slope), axis=0) | (outcome != jnp.int32(Outcome.SUCCESS))
    outcome = jnp.where(finite, outcome, jnp.int32(Outcome.START_NOT_FINITE))
    for fault, result in reversed(faults):
        outcome = jnp.where(result, jnp.int32(fault), outcome)
    return outcome


def start(problem: Problem, context: StepContext, piece: Piece) -> tuple[Array, Evaluation, Modes]:
    """The slope dy/dt at t0, shape (n, batch), the right-hand side's evaluation, and the modes.

    Modes are the active bounds and the signs of the guards. `piece` is read for times after t0.
    """
    zero = jnp.zeros(problem.y0.shape[1], problem.y0.dtype)
    point = EvaluationPoint(zero, problem.y0, piece, arriving=False)
    if problem.equation.guard_count:
        evaluation = evaluate_rhs(problem, context, point, with_guards=True)
        context = context._replace(modes=context.modes._replace(above=evaluation.indicators >= 0))
    evaluation = evaluate_rhs(problem, context, point, with_guards=True)
    modes = context.modes._replace(at_bound=active_bounds(problem, problem.y0, evaluation.free))
    return (
        zero_slopes_at_bounds(evaluation.slope, modes, problem.equation.bounded),
        evaluation,
        modes,
    )


def no_modes(problem: Problem) -> Modes:
    """Modes of a batch without active bounds and with all guards not negative."""
    batch, guards = problem.y0.shape[1], problem.equation.guard_count
    at_bound = jnp.zeros((len(problem.equation.bounded), batch), jnp.int32)
    return Modes(at_bound, jnp.ones((guards, batch), bool))


def _advance(problem: Problem, control: StepSizeControl, times: Array, state: State) -> State:
    """The loop's state after one more attempted step of each instance that has not ended."""
    node, active = state.node, _active(problem, state)
    ring = state.ring.write(state.row, state.piece)
    interval = node.start_values.active_breaks.interval(node.clock)
    context = StepContext(ring, state.row, node.clock, node.modes, 1 / state.piece.rate, interval)
    step, last = _this_step(problem, state, active)
    trial = attempt(
        problem,
        context,
        StepStart(node.y, node.slope, node.free, node.start_values.read_times.rows, state.piece),
        step,
    )
    decision = control.decide(node.clock, node.y, trial, step, state.control)
    crossings = find_crossings(problem, context, node.start_values, trial, step)
    fine = active & (trial.fault == jnp.int32(Outcome.SUCCESS))
    attempted = AttemptedStep(trial, step, fine & decision.keep, node)
    result = resolve_step(problem, context, attempted, crossings, state.breaks)
    outcome, chatter_count = _outcome(problem, state, trial, decision, result, active)
    near = node.start_values.read_times.rows
    entry = Entry(
        step, last, node.modes, interval, near, result.event, result.passed, result.landed
    )
    full = jnp.any(state.row - state.flushed >= jnp.int32(ring.rows // 4))
    saved = save_passed(problem, state.saved, times, ring, state.row, node.clock, full)
    count = jnp.int32
    return State(
        ring=ring,
        row=state.row + result.keep.astype(count),
        piece=pick(result.keep, trial.piece, state.piece),
        breaks=result.breaks,
        node=pick(result.keep, result.node, node),
        step=jnp.where(active, _next_step(state, decision, result), state.step),
        uncut_step=jnp.where(
            result.again > 0, decision.step, jnp.where(result.keep, 0.0, state.uncut_step)
        ),
        control=pick(active, decision.controller_state, state.control),
        outcome=outcome,
        chatter_count=chatter_count,
        saved=saved,
        flushed=jnp.where(full, state.row, state.flushed),
        steps=state.steps + result.keep.astype(count),
        rejected=state.rejected + (active & ~result.keep).astype(count),
        landed=state.landed + (result.keep & result.event).astype(count),
        attempts=state.attempts + count(1),
        tape=None if state.tape is None else state.tape.write(state.row + count(1), entry),
    )


def _this_step(problem: Problem, state: State, active: Array) -> tuple[Array, Array]:
    """The length of this attempt (unit of t), shape (batch,), and whether it ends at t1.

    A step that is not much longer than its shortest lag is cut to the lag: a step that reads within
    itself needs several iterations, and all instances wait for them. With bounds or guards no step
    is longer than its lag, unless that is negligible, so that events depend on finished steps only.
    """
    lags = -state.node.start_values.read_times.times
    shortest = jnp.min(
        jnp.where(lags > problem.time_tolerance, lags, jnp.inf), axis=0, initial=jnp.inf
    )
    near = state.step < ITERATION_WORTHWHILE * shortest
    if problem.equation.bounded or problem.equation.guard_count:
        shortest = LAG_MARGIN * shortest
        near = shortest > VANISHING_LAG * problem.begin.until(problem.end)
    step = jnp.where(near, jnp.minimum(state.step, shortest), state.step)
    left = state.node.clock.until(problem.end)
    last = step >= left * (1 - END_TOLERANCE)
    step = jnp.where(last, left, jax.lax.stop_gradient(step))
    return jnp.where(active, step, 64 * problem.time_tolerance), last


def _next_step(state: State, decision: StepDecision, result: StepResult) -> Float[Array, " batch"]:
    """The length of the next step (unit of t), which an earlier event does not keep short.

    It is that for which the step-size controller asks, or shorter where a step is repeated.
    """
    regular = jnp.maximum(decision.step, jnp.where(result.keep, state.uncut_step, 0.0))
    return jax.lax.stop_gradient(jnp.where(result.again > 0, result.again, regular))


def _outcome(
    problem: Problem,
    state: State,
    trial: Trial,
    decision: StepDecision,
    result: StepResult,
    active: Array,
) -> tuple[Int32[Array, " batch"], Int32[Array, " batch"]]:
    """The outcome so far, and the number of consecutive events at one time; shape (batch,) each.

    Args:
        problem: the batch.
        state: the loop's state before the step.
        trial: the attempted step.
        decision: whether its error is small enough.
        result: whether it was accepted, and its event.
        active: instances that have not ended, shape (batch,).
    """
    immediate = result.keep & result.event & (result.passed <= problem.time_tolerance)
    chatter_count = jnp.where(immediate, state.chatter_count + jnp.int32(1), jnp.int32(0))
    chatter_count = jnp.where(result.keep, chatter_count, state.chatter_count)
    finite = jnp.all(jnp.isfinite(trial.y) & jnp.isfinite(trial.end.slope), axis=0)
    cause = jnp.where(finite, jnp.int32(Outcome.STEP_UNDERFLOW), jnp.int32(Outcome.NOT_FINITE))
    faulty = trial.fault != jnp.int32(Outcome.SUCCESS)
    cause = jnp.where(faulty, trial.fault, cause)
    stuck = ~result.keep & (decision.step <= problem.time_tolerance / 4)
    outcome = jnp.where(
        active & (stuck | (faulty & decision.keep)), cause, jnp.int32(Outcome.SUCCESS)
    )
    chattering = active & (chatter_count > MAX_CHATTER)
    outcome = jnp.where(chattering, jnp.int32(Outcome.CHATTERING), outcome)
    overflow = active & result.breaks.overflow(result.node.start_values.active_breaks.passed)
    outcome = jnp.where(overflow, jnp.int32(Outcome.HISTORY_OVERFLOW), outcome)
    outcome = jnp.where(state.outcome == jnp.int32(Outcome.SUCCESS), outcome, state.outcome)
    return outcome, chatter_count
