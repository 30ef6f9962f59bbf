"""What a sender with RACK-TLP recovery sends, and what its timer does when it expires.

Sources:
    RFC 6675 (lost packets first), RFC 8985 (probe and reordering timer), RFC 5682 and RFC 6298
    (timeout). Choices: Linux 6.1, net/ipv4/tcp_output.c and tcp_timer.c (behaviour only).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from vegasfluid.clock import NEVER
from vegasfluid.congestion.loss_recovery import (
    DUPLICATE_ACK_THRESHOLD,
    LARGEST_BACKOFF,
    SMALLEST_SSTHRESH,
)
from vegasfluid.packet.rack.acks import SEND_NEW, process_ack
from vegasfluid.packet.rack.records import (
    CWR,
    DISORDER,
    LOSS,
    NOT_SET,
    PROBE_TIMER,
    RECOVERY,
    REORDERING_TIMER,
    RTO_TIMER,
)
from vegasfluid.packet.rack.scoreboard import (
    acknowledge_in_order,
    detect_losses,
    in_flight,
    mark_all_lost,
    next_lost,
    note_resend,
    start_ack,
)
from vegasfluid.packet.rack.timers import estimate_rtt, rearm_timeout, start_probe
from vegasfluid.packet.rack.windows import (
    current_ssthresh,
    enter_recovery,
    reduce_window,
    set_state,
    start_undo,
)
from vegasfluid.packet.state import flow_of
from vegasfluid.packet.transmission import transmit

__all__ = ["expire_timer", "finish_handshake", "receive_ack", "send_allowed"]

control_window_after_timeout: Callable[..., float]
"""`(i, flow, window)`: window at which slow start ends after a timeout, packets."""
control_restarts: Callable[..., None]
"""`(i, flow, now)`: response of the i-th congestion control to a timeout at `now` (ps)."""
control_starts_flight: Callable[..., None]
"""`(i, flow, now)`: the i-th congestion control sends a packet with nothing in flight."""


def receive_ack(
    sim: Any, f: int, now: int, ack_number: int, low: int, high: int, echo: bool
) -> None:
    """Process an ACK of flow `f`, and send what it allows.

    Args:
        sim: the simulation.
        f: index of the flow.
        now: arrival time, ps.
        ack_number: all packets below it are acknowledged.
        low: the first packet of the SACK block.
        high: the packet after it.
        echo: whether it echoes a mark.
    """
    flow = flow_of(sim, f)
    retransmit = process_ack(sim, f, now, ack_number, low, high, echo)
    if retransmit == SEND_NEW:
        send_new(sim, f, now)
        if flow.next_seq <= flow.recover:
            flow.frto = 0
            send_lost(sim, f, now)
    elif retransmit:
        send_lost(sim, f, now)
    send_new(sim, f, now)


def finish_handshake(sim: Any, f: int, now: int, ack_number: int) -> None:
    """Open the initial window of flow `f` at `now` (ps), on the ACK of its first packet.

    The packet stands for the handshake: its round-trip time is the first sample.
    """
    flow = flow_of(sim, f)
    start_ack(flow, now)
    acknowledge_in_order(sim, f, ack_number, now)
    flow.fack = flow.una
    if flow.ack_first_sent != NOT_SET:
        flow.least_rtt = now - flow.ack_first_sent
        estimate_rtt(flow, flow.least_rtt)
    flow.timer = RTO_TIMER
    flow.cwnd = flow.initial_window
    rearm_timeout(sim, f, now)
    send_new(sim, f, now)


def send_allowed(sim: Any, f: int, now: int) -> None:
    """Send at `now` (ps) the packets of flow `f` that its window allows, lost ones first."""
    if flow_of(sim, f).state >= RECOVERY:
        send_lost(sim, f, now)
    send_new(sim, f, now)


def send_packet(sim: Any, f: int, seq: int, now: int) -> None:
    """Send packet `seq` of flow `f` at `now` (ps)."""
    flow = flow_of(sim, f)
    if in_flight(flow) == 0:
        control_starts_flight(flow.law, flow, now)
    transmit(sim, f, seq, now)
    flow.last_sent_at = now
    if flow.state == CWR or flow.state == RECOVERY:
        flow.reduced_sent += 1


def send_new(sim: Any, f: int, now: int) -> None:
    """Send new packets of flow `f` at `now` (ps) while fewer than the window are in flight."""
    flow = flow_of(sim, f)
    last = min(flow.offered, flow.una + sim.slot_count - 1)
    last = min(last, flow.una + int(flow.max_window))
    allowed = int(flow.cwnd) - in_flight(flow)
    sent = 0
    while sent < allowed and flow.next_seq < last:
        idle = flow.una == flow.next_seq
        send_packet(sim, f, flow.next_seq, now)
        flow.next_seq += 1
        sent += 1
        if idle or flow.timer == PROBE_TIMER:
            rearm_timeout(sim, f, now)
    if sent:
        start_probe(sim, f, now)
    limited = in_flight(flow) >= int(flow.cwnd)
    if flow.cwnd < flow.ssthresh:
        limited = limited or flow.cwnd < 2 * (flow.next_seq - flow.una)
    flow.window_limited = int(limited)


def send_lost(sim: Any, f: int, now: int) -> None:
    """Retransmit lost packets of flow `f` at `now` (ps) while the window allows."""
    flow = flow_of(sim, f)
    allowed = int(flow.cwnd) - in_flight(flow)
    while allowed > 0:
        seq = next_lost(sim, f)
        if seq == NOT_SET:
            break
        resend(sim, f, seq, now)
        allowed -= 1
        if seq == flow.una and flow.timer != REORDERING_TIMER:
            flow.timer = RTO_TIMER
            flow.deadline = now + flow.rto * flow.backoff


def resend(sim: Any, f: int, seq: int, now: int) -> None:
    """Retransmit packet `seq` of flow `f` at `now` (ps)."""
    flow = flow_of(sim, f)
    send_packet(sim, f, seq, now)
    note_resend(sim, f, seq)
    if flow.first_resent_at == NOT_SET:
        flow.first_resent_at = now
    flow.undo_resent = max(flow.undo_resent, 0) + 1


def expire_timer(sim: Any, f: int, now: int) -> None:
    """Handle the expiry of the timer of flow `f` at `now` (ps), by what the timer waits for.

    It waits for the end of the reordering window, a tail loss probe or a retransmission timeout.
    """
    flow = flow_of(sim, f)
    if flow.timer == REORDERING_TIMER:
        end_reordering_window(sim, f, now)
    elif flow.timer == PROBE_TIMER:
        send_probe(sim, f, now)
    else:
        expire_timeout(sim, f, now)


def end_reordering_window(sim: Any, f: int, now: int) -> None:
    """Retransmit the lost packets of flow `f` when its reordering window ends at `now` (ps).

    If packets newly count as lost, the flow enters recovery, unless it is in recovery already.
    """
    flow = flow_of(sim, f)
    pipe, losses = in_flight(flow), flow.losses
    detect_losses(sim, f, now)
    if in_flight(flow) != pipe:
        if flow.state != RECOVERY:
            enter_recovery(sim, f, False)
            reduce_window(flow, 1, flow.losses - losses, False)
        send_lost(sim, f, now)
    if flow.timer != RTO_TIMER:
        rearm_timeout(sim, f, now)


def send_probe(sim: Any, f: int, now: int) -> None:
    """Send a tail loss probe of flow `f` at `now` (ps): a new packet, or else the last one again.

    If a probe is already in flight, none is sent. The retransmission timer is started in any case.
    """
    flow = flow_of(sim, f)
    last = min(flow.offered, flow.una + int(flow.max_window))
    if flow.probe_high == NOT_SET:
        flow.probe_resent = 0
        if flow.next_seq < min(last, flow.una + sim.slot_count - 1):
            send_packet(sim, f, flow.next_seq, now)
            flow.next_seq += 1
        else:
            resend(sim, f, flow.next_seq - 1, now)
            flow.probe_resent = 1
        flow.probe_high = flow.next_seq
        flow.timer = RTO_TIMER
    rearm_timeout(sim, f, now)


def expire_timeout(sim: Any, f: int, now: int) -> None:
    """Start the recovery of flow `f` from a retransmission timeout at `now` (ps).

    All packets count as lost but those sent within the last RTT; the oldest is sent again.
    """
    flow = flow_of(sim, f)
    if flow.una == flow.next_seq:
        flow.deadline = NEVER
        return
    flow.timeouts += 1
    new_recovery, sacked = flow.state < RECOVERY, flow.sacked
    mark_all_lost(sim, f, now)
    if (
        flow.state <= DISORDER
        or flow.recover <= flow.una
        or (flow.state == LOSS and not flow.expiries)
    ):
        flow.prior_ssthresh = current_ssthresh(flow)
        flow.prior_cwnd = flow.cwnd
        window = control_window_after_timeout(flow.law, flow, float(int(flow.cwnd)))
        flow.ssthresh = max(float(int(window)), SMALLEST_SSTHRESH)
        start_undo(flow)
    flow.cwnd = float(in_flight(flow) + 1)
    if flow.state <= DISORDER and sacked >= DUPLICATE_ACK_THRESHOLD:
        flow.reordering = min(flow.reordering, DUPLICATE_ACK_THRESHOLD)
    set_state(flow, LOSS)
    control_restarts(flow.law, flow, now)
    flow.recover = flow.next_seq
    flow.probe_high = NOT_SET
    flow.frto = int(new_recovery or flow.expiries > 0)
    flow.expiries += 1
    resend(sim, f, flow.una, now)
    flow.backoff = min(2 * flow.backoff, LARGEST_BACKOFF)
    flow.timer = RTO_TIMER
    flow.deadline = now + flow.rto * flow.backoff
