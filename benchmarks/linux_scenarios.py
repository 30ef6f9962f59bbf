"""Networks of vegasfluid for the scenarios of the reference runs of a real Linux 6.1 kernel.

The kernel's token bucket releases a packet at the time when our link starts to send it, so our
packets take one sending time of a packet and of its ACK longer; the propagation delay is shorter by
that. An ACK has 52 bytes (20 of IP, 32 of TCP with timestamps), a packet carries 1448.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vegasfluid.aqm.base import QueueDiscipline
from vegasfluid.aqm.codel import CoDel
from vegasfluid.aqm.droptail import DropTail
from vegasfluid.aqm.fq import Fq
from vegasfluid.aqm.fq_codel import FqCoDel
from vegasfluid.aqm.pie import Pie
from vegasfluid.aqm.red import Red
from vegasfluid.congestion.base import CongestionControl
from vegasfluid.congestion.cubic import Cubic
from vegasfluid.congestion.reno import Reno
from vegasfluid.congestion.vegas import Vegas
from vegasfluid.export.red_in_tc import weight_log
from vegasfluid.network import Flows, Link, Network
from vegasfluid.quantities import mbps, ms

__all__ = ["ACK_BYTES", "PACKET_BYTES", "PAYLOAD_BYTES", "network_of"]

PACKET_BYTES, ACK_BYTES, PAYLOAD_BYTES = 1500, 52, 1448
QUICK_ACKS = 2874
"""Packets that a receiver acknowledges one by one, until its window has grown to 8 MB (half of the
buffer of 16 MB that the runs have), by two packets for each packet."""
FAST, ENDLESS = 1e4, 1_000_000
"""How much faster a link is that shall only delay packets, and its buffer."""


def network_of(scenario: Mapping[str, Any], late: float = 0.0) -> Network:
    """The network of a scenario with a first-in, first-out queue; one class a flow.

    Args:
        scenario: as the reference runs describe it.
        late: how much later than there the second and further flows start, s.
    """
    jitter = ms(scenario.get("jitter_ms", 0.0))  # to both sides: the earliest is the propagation
    sending = (PACKET_BYTES + ACK_BYTES) * 8 / (scenario["mbps"] * 1e6)
    shortest = ms(scenario["rtt_ms"]) - sending - 2 * jitter
    capacity, queue = mbps(scenario["mbps"], PACKET_BYTES), scenario["queue"]
    delay = shortest / 4 if jitter else 0.0
    links = {"bottleneck": Link(capacity, queue["limit"], aqm=discipline_of(queue), delay=delay)}
    if jitter:  # the kernel delays packets before they come to the queue, and ACKs after it
        reorders = scenario["jitter_reorder"]
        before = Link(FAST * capacity, ENDLESS, jitter=2 * jitter, jitter_reorders=reorders)
        links = {"before": before, **links}
    classes = {}
    for number, flow in enumerate(scenario["flows"]):
        rtt = ms(flow.get("rtt_ms", scenario["rtt_ms"]))
        classes[f"{flow['algo']}{number}"] = Flows(
            1,
            law_of(scenario, flow),
            base_rtt=rtt - sending - 2 * jitter,
            path=tuple(links),
            start=(flow.get("start") or 0.0) + (late if number else 0.0),
            host="linux",
            quick_acks=QUICK_ACKS,
            delayed_ack=None if scenario.get("delack", True) else 0.0,
            send_overhead=0.0,  # nothing is random in the kernel either
        )
    return Network(links, classes, packet_bytes=PACKET_BYTES, ack_bytes=ACK_BYTES)


def discipline_of(queue: Mapping[str, Any]) -> QueueDiscipline:
    """Queue discipline of a reference run: all by their kinds, RED as tc rounds its parameters.

    The runs give `tc red` the burst of its manual page where they give none.
    """
    if queue["kind"] == "pfifo":
        return DropTail()
    if queue["kind"] == "codel":
        target, interval = ms(queue.get("target", 5)), ms(queue.get("interval", 100))
        return CoDel(target, interval)
    if queue["kind"] == "fq_codel":
        return FqCoDel(ms(queue.get("target", 5)), ms(queue.get("interval", 100)))
    if queue["kind"] == "fq":
        return Fq()
    if queue["kind"] == "pie":
        return Pie(target=ms(queue["target"])) if "target" in queue else Pie()
    low, high = queue["min"], queue["max"]
    burst = queue.get("burst") or int((2 * low + high) / 3 + 1)
    log = weight_log(low * PACKET_BYTES, burst, PACKET_BYTES)
    assert log is not None, "the kernel refuses these parameters, too"
    prob = queue.get("prob", 0.1)
    return Red(low, high, max_drop=prob, weight=2.0**-log, implementation="linux")


def law_of(scenario: Mapping[str, Any], flow: Mapping[str, Any]) -> CongestionControl:
    """Congestion control of a flow, with the parameters of the kernel."""
    if flow["algo"] == "vegas":
        return Vegas(**scenario["vegas"], dialect="linux")
    return {"reno": Reno(), "cubic": Cubic()}[flow["algo"]]
