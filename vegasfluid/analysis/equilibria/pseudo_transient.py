"""Approximate equilibria by pseudo-transient continuation, and by root finding for each queue.

For given queues each class sees a constant round-trip time and loss probability, and its windows
converge whether the network as a whole is stable or not. Implicit Euler steps follow them; the step
size grows as they converge. A longer queue means less traffic, so Brent's method finds each queue
between zero and the buffer, link after link until no queue changes.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from scipy.optimize import root_scalar

from vegasfluid.analysis.equilibria.equations import (
    EquilibriumEquations,
    Unknowns,
    buffer_sizes,
    initial_guess,
)
from vegasfluid.errors import SolveFailed
from vegasfluid.fluid.model import FluidModel

__all__ = ["Estimate", "Linearised", "SteadyState", "approximate_equilibrium", "as_numpy"]
__all__ += ["estimate_at", "first_vector", "linearised", "residual", "steady_state"]

FAST = 100.0
"""Factor on the rates of AQM states and counter rates, so that they follow the windows."""
PULL = 10.0
"""Restoring rate beyond a limit, 1/s: how strongly the continuation returns to the limit."""
FIRST_STEP = 1e-3
"""First step of the implicit Euler method, s."""
LONGEST_STEP = 1e12
"""Bound on the step of the implicit Euler method, s; with it a step is one of Newton's method."""
LARGEST_CHANGE = 0.5
"""A step that changes an unknown by more than this, relative above 1, is rejected."""
SMALL_CHANGE = 0.1
"""After a step that changes no unknown by more than this, the next one is twice as long."""
LARGEST_REVERSAL = 0.5
"""A step that reverses a rate to more than this fraction of its size is rejected."""
ROUNDING = 1e-8
"""Rates below this, relative to their unknown above 1, may be rounding errors, 1/s."""
MAX_STEPS = 500
"""Bound on the steps of one continuation."""
MAX_SWEEPS = 60
"""Bound on the passes over all queues."""
WINDOW_TOLERANCE = 1e-13
"""Change in one step, relative above 1, below which a continuation has converged."""
QUEUE_TOLERANCE = 1e-10
"""Change of the queues in one sweep, relative above 1, below which they have converged."""

Vector = Any


class Linearised(NamedTuple):
    """Rates of all unknowns but the queues, for given queues; arrays.

    Args:
        rate: 1/s; AQM states and counter rates are accelerated by FAST; (n,).
        jacobian: derivative of the rates by these unknowns; (n, n).
        queue_growth: rate at which each queue grows, packets/s; (queues,).
    """

    rate: Vector
    jacobian: Vector
    queue_growth: Vector


@jax.jit
def residual(model: FluidModel, unknowns: Unknowns) -> Unknowns:
    """`EquilibriumEquations.residual` of a model, traced once for all that is derived from it."""
    return EquilibriumEquations.from_model(model).residual(unknowns)


@jax.jit
def linearised(model: FluidModel, vector: Vector, queue: Vector) -> Linearised:
    """Rates and Jacobian of all unknowns but the queues.

    Args:
        model: the fluid model.
        vector: all unknowns but the queues; (n,).
        queue: packets; (queues,).
    """
    equations = EquilibriumEquations.from_model(model)

    def rate_of(vector: Vector) -> tuple[Vector, tuple[Vector, Vector]]:
        clipped = equations.clipped(unravel(equations, vector, queue))
        rates = residual(model, clipped)
        fast = jax.tree.map(lambda part: FAST * part, (rates.aqm_states, rates.counter_rates))
        scaled = (fast[0], rates.classes, rates.in_timeout, fast[1])
        excess = vector - ravel_pytree(clipped[1:])[0]
        rate = ravel_pytree(scaled)[0] - PULL * excess
        return rate, (rate, rates.queue)

    jacobian, (rate, queue_growth) = jax.jacfwd(rate_of, has_aux=True)(vector)
    return Linearised(rate, jacobian, queue_growth)


def unravel(equations: EquilibriumEquations, vector: Vector, queue: Vector) -> Unknowns:
    """Unknowns from the queues and from the flat vector of all others."""
    return Unknowns(queue, *ravel_pytree(initial_guess(equations)[1:])[1](vector))


def first_vector(model: FluidModel) -> np.ndarray:
    """All unknowns of the initial guess but the queues, as a flat vector."""
    guess = initial_guess(EquilibriumEquations.from_model(model))
    return np.asarray(ravel_pytree(guess[1:])[0])


class Continuation(NamedTuple):
    """State of a pseudo-transient continuation; JAX arrays.

    Args:
        vector: all unknowns but the queues; (n,).
        local: rates and Jacobian there.
        step: of the implicit Euler method, s.
        steps: number of steps so far.
        status: RUNNING, CONVERGED or DIVERGED.
    """

    vector: Vector
    local: Linearised
    step: Vector
    steps: Vector
    status: Vector


RUNNING, CONVERGED, DIVERGED = 0, 1, 2


