"""A TCP sender: transmission, the processing of ACKs, and when its timer runs and expires.

Plain scalar Python on the records; `jit` compiles it and sets the names of the packet rules
(`on_ack`, ...) for the congestion controls and traffic sources in use.

Sources:
    RFC 5681 (windows), RFC 6298 (timer), RFC 3042 (limited transmit), RFC 3168 section 6.1.2 (one
    response to marks per round trip, and no growth by an ACK with ECE).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from vegasfluid.clock import NEVER
from vegasfluid.congestion.loss_recovery import (
    LARGEST_BACKOFF,
    PARTIAL,
    RACK_TLP,
    RESEND,
    RETRANSMIT,
    SACK,
    SEND,
    SEND_ONE,
)
from vegasfluid.packet.features import (
    APP_LIMITED,
    ECN,
    OTHER_RECOVERY,
    RACK,
    SACK_BLOCKS,
    TWO_WAY,
)
from vegasfluid.packet.rack.sending import (
    expire_timer,
    finish_handshake,
    receive_ack,
    send_allowed,
)
from vegasfluid.packet.retransmission_timer import sample_round_trip
from vegasfluid.packet.sampling import sample_sender
from vegasfluid.packet.scoreboard import (
    clear_acknowledged,
    mark_all_lost,
    next_hole,
    pipe,
    take_sack_block,
)
from vegasfluid.packet.state import flow_of, initial_of, slot_of
from vegasfluid.packet.transmission import transmit
from vegasfluid.traffic.base import NEW_CONNECTION

__all__ = ["next_due", "reach_sender", "run_due", "run_until", "send_window"]

on_ack: Callable[..., int]
"""`(i, flow, now, acked)`: actions of the i-th congestion control for an ACK of new packets."""
on_duplicate_ack: Callable[..., int]
"""`(i, flow, now)`: actions of the i-th congestion control for a duplicate ACK."""
on_timeout: Callable[..., None]
"""`(i, flow, now)`: response of the i-th congestion control to a timeout at `now` (ps)."""
on_ecn_echo: Callable[..., None]
"""`(i, flow, now)`: response of the i-th congestion control to an ECN echo at `now` (ps)."""
count_marks: Callable[..., None]
"""`(i, flow, acked, marked)`: the i-th congestion control counts `acked` packets that an ACK
acknowledges, as marked or not (1 or 0)."""
on_application: Callable[..., int]
"""`(i, flow, now)`: the i-th traffic source offers packets; CONTINUED or NEW_CONNECTION."""
on_finished: Callable[..., None]
"""`(i, flow, now)`: response of the i-th traffic source to the last ACK of all offered packets."""
open_connection: Callable[..., None]
"""`(flow, initial)`: reset a flow, from its record at the start, for a new connection."""


def send_window(sim: Any, f: int, now: int) -> None:
    """Send at `now` (ps) all packets of flow `f` that the window allows."""
    flow = flow_of(sim, f)
    if RACK and (not OTHER_RECOVERY or flow.recovery == RACK_TLP):
        send_allowed(sim, f, now)
        return
    if SACK_BLOCKS and flow.recovery == SACK:
        send_pipe(sim, f, now)
        return
    if APP_LIMITED and not flow.reliable:
        send_offered(sim, f, now)
        return
    window = min(int(min(flow.cwnd, flow.max_window)) + flow.inflation, int(flow.max_window))
    limit = flow.una + min(window, sim.slot_count - 1)
    if APP_LIMITED:
        flow.window_limited = limit <= flow.offered
        limit = min(limit, flow.offered)
    while flow.next_seq < limit:
        transmit(sim, f, flow.next_seq, now)
        flow.next_seq += 1


def send_offered(sim: Any, f: int, now: int) -> None:
    """Send at `now` (ps) all packets that the application of unreliable flow `f` has offered."""
    flow = flow_of(sim, f)
    while flow.next_seq < flow.offered:
        transmit(sim, f, flow.next_seq, now)
        flow.next_seq += 1
    flow.una = flow.next_seq


def send_pipe(sim: Any, f: int, now: int) -> None:
    """Send packets of flow `f` at `now` (ps) while fewer than the window are in the network.

    Lost packets come first (RFC 6675).
    """
    flow = flow_of(sim, f)
    allowed = int(min(flow.cwnd, flow.max_window)) - pipe(flow)
    last = min(flow.offered, flow.una + sim.slot_count - 1)
    last = min(last, flow.una + int(flow.max_window))
    flow.window_limited = 1
    while allowed > 0:
        if flow.holes > 0:
            resend_hole(sim, f, now)
        elif flow.next_seq < last:
            transmit(sim, f, flow.next_seq, now)
            flow.next_seq += 1
        else:
            flow.window_limited = flow.next_seq < flow.offered
            break
        allowed -= 1


def resend_hole(sim: Any, f: int, now: int) -> None:
    """Retransmit a packet of flow `f` at `now` (ps), and stop timing its RTT sample.

    It is the first lost packet that was not yet retransmitted; if there is none, the oldest one
    that is not acknowledged.
    """
    flow = flow_of(sim, f)
    seq = next_hole(sim, f)
    flow.timed_seq = -1
    transmit(sim, f, seq, now)


def apply_action(sim: Any, f: int, action: int, now: int) -> None:
    """Carry out at `now` (ps) the action of flow `f` that a packet rule returned.

    `action` is a sum of RETRANSMIT, RESEND, SEND and SEND_ONE
    (`vegasfluid.congestion.loss_recovery`), or 0.
    """
    if action == SEND:
        send_window(sim, f, now)
    elif action:
        apply_loss_action(sim, f, action, now)


def apply_loss_action(sim: Any, f: int, action: int, now: int) -> None:
    """Carry out at `now` (ps) an action of flow `f` other than SEND: retransmit, send new packets.

    `action` is a sum of RETRANSMIT, RESEND, SEND and SEND_ONE.
    """
    flow = flow_of(sim, f)
    if action & (RETRANSMIT | RESEND):
        if action & RETRANSMIT:
            flow.deadline = now + flow.rto * flow.backoff
        if action & RETRANSMIT or flow.timed_seq == flow.una:
            flow.timed_seq = -1
        if SACK_BLOCKS and flow.recovery == SACK:
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


def on_dupack(sim: Any, f: int, now: int) -> None:
    """Process at `now` (ps) an ACK that acknowledges no new packet of flow `f`.

    The congestion control's rule decides whether to retransmit or send.
    """
    flow = flow_of(sim, f)
    if flow.keeps_send_times:
        show_send_times(sim, f)
    apply_action(sim, f, on_duplicate_ack(flow.law, flow, now), now)


def expire_rto(sim: Any, f: int, now: int) -> None:
    """Process a retransmission timeout of flow `f` at `now` (ps).

    Apply the packet rule to the window, double the timer, and send again from the oldest packet.
    """
    flow = flow_of(sim, f)
    if RACK and (not OTHER_RECOVERY or flow.recovery == RACK_TLP):
        expire_timer(sim, f, now)
        return
    flow.timeouts += 1
    on_timeout(flow.law, flow, now)
    if SACK_BLOCKS and flow.recovery == SACK:
        mark_all_lost(sim, f)
    else:
        flow.next_seq = flow.una
    flow.timed_seq = -1
    flow.backoff = min(2 * flow.backoff, LARGEST_BACKOFF)
    flow.deadline = now + flow.rto * flow.backoff
    send_window(sim, f, now)


def next_due(flow: Any) -> int:
    """Time at which the next timer of a flow's sender expires, ps.

    It is the retransmission timer, or the application's next action.
    """
    if APP_LIMITED:
        return min(flow.deadline, flow.app_at)
    return flow.deadline


def run_due(sim: Any, f: int, now: int) -> None:
    """Run the timer of flow `f` that is due at `now` (ps): the application's, or retransmission."""
    flow = flow_of(sim, f)
    sample_sender(sim, f, now)
    if APP_LIMITED and flow.app_at == now:
        if on_application(flow.traffic, flow, now) == NEW_CONNECTION:
            open_connection(flow, initial_of(sim, f))
        send_window(sim, f, now)
    else:
        expire_rto(sim, f, now)


