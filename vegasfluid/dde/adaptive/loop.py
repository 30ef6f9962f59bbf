"""The adaptive loop over a batch: attempt, judge, land on events, remember.

All instances step side by side, each with its own time and step; one that has ended waits. Each
iteration writes the newest pieces into the ring first and then only reads the new ring: were it
read before it is written, XLA would copy all of it every time.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import diffrax
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int32

from vegasfluid.dde.adaptive.bounds import Modes, bounded_components, zero_held_slopes
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
from vegasfluid.dde.adaptive.step import StepStart, Trial, attempt, begin_piece
from vegasfluid.dde.adaptive.step_result import (
    END_TOLERANCE,
    EventRecord,
    JudgedStep,
    Node,
    StepResult,
    holding,
    pick,
    resolve_step,
)
from vegasfluid.dde.adaptive.step_size import StepDecision, StepSizeControl
from vegasfluid.dde.adaptive.tape import Entry, Tape, empty_tape
from vegasfluid.dde.outcome import Outcome

__all__ = ["Limits", "State", "blank_entry", "integrate"]

ITERATION_WORTHWHILE = 4
"""Steps this many times as long as a lag are worth the sweeps that they need."""
LAG_MARGIN = 0.95
"""A step as long as its shortest lag reads within itself if the lag shrinks meanwhile."""
VANISHING_LAG = 1e-4
"""Lags shorter than this share of the whole time have all but vanished."""
MAX_CHATTER = 16
"""Events in a row at one time beyond which clamps and switches chatter."""


class Limits(NamedTuple):
    """Static bounds of a solve.

    Args:
        rows: pieces that the ring keeps; a power of two, or more than there can be steps.
        breaks: breaking points that are kept, a power of two.
        max_steps: attempted steps.
        meter: shows how far the batch has come.
        taped: whether to note what a reverse solve needs.
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
        row: where the newest piece of each instance goes, shape (batch,).
        piece: the newest pieces.
        breaks: the breaking points so far.
        node: where each instance stands.
        step: length of the next step, shape (batch,).
        uncut_step: what it was to be before it was cut for a break, shape (batch,); else 0.
        control: what the step-size controller remembers.
        outcome: an `Outcome`, shape (batch,).
        chatter_count: events in a row at one time, shape (batch,).
        saved: the solution at the save times so far.
        flushed: the row up to which they have been read off, shape (batch,).
        steps: accepted steps, shape (batch,).
        rejected: attempts that were not, shape (batch,).
        landed: events that were stepped on, shape (batch,).
        attempts: iterations of the loop.
        tape: what a reverse solve needs of each row's step; None if there is to be none.
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
    """Integrate a batch from t0 to t1.

    Args:
        problem: the batch.
        control: how steps are judged and their lengths chosen.
        limits: bounds.
        times: save times, shape (m,), rising; may be empty.
    """

    def continues(state: State) -> Array:
        return jnp.any(_active(problem, state)) & (state.attempts < jnp.int32(limits.max_steps))

    def body(carry: tuple[State, Any]) -> tuple[State, Any]:
        state = _advance(problem, control, times, carry[0])
        return state, limits.meter.step(carry[1], _progress(problem, state))

    begin = (_begin(problem, control, limits, times), limits.meter.init())
    end, meter = jax.lax.while_loop(lambda carry: continues(carry[0]), body, begin)
    limits.meter.close(meter)
    ring = end.ring.write(end.row, end.piece)
    everything = jnp.ones((), bool)
    saved = save_passed(problem, end.saved, times, ring, end.row, end.node.clock, everything)
    unfinished = _active(problem, end)
    outcome = jnp.where(unfinished, jnp.int32(Outcome.MAX_STEPS_REACHED), end.outcome)
    return end._replace(outcome=outcome, ring=ring, saved=saved)


def _progress(problem: Problem, state: State) -> Float[Array, ""]:
    """How far the batch has come, 0 to 1."""
    whole = problem.begin.until(problem.end)
    done = 1 - state.node.clock.until(problem.end) / jnp.where(whole > 0, whole, 1.0)
    return jnp.mean(jnp.where(_active(problem, state), done, 1.0))


def _active(problem: Problem, state: State) -> Bool[Array, " batch"]:
    fine = state.outcome == jnp.int32(Outcome.SUCCESS)
    return fine & (state.node.clock.until(problem.end) > 0)


