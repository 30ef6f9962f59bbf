"""Base round-trip times of flows, and the queueing delay that they share.

A flow that starts while others fill the queue never sees an empty queue: its smallest RTT contains
queueing. But all flows wait in the same queue, so the differences between their RTTs at the same
time are the differences between their base RTTs. Another flow, whose smallest RTT is
free of queueing, thus corrects the first one. Where no flow saw an empty queue, the queue's length
that the router shows does so (`link_counters`).

A receiver that delays ACKs answers the first of two packets when the second arrives. So RTTs are
longer than base RTT and queueing delay, by a time that is estimated from the flows' rates.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from vegasfluid.observe.estimated import NORMAL_QUANTILE, Estimated
from vegasfluid.observe.link_counters import QueueWaits
from vegasfluid.observe.time_grid import TimeGrid

__all__ = ["BaseRtts", "base_rtts"]

MILLISECOND, MICROSECONDS = 5e-4, 5e-5
"""Accuracy of a smallest RTT of whole milliseconds (half of one), and of others (chosen: packets
and ACKs wait for the host by some tens of microseconds), s. Linux takes RTTs from time stamps, too,
which count milliseconds and are rounded down."""
ACK_WAIT, LONGEST_ACK_WAIT = 0.7, 2.8e-3
"""Mean wait for delayed ACKs: part of the time between two packets of a flow, and the longest, s;
fitted to kernel traces, where RTTs exceed base RTT and queueing delay by a median of 2.1 ms, and
with this wait by 0.6 ms."""
NOISE, LARGEST_NOISE = 0.3, 1.8e-3
"""Half of the 90 % interval of a flow's difference from the RTTs of others: part of the time
between two packets of a flow, and the largest, s; fitted to kernel traces."""
DELAYED_ACK = 0.04
"""Longest time for which Linux delays an ACK, s (TCP_DELACK_MIN, include/net/tcp.h). One of two
packets waits for it, or for the next packet."""
STANDING_QUEUE = 0.01
"""Part of the smallest RTT that may be queueing: fitted to kernel traces, in which flows that saw
an empty queue were rare."""
ARRIVAL = 0.75
"""Part of its RTT after which a packet's ACK returns from the moment at which it reached the queue
(chosen: the queue is in the first half of the path)."""
LEAST_WAITS = 10
"""Smallest number of samples of the queue from which base RTTs are corrected (chosen)."""
HOW = ("smallest RTT", "smallest smoothed RTT: an upper bound")
CORRECTED = (
    "smallest RTT, corrected by flows that saw a shorter queue",
    "RTTs without the time in the queue that tc shows",
)


class BaseRtts(NamedTuple):
    """Base RTTs and the queueing delay.

    Args:
        flows: base RTT of each flow with its interval, s.
        delay: queueing delay, s: median over the flows, weighted by the packets that they
            delivered, because delayed ACKs add less to RTTs of larger windows; (time,).
    """

    flows: tuple[Estimated, ...]
    delay: np.ndarray

    def with_standing_queue(self) -> BaseRtts:
        """The same if flows that were not measured may never have let the queue empty.

        How long the shortest queue was then is not seen. The lower ends of the intervals allow for
        one as long as the median queue that was seen.
        """
        standing = float(np.median(self.delay))
        flows = (each._replace(low=max(each.low - standing, 0.0)) for each in self.flows)
        return self._replace(flows=tuple(flows))


class _Reference(NamedTuple):
    """What the RTTs of a flow with the median base RTT would be with an empty queue.

    Args:
        value: this RTT, s.
        error: half of its 90 % interval, s.
        flows: whether each flow's smallest RTT shows it; (flow,). None does if the router's queue
            shows it.
    """

    value: float
    error: float
    flows: np.ndarray


def base_rtts(grid: TimeGrid, waits: QueueWaits | None = None) -> BaseRtts:
    """Base RTT of each flow, and the queueing delay over time.

    A base RTT is the flow's smallest RTT, or less if other flows, or the router, saw a clearly
    shorter queue: what delayed ACKs may add to RTTs of flows with few packets shows nothing.

    Args:
        grid: samples of all flows at common times.
        waits: waiting times in the bottleneck's queue, from the router; None: not measured.
    """
    interval = grid.span / np.maximum(grid.packets, 1.0)
    noise = np.minimum(NOISE * interval, LARGEST_NOISE)
    ack_wait = np.minimum(ACK_WAIT * interval, LONGEST_ACK_WAIT)
    longest = np.minimum(interval, DELAYED_ACK) / 2
    rtt = grid.rtt - ack_wait[:, None] / 2  # half of it, as not all receivers delay ACKs
    common = _median_of_flows(rtt)
    paths = _paths(grid)
    offsets = np.nanmedian(rtt - common, axis=1)
    offset = np.array([np.median(offsets[path]) for path in paths])
    least, accuracy = _least_of_paths(grid, paths)
    reference = _reference_of_flows(paths, least - offset, noise)
    seen = None if waits is None else _reference_of_queue(grid.time, common, waits, ack_wait / 2)
    if seen is not None and reference.value - seen.value > np.hypot(seen.error, reference.error):
        reference = seen
    by_queue = not reference.flows.any()
    corrected, tolerance = reference.value + offset, np.hypot(reference.error, noise)
    tolerance += np.abs(longest - np.median(longest[reference.flows | by_queue]))
    changed = least - corrected > tolerance
    base = np.maximum(np.where(changed, corrected, least), accuracy)
    low, high = (1 - STANDING_QUEUE) * least - accuracy, least + accuracy
    low = np.where(reference.flows, low, np.minimum(low, corrected - tolerance))
    low = np.where(grid.is_smoothed, 0.0, low)
    low = np.maximum(np.where(changed, base - tolerance, low), 0.0)
    high = np.where(changed, np.minimum(base + tolerance, least), high)
    how = [
        CORRECTED[by_queue] if fix else HOW[smooth]
        for fix, smooth in zip(changed, grid.is_smoothed.astype(int), strict=True)
    ]
    estimates = map(Estimated, base.tolist(), low.tolist(), high.tolist(), how)
    delay = _median_of_flows(grid.rtt - base[:, None], grid.packets)
    return BaseRtts(tuple(estimates), np.maximum(delay, 0.0))


def _reference_of_flows(paths: np.ndarray, queueing: np.ndarray, noise: np.ndarray) -> _Reference:
    """The reference from the flows that saw the shortest queue.

    Args:
        paths: result of `_paths`.
        queueing: smallest RTT of each flow without its difference from the others, s; (flow,).
        noise: half of the 90 % interval of this difference, s; (flow,).
    """
    first = int(np.nanargmin(queueing))
    near = queueing <= queueing[first] + np.hypot(noise, noise[first])
    error = float(np.median(noise[near])) / np.sqrt(near.sum())
    return _Reference(float(np.median(queueing[near])), error, paths[first])


def _reference_of_queue(
    time: np.ndarray, common: np.ndarray, waits: QueueWaits, ack_wait: np.ndarray
) -> _Reference | None:
    """The reference from the time that packets wait in the queue; None: hardly any samples.

    Args:
        time: times, s; (time,).
        common: RTT of a flow with the median base RTT at these times, s; (time,).
        waits: waiting times in the queue.
        ack_wait: mean wait for delayed ACKs in the RTTs of each flow, and its error, s; (flow,).
    """
    arrival = waits.time + ARRIVAL * float(np.median(common))
    there = (arrival >= time[0]) & (arrival <= time[-1])
    if there.sum() < LEAST_WAITS:
        return None
    differences = np.interp(arrival[there], time, common) - waits.seconds[there]
    sampling = NORMAL_QUANTILE * float(differences.std()) / np.sqrt(there.sum())
    wait = float(np.median(ack_wait))
    error = float(np.linalg.norm([sampling, waits.packet / 2, wait]))
    return _Reference(float(differences.mean()) - wait, error, np.zeros(len(ack_wait), bool))


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


def _paths(grid: TimeGrid) -> np.ndarray:
    """Whether two flows have the same path, and so one base RTT; (flow, flow).

    A flow whose addresses are not known has another path than all others.
    """
    names = np.array([path or str(number) for number, path in enumerate(grid.paths)])
    return names[:, None] == names


def _least_of_paths(grid: TimeGrid, paths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Smallest RTT of each flow and its accuracy, s; (flow,) both. Flows of a path share them.

    `paths` is the result of `_paths`.
    """
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
