"""One accepted step made again, as a function that can be differentiated in reverse.

What was decided in the solve (the step's length, which pieces were read, which event was met) is
taken from the tape; only values are computed anew. What is read from the ring enters by taps, so
that its cotangents come out row by row, and not as a copy of the ring.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int32

from vegasfluid.dde.adaptive.attempt import Start, Swept, sweep
from vegasfluid.dde.adaptive.clamps import Modes, free_of, hold
from vegasfluid.dde.adaptive.clock import Clock
from vegasfluid.dde.adaptive.events import mode_indicators
from vegasfluid.dde.adaptive.landing import on_bounds, pick
from vegasfluid.dde.adaptive.problem import Problem, View, look
from vegasfluid.dde.adaptive.recall import Taps, Where
from vegasfluid.dde.adaptive.ring import Mark, Piece, Ring, Track
from vegasfluid.dde.adaptive.tape import Entry

__all__ = ["Led", "Row", "Touched", "Values", "replay", "zero_taps"]

frozen = jax.lax.stop_gradient


class Row(NamedTuple):
    """A row of the solve.

    Args:
        ring: all rows.
        number: of this one.
        entry: what the tape has of its step.
        following: the modes after it.
        piece: of the step.
        events: whether any instance's step may have ended at an event.
    """

    ring: Ring
    number: Int32[Array, ""]
    entry: Entry
    following: Modes
    piece: Piece
    events: bool


class Values(NamedTuple):
    """What a step depends on.

    Args:
        later: by how much it starts later, shape (batch,); 0.
        y: state at its start.
        slope: dy/dt there.
        problem: arguments, bounds and end.
        taps: for each look at the right-hand side; see `zero_taps`.
        break_later: by how much the break that was landed on is later, shape (batch,); 0.
    """

    later: Float[Array, " batch"]
    y: Float[Array, "n batch"]
    slope: Float[Array, "n batch"]
    problem: Problem
    taps: Taps
    break_later: Float[Array, " batch"]


class Touched(NamedTuple):
    """The rows that a step read.

    Args:
        reads: for each tap, shape (looks, reads, batch).
        breaks: the row that starts at the break that was landed on, shape (batch,).
    """

    reads: Int32[Array, "looks reads batch"]
    breaks: Int32[Array, " batch"]


class Led(NamedTuple):
    """Where a step led.

    Args:
        passed: time to its end, shape (batch,).
        y: state there.
        slope: dy/dt from there on.
        coefficients: of its piece, shape (powers, n, batch).
        rate: of its piece, shape (batch,).
    """

    passed: Float[Array, " batch"]
    y: Float[Array, "n batch"]
    slope: Float[Array, "n batch"]
    coefficients: Float[Array, "powers n batch"]
    rate: Float[Array, " batch"]


def zero_taps(problem: Problem, reads: int, powers: int) -> Taps:
    """Taps of a step: a stage, then the event, then the slope after it; each for `reads` reads."""
    looks, (n, batch) = len(problem.equation.method.times) + 2, problem.y0.shape
    dtype = problem.y0.dtype
    starts = jnp.zeros((looks, reads, batch), dtype)
    return Taps(starts, jnp.zeros((looks, powers, n, reads, batch), dtype))


def replay(row: Row, values: Values) -> tuple[Led, Touched]:
    """Make the step of a row again.

    Returns:
        Where it led, and what it read.
    """
    later, y, slope, problem, taps, _ = values
    entry, recorded = row.entry, row.piece
    now = Clock(recorded.start.whole + later, recorded.start.rest)
    step = jnp.where(entry.last, now.until(problem.end), entry.step)
    mark = Mark(problem.begin, jnp.zeros_like(step))
    view = View(row.ring, row.number - jnp.int32(1), now, entry.modes, mark)
    reads = taps.starts.shape[1]
    stages = [own(taps, number) for number in range(taps.starts.shape[0])]
    hints = jnp.broadcast_to(row.number, (reads, step.shape[0]))
    made = sweep(
        problem,
        view,
        Start(y, slope, free_of(slope, problem.equation.clamped), hints, recorded),
        step,
        recorded,
        stages,
    )
    piece, end = made.trial.piece, made.trial.end
    plain = (step, made.trial.y, end.slope)
    led, touched = plain, _nothing(reads, step.shape[0])
    if row.events:
        led, touched = _event(values, view, row, made, stages, plain)
    rows = jnp.stack([_padded(each, reads) for each in made.touched])
    led = Led(*led, piece.coefficients, piece.rate)
    return led, touched._replace(reads=jnp.concatenate([rows, touched.reads]))


def _nothing(reads: int, batch: int) -> Touched:
    """No reads at an event."""
    none = jnp.zeros(batch, jnp.int32)
    return Touched(jnp.zeros((2, reads, batch), jnp.int32), none)


def own(taps: Taps, number: int) -> Taps:
    """The taps of one look."""
    return Taps(taps.starts[number], taps.coefficients[number])


def _padded(rows: Array, reads: int) -> Array:
    """Rows that were read, as many as there are taps."""
    rest = jnp.zeros((reads - rows.shape[0], rows.shape[1]), rows.dtype)
    return jnp.concatenate([rows, rest])


def _event(
    values: Values,
    view: View,
    row: Row,
    made: Swept,
    taps: list[Taps],
    plain: tuple[Array, Array, Array],
) -> tuple[tuple[Array, Array, Array], Touched]:
    """The end of a step at an event: time, state and slope there; and the rows that were read."""
    problem, entry, piece = values.problem, row.entry, made.trial.piece
    hints, reads = made.trial.end.rows, taps[0].starts.shape[0]
    seen_break = entry.landed.break_at - values.later + values.break_later

    def indicator(
        ahead: Array, taps: Taps | None, given: Problem, view: View, piece: Piece
    ) -> tuple[Array, Array]:
        where = Where(ahead, piece.at(ahead), row.piece, hints, taps=taps)
        seen = look(given, view, where, switching=True)
        modes = mode_indicators(given, view.modes, where.y, seen)
        all_of_them = jnp.concatenate([modes, seen_break - seen.asked])
        chosen = jnp.take_along_axis(all_of_them, entry.landed.first[None], axis=0)[0]
        return chosen, seen.rows

    at = frozen(entry.passed)
    value, touched = indicator(at, taps[-2], problem, view, piece)

    def in_time(ahead: Array) -> Array:
        return indicator(ahead, None, *frozen((problem, view, piece)))[0]

    _, speed = jax.jvp(in_time, (at,), (jnp.ones_like(at),))
    moves = (jnp.abs(speed) > 0) & entry.event
    shift = jnp.where(moves, -(value - frozen(value)) / jnp.where(moves, frozen(speed), 1.0), 0.0)
    passed = jnp.where(entry.event, at + shift, plain[0])
    lower, upper = jnp.split(entry.landed.reached, 2)
    y = on_bounds(problem, piece.at(passed), lower, upper)
    free = Modes(jnp.zeros_like(row.following.held), row.following.above)
    where = Where(passed, y, row.piece, hints, arriving=False, taps=taps[-1])
    seen = look(problem, view._replace(modes=free), where, switching=True)
    slope = hold(seen.slope, row.following, problem.equation.clamped)
    chosen = pick(entry.event, (passed, y, slope), plain)
    read = jnp.stack([_padded(touched, reads), _padded(seen.rows, reads)])
    return chosen, Touched(read, _break_rows(problem, view, row))


def _break_rows(problem: Problem, view: View, row: Row) -> Int32[Array, " batch"]:
    """The rows that start at the breaks that were landed on; maybe the own of the step."""
    n, batch = problem.y0.shape
    at = row.entry.landed.break_at

    def one(instance: Array, now: Clock, at: Array, slack: Array) -> Array:
        track = Track(view.ring, batch, n, instance, view.last)
        found = track.search(now, at + slack, view.last)
        return jnp.where(at >= -slack, row.number, found)

    return jax.vmap(one)(jnp.arange(batch, dtype=jnp.int32), view.now, at, problem.slack)
