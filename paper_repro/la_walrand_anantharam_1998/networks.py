"""The paper's two networks, and the readings of what it leaves out.

Where the paper gives a time, the runs differ by a shift of each start of up to 0.2 s: without
chance in the network a single run is one of many that the paper could have had. Shift 0 is none.
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
BUFFER = 90
"""Packets; ns-2 refuses the last of them behind drop-tail, so that 89 can wait."""
OLD_WINDOW, NO_LIMIT = 20.0, 1e5
"""Packets: the advertised window that ns had by default then, and one that never matters."""
SHIFTS = 12
"""Runs of each kind."""
LONGEST_SHIFT = 0.2
"""s."""
ACCESS = vf.mbps(10, PACKET_BYTES)
BEFORE_R2 = vf.ms(20)
"""s: of the bottleneck of figure 1, one way."""
NO_HINDRANCE = vf.mbps(1e4, PACKET_BYTES)
"""Packets/s: of a link that is there for its delay only, as the access links limit the rate."""
LAWS: dict[str, CongestionControl] = {
    "reno": vf.Reno(),
    "vegas": vf.Vegas(alpha=1, beta=3, gamma=1, dialect="ns2"),
    "red": vf.Vegas(alpha=1, beta=3, gamma=1, dialect="ns2"),
    "modified": vf.VegasRerouting(),
}
"""By the columns of table 4."""


def shifted(starts: Sequence[float], shift: int) -> tuple[float, ...]:
    """The starts of one run, s; those of shift 0 are as given.

    >>> shifted((0.0, 2.0), 0)
    (0.0, 2.0)
    """
    if shift == 0:
        return tuple(starts)
    later = np.random.default_rng(shift).uniform(0.0, LONGEST_SHIFT, len(starts))
    return tuple(float(start + by) for start, by in zip(starts, later, strict=True))


def rerouted(
    law: CongestionControl, shift: int = 0, *, min_rto: float = 1.0, ways: int = 1
) -> vf.Network:
    """Figure 1: two connections; the delay of the link from R2 to S3, the first one's, changes.

    Args:
        law: of both.
        shift: of the starts.
        min_rto: the smallest retransmission timeout, s.
        ways: 1 if the paper's delays are round trips, 2 if they are one way.
    """
    bottleneck = vf.Link(vf.mbps(1.5, PACKET_BYTES), BUFFER - 1, delay=ways * BEFORE_R2)
    links = {"bottleneck": bottleneck}
    flows = {}
    for number, start in enumerate(shifted((0.0, 2.0), shift), 1):
        links[f"R2-S{number + 2}"] = vf.Link(NO_HINDRANCE, BUFFER, delay=ways * behind_r2(134))
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
    events = tuple(vf.Event(at, "R2-S3", ways * behind_r2(to)) for at, to in CHANGES)
    return vf.Network(links, flows, packet_bytes=PACKET_BYTES, events=events)


def behind_r2(trip_ms: float) -> float:
    """The delay of the link from R2 to a receiver, of a round trip of so many ms, s.

    >>> behind_r2(134)
    0.037
    """
    return round(vf.ms(trip_ms / 2) - BEFORE_R2 - 2 * vf.ms(5), 9)


def gateway(max_drop: float | None, thresholds: tuple[float, float] = (40, 80)) -> vf.Link:
    """The bottleneck of figure 6: drop-tail, or RED with a highest drop probability."""
    law: QueueDiscipline = vf.DropTail()
    if max_drop is not None:
        law = vf.Red(*thresholds, max_drop=max_drop)
    waiting = BUFFER - 1 if max_drop is None else BUFFER
    return vf.Link(vf.mbps(1.5, PACKET_BYTES), waiting, law, delay=vf.ms(5))


def persistent(
    law: CongestionControl,
    link: vf.Link,
    shift: int = 0,
    *,
    ways: int = 1,
    max_window: float = OLD_WINDOW,
    starts: Sequence[float] = STARTS,
    overhead: float = 0.0,
) -> vf.Network:
    """Figure 6: ten connections that start one after the other.

    Args:
        law: of all.
        link: the bottleneck.
        shift: of the starts.
        ways: 1 if the paper's delays are round trips, 2 if they are one way.
        max_window: the advertised window, packets.
        starts: s.
        overhead: the largest random time that a sender takes before it sends, s.
    """
    given = zip(DELAYS_MS, shifted(starts, shift), strict=True)
    flows = {
        f"connection{number}": vf.Flows(
            1,
            law,
            base_rtt=ways * vf.ms(delay),
            access=ACCESS,
            start=start,
            max_window=max_window,
            send_overhead=overhead,
        )
        for number, (delay, start) in enumerate(given, 1)
    }
    return vf.Network(link, flows, packet_bytes=PACKET_BYTES)
