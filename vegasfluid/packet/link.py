"""A first-in, first-out link and the queue in front of it: who is admitted, and who waits how long.

Plain scalar Python on the records, compiled by `compiler`; `decide` is bound there to the rules of
the queue laws in use.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from vegasfluid.aqm.base import EARLY, FORCED, MARK
from vegasfluid.packet.dice import uniform
from vegasfluid.packet.features import MARKS, TWO_WAY
from vegasfluid.packet.memory import link_of, place_of

__all__ = ["REFUSED", "admit", "backlog", "packets_waiting"]

decide: Callable[..., int]

REFUSED = -1
"""In place of a time: the packet was dropped."""


def packets_waiting(sim: Any, number: int, now: int) -> int:
    """Packets in the queue, without the one in transmission.

    Where all packets are of one size this follows from the time at which the link is free.
    """
    link = link_of(sim, number)
    if TWO_WAY:
        while link.head < link.tail and place_of(sim, number, link.head).begin <= now:
            link.head += 1
        return link.tail - link.head
    ahead = link.free - now
    if ahead <= 0:
        return 0
    return (ahead + link.service - 1) // link.service - 1


def backlog(link: Any, now: int) -> float:
    """The work that the link has yet to do, in data packets' worth."""
    return max(link.free - now, 0) / link.service


def load(sim: Any, number: int, waiting: int) -> float:
    """What waits in the queue, in data packets' worth: it is sent without a pause."""
    link = link_of(sim, number)
    if TWO_WAY:
        if waiting == 0:
            return 0.0
        return (link.free - place_of(sim, number, link.head).begin) / link.service
    return float(waiting)


def admit(sim: Any, number: int, worth: float, service: int, now: int) -> int:
    """The queue takes, marks or drops the packet that arrives now.

    Args:
        sim: the simulation.
        number: of the link.
        worth: of the packet, in data packets; 1 for one of data.
        service: the time to send it, ps.
        now: ps.

    Returns:
        When it has left the link, twice (plus 1 for a mark), ps; or REFUSED.
    """
    link = link_of(sim, number)
    waiting = packets_waiting(sim, number, now)
    if link.uniform_used:
        link.uniform = uniform(link)
        link.uniform_used = 0
    link.now = now
    link.relative_size = worth
    if link.in_bytes:
        link.waiting_size = load(sim, number, waiting)
    idle_packets = float((now - link.free) // link.service) if now > link.free else 0.0
    verdict = decide(link.law, link, waiting, idle_packets)
    if verdict == EARLY:
        link.early += 1
        return REFUSED
    if verdict == FORCED:
        link.forced += 1
        return REFUSED
    if (link.waiting_size if link.in_bytes else float(waiting)) >= link.buffer:
        link.full += 1
        link.count = 0.0
        return REFUSED
    departure = enqueue(sim, number, worth, service, now)
    if MARKS and verdict == MARK:
        link.marked += 1
        return 2 * departure + 1
    return 2 * departure


def enqueue(sim: Any, number: int, worth: float, service: int, now: int) -> int:
    """Put an admitted packet at the end of the queue; when it will have been sent, ps."""
    link = link_of(sim, number)
    begin = max(link.free, now)
    link.admitted += 1
    link.work += worth
    link.waited += begin - now
    link.free = begin + service
    if TWO_WAY and begin > now:
        place_of(sim, number, link.tail).begin = begin
        link.tail += 1
    return link.free
