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

from vegasfluid.dde.adaptive.attempt import Start, sweep
from vegasfluid.dde.adaptive.breaks import Fence
from vegasfluid.dde.adaptive.clamps import Modes, free_of, hold
from vegasfluid.dde.adaptive.clock import Clock
from vegasfluid.dde.adaptive.events import mode_indicators
from vegasfluid.dde.adaptive.landing import on_bounds
from vegasfluid.dde.adaptive.problem import Problem, View, look
from vegasfluid.dde.adaptive.recall import Taps, Where
from vegasfluid.dde.adaptive.ring import Piece, Ring
from vegasfluid.dde.adaptive.tape import Entry

__all__ = ["Begin", "Cut", "End", "Made", "Row", "cut", "make", "zero_taps"]

frozen = jax.lax.stop_gradient


class Row(NamedTuple):
    """A row of each instance.

    Args:
        ring: all rows.
        number: of these, shape (batch,).
        entry: what the tape has of the step.
        modes: after it.
        fence: after it, as seen from there.
        piece: of the step.
    """

    ring: Ring
    number: Int32[Array, " batch"]
    entry: Entry
    modes: Modes
    fence: Fence
    piece: Piece

    def view(self, now: Clock) -> View:
        """What the step saw."""
        last = self.number - jnp.int32(1)
        return View(self.ring, last, now, self.entry.modes, self.entry.step, self.entry.fence)

    def now(self, later: Float[Array, " batch"]) -> Clock:
        """When it starts, if that is so much later."""
        return Clock(self.piece.start.whole + later, self.piece.start.rest)


class Begin(NamedTuple):
    """What a step depends on, beside the problem.

    Args:
        later: by how much it starts later, shape (batch,); 0.
        y: state at its start.
        slope: dy/dt there.
        taps: of its stages.
    """

    later: Float[Array, " batch"]
    y: Float[Array, "n batch"]
    slope: Float[Array, "n batch"]
    taps: Taps


class Made(NamedTuple):
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


class Cut(NamedTuple):
    """What the event that a step is cut at depends on, beside the problem.

    Args:
        later: by how much the step starts later, shape (batch,); 0.
        coefficients: of its piece, shape (powers, n, batch).
        rate: of its piece, shape (batch,).
        taps: of the look at the indicators, and of that after the event.
        break_later: by how much the break that was landed on is later, shape (batch,); 0.
    """

    later: Float[Array, " batch"]
    coefficients: Float[Array, "powers n batch"]
    rate: Float[Array, " batch"]
    taps: Taps
    break_later: Float[Array, " batch"]


class End(NamedTuple):
    """Where an instance stands at an event.

    Args:
        passed: time since the start of the step, shape (batch,).
        y: state.
        slope: dy/dt from here on.
    """

    passed: Float[Array, " batch"]
    y: Float[Array, "n batch"]
    slope: Float[Array, "n batch"]


def zero_taps(problem: Problem, looks: int, reads: int, powers: int) -> Taps:
    """Taps of so many looks, each for so many reads."""
    n, batch = problem.y0.shape
    dtype = problem.y0.dtype
    starts = jnp.zeros((looks, reads, batch), dtype)
    return Taps(starts, jnp.zeros((looks, powers, n, reads, batch), dtype))


def make(
    row: Row, problem: Problem, begin: Begin
) -> tuple[Made, Int32[Array, "looks reads batch"]]:
    """Make the step of a row again.

    Returns:
        The step, and the rows that its stages read.
    """
    now = row.now(begin.later)
    step = jnp.where(row.entry.last, now.until(problem.end), row.entry.step)
    free = free_of(begin.slope, problem.equation.clamped)
    start = Start(begin.y, begin.slope, free, row.entry.rows, row.piece)
    made = sweep(problem, row.view(now), start, step, row.piece, begin.taps)
    early, last = made.touched
    more = last.shape[0] - early.shape[1]
    early = jnp.concatenate([early, jnp.zeros((early.shape[0], more, *step.shape), jnp.int32)], 1)
    piece, end = made.trial.piece, made.trial.end
    led = Made(step, made.trial.y, end.slope, piece.coefficients, piece.rate)
    return led, jnp.concatenate([early, last[None]])


def cut(row: Row, problem: Problem, given: Cut) -> tuple[End, Int32[Array, "two reads batch"]]:
    """Where the step of a row is cut; without meaning where it is not.

    Returns:
        Time, state and slope there, and the rows that the two looks read.
    """
    entry, now = row.entry, row.now(given.later)
    view, piece = row.view(now), Piece(now, given.rate, given.coefficients)
    seen_break = entry.landed.break_at - given.later + given.break_later

    def indicator(
        ahead: Array, taps: Taps | None, problem: Problem, view: View, piece: Piece
    ) -> tuple[Array, Array]:
        where = Where(ahead, piece.at(ahead), row.piece, entry.rows, taps=taps)
        seen = look(problem, view, where, switching=True)
        modes = mode_indicators(problem, view.modes, where.y, seen)
        all_of_them = jnp.concatenate([modes, seen_break - seen.asked])
        chosen = jnp.take_along_axis(all_of_them, entry.landed.first[None], axis=0)[0]
        return chosen, seen.rows

    at = frozen(entry.passed)
    value, touched = indicator(at, given.taps.each(0), problem, view, piece)

    def in_time(ahead: Array) -> Array:
        return indicator(ahead, None, *frozen((problem, view, piece)))[0]

    _, speed = jax.jvp(in_time, (at,), (jnp.ones_like(at),))
    moves = (jnp.abs(speed) > 0) & entry.event
    shift = jnp.where(moves, -(value - frozen(value)) / jnp.where(moves, frozen(speed), 1.0), 0.0)
    passed = at + shift
    lower, upper = jnp.split(entry.landed.reached, 2)
    y = on_bounds(problem, piece.at(passed), lower, upper)
    modes = Modes(jnp.zeros_like(row.modes.held), row.modes.above)
    fence = Fence(row.fence.lower + at, row.fence.upper + at)
    where = Where(passed, y, row.piece, touched, arriving=False, taps=given.taps.each(1))
    seen = look(problem, view._replace(modes=modes, fence=fence), where, switching=True)
    slope = hold(seen.slope, row.modes, problem.equation.clamped)
    return End(passed, y, slope), jnp.stack([touched, seen.rows])