def run_until(sim: Any, f: int, until: int) -> None:
    """Run all timers of the sender of flow `f` that are due before `until` (ps), in order."""
    flow = flow_of(sim, f)
    while next_due(flow) < until:
        run_due(sim, f, next_due(flow))


def show_send_times(sim: Any, f: int) -> None:
    """Copy when (ps) and how often two packets of flow `f` were sent to its record.

    They are the last acknowledged and the oldest unacknowledged packet; the packet rules read this.
    """
    flow = flow_of(sim, f)
    acked, oldest = slot_of(sim, f, flow.una - 1), slot_of(sim, f, flow.una)
    flow.acked_sent_at = acked.sent_at
    flow.acked_transmissions = acked.transmissions
    flow.oldest_sent_at = oldest.sent_at
    flow.oldest_transmissions = oldest.transmissions


def update_least_rtt(flow: Any, now: int) -> None:
    """Update a flow's smallest RTT (ps), from an ACK at `now` (ps) of a packet sent once."""
    flow.acked_at = now
    if flow.acked_transmissions == 1:
        flow.least_rtt = min(flow.least_rtt, now - flow.acked_sent_at)


def clear_send_times(sim: Any, f: int, first: int) -> None:
    """Clear the transmission counts of flow `f` from packet `first` to the last acknowledged."""
    flow = flow_of(sim, f)
    for seq in range(first, flow.una):
        slot_of(sim, f, seq).transmissions = 0


