"""The compiled program behind all searches for an equilibrium: one for each network structure.

It evaluates the equilibrium equations and their Jacobian, after as many implicit Euler steps as
asked for (pseudo-transient continuation), none included. Everything else in this folder is NumPy
code around it. A second and a third program, for Newton's method and for corners, would take two
thirds of the time of a search to compile.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from vegasfluid.analysis.equilibria.equations import (
    EquilibriumEquations,
    Unknowns,
    initial_guess,
)
from vegasfluid.analysis.equilibria.quantities import Quantities, quantities
from vegasfluid.fluid.model import FluidModel

__all__ = ["CONVERGED", "DIVERGED", "Continuation", "Evaluation", "Linearised", "accelerations"]
__all__ += [
    "continuation",
    "evaluate",
    "flatten",
    "initial_unknowns",
    "linearised",
    "residual",
    "unflatten",
]

FAST = 100.0
"""Factor on the rates of AQM states and counter rates, so that they follow the windows."""
PULL = 10.0
"""Restoring rate beyond a limit, 1/s: how strongly the continuation returns to the limit."""
FIRST_STEP = 1e-3
"""First step of the implicit Euler method, s."""
LONGEST_STEP = 1e12
"""Bound on the step of the implicit Euler method, s; with it a step is one of Newton's method."""
LARGEST_CHANGE = 0.5
"""A step that changes an unknown x by more than this, relative to 1 + abs(x), is rejected."""
SMALL_CHANGE = 0.1
"""After a step that changes no unknown x by more than this, relative to 1 + abs(x), the next step
is twice as long."""
LARGEST_REVERSAL = 0.5
"""A step that reverses a rate to more than this fraction of its size is rejected."""
ROUNDING = 1e-8
"""Rates of an unknown x below this, 1/s, relative to 1 + abs(x), may be rounding errors."""
WINDOW_TOLERANCE = 1e-13
"""A continuation has converged if a step of more than 1 s changes no unknown x by more than this,
relative to 1 + abs(x)."""

RUNNING, CONVERGED, DIVERGED = 0, 1, 2
"""Status of a continuation: not finished, at a steady state, or with infinite or NaN values."""

Vector = Any
"""A NumPy or JAX array with one number for each unknown, (n,), or a matrix of such numbers."""


class Evaluation(NamedTuple):
    """The equilibrium equations and their Jacobian at a point; arrays.

    Args:
        unknowns: the point, as a flat vector; (n,).
        rates: rate of change of each unknown there, in its own unit per second; (n,).
        jacobian: derivative of the rates by the unknowns, 1/s; (n, n).
        clip_jacobian: derivative of the point by the unknowns that were given: the identity,
            except for unknowns that were clipped; (n, n).
        quantities: queues, windows, rates and so on that follow from the unknowns.
    """

    unknowns: Vector
    rates: Vector
    jacobian: Vector
    clip_jacobian: Vector
    quantities: Quantities


class Linearised(NamedTuple):
    """Rates of all unknowns but the queues, for given queues; arrays; n unknowns without queues.

    Args:
        rate: rate of each, in its own unit per second; (n,). Those of AQM states and counter rates
            are multiplied by FAST; beyond a limit a rate back to the limit is added.
        jacobian: derivative of `rate` by these unknowns, 1/s; (n, n).
        queue_growth: rate at which each queue grows, packets/s; (queues,).
    """

    rate: Vector
    jacobian: Vector
    queue_growth: Vector


class Continuation(NamedTuple):
    """State of a pseudo-transient continuation; arrays.

    Args:
        vector: all unknowns, not clipped; (n,).
        local: the equations at `vector`.
        step: step of the implicit Euler method, s.
        steps: number of steps so far.
        status: RUNNING, CONVERGED or DIVERGED.
    """

    vector: Vector
    local: Evaluation
    step: Any
    steps: Any
    status: Any


def evaluate(model: FluidModel, vector: np.ndarray, *, clip: bool = False) -> Evaluation:
    """The equilibrium equations and their Jacobian at a point, as NumPy arrays.

    Args:
        model: the fluid model.
        vector: all unknowns as a flat vector, each in its own unit; (n,).
        clip: whether to clip the unknowns to their domain first.

    Returns:
        The point, the rates of change (unit of each unknown per s), their Jacobian (1/s), and the
        quantities of the network there.
    """
    return jax.tree.map(np.asarray, continuation(model, vector, clip, 0).local)


