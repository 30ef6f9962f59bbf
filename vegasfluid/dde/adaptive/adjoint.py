"""Reverse-mode differentiation: the exact derivative of the steps made, including the history.

The solve keeps its pieces and a tape entry for each step. The backward pass repeats the steps from
the last to the first, each from its stored start. It passes the cotangents of a step on to the
step before and, for its history reads, to the rows that it read. Step lengths are constants, as
in diffrax; event times are differentiated.

Without the cotangents of the history (the "history term") the derivative would be that of another
equation, in which the past is a known function.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int32

from vegasfluid.dde.adaptive.compensated_time import CompensatedTime
from vegasfluid.dde.adaptive.history_reader import EvaluationPoint
from vegasfluid.dde.adaptive.history_ring import Piece
from vegasfluid.dde.adaptive.loop import integrate
from vegasfluid.dde.adaptive.loop_state import Limits, State
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
from vegasfluid.dde.adaptive.row_cotangents import (
    ReadCotangents,
    add_read_cotangents,
    add_to_row,
    row_of,
    split_own_row,
)
from vegasfluid.dde.adaptive.start import blank_entry
from vegasfluid.dde.adaptive.step_size import StepSizeControl

__all__ = ["taped"]

MAX_ECHO_ITERATIONS = 40
"""Iterations in which a step that reads its own piece passes cotangents to that piece (chosen)."""
ECHO_TOLERANCE = 1e-13
"""The iterations end when such cotangents are below this fraction of the first ones (chosen)."""


@eqx.filter_custom_vjp
def taped(problem: Problem, control: StepSizeControl, limits: Limits) -> State:
    """Integrate a batch from t0 to t1 so that JAX can differentiate it in reverse mode.

    Takes the batch, its step-size control and limits, of which `rows` must suffice for all steps.
    Returns the loop's state at the end; its history has the pieces of all steps.
    """
    return integrate(problem, control, limits, jnp.zeros(0, problem.y0.dtype))


@taped.def_fwd
def _forward(
    perturbed: Any, problem: Problem, control: StepSizeControl, limits: Limits
) -> tuple[State, State]:
    """Forward pass of the custom derivative: integrate, and keep what the backward pass needs.

    Returns the loop's state at the end of the solve as the result, and again as the residuals.
    """
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
    """The cotangents of all floats in `problem`, from those (`given`) of the solve's `end`."""
    del perturbed, control, limits
    done = jax.lax.while_loop(
        lambda state: jnp.any(state.row > jnp.int32(0)),
        lambda state: _backward_step(problem, end, state),
        _cotangents(problem, end, given),
    )
    return _to_start(problem, end, done)


class Cotangents(NamedTuple):
    """The state of the backward pass: the cotangents of the quantities named here.

    Args:
        row: row of each instance whose step is differentiated next; 0: it is finished.
        pieces: all pieces, in the ring's layout.
        own: the piece of `row`, shape (width, batch). It is read one iteration ahead: if it were
            read when others are about to change, XLA would copy all pieces.
        clock: the time at the end of the row's step, shape (batch,).
        y: the state at the end of the row's step, shape (n, batch).
        slope: dy/dt at the end of the row's step, shape (n, batch).
        inputs: the floats of the problem, summed over the steps so far; a pytree like it.
    """

    row: Int32[Array, " batch"]
    pieces: Float[Array, "batch rows width"]
    own: Float[Array, "width batch"]
    clock: Float[Array, " batch"]
    y: Float[Array, "n batch"]
    slope: Float[Array, "n batch"]
    inputs: Any


class RowCotangents(NamedTuple):
    """Cotangents of one row's pieces: starts (batch,), rates (batch,), coefficients."""

    starts: Array
    rates: Array
    coefficients: Array


def _cotangents(problem: Problem, end: State, given: State) -> Cotangents:
    """The state of the backward pass at t1, from the cotangents `given` of the solve's end."""

    def or_zero(cotangent: Array | None, value: Array) -> Array:
        return jnp.zeros_like(value) if cotangent is None else cotangent

    inputs = jax.tree.map(jnp.zeros_like, eqx.filter(problem, eqx.is_inexact_array))
    pieces = or_zero(given.ring.pieces, end.ring.pieces)
    return Cotangents(
        row=end.row,
        pieces=pieces,
        own=row_of(pieces, end.row),
        clock=or_zero(given.node.clock.whole, end.node.clock.whole),
        y=or_zero(given.node.y, end.node.y),
        slope=or_zero(given.node.slope, end.node.slope),
        inputs=inputs,
    )


