"""The reverse mode: the exact derivative of the steps that were made, the history included.

The solve keeps its pieces and a short note of each step; the way back makes one step again at a
time (so a step's state is its checkpoint) and hands cotangents to the step before and, for what
it read of the past, to the rows it read. The lengths of the steps count as given, as in diffrax;
events move with what they depend on.

Without the cotangents of the past (the "history term") the derivative is that of another
equation, in which the past is a known function.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int32

from vegasfluid.dde.adaptive.compensated_time import CompensatedTime
from vegasfluid.dde.adaptive.history import EvaluationPoint, ReadPerturbations
from vegasfluid.dde.adaptive.history_ring import Piece, put_rows
from vegasfluid.dde.adaptive.loop import Limits, State, blank_entry, integrate
from vegasfluid.dde.adaptive.problem import Problem, evaluate_rhs
from vegasfluid.dde.adaptive.replay import (
    EventInputs,
    EventOutputs,
    StepInputs,
    StepOutputs,
    StepRow,
    event_of_step,
    repeat_step,
    zero_perturbations,
)
from vegasfluid.dde.adaptive.step_size import StepSizeControl

__all__ = ["taped"]

MAX_ECHO_ITERATIONS = 40
ECHO_TOLERANCE = 1e-13
"""Cotangents that a step hands to itself, smaller than this share of the largest, are zero."""


@eqx.filter_custom_vjp
def taped(problem: Problem, control: StepSizeControl, limits: Limits) -> State:
    """Integrate a batch; its ring holds all pieces, and can be differentiated in reverse."""
    return integrate(problem, control, limits, jnp.zeros(0, problem.y0.dtype))


@taped.def_fwd
def _forward(
    perturbed: Any, problem: Problem, control: StepSizeControl, limits: Limits
) -> tuple[State, State]:
    del perturbed
    end = integrate(problem, control, limits, jnp.zeros(0, problem.y0.dtype))
    return end, end


@taped.def_bwd
def _backward(
    end: State,
    given: State,
    perturbed: Any,
    problem: Problem,
    control: StepSizeControl,
    limits: Limits,
) -> Problem:
    del perturbed, control, limits
    done = jax.lax.while_loop(
        lambda state: jnp.any(state.row > jnp.int32(0)),
        lambda state: _backward_step(problem, end, state),
        _cotangents(problem, end, given),
    )
    return _to_start(problem, end, done)


class Cotangents(NamedTuple):
    """Cotangents on the way back.

    Args:
        row: the row of each instance whose step is next; 0: it has arrived.
        pieces: of the rows' pieces, laid out as in the ring.
        own: of the pieces of `row`, shape (width, batch): were they read when they are needed,
            when others are about to change, XLA would copy all of them.
        clock: of the time at the end of the row's step, shape (batch,).
        y: of the state there.
        slope: of the slope there.
        inputs: of the problem's arguments, bounds and end so far.
    """

    row: Int32[Array, " batch"]
    pieces: Float[Array, "batch rows width"]
    own: Float[Array, "width batch"]
    clock: Float[Array, " batch"]
    y: Float[Array, "n batch"]
    slope: Float[Array, "n batch"]
    inputs: Any


class RowCotangents(NamedTuple):
    """The cotangents of one row's pieces: starts, rates (batch,), coefficients."""

    starts: Array
    rates: Array
    coefficients: Array


def _cotangents(problem: Problem, end: State, given: State) -> Cotangents:
    """Those that the solve's result was given."""

    def of(value: Array, cotangent: Array | None) -> Array:
        return jnp.zeros_like(value) if cotangent is None else cotangent

    inputs = jax.tree.map(jnp.zeros_like, eqx.filter(problem, eqx.is_inexact_array))
    pieces = of(end.ring.pieces, given.ring.pieces)
    return Cotangents(
        row=end.row,
        pieces=pieces,
        own=_row_of(pieces, end.row),
        clock=of(end.node.clock.whole, given.node.clock.whole),
        y=of(end.node.y, given.node.y),
        slope=of(end.node.slope, given.node.slope),
        inputs=inputs,
    )


