"""The paper's test bed: two stations, and two routers with a link of 100 Mbit/s between them.

Each router adds a delay of 50 ms or 100 ms with a jitter of +-1 ms; the routers' link is the
bottleneck. The fields of `Environment` are also what the paper leaves open, for other readings.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import vegasfluid as vf
from paper_repro.marrone_2013.without_undo import (
    CubicWithoutUndo,
    RenoWithoutUndo,
    VegasWithoutUndo,
    VegasWithSack,
)
from vegasfluid.congestion.base import CongestionControl

__all__ = [
    "BOTTLENECK",
    "CAPACITY",
    "DEFAULT_WINDOW",
    "ENLARGED_WINDOW",
    "HELD",
    "KERNEL_BETA",
    "KERNEL_C",
    "LAWS",
    "LINK_MBPS",
    "NETEM_LIMIT",
    "SEGMENT_BYTES",
    "UNDOING",
    "WHOLE_WINDOW",
    "Environment",
    "window_of",
]

LINK_MBPS = 100.0
"""Capacity of the routers' link, Mbit/s."""
PACKET_BYTES = 1500
"""Size of a data packet on the wire, bytes."""
ACK_BYTES = 52
"""Size of an ACK with time stamps, bytes."""
SEGMENT_BYTES = 1448
"""Data in a packet with time stamps, bytes."""
CAPACITY = vf.mbps(LINK_MBPS, PACKET_BYTES)
"""Capacity of the routers' link, packets/s."""
BOTTLENECK = "bottleneck"
"""Name of the routers' link."""
NETEM_LIMIT = 1000
"""Default buffer of netem, packets (`limit` in tc-netem's manual)."""
HELD = 833
"""Packets that netem delays by 100 ms at 100 Mbit/s, if its limit counts them as well."""
USABLE = 3 / 8
"""Fraction of the largest receive buffer that is finally advertised.

Linux 2.6.32 gives three quarters to the window (tcp_adv_win_scale = 2). The window grows beyond
half of that only if a packet's bookkeeping is at most a third of its data (`tcp_grow_window`),
which is not so for 1448 bytes in 2 KiB.
"""
DEFAULT_BUFFER = 4 * 2**20
"""Largest tcp_rmem by default on a machine of 3 GB, bytes."""
ENLARGED_BUFFER = 46_777_216
"""Largest tcp_rmem that the paper sets, bytes."""
KERNEL_BETA = 717 / 1024
"""CUBIC's `beta`, the fraction kept at a loss, in Linux 2.6.32, net/ipv4/tcp_cubic.c."""
KERNEL_C = 41 * 10 / 1024
"""CUBIC's C, `bic_scale * 10` in the same file, packets/s^3."""
HYSTART_EXIT = 7 / 8
"""Fraction of the bandwidth-delay product at which HyStart ends CUBIC's first slow start.

HyStart ends it when the ACKs of a round arrive for half a round trip. That is the case in the
first round that starts with half the product or more, after another half is acknowledged. With an
ACK for two packets this is at 3/4 to 1 of the product; the value is the middle.
"""
TIMER_MARGIN = 0.2
"""Smallest difference of Linux's retransmission timeout and the round-trip time, s (TCP_RTO_MIN
bounds the variation's part)."""
FAST = 1e4
"""Capacity of a router that only delays packets, relative to the bottleneck's."""


def window_of(buffer_bytes: float) -> int:
    """Return the window (packets) that a receive buffer (bytes) allows.

    >>> window_of(4 * 2**20)
    1086
    """
    return int(USABLE * buffer_bytes / SEGMENT_BYTES)


DEFAULT_WINDOW = window_of(DEFAULT_BUFFER)
"""Window with the default buffer, packets."""
ENLARGED_WINDOW = window_of(ENLARGED_BUFFER)
"""Window with the enlarged buffer, packets."""
WHOLE_WINDOW = 2 * DEFAULT_WINDOW
"""Window if it grew to three quarters of the default buffer, packets."""

