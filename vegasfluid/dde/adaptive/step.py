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

from vegasfluid.dde.adaptive.history import EvaluationPoint, ReadPerturbations
from vegasfluid.dde.adaptive.history_ring import Piece
from vegasfluid.dde.adaptive.problem import Evaluation, Problem, StepContext, evaluate_rhs
from vegasfluid.dde.outcome import Outcome

__all__ = ["StageResult", "StepStart", "Trial", "attempt", "begin_piece", "evaluate_stages"]

MAX_ITERATIONS = 12
BOUND_ERROR_WEIGHT = 1e-2
"""A held component has no error; so that its release is not stepped over, the error that it would
have were it free counts, at this weight."""
ITERATION_TOLERANCE = 1e-2
"""A sweep that changes the state by less than this share of the error estimate is the last."""


class Trial(NamedTuple):
    """A step as it came out.

    Args:
        y: state at its end, shape (n, batch).
        error: estimate of the state's error, shape (n, batch).
        piece: its dense output.
        end: the right-hand side at its end.
        fault: the first `Outcome` that a stage met, shape (batch,).
        overshoot: how far beyond its fence a stage asked for the past, at most; shape (batch,).
        converged: whether the sweeps came to rest, shape (batch,).
    """

    y: Float[Array, "n batch"]
    error: Float[Array, "n batch"]
    piece: Piece
    end: Evaluation
    fault: Int32[Array, " batch"]
    overshoot: Float[Array, " batch"]
    converged: Bool[Array, " batch"]


class StepStart(NamedTuple):
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
    free: Float[Array, "bounds batch"]
    rows: Int32[Array, "sites batch"]
    piece: Piece


class StageResult(NamedTuple):
    """What the stages of a step gave.

    Args:
        trial: the step.
        overlaps: whether any stage asked for a time within the step, shape (batch,).
        touched: the rows that each stage read; those of the last with the switches'.
    """

    trial: Trial
    overlaps: Bool[Array, " batch"]
    touched: tuple[Int32[Array, "stages reads batch"], Int32[Array, "sites batch"]]


class EarlyStages(NamedTuple):
    """What all stages but the last saw, the first of them at the step's start.

    Args:
        slopes: dy/dt.
        frees: dy/dt of the clamped components, were they free.
        fault: the first `Outcome` met, shape (batch,).
        overlaps: whether any asked for a time within the step, shape (batch,).
        overshoot: how far beyond its fence any asked for the past, shape (batch,).
    """

    slopes: list[Float[Array, "n batch"]]
    frees: list[Float[Array, "bounds batch"]]
    fault: Int32[Array, " batch"]
    overlaps: Bool[Array, " batch"]
    overshoot: Float[Array, " batch"]


def attempt(
    problem: Problem,
    context: StepContext,
    start: StepStart,
    step: Float[Array, " batch"],
) -> Trial:
    """Make a step.

    Args:
        problem: the batch.
        context: what the step can see.
        start: where it starts.
        step: its length.
    """
    if not start.rows.shape[0]:
        return evaluate_stages(problem, context, start, step, start.piece).trial

    def continues(state: tuple[Trial, Array, Array]) -> Array:
        _, moving, iterations = state
        first = iterations == jnp.int32(0)
        return first | (jnp.any(moving) & (iterations < jnp.int32(MAX_ITERATIONS)))

    def again(state: tuple[Trial, Array, Array]) -> tuple[Trial, Array, Array]:
        old, _, iterations = state
        new, overlaps, _ = evaluate_stages(problem, context, start, step, old.piece)
        moved = jnp.max(jnp.abs(new.y - old.y), axis=0)
        unit = jnp.finfo(new.y.dtype).eps * jnp.max(jnp.abs(new.y), axis=0)
        bound = ITERATION_TOLERANCE * jnp.max(jnp.abs(new.error), axis=0) + 4 * unit
        moving = overlaps & ((iterations == jnp.int32(0)) | ~(moved <= bound))
        return new, moving, iterations + jnp.int32(1)

    shape = jax.eval_shape(
        lambda: evaluate_stages(problem, context, start, step, start.piece).trial
    )
    blank = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shape)
    nobody = jnp.zeros(step.shape, bool)
    begin = (blank._replace(piece=start.piece), nobody, jnp.zeros((), jnp.int32))
    trial, moving, _ = jax.lax.while_loop(continues, again, begin)
    return trial._replace(converged=~moving)


