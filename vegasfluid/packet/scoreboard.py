"""What a sender knows of packets that arrived out of order, and what it makes of it.

A packet counts as lost when one that was sent `reordering` (at first 3) places after it has
arrived. Packets in the network are those sent, less those that arrived, less those that count as
lost and were not sent again.

Sources:
    RFC 2018 (reports), RFC 6675 (pipe; lost packets first). Counting from the highest packet that
    arrived instead of counting arrivals: M. Mathis and J. Mahdavi, "Forward acknowledgement",
    SIGCOMM 1996. Reordering that grows with what was seen: Linux, net/ipv4/tcp_input.c (behaviour
    read there, told anew here).
"""

from __future__ import annotations

from typing import Any

from vegasfluid.packet.memory import flow_of, slot_of

__all__ = ["count_everything_lost", "forget_acknowledged", "note_report", "pipe", "take_hole"]

MOST_REORDERING = 300
"""Packets; Linux's `tcp_max_reordering`."""


def pipe(flow: Any) -> int:
    """Packets of the flow that are in the network, as far as the sender knows."""
    return flow.next_seq - flow.una - flow.sacked - flow.holes


def note_report(sim: Any, f: int, low: int, high: int) -> None:
    """Take in a block of packets that arrived out of order; most of it was in the last report."""
    flow = flow_of(sim, f)
    if low <= flow.known_low and flow.known_high <= high:
        note_arrivals(sim, f, low, flow.known_low)
        note_arrivals(sim, f, flow.known_high, high)
    else:
        note_arrivals(sim, f, low, high)
    flow.known_low = low
    flow.known_high = high
    flow.fack = max(flow.fack, high)
    count_lost(sim, f, flow.fack - flow.reordering)


def note_arrivals(sim: Any, f: int, low: int, high: int) -> None:
    """Mark those of these packets that were not known to have arrived."""
    flow = flow_of(sim, f)
    for seq in range(max(low, flow.una), high):
        if not slot_of(sim, f, seq).sacked:
            slot_of(sim, f, seq).sacked = 1
            flow.sacked += 1
            if flow.rexmit <= seq < flow.edge:
                flow.holes -= 1
            note_reordering(sim, f, seq)


def note_reordering(sim: Any, f: int, seq: int) -> None:
    """A packet that was sent once and comes after later ones was overtaken, not lost."""
    flow = flow_of(sim, f)
    once = slot_of(sim, f, seq).transmissions == 1
    if once and flow.fack - 1 > seq:
        flow.reordering = max(flow.reordering, min(flow.fack - seq, MOST_REORDERING))


def count_lost(sim: Any, f: int, edge: int) -> None:
    """Let everything below `edge` that has not arrived count as lost."""
    flow = flow_of(sim, f)
    while flow.edge < edge:
        if not slot_of(sim, f, flow.edge).sacked and flow.edge >= flow.rexmit:
            flow.holes += 1
        flow.edge += 1


def forget_acknowledged(sim: Any, f: int, first: int) -> None:
    """Free what is known of the packets from `first` that are acknowledged now."""
    flow = flow_of(sim, f)
    for seq in range(first, flow.una):
        if slot_of(sim, f, seq).sacked:
            slot_of(sim, f, seq).sacked = 0
            flow.sacked -= 1
        else:
            if flow.rexmit <= seq < flow.edge:
                flow.holes -= 1
            note_reordering(sim, f, seq)
    flow.fack = max(flow.fack, flow.una)
    flow.edge = max(flow.edge, flow.una)
    flow.rexmit = max(flow.rexmit, flow.una)


def take_hole(sim: Any, f: int) -> int:
    """The first lost packet that was not sent again; the oldest one where none counts as lost."""
    flow = flow_of(sim, f)
    if flow.holes == 0:
        flow.rexmit = max(flow.rexmit, flow.una + 1)
        return flow.una
    while slot_of(sim, f, flow.rexmit).sacked:
        flow.rexmit += 1
    seq = flow.rexmit
    flow.rexmit += 1
    flow.holes -= 1
    return seq


def count_everything_lost(sim: Any, f: int) -> None:
    """After a timeout: what has not arrived is lost, and is to be sent again from the oldest on."""
    flow = flow_of(sim, f)
    flow.rexmit = flow.una
    flow.edge = flow.next_seq
    flow.holes = 0
    for seq in range(flow.una, flow.next_seq):
        if not slot_of(sim, f, seq).sacked:
            flow.holes += 1
