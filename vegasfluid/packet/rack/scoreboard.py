"""Which packets arrived, which are in flight, and which count as lost (RFC 8985, section 6).

A packet counts as lost if one that was sent later has arrived, and a reordering window has passed.
That holds for retransmissions, too. Packets sent once are in the order of their numbers;
retransmissions are kept in a ring in the order of time.
"""

from __future__ import annotations

from typing import Any

from vegasfluid.packet.rack.records import NOT_SET, RECOVERY
from vegasfluid.packet.scoreboard import MAX_REORDERING
from vegasfluid.packet.state import flow_of, slot_of

__all__ = [
    "acknowledge_in_order",
    "acknowledge_out_of_order",
    "detect_losses",
    "in_flight",
    "mark_all_lost",
    "mark_lost",
    "next_lost",
    "note_reordering",
    "note_resend",
    "start_ack",
    "unmark_lost",
]


def in_flight(flow: Any) -> int:
    """Packets of a flow in the network, as its sender estimates them (RFC 6675, pipe)."""
    return flow.next_seq - flow.una - flow.sacked - flow.lost_out + flow.resent_out


def start_ack(flow: Any, now: int) -> None:
    """Clear the fields of a flow that describe the present ACK; `acked_at` becomes `now` (ps)."""
    flow.acked_at = now
    flow.ack_delivered = 0
    flow.ack_resent = 0
    flow.ack_original = 0
    flow.ack_sacked = 0
    flow.ack_waits = 0
    flow.ack_reordered = flow.next_seq
    flow.ack_first_sent = flow.ack_last_sent = NOT_SET
    flow.sack_first_sent = flow.sack_last_sent = NOT_SET


def advance_rack(flow: Any, slot: Any, seq: int, now: int) -> None:
    """Update the latest sending time among delivered packets by packet `seq`, delivered at `now`.

    An ACK that comes sooner than the smallest RTT after a retransmission is that of the original
    (RFC 8985, section 6.2, step 2). Times are in ps.
    """
    rtt = now - slot.sent_at
    if rtt < flow.least_rtt and slot.transmissions > 1:
        return
    flow.rack_advanced = 1
    flow.rack_rtt = rtt
    if sent_before(slot.sent_at, seq, flow.rack_sent_at, flow.rack_seq) == 0:
        flow.rack_sent_at = slot.sent_at
        flow.rack_seq = seq


def sent_before(time: int, seq: int, other_time: int, other_seq: int) -> int:
    """1 if packet `seq`, sent at `time`, was sent before packet `other_seq`, sent at `other_time`.

    Else 0; times are in ps. Of two sent at the same time, the one of lower number was first.
    """
    return int(time < other_time or (time == other_time and seq < other_seq))


def acknowledge_out_of_order(sim: Any, f: int, low: int, high: int, now: int) -> None:
    """Mark the packets from `low` to `high` - 1 of flow `f` as received out of order (SACK).

    Packets that the previous SACK block contained are already marked and are skipped. The block
    arrives at `now` (ps).
    """
    flow = flow_of(sim, f)
    if low <= flow.known_low and flow.known_high <= high:
        mark_sacked(sim, f, low, flow.known_low, now)
        mark_sacked(sim, f, flow.known_high, high, now)
    else:
        mark_sacked(sim, f, low, high, now)
    flow.known_low = low
    flow.known_high = high


def mark_sacked(sim: Any, f: int, low: int, high: int, now: int) -> None:
    """Mark the unacknowledged packets of flow `f` from `low` to below `high` as arrived at `now`.

    A packet that was sent once and is below `flow.fack` was overtaken: `flow.ack_reordered` becomes
    the lowest such packet. `now` is in ps.
    """
    flow = flow_of(sim, f)
    for seq in range(max(low, flow.una), high):
        slot = slot_of(sim, f, seq)
        if slot.sacked:
            continue
        advance_rack(flow, slot, seq, now)
        if slot.transmissions == 1:
            if seq < flow.fack:
                flow.ack_reordered = min(flow.ack_reordered, seq)
            if seq < flow.recover:
                flow.ack_original = 1
            if flow.sack_first_sent == NOT_SET:
                flow.sack_first_sent = slot.sent_at
            flow.sack_last_sent = slot.sent_at
        clear_lost(flow, slot)
        slot.sacked = 1
        flow.sacked += 1
        flow.ack_sacked = 1
        flow.ack_delivered += 1
        flow.fack = max(flow.fack, seq + 1)


