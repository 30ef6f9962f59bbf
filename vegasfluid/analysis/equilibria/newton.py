"""Newton's method on the equilibrium equations, with what stands at a limit held there."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree

from vegasfluid.analysis.equilibria.corners import FAR, Solved
from vegasfluid.analysis.equilibria.equations import Unknowns
from vegasfluid.analysis.equilibria.pseudo_transient import Case, residual
from vegasfluid.fluid.parameters import FluidParameters

__all__ = ["Nearby", "newton"]

CLOSE = 1e-10
"""Newton's method ends after a step that is smaller than this part of an unknown's value: what is
left is about the square of it. The speeds themselves are rounded by some 1e-12 of the values, 1/s,
so that a smaller bound may never be met."""
STEPS = 100
SMALLEST = 1e-3
"""Floor on the scale by which each unknown is made dimensionless, in its own unit."""


class Progress(NamedTuple):
    """How far Newton's method has come; JAX arrays.

    Args:
        z: the unknowns.
        moved: the largest change in the last step.
        steps: done.
    """

    z: Any
    moved: Any
    steps: Any


class Nearby:
    """Rest near a solution, with what stands at a limit held there; in units of its values.

    Args:
        case: the equations.
        near: the solution.
    """

    def __init__(self, case: Case, near: Solved) -> None:
        self.case, self.near = case, near
        self.flat, self.unravel = ravel_pytree(near.unknowns)
        self.scale = jnp.maximum(jnp.abs(self.flat), SMALLEST)

    def unknowns(self, z: Any) -> Unknowns:
        """The unknowns, of the distance from the solution."""
        return self.unravel(self.flat + self.scale * z)

    def residual(self, z: Any, posed: FluidParameters) -> Any:
        """What is to be zero."""
        case, near = self.case._replace(posed=posed), self.near
        flat = self.flat + self.scale * z
        moved = ravel_pytree(residual(*case, self.unravel(flat + near.aside)))[0] - near.speed
        # well beyond it, for the derivative by the limit itself
        limit = ravel_pytree(case.steady.held(self.unravel(self.flat + FAR * near.outward)))[0]
        return jnp.where(jnp.asarray(near.limited), flat - limit, moved) / self.scale

    def root(self) -> Any:
        """The zero, by Newton's method, NaN where that fails; its derivatives are zero."""
        posed = jax.lax.stop_gradient(self.case.posed)

        def iterate(progress: Progress) -> Progress:
            move = self.step(progress.z, posed)
            return Progress(progress.z - move, jnp.max(jnp.abs(move)), progress.steps + 1)

        first = Progress(jnp.zeros_like(self.flat), jnp.asarray(jnp.inf), jnp.asarray(0))
        last = jax.lax.while_loop(
            lambda progress: (progress.moved > CLOSE) & (progress.steps < STEPS), iterate, first
        )
        return jax.lax.stop_gradient(jnp.where(last.moved <= CLOSE, last.z, jnp.nan))

    def step(self, z: Any, posed: FluidParameters) -> Any:
        """The step of Newton's method, to be subtracted from z; its derivatives by z are zero."""
        z = jax.lax.stop_gradient(z)

        def with_value(z: Any) -> tuple[Any, Any]:
            value = self.residual(z, posed)
            return value, value

        slope, value = jax.jacfwd(with_value, has_aux=True)(z)
        return jnp.linalg.solve(jax.lax.stop_gradient(slope), value)


def newton(case: Case, near: Solved) -> Unknowns:
    """The zero of the equations near a solution, with what stands at a limit held there.

    The last step of Newton's method is taken with the numbers as they are given, so that the
    result changes with them as the implicit function theorem says.
    """
    nearby = Nearby(case, near)
    root = nearby.root()
    return nearby.unknowns(root - nearby.step(root, case.posed))
