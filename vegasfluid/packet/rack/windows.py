"""Windows of a sender with RACK-TLP recovery: their reduction, its undoing, and its states.

`jit` binds `control_window_after_loss`, `control_window_after_mark` and `control_sees_state` to the
congestion controls.

Sources:
    RFC 6937 (proportional rate reduction, with its slow-start bound), RFC 3522 and RFC 4015
    (undoing the response to a spurious loss). Choices: Linux 6.1, net/ipv4/tcp_input.c
    (behaviour only).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from vegasfluid.congestion.loss_recovery import SMALLEST_SSTHRESH
from vegasfluid.packet.features import ECN
from vegasfluid.packet.rack.records import CWR, DISORDER, LOSS, NOT_SET, OPEN, RECOVERY
from vegasfluid.packet.rack.scoreboard import in_flight, unmark_lost
from vegasfluid.packet.state import flow_of, slot_of

__all__ = [
    "any_resent",
    "current_ssthresh",
    "end_reduction",
    "enter_recovery",
    "reduce_window",
    "set_state",
    "start_reduction",
    "start_undo",
    "try_to_open",
    "undo_reduction",
    "was_spurious",
]

control_window_after_loss: Callable[..., float]
"""`(i, flow, window)`: window after a loss of the i-th congestion control, packets."""
control_window_after_mark: Callable[..., float]
"""`(i, flow, window)`: window after a mark of the i-th congestion control, packets."""
control_sees_state: Callable[..., None]
"""`(i, flow, state)`: response of the i-th congestion control to a new state of the sender."""


def set_state(flow: Any, state: int) -> None:
    """Set the sender's congestion state, as Linux's `tcp_set_ca_state` does.

    It also sets whether the flow is in recovery, and calls the congestion control, some of which
    (Linux's Vegas) react to a new state.

    Args:
        flow: record of the flow.
        state: OPEN, DISORDER, CWR, RECOVERY or LOSS.
    """
    flow.state = state
    flow.in_recovery = int(state >= RECOVERY)
    control_sees_state(flow.law, flow, state)


def current_ssthresh(flow: Any) -> float:
    """Slow-start threshold to return to after an undone reduction, packets.

    At least 3/4 of the window, unless the window is being reduced.
    """
    if flow.state == CWR or flow.state == RECOVERY:
        return flow.ssthresh
    return max(flow.ssthresh, float(int(flow.cwnd * 3 / 4)))


def set_ssthresh(flow: Any, marked: bool) -> None:
    """Set `ssthresh` to the control's window after a loss or mark: whole packets, at least 2."""
    if ECN and marked:
        window = control_window_after_mark(flow.law, flow, float(int(flow.cwnd)))
    else:
        window = control_window_after_loss(flow.law, flow, float(int(flow.cwnd)))
    flow.ssthresh = max(float(int(window)), SMALLEST_SSTHRESH)


def any_resent(sim: Any, f: int) -> bool:
    """Whether flow `f` has retransmissions in flight, or has retransmitted its oldest packet."""
    flow = flow_of(sim, f)
    if flow.resent_out > 0:
        return True
    return flow.una < flow.next_seq and slot_of(sim, f, flow.una).transmissions > 1


def start_undo(flow: Any) -> None:
    """Store the oldest packet and the retransmissions in flight at the start of a recovery.

    The recovery can be undone if the retransmissions turn out to be spurious.
    """
    flow.undo_marker = flow.una
    flow.undo_resent = flow.resent_out if flow.resent_out > 0 else NOT_SET


def start_reduction(flow: Any, marked: bool) -> None:
    """Start to reduce a flow's window to its new `ssthresh` over one round trip.

    Args:
        flow: record of the flow, changed in place.
        marked: whether the cause is a mark, not a loss.
    """
    flow.recover = flow.next_seq
    flow.probe_high = NOT_SET
    flow.cwnd = float(int(flow.cwnd))
    flow.prior_cwnd = flow.cwnd
    flow.reduced_delivered = 0
    flow.reduced_sent = 0
    set_ssthresh(flow, marked)


def reduce_window(flow: Any, delivered: int, newly_lost: int, advanced: bool) -> None:
    """Set `cwnd` so that a reduction sends packets in proportion to those delivered (RFC 6937).

    Args:
        flow: record of the flow, changed in place.
        delivered: packets that the ACK reports as arrived; at 0 nothing changes.
        newly_lost: packets that it shows to be lost.
        advanced: whether it acknowledges packets in order.
    """
    if delivered <= 0:
        return
    flow.reduced_delivered += delivered
    pipe = in_flight(flow)
    free = int(flow.ssthresh) - pipe
    if free < 0:
        proportion = int(flow.ssthresh) * flow.reduced_delivered + int(flow.prior_cwnd) - 1
        allowed = proportion // int(flow.prior_cwnd) - flow.reduced_sent
    else:
        allowed = max(flow.reduced_delivered - flow.reduced_sent, delivered)
        if advanced and newly_lost == 0:
            allowed += 1
        allowed = min(free, allowed)
    allowed = max(allowed, 0 if flow.reduced_sent else 1)
    flow.cwnd = float(pipe + allowed)


def end_reduction(flow: Any) -> None:
    """Set the window of a flow to `ssthresh` at the end of a reduction that was not undone."""
    if flow.state == CWR or flow.undo_marker != NOT_SET:
        flow.cwnd = flow.ssthresh


def enter_cwr(flow: Any) -> None:
    """Respond to a mark: reduce the window over one round trip (RFC 3168, section 6.1.2).

    In the states CWR, RECOVERY and LOSS the window is reduced already, and no new reduction starts.
    """
    flow.prior_ssthresh = 0.0
    if flow.state < CWR:
        flow.undo_marker = NOT_SET
        start_reduction(flow, True)
        set_state(flow, CWR)


def enter_recovery(sim: Any, f: int, echo: bool) -> None:
    """Start fast recovery of flow `f`; if the ACK echoes a mark (`echo`), it cannot be undone."""
    flow = flow_of(sim, f)
    if not any_resent(sim, f):
        flow.first_resent_at = NOT_SET
    flow.prior_ssthresh = 0.0
    start_undo(flow)
    if flow.state != CWR and flow.state != RECOVERY:
        if not echo:
            flow.prior_ssthresh = current_ssthresh(flow)
        start_reduction(flow, False)
    set_state(flow, RECOVERY)


def was_spurious(flow: Any, now: int) -> bool:
    """Whether the ACK at `now` (ps) shows that what was retransmitted had arrived before.

    It comes sooner than the smallest RTT after the first retransmission, or there was none.
    """
    return flow.first_resent_at == NOT_SET or now - flow.first_resent_at < flow.least_rtt


def undo_reduction(sim: Any, f: int, unmark: bool) -> None:
    """Return to the windows before the recovery of flow `f`, unless a mark has reduced them.

    With `unmark`, the marks of all lost packets are removed.
    """
    flow = flow_of(sim, f)
    if unmark:
        unmark_lost(sim, f)
    if flow.prior_ssthresh > 0:
        flow.cwnd = max(flow.cwnd, flow.prior_cwnd)
        flow.ssthresh = max(flow.ssthresh, flow.prior_ssthresh)
    flow.undo_marker = NOT_SET
    flow.rack_advanced = 1


def try_to_open(sim: Any, f: int, echo: bool) -> None:
    """Set the state of flow `f` outside recovery.

    The echo of a mark (`echo`) changes OPEN and DISORDER to CWR. CWR and LOSS are not changed. Any
    other state becomes DISORDER if packets are SACKed, lost or retransmitted, and else OPEN.
    """
    flow = flow_of(sim, f)
    resent = any_resent(sim, f)
    if not resent:
        flow.first_resent_at = NOT_SET
    if echo:
        enter_cwr(flow)
    if flow.state == CWR or flow.state == LOSS:
        return
    state = DISORDER if flow.sacked + flow.lost_out > 0 or resent else OPEN
    if flow.state != state:
        set_state(flow, state)
        flow.recover = flow.next_seq
