"""One attempted step of an implicit Runge-Kutta method, for stiff equations.

The methods are ESDIRK ones: stage i is at the state Y = y + h (sum of a_ij k_j + a k_i), where its
own slope k_i = f(Y) has the weight a. If no stage reads a time within the step, the stages follow
one after the other, each by a simplified Newton iteration: all use one Jacobian, that of the
step's start. If some do (a lag is shorter than the step), all slopes depend on each other through
the step's dense output. Then they are found together, by Newton's method with the full Jacobian.

Source for stiff equations with short lags: N. Guglielmi and E. Hairer, Computing 67, 2001 (RADAR5;
not checked against the paper).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int32

from vegasfluid.dde.adaptive.dense_error import defects, larger_error
from vegasfluid.dde.adaptive.history_reader import EvaluationPoint
from vegasfluid.dde.adaptive.history_ring import Piece
from vegasfluid.dde.adaptive.implicit_slopes import (
    exact_slopes,
    linearised_slopes,
    tableau_of,
)
from vegasfluid.dde.adaptive.problem import Evaluation, Problem, StepContext, evaluate_rhs
from vegasfluid.dde.adaptive.step import (
    StepStart,
    Trial,
    completed_step,
    dense_output,
    projected,
)
from vegasfluid.dde.outcome import Outcome

__all__ = ["attempt_implicit"]

DIVERGENCE = 2.0
"""An iteration has diverged where a change is this many times the one before, as in diffrax."""
ROUNDING = 16
"""Changes below this many rounding errors of the state end an iteration (chosen)."""


class Stages(NamedTuple):
    """The stages of a step, as they are found one after the other.

    Args:
        slopes: dy/dt at each stage, the first included; shape (stages, n, batch).
        frees: dy/dt that bounded components would have without bounds; (stages, bounds, batch).
        fault: the first fault, an `Outcome`; shape (batch,).
        overlaps: whether any stage read a time within the step, shape (batch,).
        overshoot: how far beyond its active interval a stage within the step read; (batch,).
        converged: whether the Newton iterations converged, shape (batch,).
    """

    slopes: Float[Array, "stages n batch"]
    frees: Float[Array, "stages bounds batch"]
    fault: Int32[Array, " batch"]
    overlaps: Bool[Array, " batch"]
    overshoot: Float[Array, " batch"]
    converged: Bool[Array, " batch"]


def attempt_implicit(
    problem: Problem, context: StepContext, start: StepStart, step: Float[Array, " batch"]
) -> Trial:
    """Attempt a step of an implicit Runge-Kutta method for all instances.

    A step whose Newton iteration does not converge has the fault NEWTON_FAILED.

    Args:
        problem: the batch.
        context: history, and active bounds and guard signs, of the step.
        start: state and slope at its start.
        step: its length, shape (batch,).

    Returns:
        State and right-hand side at its end, error estimate, dense output and first fault.
    """
    inputs = jax.lax.stop_gradient((problem, context, start, step))
    inverse = _inverse_at_start(*inputs)
    stages = _one_by_one(*inputs, inverse)
    if start.rows.shape[0]:
        stages = _all_together(*inputs, stages)
    found = jax.lax.stop_gradient(stages.slopes[1:])
    later = exact_slopes(problem, context, start, step, found)
    slopes = [start.slope, *later]
    last = jnp.asarray(tableau_of(problem.equation.method)[-1], step.dtype)
    free = start.y + step * jnp.tensordot(last, jnp.stack(slopes), 1)
    piece = dense_output(problem, context, start.y, step, slopes)
    state = projected(problem, free)
    point = EvaluationPoint(step, state, piece, start.rows)
    end = evaluate_rhs(problem, context, point, with_guards=True)
    if problem.equation.project is None:
        # The right-hand side would multiply the state's error by the stiffness.
        end = end._replace(slope=later[-1])
    frees = list(stages.frees)
    trial = completed_step(problem, context, start.y, step, slopes, frees, (free, state), end)
    fault = jnp.where(stages.fault == jnp.int32(Outcome.SUCCESS), end.fault, stages.fault)
    fault = jnp.where(stages.converged, fault, jnp.int32(Outcome.NEWTON_FAILED))
    between = _dense_error(*inputs, jax.lax.stop_gradient(piece), inverse)
    return trial._replace(
        error=larger_error(between, trial.error),
        fault=fault,
        overshoot=stages.overshoot,
        converged=stages.converged,
    )


def _dense_error(
    problem: Problem,
    context: StepContext,
    start: StepStart,
    step: Array,
    piece: Piece,
    inverse: Array,
) -> Float[Array, "n batch"]:
    """An estimate of the largest error of the dense output between the ends of a step.

    It is the correction that Newton's method would make to the dense output at two times, as if
    they were stages. For stiff components it is the distance to the slow solution. The method's
    error estimate compares two states at the end of the step only: in a step over a jump both are
    right, but delayed values would be wrong.

    Args:
        problem: the batch.
        context: history, and active bounds and guard signs, of the step.
        start: hints for its history reads.
        step: its length, shape (batch,).
        piece: its dense output.
        inverse: the inverse of the Newton matrix, shape (n, n, batch).
    """
    scaled = (
        problem.equation.method.diagonal * step * defects(problem, context, start.rows, step, piece)
    )
    return jnp.max(jnp.abs(jnp.einsum("ijb,fjb->fib", inverse, scaled)), axis=0)


def _one_by_one(
    problem: Problem, context: StepContext, start: StepStart, step: Array, inverse: Array
) -> Stages:
    """The stages one after the other; reads within the step get the previous step's piece.

    Takes the batch, the step's context, start and length (batch,), and the inverse of the Newton
    matrix.
    """
    method, count = problem.equation.method, len(problem.equation.method.times)
    weights, predictor = np.zeros((2, count, count + 1))
    for number, rows in enumerate(zip(method.stages, method.predictor, strict=True)):
        weights[number, : number + 1], predictor[number, : number + 1] = rows
    tables = (jnp.asarray(each, step.dtype) for each in (weights, predictor, method.times))

    def stage(stages: Stages, inputs: Any) -> tuple[Stages, None]:
        """Solve for one stage and add it to those before it."""
        number, weights, predictor, time = inputs
        base = start.y + step * jnp.tensordot(weights, stages.slopes, 1)
        guess = jnp.tensordot(predictor, stages.slopes, 1)
        state = base + method.diagonal * step * guess

        def correction(state: Array) -> tuple[Array, Evaluation]:
            """The Newton correction of the stage's state, shape (n, batch), and its slopes."""
            point = EvaluationPoint(time * step, state, start.piece, start.rows)
            evaluation = evaluate_rhs(problem, context, point)
            residual = base + method.diagonal * step * evaluation.slope - state
            return jnp.einsum("ijb,jb->ib", inverse, residual), evaluation

        every = jnp.ones(step.shape, bool)
        state, evaluation, converged = _newton(problem, correction, state, every)
        slope = (state - base) / (method.diagonal * step)
        inside = jnp.where(time <= 1, evaluation.overshoot, -jnp.inf)
        fine = stages.fault == jnp.int32(Outcome.SUCCESS)
        return Stages(
            stages.slopes.at[number].set(slope),
            stages.frees.at[number].set(evaluation.free),
            jnp.where(fine, evaluation.fault, stages.fault),
            stages.overlaps | evaluation.overlaps,
            jnp.maximum(stages.overshoot, inside),
            stages.converged & converged,
        ), None

    numbers = jnp.arange(1, count + 1, dtype=jnp.int32)
    return jax.lax.scan(stage, _blank(start, step, count + 1), (numbers, *tables))[0]