def _row_of(table: Float[Array, "batch rows width"], row: Int32[Array, " batch"]) -> Array:
    """A row of each instance, shape (width, batch)."""
    instances = jnp.arange(row.shape[0], dtype=jnp.int32)
    return table.at[instances, row].get(mode="promise_in_bounds").T


def _row(problem: Problem, end: State, number: Int32[Array, " batch"]) -> StepRow:
    """A row of each instance; of those that have arrived, something harmless."""
    n, batch = problem.y0.shape
    flat = _row_of(end.ring.pieces, number)
    coefficients = flat[3:].reshape(-1, n, batch)
    assert end.tape is not None
    like = blank_entry(problem, end.node)
    entry = end.tape.read(number, like)
    after = end.tape.read(jnp.minimum(number + jnp.int32(1), end.row), like)
    latest = number == end.row
    ended = (end.node.modes, end.node.start_values.active_breaks.interval(end.node.clock))
    modes, interval = jax.tree.map(
        lambda own, last: jnp.where(latest, last, own), (after.modes, after.interval), ended
    )
    arrived = number == 0
    entry = entry._replace(step=jnp.where(arrived, 1.0, entry.step))
    rate = jnp.where(arrived, 1.0, flat[2])
    return StepRow(
        end.ring,
        number,
        entry,
        modes,
        interval,
        Piece(CompensatedTime(flat[0], flat[1]), rate, coefficients),
    )


def _backward_step(problem: Problem, end: State, state: Cotangents) -> Cotangents:
    """The cotangents before the steps of the rows that are next."""
    row, active = _row(problem, end, state.row), state.row > 0
    n, batch = problem.y0.shape
    flat = jnp.where(active, state.own, 0.0)
    own = RowCotangents(flat[0], flat[2], flat[3:].reshape(-1, n, batch))
    arrival = EventOutputs(state.clock, state.y, state.slope)
    arrival = jax.tree.map(lambda leaf: jnp.where(active, leaf, 0.0), arrival)
    event = active & row.entry.event
    at_event = _before_event(problem, row, arrival, event)
    out = StepOutputs(
        *(jnp.where(event, 0.0, leaf) for leaf in arrival),
        coefficients=own.coefficients + at_event.coefficients,
        rate=own.rates + at_event.rate,
    )
    inputs, begin, read_cotangents = _before_step(problem, row, out)
    clock = (
        begin.later
        + at_event.later
        + own.starts
        + at_event.read_cotangents.here
        + read_cotangents.here
    )
    pieces = _add_read_cotangents(
        _add_read_cotangents(state.pieces, at_event.read_cotangents), read_cotangents
    )
    to_break = jnp.zeros_like(flat).at[0].set(at_event.break_share)
    pieces = _add_to_row(pieces, at_event.break_row, to_break)
    total = _masked(jax.tree.map(jnp.add, inputs, at_event.inputs), active)
    before = state.row - active.astype(jnp.int32)
    return Cotangents(
        row=before,
        pieces=pieces,
        own=_row_of(pieces, before),
        clock=state.clock + jnp.where(active, clock, 0.0),
        y=jnp.where(active, begin.y, state.y),
        slope=jnp.where(active, begin.slope, state.slope),
        inputs=jax.tree.map(jnp.add, state.inputs, total),
    )


class ReadCotangents(NamedTuple):
    """What a step hands back to the rows that it read.

    Args:
        rows: that were read, shape (looks, reads, batch).
        perturbations: the cotangents for them; 0 for the step's own row.
        here: for the own row's start, shape (batch,).
    """

    rows: Int32[Array, "looks reads batch"]
    perturbations: ReadPerturbations
    here: Float[Array, " batch"]


def _split_own_row(
    perturbations: ReadPerturbations, rows: Array, own: Array
) -> tuple[ReadCotangents, Float[Array, "powers n batch"]]:
    """The shares of the rows that were read, and what is for the coefficients of the own row."""
    here = rows == own
    own_part = jnp.where(here[:, None, None], perturbations.coefficients, 0.0)
    others = ReadPerturbations(
        jnp.where(here, 0.0, perturbations.starts),
        jnp.where(here[:, None, None], 0.0, perturbations.coefficients),
    )
    start = jnp.sum(jnp.where(here, perturbations.starts, 0.0), axis=(0, 1))
    return ReadCotangents(rows, others, start), jnp.sum(own_part, axis=(0, 3))


