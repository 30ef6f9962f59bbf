"""The reverse mode: the exact derivative of the steps that were made, the history included.

The solve keeps its pieces and a short note of each step; the way back makes one step again at a
time (so a step's state is its checkpoint) and hands cotangents to the step before and, for what
it read of the past, to the rows it read. The lengths of the steps count as given, as in diffrax;
events move with what they depend on.

Without the cotangents of the past (the "history term") the derivative is that of another
equation, in which the past is a known function.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int32

from vegasfluid.dde.adaptive.control import Control
from vegasfluid.dde.adaptive.loop import Limits, State, integrate
from vegasfluid.dde.adaptive.problem import Problem, View, look
from vegasfluid.dde.adaptive.recall import Where
from vegasfluid.dde.adaptive.replay import Led, Row, Touched, Values, replay, zero_taps
from vegasfluid.dde.adaptive.ring import Mark, Piece

__all__ = ["taped"]

MOST_ROUNDS = 40
FADED = 1e-13
"""Cotangents that a step hands to itself, smaller than this share of the largest, are zero."""


@eqx.filter_custom_vjp
def taped(problem: Problem, control: Control, limits: Limits) -> State:
    """Integrate a batch; its ring holds all pieces, and can be differentiated in reverse."""
    return integrate(problem, control, limits, jnp.zeros(0, problem.y0.dtype))


@taped.def_fwd
def _forward(
    perturbed: Any, problem: Problem, control: Control, limits: Limits
) -> tuple[State, State]:
    del perturbed
    end = integrate(problem, control, limits, jnp.zeros(0, problem.y0.dtype))
    return end, end


@taped.def_bwd
def _backward(
    end: State, given: State, perturbed: Any, problem: Problem, control: Control, limits: Limits
) -> Problem:
    del perturbed, control, limits
    begin = _cotangents(problem, end, given)

    def going(state: Cotangents) -> Array:
        return state.row > jnp.int32(0)

    def with_events(state: Cotangents) -> Array:
        assert end.tape is not None
        entry = end.tape.read(state.row)
        return jnp.any(entry.event & entry.moved)

    # Not `lax.cond` in one loop: XLA would hand its branches a copy of the ring.
    def stretch(state: Cotangents) -> Cotangents:
        """Back over steps without events, then over steps with them."""
        for events in (False, True):
            state = jax.lax.while_loop(
                lambda state, wanted=events: going(state) & (with_events(state) == wanted),
                lambda state, wanted=events: _back(problem, end, state, wanted),
                state,
            )
        return state

    done = jax.lax.while_loop(going, stretch, begin)
    return _to_start(problem, end, done)


class Cotangents(NamedTuple):
    """Cotangents on the way back.

    Args:
        row: the row whose step is next.
        starts: of the starts of the pieces, shape (places,).
        rates: of their rates, shape (places,).
        pieces: of their coefficients, shape (places, powers * n).
        clock: of the time at the end of the row's step, shape (batch,).
        y: of the state there.
        slope: of the slope there.
        problem: of arguments, bounds and end so far.
    """

    row: Int32[Array, ""]
    starts: Float[Array, " places"]
    rates: Float[Array, " places"]
    pieces: Float[Array, "places width"]
    clock: Float[Array, " batch"]
    y: Float[Array, "n batch"]
    slope: Float[Array, "n batch"]
    problem: Problem


def _cotangents(problem: Problem, end: State, given: State) -> Cotangents:
    """Those that the solve's result was given."""

    def of(value: Array, cotangent: Array | None) -> Array:
        return jnp.zeros_like(value) if cotangent is None else cotangent

    times = of(end.ring.times, given.ring.times)
    zeros = jax.tree.map(jnp.zeros_like, _inputs(problem))
    return Cotangents(
        row=end.row,
        starts=times[:, 0],
        rates=times[:, 2],
        pieces=of(end.ring.pieces, given.ring.pieces),
        clock=of(end.node.clock.whole, given.node.clock.whole),
        y=of(end.node.y, given.node.y),
        slope=of(end.node.slope, given.node.slope),
        problem=zeros,
    )


def _inputs(problem: Problem) -> Any:
    """What a step depends on of a problem: floating leaves; None in place of the others."""
    return eqx.filter(problem, eqx.is_inexact_array)