def evaluate_stages(
    problem: Problem,
    context: StepContext,
    start: StepStart,
    step: Float[Array, " batch"],
    current: Piece,
    perturbations: ReadPerturbations | None = None,
) -> StageResult:
    """The stages of a step once.

    Args:
        problem: the batch.
        context: what the step can see.
        start: where it starts.
        step: its length.
        current: its own piece so far as it is known.
        perturbations: of each stage, for a reverse solve.
    """
    method, y = problem.equation.method, start.y
    early, last = (
        (None, None)
        if perturbations is None
        else (perturbations.each(slice(0, -1)), perturbations.each(-1))
    )
    if early is None:
        result, rows, touched = _stages(problem, context, start, step, current)
    else:
        result, rows, touched = _rolled_stages(problem, context, start, step, current, early)
    slopes, frees, fault, overlaps, overshoot = result
    state = free = y + step * _weighted(method.stages[-1], slopes)
    if problem.equation.project is not None:
        project = jax.vmap(problem.equation.project, in_axes=(-1, 0), out_axes=-1)
        state = project(free, problem.args)
    hints = jnp.concatenate([rows, start.rows[rows.shape[0] :]])
    point = EvaluationPoint(method.times[-1] * step, state, current, hints, perturbations=last)
    end = evaluate_rhs(problem, context, point, with_guards=True)
    slopes, frees = [*slopes, end.slope], [*frees, end.free]
    fault = jnp.where(fault == jnp.int32(Outcome.SUCCESS), end.fault, fault)
    error = step * _weighted(method.error, slopes)
    watched = BOUND_ERROR_WEIGHT * step * _weighted(method.error, frees)
    for number, component in enumerate(problem.equation.bounded):
        held = context.modes.held[number] != 0
        error = error.at[component].set(jnp.where(held, watched[number], error[component]))
    powers = [y] + [step * _weighted(row, slopes) for row in method.dense]
    if problem.equation.project is not None:  # the piece ends where the state was put
        powers[2] += 3 * (state - free)
        powers[3] -= 2 * (state - free)
    piece = Piece(context.now, 1 / step, jnp.stack(powers))
    converged = jnp.ones(step.shape, bool)
    trial = Trial(state, error, piece, end, fault, overshoot, converged)
    return StageResult(trial, overlaps | end.overlaps, (touched, end.rows))


def _stages(
    problem: Problem, context: StepContext, start: StepStart, step: Array, current: Piece
) -> tuple[EarlyStages, Array, Array]:
    """The stages between the first and the last.

    Returns:
        What they saw; the rows read last; all rows.
    """
    method = problem.equation.method
    slopes, frees, rows, seen, touched = [start.slope], [start.free], start.rows, [], []
    for weights, share in zip(method.stages[:-1], method.times[:-1], strict=True):
        state = start.y + step * _weighted(weights, slopes)
        seen.append(
            evaluate_rhs(problem, context, EvaluationPoint(share * step, state, current, rows))
        )
        slopes.append(seen[-1].slope)
        frees.append(seen[-1].free)
        rows = seen[-1].rows
        touched.append(rows)
    first = seen[0]
    fault, overlaps, overshoot = first.fault, first.overlaps, first.overshoot
    for each in seen[1:]:
        fault = jnp.where(fault == jnp.int32(Outcome.SUCCESS), each.fault, fault)
        overlaps, overshoot = overlaps | each.overlaps, jnp.maximum(overshoot, each.overshoot)
    return EarlyStages(slopes, frees, fault, overlaps, overshoot), rows, jnp.stack(touched)


def _rolled_stages(
    problem: Problem,
    context: StepContext,
    start: StepStart,
    step: Array,
    current: Piece,
    perturbations: ReadPerturbations,
) -> tuple[EarlyStages, Array, Array]:
    """As `_stages`, in a loop: its derivative compiles several times faster."""
    method, y = problem.equation.method, start.y
    count = len(method.stages)
    seen = jax.eval_shape(
        lambda: evaluate_rhs(problem, context, EvaluationPoint(step, y, current, start.rows))
    )
    weights = np.zeros((count - 1, count))
    for number, row in enumerate(method.stages[:-1]):
        weights[number, : number + 1] = row

    def room(first: Array) -> Array:
        return jnp.zeros((count, *first.shape), first.dtype).at[0].set(first)

    def stage(carry: Any, given: Any) -> tuple[Any, Array]:
        slopes, frees, fault, overlaps, overshoot, rows = carry
        number, weights, share, perturbations = given
        state = y + step * jnp.tensordot(weights, slopes, 1)
        seen = evaluate_rhs(
            problem,
            context,
            EvaluationPoint(share * step, state, current, rows, perturbations=perturbations),
        )
        slopes = jax.lax.dynamic_update_index_in_dim(slopes, seen.slope, number, 0)
        frees = jax.lax.dynamic_update_index_in_dim(frees, seen.free, number, 0)
        fault = jnp.where(fault == jnp.int32(Outcome.SUCCESS), seen.fault, fault)
        overlaps, overshoot = overlaps | seen.overlaps, jnp.maximum(overshoot, seen.overshoot)
        return (slopes, frees, fault, overlaps, overshoot, seen.rows), seen.rows

    traced = jnp.arange(1, count, dtype=jnp.int32)
    read_cotangents = jnp.asarray(method.times[:-1], y.dtype)
    given = (traced, jnp.asarray(weights, y.dtype), read_cotangents, perturbations)
    nothing = jnp.zeros(step.shape, jnp.int32)
    rows = start.rows[: seen.rows.shape[0]]
    within = jnp.full(step.shape, -jnp.inf, step.dtype)
    begin = (room(start.slope), room(start.free), nothing, nothing > 0, within, rows)
    result, touched = jax.lax.scan(stage, begin, given)
    slopes, frees, *notes, rows = result
    return EarlyStages(list(slopes), list(frees), *notes), rows, touched


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
