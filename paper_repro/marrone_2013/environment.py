"""The paper's test bed as a network: two stations, two routers, 100 Mbit/s between them.

Each router delays, by 50 ms or 100 ms and a jitter of +-1 ms, and the routers' link is the
bottleneck. What the paper leaves open is a field of `Environment`, so that other readings are other
values of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import vegasfluid as vf
from paper_repro.marrone_2013.without_undo import (
    CubicWithoutUndo,
    RenoWithoutUndo,
    VegasWithoutUndo,
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
PACKET_BYTES, ACK_BYTES, SEGMENT_BYTES = 1500, 52, 1448
"""On the wire, with time stamps; and what a packet carries."""
CAPACITY = vf.mbps(LINK_MBPS, PACKET_BYTES)
BOTTLENECK = "bottleneck"
NETEM_LIMIT = 1000
"""Packets that netem holds by default (`limit` in tc-netem's manual)."""
HELD = 833
"""Packets that netem holds back for 100 ms at 100 Mbit/s, where its limit counts them, too."""
USABLE = 3 / 8
"""Of the largest receive buffer, what is advertised in the end. Linux 2.6.32 gives three quarters
to the window (tcp_adv_win_scale = 2), and lets it grow beyond half of that only where a packet's
bookkeeping is no more than a third of its data (`tcp_grow_window`): 1448 bytes in 2 KiB are not."""
DEFAULT_BUFFER, ENLARGED_BUFFER = 4 * 2**20, 46_777_216
"""Bytes: the largest tcp_rmem by default on a machine of 3 GB, and the one that the paper sets."""
KERNEL_BETA, KERNEL_C = 717 / 1024, 41 * 10 / 1024
"""CUBIC's `beta` and `bic_scale * 10` in Linux 2.6.32, net/ipv4/tcp_cubic.c."""
HYSTART_EXIT = 7 / 8
"""Share of the bandwidth-delay product at which CUBIC leaves its first slow start there.

HyStart does so when the ACKs of a round come for half a round trip: that is so in the first round
that began with half the product or more, after a further half of it is acknowledged; with an ACK
for two packets this is from 3/4 to 1 of it, and this is the middle."""
TIMER_MARGIN = 0.2
"""s: Linux lets its timer be at least so much longer than the round trip (TCP_RTO_MIN is the least
of the variation's part), and not only so long."""
FAST = 1e4
"""How much faster than the bottleneck a router is that only delays packets."""


def window_of(buffer_bytes: float) -> int:
    """Packets that a receive buffer of so many bytes lets into the network.

    >>> window_of(4 * 2**20)
    1086
    """
    return int(USABLE * buffer_bytes / SEGMENT_BYTES)


DEFAULT_WINDOW, ENLARGED_WINDOW = window_of(DEFAULT_BUFFER), window_of(ENLARGED_BUFFER)
WHOLE_WINDOW = 2 * DEFAULT_WINDOW
"""Packets, if the window grew to all three quarters of the default buffer."""

LAWS: Mapping[str, CongestionControl] = {
    "reno": RenoWithoutUndo(recovery="sack"),
    "cubic": CubicWithoutUndo(C=KERNEL_C, beta=KERNEL_BETA),
    "vegas": VegasWithoutUndo(dialect="linux"),
}
"""As the kernel has them, with losses found by selective reports, and Reno growing by ACKs, not
by packets (tcp_abc = 0). Answers to losses that were none are kept: the paper sees the thresholds
stay low."""
UNDOING: Mapping[str, CongestionControl] = {
    "reno": vf.Reno(recovery="sack"),
    "cubic": vf.Cubic(C=KERNEL_C, beta=KERNEL_BETA),
    "vegas": vf.Vegas(dialect="linux"),
}
"""The same where such answers are taken back."""


@dataclass(frozen=True)
class Environment:
    """What the paper says of a test, and how we read it.

    >>> Environment(0.1).round_trip, Environment(0.1, ways=2).round_trip
    (0.1, 0.2)
    """

    delay: float
    """The paper's d, s."""
    jitter: float = 0.0
    """The paper's j, s: each router's delay is uniform within so much of its mean."""
    window: int = DEFAULT_WINDOW
    """Packets that the buffers of the stations allow."""
    ways: int = 1
    """Whether d is the round trip (1), or one way (2: the round trip is twice d)."""
    reorders: bool = True
    """Whether jitter may change the order of packets, as netem's does."""
    buffer: int = NETEM_LIMIT
    """Packets that can wait for the routers' link."""
    send_overhead: float = 1e-4
    """Largest random time that the sender takes, s, so that no two tests are alike."""

    @property
    def round_trip(self) -> float:
        """Mean propagation there and back, s."""
        return self.ways * self.delay

    @property
    def product(self) -> float:
        """The bandwidth-delay product, packets."""
        return CAPACITY * self.round_trip

    def network(self, name: str, law: CongestionControl | None = None) -> vf.Network:
        """One flow of a law over it.

        Args:
            name: reno, cubic or vegas; the flow's class has this name.
            law: another form of it; None: that of `LAWS`.
        """
        flows = vf.Flows(
            1,
            law or LAWS[name],
            base_rtt=self.round_trip - 2 * self.ways * self.jitter,
            access=vf.mbps(1000),
            path=tuple(self._links()),
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
        """Where the first slow start ends: at what the buffers allow, or HyStart does."""
        return min(self.window, HYSTART_EXIT * self.product if name == "cubic" else 1e5)

    def _links(self) -> Mapping[str, vf.Link]:
        """The routers' link; with jitter also the router before it, which moves packets about.

        Where d is one way, the second router jitters what it hands on, too. Our links' jitter only
        delays, by 0 to twice the paper's j, so that the propagation is j shorter for each.
        """
        spread, mixed = 2 * self.jitter, self.reorders
        after = spread if self.ways == 2 else 0.0
        link = vf.Link(CAPACITY, self.buffer, jitter=after, jitter_reorders=mixed)
        if not spread:
            return {BOTTLENECK: link}
        router = vf.Link(FAST * CAPACITY, NETEM_LIMIT, jitter=spread, jitter_reorders=mixed)
        return {"router": router, BOTTLENECK: link}