def reach_sender(sim: Any, f: int, now: int, header: int, low: int, high: int) -> None:
    """Process an ACK of flow `f` that reaches the sender: new packets, duplicate, or echo.

    Timers that are due earlier run first.

    Args:
        sim: the simulation.
        f: index of the flow.
        now: arrival time, ps.
        header: 2 ack_number + ECE; all packets below ack_number are acknowledged.
        low: the first packet of the SACK block.
        high: the packet after it.
    """
    flow = flow_of(sim, f)
    run_until(sim, f, now)
    if flow.sample_at < now:
        sample_sender(sim, f, now)
    ack_number = header >> 1
    if TWO_WAY and ack_number < flow.una:  # overtaken by a later one
        return
    if ack_number <= flow.opened:  # of an older connection, or from before the handshake's end
        return
    if RACK and (not OTHER_RECOVERY or flow.recovery == RACK_TLP):
        acknowledge_by_rack(sim, f, now, header, low, high)
        return
    if SACK_BLOCKS and flow.recovery == SACK and high > ack_number:
        take_sack_block(sim, f, low, high)
    if ack_number > flow.una:
        acknowledge(sim, f, ack_number, now, header & 1)
        return
    if flow.una < flow.max_seq:
        on_dupack(sim, f, now)
    if ECN and header & 1:
        answer_echo(flow, now)


def answer_echo(flow: Any, now: int) -> None:
    """Let a flow respond at `now` (ps) to the echo of a mark, at most once in a round trip."""
    if flow.una > flow.reduced_at:
        on_ecn_echo(flow.law, flow, now)
        flow.reduced_at = flow.max_seq


def acknowledge(sim: Any, f: int, ack_number: int, now: int, ece: int) -> None:
    """Process an ACK of new packets: update the timer, apply the packet rule, and send.

    Args:
        sim: the simulation.
        f: index of the flow.
        ack_number: all packets below it are acknowledged.
        now: arrival time, ps.
        ece: 1 if the ACK echoes a mark.
    """
    flow = flow_of(sim, f)
    first = flow.una
    if ECN and first != flow.opened:
        count_marks(flow.law, flow, ack_number - first, ece)
    flow.una = ack_number
    flow.next_seq = max(flow.next_seq, ack_number)
    if 0 <= flow.timed_seq < ack_number:
        sample_round_trip(flow, now - flow.timed_at)
        flow.timed_seq = -1
    if flow.in_recovery != PARTIAL or ack_number >= flow.recover:
        flow.deadline = now + flow.rto * flow.backoff
    if APP_LIMITED and ack_number == flow.max_seq:
        flow.deadline = NEVER
    acked = ack_number - first  # without those that arrived before, as SACK blocks have shown
    if SACK_BLOCKS and flow.recovery == SACK:
        acked -= flow.sacked
        clear_acknowledged(sim, f, first)
        acked += flow.sacked
    if flow.keeps_send_times:
        show_send_times(sim, f)
        clear_send_times(sim, f, first)
        update_least_rtt(flow, now)
    window = flow.cwnd
    action = on_ack(flow.law, flow, now, acked)
    if first == flow.opened:  # the first packet stands for the handshake
        flow.cwnd = window = flow.initial_window
    if ECN and ece:  # no growth (RFC 3168, section 6.1.2)
        flow.cwnd = min(flow.cwnd, window)
        answer_echo(flow, now)
    apply_action(sim, f, action, now)
    if APP_LIMITED and flow.una == flow.offered:
        on_finished(flow.traffic, flow, now)


def acknowledge_by_rack(sim: Any, f: int, now: int, header: int, low: int, high: int) -> None:
    """Process an ACK of flow `f` whose recovery is RACK-TLP: window, losses, sending.

    Args:
        sim: the simulation.
        f: index of the flow.
        now: arrival time, ps.
        header: 2 ack_number + ECE; all packets below ack_number are acknowledged.
        low: the first packet of the SACK block.
        high: the packet after it.
    """
    flow = flow_of(sim, f)
    first, ece = flow.una, False
    if first == flow.max_seq:
        return
    if ECN:
        ece = (header & 1) == 1 and header >> 1 > flow.reduced_at
    if first == flow.opened:  # the first packet stands for the handshake
        finish_handshake(sim, f, now, header >> 1)
    else:
        if ECN and header >> 1 > first:
            count_marks(flow.law, flow, (header >> 1) - first, header & 1)
        receive_ack(sim, f, now, header >> 1, low, high, ece)
    if ECN and ece:
        flow.reduced_at = flow.max_seq
    if APP_LIMITED and flow.una == flow.offered and first < flow.una:
        on_finished(flow.traffic, flow, now)
