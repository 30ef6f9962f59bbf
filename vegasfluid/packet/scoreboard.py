"""Scoreboard of selective ACKs: which packets arrived out of order, and which count as lost.

A packet counts as lost when one that was sent `reordering` (at first 3) packets after it has
arrived. The packets in the network (the pipe) are those sent, less those that arrived, less those
that count as lost and were not retransmitted.

Sources:
    RFC 2018 (SACK blocks), RFC 6675 (pipe; lost packets first). Counting from the highest packet
    that arrived instead of counting arrivals: M. Mathis and J. Mahdavi, "Forward
    acknowledgement", SIGCOMM 1996. The reordering threshold follows Linux,
    net/ipv4/tcp_input.c (its behaviour, not its code).
"""

from __future__ import annotations

from typing import Any

from vegasfluid.packet.state import flow_of, slot_of

__all__ = [
    "MAX_REORDERING",
    "clear_acknowledged",
    "mark_all_lost",
    "next_hole",
    "pipe",
    "take_sack_block",
]

MAX_REORDERING = 300
"""Upper bound of the reordering threshold, packets: Linux's `tcp_max_reordering`."""


def pipe(flow: Any) -> int:
    """Number of packets of a flow in the network, as its sender estimates it (RFC 6675, pipe)."""
    return flow.next_seq - flow.una - flow.sacked - flow.holes


def take_sack_block(sim: Any, f: int, low: int, high: int) -> None:
    """Mark the packets of a SACK block of flow `f`, from `low` to below `high`, as arrived.

    Packets that were in the previous block are skipped. A packet then counts as lost if the highest
    one that arrived is at least `flow.reordering` numbers above it.
    """
    flow = flow_of(sim, f)
    if low <= flow.known_low and flow.known_high <= high:
        mark_sacked(sim, f, low, flow.known_low)
        mark_sacked(sim, f, flow.known_high, high)
    else:
        mark_sacked(sim, f, low, high)
    flow.known_low = low
    flow.known_high = high
    flow.fack = max(flow.fack, high)
    mark_lost(sim, f, flow.fack - flow.reordering)


def mark_sacked(sim: Any, f: int, low: int, high: int) -> None:
    """Mark the unacknowledged packets of flow `f` from `low` to below `high` as arrived.

    Updates the counts of packets that arrived out of order and that count as lost.
    """
    flow = flow_of(sim, f)
    for seq in range(max(low, flow.una), high):
        if not slot_of(sim, f, seq).sacked:
            slot_of(sim, f, seq).sacked = 1
            flow.sacked += 1
            if flow.high_rxt <= seq < flow.lost_below:
                flow.holes -= 1
            note_reordering(sim, f, seq)


def note_reordering(sim: Any, f: int, seq: int) -> None:
    """Raise the reordering threshold (packets) of flow `f` if packet `seq` was overtaken.

    It must have been sent once only; the threshold is at most MAX_REORDERING.
    """
    flow = flow_of(sim, f)
    once = slot_of(sim, f, seq).transmissions == 1
    if once and flow.fack - 1 > seq:
        flow.reordering = max(flow.reordering, min(flow.fack - seq, MAX_REORDERING))


def mark_lost(sim: Any, f: int, below: int) -> None:
    """Count every packet of flow `f` below number `below` that has not arrived as lost."""
    flow = flow_of(sim, f)
    while flow.lost_below < below:
        if not slot_of(sim, f, flow.lost_below).sacked and flow.lost_below >= flow.high_rxt:
            flow.holes += 1
        flow.lost_below += 1


def clear_acknowledged(sim: Any, f: int, first: int) -> None:
    """Clear the scoreboard of flow `f` from packet `first` to the last one acknowledged.

    Packets that were sent once and overtaken raise the reordering threshold.
    """
    flow = flow_of(sim, f)
    for seq in range(first, flow.una):
        if slot_of(sim, f, seq).sacked:
            slot_of(sim, f, seq).sacked = 0
            flow.sacked -= 1
        else:
            if flow.high_rxt <= seq < flow.lost_below:
                flow.holes -= 1
            note_reordering(sim, f, seq)
    flow.fack = max(flow.fack, flow.una)
    flow.lost_below = max(flow.lost_below, flow.una)
    flow.high_rxt = max(flow.high_rxt, flow.una)


def next_hole(sim: Any, f: int) -> int:
    """Number of the packet of flow `f` to retransmit next, which then counts as retransmitted.

    It is the first lost one that was not retransmitted, or, if there is none, the oldest.
    """
    flow = flow_of(sim, f)
    if flow.holes == 0:
        flow.high_rxt = max(flow.high_rxt, flow.una + 1)
        return flow.una
    while slot_of(sim, f, flow.high_rxt).sacked:
        flow.high_rxt += 1
    seq = flow.high_rxt
    flow.high_rxt += 1
    flow.holes -= 1
    return seq


def mark_all_lost(sim: Any, f: int) -> None:
    """Count every packet of flow `f` that has not arrived as lost, after a timeout."""
    flow = flow_of(sim, f)
    flow.high_rxt = flow.una
    flow.lost_below = flow.next_seq
    flow.holes = 0
    for seq in range(flow.una, flow.next_seq):
        if not slot_of(sim, f, seq).sacked:
            flow.holes += 1
