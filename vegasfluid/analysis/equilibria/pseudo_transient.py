"""Approximate equilibria by pseudo-transient continuation, and by root finding for each queue.

For given queues each class sees a constant round-trip time and loss probability, and its windows
converge whether the network as a whole is stable or not. Implicit Euler steps follow them; the step
size grows as they converge. A longer queue means less traffic, so Brent's method finds each queue
between zero and the buffer, link after link until no queue changes.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import numpy as np
from scipy.optimize import root_scalar

from vegasfluid.analysis.equilibria.continuation import (
    CONVERGED,
    DIVERGED,
    Linearised,
    accelerations,
    continuation,
    evaluate,
    flatten,
    initial_unknowns,
    linearised,
    unflatten,
)
from vegasfluid.analysis.equilibria.equations import Unknowns, buffer_sizes
from vegasfluid.errors import SolveFailed
from vegasfluid.fluid.model import FluidModel

__all__ = ["Estimate", "SteadyState", "approximate_equilibrium", "estimate_at", "first_vector"]
__all__ += ["rates_at", "steady_state"]

MAX_STEPS = 500
"""Bound on the steps of one continuation."""
MAX_SWEEPS = 60
"""Bound on the passes over all queues."""
QUEUE_TOLERANCE = 1e-10
"""Change of the queues in one sweep, relative above 1, below which they have converged."""


def first_vector(model: FluidModel) -> np.ndarray:
    """Initial guess for a model's unknowns without the queues, as a flat vector; (n,).

    Each is in its own unit: small windows in packets, counter rates of zero.
    """
    return flatten(initial_unknowns(model)[1:])


class SteadyState(NamedTuple):
    """Values to which all unknowns but the queues converge for given queues.

    Args:
        vector: these unknowns; (n,).
        queue_growth: rate at which each queue then grows, packets/s; (queues,).
        jacobian: derivative of the rates by these unknowns, 1/s; (n, n).
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

    Returns:
        The values, the growth of each queue (packets/s), the Jacobian, and whether they converged.

    Raises:
        SolveFailed: if values become infinite or NaN.
    """
    whole = np.concatenate([queue, start])
    last = jax.tree.map(np.asarray, continuation(model, whole, True, MAX_STEPS))
    if last.status == DIVERGED:
        raise SolveFailed("the search for an equilibrium diverged")
    local = linearised(last.local, last.vector, accelerations(initial_unknowns(model)))
    vector, converged = last.vector[queue.size :], bool(last.status == CONVERGED)
    return SteadyState(vector, local.queue_growth, local.jacobian, converged)


def rates_at(model: FluidModel, vector: np.ndarray, queue: np.ndarray) -> Linearised:
    """Rates and Jacobian (1/s) of all unknowns but the queues, and each queue's growth (packets/s).

    Args:
        model: the fluid model.
        vector: all unknowns but the queues; (n,).
        queue: packets; (queues,).

    Raises:
        SolveFailed: if rates are infinite or NaN.
    """
    whole = np.concatenate([queue, vector])
    acceleration = accelerations(initial_unknowns(model))
    local = linearised(evaluate(model, whole, clip=True), whole, acceleration)
    if not np.all(np.isfinite(local.rate)):
        raise SolveFailed("the search for an equilibrium diverged")
    return local


class Estimate(NamedTuple):
    """An approximate equilibrium.

    Args:
        unknowns: their values with about ten digits; those at a limit may lie beyond it.
        constant: boolean (n,): which of the flattened unknowns have a rate that depends on nothing.
    """

    unknowns: Unknowns
    constant: np.ndarray


def estimate_at(model: FluidModel, queue: np.ndarray, steady: SteadyState) -> Estimate:
    """The approximate equilibrium made of given queues (packets) and the steady state for them.

    It also says which unknowns have a rate that depends on no unknown.
    """
    unknowns = unflatten(model, np.concatenate([queue, steady.vector]))
    return Estimate(unknowns, np.concatenate([queue < 0, ~np.any(steady.jacobian, axis=1)]))


def approximate_equilibrium(model: FluidModel) -> Estimate:
    """An equilibrium with about ten digits, approached from small windows and empty queues.

    Returns:
        The unknowns, queues in packets, and which of them have a constant rate.

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
    """The length at which queue `number` stops growing while the others are fixed, packets.

    The other unknowns are in steady state, searched from `start` (n,). The result is 0 where the
    queue drains even when empty, and the buffer where it grows even when full; `queue` is not
    changed.
    """

    def growth(packets: float) -> float:
        """Growth of queue `number` (packets/s) if it has this many packets."""
        lengths = queue.copy()
        lengths[number] = packets
        return float(steady_state(model, start, lengths).queue_growth[number])

    buffer = float(buffer_sizes(model)[number])
    if growth(0.0) <= 0:
        return 0.0
    if growth(buffer) > 0 or growth(buffer * (1 - 1e-12)) >= 0:
        return buffer
    return root_scalar(growth, bracket=(0.0, buffer), xtol=1e-11, rtol=1e-14, maxiter=200).root
