"""One attempted step of an explicit Runge-Kutta method.

A lag shorter than the step reads times within the step itself. The first iteration over the stages
then extrapolates the previous step's piece. Each further iteration reads the step's own dense
output from the iteration before, until it converges: the step is implicit (Bellen and Zennaro,
Numerical Methods for Delay Differential Equations, Oxford 2003, section 4.2; not checked against
the book).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int32

from vegasfluid.dde.adaptive.dense_error import defects, larger_error
from vegasfluid.dde.adaptive.history_reader import EvaluationPoint, ReadPerturbations
from vegasfluid.dde.adaptive.history_ring import Piece
from vegasfluid.dde.adaptive.problem import Evaluation, Problem, StepContext, evaluate_rhs
from vegasfluid.dde.outcome import Outcome

__all__ = [
    "StageResult",
    "StepStart",
    "Trial",
    "attempt",
    "completed_step",
    "dense_output",
    "evaluate_stages",
    "initial_piece",
    "projected",
]

MAX_ITERATIONS = 12
"""Largest number of iterations over the stages of a step that reads itself (chosen)."""
BOUND_ERROR_WEIGHT = 1e-2
"""Weight of the error that a component at a bound would have without it (chosen). Its own error is
zero, and without this weight long steps would miss the time at which it leaves the bound."""
ITERATION_TOLERANCE = 1e-2
"""The iterations end when the state changes by less than this fraction of the error estimate."""


class Trial(NamedTuple):
    """The result of an attempted step.

    Args:
        y: state at its end, shape (n, batch).
        error: estimate of the error of the state and of the dense output, shape (n, batch).
        piece: its dense output.
        end: the right-hand side at its end.
        frees: dy/dt that bounded components would have without bounds, at each stage from the start
            of the step to its end; shape (stages, bounds, batch).
        fault: the first fault of a stage, an `Outcome`; shape (batch,).
        overshoot: largest time by which a stage read beyond its active interval; negative if none
            did; shape (batch,).
        converged: whether the iterations over the stages converged, shape (batch,).
    """

    y: Float[Array, "n batch"]
    error: Float[Array, "n batch"]
    piece: Piece
    end: Evaluation
    frees: Float[Array, "stages bounds batch"]
    fault: Int32[Array, " batch"]
    overshoot: Float[Array, " batch"]
    converged: Bool[Array, " batch"]


class StepStart(NamedTuple):
    """State and slope at the start of a step, and hints for its history reads.

    Args:
        y: state, shape (n, batch).
        slope: dy/dt, shape (n, batch).
        free: dy/dt that bounded components would have without bounds, shape (bounds, batch).
        rows: rows at which the searches for the read times start, shape (sites, batch).
        piece: the previous step's piece, extrapolated in the first iteration.
    """

    y: Float[Array, "n batch"]
    slope: Float[Array, "n batch"]
    free: Float[Array, "bounds batch"]
    rows: Int32[Array, "sites batch"]
    piece: Piece


class StageResult(NamedTuple):
    """The result of one iteration over the stages of a step.

    Args:
        trial: the step.
        overlaps: whether any stage read a time within the step, shape (batch,).
        read_rows: rows read by the early stages, and rows read by the last stage and the guards.
    """

    trial: Trial
    overlaps: Bool[Array, " batch"]
    read_rows: tuple[Int32[Array, "stages reads batch"], Int32[Array, "sites batch"]]


class EarlyStages(NamedTuple):
    """The results of all stages but the last; the first stage is at the step's start.

    Args:
        slopes: dy/dt at each stage.
        frees: dy/dt that bounded components would have without bounds, at each stage.
        fault: the first fault, an `Outcome`; shape (batch,).
        overlaps: whether any stage read a time within the step, shape (batch,).
        overshoot: largest time by which any stage read beyond its active interval; negative if none
            did; shape (batch,).
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
    """Attempt a step of an explicit Runge-Kutta method for all instances.

    Its stages are evaluated again, at most 12 times, where they read times within the step itself.

    Args:
        problem: the batch.
        context: history, and active bounds and guard signs, of the step.
        start: state and slope at its start.
        step: its length, shape (batch,).

    Returns:
        State and right-hand side at its end, error estimate, dense output and first fault.
    """
    if not start.rows.shape[0]:
        return evaluate_stages(problem, context, start, step, start.piece).trial

    def continues(state: tuple[Trial, Array, Array]) -> Array:
        _, moving, iterations = state
        first = iterations == jnp.int32(0)
        return first | (jnp.any(moving) & (iterations < jnp.int32(MAX_ITERATIONS)))

    def evaluate(current: Piece) -> tuple[Trial, Array]:
        """The step, and which instances read a time within it, from its dense output so far."""
        return evaluate_stages(problem, context, start, step, current)[:2]

    traced = eqx.filter_closure_convert(evaluate, start.piece)  # once, for its shapes too

    def again(state: tuple[Trial, Array, Array]) -> tuple[Trial, Array, Array]:
        """Evaluate the stages once more; returns the step and which instances still change."""
        old, _, iterations = state
        new, overlaps = traced(old.piece)
        change = jnp.max(jnp.abs(new.y - old.y), axis=0)
        unit = jnp.finfo(new.y.dtype).eps * jnp.max(jnp.abs(new.y), axis=0)
        bound = ITERATION_TOLERANCE * jnp.max(jnp.abs(new.error), axis=0) + 4 * unit
        moving = overlaps & ((iterations == jnp.int32(0)) | ~(change <= bound))
        return new, moving, iterations + jnp.int32(1)

    shapes = traced.out_struct[0]
    blank = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)
    none = jnp.zeros(step.shape, bool)
    initial = (blank._replace(piece=start.piece), none, jnp.zeros((), jnp.int32))
    trial, moving, _ = jax.lax.while_loop(continues, again, initial)
    return trial._replace(converged=~moving)


