"""Checks before a packet run: all its times fit its clock, and it ends within hours."""

from __future__ import annotations

import math
from collections.abc import Iterator

from vegasfluid.errors import TooLarge
from vegasfluid.limits import CLOCK, LATEST, short_number
from vegasfluid.network import Flows, Link, Network
from vegasfluid.traffic.base import NO_LIMIT

__all__ = ["check_run", "largest_event_count"]

LATEST_ARRIVAL = 2.5e6
"""Latest time, s, at which a packet sent during a run may arrive. A timer set then, up to 6.4e6 s
(64 times the largest retransmission timeout), is a 64-bit number of picoseconds."""
MOST_EVENTS = 1e11
"""Most packets and application actions of one flow class in a run (chosen: hours of computing)."""
REPEATS = 4
"""Largest number of packets sent for each one delivered by senders that respond to losses
(chosen)."""


def check_run(network: Network, until: float) -> None:
    """Check that all times of a packet run fit its clock, and that it does not take days.

    Args:
        network: the network.
        until: simulated time, s.

    Raises:
        TooLarge: for a class whose round trips may take more than 1.5e6 s, or which may have more
            than 1e11 packets and actions of applications. The message names the class.
    """
    network, allowed = network.resolved(), LATEST_ARRIVAL - LATEST
    for name, longest in longest_round_trips(network):
        if longest > allowed:
            raise TooLarge(
                f"flows.{name}: with full queues a round trip takes up to {short_number(longest)} "
                f"s, more than {short_number(allowed)} s ({CLOCK}); simulate smaller buffers, "
                "faster links or shorter delays."
            )
    for name in network.flows:
        events = until * event_rate(network, name)
        if events > MOST_EVENTS:
            raise TooLarge(
                f"flows.{name}: the run would have up to {short_number(events)} packets or actions "
                f"of applications, more than {MOST_EVENTS:g}; simulate a shorter time, or fewer "
                "or slower flows."
            )


def largest_event_count(network: Network, until: float) -> float:
    """Upper bound on the packets and actions of applications of all classes in a run.

    Args:
        network: the network.
        until: simulated time, s.
    """
    network = network.resolved()
    return until * sum(event_rate(network, name) for name in network.flows)


def longest_round_trips(network: Network) -> Iterator[tuple[str, float]]:
    """Yield each class with an upper bound on the time from a packet to its ACK, s.

    It has the longest propagation delay before or after any delay event, and full queues on the
    path in both directions. The largest jitter, random sending delay and ACK delay are added.
    """
    stages = list(network.stages())
    for name, flows in network.flows.items():
        ratio = max(1.0, network.ack_size(name))
        propagation = max(max(one.flows[name].propagation(one.links_of(name))) for one in stages)
        waiting = sum(
            (longest_queue(link, sum(network.counts)) + 1 + ratio) / link.capacity + link.jitter
            for link in network.links_of(name)
        )
        service = 0.0 if flows.access is None else 2 * (1 + ratio) / flows.access
        own = network.send_overhead(name) + flows.settings.delayed_ack
        yield name, propagation + 2 * waiting + service + own


def longest_queue(link: Link, flows: int) -> float:
    """Upper bound on the packets that a link sends while one packet waits in its queue.

    It is the buffer. Where each flow has its own queue, it is the buffer times `flows`, the number
    of flows: the link may send a packet of each other flow between two packets of one flow.
    """
    return link.buffer * (flows if link.aqm.flow_queues else 1)


def event_rate(network: Network, name: str) -> float:
    """Upper bound on the packets of all flows of a class and their applications' actions, 1/s.

    A sender that responds to losses sends at most the largest window per smallest base RTT, and the
    whole class at most 4 times the capacity of the slowest link on its path. Other senders send
    what their applications offer. No sender sends more than its access link carries.
    """
    flows = network.flows[name]
    reliable = flows.law.rules.reliable
    packets = application_rate(flows, network.packet_bytes)
    if reliable:
        packets = flows.max_window / min(network.base_rtts(name))
    if flows.access is not None:
        packets = min(packets, flows.access)
    total = flows.count * packets
    if reliable:
        total = min(total, REPEATS * min(link.capacity for link in network.links_of(name)))
    return total + flows.count * flows.traffic.action_rate(network.packet_bytes)


def application_rate(flows: Flows, packet_bytes: int) -> float:
    """Mean rate at which a flow's application offers packets of `packet_bytes` bytes, packets/s.

    0 if the traffic source has no such rate, as a bulk transfer, which sends as TCP allows.
    """
    rate = flows.traffic.rate_limit(packet_bytes)
    if rate < NO_LIMIT:
        return rate
    size = flows.traffic.mean_transfer_size(packet_bytes)
    return size * flows.traffic.arrival_rate(0.0) if math.isfinite(size) else 0.0
