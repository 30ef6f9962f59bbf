"""Delays of a network: propagation between hops, their changes at events, bounds on all of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from vegasfluid.fluid.shapes import Number
from vegasfluid.fluid.structure import FluidStructure
from vegasfluid.network import Link, Network

__all__ = ["DelayBounds", "DelayEvents", "bounds_of_delays", "delay_events", "longest_delay"]
__all__ += ["propagation_delays", "shortest_delay"]

PARTS_OF_RTT = 8
"""Delays between links are rounded up to 1/8 of the shortest round trip (chosen), because the
solver's step may not be longer than the shortest delay."""
ACCESS_SLACK = 4.0
"""Ratio of the longest delay in the solver's history to the largest round-trip time with full
queues (chosen; the margin is for slow access links)."""


class DelayBounds(NamedTuple):
    """Bounds to which every delay in the equations is clipped.

    Args:
        shortest: shortest delay, s; the solver's step is no longer.
        longest: longest delay, s: the length of the solver's history.
        rtt: shortest base RTT, s, if it is known; otherwise the shortest delay.
    """

    shortest: Number
    longest: Number
    rtt: Number


class DelayEvents(NamedTuple):
    """Changes of delay during the run.

    Args:
        time: time of each event, s; (events,).
        base_rtt: change of each group's base RTT at each event, s; (events, groups).
        propagation: change of the delay from the previous queue to each hop, s; (events, hops).
    """

    time: Float[np.ndarray, " events"]
    base_rtt: Float[np.ndarray, "events groups"]
    propagation: Float[np.ndarray, "events hops"]


Representatives = Sequence[tuple[str, int]]
"""For each flow group, its class and the number (in the class) of one of its flows."""


def bounds_of_delays(network: Network, given: tuple[float, float] | None) -> DelayBounds:
    """The bounds of all delays in a network's equations, s.

    Args:
        network: the network.
        given: shortest and longest delay, s, required where delays are traced. None: those of the
            network.
    """
    if given is not None:
        return DelayBounds(*given, rtt=given[0])
    rtts = base_rtts_of_stages(network)
    return DelayBounds(shortest_delay(network, rtts), longest_delay(network, rtts), min(rtts))


def base_rtts_of_stages(network: Network) -> list[float]:
    """Base RTTs of all flows before, between and after the network's events, s."""
    return [rtt for one in network.stages() for name in one.flows for rtt in one.base_rtts(name)]


def shortest_delay(network: Network, rtts: Sequence[float] | None = None) -> float:
    """Shortest delay in a network's equations, s.

    It is the shortest base RTT before, between or after events. Where a path has several links, or
    data flow in both directions, it is the shortest propagation and transmission time of a link if
    that is shorter, but at least 1/8 of that base RTT.

    Args:
        network: the network.
        rtts: result of `base_rtts_of_stages`, s; None: it is computed.
    """
    rtt = min(base_rtts_of_stages(network) if rtts is None else rtts)
    several_links = any(len(network.links_of(name)) > 1 for name in network.flows)
    if not several_links and not network.two_way:
        return rtt
    links = [link for one in network.stages() for link in one.links.values()]
    between_links = min(link.delay + 1 / link.capacity for link in links)
    return max(min(between_links, rtt), rtt / PARTS_OF_RTT)


def longest_delay(network: Network, rtts: Sequence[float] | None = None) -> float:
    """Upper bound on the delays in a network's equations, s.

    It is four times the sum of the largest base RTT, the waiting times in full queues on all links,
    and twice their jitter. Waiting times and jitter count twice if data flow in both directions.

    Args:
        network: the network.
        rtts: result of `base_rtts_of_stages`, s; None: it is computed.
    """
    rtts = base_rtts_of_stages(network) if rtts is None else rtts
    links = network.links.values()
    flows = sum(network.counts)
    queueing = sum(longest_wait(link, flows) + 2 * link.jitter for link in links)
    return ACCESS_SLACK * (max(rtts) + (2 if network.two_way else 1) * queueing)


def longest_wait(link: Link, flows: int) -> Number:
    """Longest waiting time of a packet in a full queue of a link, s.

    It is the time to send the buffer. Where each flow has its own queue with a limit, it is
    the time to send the full queues of all `flows`, the number of flows in the network.
    """
    served = link.aqm.flow_queues
    if served is None or served.drops_longest:
        return link.buffer / link.capacity
    return flows * served.flow_limit / link.capacity


def propagation_delays(
    network: Network, structure: FluidStructure, representatives: Representatives
) -> list[Number]:
    """Delay from the previous queue on the path to each hop, s; 0 for the first hop of a group.

    It is the propagation delay and the transmission time of a data packet on the link between
    them. From the last data queue to the first queue of the ACKs, it includes the access links.

    Args:
        network: the network.
        structure: its hops.
        representatives: class and number of a flow of each flow group.

    Returns:
        A list with one delay for each hop.
    """
    links = list(network.links.values())
    delays = []
    for hop in structure.hops:
        if hop.previous < 0:
            delays.append(0.0)
            continue
        previous = structure.hops[hop.previous]
        link = links[structure.queue_links[previous.queue] % len(links)]
        delays.append(link.delay + 1 / link.capacity)
        if hop.is_ack and not previous.is_ack:  # to the receiver over its access link, and back
            name, number = representatives[hop.group]
            path = network.links_of(name)
            round_trip = network.flows[name].propagation(path)[number]
            delays[-1] += (round_trip - 2 * sum(link.delay for link in path)) / 2
    return delays


def delay_events(
    network: Network, structure: FluidStructure, representatives: Representatives
) -> DelayEvents | None:
    """Changes of base RTTs and of propagation delays between hops at each event, s.

    Args:
        network: the network.
        structure: its hops.
        representatives: class and number of a flow of each flow group.

    Returns:
        The changes relative to the delays before each event; None for a network without events.
    """
    if not network.events:
        return None
    rtt_changes, propagation_changes = [], []
    *before, last = network.stages()
    for old, new in zip(before, [*before[1:], last], strict=True):
        rtts = zip(base_rtts(new, representatives), base_rtts(old, representatives), strict=True)
        rtt_changes.append([a - b for a, b in rtts])
        delays = zip(
            propagation_delays(new, structure, representatives),
            propagation_delays(old, structure, representatives),
            strict=True,
        )
        propagation_changes.append([a - b for a, b in delays])
    times = np.array([float(event.at) for event in network.events])
    return DelayEvents(times, np.array(rtt_changes), np.array(propagation_changes))


def base_rtts(network: Network, representatives: Representatives) -> Iterator[Number]:
    """Round-trip time without queueing of the representative of each flow group, s."""
    return (network.base_rtts(name)[number] for name, number in representatives)
