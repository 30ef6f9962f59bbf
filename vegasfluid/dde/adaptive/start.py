"""The state of the adaptive loop at t0."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int32, PyTree

from vegasfluid.dde.adaptive.bounds import Modes, bounded_components, zero_slopes_at_bounds
from vegasfluid.dde.adaptive.breaking_points import first_breaking_points, updated_active_breaks
from vegasfluid.dde.adaptive.events import HistoryReads, StartValues, mode_indicators
from vegasfluid.dde.adaptive.history_reader import EvaluationPoint
from vegasfluid.dde.adaptive.history_ring import Piece, empty_ring
from vegasfluid.dde.adaptive.loop_state import Limits, State
from vegasfluid.dde.adaptive.node import EventRecord, Node, active_bounds
from vegasfluid.dde.adaptive.problem import Evaluation, Problem, StepContext, evaluate_rhs
from vegasfluid.dde.adaptive.save_times import empty_saved
from vegasfluid.dde.adaptive.step import initial_piece
from vegasfluid.dde.adaptive.step_size import StepSizeControl
from vegasfluid.dde.adaptive.tape import Entry, empty_tape
from vegasfluid.dde.outcome import Outcome

__all__ = ["blank_entry", "initial_state"]


def initial_state(
    problem: Problem, control: StepSizeControl, limits: Limits, times: Array
) -> State:
    """The loop's state at t0: y0, its slope, the initial history and the first step's length."""
    batch = problem.y0.shape[1]
    zero, none = jnp.zeros(batch, problem.y0.dtype), jnp.zeros(batch, jnp.int32)
    empty = initial_piece(problem, _slope_before(problem))
    ring = empty_ring(limits.rows, empty).write(none, empty)
    context = StepContext(ring, none, problem.begin, _no_modes(problem), zero)
    slope, evaluation, modes = _evaluate_start(problem, context, empty)
    context = context._replace(modes=modes)
    breaks = first_breaking_points(
        limits.breaks, problem.begin, _smoothness(problem), problem.times.past_breaks
    )
    nowhere = jnp.zeros(evaluation.read_times.shape, jnp.int32)
    active_breaks = updated_active_breaks(
        breaks, nowhere, problem.begin, evaluation.read_times, 2 * problem.time_tolerance
    )
    indicators = mode_indicators(problem, modes, problem.y0, evaluation)
    unknown = jnp.full_like(indicators, jnp.inf)
    start_values = StartValues(
        HistoryReads(evaluation.read_times, evaluation.rows, jnp.ones_like(evaluation.read_times)),
        indicators,
        unknown,
        active_breaks,
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
        saved=empty_saved(problem, times, limits.save_block),
        flushed=none,
        steps=none,
        rejected=none,
        landed=none,
        ended=jnp.zeros((len(problem.equation.event_directions), batch), bool),
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


def _slope_before(problem: Problem) -> Float[Array, "n batch"]:
    """Derivative of the initial history at t0, shape (n, batch).

    A neutral equation reads it where a lag vanishes at t0. The result is zero for other equations,
    and where the derivative is not finite.
    """
    if not problem.equation.neutral:
        return jnp.zeros_like(problem.y0)

    def slope(begin: Array, args: PyTree) -> Array:
        """The derivative for one instance, shape (n,)."""
        one = jnp.ones_like(begin)
        return jax.jvp(lambda s: problem.equation.initial_history(s, args), (begin,), (one,))[1]

    slopes = jax.vmap(slope, in_axes=(-1, 0), out_axes=-1)(problem.begin.plain(), problem.args)
    return jnp.where(jnp.isfinite(slopes), slopes, 0.0)


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


def _evaluate_start(
    problem: Problem, context: StepContext, piece: Piece
) -> tuple[Array, Evaluation, Modes]:
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


def _no_modes(problem: Problem) -> Modes:
    """Modes of a batch without active bounds and with all guards not negative."""
    batch, guards = problem.y0.shape[1], problem.equation.guard_count
    at_bound = jnp.zeros((len(problem.equation.bounded), batch), jnp.int32)
    return Modes(at_bound, jnp.ones((guards, batch), bool), jnp.zeros(batch, bool))