def _row(problem: Problem, end: State, number: Int32[Array, " batch"]) -> StepRow:
    """What the solve recorded of the step in row `number` of each instance; dummies for row 0."""
    n, batch = problem.y0.shape
    flat = row_of(end.ring.pieces, number)
    coefficients = flat[3:].reshape(-1, n, batch)
    assert end.tape is not None
    like = blank_entry(problem, end.node)
    entry = end.tape.read(number, like)
    after = end.tape.read(jnp.minimum(number + jnp.int32(1), end.row), like)
    latest = number == end.row
    at_end = (end.node.modes, end.node.start_values.active_breaks.interval(end.node.clock))
    modes, interval = jax.tree.map(
        lambda taped, last: jnp.where(latest, last, taped), (after.modes, after.interval), at_end
    )
    finished = number == 0
    entry = entry._replace(step=jnp.where(finished, 1.0, entry.step))
    rate = jnp.where(finished, 1.0, flat[2])
    return StepRow(
        end.ring,
        number,
        entry,
        modes,
        interval,
        Piece(CompensatedTime(flat[0], flat[1]), rate, coefficients),
    )


def _backward_step(problem: Problem, end: State, state: Cotangents) -> Cotangents:
    """One iteration of the backward pass: differentiate the step of row `state.row`.

    Returns the cotangents at that step's start, and one row less for each unfinished instance.
    """
    row, active = _row(problem, end, state.row), state.row > 0
    n, batch = problem.y0.shape
    flat = jnp.where(active, state.own, 0.0)
    own = RowCotangents(flat[0], flat[2], flat[3:].reshape(-1, n, batch))
    at_end = EventOutputs(state.clock, state.y, state.slope)
    at_end = jax.tree.map(lambda leaf: jnp.where(active, leaf, 0.0), at_end)
    event = active & row.entry.event
    at_event = _before_event(problem, row, at_end, event)
    out = StepOutputs(
        *(jnp.where(event, 0.0, leaf) for leaf in at_end),
        coefficients=own.coefficients + at_event.coefficients,
        rate=own.rates + at_event.rate,
    )
    inputs, begin, read_cotangents = _before_step(problem, row, out)
    # The break may be the start of this step, whose row is no longer read from `pieces`.
    own_break = at_event.break_row == row.number
    clock = (
        begin.later
        + at_event.later
        + own.starts
        + jnp.where(own_break, at_event.break_share, 0.0)
        + at_event.read_cotangents.here
        + read_cotangents.here
    )
    pieces = add_read_cotangents(
        add_read_cotangents(state.pieces, at_event.read_cotangents), read_cotangents
    )
    to_break = jnp.zeros_like(flat).at[0].set(jnp.where(own_break, 0.0, at_event.break_share))
    pieces = add_to_row(pieces, at_event.break_row, to_break)
    total = _masked(jax.tree.map(jnp.add, inputs, at_event.inputs), active)
    before = state.row - active.astype(jnp.int32)
    return Cotangents(
        row=before,
        pieces=pieces,
        own=row_of(pieces, before),
        clock=state.clock + jnp.where(active, clock, 0.0),
        y=jnp.where(active, begin.y, state.y),
        slope=jnp.where(active, begin.slope, state.slope),
        inputs=jax.tree.map(jnp.add, state.inputs, total),
    )


