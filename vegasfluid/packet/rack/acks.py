"""What a sender with RACK-TLP recovery does on an ACK: scoreboard, state, window.

Sources:
    RFC 8985 (RACK-TLP), RFC 6937 (rate reduction), RFC 5682 (F-RTO). The state machine: Linux 6.1,
    net/ipv4/tcp_input.c (behaviour only).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from vegasfluid.congestion.loss_recovery import DUPLICATE_ACK_THRESHOLD
from vegasfluid.packet.rack.records import CWR, LOSS, NOT_SET, OPEN, RECOVERY
from vegasfluid.packet.rack.scoreboard import (
    acknowledge_in_order,
    acknowledge_out_of_order,
    detect_losses,
    note_reordering,
    start_ack,
)
from vegasfluid.packet.rack.timers import estimate_rtt, restart_timer, wait_for_reordering
from vegasfluid.packet.rack.windows import (
    end_reduction,
    enter_recovery,
    reduce_window,
    set_state,
    start_reduction,
    try_to_open,
    undo_reduction,
    was_spurious,
)
from vegasfluid.packet.state import flow_of, slot_of

__all__ = ["RESEND_LOST", "SEND_NEW", "process_ack"]

control_grows: Callable[..., None]
"""`(i, flow, now, acked)`: the i-th congestion control grows the window for delivered packets."""
control_takes_sample: Callable[..., None]
"""`(i, flow, rtt)`: the i-th congestion control uses a round-trip time, ps."""

NOTHING, RESEND_LOST, SEND_NEW = range(3)
"""What to retransmit after an ACK: nothing; lost packets; new packets first, to see whether a
timeout was spurious (RFC 5682)."""


def process_ack(
    sim: Any, f: int, now: int, ack_number: int, low: int, high: int, echo: bool
) -> int:
    """Process an ACK of flow `f` that reaches the sender, all but the sending that follows.

    Args:
        sim: the simulation.
        f: index of the flow.
        now: arrival time, ps.
        ack_number: all packets below it are acknowledged.
        low: the first packet of the SACK block.
        high: the packet after it.
        echo: whether it echoes a mark.

    Returns:
        What to retransmit: NOTHING, RESEND_LOST or SEND_NEW.
    """
    flow = flow_of(sim, f)
    first, losses = flow.una, flow.losses
    start_ack(flow, now)
    rearm = update_scoreboard(sim, f, now, ack_number, low, high)
    advanced = ack_number > first
    finish_probe(sim, f, ack_number)
    retransmit = NOTHING
    if flow.ack_sacked or echo or not advanced or flow.state != OPEN:
        retransmit = update_state(sim, f, now, first, echo)
    if rearm and not flow.ack_waits:
        restart_timer(sim, f, now)
    if flow.state == CWR or flow.state == RECOVERY:
        reduce_window(flow, flow.ack_delivered, flow.losses - losses, advanced)
    elif advanced or (flow.reordering > DUPLICATE_ACK_THRESHOLD and flow.ack_sacked):
        control_grows(flow.law, flow, now, flow.ack_delivered)
    return retransmit


def update_scoreboard(sim: Any, f: int, now: int, ack_number: int, low: int, high: int) -> bool:
    """Update scoreboard and round-trip time of flow `f` by an ACK that reaches the sender.

    Args:
        sim: the simulation.
        f: index of the flow.
        now: arrival time, ps.
        ack_number: all packets below it are acknowledged.
        low: the first packet of the SACK block.
        high: the packet after it.

    Returns:
        Whether the timer must be restarted: the ACK acknowledges packets in order, or its SACK
        block shows the arrival of a packet sent before the oldest unacknowledged one was last sent.
    """
    flow = flow_of(sim, f)
    fack = max(flow.fack, flow.una)
    if high > ack_number:
        acknowledge_out_of_order(sim, f, low, high, now)
        if flow.state != LOSS or flow.undo_marker != NOT_SET:
            note_reordering(flow, flow.ack_reordered, flow.fack)
    resent_at = NOT_SET
    if ack_number > flow.una:
        resent_at = slot_of(sim, f, flow.una).sent_at
        flow.ack_reordered = flow.next_seq
        acknowledge_in_order(sim, f, ack_number, now)
        note_reordering(flow, flow.ack_reordered, fack)
        flow.fack = max(flow.fack, ack_number)
        flow.expiries = 0
    take_rtt_sample(flow, now, resent_at)
    if resent_at != NOT_SET:
        return True
    sent_at = flow.sack_first_sent
    return sent_at != NOT_SET and sent_at < slot_of(sim, f, flow.una).sent_at


def take_rtt_sample(flow: Any, now: int, resent_at: int) -> None:
    """Update the RTT estimates (ps) of a flow by the ACK at `now` (ps), if it gives a sample.

    The smoothed RTT is updated by the first packet that the ACK acknowledges. The smallest RTT and
    the congestion control get the RTT of the last one. Packets sent more than once do not count,
    nor do others that are acknowledged in order with them. If no packet counts, the time since
    `resent_at` is the sample, unless it is below the smallest RTT.

    Args:
        flow: record of the flow, changed in place.
        now: arrival time of the ACK, ps.
        resent_at: when the oldest packet that the ACK acknowledges in order was last sent, ps, as
            its timestamp shows; NOT_SET: there is no such packet.
    """
    first, last = flow.ack_first_sent, flow.ack_last_sent
    if flow.ack_resent:
        first = last = NOT_SET
    if flow.sack_first_sent != NOT_SET:
        last = flow.sack_last_sent
        if first == NOT_SET:
            first = flow.sack_first_sent
    if first == NOT_SET:
        if resent_at == NOT_SET or now - resent_at < flow.least_rtt:  # the original's ACK
            return
        first = last = resent_at
    flow.least_rtt = min(flow.least_rtt, now - last)
    estimate_rtt(flow, now - first)
    control_takes_sample(flow.law, flow, float(now - last))


def finish_probe(sim: Any, f: int, ack_number: int) -> None:
    """End the tail loss probe of flow `f` by an ACK up to `ack_number` (RFC 8985, section 7.4.2).

    A probe that was a new packet ends when `ack_number` reaches `flow.probe_high`. A probe that was
    a retransmission ends when a later packet is acknowledged, too: the probe then replaced a lost
    packet, and the window is reduced.
    """
    flow = flow_of(sim, f)
    if flow.probe_high == NOT_SET or ack_number < flow.probe_high:
        return
    if not flow.probe_resent:
        flow.probe_high = NOT_SET
    elif ack_number > flow.probe_high:
        start_reduction(flow, False)
        set_state(flow, CWR)
        end_reduction(flow)
        flow.state = OPEN
        try_to_open(sim, f, False)


def identify_losses(sim: Any, f: int, now: int) -> bool:
    """Mark the packets of flow `f` that RACK finds lost at `now` (ps), or wait for reordering.

    Nothing happens if no packet is unacknowledged, or none was delivered since the last call.

    Returns:
        Whether a retransmission was lost again.
    """
    flow = flow_of(sim, f)
    if flow.una == flow.next_seq or not flow.rack_advanced:
        return False
    resent = flow.resent_out
    flow.rack_advanced = 0
    wait = detect_losses(sim, f, now)
    if wait > 0:
        wait_for_reordering(flow, now, wait)
    return flow.resent_out < resent


def update_state(sim: Any, f: int, now: int, first: int, echo: bool) -> int:
    """Update the state of flow `f` after an ACK that may show a loss, a mark or a recovery's end.

    Such an ACK has a SACK of new packets or an echo, acknowledges nothing in order, or comes in a
    state other than OPEN.

    Args:
        sim: the simulation.
        f: index of the flow.
        now: time of the ACK, ps.
        first: the oldest unacknowledged packet before it.
        echo: whether it echoes a mark.

    Returns:
        What to retransmit: NOTHING, RESEND_LOST or SEND_NEW.
    """
    flow = flow_of(sim, f)
    advanced = flow.una > first
    if echo:
        flow.prior_ssthresh = 0.0
    leave_finished_state(sim, f, now)
    if flow.state == RECOVERY:
        if advanced and undo_partly(sim, f, now, first):
            return NOTHING
        identify_losses(sim, f, now)
        if flow.state != RECOVERY:
            if flow.lost_out == 0:
                return NOTHING
            enter_recovery(sim, f, echo)
        return RESEND_LOST
    if flow.state == LOSS:
        retransmit = recover_from_timeout(sim, f, now, advanced)
        lost_again = identify_losses(sim, f, now)
        if flow.state != OPEN and not lost_again:
            return retransmit
    identify_losses(sim, f, now)
    if flow.lost_out == 0:
        try_to_open(sim, f, echo)
        return NOTHING
    enter_recovery(sim, f, echo)
    return RESEND_LOST


def leave_finished_state(sim: Any, f: int, now: int) -> None:
    """End the CWR state or the fast recovery of flow `f` if an ACK completes it.

    Fast recovery is complete when all packets sent before it are acknowledged, CWR (the response to
    a mark) when also a packet sent after that is. The flow is then OPEN with a window of
    `ssthresh`, unless fast recovery is undone as unnecessary. In the state OPEN only the time of
    the first retransmission is reset; in the state LOSS nothing happens.

    Args:
        sim: the simulation.
        f: number of the flow.
        now: time of the ACK, ps.
    """
    flow = flow_of(sim, f)
    if flow.state == OPEN:
        flow.first_resent_at = NOT_SET
    elif flow.state == CWR and flow.una > flow.recover:
        end_reduction(flow)
        set_state(flow, OPEN)
    elif flow.state == RECOVERY and flow.una >= flow.recover:
        undo_or_open(sim, f, now)
        end_reduction(flow)


def undo_or_open(sim: Any, f: int, now: int) -> None:
    """End a recovery of flow `f` with the state OPEN; undo it if an ACK at `now` (ps) allows it."""
    flow = flow_of(sim, f)
    if may_undo(flow, now):
        undo_reduction(sim, f, False)
    set_state(flow, OPEN)


def may_undo(flow: Any, now: int) -> bool:
    """Whether an ACK at `now` (ps) shows that a flow's recovery was unnecessary.

    A recovery has started, and it has retransmitted nothing, or the ACK comes sooner than the
    smallest RTT after its first retransmission, so that the original packet had arrived.
    """
    if flow.undo_marker == NOT_SET:
        return False
    return flow.undo_resent == 0 or was_spurious(flow, now)


def undo_partly(sim: Any, f: int, now: int, first: int) -> bool:
    """Undo a fast recovery of flow `f` whose first packets turn out to be late, not lost.

    Args:
        sim: the simulation.
        f: index of the flow.
        now: time of the ACK, ps.
        first: the oldest unacknowledged packet before it, which was overtaken.

    Returns:
        Whether retransmissions are in flight, so that the sender waits for them and does nothing.
    """
    flow = flow_of(sim, f)
    if flow.undo_marker == NOT_SET or not was_spurious(flow, now):
        return False
    note_reordering(flow, first, flow.fack)
    if flow.resent_out > 0:
        return True
    undo_reduction(sim, f, True)
    try_to_open(sim, f, False)
    return False


def recover_from_timeout(sim: Any, f: int, now: int, advanced: bool) -> int:
    """Process an ACK of flow `f` after a timeout (RFC 5682, section 3.1, with SACK).

    Args:
        sim: the simulation.
        f: index of the flow.
        now: time of the ACK, ps.
        advanced: whether it acknowledges packets in order.

    Returns:
        What to retransmit: NOTHING if the timeout is undone or the recovery complete, SEND_NEW to
        test whether it was spurious, else RESEND_LOST.
    """
    flow = flow_of(sim, f)
    recovered = flow.una >= flow.recover
    if (advanced and may_undo(flow, now)) or (flow.frto and flow.ack_original):
        undo_reduction(sim, f, True)
        flow.expiries = 0
        set_state(flow, OPEN)
        return NOTHING
    if flow.frto:
        if flow.next_seq > flow.recover:
            if flow.ack_sacked or not advanced:
                flow.frto = 0  # the loss was real
        elif advanced and not recovered:
            flow.recover = flow.next_seq
            if flow.next_seq < flow.offered:
                return SEND_NEW
            flow.frto = 0
    if recovered:
        undo_or_open(sim, f, now)
        return NOTHING
    return RESEND_LOST
