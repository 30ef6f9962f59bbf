"""A first-in, first-out link and its queue: admission of packets and their waiting time.

Plain scalar Python on the records; `jit` compiles it and binds `decide` to the rules of the queue
disciplines in use.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from vegasfluid.aqm.base import EARLY, FORCED, MARK
from vegasfluid.packet.features import ECN, FLOW_QUEUES, TWO_WAY
from vegasfluid.packet.rng import uniform
from vegasfluid.packet.state import link_of, waiting_of

__all__ = ["REFUSED", "admit", "backlog", "packets_waiting"]

decide: Callable[..., int]
"""`(i, queue, waiting, idle_packets)`: decision of the i-th queue discipline on a packet: ADMIT,
EARLY, FORCED or MARK."""

REFUSED = -1
"""Result of `admit` for a dropped packet; times are not negative."""


def packets_waiting(sim: Any, number: int, now: int) -> int:
    """Packets in the queue of link `number` at `now` (ps), without the one in transmission.

    If all packets have one size, it follows from the time at which the link becomes idle.
    """
    link = link_of(sim, number)
    if FLOW_QUEUES and link.quantum > 0:
        return link.waiting
    if TWO_WAY:
        while link.head < link.tail and waiting_of(sim, number, link.head).start <= now:
            link.head += 1
        return link.tail - link.head
    ahead = link.free - now
    if ahead <= 0:
        return 0
    return (ahead + link.service - 1) // link.service - 1


def backlog(link: Any, now: int) -> float:
    """Work that a link has yet to transmit at `now` (ps), in data packets.

    It includes the packet in transmission.
    """
    return max(link.free - now, 0) / link.service


def load(sim: Any, number: int, waiting: int) -> float:
    """Total size of the `waiting` packets in the queue of link `number`, in data packets."""
    link = link_of(sim, number)
    if TWO_WAY:
        if waiting == 0:
            return 0.0
        return (link.free - waiting_of(sim, number, link.head).start) / link.service
    return float(waiting)


def admit(sim: Any, number: int, size: float, service: int, now: int) -> int:
    """Admit, mark or drop the packet that arrives at the queue of a link.

    Args:
        sim: the simulation.
        number: index of the link.
        size: size of the packet, in data packets.
        service: transmission time of the packet, ps.
        now: arrival time, ps.

    Returns:
        Twice the time (ps) at which its transmission ends, plus 1 if it is marked; or REFUSED.
    """
    link = link_of(sim, number)
    waiting = packets_waiting(sim, number, now)
    if link.uniform_used:
        link.uniform = uniform(link)
        link.uniform_used = 0
    link.now = now
    link.relative_size = size
    if link.in_bytes:
        link.waiting_size = load(sim, number, waiting)
    idle_packets = float((now - link.free) // link.service) if now > link.free else 0.0
    decision = decide(link.law, link, waiting, idle_packets)
    if decision == EARLY:
        link.early += 1
        return REFUSED
    if decision == FORCED:
        link.forced += 1
        return REFUSED
    if (link.waiting_size if link.in_bytes else float(waiting)) >= link.buffer:
        link.full += 1
        link.count = 0.0
        return REFUSED
    departure = enqueue(sim, number, size, service, now)
    if ECN and decision == MARK:
        link.marked += 1
        return 2 * departure + 1
    return 2 * departure


def enqueue(sim: Any, number: int, size: float, service: int, now: int) -> int:
    """Append an admitted packet to the queue of link `number` at `now` (ps).

    Args:
        sim: the simulation.
        number: index of the link.
        size: size of the packet, in data packets.
        service: transmission time of the packet, ps.
        now: arrival time, ps.

    Returns:
        The end of the packet's transmission, ps.
    """
    link = link_of(sim, number)
    start = max(link.free, now)
    link.admitted += 1
    link.work += size
    link.waited += start - now
    link.free = start + service
    if TWO_WAY and start > now:
        waiting_of(sim, number, link.tail).start = start
        link.tail += 1
    return link.free
