"""The packet engine: FIFO links, their queue laws, and the senders around them.

*Eager evaluation.* In a FIFO link the departure of a packet is known when it is admitted, and so
is its arrival at the next queue, or, after the last one, at the receiver and (where ACKs do not
wait in queues) that of its ACK at the sender. So the only events are arrivals at queues: one a
data packet where data go one way over one link. Each flow keeps its packets in rings, one for
each queue on its path (a *stage*), and has one key in the schedule: the earliest head of its
rings, or what its sender or its receiver does by itself. Before an ACK is processed, what is due
earlier at that sender is done.

Everything here is plain scalar Python, which `compiler` compiles as it stands.
"""

from __future__ import annotations

from typing import Any

from vegasfluid.packet.features import COUNTED, DELAYED, LOOSE, MARKS, SELECTIVE, STAGES, TWO_WAY
from vegasfluid.packet.journal import finish, note_links, note_receiver, note_sender
from vegasfluid.packet.link import REFUSED, admit
from vegasfluid.packet.memory import bin_of, flow_of, heap_of, link_of, packet_of, stage_of, time_of
from vegasfluid.packet.receiver import reach_receiver, send_held_ack
from vegasfluid.packet.ring import ACCESS, changed_delay, jittered, pop, push
from vegasfluid.packet.schedule import build, sift_down
from vegasfluid.packet.sender import fire, next_due, reach_sender, send_window

__all__ = ["COMPLETED", "RING_FULL", "SELDOM", "run"]

COMPLETED, RING_FULL = 0, 1
"""How a run ends: at its last sample, or because a flow had more in flight than its ring holds."""

SELDOM = (
    "fire",
    "fire_timer",
    "note_sender",
    "note_receiver",
    "note_links",
    "finish",
    "start",
    "on_timeout",
    "on_ecn_echo",
    "on_application",
    "on_finished",
    "reopen",
    "obey_more",
    "take_duplicate",
    "count_everything_lost",
    "send_held_ack",
    "make_way",
)
"""Functions that few packets reach: called, not inlined, which halves the time to compile."""


def key_of(sim: Any, f: int) -> int:
    """When something happens next to a flow, ps; at which stage it does is kept in the flow."""
    flow = flow_of(sim, f)
    key = stage_of(sim, f, 0).key
    if STAGES:
        where = 0
        for i in range(1, flow.stages):
            other = stage_of(sim, f, i).key
            where = i if other < key else where
            key = min(key, other)
        flow.where = where
    if DELAYED:
        key = min(key, flow.held_at)
    return min(key, next_due(flow))


def step(sim: Any, f: int, now: int) -> None:
    """Do the next thing that happens to a flow: a packet first, then what is due."""
    flow = flow_of(sim, f)
    where = flow.where if STAGES else 0
    if stage_of(sim, f, where).key == now:
        advance(sim, f, where, now)
    elif DELAYED and flow.held_at == now:
        send_held_ack(sim, f, now)
    else:
        fire(sim, f, now)


def advance(sim: Any, f: int, i: int, now: int) -> None:
    """A packet reaches the queue of a stage; if it is admitted, it goes on to the next one."""
    flow, stage = flow_of(sim, f), stage_of(sim, f, i)
    packet = packet_of(sim, f, i, stage.head)
    word = packet.word
    low = high = 0
    if SELECTIVE:
        low, high = packet.low, packet.high
    pop(sim, f, i)
    arrival = now
    if not LOOSE or stage.link >= 0:
        if MARKS:
            link_of(sim, stage.link).ect = flow.ect and i < flow.turn
        if COUNTED and i < flow.turn:
            bin_of(sim, now // link_of(sim, stage.link).bin_width, stage.link).count += 1
        fate = admit(sim, stage.link, stage.worth, stage.service, now)
        if fate == REFUSED:
            note_drop(flow, i)
            return
        if MARKS:
            word |= fate & 1
        departure = fate >> 1
        arrival = departure + changed_delay(sim, stage.link, 0, stage.onward, departure)
        arrival = jittered(sim, f, i, arrival)
    go_on(sim, f, i + 1, arrival, word, low, high)


def note_drop(flow: Any, i: int) -> None:
    """Count a packet that a queue did not take."""
    if i < flow.turn:
        flow.dropped += 1
    else:
        flow.acks_dropped += 1


def go_on(sim: Any, f: int, i: int, arrival: int, word: int, low: int, high: int) -> None:
    """A packet is about to reach stage `i`, or the receiver, or the sender.

    On a loose path the last stages have no queue: there packets that overtook each other on the
    last link are put in order of time.
    """
    flow = flow_of(sim, f)
    turn = flow.turn if STAGES else 1
    stages = flow.stages if STAGES else 1
    if LOOSE:
        if i == turn:
            reach_receiver(sim, f, arrival, word)
        elif i == stages:
            reach_sender(sim, f, arrival, word, low, high)
        elif stage_of(sim, f, i).link >= 0:
            push(sim, f, i, arrival, word, low, high)
        else:
            arrival += changed_delay(sim, ACCESS, flow.group, flow.access_delay, arrival)
            push(sim, f, i, arrival if i < turn else arrival + flow.ack_service, word, low, high)
    elif i == turn:
        reach_receiver(sim, f, arrival + flow.access_delay, word)
    elif TWO_WAY and i == stages:
        arrival += flow.access_delay + flow.ack_service
        reach_sender(sim, f, arrival, word, low, high)
    else:
        push(sim, f, i, arrival, word, low, high)


def start(sim: Any) -> None:
    """Send the first window of every flow, and order the schedule."""
    for f in range(sim.flow_count):
        flow = flow_of(sim, f)
        flow.note_at = time_of(sim, 0).at
        flow.received_note_at = time_of(sim, 0).at
        note_sender(sim, f, flow.start)
        note_receiver(sim, f, flow.start)
        send_window(sim, f, flow.start)
        heap_of(sim, f).key = key_of(sim, f)
    build(sim)


def run(sim: Any) -> int:
    """Run all flows until the last sample time.

    Args:
        sim: a `vegasfluid.packet.memory.Simulation`; what happens is written into it.

    Returns:
        COMPLETED or RING_FULL.
    """
    start(sim)
    noted = 0
    while True:
        first = heap_of(sim, 0)
        f, now = first.flow, first.key
        while now > time_of(sim, noted).at:
            note_links(sim, noted)
            noted += 1
            if noted == sim.sample_count:
                finish(sim)
                return COMPLETED
        step(sim, f, now)
        if flow_of(sim, f).full:
            return RING_FULL
        heap_of(sim, 0).key = key_of(sim, f)
        sift_down(sim, 0)
