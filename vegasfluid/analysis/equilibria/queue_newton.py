"""The equilibrium near given queues, by a projected Newton method on the queues.

For given queues all other unknowns converge to a steady state. It remains to find queues that do
not change: their load equals the capacity, or they are empty with less load, or full with more. A
step of Newton's method is cut where queues leave their range, and halved while it leads away from
balance. The method finds stable and unstable equilibria; which one depends on the initial queues.

Sources:
    Derived for this project. Projected Newton methods: D. Bertsekas, SIAM J. Control and
    Optimization 20(2), 1982 (not checked against the original).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.stats import qmc

from vegasfluid.analysis.equilibria.converging import converging
from vegasfluid.analysis.equilibria.corners import Solution, solution_from
from vegasfluid.analysis.equilibria.equations import buffer_sizes
from vegasfluid.analysis.equilibria.pseudo_transient import (
    SteadyState,
    estimate_at,
    first_vector,
    rates_at,
    steady_state,
)
from vegasfluid.errors import SolveFailed
from vegasfluid.fluid.model import FluidModel

__all__ = ["attracts_sweeps", "balanced_near", "halton_queues", "solution_near"]

MAX_STEPS = 40
"""Bound on the steps of Newton's method."""
MAX_HALVINGS = 6
"""Bound on the halvings of one step."""
SMALLEST_LOAD = 1e-3
"""Floor on the load of a link, so that its logarithm is finite."""
EXACT_IMBALANCE = 1e-12
"""Imbalance of the loads at which the method stops: rounding."""
LARGEST_IMBALANCE = 1e-9
"""Imbalance up to which a point is an equilibrium where rounding allows no further step."""
DIFFERENCE_STEP = 1e-6
"""Change of a queue q (packets) for the finite difference of its growth, relative to 1 + q."""
EMPTY_FRACTION = 0.35
"""Fraction of the initial queues of a link that are empty; chosen, as many links have none."""
SMALL_QUEUE_POWER = 3
"""Power applied to evenly spread initial queues, so that short queues are tried more often."""


class QueuePoint(NamedTuple):
    """Queues, and the steady state of all other unknowns for them.

    Args:
        queue: packets; (queues,).
        steady: the steady state.
        load: admitted traffic divided by the capacity, at least SMALLEST_LOAD; (queues,).
        log_load: natural logarithm of the load; 0 for a queue that is empty with load below 1, or
            full with load above 1; (queues,).
    """

    queue: np.ndarray
    steady: SteadyState
    load: np.ndarray
    log_load: np.ndarray

    @property
    def imbalance(self) -> float:
        """Sum over the queues of the absolute logarithms of their loads; 0 at equilibrium.

        A queue that is empty with load below 1, or full with load above 1, adds nothing.
        """
        return float(np.sum(np.abs(self.log_load)))


def halton_queues(buffers: np.ndarray, count: int) -> Iterator[np.ndarray]:
    """Yield initial queues of a search, packets: a Halton sequence with many short queues.

    Args:
        buffers: buffer of each queue, packets; (queues,).
        count: number of arrays (queues,) to yield.

    >>> [start.round(1).tolist() for start in halton_queues(np.array([100.0, 100.0]), 3)]
    [[0.0, 0.0], [1.2, 0.0], [0.0, 11.6]]
    """
    for point in qmc.Halton(buffers.size, scramble=False).random(count):
        fill = np.maximum((point - EMPTY_FRACTION) / (1 - EMPTY_FRACTION), 0.0)
        yield buffers * fill**SMALL_QUEUE_POWER


def solution_near(model: FluidModel, queue: np.ndarray) -> Solution | None:
    """The equilibrium of a model to which Newton's method leads from given queues (packets).

    None if the method does not converge. The result also states which unknowns are at limits or
    corners.
    """
    point = balanced_near(converging(model), queue)
    if point is None:
        return None
    return solution_from(model, estimate_at(model, point.queue, point.steady))


def balanced_near(model: FluidModel, queue: np.ndarray) -> QueuePoint | None:
    """The equilibrium that Newton's method finds from initial queues (packets), as a `QueuePoint`.

    There every link with a queue is fully used. The result is None if the method or the other
    unknowns do not converge.
    """
    try:
        point = evaluate(model, first_vector(model), queue)
        for _ in range(MAX_STEPS):
            better = None if point.imbalance < EXACT_IMBALANCE else damped_step(model, point)
            if better is None:
                break
            point = better
        else:
            return None
    except (SolveFailed, np.linalg.LinAlgError):
        return None
    exact = point.steady.converged and point.imbalance < LARGEST_IMBALANCE
    return point if exact else None


