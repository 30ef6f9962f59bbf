"""The rings in which packets wait to reach a queue, and the delays between them.

Each stage of each flow has a ring of its own, in order of time. On a path that keeps the order a
packet goes to the end; on a loose one (a delay became shorter, or jitter lets packets overtake)
it moves ahead of those that come later than it.
"""

from __future__ import annotations

from typing import Any

from vegasfluid.packet.dice import uniform
from vegasfluid.packet.features import CHANGES, JITTER, LOOSE, SELECTIVE
from vegasfluid.packet.memory import change_of, flow_of, link_of, packet_of, stage_of
from vegasfluid.packet.records import NEVER

__all__ = ["ACCESS", "changed_delay", "jittered", "pop", "push"]

ACCESS = -1
"""In place of a link: the access links of a class."""


def push(sim: Any, f: int, i: int, time: int, word: int, low: int, high: int) -> None:
    """Let a packet reach stage `i` of flow `f` at a time.

    Args:
        sim: the simulation.
        f: the flow.
        i: the stage.
        time: ps.
        word: 2 seq + mark, or 2 upto + echo for an ACK.
        low: for an ACK, the first packet of the block that it reports.
        high: the packet after that block.
    """
    stage = stage_of(sim, f, i)
    place = stage.tail
    if LOOSE:
        place = make_way(sim, f, i, time)
    packet = packet_of(sim, f, i, place)
    packet.time = time
    packet.word = word
    if SELECTIVE:
        packet.low = low
        packet.high = high
    stage.tail += 1
    if place == stage.head:
        stage.key = time
    if stage.tail - stage.head >= sim.slot_count:
        flow_of(sim, f).full = 1


def make_way(sim: Any, f: int, i: int, time: int) -> int:
    """Move what comes later than `time` one place on; the place that is free then."""
    stage = stage_of(sim, f, i)
    place = stage.tail
    while place > stage.head and packet_of(sim, f, i, place - 1).time > time:
        later, free = packet_of(sim, f, i, place - 1), packet_of(sim, f, i, place)
        free.time = later.time
        free.word = later.word
        if SELECTIVE:
            free.low = later.low
            free.high = later.high
        place -= 1
    return place


def pop(sim: Any, f: int, i: int) -> None:
    """Take the first packet away."""
    stage = stage_of(sim, f, i)
    stage.head += 1
    if stage.head == stage.tail:
        stage.key = NEVER
    else:
        stage.key = packet_of(sim, f, i, stage.head).time


def changed_delay(sim: Any, link: int, group: int, delay: int, now: int) -> int:
    """A delay as it is at a time, ps, given what it was at the start.

    Args:
        sim: the simulation.
        link: a number, or ACCESS.
        group: the class whose access links they are.
        delay: at the start, ps.
        now: ps.
    """
    if CHANGES:
        for k in range(sim.change_count):
            change = change_of(sim, k)
            if change.at > now:
                break
            if change.link == link and (link != ACCESS or change.group == group):
                delay = change.delay
    return delay


def jittered(sim: Any, f: int, i: int, time: int) -> int:
    """When a packet reaches the end of a link that delays it at random, ps."""
    if JITTER:
        stage = stage_of(sim, f, i)
        if stage.jitter > 0:
            # the link's dice: packets come to it in order of time, whatever is looked ahead
            time += int(uniform(link_of(sim, stage.link)) * stage.jitter)
            if not stage.reorders:
                time = max(time, stage.last)
                stage.last = time
    return time