def evaluate_stages(
    problem: Problem,
    context: StepContext,
    start: StepStart,
    step: Float[Array, " batch"],
    current: Piece,
    perturbations: ReadPerturbations | None = None,
) -> StageResult:
    """Evaluate the stages of a step once, and the state, error and dense output that follow.

    Args:
        problem: the batch.
        context: history, and active bounds and guard signs, of the step.
        start: state and slope at its start.
        step: its length, shape (batch,).
        current: dense output of this step, from the last iteration, for reads within the step.
        perturbations: zeros added to each stage's reads, for the reverse pass; None: no reverse
            pass.

    Returns:
        The step, whether a stage read a time within it, and the rows of the history that were read.
    """
    method, y = problem.equation.method, start.y
    early, last = (
        (None, None)
        if perturbations is None
        else (perturbations.each(slice(0, -1)), perturbations.each(-1))
    )
    stages, rows, read_rows = _early_stages(problem, context, start, step, current, early)
    slopes, frees, fault, overlaps, overshoot = stages
    free = y + step * _weighted(method.stages[-1], slopes)
    state = projected(problem, free)
    hints = jnp.concatenate([rows, start.rows[rows.shape[0] :]])
    point = EvaluationPoint(method.times[-1] * step, state, current, hints, perturbations=last)
    end = evaluate_rhs(problem, context, point, with_guards=True)
    slopes, frees = [*slopes, end.slope], [*frees, end.free]
    fault = jnp.where(fault == jnp.int32(Outcome.SUCCESS), end.fault, fault)
    trial = completed_step(problem, context, y, step, slopes, frees, (free, state), end)
    if problem.equation.neutral and perturbations is None:
        defect = jnp.abs(defects(problem, context, start.rows, step, trial.piece))
        trial = trial._replace(error=larger_error(step * jnp.max(defect, 0), trial.error))
    trial = trial._replace(fault=fault, overshoot=overshoot)
    return StageResult(trial, overlaps | end.overlaps, (read_rows, end.rows))


def projected(problem: Problem, y: Float[Array, "n batch"]) -> Float[Array, "n batch"]:
    """The state y after the user's projection onto the allowed states, if there is one."""
    if problem.equation.project is None:
        return y
    return jax.vmap(problem.equation.project, in_axes=(-1, 0), out_axes=-1)(y, problem.args)


def completed_step(
    problem: Problem,
    context: StepContext,
    y: Float[Array, "n batch"],
    step: Float[Array, " batch"],
    slopes: list[Array],
    frees: list[Array],
    ends: tuple[Float[Array, "n batch"], Float[Array, "n batch"]],
    end: Evaluation,
) -> Trial:
    """State, error estimate and dense output of a step whose slopes are known.

    `fault` is SUCCESS, `overshoot` minus infinity and `converged` true; the caller replaces them.

    Args:
        problem: the batch.
        context: history, and active bounds and guard signs, of the step.
        y: state at its start, shape (n, batch).
        step: its length, shape (batch,).
        slopes: dy/dt at each stage, shape (n, batch) each.
        frees: dy/dt of bounded components without bounds, at each stage; (bounds, batch) each.
        ends: state at the end before and after the projection, shape (n, batch) each.
        end: the right-hand side at the end.
    """
    method, (free, state) = problem.equation.method, ends
    error = step * _weighted(method.error, slopes)
    if method.dense_error:
        error = larger_error(step * _weighted(method.dense_error, slopes), error)
    free_error = BOUND_ERROR_WEIGHT * step * _weighted(method.error, frees)
    for number, component in enumerate(problem.equation.bounded):
        at_bound = context.modes.at_bound[number] != 0
        error = error.at[component].set(jnp.where(at_bound, free_error[number], error[component]))
    piece = dense_output(problem, context, y, step, slopes)
    if problem.equation.project is not None:  # the piece ends at the projected state
        moved = piece.coefficients.at[2].add(3 * (state - free))
        piece = piece._replace(coefficients=moved.at[3].add(-2 * (state - free)))
    none = jnp.full(step.shape, -jnp.inf, step.dtype)
    fault = jnp.zeros(step.shape, jnp.int32)
    return Trial(
        state, error, piece, end, jnp.stack(frees), fault, none, jnp.ones(step.shape, bool)
    )


