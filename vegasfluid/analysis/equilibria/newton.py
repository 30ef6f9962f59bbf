"""Newton's method on the equilibrium equations, with unknowns at a limit kept at that limit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from vegasfluid.analysis.equilibria.continuation import evaluate, flatten, residual, unflatten
from vegasfluid.analysis.equilibria.corners import BEYOND_LIMITS, Solution
from vegasfluid.analysis.equilibria.equations import EquilibriumEquations, Unknowns
from vegasfluid.fluid.model import FluidModel

__all__ = ["SMALLEST_SCALE", "ScaledEquations", "newton", "refine"]

TOLERANCE = 1e-10
"""Newton's method ends after a step smaller than this fraction of each unknown; the remaining error
is about the square of that. Rates have rounding errors of about 1e-12 of the unknowns, 1/s, so a
smaller tolerance may never be reached."""
MAX_STEPS = 100
"""Bound on the steps of Newton's method."""
SLOW = 1e-6
"""Rates below this fraction of each unknown, 1/s: where Newton's method fails, an estimate with
rates as small as these is kept."""
SMALLEST_SCALE = 1e-3
"""Floor on the scale by which each unknown is made dimensionless, in its own unit."""


class Progress(NamedTuple):
    """State of Newton's iteration; JAX arrays.

    Args:
        z: deviation of the unknowns from the start, each in units of its value; (n,).
        jacobian: derivative of the residual by z where the last step began; (n, n).
        change: largest absolute change of z in the last step.
        change_before: largest absolute change of z in the step before the last.
        steps: number of steps so far.
    """

    z: Any
    jacobian: Any
    change: Any
    change_before: Any
    steps: Any


class ScaledEquations:
    """Equilibrium equations near a solution, in the deviation z from it in units of its values.

    Args:
        model: the fluid model, possibly with other numbers than the solution's.
        solution: of the equations; what is at a limit there is kept at that limit.
    """

    def __init__(self, model: FluidModel, solution: Solution) -> None:
        self.model, self.solution = model, solution
        self.flat, self.unravel = ravel_pytree(solution.unknowns)
        self.scale = jnp.maximum(jnp.abs(self.flat), SMALLEST_SCALE)

    def unknowns(self, z: Any) -> Unknowns:
        """The unknowns, in their own units, at dimensionless deviation z (n,) from the solution."""
        return self.unravel(self.flat + self.scale * z)

    def residual(self, z: Any, model: FluidModel) -> Any:
        """Residual of each unknown at deviation z (n,), divided by the unknown's scale; (n,).

        It is the rate of change, 1/s, or for an unknown at a limit its dimensionless distance from
        it. `model` may have other numbers than the one whose solution z starts from.
        """
        solution = self.solution
        flat = self.flat + self.scale * z
        rates = ravel_pytree(residual(model, self.unravel(flat + solution.offset))[0])[0]
        # clipped from far beyond, so that the limit's own derivatives count
        beyond = self.unravel(self.flat + BEYOND_LIMITS * solution.limit_side)
        limit = ravel_pytree(EquilibriumEquations.from_model(model).clipped(beyond))[0]
        rates = rates - solution.offset_rate
        return jnp.where(jnp.asarray(solution.limited), flat - limit, rates) / self.scale

    def root(self) -> tuple[Any, Any]:
        """The dimensionless deviation z (n,) at which the residual is zero, and the Jacobian there.

        The Jacobian (n, n) is in 1/s; z is NaN if it is not found. Both have no derivatives by the
        model's numbers.
        """
        parameters = jax.lax.stop_gradient(self.model.parameters)
        model = replace(self.model, parameters=parameters)

        def with_value(z: Any) -> tuple[Any, Any]:
            """The residual at z, for `jax.jacfwd`, which returns the second copy (`has_aux`)."""
            value = self.residual(z, model)
            return value, value

        def iterate(progress: Progress) -> Progress:
            """One step of Newton's method: new z, largest change of z, number of steps."""
            jacobian, value = jax.jacfwd(with_value, has_aux=True)(progress.z)
            step = jnp.linalg.solve(jacobian, value)
            size = jnp.max(jnp.abs(step))
            return Progress(progress.z - step, jacobian, size, progress.change, progress.steps + 1)

        # one step more than z needs, so that the last Jacobian is that at the root
        zeros, far = jnp.zeros_like(self.flat), jnp.asarray(jnp.inf)
        first = Progress(zeros, jnp.zeros((zeros.size, zeros.size)), far, far, jnp.asarray(0))
        last = jax.lax.while_loop(
            lambda progress: (progress.change_before > TOLERANCE) & (progress.steps < MAX_STEPS),
            iterate,
            first,
        )
        z = jnp.where(last.change_before <= TOLERANCE, last.z, jnp.nan)
        return jax.lax.stop_gradient((z, last.jacobian))


def newton(model: FluidModel, solution: Solution) -> Unknowns:
    """The unknowns at a model's equilibrium near a solution, queues in packets; JAX arrays.

    `solution` may be that of a model with slightly other numbers. NaN if Newton's method fails.
    Differentiable in the model's numbers: one more Newton step with the traced numbers gives the
    derivatives of the implicit function theorem.
    """
    equations = ScaledEquations(model, solution)
    root, jacobian = equations.root()
    return equations.unknowns(root - jnp.linalg.solve(jacobian, equations.residual(root, model)))


def refine(model: FluidModel, estimate: Solution) -> Unknowns:
    """The unknowns at a model's equilibrium near an estimate, to rounding, by Newton's method.

    They are NumPy arrays, queues in packets. If Newton's method fails: the estimate itself where
    its rates of change are small (1e-6 of each unknown per s), otherwise NaN.
    """
    flat = flatten(estimate.unknowns)
    scale = np.maximum(np.abs(flat), SMALLEST_SCALE)
    limit = evaluate(model, flat + BEYOND_LIMITS * estimate.limit_side, clip=True).unknowns

    def scaled(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Scaled residual of each unknown at deviation z from the estimate, and Jacobian by z.

        Shapes (n,) and (n, n), both in 1/s; for an unknown at a limit its dimensionless distance
        from it.
        """
        vector = flat + scale * z
        local = evaluate(model, vector + estimate.offset)
        rates = local.rates - estimate.offset_rate
        residual = np.where(estimate.limited, vector - limit, rates)
        jacobian = np.where(estimate.limited[:, None], np.eye(flat.size), local.jacobian)
        return residual / scale, jacobian * scale / scale[:, None]

    z, change = np.zeros_like(flat), np.inf
    value, jacobian = scaled(z)
    fallback = z if np.max(np.abs(value)) < SLOW else np.full_like(z, np.nan)
    for _ in range(MAX_STEPS):
        step = solve(jacobian, value)
        z, change = z - step, np.max(np.abs(step))
        if not change > TOLERANCE:
            break
        value, jacobian = scaled(z)
    return unflatten(model, flat + scale * (z if change <= TOLERANCE else fallback))


def solve(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """The solution x of the equations `matrix` x = `right`; all NaN if the matrix is singular."""
    try:
        return np.linalg.solve(matrix, right)
    except np.linalg.LinAlgError:
        return np.full_like(right, np.nan)