class EventCotangents(NamedTuple):
    """The cotangents of what an event depends on.

    Args:
        later: of the time at which the step starts, shape (batch,).
        coefficients: of its piece, shape (powers, n, batch).
        rate: of its piece, shape (batch,).
        inputs: of the problem.
        read_cotangents: of what was read.
        break_row: the row that starts at the break that was landed on, shape (batch,).
        break_share: its start's, shape (batch,).
    """

    later: Float[Array, " batch"]
    coefficients: Float[Array, "powers n batch"]
    rate: Float[Array, " batch"]
    inputs: Any
    read_cotangents: ReadCotangents
    break_row: Int32[Array, " batch"]
    break_share: Float[Array, " batch"]


def _before_event(
    problem: Problem, row: StepRow, after: EventOutputs, event: Bool[Array, " batch"]
) -> EventCotangents:
    """From the cotangents after an event; zeros where there was none."""
    inputs, rest = eqx.partition(problem, eqx.is_inexact_array)
    reads, none = row.entry.rows.shape[0], jnp.zeros_like(row.piece.rate)
    perturbations = zero_perturbations(problem, 2, reads, row.piece.coefficients.shape[0])
    given = EventInputs(none, row.piece.coefficients, row.piece.rate, perturbations, none)

    def ended(inputs: Any, given: EventInputs) -> tuple[EventOutputs, Array]:
        return event_of_step(row, eqx.combine(inputs, rest), given)

    def pulled() -> EventCotangents:
        _, pull, touched = jax.vjp(ended, inputs, given, has_aux=True)
        back, result = pull(jax.tree.map(lambda leaf: jnp.where(event, leaf, 0.0), after))
        result = jax.tree.map(lambda leaf: jnp.where(event, leaf, 0.0), result)
        read_cotangents, own_part = _split_own_row(result.perturbations, touched, row.number)
        kinds = row.entry.landed.reached.shape[0] + row.entry.modes.above.shape[0]
        site = jnp.maximum(row.entry.landed.first - jnp.int32(kinds), jnp.int32(0))
        at_break = jnp.take_along_axis(jnp.max(touched, axis=0), site[None], axis=0)[0]
        coefficients = result.coefficients + own_part
        parts = (result.later, coefficients, result.rate, _masked(back, event), read_cotangents)
        return EventCotangents(*parts, at_break, result.break_later)

    shapes = jax.eval_shape(pulled)
    blank = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)
    # Not `lax.cond`: XLA would hand its branches a copy of the ring.
    return jax.lax.while_loop(
        lambda state: state[1], lambda _: (pulled(), jnp.zeros((), bool)), (blank, jnp.any(event))
    )[0]


def _before_step(
    problem: Problem, row: StepRow, out: StepOutputs
) -> tuple[Any, StepInputs, ReadCotangents]:
    """From the cotangents of a step to those of the problem, its start, and what it read.

    A step that reads within itself hands a part to its own piece, which is handed back once
    more, and so on; that fades, as the sweeps that made the step did.
    """
    inputs, rest = eqx.partition(problem, eqx.is_inexact_array)
    reads, powers = row.entry.rows.shape[0], row.piece.coefficients.shape[0]
    y, slope = row.piece.coefficients[0], row.piece.coefficients[1] * row.piece.rate
    perturbations = zero_perturbations(problem, len(problem.equation.method.times), reads, powers)

    def led(inputs: Any, begin: StepInputs) -> tuple[StepOutputs, Array]:
        return repeat_step(row, eqx.combine(inputs, rest), begin)

    begin = StepInputs(jnp.zeros_like(row.piece.rate), y, slope, perturbations)
    _, pull, touched = jax.vjp(led, inputs, begin, has_aux=True)
    zero_cotangents = jax.tree.map(jnp.zeros_like, out)

    def own_part_of(result: Any) -> Array:
        return _split_own_row(result[1].perturbations, touched, row.number)[1]

    first = pull(out)
    own_part = own_part_of(first)
    largest = jnp.max(jnp.abs(own_part), initial=0.0)

    def continues(state: tuple[Any, Array, Array]) -> Array:
        _, own_part, rounds = state
        significant = jnp.max(jnp.abs(own_part), initial=0.0) > ECHO_TOLERANCE * largest
        return significant & (rounds < jnp.int32(MAX_ECHO_ITERATIONS))

    def again(state: tuple[Any, Array, Array]) -> tuple[Any, Array, Array]:
        total, own_part, rounds = state
        more = pull(zero_cotangents._replace(coefficients=own_part))
        return jax.tree.map(jnp.add, total, more), own_part_of(more), rounds + jnp.int32(1)

    total, _, _ = jax.lax.while_loop(continues, again, (first, own_part, jnp.zeros((), jnp.int32)))
    return (*total, _split_own_row(total[1].perturbations, touched, row.number)[0])


