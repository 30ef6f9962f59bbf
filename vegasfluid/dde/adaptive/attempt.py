"""One attempted step of an explicit Runge-Kutta method.

A lag shorter than the step asks for times within the step itself. The first sweep through the
stages then reads the last piece beyond its end; further sweeps read the step's own dense output
of the sweep before, until it no longer changes: the step is then implicit (Bellen and Zennaro,
Numerical Methods for Delay Differential Equations, Oxford 2003, section 4.2; not checked against
the book).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
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
        settled: whether the sweeps came to rest, shape (batch,).
    """

    y: Float[Array, "n batch"]
    error: Float[Array, "n batch"]
    piece: Piece
    end: Look
    fault: Int32[Array, " batch"]
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
        touched: for each stage the rows that it read.
    """

    trial: Trial
    overlaps: Bool[Array, " batch"]
    touched: list[Int32[Array, "reads batch"]]


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
    taps: Sequence[Taps] | None = None,
) -> Swept:
    """The stages of a step once.

    Args:
        problem: the batch.
        view: what the step can see.
        start: where it starts.
        step: its length.
        current: its own piece so far as it is known.
        taps: for each stage, for a reverse solve.
    """
    method, y = problem.equation.method, start.y
    slopes, fault = [start.slope], jnp.zeros(step.shape, jnp.int32)
    overlaps = jnp.zeros(step.shape, bool)
    state, free, end, rows = y, y, None, start.rows
    touched, frees = [], [start.free]
    for number, (weights, share) in enumerate(zip(method.stages, method.times, strict=True)):
        last = number == len(method.times) - 1
        state = free = y + step * _weighted(weights, slopes)
        if last and problem.equation.project is not None:
            state = jax.vmap(problem.equation.project, in_axes=(-1, 0), out_axes=-1)(
                free, problem.args
            )
        tap = None if taps is None else taps[number]
        where = Where(share * step, state, current, rows, taps=tap)
        end = look(problem, view, where, switching=last)
        slopes.append(end.slope)
        frees.append(end.free)
        rows = end.rows
        touched.append(end.rows)
        fault = jnp.where(fault == jnp.int32(Outcome.SUCCESS), end.fault, fault)
        overlaps |= end.overlaps
    assert end is not None
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
    return Swept(Trial(state, error, piece, end, fault, settled), overlaps, touched)


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