LAWS: Mapping[str, CongestionControl] = {
    "reno": RenoWithoutUndo(recovery="sack"),
    "cubic": CubicWithoutUndo(C=KERNEL_C, beta=KERNEL_BETA),
    "vegas": VegasWithoutUndo(dialect="linux"),
}
"""Congestion controls of the kernel, with SACK; Reno grows by ACKs, not by packets (tcp_abc = 0).

Responses to spurious losses are not undone, because thresholds stay low in the paper.
"""
UNDOING: Mapping[str, CongestionControl] = {
    "reno": vf.Reno(recovery="sack"),
    "cubic": vf.Cubic(C=KERNEL_C, beta=KERNEL_BETA),
    "vegas": VegasWithSack(dialect="linux"),
}
"""The same congestion controls, with responses to spurious losses undone."""


@dataclass(frozen=True)
class Environment:
    """Conditions of a test, with a reading of what the paper leaves open.

    >>> Environment(0.1).round_trip, Environment(0.1, ways=2).round_trip
    (0.1, 0.2)
    """

    delay: float
    """The paper's d, s."""
    jitter: float = 0.0
    """The paper's j, s: each router's delay is uniform within its mean plus or minus j."""
    window: int = DEFAULT_WINDOW
    """Window that the stations' buffers allow, packets."""
    ways: int = 1
    """1 if d is the round-trip delay, 2 if it is the one-way delay."""
    reorders: bool = True
    """Whether jitter may change the order of packets, as in netem."""
    buffer: int = NETEM_LIMIT
    """Buffer of the routers' link, packets."""
    send_overhead: float = 1e-4
    """Largest random delay of the sender before each packet, s, so that tests differ."""

    @property
    def round_trip(self) -> float:
        """Mean round-trip propagation delay, s."""
        return self.ways * self.delay

    @property
    def product(self) -> float:
        """Bandwidth-delay product, packets."""
        return CAPACITY * self.round_trip

    def network(self, name: str, law: CongestionControl | None = None) -> vf.Network:
        """Return the network with one flow.

        Args:
            name: congestion control, `reno`, `cubic` or `vegas`; also the name of the flow's class.
            law: another form of it; None: that of `LAWS`.
        """
        flows = vf.Flows(
            1,
            law or LAWS[name],
            base_rtt=self.round_trip - 2 * self.ways * self.jitter,
            access=vf.mbps(1000),
            path=tuple(self._links()),
            host="textbook",  # the kernel's values of that time are given: `linux` is a later one
            initial_window=3,
            initial_ssthresh=self._first_threshold(name),
            max_window=self.window,
            delayed_ack=vf.ms(40),
            quick_acks=16,
            min_rto=self.round_trip + TIMER_MARGIN,
            send_overhead=self.send_overhead,
        )
        return vf.Network(self._links(), {name: flows}, PACKET_BYTES, ACK_BYTES)

    def _first_threshold(self, name: str) -> float:
        """Return the initial ssthresh, packets: the window, or HyStart's end for CUBIC."""
        return min(self.window, HYSTART_EXIT * self.product if name == "cubic" else 1e5)

    def _links(self) -> Mapping[str, vf.Link]:
        """Return the routers' link; with jitter also the router before it.

        If d is a one-way delay, the second router jitters as well. The jitter of our links only
        adds delay, from 0 to twice the paper's j. So their propagation is shorter by j each.
        """
        jitter, reorders = 2 * self.jitter, self.reorders
        second_jitter = jitter if self.ways == 2 else 0.0
        link = vf.Link(CAPACITY, self.buffer, jitter=second_jitter, jitter_reorders=reorders)
        if not jitter:
            return {BOTTLENECK: link}
        router = vf.Link(FAST * CAPACITY, NETEM_LIMIT, jitter=jitter, jitter_reorders=reorders)
        return {"router": router, BOTTLENECK: link}