def _add_read_cotangents(pieces: Array, read_cotangents: ReadCotangents) -> Array:
    """The rows' cotangents with what a step hands to those that it read."""
    looks, powers, n, reads, batch = read_cotangents.perturbations.coefficients.shape
    flat = jnp.moveaxis(read_cotangents.perturbations.coefficients, 3, 1).reshape(
        looks * reads, powers * n, batch
    )
    starts = read_cotangents.perturbations.starts.reshape(looks * reads, 1, batch)
    rest = jnp.zeros((looks * reads, 2, batch), flat.dtype)
    given = jnp.concatenate([starts, rest, flat], axis=1)
    rows = read_cotangents.rows.reshape(looks * reads, batch)

    def give(number: Array, pieces: Array) -> Array:
        return _add_to_row(pieces, rows[number], given[number])

    return jax.lax.fori_loop(jnp.int32(0), jnp.int32(looks * reads), give, pieces)


def _add_to_row(
    pieces: Array, row: Int32[Array, " batch"], more: Float[Array, "width batch"]
) -> Array:
    """The rows' cotangents with something added to one of each instance."""
    return put_rows(pieces, row, (_row_of(pieces, row) + more).T[:, None])


def _masked(inputs: Any, which: Bool[Array, " batch"]) -> Any:
    """The cotangents of some instances; those of the others, zero."""

    def chosen(leaf: Array) -> Array:
        shape = (-1,) + (1,) * (leaf.ndim - 1)
        return jnp.where(which.reshape(shape), leaf, 0.0)

    args = jax.tree.map(chosen, inputs.args)
    rest = jax.tree.map(lambda leaf: jnp.where(which, leaf, 0.0), inputs._replace(args=None))
    return rest._replace(args=args)


def _to_start(problem: Problem, end: State, state: Cotangents) -> Problem:
    """The cotangents of the problem: those of the state and slope at t0 handed to it."""
    inputs, rest = eqx.partition(problem, eqx.is_inexact_array)
    n, batch = problem.y0.shape
    none = jnp.zeros_like(problem.end)
    row = _row(problem, end, jnp.minimum(jnp.int32(1), end.row))
    own = state.own
    first = own[3:].reshape(-1, n, batch)

    def slope(later: Array, y: Array, inputs: Any) -> Array:
        given = eqx.combine(inputs, rest)
        now = CompensatedTime(problem.begin.whole + later, problem.begin.rest)
        context = row._replace(number=jnp.ones(batch, jnp.int32)).context(now)
        point = EvaluationPoint(none, y, row.piece, row.entry.rows, arriving=False)
        return evaluate_rhs(given, context, point).slope

    _, pull = jax.vjp(slope, none, problem.y0, inputs)
    later, y, more = pull(state.slope + first[1])
    total = jax.tree.map(jnp.add, state.inputs, more)
    clock = total.begin.whole + state.clock + own[0] + later
    begin = total.begin._replace(whole=clock)
    return total._replace(y0=total.y0 + state.y + first[0] + y, begin=begin)
