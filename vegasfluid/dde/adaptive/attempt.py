"""One attempted step of an explicit Runge-Kutta method.

A lag shorter than the step asks for times within the step itself. The first sweep through the
stages then reads the last piece beyond its end; further sweeps read the step's own dense output
of the sweep before, until it no longer changes: the step is then implicit (Bellen and Zennaro,
Numerical Methods for Delay Differential Equations, Oxford 2003, section 4.2; not checked against
the book).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int32

from vegasfluid.dde.adaptive.problem import Look, Problem, View, look
from vegasfluid.dde.adaptive.recall import Taps, Where
from vegasfluid.dde.adaptive.ring import Piece
from vegasfluid.dde.outcome import Outcome

__all__ = ["Start", "Swept", "Trial", "attempt", "begin_piece", "sweep"]

MOST_SWEEPS = 12
WATCHED = 1e-2
"""A held component has no error; so that its release is not stepped over, the error that it would
have were it free counts, at this weight."""
SETTLED = 1e-2
"""A sweep that changes the state by less than this share of the error estimate is the last."""


class Trial(NamedTuple):
    """A step as it came out.

    Args:
        y: state at its end, shape (n, batch).
        error: estimate of the state's error, shape (n, batch).
        piece: its dense output.
        end: the right-hand side at its end.
        fault: the first `Outcome` that a stage met, shape (batch,).
        astray: how far beyond its fence a stage asked for the past, at most; shape (batch,).
        settled: whether the sweeps came to rest, shape (batch,).
    """

    y: Float[Array, "n batch"]
    error: Float[Array, "n batch"]
    piece: Piece
    end: Look
    fault: Int32[Array, " batch"]
    astray: Float[Array, " batch"]
    settled: Bool[Array, " batch"]


class Start(NamedTuple):
    """Where a step starts.

    Args:
        y: state, shape (n, batch).
        slope: dy/dt, shape (n, batch).
        free: dy/dt of the clamped components, were they free, shape (clamps, batch).
        rows: near which the history will be asked for, shape (sites, batch).
        piece: the last step's, to be read beyond its end until the new one is known.
    """

    y: Float[Array, "n batch"]
    slope: Float[Array, "n batch"]
    free: Float[Array, "clamps batch"]
    rows: Int32[Array, "sites batch"]
    piece: Piece


class Swept(NamedTuple):
    """What the stages of a step gave.

    Args:
        trial: the step.
        overlaps: whether any stage asked for a time within the step, shape (batch,).
        touched: the rows that each stage read; those of the last with the switches'.
    """

    trial: Trial
    overlaps: Bool[Array, " batch"]
    touched: tuple[Int32[Array, "stages reads batch"], Int32[Array, "sites batch"]]


class Notes(NamedTuple):
    """What all stages but the last saw, the first of them at the step's start.

    Args:
        slopes: dy/dt.
        frees: dy/dt of the clamped components, were they free.
        fault: the first `Outcome` met, shape (batch,).
        overlaps: whether any asked for a time within the step, shape (batch,).
        astray: how far beyond its fence any asked for the past, shape (batch,).
    """

    slopes: list[Float[Array, "n batch"]]
    frees: list[Float[Array, "clamps batch"]]
    fault: Int32[Array, " batch"]
    overlaps: Bool[Array, " batch"]
    astray: Float[Array, " batch"]


def attempt(
    problem: Problem,
    view: View,
    start: Start,
    step: Float[Array, " batch"],
) -> Trial:
    """Make a step.

    Args:
        problem: the batch.
        view: what the step can see.
        start: where it starts.
        step: its length.
    """
    if not start.rows.shape[0]:
        return sweep(problem, view, start, step, start.piece).trial

    def going(state: tuple[Trial, Array, Array]) -> Array:
        _, moving, sweeps = state
        first = sweeps == jnp.int32(0)
        return first | (jnp.any(moving) & (sweeps < jnp.int32(MOST_SWEEPS)))

    def again(state: tuple[Trial, Array, Array]) -> tuple[Trial, Array, Array]:
        old, _, sweeps = state
        new, overlaps, _ = sweep(problem, view, start, step, old.piece)
        moved = jnp.max(jnp.abs(new.y - old.y), axis=0)
        unit = jnp.finfo(new.y.dtype).eps * jnp.max(jnp.abs(new.y), axis=0)
        bound = SETTLED * jnp.max(jnp.abs(new.error), axis=0) + 4 * unit
        moving = overlaps & ((sweeps == jnp.int32(0)) | ~(moved <= bound))
        return new, moving, sweeps + jnp.int32(1)

    shape = jax.eval_shape(lambda: sweep(problem, view, start, step, start.piece).trial)
    blank = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shape)
    nobody = jnp.zeros(step.shape, bool)
    begin = (blank._replace(piece=start.piece), nobody, jnp.zeros((), jnp.int32))
    trial, moving, _ = jax.lax.while_loop(going, again, begin)
    return trial._replace(settled=~moving)


def sweep(
    problem: Problem,
    view: View,
    start: Start,
    step: Float[Array, " batch"],
    current: Piece,
    taps: Taps | None = None,
) -> Swept:
    """The stages of a step once.

    Args:
        problem: the batch.
        view: what the step can see.
        start: where it starts.
        step: its length.
        current: its own piece so far as it is known.
        taps: of each stage, for a reverse solve.
    """
    method, y = problem.equation.method, start.y
    early, last = (None, None) if taps is None else (taps.each(slice(0, -1)), taps.each(-1))
    if early is None:
        found, rows, touched = _stages(problem, view, start, step, current)
    else:
        found, rows, touched = _rolled_stages(problem, view, start, step, current, early)
    slopes, frees, fault, overlaps, astray = found
    state = free = y + step * _weighted(method.stages[-1], slopes)
    if problem.equation.project is not None:
        project = jax.vmap(problem.equation.project, in_axes=(-1, 0), out_axes=-1)
        state = project(free, problem.args)
    hints = jnp.concatenate([rows, start.rows[rows.shape[0] :]])
    where = Where(method.times[-1] * step, state, current, hints, taps=last)
    end = look(problem, view, where, switching=True)
    slopes, frees = [*slopes, end.slope], [*frees, end.free]
    fault = jnp.where(fault == jnp.int32(Outcome.SUCCESS), end.fault, fault)
    error = step * _weighted(method.error, slopes)
    watched = WATCHED * step * _weighted(method.error, frees)
    for number, component in enumerate(problem.equation.clamped):
        held = view.modes.held[number] != 0
        error = error.at[component].set(jnp.where(held, watched[number], error[component]))
    powers = [y] + [step * _weighted(row, slopes) for row in method.dense]
    if problem.equation.project is not None:  # the piece ends where the state was put
        powers[2] += 3 * (state - free)
        powers[3] -= 2 * (state - free)
    piece = Piece(view.now, 1 / step, jnp.stack(powers))
    settled = jnp.ones(step.shape, bool)
    trial = Trial(state, error, piece, end, fault, astray, settled)
    return Swept(trial, overlaps | end.overlaps, (touched, end.rows))


def _stages(
    problem: Problem, view: View, start: Start, step: Array, current: Piece
) -> tuple[Notes, Array, Array]:
    """The stages between the first and the last.

    Returns:
        What they saw; the rows read last; all rows.
    """
    method = problem.equation.method
    slopes, frees, rows, seen, touched = [start.slope], [start.free], start.rows, [], []
    for weights, share in zip(method.stages[:-1], method.times[:-1], strict=True):
        state = start.y + step * _weighted(weights, slopes)
        seen.append(look(problem, view, Where(share * step, state, current, rows)))
        slopes.append(seen[-1].slope)
        frees.append(seen[-1].free)
        rows = seen[-1].rows
        touched.append(rows)
    first = seen[0]
    fault, overlaps, astray = first.fault, first.overlaps, first.astray
    for each in seen[1:]:
        fault = jnp.where(fault == jnp.int32(Outcome.SUCCESS), each.fault, fault)
        overlaps, astray = overlaps | each.overlaps, jnp.maximum(astray, each.astray)
    return Notes(slopes, frees, fault, overlaps, astray), rows, jnp.stack(touched)


def _rolled_stages(
    problem: Problem, view: View, start: Start, step: Array, current: Piece, taps: Taps
) -> tuple[Notes, Array, Array]:
    """As `_stages`, in a loop: its derivative compiles several times faster."""
    method, y = problem.equation.method, start.y
    count = len(method.stages)
    seen = jax.eval_shape(lambda: look(problem, view, Where(step, y, current, start.rows)))
    weights = np.zeros((count - 1, count))
    for number, row in enumerate(method.stages[:-1]):
        weights[number, : number + 1] = row

    def room(first: Array) -> Array:
        return jnp.zeros((count, *first.shape), first.dtype).at[0].set(first)

    def stage(carry: Any, given: Any) -> tuple[Any, Array]:
        slopes, frees, fault, overlaps, astray, rows = carry
        number, weights, share, taps = given
        state = y + step * jnp.tensordot(weights, slopes, 1)
        seen = look(problem, view, Where(share * step, state, current, rows, taps=taps))
        slopes = jax.lax.dynamic_update_index_in_dim(slopes, seen.slope, number, 0)
        frees = jax.lax.dynamic_update_index_in_dim(frees, seen.free, number, 0)
        fault = jnp.where(fault == jnp.int32(Outcome.SUCCESS), seen.fault, fault)
        overlaps, astray = overlaps | seen.overlaps, jnp.maximum(astray, seen.astray)
        return (slopes, frees, fault, overlaps, astray, seen.rows), seen.rows

    numbers = jnp.arange(1, count, dtype=jnp.int32)
    shares = jnp.asarray(method.times[:-1], y.dtype)
    given = (numbers, jnp.asarray(weights, y.dtype), shares, taps)
    nothing = jnp.zeros(step.shape, jnp.int32)
    rows = start.rows[: seen.rows.shape[0]]
    within = jnp.full(step.shape, -jnp.inf, step.dtype)
    begin = (room(start.slope), room(start.free), nothing, nothing > 0, within, rows)
    found, touched = jax.lax.scan(stage, begin, given)
    slopes, frees, *notes, rows = found
    return Notes(list(slopes), list(frees), *notes), rows, touched


def _weighted(weights: tuple[float, ...], slopes: list[Array]) -> Array:
    """The weighted sum of the slopes."""
    terms = [weight * slope for weight, slope in zip(weights, slopes, strict=True) if weight]
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def begin_piece(problem: Problem, slope: Float[Array, "n batch"]) -> Piece:
    """The piece before the first step: from t0 on in a straight line, for want of better."""
    powers = len(problem.equation.method.dense) + 1
    rest = jnp.zeros((powers - 2, *slope.shape), slope.dtype)
    line = jnp.stack([problem.y0, slope])
    rate = jnp.ones(slope.shape[1], slope.dtype)
    return Piece(problem.begin, rate, jnp.concatenate([line, rest]))
