"""The adaptive loop over a batch: attempt a step, test its error, locate events, store it.

All instances step side by side, each with its own time and step; one that has ended waits. Each
iteration writes the newest pieces into the ring first and then only reads the new ring. If the ring
were read before it is written, XLA would copy it in every iteration.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int32

from vegasfluid.dde.adaptive.events import find_crossings
from vegasfluid.dde.adaptive.implicit_step import attempt_implicit
from vegasfluid.dde.adaptive.loop_state import Limits, State
from vegasfluid.dde.adaptive.node import AttemptedStep, Node, pick
from vegasfluid.dde.adaptive.problem import Problem, StepContext
from vegasfluid.dde.adaptive.save_times import save_passed
from vegasfluid.dde.adaptive.start import initial_state
from vegasfluid.dde.adaptive.step import StepStart, Trial, attempt
from vegasfluid.dde.adaptive.step_result import END_TOLERANCE, StepResult, resolve_step
from vegasfluid.dde.adaptive.step_size import StepDecision, StepSizeControl
from vegasfluid.dde.adaptive.tape import Entry
from vegasfluid.dde.outcome import Outcome

__all__ = ["integrate"]

ITERATION_WORTHWHILE = 4
"""A step shorter than this many shortest lags is cut to the lag; longer ones are worth the
iterations over their stages that reading within the step costs (chosen)."""
LAG_MARGIN = 0.95
"""With bounds or guards, largest step as a fraction of the shortest lag: a margin, because the lag
may shrink within the step (chosen)."""
VANISHING_LAG = 1e-4
"""With bounds or guards, lags shorter than this fraction of t1 - t0 do not limit the step."""
BEYOND_BREAK = 1.2
"""With a lag that changes, steps go beyond its next break by this factor: the break is only
foreseen, and the dense output near a step's end is as accurate as the end (chosen)."""
STEADY = 1e-9
"""A read time whose rate of change is within this of 1 has a constant lag (chosen)."""
MAX_CHATTER = 16
"""Consecutive events at one time beyond which a solve fails with CHATTERING (chosen)."""


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

    initial = (initial_state(problem, control, limits, times), limits.meter.init())
    end, meter = jax.lax.while_loop(lambda carry: continues(carry[0]), body, initial)
    limits.meter.close(meter)
    ring = end.ring.write(end.row, end.piece)
    scheduled = jnp.ones((), bool)
    saved = save_passed(problem, end.saved, times, ring, end.row, end.node.clock, scheduled)
    unfinished = _active(problem, end)
    outcome = jnp.where(unfinished, jnp.int32(Outcome.MAX_STEPS_REACHED), end.outcome)
    return end._replace(outcome=outcome, ring=ring, saved=saved)


def _progress(problem: Problem, state: State) -> Float[Array, ""]:
    """Mean over the batch of the fraction (0 to 1) of the interval t0 to t1 that is integrated.

    An instance that has ended, by reaching t1, by an event or by a failure, counts as 1.
    """
    total = problem.begin.until(problem.end)
    done = 1 - state.node.clock.until(problem.end) / jnp.where(total > 0, total, 1.0)
    return jnp.mean(jnp.where(_active(problem, state), done, 1.0))


def _active(problem: Problem, state: State) -> Bool[Array, " batch"]:
    """Which instances have neither failed nor reached t1, shape (batch,)."""
    fine = state.outcome == jnp.int32(Outcome.SUCCESS)
    return fine & (state.node.clock.until(problem.end) > 0) & ~jnp.any(state.ended, axis=0)


def _advance(problem: Problem, control: StepSizeControl, times: Array, state: State) -> State:
    """The loop's state after one more attempted step of each instance that has not ended."""
    node, active = state.node, _active(problem, state)
    ring = state.ring.write(state.row, state.piece)
    interval = node.start_values.active_breaks.interval(node.clock)
    context = StepContext(ring, state.row, node.clock, node.modes, 1 / state.piece.rate, interval)
    step, last = _this_step(problem, state, active)
    trial = (attempt_implicit if problem.equation.method.newton else attempt)(
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
    node, again = _confined(problem, node, trial, result, active)
    ending = active & ~again
    outcome, chatter_count = _outcome(problem, state, trial, decision, result, ending)
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
        step=jnp.where(ending, _next_step(state, decision, result), state.step),
        uncut_step=jnp.where(
            result.again > 0, decision.step, jnp.where(result.keep, 0.0, state.uncut_step)
        ),
        control=pick(ending, decision.controller_state, state.control),
        outcome=outcome,
        chatter_count=chatter_count,
        saved=saved,
        flushed=jnp.where(full, state.row, state.flushed),
        steps=state.steps + result.keep.astype(count),
        rejected=state.rejected + (active & ~result.keep).astype(count),
        landed=state.landed + (result.keep & result.event).astype(count),
        ended=state.ended | (result.landed.ended & result.keep & result.event),
        attempts=state.attempts + count(1),
        tape=None if state.tape is None else state.tape.write(state.row + count(1), entry),
    )


