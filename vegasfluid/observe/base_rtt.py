"""Base round-trip times of flows, and the queueing delay that they share.

A flow that starts while others fill the queue never sees an empty queue: its smallest RTT contains
queueing. But all flows wait in the same queue, so the differences between their RTTs at the same
time are the differences between their base RTTs. Another flow, whose smallest RTT is
free of queueing, thus corrects the first one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from vegasfluid.observe.estimated import Estimated
from vegasfluid.observe.time_grid import TimeGrid

__all__ = ["BaseRtts", "base_rtts"]

MILLISECOND, MICROSECONDS = 5e-4, 5e-5
"""Accuracy of a smallest RTT of whole milliseconds (half of one), and of others (chosen: packets
and ACKs wait for the host by some tens of microseconds), s. Linux takes RTTs from time stamps, too,
which count milliseconds and are rounded down."""
DELAYED_ACK_PACKETS = 1.0
"""Packets of each flow for which a receiver may wait with an ACK: noise of RTTs."""
STANDING_QUEUE = 0.01
"""Part of the smallest RTT that may be queueing: fitted to kernel traces, in which flows that saw
an empty queue were rare."""
LEAST_CORRECTION = 0.1
"""Smallest correction of a base RTT, as a fraction of the median RTT (chosen: well above the noise
of smoothed RTTs on kernel traces)."""


class BaseRtts(NamedTuple):
    """Base RTTs and the queueing delay.

    Args:
        flows: base RTT of each flow with its interval, s.
        delay: queueing delay, s: median over the flows, weighted by the packets that they
            delivered, because delayed ACKs add less to RTTs of larger windows; (time,).
    """

    flows: tuple[Estimated, ...]
    delay: np.ndarray


def base_rtts(grid: TimeGrid) -> BaseRtts:
    """Base RTT of each flow, and the queueing delay over time.

    A base RTT is the flow's smallest RTT, or less if other flows saw a clearly shorter queue.

    Args:
        grid: samples of all flows at common times.
    """
    common = _median_of_flows(grid.rtt)
    offset = np.nanmedian(grid.rtt - common, axis=1)
    least, accuracy = _least_of_paths(grid)
    tolerance = max(LEAST_CORRECTION * float(np.nanmedian(common)), _noise(grid))
    queueing = least - offset
    shared = float(np.nanmedian(queueing[queueing <= np.nanmin(queueing) + tolerance]))
    best = _on_path_of(grid, int(np.nanargmin(queueing)))
    corrected = np.where(best, least, shared + offset)
    is_corrected = least - corrected > tolerance
    base = np.where(is_corrected, corrected, least)
    estimates = tuple(
        _smoothed(float(least[k]), accuracy[k])
        if grid.is_smoothed[k] and not is_corrected[k]
        else _estimate(
            base[k],
            bool(is_corrected[k]),
            corrected[k],
            least[k],
            tolerance,
            accuracy[k],
            bool(best[k]),
        )
        for k in range(len(base))
    )
    delay = _median_of_flows(grid.rtt - base[:, None], grid.packets)
    return BaseRtts(estimates, np.maximum(delay, 0.0))


def _median_of_flows(values: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """Median of values (flow, time) over the flows that are finite at each time; (time,).

    It is interpolated linearly at times at which none is.

    Args:
        values: (flow, time).
        weights: weight of each flow; None: all are equal; (flow,).
    """
    there = np.isfinite(values).any(axis=0)
    places, found = np.arange(values.shape[1]), values[:, there]
    order = np.argsort(found, axis=0)
    ranked = np.take_along_axis(found, order, axis=0)
    shares = np.ones(len(values)) if weights is None else np.maximum(weights, 0.0) + 1.0
    share = np.where(np.isfinite(ranked), shares[order], 0.0)
    below = np.cumsum(share, axis=0) - share / 2
    half = share.sum(axis=0) / 2
    medians = [
        np.interp(half[k], below[share[:, k] > 0, k], ranked[share[:, k] > 0, k])
        for k in range(found.shape[1])
    ]
    return np.interp(places, places[there], medians)


def _least_of_paths(grid: TimeGrid) -> tuple[np.ndarray, np.ndarray]:
    """Smallest RTT of each flow and its accuracy, s; (flow,) both. Flows of a path share them."""
    names = np.array([path or str(number) for number, path in enumerate(grid.paths)])
    paths = [names == name for name in names]
    found = [_smallest(grid.least_rtt[path], np.max(grid.rtt_step[path])) for path in paths]
    return np.array([least for least, _ in found]), np.array([accuracy for _, accuracy in found])


def _smallest(values: np.ndarray, step: float) -> tuple[float, float]:
    """Smallest RTT of a path and its accuracy, s, from the smallest RTTs of its flows; (flow,).

    Whole milliseconds stand for all RTTs up to the next, unless one of these was measured.

    Args:
        values: smallest RTT of each flow, s; (flow,).
        step: step by which the host rounds RTTs down, s; 0: not known.
    """
    if step / 2 > MILLISECOND:
        return float(np.min(values)) + step / 2, step / 2
    whole = np.isclose(values, np.round(values, 3), rtol=0.0, atol=1e-9)
    exact, rounded = (float(np.min(values[one], initial=np.inf)) for one in (~whole, whole))
    if exact <= rounded + 2 * MILLISECOND:
        return exact, MICROSECONDS
    return rounded + MILLISECOND, MILLISECOND


def _on_path_of(grid: TimeGrid, flow: int) -> np.ndarray:
    """Whether each flow has the path of the flow with number `flow`, and so its base RTT; (flow,).

    A flow whose addresses are not known has another path than all others.
    """
    path = grid.paths[flow]
    return np.array(
        [k == flow or (path != "" and each == path) for k, each in enumerate(grid.paths)]
    )


def _noise(grid: TimeGrid) -> float:
    """Time for which receivers may delay ACKs, s: a flow delivers one packet in it, on average."""
    return DELAYED_ACK_PACKETS * len(grid.rtt) * grid.span / max(float(grid.packets.sum()), 1.0)


def _smoothed(least: float, accuracy: float) -> Estimated:
    """Base RTT, s, of a flow of which only smoothed RTTs are known: an upper bound.

    How long the queue was at least is not seen, so the lower end is 0.

    Args:
        least: smallest smoothed RTT, s; it is the estimate.
        accuracy: of the host's RTTs, s.
    """
    return Estimated(least, 0.0, least + accuracy, "smallest smoothed RTT: an upper bound")


def _estimate(
    value: float,
    changed: bool,
    corrected: float,
    least: float,
    tolerance: float,
    accuracy: float,
    has_best_path: bool,
) -> Estimated:
    """A flow's base RTT, s, with its interval.

    Args:
        value: the base RTT, s.
        changed: whether `value` is the corrected base RTT, not the smallest RTT.
        corrected: base RTT that the RTTs of the other flows indicate, s.
        least: smallest RTT of the flow, s.
        tolerance: uncertainty of `corrected`, s.
        accuracy: of the host's RTTs, s.
        has_best_path: whether it has the path of the flow that saw the shortest queue.
    """
    if changed:
        how = "smallest RTT, corrected by flows that saw a shorter queue"
        return Estimated(
            value, max(value - tolerance / 2, 0.0), min(value + tolerance / 2, least), how
        )
    low = (1 - STANDING_QUEUE) * least
    if not has_best_path:  # that this flow saw as short a queue is known with the tolerance only
        low = min(low, max(min(corrected, least) - tolerance, 0.0))
    return Estimated(value, max(low - accuracy, 0.0), least + accuracy, "smallest RTT")