def clear_lost(flow: Any, slot: Any) -> None:
    """Count the packet in a slot neither as lost nor as retransmitted: it has arrived."""
    flow.lost_out -= int(slot.lost)
    flow.resent_out -= int(slot.resent)
    slot.lost = 0
    slot.resent = 0


def acknowledge_in_order(sim: Any, f: int, ack_number: int, now: int) -> None:
    """Remove the packets of flow `f` below `ack_number` from the scoreboard, at `now` (ps)."""
    flow = flow_of(sim, f)
    for seq in range(flow.una, ack_number):
        slot = slot_of(sim, f, seq)
        if slot.transmissions > 1:
            flow.ack_resent = 1
        elif not slot.sacked:
            flow.ack_last_sent = slot.sent_at
            if flow.ack_first_sent == NOT_SET:
                flow.ack_first_sent = slot.sent_at
            flow.ack_reordered = min(flow.ack_reordered, seq)
            if seq < flow.recover:
                flow.ack_original = 1
        if slot.sacked:
            flow.sacked -= 1
        else:
            flow.ack_delivered += 1
            advance_rack(flow, slot, seq, now)
        clear_lost(flow, slot)
        slot.sacked = 0
        slot.transmissions = 0
    flow.una = ack_number
    flow.next_seq = max(flow.next_seq, ack_number)
    flow.lost_below = max(flow.lost_below, ack_number)
    flow.high_rxt = max(flow.high_rxt, ack_number)


def note_reordering(flow: Any, seq: int, fack: int) -> None:
    """Raise a flow's reordering threshold if packet `seq` arrived after one below `fack`.

    The threshold becomes at least `fack` - `seq` packets, but at most 300.
    """
    if seq < fack:
        flow.reordering = max(flow.reordering, min(fack - seq, MAX_REORDERING))
        flow.reordering_seen = 1


