"""Repetition of one accepted step, as functions that reverse mode differentiates.

The decisions of the solve (step length, rows read, event) come from the tape; only values are
computed again. Values read from the ring enter through perturbations, so that their cotangents
come out row by row and not as a copy of the ring.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int32

from vegasfluid.dde.adaptive.bounds import Modes, bounded_components, zero_slopes_at_bounds
from vegasfluid.dde.adaptive.breaking_points import ActiveInterval
from vegasfluid.dde.adaptive.compensated_time import CompensatedTime
from vegasfluid.dde.adaptive.events import mode_indicators
from vegasfluid.dde.adaptive.history_reader import EvaluationPoint, ReadPerturbations
from vegasfluid.dde.adaptive.history_ring import Piece, Ring
from vegasfluid.dde.adaptive.node import on_bounds
from vegasfluid.dde.adaptive.problem import Problem, StepContext, evaluate_rhs
from vegasfluid.dde.adaptive.resets import after_resets
from vegasfluid.dde.adaptive.step import StepStart, evaluate_stages
from vegasfluid.dde.adaptive.tape import Entry

__all__ = [
    "EventInputs",
    "EventOutputs",
    "StepInputs",
    "StepOutputs",
    "StepRow",
    "event_of_step",
    "repeat_step",
    "zero_perturbations",
]

frozen = jax.lax.stop_gradient
"""Returns its argument, a pytree of arrays, as a constant for derivatives."""


class StepRow(NamedTuple):
    """The step in one row of each instance.

    Args:
        ring: all rows.
        number: number of the row, shape (batch,).
        entry: the step's tape entry.
        modes: active bounds and guard signs after the step.
        interval: active intervals after the step, relative to its end.
        piece: dense output of the step.
    """

    ring: Ring
    number: Int32[Array, " batch"]
    entry: Entry
    modes: Modes
    interval: ActiveInterval
    piece: Piece

    def context(self, now: CompensatedTime) -> StepContext:
        """History, modes and active intervals of the step, if it starts at the time `now`."""
        last = self.number - jnp.int32(1)
        return StepContext(
            self.ring, last, now, self.entry.modes, self.entry.step, self.entry.interval
        )

    def now(self, later: Float[Array, " batch"]) -> CompensatedTime:
        """The step's start time plus `later`, shape (batch,), in the unit of t.

        `later` is 0; derivatives by the start time are derivatives by it.
        """
        return CompensatedTime(self.piece.start.whole + later, self.piece.start.compensation)


class StepInputs(NamedTuple):
    """The inputs of a step, besides the problem.

    Args:
        later: perturbation of its start time, shape (batch,); 0.
        y: state at its start, shape (n, batch).
        slope: dy/dt there, shape (n, batch).
        perturbations: perturbations of the history reads of its stages.
    """

    later: Float[Array, " batch"]
    y: Float[Array, "n batch"]
    slope: Float[Array, "n batch"]
    perturbations: ReadPerturbations


class StepOutputs(NamedTuple):
    """The result of a step.

    Args:
        passed: its length, shape (batch,).
        y: state at its end, shape (n, batch).
        slope: dy/dt at its end, shape (n, batch).
        coefficients: coefficients of its piece, shape (powers, n, batch).
        rate: rate of its piece, shape (batch,).
    """

    passed: Float[Array, " batch"]
    y: Float[Array, "n batch"]
    slope: Float[Array, "n batch"]
    coefficients: Float[Array, "powers n batch"]
    rate: Float[Array, " batch"]


class EventInputs(NamedTuple):
    """The inputs of the event at which a step ends, besides the problem.

    Args:
        later: perturbation of the step's start time, shape (batch,); 0.
        coefficients: coefficients of its piece, shape (powers, n, batch).
        rate: rate of its piece, shape (batch,).
        perturbations: perturbations of the reads of two evaluations, before and after the event.
        break_later: perturbation of the time of the break that a lag passes, shape (batch,); 0.
    """

    later: Float[Array, " batch"]
    coefficients: Float[Array, "powers n batch"]
    rate: Float[Array, " batch"]
    perturbations: ReadPerturbations
    break_later: Float[Array, " batch"]


class EventOutputs(NamedTuple):
    """Time, state and slope at an event.

    Args:
        passed: time since the start of the step, shape (batch,).
        y: state, shape (n, batch).
        slope: dy/dt just after the event, shape (n, batch).
    """

    passed: Float[Array, " batch"]
    y: Float[Array, "n batch"]
    slope: Float[Array, "n batch"]


def zero_perturbations(
    problem: Problem, evaluations: int, reads: int, powers: int
) -> ReadPerturbations:
    """Zeros to add to the history reads of a step, so that the reverse pass gets their cotangents.

    Args:
        problem: the batch.
        evaluations: number of evaluations of the right-hand side.
        reads: number of history reads in each.
        powers: number of coefficients of a piece of the history.

    Returns:
        Starts of pieces, shape (evaluations, reads, batch), and coefficients, shape (evaluations,
        powers, n, reads, batch).
    """
    n, batch = problem.y0.shape
    dtype = problem.y0.dtype
    starts = jnp.zeros((evaluations, reads, batch), dtype)
    return ReadPerturbations(starts, jnp.zeros((evaluations, powers, n, reads, batch), dtype))


def repeat_step(
    row: StepRow, problem: Problem, begin: StepInputs
) -> tuple[StepOutputs, Int32[Array, "evaluations reads batch"]]:
    """Compute an accepted step again, as a differentiable function of its inputs.

    Args:
        row: the step, with the decisions recorded by the solve (length, rows read).
        problem: the batch.
        begin: state and slope at its start, and perturbations of its reads.

    Returns:
        Length, end state, end slope and dense output of the step, and the rows of the history that
        its stages read.
    """
    now = row.now(begin.later)
    step = jnp.where(row.entry.last, now.until(problem.end), row.entry.step)
    free = bounded_components(begin.slope, problem.equation.bounded)
    start = StepStart(begin.y, begin.slope, free, row.entry.rows, row.piece)
    stages = evaluate_stages(problem, row.context(now), start, step, row.piece, begin.perturbations)
    early, last = stages.read_rows
    more = last.shape[0] - early.shape[1]
    early = jnp.concatenate([early, jnp.zeros((early.shape[0], more, *step.shape), jnp.int32)], 1)
    piece, end = stages.trial.piece, stages.trial.end
    outputs = StepOutputs(step, stages.trial.y, end.slope, piece.coefficients, piece.rate)
    return outputs, jnp.concatenate([early, last[None]])


def event_of_step(
    row: StepRow, problem: Problem, given: EventInputs
) -> tuple[EventOutputs, Int32[Array, "two reads batch"]]:
    """Compute once more, as a differentiable function, the event with which a step ended.

    It is undefined for steps without an event.

    Args:
        row: the step, with the event recorded by the solve.
        problem: the batch.
        given: dense output of the step, and perturbations of its reads and of its start.

    Returns:
        Time since the step's start, state and slope at the event, and the rows of the history that
        its two evaluations read.
    """
    entry, now = row.entry, row.now(given.later)
    context, piece = row.context(now), Piece(now, given.rate, given.coefficients)
    break_at = entry.landed.break_at - given.later + given.break_later

    def indicator(
        ahead: Array,
        perturbations: ReadPerturbations | None,
        problem: Problem,
        context: StepContext,
        piece: Piece,
    ) -> tuple[Array, Array]:
        """The event's indicator `ahead` after the step's start, and the rows read for it."""
        point = EvaluationPoint(
            ahead, piece.at(ahead), row.piece, entry.rows, perturbations=perturbations
        )
        evaluation = evaluate_rhs(problem, context, point, with_guards=True)
        modes = mode_indicators(problem, context.modes, point.y, evaluation)
        indicators = jnp.concatenate([modes, break_at - evaluation.read_times])
        first = jnp.take_along_axis(indicators, entry.landed.first[None], axis=0)[0]
        return first, evaluation.rows

    at = frozen(entry.passed)
    value, read_rows = indicator(at, given.perturbations.each(0), problem, context, piece)

    def indicator_at(ahead: Array) -> Array:
        return indicator(ahead, None, *frozen((problem, context, piece)))[0]

    _, speed = jax.jvp(indicator_at, (at,), (jnp.ones_like(at),))
    moving = (jnp.abs(speed) > 0) & entry.event
    shift = jnp.where(moving, -(value - frozen(value)) / jnp.where(moving, frozen(speed), 1.0), 0.0)
    passed = at + shift
    lower, upper = jnp.split(entry.landed.reached, 2)
    y = on_bounds(problem, piece.at(passed), lower, upper)
    y = after_resets(problem, now.after(passed), y, entry.landed.resets)
    modes = Modes(jnp.zeros_like(row.modes.at_bound), row.modes.above, jnp.zeros_like(entry.event))
    interval = ActiveInterval(row.interval.lower + at, row.interval.upper + at)
    point = EvaluationPoint(
        passed, y, row.piece, read_rows, arriving=False, perturbations=given.perturbations.each(1)
    )
    evaluation = evaluate_rhs(
        problem, context._replace(modes=modes, interval=interval), point, with_guards=True
    )
    slope = zero_slopes_at_bounds(evaluation.slope, row.modes, problem.equation.bounded)
    return EventOutputs(passed, y, slope), jnp.stack([read_rows, evaluation.rows])
