"""Approximate equilibria: root finding for each queue, and Newton's method for all of them.

A longer queue means less traffic, so Brent's method finds each queue between zero and the buffer,
link after link. Where such sweeps over the queues converge, Newton's method finds their limit.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import numpy as np
from scipy.optimize import root_scalar

from vegasfluid.analysis.equilibria.equations import buffer_sizes
from vegasfluid.analysis.equilibria.pseudo_transient import (
    Estimate,
    SteadyState,
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
    known: dict[bytes, SteadyState] = {}

    def steady_at(lengths: np.ndarray) -> SteadyState:
        """The steady state for queues of these lengths, packets; each is searched once."""
        key = lengths.tobytes()
        if key not in known:
            known[key] = steady_state(model, first, lengths)
        return known[key]

    buffers = buffer_sizes(model)
    queue, previous, attempts = np.zeros(size), 0.0, MAX_ATTEMPTS
    for sweep in range(MAX_SWEEPS):
        before, rough = queue.copy(), sweep == 0 and size > 1
        for number in range(size):
            queue[number] = balanced_queue(steady_at, float(buffers[number]), queue, number, rough)
        converged = size == 1 or np.all(np.abs(queue - before) <= QUEUE_TOLERANCE * (1 + queue))
        change = float(np.max(np.abs(queue - before)))
        limit = None
        if attempts and not converged and change < previous:
            limit, attempts = limit_of_sweeps(model, queue, change), attempts - 1
        if converged or limit is not None:
            queue = queue if limit is None else limit
            steady = steady_at(queue)
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
    steady_at: Callable[[np.ndarray], SteadyState],
    buffer: float,
    queue: np.ndarray,
    number: int,
    rough: bool,
) -> float:
    """The length at which queue `number` stops growing while the others are fixed, packets.

    The result is 0 where the queue drains even when empty, and the buffer where it grows even when
    full; `queue` is not changed. If `rough` is set, it has an error of up to 1e-4 of the buffer.

    Args:
        steady_at: the steady state of the other unknowns for given queues, packets; (queues,).
        buffer: packets that fit into this queue.
        queue: packets in all queues; (queues,).
        number: index of the queue.
        rough: whether a rough result is enough.
    """

    def growth(packets: float) -> float:
        """Growth of queue `number` (packets/s) if it has this many packets."""
        lengths = queue.copy()
        lengths[number] = packets
        return float(steady_at(lengths).queue_growth[number])

    if growth(0.0) <= 0:
        return 0.0
    if growth(buffer) > 0 or growth(buffer * (1 - 1e-12)) >= 0:
        return buffer
    full = buffer if growth(buffer) < 0 else buffer * (1 - 1e-12)  # exactly full it may stand still
    unit = abs(growth(full))

    def scaled(packets: float) -> float:
        """Growth on a logarithmic scale, on which it is straighter: a quarter less evaluations."""
        return float(np.arcsinh(growth(packets) / unit))

    tolerance = ROUGH_TOLERANCE * buffer if rough else 1e-11
    return root_scalar(scaled, bracket=(0.0, full), xtol=tolerance, rtol=1e-12, maxiter=200).root
