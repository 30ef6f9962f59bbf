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

RESOLUTION = 5e-4
"""Half a millisecond: accuracy of the smallest RTT of a host that counts in milliseconds, s."""
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
        delay: queueing delay, median over the flows, s; (time,).
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
    least = _least_of_paths(grid)
    tolerance = max(LEAST_CORRECTION * float(np.nanmedian(common)), _noise(grid))
    queueing = least - offset
    shared = float(np.nanmedian(queueing[queueing <= np.nanmin(queueing) + tolerance]))
    corrected = shared + offset
    is_corrected = least - corrected > tolerance
    base = np.where(is_corrected, corrected, least)
    typical = np.nanmedian(grid.rtt, axis=1)
    estimates = tuple(
        _smoothed(float(least[k]), float(typical[k]))
        if grid.is_smoothed[k] and not is_corrected[k]
        else _estimate(base[k], bool(is_corrected[k]), corrected[k], least[k], tolerance)
        for k in range(len(base))
    )
    delay = _median_of_flows(grid.rtt - base[:, None])
    return BaseRtts(estimates, np.maximum(delay, 0.0))


def _median_of_flows(values: np.ndarray) -> np.ndarray:
    """Median of values (flow, time) over the flows that are finite at each time; (time,).

    It is interpolated linearly at times at which none is.
    """
    there = np.isfinite(values).any(axis=0)
    places = np.arange(values.shape[1])
    return np.interp(places, places[there], np.nanmedian(values[:, there], axis=0))


def _least_of_paths(grid: TimeGrid) -> np.ndarray:
    """Smallest RTT of each flow, s; (flow,). Flows to the same address share it."""
    least = grid.least_rtt.copy()
    for path in {path for path in grid.paths if path}:
        same = np.array([each == path for each in grid.paths])
        least[same] = np.nanmin(least[same])
    return least


def _noise(grid: TimeGrid) -> float:
    """Time for which receivers may delay ACKs, s: a flow delivers one packet in it, on average."""
    return DELAYED_ACK_PACKETS * len(grid.rtt) * grid.span / max(float(grid.packets.sum()), 1.0)


def _smoothed(least: float, typical: float) -> Estimated:
    """Base RTT, s, of a flow of which only smoothed RTTs are known, which are larger.

    Args:
        least: smallest smoothed RTT, s; it is the estimate.
        typical: median smoothed RTT, s; its distance from `least` is that of the lower end.
    """
    low = max(least - (typical - least), 0.0) - RESOLUTION
    return Estimated(least, low, least + RESOLUTION, "smallest smoothed RTT: an upper bound")


def _estimate(
    value: float, changed: bool, corrected: float, least: float, tolerance: float
) -> Estimated:
    """A flow's base RTT, s, with its interval.

    Args:
        value: the base RTT, s.
        changed: whether `value` is the corrected base RTT, not the smallest RTT.
        corrected: base RTT that the RTTs of the other flows indicate, s.
        least: smallest RTT of the flow, s.
        tolerance: uncertainty of `corrected`, s.
    """
    if changed:
        how = "smallest RTT, corrected by flows that saw a shorter queue"
        return Estimated(
            value, max(value - tolerance / 2, 0.0), min(value + tolerance / 2, least), how
        )
    low = max(corrected, (1 - STANDING_QUEUE) * least)
    return Estimated(value, min(low, least) - RESOLUTION, least + RESOLUTION, "smallest RTT")