def _blank(start: StepStart, step: Array, count: int) -> Stages:
    """Stages of which only the first one, at the step's start, is known."""

    def column(first: Array) -> Array:
        return jnp.zeros((count, *first.shape), first.dtype).at[0].set(first)

    none = jnp.zeros(step.shape, bool)
    overshoot = jnp.full(step.shape, -jnp.inf, step.dtype)
    fault = jnp.zeros(step.shape, jnp.int32)
    return Stages(column(start.slope), column(start.free), fault, none, overshoot, ~none)


def _inverse_at_start(
    problem: Problem, context: StepContext, start: StepStart, step: Array
) -> Float[Array, "n n batch"]:
    """The inverse of I - a h J with the Jacobian J of dy/dt at a step's start.

    Takes the batch, and the step's context, start and length h (batch,).
    """

    def slope(y: Array) -> Array:
        zero = jnp.zeros_like(step)
        point = EvaluationPoint(zero, y, start.piece, start.rows, arriving=False)
        return evaluate_rhs(problem, context, point).slope

    size = start.y.shape[0]
    unit = jnp.eye(size, dtype=step.dtype)
    directions = jnp.broadcast_to(unit[..., None], (size, *start.y.shape))
    columns = jax.vmap(jax.linearize(slope, start.y)[1])(directions)
    matrix = unit[..., None] - problem.equation.method.diagonal * step * jnp.moveaxis(columns, 0, 1)
    return jnp.moveaxis(jnp.linalg.inv(jnp.moveaxis(matrix, -1, 0)), 0, -1)


