"""One accepted step made again, as functions that can be differentiated in reverse.

What was decided in the solve (the step's length, which pieces were read, which event was met) is
taken from the tape; only values are computed anew. What is read from the ring enters by taps, so
that its cotangents come out row by row, and not as a copy of the ring.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int32

from vegasfluid.dde.adaptive.bounds import Modes, bounded_components, zero_held_slopes
from vegasfluid.dde.adaptive.breaking_points import ActiveInterval
from vegasfluid.dde.adaptive.compensated_time import CompensatedTime
from vegasfluid.dde.adaptive.events import mode_indicators
from vegasfluid.dde.adaptive.history import EvaluationPoint, ReadPerturbations
from vegasfluid.dde.adaptive.history_ring import Piece, Ring
from vegasfluid.dde.adaptive.problem import Problem, StepContext, evaluate_rhs
from vegasfluid.dde.adaptive.step import StepStart, evaluate_stages
from vegasfluid.dde.adaptive.step_result import on_bounds
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


class StepRow(NamedTuple):
    """A row of each instance.

    Args:
        ring: all rows.
        number: of these, shape (batch,).
        entry: what the tape has of the step.
        modes: after it.
        interval: after it, as seen from there.
        piece: of the step.
    """

    ring: Ring
    number: Int32[Array, " batch"]
    entry: Entry
    modes: Modes
    interval: ActiveInterval
    piece: Piece

    def context(self, now: CompensatedTime) -> StepContext:
        """What the step saw."""
        last = self.number - jnp.int32(1)
        return StepContext(
            self.ring, last, now, self.entry.modes, self.entry.step, self.entry.interval
        )

    def now(self, later: Float[Array, " batch"]) -> CompensatedTime:
        """When it starts, if that is so much later."""
        return CompensatedTime(self.piece.start.whole + later, self.piece.start.rest)


class StepInputs(NamedTuple):
    """What a step depends on, beside the problem.

    Args:
        later: by how much it starts later, shape (batch,); 0.
        y: state at its start.
        slope: dy/dt there.
        perturbations: of its stages.
    """

    later: Float[Array, " batch"]
    y: Float[Array, "n batch"]
    slope: Float[Array, "n batch"]
    perturbations: ReadPerturbations


class StepOutputs(NamedTuple):
    """A step, whole.

    Args:
        passed: its length, shape (batch,).
        y: state at its end.
        slope: dy/dt there.
        coefficients: of its piece, shape (powers, n, batch).
        rate: of its piece, shape (batch,).
    """

    passed: Float[Array, " batch"]
    y: Float[Array, "n batch"]
    slope: Float[Array, "n batch"]
    coefficients: Float[Array, "powers n batch"]
    rate: Float[Array, " batch"]


class EventInputs(NamedTuple):
    """What the event that a step is cut at depends on, beside the problem.

    Args:
        later: by how much the step starts later, shape (batch,); 0.
        coefficients: of its piece, shape (powers, n, batch).
        rate: of its piece, shape (batch,).
        perturbations: of the look at the indicators, and of that after the event.
        break_later: by how much the break that was landed on is later, shape (batch,); 0.
    """

    later: Float[Array, " batch"]
    coefficients: Float[Array, "powers n batch"]
    rate: Float[Array, " batch"]
    perturbations: ReadPerturbations
    break_later: Float[Array, " batch"]


class EventOutputs(NamedTuple):
    """Where an instance stands at an event.

    Args:
        passed: time since the start of the step, shape (batch,).
        y: state.
        slope: dy/dt from here on.
    """

    passed: Float[Array, " batch"]
    y: Float[Array, "n batch"]
    slope: Float[Array, "n batch"]


def zero_perturbations(problem: Problem, looks: int, reads: int, powers: int) -> ReadPerturbations:
    """Taps of so many looks, each for so many reads."""
    n, batch = problem.y0.shape
    dtype = problem.y0.dtype
    starts = jnp.zeros((looks, reads, batch), dtype)
    return ReadPerturbations(starts, jnp.zeros((looks, powers, n, reads, batch), dtype))


def repeat_step(
    row: StepRow, problem: Problem, begin: StepInputs
) -> tuple[StepOutputs, Int32[Array, "looks reads batch"]]:
    """Make the step of a row again.

    Returns:
        The step, and the rows that its stages read.
    """
    now = row.now(begin.later)
    step = jnp.where(row.entry.last, now.until(problem.end), row.entry.step)
    free = bounded_components(begin.slope, problem.equation.bounded)
    start = StepStart(begin.y, begin.slope, free, row.entry.rows, row.piece)
    made = evaluate_stages(problem, row.context(now), start, step, row.piece, begin.perturbations)
    early, last = made.touched
    more = last.shape[0] - early.shape[1]
    early = jnp.concatenate([early, jnp.zeros((early.shape[0], more, *step.shape), jnp.int32)], 1)
    piece, end = made.trial.piece, made.trial.end
    led = StepOutputs(step, made.trial.y, end.slope, piece.coefficients, piece.rate)
    return led, jnp.concatenate([early, last[None]])


def event_of_step(
    row: StepRow, problem: Problem, given: EventInputs
) -> tuple[EventOutputs, Int32[Array, "two reads batch"]]:
    """Where the step of a row is cut; without meaning where it is not.

    Returns:
        Time, state and slope there, and the rows that the two looks read.
    """
    entry, now = row.entry, row.now(given.later)
    context, piece = row.context(now), Piece(now, given.rate, given.coefficients)
    seen_break = entry.landed.break_at - given.later + given.break_later

    def indicator(
        ahead: Array,
        perturbations: ReadPerturbations | None,
        problem: Problem,
        context: StepContext,
        piece: Piece,
    ) -> tuple[Array, Array]:
        point = EvaluationPoint(
            ahead, piece.at(ahead), row.piece, entry.rows, perturbations=perturbations
        )
        seen = evaluate_rhs(problem, context, point, with_guards=True)
        modes = mode_indicators(problem, context.modes, point.y, seen)
        all_of_them = jnp.concatenate([modes, seen_break - seen.read_times])
        chosen = jnp.take_along_axis(all_of_them, entry.landed.first[None], axis=0)[0]
        return chosen, seen.rows

    at = frozen(entry.passed)
    value, touched = indicator(at, given.perturbations.each(0), problem, context, piece)

    def in_time(ahead: Array) -> Array:
        return indicator(ahead, None, *frozen((problem, context, piece)))[0]

    _, speed = jax.jvp(in_time, (at,), (jnp.ones_like(at),))
    moves = (jnp.abs(speed) > 0) & entry.event
    shift = jnp.where(moves, -(value - frozen(value)) / jnp.where(moves, frozen(speed), 1.0), 0.0)
    passed = at + shift
    lower, upper = jnp.split(entry.landed.reached, 2)
    y = on_bounds(problem, piece.at(passed), lower, upper)
    modes = Modes(jnp.zeros_like(row.modes.held), row.modes.above)
    interval = ActiveInterval(row.interval.lower + at, row.interval.upper + at)
    point = EvaluationPoint(
        passed, y, row.piece, touched, arriving=False, perturbations=given.perturbations.each(1)
    )
    seen = evaluate_rhs(
        problem, context._replace(modes=modes, interval=interval), point, with_guards=True
    )
    slope = zero_held_slopes(seen.slope, row.modes, problem.equation.bounded)
    return EventOutputs(passed, y, slope), jnp.stack([touched, seen.rows])