def _begin(problem: Problem, control: StepSizeControl, limits: Limits, times: Array) -> State:
    """Everything at t0."""
    batch = problem.y0.shape[1]
    zero, none = jnp.zeros(batch, problem.y0.dtype), jnp.zeros(batch, jnp.int32)
    empty = begin_piece(problem, jnp.zeros_like(problem.y0))
    ring = empty_ring(limits.rows, empty).write(none, empty)
    context = StepContext(ring, none, problem.begin, no_modes(problem), zero)
    slope, seen, modes = start(problem, context, empty)
    context = context._replace(modes=modes)
    breaks = first_breaking_point(limits.breaks, problem.begin, _smoothness(problem))
    nowhere = jnp.zeros(seen.read_times.shape, jnp.int32)
    active_breaks = updated_active_breaks(
        breaks, nowhere, problem.begin, seen.read_times, 2 * problem.time_tolerance
    )
    indicators = mode_indicators(problem, modes, problem.y0, seen)
    unknown = jnp.full_like(indicators, jnp.inf)
    start_values = StartValues(
        HistoryReads(seen.read_times, seen.rows), indicators, unknown, active_breaks
    )
    node = Node(problem.begin, problem.y0, slope, seen.free, start_values, modes)
    piece = begin_piece(problem, slope)
    step, controller_state = control.begin(problem, context, piece)
    outcome = _start_outcome(problem, slope, seen)
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
    """An entry of the tape that says nothing."""
    zero, interval = (
        jnp.zeros_like(problem.end),
        node.start_values.active_breaks.interval(node.clock),
    )
    no, nothing = zero > 0, EventRecord.nothing(problem)
    return Entry(
        zero, no, node.modes, interval, node.start_values.read_times.rows, no, zero, nothing
    )


def _smoothness(problem: Problem) -> Float[Array, " batch"]:
    """The level of the break at t0: 0, or -1 where y itself jumps there."""
    initial_history = jax.vmap(problem.equation.initial_history, in_axes=(-1, 0), out_axes=-1)
    before = initial_history(problem.begin.plain(), problem.args)
    jumps = jnp.any(before != problem.y0, axis=0)
    return jnp.where(jumps, -1.0, 0.0).astype(problem.y0.dtype)


def _start_outcome(problem: Problem, slope: Array, seen: Evaluation) -> Int32[Array, " batch"]:
    """What is wrong at t0."""
    values, (lower, upper) = (
        bounded_components(problem.y0, problem.equation.bounded),
        problem.bounds,
    )
    faults = (
        (Outcome.TIMES_REVERSED, problem.begin.until(problem.end) < 0),
        (Outcome.START_NOT_FINITE, ~jnp.all(jnp.isfinite(problem.y0), axis=0)),
        (Outcome.START_OUT_OF_BOUNDS, jnp.any((values < lower) | (values > upper), axis=0)),
    )
    outcome = seen.fault
    finite = jnp.all(jnp.isfinite(slope), axis=0) | (outcome != jnp.int32(Outcome.SUCCESS))
    outcome = jnp.where(finite, outcome, jnp.int32(Outcome.START_NOT_FINITE))
    for fault, result in reversed(faults):
        outcome = jnp.where(result, jnp.int32(fault), outcome)
    return outcome


def start(problem: Problem, context: StepContext, piece: Piece) -> tuple[Array, Evaluation, Modes]:
    """Slope, look at the right-hand side, and modes at t0."""
    zero = jnp.zeros(problem.y0.shape[1], problem.y0.dtype)
    point = EvaluationPoint(zero, problem.y0, piece, arriving=False)
    if problem.equation.guard_count:
        seen = evaluate_rhs(problem, context, point, with_guards=True)
        context = context._replace(modes=context.modes._replace(above=seen.indicators >= 0))
    seen = evaluate_rhs(problem, context, point, with_guards=True)
    modes = context.modes._replace(held=holding(problem, problem.y0, seen.free))
    return zero_held_slopes(seen.slope, modes, problem.equation.bounded), seen, modes


def no_modes(problem: Problem) -> Modes:
    """All clamps free, all indicators not negative."""
    batch, guards = problem.y0.shape[1], problem.equation.guard_count
    held = jnp.zeros((len(problem.equation.bounded), batch), jnp.int32)
    return Modes(held, jnp.ones((guards, batch), bool))


