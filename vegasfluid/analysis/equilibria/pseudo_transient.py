"""Steady states for given queues, by pseudo-transient continuation.

For given queues each class sees a constant round-trip time and loss probability, and its windows
converge whether the network as a whole is stable or not. Implicit Euler steps follow them; the step
size grows as they converge.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import numpy as np

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
from vegasfluid.analysis.equilibria.equations import Unknowns
from vegasfluid.errors import SolveFailed
from vegasfluid.fluid.model import FluidModel

__all__ = ["Estimate", "SteadyState", "estimate_at", "first_vector", "rates_at", "steady_state"]

MAX_STEPS = 500
"""Bound on the steps of one continuation."""


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
        jacobian: derivative of the rates by these unknowns, 1/s, accelerated as in `Linearised`;
            (n, n).
        converged: whether the continuation converged. It does not for CUBIC without losses, whose
            time since the last loss grows for ever.
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
        constant: boolean (n,): which of the flattened unknowns are queues below 0, or have a rate
            that depends on no unknown.
    """

    unknowns: Unknowns
    constant: np.ndarray


def estimate_at(model: FluidModel, queue: np.ndarray, steady: SteadyState) -> Estimate:
    """The estimate of an equilibrium with these queues (packets) and the steady state for them.

    It marks as `constant` the queues below 0, and the unknowns whose rate depends on no unknown.
    """
    unknowns = unflatten(model, np.concatenate([queue, steady.vector]))
    return Estimate(unknowns, np.concatenate([queue < 0, ~np.any(steady.jacobian, axis=1)]))
