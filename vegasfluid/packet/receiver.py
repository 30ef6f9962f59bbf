"""A TCP receiver: what has arrived, and when it says so.

Sources:
    RFC 5681, section 4.2 (ACKs at once for what is out of order, otherwise for every second
    packet or after a delay); RFC 2018 (the block that holds the latest packet is reported);
    RFC 3168, section 6.1.3 (a mark is echoed until the sender has answered it).
"""

from __future__ import annotations

from typing import Any

from vegasfluid.packet.features import DELAYED, MARKS, OFFERED, SELECTIVE, TWO_WAY
from vegasfluid.packet.journal import note_receiver
from vegasfluid.packet.memory import flow_of, slot_of
from vegasfluid.packet.records import NEVER
from vegasfluid.packet.ring import ACCESS, changed_delay, push
from vegasfluid.packet.sender import catch_up, reach_sender

__all__ = ["reach_receiver", "send_held_ack"]


def reach_receiver(sim: Any, f: int, arrival: int, word: int) -> None:
    """A packet comes over the receiver's access link, which takes them one by one."""
    flow = flow_of(sim, f)
    flow.exit_free = max(arrival, flow.exit_free) + flow.exit_service
    now = flow.exit_free
    if DELAYED and flow.held_at <= now:
        send_held_ack(sim, f, flow.held_at)
    if flow.received_note_at < now:
        note_receiver(sim, f, now)
    if not TWO_WAY:
        catch_up(sim, f, now + flow.return_delay)
    if MARKS:
        note_mark(flow, word)
    prompt = receive(sim, f, word >> 1)
    if DELAYED and prompt == 0 and flow.reliable and may_hold(flow):
        flow.held_at = now + flow.ack_delay
    elif flow.reliable:
        send_ack(sim, f, now)


def may_hold(flow: Any) -> bool:
    """Whether an ACK may wait for a second packet: not at the start, and only one."""
    if flow.quick_acks > 0:
        flow.quick_acks -= 1
        return False
    return flow.ack_delay > 0 and flow.held_at == NEVER


def receive(sim: Any, f: int, seq: int) -> int:
    """Count a packet once, move on over what had come early.

    Returns:
        1 where an ACK is to be sent at once, 0 where it may be held back.
    """
    flow = flow_of(sim, f)
    if OFFERED and not flow.reliable:
        flow.delivered += 1
        return 0
    if seq == flow.expected:
        flow.delivered += 1
        flow.expected += 1
        if flow.delivered == flow.expected:  # nothing has come early
            return 0
        fill(sim, f)
    elif seq > flow.expected and slot_of(sim, f, seq).received == 0:
        flow.delivered += 1
        slot_of(sim, f, seq).received = 1
        if SELECTIVE:
            find_block(sim, f, seq)
    return 1


def fill(sim: Any, f: int) -> None:
    """Move on over what had come early."""
    flow = flow_of(sim, f)
    while slot_of(sim, f, flow.expected).received:
        slot_of(sim, f, flow.expected).received = 0
        flow.expected += 1


def find_block(sim: Any, f: int, seq: int) -> None:
    """The block of packets out of order that holds the latest one, `seq`."""
    flow = flow_of(sim, f)
    low, high = seq, seq + 1
    if flow.expected < flow.block_low <= seq <= flow.block_high:
        low, high = flow.block_low, max(seq + 1, flow.block_high)
    while slot_of(sim, f, low - 1).received:
        low -= 1
    while slot_of(sim, f, high).received:
        high += 1
    flow.block_low = low
    flow.block_high = high


def note_mark(flow: Any, word: int) -> None:
    """Echo marks until a packet comes that was sent after the sender's answer."""
    if (word >> 1) >= flow.reduced_at > flow.answer_seen:
        flow.echo = 0
        flow.answer_seen = flow.reduced_at
    if word & 1:
        flow.echo = 1


def send_ack(sim: Any, f: int, now: int) -> None:
    """Send the ACK of everything that came in order."""
    flow = flow_of(sim, f)
    flow.held_at = NEVER
    word = 2 * flow.expected + flow.echo
    if TWO_WAY:
        delay = changed_delay(sim, ACCESS, flow.group, flow.access_delay, now)
        arrival = now + flow.ack_service + delay
        push(sim, f, flow.turn, arrival, word, flow.block_low, flow.block_high)
    else:
        reach_sender(sim, f, now + flow.return_delay, word, flow.block_low, flow.block_high)


def send_held_ack(sim: Any, f: int, now: int) -> None:
    """The ACK was held back for as long as is allowed."""
    flow = flow_of(sim, f)
    if not TWO_WAY:
        catch_up(sim, f, now + flow.return_delay)
    send_ack(sim, f, now)
