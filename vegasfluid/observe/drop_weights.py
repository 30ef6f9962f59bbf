"""Which measured flows the flows that were not measured are like, from the drops of a shared queue.

Flows of one queue differ in rate because their congestion controls, base RTTs and histories differ.
Those that have much of the link lose a small fraction of their packets, those that starve a large
one. The queue's counter of drops, less the packets that the measured flows sent again, gives the
fraction that the flows that were not measured lose. They are taken to be a mixture of the measured
ones that loses this fraction and is otherwise as even as possible.

Sources:
    Weights: exponential tilting, Y. Kitamura and M. Stutzer, "An information-theoretic alternative
    to generalized method of moments estimation", Econometrica 65(4), 1997. Its use for drops is
    derived for this project; compared with kernel traces in docs/use/observe.md.
"""

from __future__ import annotations

from typing import cast

import numpy as np
from scipy.optimize import brentq

from vegasfluid.observe.link_counters import QueueDrops
from vegasfluid.observe.time_grid import TimeGrid

__all__ = ["drop_weights", "tilted_weights"]

STEEPEST = 3.0
"""Largest exponent of a weight, either sign (chosen: 1 to 5 have the same results on traces)."""
LEAST_DROPS = 20.0
"""Fewest drops of the flows that were not measured, and fewest packets that the measured ones sent
again, from which weights are estimated (chosen: the fraction is then known to some 20 %)."""
LEAST_OVERLAP = 0.5
"""Fraction of the measurement in which the queue must have been measured, too."""


def drop_weights(grid: TimeGrid, drops: QueueDrops | None, capacity: float) -> np.ndarray:
    """Weights of the measured flows in the mixture that stands for the flows not measured.

    They are equal without counters, and where fewer than 20 packets were dropped.

    Args:
        grid: samples of all measured flows at common times.
        drops: packets that the bottleneck's queue dropped; None: not known.
        capacity: of the link, which is full, packets/s.

    Returns:
        A weight for each flow, 0 to 1, with the sum 1; (flow,).
    """
    flows = len(grid.controls)
    equal = np.full(flows, 1.0 / flows)
    if drops is None or not grid.has_repeated.all():
        return equal
    start, end = max(grid.time[0], drops.time[0]), min(grid.time[-1], drops.time[-1])
    if end - start < LEAST_OVERLAP * grid.span:
        return equal

    def increase(time: np.ndarray, counter: np.ndarray) -> float:
        """Increase of a counter from `start` to `end`."""
        first, last = np.interp([start, end], time, counter)
        return float(last - first)

    packets = np.array([increase(grid.time, each) for each in grid.delivered])
    lost = np.array([increase(grid.time, each) for each in grid.repeated])
    others_lost = increase(drops.time, drops.packets) - lost.sum()
    others_packets = capacity * (end - start) - packets.sum()
    if min(others_lost, lost.sum()) < LEAST_DROPS or others_packets <= 0:
        return equal
    return tilted_weights(lost - others_lost / others_packets * packets)


def tilted_weights(excess: np.ndarray) -> np.ndarray:
    """Weights w of largest entropy for which the mean of `excess` is 0, as far as they can be.

    They are proportional to exp(-s excess), with s such that the mean is 0, or as near to it as
    exponents of at most 3 allow.

    Args:
        excess: a number for each flow; (flow,).

    Returns:
        Weights with the sum 1; (flow,).

    >>> tilted_weights(np.array([-1.0, 1.0, 3.0])).round(3)
    array([0.616, 0.268, 0.116])
    """
    scale = float(np.abs(excess).max())
    if scale <= 0.0:
        return np.full(len(excess), 1.0 / len(excess))
    relative = excess / scale

    def mean(steepness: float) -> float:
        """Sum of weighted numbers, which falls as the steepness grows."""
        return float(np.exp(-steepness * relative) @ relative)

    if mean(STEEPEST) >= 0.0:
        steepness = STEEPEST
    elif mean(-STEEPEST) <= 0.0:
        steepness = -STEEPEST
    else:
        steepness = cast(float, brentq(mean, -STEEPEST, STEEPEST))
    weights = np.exp(-steepness * relative)
    return weights / weights.sum()