@jax.jit
def residual(model: FluidModel, unknowns: Unknowns) -> tuple[Unknowns, Quantities]:
    """Residual of the equilibrium equations, which is 0 at equilibrium; compiled.

    Args:
        model: the fluid model.
        unknowns: the point, each unknown in its own unit.

    Returns:
        The rate of change of each unknown, in its unit per second (for counter rates: the computed
        minus the given rate, 1/s); and the quantities of the network at the point, through which
        JAX does not differentiate.
    """
    equations = EquilibriumEquations.from_model(model)
    observed, rates = equations.evaluate(unknowns)
    parts = jax.lax.stop_gradient((unknowns, observed, rates))
    return equations.residual_of(rates, unknowns), quantities(equations, *parts)


def evaluation(model: FluidModel, vector: Vector, clip: Any) -> Evaluation:
    """The equilibrium equations of a model and their Jacobian (1/s) at a flat vector; JAX arrays.

    `vector` has all unknowns, each in its own unit, (n,); where `clip` is true, they are clipped to
    their domain first. `evaluate` gives the same as NumPy arrays.
    """
    equations = EquilibriumEquations.from_model(model)
    unravel = ravel_pytree(initial_guess(equations))[1]

    def point_of(vector: Vector) -> tuple[Vector, Vector]:
        """The (clipped) point at which the equations are evaluated; twice, for `has_aux`."""
        clipped = ravel_pytree(equations.clipped(unravel(vector)))[0]
        point = jnp.where(clip, clipped, vector)
        return point, point

    def rates_at(point: Vector) -> tuple[Vector, tuple[Vector, Quantities]]:
        """The rate of each unknown at a point, in its unit per second; again, with quantities."""
        unknown_rates, values = residual(model, unravel(point))
        rates = ravel_pytree(unknown_rates)[0]
        return rates, (rates, values)

    clip_jacobian, point = jax.jacfwd(point_of, has_aux=True)(vector)
    jacobian, (rates, values) = jax.jacfwd(rates_at, has_aux=True)(point)
    return Evaluation(point, rates, jacobian, clip_jacobian, values)


def linearised(local: Evaluation, vector: Vector, acceleration: Vector) -> Linearised:
    """Rates (unit of each unknown per s) and Jacobian (1/s) of all unknowns but the queues.

    AQM states and counter rates are accelerated; beyond a limit a restoring rate is added, PULL
    times the distance. The result also has the growth of each queue, packets/s.

    Args:
        local: the equations at the clipped unknowns; (n,).
        vector: the unknowns, not clipped, queues first; (n,).
        acceleration: factor on the rate of each unknown but the queues, see `accelerations`.
    """
    queues = slice(vector.size - acceleration.size)
    others = slice(vector.size - acceleration.size, None)
    excess = vector[others] - local.unknowns[others]
    rate = acceleration * local.rates[others] - PULL * excess
    by_others = local.jacobian[others] @ local.clip_jacobian[:, others]
    beyond = np.eye(acceleration.size) - local.clip_jacobian[others, others]
    jacobian = acceleration[:, None] * by_others - PULL * beyond
    return Linearised(rate, jacobian, local.rates[queues])


def accelerations(unknowns: Unknowns) -> np.ndarray:
    """Dimensionless factor on the rate of each unknown but the queues; (n - queues,).

    It is FAST (100) for AQM states and counter rates, so that they follow the windows, and 1 for
    windows, other fields of classes and fractions in timeout.
    """
    ones = jax.tree.map(lambda part: np.ones(np.shape(part)), unknowns)
    fast = jax.tree.map(lambda part: FAST * part, (ones.aqm_states, ones.counter_rates))
    return flatten((fast[0], ones.classes, ones.in_timeout, fast[1]))