def _all_together(
    problem: Problem, context: StepContext, start: StepStart, step: Array, stages: Stages
) -> Stages:
    """Solve for all stages at once in those instances whose stages read times within the step.

    Takes the batch, the step's context, start and length (batch,), and the stages as found one
    after the other, which are the first guess.
    """

    def correction(changes: Array) -> tuple[Array, Evaluation]:
        """The Newton correction of the slopes times the step, and the slopes at all stages."""
        inputs = (problem, context, start, step, changes / step)
        evaluations, jacobian = linearised_slopes(*inputs)
        residual = (step * evaluations.slope - changes).reshape(-1, step.shape[0])
        correction = jnp.linalg.solve(jacobian, residual.T[..., None])[..., 0].T
        return correction.reshape(changes.shape), evaluations

    first = step * stages.slopes[1:]
    overlaps = stages.overlaps
    changes, evaluations, converged = _newton(problem, correction, first, overlaps, start.y)
    faults = evaluations.fault
    # The first fault in the order of the stages.
    earliest = jnp.argmax(faults != jnp.int32(Outcome.SUCCESS), axis=0)
    fault = jnp.take_along_axis(faults, earliest[None], axis=0)[0]
    inside = np.asarray(problem.equation.method.times) <= 1
    overshoot = jnp.max(evaluations.overshoot[inside], axis=0)
    return Stages(
        stages.slopes.at[1:].set(jnp.where(overlaps, changes / step, stages.slopes[1:])),
        stages.frees.at[1:].set(jnp.where(overlaps, evaluations.free, stages.frees[1:])),
        jnp.where(overlaps, fault, stages.fault),
        overlaps,
        jnp.where(overlaps, overshoot, stages.overshoot),
        jnp.where(overlaps, converged, stages.converged),
    )


def _newton(
    problem: Problem,
    correction: Callable[[Array], tuple[Array, Evaluation]],
    first: Array,
    running: Bool[Array, " batch"],
    origin: Array | float = 0.0,
) -> tuple[Array, Evaluation, Bool[Array, " batch"]]:
    """The end of a Newton iteration: the unknowns, the last evaluation, and whether it converged.

    As in diffrax, it ends where the geometric series of its changes is small against the tolerance,
    where it diverges (`DIVERGENCE`), or after `max_iterations`. Changes as small as rounding errors
    end it too. It counts as converged in the first and the last of these cases.

    Args:
        problem: the batch, with the tolerances and limits of the iteration.
        correction: maps the unknowns to their next change and the evaluation that it follows from.
        first: the first guess of the unknowns, shape (..., n, batch).
        running: the instances that are iterated; others count as not converged; shape (batch,).
        origin: the state for unknowns 0; relative tolerances refer to its sum with the unknowns.
    """
    newton = problem.equation.method.newton
    assert newton is not None
    axes = tuple(range(first.ndim - 1))
    rtol, atol = problem.newton_scale

    def continues(carry: tuple[Any, ...]) -> Array:
        *_, running, iterations = carry
        return jnp.any(running) & (iterations < jnp.int32(newton.max_iterations))

    def again(carry: tuple[Any, ...]) -> tuple[Any, ...]:
        """One more iteration for the instances that run."""
        unknowns, other, last, converged, running, iterations = carry
        change, new = correction(unknowns)
        change = jnp.where(running, change, 0.0)
        unknowns = unknowns + change
        state = jnp.abs(origin + unknowns)
        size = jnp.max(jnp.abs(change) / (atol + rtol * state), axis=axes)
        rounding = ROUNDING * jnp.finfo(first.dtype).eps * state
        rate, later = size / last, iterations > jnp.int32(0)
        enough = (rate < 1) & (size * rate < newton.kappa * (1 - rate))
        small = jnp.all((jnp.abs(change) <= rounding) & jnp.isfinite(change), axis=axes)
        done = small | (later & enough)
        other = jax.tree.map(lambda new, old: jnp.where(running, new, old), new, other)
        converged, last = jnp.where(running, done, converged), jnp.where(running, size, last)
        running &= ~done & ~(later & ~(rate <= DIVERGENCE))
        return unknowns, other, last, converged, running, iterations + jnp.int32(1)

    shapes = jax.eval_shape(correction, first)[1]
    other = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)
    one, none = jnp.ones(running.shape, first.dtype), jnp.zeros(running.shape, bool)
    initial = (first, other, one, none, running, jnp.zeros((), jnp.int32))
    unknowns, other, _, converged, _, _ = jax.lax.while_loop(continues, again, initial)
    return unknowns, other, converged