def _row(problem: Problem, end: State, number: Int32[Array, ""]) -> Row:
    """A row of the solve."""
    batch, (n, _) = problem.y0.shape[1], problem.y0.shape
    place = number * jnp.int32(batch)
    times = jax.lax.dynamic_slice_in_dim(end.ring.times, place, batch)
    flat = jax.lax.dynamic_slice_in_dim(end.ring.pieces, place, batch)
    coefficients = flat.T.reshape(-1, n, batch)
    assert end.tape is not None
    entry = end.tape.read(number)
    after = end.tape.read(jnp.minimum(number + 1, end.row)).modes
    latest = number == end.row
    following = jax.tree.map(lambda own, last: jnp.where(latest, last, own), after, end.node.modes)
    clock = type(problem.begin)(times[:, 0], times[:, 1])
    piece = Piece(clock, times[:, 2], coefficients)
    return Row(end.ring, number, entry, following, piece, True)


def _back(problem: Problem, end: State, state: Cotangents, events: bool) -> Cotangents:
    """The cotangents before a row's step."""
    row = _row(problem, end, state.row)._replace(events=events)
    moved = row.entry.moved
    batch = moved.shape[0]
    powers = row.piece.coefficients.shape[0]
    inputs, rest = eqx.partition(problem, eqx.is_inexact_array)

    def led(inputs: Any, values: Values) -> tuple[Led, Touched]:
        return replay(row, values._replace(problem=eqx.combine(inputs, rest)))

    y = row.piece.coefficients[0]
    slope = row.piece.coefficients[1] * row.piece.rate
    taps = zero_taps(problem, _reads(problem, end), powers)
    none = jnp.zeros(batch, y.dtype)
    values = Values(none, y, slope, _no_problem(), taps, none)
    _, pull, touched = jax.vjp(led, inputs, values, has_aux=True)
    own = _own(state, powers)
    out = Led(state.clock, state.y, state.slope, own.pieces, own.rates)
    out = jax.tree.map(lambda leaf: jnp.where(moved, leaf, 0.0), out)
    inputs, values, shares = _pulled(pull, out, touched, state.row)
    starts = jnp.where(moved, own.starts + shares.starts_here, 0.0)
    clock = jnp.where(moved, values.later + state.clock + starts, state.clock)
    state = state._replace(
        row=state.row - jnp.int32(1),
        clock=clock,
        y=jnp.where(moved, values.y, state.y),
        slope=jnp.where(moved, values.slope, state.slope),
        problem=jax.tree.map(jnp.add, state.problem, inputs),
    )
    return _handed(state, own, moved, shares, touched)


class Own(NamedTuple):
    """The cotangents of one row's pieces: starts, rates (batch,), pieces (powers, n, batch)."""

    starts: Array
    rates: Array
    pieces: Array


def _no_problem() -> Any:
    """In place of a problem whose floating parts are handed over beside it."""
    return None


def _own(state: Cotangents, powers: int) -> Own:
    """The cotangents of the row that is next."""
    n, batch = state.y.shape
    place = _place(state, state.row)
    flat = jax.lax.dynamic_slice_in_dim(state.pieces, place, batch)
    return Own(
        jax.lax.dynamic_slice_in_dim(state.starts, place, batch),
        jax.lax.dynamic_slice_in_dim(state.rates, place, batch),
        flat.T.reshape(powers, n, batch),
    )


def _place(state: Cotangents, row: Array) -> Array:
    """The first place of a row; there are as many rows as were made, none is overwritten."""
    return row * jnp.int32(state.clock.shape[0])


class Shares(NamedTuple):
    """What a step hands back to the rows that it read.

    Args:
        starts: to the starts, shape (looks, reads, batch).
        coefficients: shape (looks, powers, n, reads, batch).
        starts_here: to its own start, where it read within itself, shape (batch,).
        breaks: to the start of the row at the break that was landed on, shape (batch,).
    """

    starts: Array
    coefficients: Array
    starts_here: Array
    breaks: Array


