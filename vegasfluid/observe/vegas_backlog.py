"""Vegas's alpha and beta from the packets that its flows keep in the queue."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from vegasfluid.observe.estimated import Estimated, unknown
from vegasfluid.observe.time_grid import TimeGrid

__all__ = ["DeadBandEstimate", "vegas_parameters"]

SMOOTHING = 1.0
"""Packets by which smoothed RTTs show more queue than the smallest RTT of a round trip, from which
Linux computes the backlog (kernel traces: 0.5 to 1.5)."""
REACH = 2.0
"""Half the width of the 90 % intervals, packets (kernel traces)."""

MOST_LOSSES = 0.015
"""Fraction of packets lost above which losses determine the window rather than alpha and beta."""


SMALL = 8.0
"""Window up to which alpha and beta do not decide, packets: in round trips with fewer than three
RTT samples Linux's Vegas grows as Reno does (tcp_vegas.c), and receivers acknowledge two packets
with one ACK, so that windows below 6 packets grow; with two packets of margin (chosen)."""


class DeadBandEstimate(NamedTuple):
    """Parameters of the measured Vegas flows.

    Args:
        alpha: backlog below which the window grows, packets.
        beta: backlog above which it shrinks, packets.
    """

    alpha: Estimated
    beta: Estimated


def vegas_parameters(grid: TimeGrid, flows: Sequence[int]) -> DeadBandEstimate:
    """Vegas's alpha and beta, as Linux counts them.

    Linux compares `cwnd (RTT / baseRTT - 1)` with alpha and beta (tcp_vegas.c), where baseRTT is
    the smallest RTT of the flow itself. Flows come to a halt anywhere between the two, so the
    smallest median backlog of a flow is near alpha and the largest near beta, if there are many.
    Both are unknown if more than 1.5 % of the packets are lost, without windows, and if the windows
    are so small that Linux's Vegas grows as Reno does.

    Args:
        grid: samples of all flows at common times.
        flows: indices of the flows that run Vegas, at least one.
    """
    flows = [flow for flow in flows if np.isfinite(grid.window[flow] + grid.rtt[flow]).any()]
    if not flows:
        never = unknown("the windows of the Vegas flows were not measured")
        return DeadBandEstimate(never, never)
    backlog = grid.window[flows] * (grid.rtt[flows] / grid.least_rtt[flows, None] - 1)
    counted = [flow for flow in flows if grid.has_repeated[flow]]
    repeated, delivered = grid.losses[counted], grid.packets[counted]
    if repeated.sum() > MOST_LOSSES * delivered.sum():
        lost = float(repeated.sum() / max(delivered.sum(), 1.0))
        never = unknown(f"losses ({lost:.1%} of the packets) rather than Vegas set its windows")
        return DeadBandEstimate(never, never)
    typical = np.nanmedian(grid.window[flows], axis=1)
    chosen = typical >= SMALL
    if not chosen.any():
        why = f"windows of {typical.max():.0f} packets, in which Linux's Vegas grows as Reno does"
        return DeadBandEstimate(unknown(why), unknown(why))
    flows = [flow for flow, large in zip(flows, chosen, strict=True) if large]
    backlog = backlog[chosen]
    lossless = np.diff(grid.repeated[flows], axis=1, prepend=grid.repeated[flows, :1]) < 0.5
    calm = lossless & np.isfinite(backlog)
    medians = [
        float(np.median(each[when])) if when.any() else float(np.nanmedian(each))
        for each, when in zip(backlog, calm, strict=True)
    ]
    least = max(min(medians) - SMOOTHING, 0.5)
    most = max(max(medians) - SMOOTHING / 2, least)
    how = f"backlogs of {len(medians)} Vegas flows between losses"
    return DeadBandEstimate(_around(least, how), _around(most, how))


def _around(value: float, how: str) -> Estimated:
    """An estimate of a number of packets with the accuracy of smoothed RTTs."""
    return Estimated(value, max(value - REACH, 0.0), value + REACH, how)