def _confined(
    problem: Problem, node: Node, trial: Trial, result: StepResult, active: Array
) -> tuple[Node, Bool[Array, " batch"]]:
    """The node at a step's start, with some instances set to clip all stages to their bounds.

    These are the `active` instances whose right-hand side was not finite in the attempt `trial`,
    perhaps because a stage was beyond a bound. They repeat the step. Returns also which instances
    are newly confined in this way, shape (batch,).
    """
    if not problem.equation.bounded:
        return node, jnp.zeros_like(active)
    finite = jnp.all(jnp.isfinite(trial.y) & jnp.isfinite(trial.end.slope), axis=0)
    again = active & ~result.keep & ~finite & ~node.modes.confined
    return node._replace(modes=node.modes._replace(confined=node.modes.confined | again)), again


def _this_step(problem: Problem, state: State, active: Array) -> tuple[Array, Array]:
    """The length of this attempt (unit of t), and whether it ends at t1; shape (batch,) each.

    A step that is not much longer than the shortest lag is cut to the lag. Otherwise it would read
    within itself and need several iterations, for which all instances wait. With bounds or guards
    no step is longer than the shortest lag, unless the lag is negligible (`VANISHING_LAG`). So
    events depend on finished steps only. Steps also end at breaks, given times and t1.
    """
    lags = -state.node.start_values.read_times.times
    shortest = jnp.min(
        jnp.where(lags > problem.time_tolerance, lags, jnp.inf), axis=0, initial=jnp.inf
    )
    # A stage may lie beyond the step's end.
    shortest /= max(1.0, *problem.equation.method.times)
    near = state.step < ITERATION_WORTHWHILE * shortest
    if problem.equation.bounded or problem.equation.guard_count:
        shortest = LAG_MARGIN * shortest
        near = shortest > VANISHING_LAG * problem.begin.until(problem.end)
    step = jnp.where(near, jnp.minimum(state.step, shortest), state.step)
    step = _within_breaks(problem, state, step)
    ahead = state.node.clock.until(problem.times.stops)
    ahead = jnp.where(ahead > 4 * problem.time_tolerance, ahead, jnp.inf)
    ahead = jnp.min(ahead, axis=0, initial=jnp.inf)
    step = jnp.where(step >= ahead * (1 - END_TOLERANCE), ahead, step)
    left = state.node.clock.until(problem.end)
    last = step >= left * (1 - END_TOLERANCE)
    step = jnp.where(last, left, jax.lax.stop_gradient(step))
    return jnp.where(active, step, 64 * problem.time_tolerance), last


def _within_breaks(problem: Problem, state: State, step: Array) -> Float[Array, " batch"]:
    """The length of a step that goes no further than the next break of any site.

    The time at which a lag passes its break is known if the lag is constant; else it is foreseen
    from the rate of change of its read time in the step before, and the step goes a little beyond.
    A break that is passed within the next rounding error is left to the step itself.
    """
    start = state.node.start_values
    reads, interval = start.read_times, start.active_breaks.interval(state.node.clock)
    rising = reads.rates > 0
    gap = jnp.where(rising, interval.upper - reads.times, reads.times - interval.lower)
    speed = jnp.abs(reads.rates)
    steady = jnp.abs(reads.rates - 1) < STEADY
    ahead = gap / jnp.where(steady, 1.0, jnp.maximum(speed, jnp.finfo(speed.dtype).tiny))
    ahead = jnp.where(steady, ahead, BEYOND_BREAK * ahead)
    ahead = jnp.where(ahead > 64 * problem.time_tolerance, ahead, jnp.inf)
    return jnp.minimum(step, jnp.min(jax.lax.stop_gradient(ahead), axis=0, initial=jnp.inf))


def _next_step(state: State, decision: StepDecision, result: StepResult) -> Float[Array, " batch"]:
    """The length of the next step (unit of t), shape (batch,).

    It is the length for which the step-size controller asks. After an event it is at least the
    length before the step was shortened. Where an event shortens a step, it is that length.
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
    """The outcome of each instance after a step, and how many events in a row had the same time.

    An instance keeps its first outcome other than SUCCESS. Shape (batch,) each.

    Args:
        problem: the batch.
        state: the loop's state before the step.
        trial: the attempted step.
        decision: whether its error is small enough.
        result: whether it was accepted, and its event.
        active: instances that have not ended and do not repeat the step, shape (batch,).
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