def _pulled(
    pull: Callable[[Led], Any], out: Led, touched: Touched, row: Array
) -> tuple[Any, Values, Shares]:
    """The cotangents of a step's inputs.

    A step that reads within itself hands a part to its own piece, which is handed back once
    more, and so on; that fades, as the sweeps that made the step did.
    """
    here = touched.reads == row

    def to_self(taps: Any) -> Array:
        """The part of the taps' cotangents that is the step's own piece's."""
        mine = jnp.where(here[:, None, None], taps.coefficients, 0.0)
        return jnp.sum(mine, axis=(0, 3))

    first = pull(out)
    echo = to_self(first[1].taps)
    loud = jnp.max(jnp.abs(echo), initial=0.0)

    def going(state: tuple[Any, Array, Array]) -> Array:
        _, echo, rounds = state
        audible = jnp.max(jnp.abs(echo), initial=0.0) > FADED * loud
        return audible & (rounds < jnp.int32(MOST_ROUNDS))

    def again(state: tuple[Any, Array, Array]) -> tuple[Any, Array, Array]:
        total, echo, rounds = state
        silent = jax.tree.map(jnp.zeros_like, out)
        more = pull(silent._replace(coefficients=echo))
        return jax.tree.map(jnp.add, total, more), to_self(more[1].taps), rounds + jnp.int32(1)

    total, _, _ = jax.lax.while_loop(going, again, (first, echo, jnp.zeros((), jnp.int32)))
    inputs, values = total
    taps, at_self = values.taps, touched.breaks == row
    starts_here = jnp.sum(jnp.where(here, taps.starts, 0.0), axis=(0, 1))
    starts_here = starts_here + jnp.where(at_self, values.break_later, 0.0)
    starts = jnp.where(here, 0.0, taps.starts)
    coefficients = jnp.where(here[:, None, None], 0.0, taps.coefficients)
    breaks = jnp.where(at_self, 0.0, values.break_later)
    return inputs, values, Shares(starts, coefficients, starts_here, breaks)


def _handed(
    state: Cotangents, own: Own, moved: Array, shares: Shares, touched: Touched
) -> Cotangents:
    """The cotangents with what a step hands to the rows that it read.

    An instance that did not move has its piece of the row before again: that row gets all.
    """
    looks, powers, n, reads, batch = shares.coefficients.shape
    flat = jnp.moveaxis(shares.coefficients, (3, 4), (1, 2)).reshape(-1, powers * n)
    shared, read = shares.starts.reshape(-1), touched.reads.reshape(-1)

    def give(number: Array, given: tuple[Array, Array]) -> tuple[Array, Array]:
        starts, pieces = given
        place = read[number] * jnp.int32(batch) + number % jnp.int32(batch)
        starts = starts.at[place].add(shared[number])
        old = jax.lax.dynamic_slice_in_dim(pieces, place, 1)
        new = old + flat[number][None]
        return starts, jax.lax.dynamic_update_slice_in_dim(pieces, new, place, 0)

    count = jnp.int32(looks * reads * batch)
    given = (state.starts, state.pieces)
    starts, pieces = jax.lax.fori_loop(jnp.int32(0), count, give, given)
    instances = jnp.arange(batch, dtype=jnp.int32)
    starts = starts.at[touched.breaks * jnp.int32(batch) + instances].add(shares.breaks)
    still = jax.tree.map(lambda leaf: jnp.where(moved, 0.0, leaf), own)
    place = _place(state, state.row)

    def pass_on(values: Array, rows: Array) -> Array:
        old = jax.lax.dynamic_slice_in_dim(values, place, batch)
        return jax.lax.dynamic_update_slice_in_dim(values, old + rows, place, 0)

    return state._replace(
        starts=pass_on(starts, still.starts),
        rates=pass_on(state.rates, still.rates),
        pieces=pass_on(pieces, still.pieces.reshape(powers * n, batch).T),
    )


def _reads(problem: Problem, end: State) -> int:
    """How often a look with switches reads the past."""
    view = View(end.ring, end.row, end.node.clock, end.node.modes, end.node.mark)
    where = Where(jnp.zeros_like(problem.end), problem.y0, end.piece)
    seen = jax.eval_shape(lambda: look(problem, view, where, switching=True))
    return seen.rows.shape[0]


def _to_start(problem: Problem, end: State, state: Cotangents) -> Problem:
    """The cotangents of the problem: those of the state and slope at t0 handed to it."""
    inputs, rest = eqx.partition(problem, eqx.is_inexact_array)
    first = jnp.zeros((), jnp.int32)
    modes = _row(problem, end, jnp.minimum(jnp.int32(1), end.row)).entry.modes
    mark = Mark(problem.begin, jnp.zeros_like(problem.end))
    piece = Piece(problem.begin, jnp.ones_like(problem.end), _row(problem, end, first).piece[2])

    def slope(later: Array, y: Array, inputs: Any) -> Array:
        given = eqx.combine(inputs, rest)
        now = type(problem.begin)(problem.begin.whole + later, problem.begin.rest)
        view = View(end.ring, first, now, modes, mark)
        where = Where(jnp.zeros_like(later), y, piece, arriving=False)
        return look(given, view, where).slope

    _, pull = jax.vjp(slope, jnp.zeros_like(problem.end), problem.y0, inputs)
    later, y, more = pull(state.slope)
    total = jax.tree.map(jnp.add, state.problem, more)
    begin = total.begin._replace(whole=total.begin.whole + state.clock + later)
    return total._replace(y0=total.y0 + state.y + y, begin=begin)