class EventCotangents(NamedTuple):
    """The cotangents of everything that an event depends on.

    Args:
        later: cotangent of the step's start time, shape (batch,).
        coefficients: cotangents of the coefficients of its piece, shape (powers, n, batch).
        rate: cotangent of the rate of its piece, shape (batch,).
        inputs: cotangents of the floats of the problem.
        read_cotangents: cotangents of the rows read.
        break_row: the row whose step starts at the breaking point, if a lag passes one at the
            event; shape (batch,).
        break_share: the cotangent of the start of `break_row`, shape (batch,).
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
    """The cotangents of what an event depends on, from the cotangents `after` it.

    They are zero for instances whose step has no event (`event` is false).
    """
    inputs, static = eqx.partition(problem, eqx.is_inexact_array)
    reads, zero = row.entry.rows.shape[0], jnp.zeros_like(row.piece.rate)
    perturbations = zero_perturbations(problem, 2, reads, row.piece.coefficients.shape[0])
    event_inputs = EventInputs(zero, row.piece.coefficients, row.piece.rate, perturbations, zero)

    def event_outputs(inputs: Any, event_inputs: EventInputs) -> tuple[EventOutputs, Array]:
        return event_of_step(row, eqx.combine(inputs, static), event_inputs)

    def cotangents() -> EventCotangents:
        """The cotangents of what the events depend on, by one repetition of the events."""
        _, pull, read_rows = jax.vjp(event_outputs, inputs, event_inputs, has_aux=True)
        back, result = pull(jax.tree.map(lambda leaf: jnp.where(event, leaf, 0.0), after))
        result = jax.tree.map(lambda leaf: jnp.where(event, leaf, 0.0), result)
        read_cotangents, own_part = split_own_row(result.perturbations, read_rows, row.number)
        mode_count = row.entry.landed.reached.shape[0] + row.entry.modes.above.shape[0]
        site = jnp.maximum(row.entry.landed.first - jnp.int32(mode_count), jnp.int32(0))
        at_break = jnp.zeros_like(row.number)
        if reads:
            at_break = jnp.take_along_axis(jnp.max(read_rows, axis=0), site[None], axis=0)[0]
            # The break at which this step starts is read from the piece before it.
            own = jnp.abs(row.entry.landed.break_at) <= 2 * problem.time_tolerance
            at_break = jnp.where(own, row.number, at_break)
        coefficients = result.coefficients + own_part
        parts = (result.later, coefficients, result.rate, _masked(back, event), read_cotangents)
        since_begin = row.piece.start.since(problem.begin) + row.entry.landed.break_at
        in_past = since_begin < -problem.time_tolerance
        return EventCotangents(*parts, at_break, jnp.where(in_past, 0.0, result.break_later))

    shapes = jax.eval_shape(cotangents)
    blank = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)
    # A loop and not `lax.cond`, whose branches XLA would give a copy of the ring.
    return jax.lax.while_loop(
        lambda state: state[1],
        lambda _: (cotangents(), jnp.zeros((), bool)),
        (blank, jnp.any(event)),
    )[0]


def _before_step(
    problem: Problem, row: StepRow, out: StepOutputs
) -> tuple[Any, StepInputs, ReadCotangents]:
    """The cotangents of the inputs of a step, from the cotangents `out` of its outputs.

    The inputs are the problem, the values at the step's start, and the rows of the history read.

    A step that reads its own piece passes cotangents to that piece. These are propagated again
    until they vanish, which takes about as many iterations as the step itself did.
    """
    inputs, static = eqx.partition(problem, eqx.is_inexact_array)
    reads, powers = row.entry.rows.shape[0], row.piece.coefficients.shape[0]
    y, slope = row.piece.coefficients[0], row.piece.coefficients[1] * row.piece.rate
    perturbations = zero_perturbations(problem, len(problem.equation.method.times), reads, powers)

    def step_outputs(inputs: Any, begin: StepInputs) -> tuple[StepOutputs, Array]:
        return repeat_step(row, eqx.combine(inputs, static), begin)

    begin = StepInputs(jnp.zeros_like(row.piece.rate), y, slope, perturbations)
    _, pull, read_rows = jax.vjp(step_outputs, inputs, begin, has_aux=True)
    zero_cotangents = jax.tree.map(jnp.zeros_like, out)

    def own_part_of(result: Any) -> Array:
        return split_own_row(result[1].perturbations, read_rows, row.number)[1]

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
    return (*total, split_own_row(total[1].perturbations, read_rows, row.number)[0])


def _masked(inputs: Any, which: Bool[Array, " batch"]) -> Any:
    """The cotangents `inputs` of a problem for the instances in `which`, zero for the others."""

    def masked_first(leaf: Array) -> Array:
        shape = (-1,) + (1,) * (leaf.ndim - 1)
        return jnp.where(which.reshape(shape), leaf, 0.0)

    args = jax.tree.map(masked_first, inputs.args)
    others = jax.tree.map(lambda leaf: jnp.where(which, leaf, 0.0), inputs._replace(args=None))
    return others._replace(args=args)


def _to_start(problem: Problem, end: State, state: Cotangents) -> Problem:
    """Cotangents of all floats of the problem, completed with those of its initial values.

    The last step of the backward pass: it adds the cotangents of the state and of the slope at t0
    to those that the steps left.

    Args:
        problem: the batch.
        end: loop state at the end of the solve.
        state: state of the backward pass once it has reached t0.
    """
    inputs, static = eqx.partition(problem, eqx.is_inexact_array)
    n, batch = problem.y0.shape
    zero = jnp.zeros_like(problem.end)
    row = _row(problem, end, jnp.minimum(jnp.int32(1), end.row))
    own = state.own
    first = own[3:].reshape(-1, n, batch)

    def slope(later: Array, y: Array, inputs: Any) -> Array:
        now = CompensatedTime(problem.begin.whole + later, problem.begin.compensation)
        context = row._replace(number=jnp.ones(batch, jnp.int32)).context(now)
        point = EvaluationPoint(zero, y, row.piece, row.entry.rows, arriving=False)
        return evaluate_rhs(eqx.combine(inputs, static), context, point).slope

    _, pull = jax.vjp(slope, zero, problem.y0, inputs)
    later, y, more = pull(state.slope + first[1])
    total = jax.tree.map(jnp.add, state.inputs, more)
    clock = total.begin.whole + state.clock + own[0] + later
    begin = total.begin._replace(whole=clock)
    return total._replace(y0=total.y0 + state.y + first[0] + y, begin=begin)
