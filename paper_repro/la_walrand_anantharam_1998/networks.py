"""The paper's two networks, and readings of what the paper leaves open.

Runs differ by a shift of each start of up to 0.2 s where the paper gives start times: nothing in
the network is random, so that a single run is one of many possible ones. Shift 0 changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import vegasfluid as vf
from paper_repro.la_walrand_anantharam_1998.tables import CHANGES, DELAYS_MS, STARTS
from vegasfluid.aqm.base import QueueDiscipline
from vegasfluid.congestion.base import CongestionControl

__all__ = [
    "BUFFER",
    "LAWS",
    "NO_LIMIT",
    "OLD_WINDOW",
    "PACKET_BYTES",
    "SHIFTS",
    "gateway",
    "persistent",
    "rerouted",
    "shifted",
]

PACKET_BYTES = 1000
"""Size of a data packet, bytes."""
BUFFER = 90
"""Buffer of the bottleneck, packets; ns-2's drop-tail rejects the last, so that 89 can wait."""
OLD_WINDOW = 20.0
"""Default of the advertised window in ns at that time, packets."""
NO_LIMIT = 1e5
"""Advertised window that never limits a sender, packets."""
SHIFTS = 12
"""Number of runs of each network."""
LONGEST_SHIFT = 0.2
"""Largest shift of a start, s."""
ACCESS = vf.mbps(10, PACKET_BYTES)
"""Capacity of the access links, packets/s."""
BEFORE_R2 = vf.ms(20)
"""One-way delay of the bottleneck of figure 1, s."""
UNLIMITED = vf.mbps(1e4, PACKET_BYTES)
"""Capacity of a link that only adds delay, packets/s: access links limit the rate."""
LAWS: dict[str, CongestionControl] = {
    "reno": vf.Reno(),
    "vegas": vf.Vegas(alpha=1, beta=3, gamma=1, dialect="ns2"),
    "red": vf.Vegas(alpha=1, beta=3, gamma=1, dialect="ns2"),
    "modified": vf.VegasRerouting(),
}
"""Congestion controls by the columns of table 4."""


def shifted(starts: Sequence[float], shift: int) -> tuple[float, ...]:
    """Return the start times of one run, s; shift 0 returns those given.

    >>> shifted((0.0, 2.0), 0)
    (0.0, 2.0)
    """
    if shift == 0:
        return tuple(starts)
    delays = np.random.default_rng(shift).uniform(0.0, LONGEST_SHIFT, len(starts))
    return tuple(float(start + delay) for start, delay in zip(starts, delays, strict=True))


def rerouted(
    law: CongestionControl, shift: int = 0, *, min_rto: float = 1.0, ways: int = 1
) -> vf.Network:
    """Return figure 1: two connections; the delay from R2 to S3, on the first one's path, changes.

    Args:
        law: congestion control of both.
        shift: number of the shift of the starts.
        min_rto: smallest retransmission timeout, s.
        ways: 1 if the paper's delays are round trips, 2 if they are one-way delays.
    """
    bottleneck = vf.Link(vf.mbps(1.5, PACKET_BYTES), BUFFER - 1, delay=ways * BEFORE_R2)
    links = {"bottleneck": bottleneck}
    flows = {}
    for number, start in enumerate(shifted((0.0, 2.0), shift), 1):
        links[f"R2-S{number + 2}"] = vf.Link(UNLIMITED, BUFFER, delay=ways * behind_r2(134))
        flows[f"connection{number}"] = vf.Flows(
            1,
            law,
            access_delay=ways * vf.ms(5),
            access=ACCESS,
            start=start,
            min_rto=min_rto,
            send_overhead=0.0,
            path=("bottleneck", f"R2-S{number + 2}"),
        )
    events = tuple(vf.Event(time, "R2-S3", ways * behind_r2(trip_ms)) for time, trip_ms in CHANGES)
    return vf.Network(links, flows, packet_bytes=PACKET_BYTES, events=events)


def behind_r2(trip_ms: float) -> float:
    """Return the one-way delay from R2 to a receiver, s, for a round-trip delay in ms.

    >>> behind_r2(134)
    0.037
    """
    return round(vf.ms(trip_ms / 2) - BEFORE_R2 - 2 * vf.ms(5), 9)


def gateway(max_drop: float | None, thresholds: tuple[float, float] = (40, 80)) -> vf.Link:
    """Return the bottleneck of figure 6: drop-tail, or RED with its largest drop probability."""
    law: QueueDiscipline = vf.DropTail()
    if max_drop is not None:
        law = vf.Red(*thresholds, max_drop=max_drop)
    buffer = BUFFER - 1 if max_drop is None else BUFFER
    return vf.Link(vf.mbps(1.5, PACKET_BYTES), buffer, law, delay=vf.ms(5))


def persistent(
    law: CongestionControl,
    link: vf.Link,
    shift: int = 0,
    *,
    ways: int = 1,
    max_window: float = OLD_WINDOW,
    starts: Sequence[float] = STARTS,
    overhead: float = 0.0,
    min_rto: float | None = None,
) -> vf.Network:
    """Return figure 6: ten connections that start one after the other.

    Args:
        law: congestion control of all.
        link: bottleneck.
        shift: number of the shift of the starts.
        ways: 1 if the paper's delays are round trips, 2 if they are one-way delays.
        max_window: advertised window, packets.
        starts: start times, s.
        overhead: largest random delay of a sender before each packet, s.
        min_rto: smallest retransmission timeout, s; None: ns-2's 0.2 s.
    """
    connections = zip(DELAYS_MS, shifted(starts, shift), strict=True)
    flows = {
        f"connection{number}": vf.Flows(
            1,
            law,
            base_rtt=ways * vf.ms(delay),
            access=ACCESS,
            start=start,
            max_window=max_window,
            min_rto=min_rto,
            send_overhead=overhead,
        )
        for number, (delay, start) in enumerate(connections, 1)
    }
    return vf.Network(link, flows, packet_bytes=PACKET_BYTES)