def reordering_window(flow: Any) -> int:
    """Time by which a packet may be overtaken before it counts as lost, ps (RFC 8985, 6.2).

    A quarter of the smallest RTT, at most the smoothed RTT. As long as packets were never
    reordered, it is 0 in recovery, after a timeout, or once `flow.reordering` packets are SACKed.
    """
    if flow.reordering_seen == 0 and (flow.state >= RECOVERY or flow.sacked >= flow.reordering):
        return 0
    return min(flow.least_rtt // 4, flow.srtt)


def mark_lost(flow: Any, slot: Any, seq: int) -> None:
    """Count packet `seq`, or the retransmission of it that is in flight, as lost."""
    if slot.sacked:
        return
    if slot.lost == 0:
        slot.lost = 1
        flow.lost_out += 1
        flow.losses += 1
    elif slot.resent:
        flow.losses += 1
    flow.resent_out -= int(slot.resent)
    slot.resent = 0
    flow.high_rxt = min(flow.high_rxt, seq)


def mark_if_lost(flow: Any, slot: Any, seq: int, now: int, window: int) -> int:
    """Mark packet `seq` as lost if it was sent before a delivered one, and long enough ago.

    Args:
        flow: record of the flow.
        slot: record of the packet.
        seq: its number.
        now: the time, ps.
        window: reordering window, ps.

    Returns:
        Time after which it counts as lost, ps; 0 if it does now; NOT_SET if it was sent after the
        delivered packet that was sent last.
    """
    if not sent_before(slot.sent_at, seq, flow.rack_sent_at, flow.rack_seq):
        return NOT_SET
    remaining = slot.sent_at + flow.rack_rtt + window - now
    if remaining <= 0:
        mark_lost(flow, slot, seq)
        return 0
    return remaining


def detect_losses(sim: Any, f: int, now: int) -> int:
    """Mark the packets of flow `f` as lost that were sent long enough before a delivered one.

    Returns:
        Time from `now` (ps) until all packets that were sent before the delivered packet that was
        sent last count as lost, ps; 0 if all of them already do.
    """
    flow = flow_of(sim, f)
    window = reordering_window(flow)
    return max(detect_originals(sim, f, now, window), detect_resent(sim, f, now, window))


def detect_originals(sim: Any, f: int, now: int, window: int) -> int:
    """Mark the packets of flow `f` as lost that were sent once, long enough before a delivered one.

    Args:
        sim: the simulation.
        f: index of the flow.
        now: the time, ps.
        window: reordering window, ps.

    Returns:
        Time from `now` until all packets that were sent once, and before the delivered packet that
        was sent last, count as lost, ps; 0 if all of them already do.
    """
    flow = flow_of(sim, f)
    wait, seq = 0, flow.lost_below
    while seq < flow.next_seq:
        slot = slot_of(sim, f, seq)
        if not slot.sacked and not slot.lost and slot.transmissions == 1:
            remaining = mark_if_lost(flow, slot, seq, now, window)
            if remaining == NOT_SET:
                break
            wait = max(wait, remaining)
        seq += 1
        if wait == 0:
            flow.lost_below = seq
    return wait


def detect_resent(sim: Any, f: int, now: int, window: int) -> int:
    """Mark retransmissions of flow `f` as lost that were sent long enough before a delivered one.

    Args:
        sim: the simulation.
        f: index of the flow.
        now: the time, ps.
        window: reordering window, ps.

    Returns:
        Time from `now` until all retransmissions that were sent before the delivered packet that
        was sent last count as lost, ps; 0 if all of them already do.
    """
    flow = flow_of(sim, f)
    wait, k = 0, flow.resend_head
    while k < flow.resend_tail:
        seq = slot_of(sim, f, k).queued
        if seq >= flow.una:
            slot = slot_of(sim, f, seq)
            if slot.resent and slot.order == k:
                remaining = mark_if_lost(flow, slot, seq, now, window)
                if remaining == NOT_SET:
                    break
                wait = max(wait, remaining)
        k += 1
        if wait == 0:
            flow.resend_head = k
    return wait


def note_resend(sim: Any, f: int, seq: int) -> None:
    """Append the retransmission of packet `seq` of flow `f` to the ring of retransmissions.

    Sets `flow.full` if the ring has no slot left.
    """
    flow, slot = flow_of(sim, f), slot_of(sim, f, seq)
    if slot.resent == 0:
        slot.resent = 1
        flow.resent_out += 1
    slot.order = flow.resend_tail
    slot_of(sim, f, flow.resend_tail).queued = seq
    flow.resend_tail += 1
    if flow.resend_tail - flow.resend_head >= sim.slot_count:
        flow.full = 1


def next_lost(sim: Any, f: int) -> int:
    """The lowest packet of flow `f` that counts as lost and has no retransmission in flight.

    Returns:
        Its number, or NOT_SET if there is none.
    """
    flow = flow_of(sim, f)
    if flow.lost_out == 0:
        return NOT_SET
    while flow.high_rxt < flow.next_seq:
        slot = slot_of(sim, f, flow.high_rxt)
        if slot.lost and not slot.resent:
            return flow.high_rxt
        flow.high_rxt += 1
    return NOT_SET


def mark_all_lost(sim: Any, f: int, now: int) -> None:
    """Mark packets of flow `f` as lost after a timeout at `now` (ps).

    They are the oldest, and all that were sent at least an RTT (`flow.rack_rtt`) ago. Packets sent
    later may still arrive.
    """
    flow = flow_of(sim, f)
    for seq in range(flow.una, flow.next_seq):
        slot = slot_of(sim, f, seq)
        if seq == flow.una or slot.sent_at + flow.rack_rtt <= now:
            mark_lost(flow, slot, seq)


def unmark_lost(sim: Any, f: int) -> None:
    """Count no packet of flow `f` as lost any more."""
    flow = flow_of(sim, f)
    for seq in range(flow.una, flow.next_seq):
        slot_of(sim, f, seq).lost = 0
    flow.lost_out = 0
    flow.lost_below = flow.una