@jax.jit
def continuation(model: FluidModel, start: Vector, clip: Any, max_steps: Any) -> Continuation:
    """Implicit Euler steps for given queues until the other unknowns converge.

    The unknowns are queues (packets), AQM states, windows (packets), fractions of flows in timeout
    and counter rates (1/s). The first step has zero rates; it only evaluates the start.

    Args:
        model: the fluid model.
        start: all unknowns as a flat vector, queues first; (n,). The queues do not change.
        clip: whether the equations are evaluated at the unknowns clipped to their limits.
        max_steps: bound on the number of steps.

    Returns:
        The last state: unknowns, the equations there, step size (s), number of steps, and whether
        it converged, diverged or used all steps (RUNNING).
    """
    guess = jax.eval_shape(lambda: initial_guess(EquilibriumEquations.from_model(model)))
    values = jax.eval_shape(residual, model, guess)[1]
    acceleration, queues = accelerations(guess), model.structure.queue_count
    identity = jnp.eye(acceleration.size)

    def advance(now: Continuation) -> Continuation:
        """Attempt an implicit Euler step; after a rejected one the next attempt is shorter."""
        others, step = now.vector[queues:], now.step
        before = linearised(now.local, now.vector, acceleration)
        change = jnp.linalg.solve(identity / step - before.jacobian, before.rate)
        size = jnp.max(jnp.abs(change) / (jnp.abs(others) + 1))
        vector = now.vector.at[queues:].add(change)
        local = evaluation(model, vector, clip)
        rate = linearised(local, vector, acceleration).rate
        finite = jnp.all(jnp.isfinite(rate)) | (size >= LARGEST_CHANGE)
        converged = (size < WINDOW_TOLERANCE) & (step > 1)
        running = jnp.where(converged, CONVERGED, RUNNING)
        status = jnp.where(finite & ~jnp.isnan(size), running, DIVERGED)
        too_far = (size >= LARGEST_CHANGE) | reverses(others, before.rate, rate)
        rejected = ~converged & too_far
        longer = jnp.minimum(step * jnp.where(size < SMALL_CHANGE, 2.0, 1.2), LONGEST_STEP)
        new_vector, new_local = jax.tree.map(
            partial(jnp.where, rejected), (now.vector, now.local), (vector, local)
        )
        new_step = jnp.where(rejected, step / 4, longer)
        return Continuation(new_vector, new_local, new_step, now.steps + 1, status)

    zero, unit = jnp.zeros_like(start), jnp.eye(start.size)
    empty = jax.tree.map(lambda part: jnp.zeros(part.shape), values)
    still = Evaluation(start, zero, 0 * unit, unit, empty)
    first_step, running = jnp.asarray(FIRST_STEP / 2), jnp.asarray(RUNNING)
    first = Continuation(start, still, first_step, jnp.asarray(0), running)
    return jax.lax.while_loop(
        lambda now: (now.status == RUNNING) & (now.steps <= max_steps), advance, first
    )


def reverses(vector: Vector, before: Vector, after: Vector) -> Vector:
    """Whether a step of the search crossed a point where the slope of some rate jumps.

    This is assumed if a rate changed its sign and has more than half of its former size, as at the
    edge of Vegas's dead band. `vector` has the unknowns (n,); `before` and `after` are their rates
    before and after the step, each in the unknown's unit per second. Rounding errors do not count.
    """
    allowed = LARGEST_REVERSAL * jnp.abs(before) + ROUNDING * (1 + jnp.abs(vector))
    return jnp.any((before * after < 0) & (jnp.abs(after) > allowed))


@jax.jit
def compiled_guess(model: FluidModel) -> Unknowns:
    """Start of a search for a model's equilibrium: small windows, empty queues; JAX arrays."""
    return initial_guess(EquilibriumEquations.from_model(model))


def initial_unknowns(model: FluidModel) -> Unknowns:
    """Start of a search for a model's equilibrium: small windows, empty queues; NumPy arrays."""
    return jax.tree.map(np.asarray, compiled_guess(model))


def flatten(unknowns: Any) -> np.ndarray:
    """All arrays of a pytree in one NumPy vector (n,), in the order of `ravel_pytree`."""
    return np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(unknowns)])


def unflatten(model: FluidModel, vector: np.ndarray) -> Unknowns:
    """The `Unknowns` (NumPy arrays) of a model from their flat vector (n,), see `flatten`."""
    leaves, tree = jax.tree.flatten(initial_unknowns(model))
    parts = np.split(vector, np.cumsum([leaf.size for leaf in leaves])[:-1])
    shaped = [part.reshape(leaf.shape) for part, leaf in zip(parts, leaves, strict=True)]
    return jax.tree.unflatten(tree, shaped)
