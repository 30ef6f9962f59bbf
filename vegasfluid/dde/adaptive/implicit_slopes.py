"""The slopes of an implicit step as the solution of one equation, and their exact derivative.

The slopes k_2, ..., k_s of a step solve k = F(k), where F evaluates the right-hand side at all
stages and reads times within the step from the dense output that k gives.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from vegasfluid.dde.adaptive.history_reader import EvaluationPoint
from vegasfluid.dde.adaptive.method import Method
from vegasfluid.dde.adaptive.problem import Evaluation, Problem, StepContext, evaluate_rhs
from vegasfluid.dde.adaptive.step import StepStart, dense_output

__all__ = ["exact_slopes", "linearised_slopes", "tableau_of"]


def tableau_of(method: Method) -> np.ndarray:
    """The weights of all slopes in the stages from the second on, shape (stages - 1, stages).

    The weight of a stage's own slope, on the diagonal, is included.
    """
    count = len(method.stages)
    tableau = np.zeros((count, count + 1))
    for number, row in enumerate(method.stages):
        tableau[number, : number + 2] = (*row, method.diagonal)
    return tableau


def evaluate_slopes(
    problem: Problem, context: StepContext, start: StepStart, step: Array, later: Array
) -> Evaluation:
    """The right-hand side at the second and later stages of a step, from slopes at these stages.

    The result has the stages on its first axis.

    Args:
        problem: the batch.
        context: history, and active bounds and guard signs, of the step.
        start: state and slope at its start.
        step: its length, shape (batch,).
        later: dy/dt at the stages from the second on, shape (stages - 1, n, batch).
    """
    method = problem.equation.method
    slopes = jnp.concatenate([start.slope[None], later])
    current = dense_output(problem, context, start.y, step, list(slopes))
    weights = jnp.asarray(tableau_of(method), step.dtype)
    states = start.y + step * jnp.tensordot(weights, slopes, 1)
    times = jnp.asarray(method.times, step.dtype)[:, None] * step

    def stage(time: Array, state: Array) -> Evaluation:
        point = EvaluationPoint(time, state, current, start.rows)
        return evaluate_rhs(problem, context, point)

    return jax.vmap(stage)(times, states)


def linearised_slopes(
    problem: Problem, context: StepContext, start: StepStart, step: Array, later: Array
) -> tuple[Evaluation, Float[Array, "batch unknowns unknowns"]]:
    """The result of `evaluate_slopes`, and the Jacobian of k - F(k) in the slopes k.

    The unknowns are the slopes of all stages but the first, stage after stage. The Jacobian costs
    as many evaluations of all stages as there are unknowns, (stages - 1) times n.
    """
    size = later.shape[0] * later.shape[1]

    def slopes(later: Array) -> tuple[Array, Evaluation]:
        evaluations = evaluate_slopes(problem, context, start, step, later)
        return evaluations.slope, evaluations

    _, derivative, evaluations = jax.linearize(slopes, later, has_aux=True)
    unit = jnp.eye(size, dtype=step.dtype)
    directions = unit.reshape(size, *later.shape[:2], 1)
    columns = jax.vmap(derivative)(jnp.broadcast_to(directions, (size, *later.shape)))
    return evaluations, unit - columns.reshape(size, size, -1).T


@jax.custom_jvp
def exact_slopes(
    problem: Problem, context: StepContext, start: StepStart, step: Array, later: Array
) -> Float[Array, "later n batch"]:
    """Return `later`, which must solve k = F(k), with derivatives by all other arguments.

    F is `evaluate_slopes`; `later` has dy/dt at the stages from the second on. The derivative
    follows from the implicit function theorem.
    """
    return later


@exact_slopes.defjvp
def _exact_slopes_jvp(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Array, Array]:
    """The slopes and their derivative: the inverse Jacobian of k - F(k) times the change of F.

    `primals` and `tangents` are the arguments of `exact_slopes` and their derivatives.
    """
    problem, context, start, step, later = primals

    def slopes(problem: Problem, context: StepContext, start: StepStart, step: Array) -> Array:
        return evaluate_slopes(problem, context, start, step, later).slope

    _, change = jax.jvp(slopes, primals[:4], tangents[:4])
    _, jacobian = linearised_slopes(problem, context, start, step, later)
    flat = change.reshape(-1, change.shape[-1]).T[..., None]
    return later, jnp.linalg.solve(jacobian, flat)[..., 0].T.reshape(later.shape)