def _advance(problem: Problem, control: StepSizeControl, times: Array, state: State) -> State:
    """One iteration: of each instance that has not ended, one attempt."""
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
    judged = control.decide(node.clock, node.y, trial, step, state.control)
    crossings = find_crossings(problem, context, node.start_values, trial, step)
    fine = active & (trial.fault == jnp.int32(Outcome.SUCCESS))
    judged_step = JudgedStep(trial, step, fine & judged.keep, node)
    went = resolve_step(problem, context, judged_step, crossings, state.breaks)
    outcome, chatter_count = _outcome(problem, state, trial, judged, went, active)
    near = node.start_values.read_times.rows
    entry = Entry(step, last, node.modes, interval, near, went.event, went.passed, went.landed)
    full = jnp.any(state.row - state.flushed >= jnp.int32(ring.rows // 4))
    saved = save_passed(problem, state.saved, times, ring, state.row, node.clock, full)
    count = jnp.int32
    return State(
        ring=ring,
        row=state.row + went.keep.astype(count),
        piece=pick(went.keep, trial.piece, state.piece),
        breaks=went.breaks,
        node=pick(went.keep, went.node, node),
        step=jnp.where(active, _next_step(state, judged, went), state.step),
        uncut_step=jnp.where(
            went.again > 0, judged.step, jnp.where(went.keep, 0.0, state.uncut_step)
        ),
        control=pick(active, judged.controller_state, state.control),
        outcome=outcome,
        chatter_count=chatter_count,
        saved=saved,
        flushed=jnp.where(full, state.row, state.flushed),
        steps=state.steps + went.keep.astype(count),
        rejected=state.rejected + (active & ~went.keep).astype(count),
        landed=state.landed + (went.keep & went.event).astype(count),
        attempts=state.attempts + count(1),
        tape=None if state.tape is None else state.tape.write(state.row + count(1), entry),
    )


def _this_step(problem: Problem, state: State, active: Array) -> tuple[Array, Array]:
    """The length of this attempt, and whether it ends at t1.

    A step that is not much longer than a lag is made as long as the lag: one that reads within
    itself needs several sweeps, and those of one instance hold up all. With clamps or switches
    no step is longer, unless the lag has all but vanished: what they see of the past is known.
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


def _next_step(state: State, judged: StepDecision, went: StepResult) -> Float[Array, " batch"]:
    """The next step; one that was cut for a break does not make those after it shorter."""
    regular = jnp.maximum(judged.step, jnp.where(went.keep, state.uncut_step, 0.0))
    return jax.lax.stop_gradient(jnp.where(went.again > 0, went.again, regular))


def _outcome(
    problem: Problem,
    state: State,
    trial: Trial,
    judged: StepDecision,
    went: StepResult,
    active: Array,
) -> tuple[Int32[Array, " batch"], Int32[Array, " batch"]]:
    """The outcome so far, and the number of events in a row at one time."""
    resting = went.keep & went.event & (went.passed <= problem.time_tolerance)
    chatter_count = jnp.where(resting, state.chatter_count + jnp.int32(1), jnp.int32(0))
    chatter_count = jnp.where(went.keep, chatter_count, state.chatter_count)
    finite = jnp.all(jnp.isfinite(trial.y) & jnp.isfinite(trial.end.slope), axis=0)
    cause = jnp.where(finite, jnp.int32(Outcome.STEP_UNDERFLOW), jnp.int32(Outcome.NOT_FINITE))
    faulty = trial.fault != jnp.int32(Outcome.SUCCESS)
    cause = jnp.where(faulty, trial.fault, cause)
    stuck = ~went.keep & (judged.step <= problem.time_tolerance / 4)
    now = jnp.where(active & (stuck | (faulty & judged.keep)), cause, jnp.int32(Outcome.SUCCESS))
    now = jnp.where(active & (chatter_count > MAX_CHATTER), jnp.int32(Outcome.CHATTERING), now)
    forgotten = active & went.breaks.overflow(went.node.start_values.active_breaks.passed)
    now = jnp.where(forgotten, jnp.int32(Outcome.HISTORY_OVERFLOW), now)
    return jnp.where(state.outcome == jnp.int32(Outcome.SUCCESS), now, state.outcome), chatter_count
