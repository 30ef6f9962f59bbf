"""The defect of a step's dense output: its error between the ends of the step."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from vegasfluid.dde.adaptive.history_reader import EvaluationPoint
from vegasfluid.dde.adaptive.history_ring import Piece
from vegasfluid.dde.adaptive.problem import Problem, StepContext, evaluate_rhs

__all__ = ["defects", "larger_error"]

CHECKED_FRACTIONS = (0.25, 0.75)
"""Fractions of a step at which the error of its dense output is estimated (chosen; in the middle
the slope of a cubic Hermite polynomial has no error of the leading order)."""


def larger_error(
    one: Float[Array, "n batch"], other: Float[Array, "n batch"]
) -> Float[Array, "n batch"]:
    """For each component the error estimate with the larger absolute value; `other` if equal."""
    return jnp.where(jnp.abs(one) > jnp.abs(other), one, other)


def defects(
    problem: Problem, context: StepContext, rows: Array, step: Array, piece: Piece
) -> Float[Array, "fractions n batch"]:
    """The right-hand side minus the slope of a step's dense output, at a few times within the step.

    For neutral equations it is the error of delayed derivatives, which the error of the state does
    not include. Shape (fractions, n, batch), for the `CHECKED_FRACTIONS` of the step; derivatives
    with respect to the arguments are zero.

    Args:
        problem: the batch.
        context: history, and active bounds and guard signs, of the step.
        rows: hints for its history reads, shape (sites, batch).
        step: its length, shape (batch,).
        piece: its dense output.
    """
    problem, context, step, piece = jax.lax.stop_gradient((problem, context, step, piece))

    def defect(fraction: Array) -> Array:
        """The defect at a fraction of the step, shape (n, batch)."""
        ahead = fraction * step
        point = EvaluationPoint(ahead, piece.at(ahead), piece, rows)
        return evaluate_rhs(problem, context, point).slope - piece.slope_at(ahead)

    return jax.vmap(defect)(jnp.asarray(CHECKED_FRACTIONS, step.dtype))
