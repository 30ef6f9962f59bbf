"""A TCP sender: what it sends, its retransmission timer, and how it takes an ACK.

Plain scalar Python on the records, compiled by `compiler`, which binds the names of the rules
(`on_ack`, ...) to the laws in use.

Sources:
    RFC 5681 (windows), RFC 6298 (timer), RFC 3042 (limited transmit), RFC 3168 section 6.1.2 (one
    answer to marks in a round trip, and no growth by an ACK that tells of one).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from vegasfluid.congestion.loss_recovery import (
    LARGEST_BACKOFF,
    PARTIAL,
    RESEND,
    RETRANSMIT,
    SACK,
    SEND,
    SEND_ONE,
    sample_round_trip,
)
from vegasfluid.packet.dice import uniform
from vegasfluid.packet.features import MARKS, OFFERED, OVERHEAD, SELECTIVE, TWO_WAY
from vegasfluid.packet.journal import note_sender
from vegasfluid.packet.memory import flow_of, fresh_of, slot_of
from vegasfluid.packet.records import NEVER
from vegasfluid.packet.ring import ACCESS, changed_delay, push
from vegasfluid.packet.scoreboard import (
    count_everything_lost,
    forget_acknowledged,
    note_report,
    pipe,
    take_hole,
)
from vegasfluid.traffic.base import NEW_CONNECTION

__all__ = ["catch_up", "fire", "next_due", "reach_sender", "send_window"]

on_ack: Callable[..., int]
on_duplicate_ack: Callable[..., int]
on_timeout: Callable[..., None]
on_ecn_echo: Callable[..., None]
on_application: Callable[..., int]
on_finished: Callable[..., None]
reopen: Callable[..., None]


def transmit(sim: Any, f: int, seq: int, now: int) -> None:
    """Send one packet: over the access link, towards the first queue."""
    flow = flow_of(sim, f)
    ready = now
    if OVERHEAD and flow.overhead > 0:
        if flow.ready_at <= now:  # one random time for a burst, as ns-2's `overhead_` does it
            flow.ready_at = now + int(uniform(flow) * flow.overhead)
        ready = flow.ready_at
    start = max(ready, flow.access_free)
    flow.access_free = start + flow.access_service
    delay = changed_delay(sim, ACCESS, flow.group, flow.access_delay, start)
    push(sim, f, 0, flow.access_free + delay, 2 * seq, 0, 0)
    flow.sent += 1
    if seq < flow.max_seq:
        flow.retransmitted += 1
    else:
        flow.max_seq = seq + 1
        if flow.max_seq - flow.una >= sim.slot_count - 1:
            flow.full = 1
        if flow.timed_seq < 0:
            flow.timed_seq = seq
            flow.timed_at = ready
    if flow.keeps_send_times:
        slot = slot_of(sim, f, seq)
        slot.sent_at = ready
        slot.transmissions += 1
    if OFFERED and flow.deadline == NEVER and flow.reliable:
        flow.deadline = now + flow.rto * flow.backoff


def send_window(sim: Any, f: int, now: int) -> None:
    """Send all that the window allows."""
    flow = flow_of(sim, f)
    if SELECTIVE and flow.recovery == SACK:
        send_pipe(sim, f, now)
        return
    if OFFERED and not flow.reliable:
        send_offered(sim, f, now)
        return
    window = min(int(min(flow.cwnd, flow.max_window)) + flow.inflation, int(flow.max_window))
    limit = flow.una + min(window, sim.slot_count - 1)
    if OFFERED:
        flow.window_limited = limit <= flow.offered
        limit = min(limit, flow.offered)
    while flow.next_seq < limit:
        transmit(sim, f, flow.next_seq, now)
        flow.next_seq += 1


def send_offered(sim: Any, f: int, now: int) -> None:
    """Send all that the application has offered: there is no window."""
    flow = flow_of(sim, f)
    while flow.next_seq < flow.offered:
        transmit(sim, f, flow.next_seq, now)
        flow.next_seq += 1
    flow.una = flow.next_seq


def send_pipe(sim: Any, f: int, now: int) -> None:
    """Send while fewer packets than the window are in the network, lost ones first (RFC 6675)."""
    flow = flow_of(sim, f)
    room = int(min(flow.cwnd, flow.max_window)) - pipe(flow)
    last = min(flow.offered, flow.una + sim.slot_count - 1)
    last = min(last, flow.una + int(flow.max_window))
    flow.window_limited = 1
    while room > 0:
        if flow.holes > 0:
            resend_hole(sim, f, now)
        elif flow.next_seq < last:
            transmit(sim, f, flow.next_seq, now)
            flow.next_seq += 1
        else:
            flow.window_limited = flow.next_seq < flow.offered
            break
        room -= 1


def resend_hole(sim: Any, f: int, now: int) -> None:
    """Send the first lost packet that was not sent again."""
    flow = flow_of(sim, f)
    seq = take_hole(sim, f)
    flow.timed_seq = -1
    transmit(sim, f, seq, now)


def obey(sim: Any, f: int, action: int, now: int) -> None:
    """Do what a rule asked for."""
    if action == SEND:
        send_window(sim, f, now)
    elif action:
        obey_more(sim, f, action, now)


def obey_more(sim: Any, f: int, action: int, now: int) -> None:
    """Do what a rule asked for, where a loss is repaired."""
    flow = flow_of(sim, f)
    if action & (RETRANSMIT | RESEND):
        if action & RETRANSMIT:
            flow.deadline = now + flow.rto * flow.backoff
        if action & RETRANSMIT or flow.timed_seq == flow.una:
            flow.timed_seq = -1
        if SELECTIVE and flow.recovery == SACK:
            flow.resent_at = now
            resend_hole(sim, f, now)
        else:
            transmit(sim, f, flow.una, now)
    if action & SEND:
        send_window(sim, f, now)
    if action & SEND_ONE:
        window = int(min(flow.cwnd + flow.duplicates, flow.max_window))
        if flow.next_seq < min(flow.una + window, flow.offered):
            transmit(sim, f, flow.next_seq, now)
            flow.next_seq += 1


def take_duplicate(sim: Any, f: int, now: int) -> None:
    """An ACK that acknowledges nothing new."""
    flow = flow_of(sim, f)
    if flow.keeps_send_times:
        note_send_times(sim, f)
    obey(sim, f, on_duplicate_ack(flow.law, flow, now), now)


def fire_timer(sim: Any, f: int, now: int) -> None:
    """The retransmission timer: let the law restart, back off, go back to the oldest packet."""
    flow = flow_of(sim, f)
    flow.timeouts += 1
    on_timeout(flow.law, flow, now)
    if SELECTIVE and flow.recovery == SACK:
        count_everything_lost(sim, f)
    else:
        flow.next_seq = flow.una
    flow.timed_seq = -1
    flow.backoff = min(2 * flow.backoff, LARGEST_BACKOFF)
    flow.deadline = now + flow.rto * flow.backoff
    send_window(sim, f, now)


def next_due(flow: Any) -> int:
    """When the sender does something by itself, ps."""
    if OFFERED:
        return min(flow.deadline, flow.app_at)
    return flow.deadline


def fire(sim: Any, f: int, now: int) -> None:
    """Do what is due at `now`."""
    flow = flow_of(sim, f)
    note_sender(sim, f, now)
    if OFFERED and flow.app_at == now:
        if on_application(flow.traffic, flow, now) == NEW_CONNECTION:
            reopen(flow, fresh_of(sim, f))
        send_window(sim, f, now)
    else:
        fire_timer(sim, f, now)


def catch_up(sim: Any, f: int, until: int) -> None:
    """Do all that is due before `until`, in order of time."""
    flow = flow_of(sim, f)
    while next_due(flow) < until:
        fire(sim, f, next_due(flow))


def note_send_times(sim: Any, f: int) -> None:
    """Show the rules when the last acknowledged and the oldest packet were sent, how often."""
    flow = flow_of(sim, f)
    acked, oldest = slot_of(sim, f, flow.una - 1), slot_of(sim, f, flow.una)
    flow.acked_sent_at = acked.sent_at
    flow.acked_transmissions = acked.transmissions
    flow.oldest_sent_at = oldest.sent_at
    flow.oldest_transmissions = oldest.transmissions


def note_least_rtt(flow: Any, now: int) -> None:
    """The smallest round trip of a packet that was sent once."""
    flow.acked_at = now
    if flow.acked_transmissions == 1:
        flow.least_rtt = min(flow.least_rtt, now - flow.acked_sent_at)


def forget_send_times(sim: Any, f: int, first: int) -> None:
    """Free the slots of the packets from `first` that are acknowledged now."""
    flow = flow_of(sim, f)
    for seq in range(first, flow.una):
        slot_of(sim, f, seq).transmissions = 0


def reach_sender(sim: Any, f: int, now: int, word: int, low: int, high: int) -> None:
    """The sender takes an ACK of everything below `word // 2`, with a mark's echo in the last bit.

    Args:
        sim: the simulation.
        f: the flow.
        now: ps.
        word: 2 upto + echo.
        low: the first packet of the block that the receiver reports.
        high: the packet after it.
    """
    flow = flow_of(sim, f)
    catch_up(sim, f, now)
    if flow.note_at < now:
        note_sender(sim, f, now)
    upto = word >> 1
    if TWO_WAY and upto < flow.una:  # overtaken by a later one
        return
    if upto <= flow.opened:  # of an older connection, or from before the handshake's end
        return
    if SELECTIVE and flow.recovery == SACK and high > upto:
        note_report(sim, f, low, high)
    if upto > flow.una:
        acknowledge(sim, f, upto, now, word & 1)
    elif flow.una < flow.max_seq:
        take_duplicate(sim, f, now)
    if MARKS and word & 1 and flow.una > flow.reduced_at:
        on_ecn_echo(flow.law, flow, now)
        flow.reduced_at = flow.max_seq


def acknowledge(sim: Any, f: int, upto: int, now: int, echo: int) -> None:
    """Everything below `upto` has arrived: move on, let the law grow its window, send."""
    flow = flow_of(sim, f)
    first = flow.una
    flow.una = upto
    flow.next_seq = max(flow.next_seq, upto)
    if 0 <= flow.timed_seq < upto:
        sample_round_trip(flow, now - flow.timed_at)
        flow.timed_seq = -1
    if flow.in_recovery != PARTIAL or upto >= flow.recover:
        flow.deadline = now + flow.rto * flow.backoff
    if OFFERED and upto == flow.max_seq:
        flow.deadline = NEVER
    if SELECTIVE and flow.recovery == SACK:
        forget_acknowledged(sim, f, first)
    if flow.keeps_send_times:
        note_send_times(sim, f)
        forget_send_times(sim, f, first)
        note_least_rtt(flow, now)
    window = flow.cwnd
    action = on_ack(flow.law, flow, now, upto - first)
    if MARKS and echo:  # no growth (RFC 3168, section 6.1.2)
        flow.cwnd = min(flow.cwnd, window)
    if first == flow.opened:  # the first packet stands for the handshake
        flow.cwnd = flow.initial_window
    obey(sim, f, action, now)
    if OFFERED and flow.una == flow.offered:
        on_finished(flow.traffic, flow, now)
