"""Approximate equilibria: root finding for each queue, and Newton's method for all of them.

A longer queue means less traffic, so Brent's method finds each queue between zero and the buffer,
link after link. Where such sweeps over the queues converge, Newton's method finds their limit.
"""

from __future__ import annotations

from contextlib import suppress

import numpy as np
from scipy.optimize import root_scalar

from vegasfluid.analysis.equilibria.equations import buffer_sizes
from vegasfluid.analysis.equilibria.pseudo_transient import (
    Estimate,
    estimate_at,
    first_vector,
    steady_state,
)
from vegasfluid.analysis.equilibria.queue_newton import attracts_sweeps, balanced_near
from vegasfluid.errors import SolveFailed
from vegasfluid.fluid.model import FluidModel

__all__ = ["approximate_equilibrium"]

MAX_SWEEPS = 60
"""Bound on the passes over all queues."""
QUEUE_TOLERANCE = 1e-10
"""Queues have converged if a sweep changes none, q packets, by more than this times 1 + q."""
MAX_ATTEMPTS = 3
"""Bound on the attempts to find the limit of the sweeps by Newton's method."""
ROUGH_TOLERANCE = 1e-4
"""Fraction of the buffer to which the first of several sweeps finds each queue."""
NEAR_LIMIT = 0.5
"""Distance, as a fraction of a sweep's largest change of a queue, within which an equilibrium is
taken as the limit of the sweeps. It is exact for sweeps whose changes become a third each time."""


def approximate_equilibrium(model: FluidModel) -> Estimate:
    """An equilibrium with about ten digits, approached from small windows and empty queues.

    Returns:
        The unknowns, queues in packets, and which of them have a constant rate.

    Raises:
        SolveFailed: if windows or queues do not converge.
    """
    first, size = first_vector(model), model.structure.queue_count
    queue, previous, attempts = np.zeros(size), 0.0, MAX_ATTEMPTS
    for sweep in range(MAX_SWEEPS):
        before, rough = queue.copy(), sweep == 0 and size > 1
        for number in range(size):
            queue[number] = balanced_queue(model, first, queue, number, rough)
        converged = size == 1 or np.all(np.abs(queue - before) <= QUEUE_TOLERANCE * (1 + queue))
        change = float(np.max(np.abs(queue - before)))
        limit = None
        if attempts and not converged and change < previous:
            limit, attempts = limit_of_sweeps(model, queue, change), attempts - 1
        if converged or limit is not None:
            queue = queue if limit is None else limit
            steady = steady_state(model, first, queue)
            if not steady.converged:
                break
            return estimate_at(model, queue, steady)
        previous = change
    raise SolveFailed(
        "no equilibrium was found: windows or queues did not converge; the last queues were "
        f"{queue} packets"
    )


def limit_of_sweeps(model: FluidModel, queue: np.ndarray, change: float) -> np.ndarray | None:
    """The queues to which sweeps converge, by Newton's method, packets; (queues,).

    Args:
        model: the fluid model.
        queue: packets after a sweep; (queues,).
        change: largest change of a queue in that sweep, packets.

    Returns:
        The queues in balance, or None if Newton's method finds none near these, or one that sweeps
        would leave.
    """
    point = balanced_near(model, queue)
    if point is None or np.max(np.abs(point.queue - queue)) > NEAR_LIMIT * change:
        return None
    with suppress(SolveFailed, np.linalg.LinAlgError):  # a derivative by the queues may not exist
        return point.queue if attracts_sweeps(model, point) else None
    return None


def balanced_queue(
    model: FluidModel, start: np.ndarray, queue: np.ndarray, number: int, rough: bool
) -> float:
    """The length at which queue `number` stops growing while the others are fixed, packets.

    The other unknowns are in steady state, searched from `start` (n,). The result is 0 where the
    queue drains even when empty, and the buffer where it grows even when full; `queue` is not
    changed. If `rough` is set, it has an error of up to 1e-4 of the buffer.
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
    tolerance = ROUGH_TOLERANCE * buffer if rough else 1e-11
    return root_scalar(growth, bracket=(0.0, buffer), xtol=tolerance, rtol=1e-14, maxiter=200).root
