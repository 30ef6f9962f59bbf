"""Loss recovery, the same for all congestion controls.

These are scalar functions on a flow record, with the terms of the RFCs. Where an RFC leaves a
choice, they follow ns-2.35's `Agent/TCP/Reno`, as the reference runs are from ns-2.

Sources:
    RFC 5681, section 3.2 (fast retransmit and fast recovery); RFC 3042 (limited transmit);
    RFC 6582, section 3.2 (NewReno's partial ACKs); RFC 3522 and RFC 4015 (spurious losses).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from vegasfluid import smooth
from vegasfluid.errors import InvalidInput

__all__ = [
    "NOTHING",
    "PARTIAL",
    "RACK_TLP",
    "RECOVERIES",
    "RECOVERY_NUMBERS",
    "RESEND",
    "RETRANSMIT",
    "SACK",
    "SEND",
    "SEND_ONE",
    "SMALLEST_SSTHRESH",
    "leave_recovery",
    "on_ack",
    "on_duplicate_ack",
    "on_ecn_echo",
    "on_timeout",
    "require_recovery",
    "timeout_share",
    "window_in_use",
]

NOTHING, RETRANSMIT, SEND, SEND_ONE, RESEND = 0, 1, 2, 4, 8
"""A sender's actions after an ACK, as a sum: retransmit the oldest packet and restart the timer
(RETRANSMIT), or without a change of timer and RTT timing (RESEND); send the packets that the window
allows (SEND); send one new packet (SEND_ONE)."""

SMALLEST_SSTHRESH = 2.0
"""Smallest window after a loss, packets (RFC 5681, equation 4)."""

increase_window: Callable[[Any, int, int], None]
"""`(flow, now, acked)`: grow `flow.cwnd` (packets) on an ACK of new packets at `now` (ps)."""
window_after_loss: Callable[[Any, float], float]
"""`(flow, window)`: window after a loss, packets, from the window in use."""
window_after_mark: Callable[[Any, float], float]
"""`(flow, window)`: window after an ECN echo, packets, from the window in use."""
window_after_timeout: Callable[[Any, float], float]
"""`(flow, window)`: window at which slow start ends after a timeout, packets."""
on_rtt_sample: Callable[[Any, float], None]
"""`(flow, rtt)`: use the RTT (ps) of a packet that was sent only once."""
on_recovery_end: Callable[[Any], None]
"""`(flow)`: called when a recovery ends."""
on_restart: Callable[[Any, int], None]
"""`(flow, now)`: called after a timeout at `now` (ps) has set the windows."""

RENO, NEWRENO, SACK, FINE, RACK_TLP = 0, 1, 2, 3, 4
"""Recovery schemes: fast recovery that ends with the first new ACK (RFC 5681), or after the last
loss of the window (RFC 6582); selective ACKs (RFC 6675); a fine-grained timer that duplicate ACKs
check (Vegas in ns-2); loss detection by time with tail loss probes and proportional rate reduction
(RFC 8985, RFC 6937; see `vegasfluid.packet.rack`)."""

PARTIAL = 2
"""Value of `flow.in_recovery` after the first partial ACK. Only that ACK restarts the timer, so
that many losses in a window end in a timeout, not after as many round trips (RFC 6582, section 4).
"""

RECOVERIES = {"reno": RENO, "newreno": NEWRENO, "sack": SACK, "rack": RACK_TLP}
"""Recovery schemes that model files can choose, by name."""

RECOVERY_NUMBERS = {**RECOVERIES, "fine": FINE}
"""All recovery schemes, by name."""

TIMEOUTS = {
    "reno": (1.0, 1.5),
    "newreno": (0.0, 1.5),
    "sack": (0.0, 1.9),
    "rack": (0.0, 1.9),
    "fine": (0.0, 1.1),
}
"""Parameters of `timeout_share`, by recovery scheme: the fraction of windows with several losses
that end in a timeout, and the window (packets) at which every loss does. Fitted to the timeouts per
drop of the packet simulator, for windows of 1.8 to 40 packets under RED. The form min(1, 3 / W) of
Misra, Gong and Towsley and of Padhye et al. (losses in bursts) gives two to five times as many."""

RTT_SLOPE, LARGEST_RTT_FACTOR = 1.2, 1.6
"""Factor of the small-window term of `timeout_share` per ratio of RTT to smallest timer, and its
largest value (fitted with `TIMEOUTS`)."""

DUPLICATE_ACK_THRESHOLD = 3
"""Duplicate ACKs that start fast retransmit (RFC 5681, section 3.2)."""
LARGEST_BACKOFF = 64
"""Largest factor by which timeouts multiply the retransmission timer (ns-2.35, tcp/tcp.cc)."""

Flow = Any
"""A record of `vegasfluid.packet.records.FLOW`: NumPy's when interpreted, Numba's when compiled."""


def require_recovery(law: Any) -> None:
    """Check that `recovery` of the congestion control `law` is None or a name in `RECOVERIES`.

    Raises:
        InvalidInput: for any other name than reno, newreno, sack and rack.
    """
    if law.recovery is not None and law.recovery not in RECOVERIES:
        allowed = "one of " + ", ".join(RECOVERIES)
        raise InvalidInput(type(law).__name__, "recovery", allowed, law.recovery)


def timeout_share(recovery: str, cwnd: Any, drop_prob: Any, rtt_over_timer: Any) -> Any:
    """Fraction of loss events that end in a timeout in the fluid model, 0 to 1.

    A small window gives fewer than three duplicate ACKs, a retransmitted packet may be lost, too,
    and Reno often has a timeout after two or more losses in a window.

    Args:
        recovery: a name in `RECOVERY_NUMBERS`.
        cwnd: window before the loss, packets.
        drop_prob: drop probability of a packet.
        rtt_over_timer: round-trip time divided by the smallest timer. A timer of several round
            trips leaves time for more packets, and so for duplicate ACKs.
    """
    several, small = TIMEOUTS[recovery]
    rtt_factor = smooth.minimum(RTT_SLOPE * rtt_over_timer, LARGEST_RTT_FACTOR)
    by_window = rtt_factor * (small / cwnd) ** 2
    others = drop_prob * cwnd / (1 + drop_prob * cwnd)
    return smooth.minimum(several * others + drop_prob + by_window, 1.0)


def leave_recovery(flow: Flow) -> None:
    """End fast recovery of a flow: reset its duplicate ACKs, window inflation and recovery state.

    RFC 5681, section 3.2, step 6. `flow.cwnd` stays as it is. Outside recovery, too, this resets
    the number of duplicate ACKs.
    """
    flow.duplicates = 0
    flow.inflation = 0
    flow.in_recovery = 0


def window_in_use(flow: Flow) -> float:
    """Window of a flow's sender, packets: `cwnd`, at most `max_window`, plus `inflation`.

    The inflation by duplicate ACKs is 0 outside recovery.
    """
    return min(flow.cwnd, flow.max_window) + flow.inflation


def on_ack(flow: Flow, now: int, acked: int) -> int:
    """Process an ACK of new packets: continue recovery, or let the window grow.

    Args:
        flow: record of the flow, changed in place.
        now: time of the ACK, ps.
        acked: number of new packets that it acknowledges.

    Returns:
        The sender's actions: a sum of RETRANSMIT, RESEND, SEND and SEND_ONE.
    """
    if flow.acked_transmissions == 1:
        on_rtt_sample(flow, float(now - flow.acked_sent_at))
    action = on_recovery_ack(flow, acked)
    if action == NOTHING:
        increase_window(flow, now, acked)
        return SEND
    if not flow.in_recovery:
        on_recovery_end(flow)
    return action


def on_duplicate_ack(flow: Flow, now: int) -> int:
    """Process a duplicate ACK: fast retransmit if it indicates a loss, else limited transmit.

    Fast retransmit also reduces the window. `now` (ps) is not used.

    Returns:
        The sender's actions: a sum of RETRANSMIT, RESEND, SEND and SEND_ONE.
    """
    if shows_loss(flow):
        return fast_retransmit(flow, window_after_loss(flow, window_in_use(flow)))
    return limited_transmit(flow)


def on_ecn_echo(flow: Flow, now: int) -> None:
    """Reduce `flow.cwnd` and `flow.ssthresh` (packets) for an ACK that echoes a mark.

    Outside recovery only; nothing is sent again (RFC 3168, section 6.1.2). `now` is not used.
    """
    if flow.in_recovery == 0:
        window = window_after_mark(flow, window_in_use(flow))
        flow.ssthresh = max(window, SMALLEST_SSTHRESH)
        flow.cwnd = flow.ssthresh


def on_timeout(flow: Flow, now: int) -> None:
    """After a timeout at `now` (ps), set a flow's window to one packet: slow start again.

    Slow start then ends (`flow.ssthresh`) at the control's window after a timeout, rounded down to
    whole packets, at least 2 (RFC 5681, 3.1). Recovery ends, and no fast retransmit starts until
    all packets sent so far are acknowledged.
    """
    window = window_after_timeout(flow, min(flow.cwnd, flow.max_window))
    flow.ssthresh = max(float(int(window)), SMALLEST_SSTHRESH)
    flow.cwnd = 1.0
    flow.recover = flow.max_seq
    leave_recovery(flow)
    on_restart(flow, now)


def shows_loss(flow: Flow) -> bool:
    """Count a duplicate ACK of a flow (`duplicates`); return whether it indicates a loss.

    At most one per window of data does. Without SACK it is the third duplicate ACK in a row
    (RFC 5681, section 3.2), once all packets sent before the last loss are acknowledged (RFC 6582,
    section 3.2, step 2); with SACK, the first that makes the oldest packet count as lost.
    """
    flow.duplicates += 1
    if flow.una <= flow.recover:
        return False
    if flow.recovery == SACK:
        return not flow.in_recovery and flow.lost_below > flow.una
    return flow.duplicates == DUPLICATE_ACK_THRESHOLD


def limited_transmit(flow: Flow) -> int:
    """The sender's actions for a duplicate ACK that indicates no new loss.

    The first and the second send one new packet each (SEND_ONE, RFC 3042). Later ones return SEND;
    those after the third first inflate the window by one packet in recovery (RFC 5681, section
    3.2, step 4). With SACK the action is always SEND, as the scoreboard counts packets in flight.
    """
    if flow.recovery == SACK:
        return SEND
    if flow.duplicates < DUPLICATE_ACK_THRESHOLD:
        return SEND_ONE
    if flow.duplicates > DUPLICATE_ACK_THRESHOLD:
        flow.inflation += min(flow.in_recovery, 1)
    return SEND


def fast_retransmit(flow: Flow, window: float) -> int:
    """Enter fast recovery: reduce the window and retransmit the oldest packet.

    RFC 5681, section 3.2.

    Args:
        flow: record of the flow, changed in place; `ssthresh` becomes `window`, rounded down to
            whole packets and at least 2, `cwnd` becomes `window`, at least 1.
        window: window after the loss, packets.

    Returns:
        The sender's actions: RETRANSMIT + SEND.
    """
    flow.undo_cwnd, flow.undo_ssthresh = flow.cwnd, flow.ssthresh
    flow.ssthresh = max(float(int(window)), SMALLEST_SSTHRESH)
    flow.cwnd = max(window, 1.0)
    flow.recover = flow.max_seq
    flow.in_recovery = 1
    flow.inflation = 0 if flow.recovery == SACK else DUPLICATE_ACK_THRESHOLD
    return RETRANSMIT + SEND


def on_recovery_ack(flow: Flow, acked: int) -> int:
    """The sender's actions for an ACK of new packets in recovery; NOTHING outside recovery.

    For Reno any ACK of new packets ends recovery, and the result is NOTHING. Otherwise an ACK of
    all packets sent before the loss ends it: SEND. A partial ACK gives RESEND + SEND for NewReno,
    SEND for SACK, whose scoreboard finds the next packet to retransmit.

    Args:
        flow: record of the flow, changed in place.
        acked: number of new packets that the ACK acknowledges.
    """
    if not flow.in_recovery or flow.recovery == RENO:
        leave_recovery(flow)
        return NOTHING
    if flow.recovery == SACK:
        undo_if_spurious(flow)
    if flow.una >= flow.recover:
        leave_recovery(flow)
    if flow.recovery == SACK or not flow.in_recovery:
        return SEND
    deflate(flow, acked)
    flow.in_recovery = PARTIAL
    return RESEND + SEND


def deflate(flow: Flow, acked: int) -> None:
    """Reduce a flow's window by `acked` - 1 packets, for a partial ACK of `acked` packets.

    The inflation is reduced first, then `cwnd`, which stays at least 1 packet (RFC 6582, section
    3.2, step 3).
    """
    left = flow.inflation - acked
    if left > 0:
        flow.inflation = left + 1
    else:
        flow.cwnd = max(flow.cwnd + left, 1.0)
        flow.inflation = 1


def undo_if_spurious(flow: Flow) -> None:
    """Undo a flow's window reduction if the loss was spurious, and leave recovery.

    The loss was spurious if the ACK arrives sooner after the retransmission than the smallest RTT:
    it then acknowledges the original packet (RFC 3522 distinguishes the two by timestamps).
    `cwnd` and `ssthresh` return to their values before the loss unless they are larger.
    """
    if flow.acked_at - flow.resent_at < flow.least_rtt:
        leave_recovery(flow)
        flow.cwnd = max(flow.cwnd, flow.undo_cwnd)
        flow.ssthresh = max(flow.ssthresh, flow.undo_ssthresh)
        flow.recover = flow.una - 1