@jax.jit
def continuation(model: FluidModel, start: Vector, queue: Vector) -> Continuation:
    """Implicit Euler steps for given queues until the other unknowns converge.

    The first step has zero rates; it only evaluates the start.

    Args:
        model: the fluid model.
        start: all unknowns but the queues; (n,).
        queue: packets; (queues,).
    """
    identity = jnp.eye(start.size)

    def advance(now: Continuation) -> Continuation:
        vector, local, step = now.vector, now.local, now.step
        change = jnp.linalg.solve(identity / step - local.jacobian, local.rate)
        size = jnp.max(jnp.abs(change) / (jnp.abs(vector) + 1))
        then = linearised(model, vector + change, queue)
        finite = jnp.all(jnp.isfinite(then.rate)) | (size >= LARGEST_CHANGE)
        converged = (size < WINDOW_TOLERANCE) & (step > 1)
        running = jnp.where(converged, CONVERGED, RUNNING)
        status = jnp.where(finite & ~jnp.isnan(size), running, DIVERGED)
        too_far = (size >= LARGEST_CHANGE) | reverses(vector, local.rate, then.rate)
        rejected = ~converged & too_far
        longer = jnp.minimum(step * jnp.where(size < SMALL_CHANGE, 2.0, 1.2), LONGEST_STEP)
        new_vector, new = jax.tree.map(
            partial(jnp.where, rejected), (vector, local), (vector + change, then)
        )
        new_step = jnp.where(rejected, step / 4, longer)
        return Continuation(new_vector, new, new_step, now.steps + 1, status)

    zero = Linearised(jnp.zeros_like(start), jnp.zeros_like(identity), jnp.zeros_like(queue))
    first_step, running = jnp.asarray(FIRST_STEP / 2), jnp.asarray(RUNNING)
    first = Continuation(start, zero, first_step, jnp.asarray(0), running)
    return jax.lax.while_loop(
        lambda now: (now.status == RUNNING) & (now.steps <= MAX_STEPS), advance, first
    )


def reverses(vector: Vector, before: Vector, after: Vector) -> Vector:
    """Whether a step crossed a corner: a rate changed its sign and is nearly as large as before."""
    allowed = LARGEST_REVERSAL * jnp.abs(before) + ROUNDING * (1 + jnp.abs(vector))
    return jnp.any((before * after < 0) & (jnp.abs(after) > allowed))


class SteadyState(NamedTuple):
    """Values to which all unknowns but the queues converge for given queues.

    Args:
        vector: these unknowns; (n,).
        queue_growth: rate at which each queue then grows, packets/s; (queues,).
        jacobian: derivative of the rates by these unknowns; (n, n).
        converged: whether the continuation converged; without losses CUBIC's epoch never ends.
    """

    vector: np.ndarray
    queue_growth: np.ndarray
    jacobian: np.ndarray
    converged: bool


def steady_state(model: FluidModel, start: np.ndarray, queue: np.ndarray) -> SteadyState:
    """Steady state of all unknowns but the queues, for given queues.

    Args:
        model: the fluid model.
        start: initial values of these unknowns; (n,).
        queue: packets; (queues,).

    Raises:
        SolveFailed: if values become infinite or NaN.
    """
    last = continuation(model, jnp.asarray(start), jnp.asarray(queue))
    if last.status == DIVERGED:
        raise SolveFailed("the search for an equilibrium diverged")
    return SteadyState(
        np.asarray(last.vector),
        np.asarray(last.local.queue_growth),
        np.asarray(last.local.jacobian),
        bool(last.status == CONVERGED),
    )


def as_numpy(local: Linearised) -> Linearised:
    """The same rates and Jacobian as NumPy arrays.

    Raises:
        SolveFailed: if rates are infinite or NaN.
    """
    local = Linearised(*(np.asarray(part) for part in local))
    if not np.all(np.isfinite(local.rate)):
        raise SolveFailed("the search for an equilibrium diverged")
    return local


class Estimate(NamedTuple):
    """An approximate equilibrium.

    Args:
        unknowns: with about ten digits; those at a limit may lie beyond it.
        constant: which of them have a rate that depends on nothing, as a flat boolean vector.
    """

    unknowns: Unknowns
    constant: np.ndarray


def estimate_at(model: FluidModel, queue: np.ndarray, steady: SteadyState) -> Estimate:
    """The approximate equilibrium with given queues (packets) and the steady state for them."""
    equations = EquilibriumEquations.from_model(model)
    unknowns = unravel(equations, jnp.asarray(steady.vector), jnp.asarray(queue))
    return Estimate(unknowns, np.concatenate([queue < 0, ~np.any(steady.jacobian, axis=1)]))


def approximate_equilibrium(model: FluidModel) -> Estimate:
    """An equilibrium with about ten digits, approached from small windows and empty queues.

    Raises:
        SolveFailed: if windows or queues do not converge.
    """
    first, size = first_vector(model), model.structure.queue_count
    queue = np.zeros(size)
    for _ in range(MAX_SWEEPS):
        before = queue.copy()
        for number in range(size):
            queue[number] = balanced_queue(model, first, queue, number)
        if size == 1 or np.all(np.abs(queue - before) <= QUEUE_TOLERANCE * (1 + queue)):
            steady = steady_state(model, first, queue)
            if not steady.converged:
                break
            return estimate_at(model, queue, steady)
    raise SolveFailed(
        f"no equilibrium was found: windows or queues do not converge; the queues were {queue} "
        "packets"
    )


def balanced_queue(model: FluidModel, start: np.ndarray, queue: np.ndarray, number: int) -> float:
    """The length at which one queue stops growing while the others are fixed, packets."""

    def growth(packets: float) -> float:
        lengths = queue.copy()
        lengths[number] = packets
        return float(steady_state(model, start, lengths).queue_growth[number])

    buffer = float(buffer_sizes(model)[number])
    if growth(0.0) <= 0:
        return 0.0
    if growth(buffer) > 0 or growth(buffer * (1 - 1e-12)) >= 0:
        return buffer
    return root_scalar(growth, bracket=(0.0, buffer), xtol=1e-11, rtol=1e-14, maxiter=200).root