def evaluate(model: FluidModel, start: np.ndarray, queue: np.ndarray) -> QueuePoint:
    """The steady state of all other unknowns, and each link's load, for given queues (packets).

    `start` (n,) holds initial values of these unknowns. A load is admitted traffic divided by
    capacity.
    """
    steady = steady_state(model, start, queue)
    capacity = np.asarray(model.parameters.queues.capacity)
    load = np.maximum(1 + steady.queue_growth / capacity, SMALLEST_LOAD)
    log_load = np.log(load)
    log_load[(queue <= 0) & (log_load < 0)] = 0.0
    log_load[(queue >= buffer_sizes(model)) & (log_load > 0)] = 0.0
    return QueuePoint(queue, steady, load, log_load)


def damped_step(model: FluidModel, point: QueuePoint) -> QueuePoint | None:
    """The point after a Newton step of the queues, halved until it reduces the loads' imbalance.

    The full step and up to five halvings are tried. The result is None if none of them reduces
    the imbalance.
    """
    change = newton_step(model, point)
    fraction = 1.0
    for _ in range(MAX_HALVINGS):
        queue = np.clip(point.queue + fraction * change, 0.0, buffer_sizes(model))
        candidate = evaluate(model, point.steady.vector, queue)
        if candidate.imbalance < point.imbalance:
            return candidate
        fraction /= 2
    return None


def newton_step(model: FluidModel, point: QueuePoint) -> np.ndarray:
    """Newton's change of each queue that would make the logarithms of all loads zero, packets.

    0 for queues that are empty with spare capacity or full with excess load; (queues,).
    """
    free, jacobian = load_jacobian(model, point)
    change = np.zeros(point.queue.size)
    change[free] = np.linalg.solve(jacobian, -point.log_load[free])
    return change


def load_jacobian(model: FluidModel, point: QueuePoint) -> tuple[np.ndarray, np.ndarray]:
    """Which queues can change, and the derivatives of their links' log loads by them.

    Returns:
        Indices of the queues that are neither empty with spare capacity nor full with excess load,
        (k,), and the derivatives, 1/packets, (k, k).
    """
    queue = point.queue
    inside = (queue > 0) & (queue < buffer_sizes(model))
    free = np.flatnonzero((point.log_load != 0) | inside)
    unit = np.asarray(model.parameters.queues.capacity) * point.load
    columns = [growth_derivative(model, point, int(number)) / unit for number in free]
    return free, np.reshape(columns, (free.size, queue.size)).T[free]


def attracts_sweeps(model: FluidModel, point: QueuePoint) -> bool:
    """Whether sweeps that balance queue after queue return to a balanced point from near it.

    Such sweeps are the Gauss-Seidel method, which converges if all eigenvalues of its matrix are
    inside the unit circle. They leave an equilibrium of index -1, where det(-F') of the equilibrium
    equations F is negative.
    """
    free, jacobian = load_jacobian(model, point)
    if not free.size:
        return True
    matrix = np.eye(len(jacobian)) - np.linalg.solve(np.tril(jacobian), jacobian)
    return bool(np.max(np.abs(np.linalg.eigvals(matrix))) < 1)


def growth_derivative(model: FluidModel, point: QueuePoint, number: int) -> np.ndarray:
    """Derivative of each queue's growth by the length of queue `number`, 1/s; (queues,).

    Windows and all other unknowns follow to their steady state. The derivative is a finite
    difference in the queue, with a linear correction of the other unknowns.
    """
    difference = DIFFERENCE_STEP * (1 + point.queue[number])
    queue = point.queue + difference * (np.arange(point.queue.size) == number)
    vector = point.steady.vector
    before = rates_at(model, vector, point.queue)
    shifted = rates_at(model, vector, queue)
    correction = np.linalg.solve(before.jacobian, before.rate - shifted.rate)
    after = rates_at(model, vector + correction, queue)
    return (after.queue_growth - point.steady.queue_growth) / difference
