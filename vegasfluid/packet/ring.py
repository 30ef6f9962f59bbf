"""Ring buffers of the packets that travel to each hop, and the delays between hops.

Each hop of each flow has a ring, ordered by arrival time. A packet is appended at the end, or,
where packets can be reordered, inserted before those that arrive later.
"""

from __future__ import annotations

from typing import Any

from vegasfluid.clock import NEVER
from vegasfluid.packet.features import DELAY_EVENTS, FLOW_QUEUES, JITTER, REORDERING, SACK_BLOCKS
from vegasfluid.packet.rng import uniform
from vegasfluid.packet.state import change_of, flow_of, hop_of, link_of, packet_of

__all__ = ["ACCESS", "add_jitter", "current_delay", "pop", "push"]

ACCESS = -1
"""Index that stands for the access links of a class, in place of the index of a link."""


def push(sim: Any, f: int, i: int, time: int, header: int, low: int, high: int) -> None:
    """Insert a packet into the ring of packets on their way to a hop, in order of arrival.

    Sets `flow.full` if the ring has no slot left.

    Args:
        sim: the simulation.
        f: index of the flow.
        i: index of the hop.
        time: arrival time at the hop, ps.
        header: 2 seq + CE mark, or 2 ack_number + ECE for an ACK.
        low: for an ACK, the first packet of its SACK block.
        high: the packet after that block.
    """
    hop = hop_of(sim, f, i)
    position = hop.tail
    if REORDERING:
        position = insert_in_order(sim, f, i, time)
    packet = packet_of(sim, f, i, position)
    packet.time = time
    packet.header = header
    if SACK_BLOCKS:
        packet.low = low
        packet.high = high
    hop.tail += 1
    if position == hop.head:
        hop.next_arrival = time
    oldest = hop.first if FLOW_QUEUES else hop.head
    if hop.tail - oldest >= sim.slot_count:
        flow_of(sim, f).full = 1


def insert_in_order(sim: Any, f: int, i: int, time: int) -> int:
    """Move the packets of a ring that arrive after `time` (ps) back by one position.

    Args:
        sim: the simulation.
        f: index of the flow.
        i: index of the hop.
        time: arrival time of the packet to insert, ps.

    Returns:
        The position that is free for the packet.
    """
    hop = hop_of(sim, f, i)
    position = hop.tail
    while position > hop.head and packet_of(sim, f, i, position - 1).time > time:
        later, free = packet_of(sim, f, i, position - 1), packet_of(sim, f, i, position)
        free.time = later.time
        free.header = later.header
        if SACK_BLOCKS:
            free.low = later.low
            free.high = later.high
        position -= 1
    return position


def pop(sim: Any, f: int, i: int) -> None:
    """Remove the first packet from the ring of hop `i` of flow `f`, and set `next_arrival` (ps)."""
    hop = hop_of(sim, f, i)
    hop.head += 1
    if FLOW_QUEUES and hop.queue < 0:
        hop.first = hop.head
    if hop.head == hop.tail:
        hop.next_arrival = NEVER
    else:
        hop.next_arrival = packet_of(sim, f, i, hop.head).time


def current_delay(sim: Any, link: int, flow_class: int, delay: int, now: int) -> int:
    """Propagation delay of a link at a time, with the delay events up to that time, ps.

    Args:
        sim: the simulation.
        link: index of the queue, or ACCESS.
        flow_class: index of the class whose access links are meant.
        delay: delay at the start of the run, ps.
        now: the time, ps.
    """
    if DELAY_EVENTS:
        for k in range(sim.change_count):
            change = change_of(sim, k)
            if change.at > now:
                break
            if change.link == link and (link != ACCESS or change.flow_class == flow_class):
                delay = change.delay
    return delay


def add_jitter(sim: Any, f: int, i: int, time: int) -> int:
    """Add the random delay of a link, uniform from 0 to its jitter, to a packet's arrival time.

    Unless the link's jitter may reorder packets, the packet arrives no earlier than the one before.

    Args:
        sim: the simulation.
        f: index of the flow.
        i: index of the hop whose link the packet leaves.
        time: arrival time at the end of the link without jitter, ps.

    Returns:
        The arrival time with jitter, ps.
    """
    if JITTER:
        hop = hop_of(sim, f, i)
        if hop.jitter > 0:
            # the generator of the link, which packets of all flows reach in order of time
            time += int(uniform(link_of(sim, hop.link)) * hop.jitter)
            if not hop.reorders:
                time = max(time, hop.last_arrival)
                hop.last_arrival = time
    return time