def dense_output(
    problem: Problem, context: StepContext, y: Array, step: Array, slopes: list[Array]
) -> Piece:
    """The dense output of a step without its projection.

    Args:
        problem: the batch.
        context: the step's start.
        y: state there, shape (n, batch).
        step: its length, shape (batch,).
        slopes: dy/dt at each stage, shape (n, batch) each.
    """
    powers = [y] + [step * _weighted(row, slopes) for row in problem.equation.method.dense]
    return Piece(context.now, 1 / step, jnp.stack(powers))


def _early_stages(
    problem: Problem,
    context: StepContext,
    start: StepStart,
    step: Array,
    current: Piece,
    perturbations: ReadPerturbations | None,
) -> tuple[EarlyStages, Array, Array]:
    """Evaluate all stages of a step but the last, in a loop.

    Written out, they would take longer to compile, and as long to run.

    Args:
        problem: the batch.
        context: history, and active bounds and guard signs, of the step.
        start: state and slope at its start.
        step: its length, shape (batch,).
        current: dense output of this step so far.
        perturbations: those of each stage's reads, for the reverse pass.

    Returns:
        The results of these stages; the rows read by the last of them, shape (sites, batch); the
        rows read by each, shape (stages, sites, batch), without the first stage.
    """
    method, y = problem.equation.method, start.y
    count = len(method.stages)
    shapes = jax.eval_shape(
        lambda: evaluate_rhs(problem, context, EvaluationPoint(step, y, current, start.rows))
    )
    weights = np.zeros((count - 1, count))
    for number, row in enumerate(method.stages[:-1]):
        weights[number, : number + 1] = row

    def with_zeros(first: Array) -> Array:
        return jnp.concatenate([first[None], jnp.zeros((count - 1, *first.shape), first.dtype)])

    def stage(carry: Any, inputs: Any) -> tuple[Any, Array]:
        """Evaluate one stage and add its results to those of the stages before it."""
        slopes, frees, fault, overlaps, overshoot, rows = carry
        number, weights, time, perturbations = inputs
        state = y + step * jnp.tensordot(weights, slopes, 1)
        point = EvaluationPoint(time * step, state, current, rows, perturbations=perturbations)
        each = evaluate_rhs(problem, context, point)
        slopes = jax.lax.dynamic_update_index_in_dim(slopes, each.slope, number, 0)
        frees = jax.lax.dynamic_update_index_in_dim(frees, each.free, number, 0)
        fault = jnp.where(fault == jnp.int32(Outcome.SUCCESS), each.fault, fault)
        overlaps, overshoot = overlaps | each.overlaps, jnp.maximum(overshoot, each.overshoot)
        return (slopes, frees, fault, overlaps, overshoot, each.rows), each.rows

    numbers = jnp.arange(count - 1, dtype=jnp.int32) + jnp.int32(1)
    times = _literals(np.asarray(method.times[:-1]), y.dtype)
    inputs = (numbers, _literals(weights, y.dtype), times, perturbations)
    no_fault = jnp.zeros(step.shape, jnp.int32)
    overshoot = jnp.full(step.shape, -jnp.inf, step.dtype)
    checks = (no_fault, no_fault > 0, overshoot)
    first = (with_zeros(start.slope), with_zeros(start.free))
    initial = (*first, *checks, start.rows[: shapes.rows.shape[0]])
    result, read_rows = jax.lax.scan(stage, initial, inputs)
    slopes, frees, *checks, rows = result
    return EarlyStages(list(slopes), list(frees), *checks), rows, read_rows


def _literals(numbers: np.ndarray, dtype: Any) -> Array:
    """An array of numbers as operations on literals, so that a lane kernel knows their values."""
    each = [jnp.full((), number, dtype) for number in numbers.ravel()]
    return jnp.stack(each).reshape(numbers.shape) if each else jnp.zeros(numbers.shape, dtype)


def _weighted(weights: tuple[float, ...], slopes: list[Array]) -> Array:
    """The sum of the slopes, each times its weight; terms with a weight of 0 are left out."""
    terms = [weight * slope for weight, slope in zip(weights, slopes, strict=True) if weight]
    total = terms[0] if terms else jnp.zeros_like(slopes[0])
    for term in terms[1:]:
        total = total + term
    return total


def initial_piece(problem: Problem, slope: Float[Array, "n batch"]) -> Piece:
    """The dense output that the first step extrapolates: the line from y0 at t0 with this slope."""
    powers = len(problem.equation.method.dense) + 1
    zeros = jnp.zeros((powers - 2, *slope.shape), slope.dtype)
    line = jnp.stack([problem.y0, slope])
    rate = jnp.ones(slope.shape[1], slope.dtype)
    return Piece(problem.begin, rate, jnp.concatenate([line, zeros]))
