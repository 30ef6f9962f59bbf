"""Networks of vegasfluid for the scenarios of the reference runs of a real Linux 6.1 kernel.

The kernel's token bucket releases a packet at the time when our link starts to send it, so our
packets take one sending time of a packet and of its ACK longer; the propagation delay is shorter by
that. An ACK has 52 bytes (20 of IP, 32 of TCP with timestamps), a packet carries 1448.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vegasfluid.congestion.base import CongestionControl
from vegasfluid.congestion.reno import Reno
from vegasfluid.congestion.vegas import Vegas
from vegasfluid.network import Flows, Link, Network
from vegasfluid.quantities import mbps, ms

__all__ = ["ACK_BYTES", "PACKET_BYTES", "PAYLOAD_BYTES", "network_of"]

PACKET_BYTES, ACK_BYTES, PAYLOAD_BYTES = 1500, 52, 1448
INITIAL_WINDOW = 10.0
"""Packets (RFC 6928)."""
DELAYED_ACK = 0.04
"""s (Linux's TCP_DELACK_MIN)."""
FAST, ENDLESS = 1e4, 1_000_000
"""How much faster a link is that shall only delay packets, and its buffer."""
QUICK_ACKS = 16
"""Packets (Linux's TCP_MAX_QUICKACKS)."""


def network_of(scenario: Mapping[str, Any], late: float = 0.0) -> Network:
    """The network of a scenario with a first-in, first-out queue; one class a flow.

    Args:
        scenario: as the reference runs describe it.
        late: how much later than there the second and further flows start, s.
    """
    jitter = ms(scenario["jitter_ms"])  # to both sides: the earliest is the propagation
    sending = (PACKET_BYTES + ACK_BYTES) * 8 / (scenario["mbps"] * 1e6)
    rtt = ms(scenario["rtt_ms"]) - sending - 2 * jitter
    capacity = mbps(scenario["mbps"], PACKET_BYTES)
    links = {"bottleneck": Link(capacity, scenario["queue"]["limit"], delay=rtt / 4)}
    if jitter:  # the kernel delays packets before they come to the queue, and ACKs after it
        reorders = scenario["jitter_reorder"]
        before = Link(FAST * capacity, ENDLESS, jitter=2 * jitter, jitter_reorders=reorders)
        links = {"before": before, **links}
    classes = {}
    for number, flow in enumerate(scenario["flows"]):
        classes[f"{flow['algo']}{number}"] = Flows(
            1,
            law_of(scenario, flow),
            base_rtt=rtt,
            path=tuple(links),
            start=flow.get("start", 0.0) + (late if number else 0.0),
            initial_window=INITIAL_WINDOW,
            delayed_ack=DELAYED_ACK if scenario["delack"] else 0.0,
            quick_acks=QUICK_ACKS,
            send_overhead=0.0,  # nothing is random in the kernel either
        )
    return Network(links, classes, packet_bytes=PACKET_BYTES, ack_bytes=ACK_BYTES)


def law_of(scenario: Mapping[str, Any], flow: Mapping[str, Any]) -> CongestionControl:
    """Congestion control of a flow, with the parameters of the kernel."""
    if flow["algo"] == "vegas":
        return Vegas(**scenario["vegas"], dialect="linux")
    return Reno(recovery="sack", byte_counting=True)
