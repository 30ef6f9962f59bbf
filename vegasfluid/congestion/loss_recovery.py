"""Loss recovery and the retransmission timer, as every TCP law shares them.

Plain scalar rules on a flow record, in the words of their RFCs. The defaults follow ns-2.35's
`Agent/TCP/Reno` where the RFC leaves a choice, because the project's reference runs are ns-2's.

Sources:
    RFC 5681, section 3.2 (fast retransmit and fast recovery); RFC 3042 (limited transmit);
    RFC 6582, section 3.2 (NewReno's partial ACKs); RFC 6298, section 2 (the timer); RFC 3522
    and RFC 4015 (a loss that was none).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from vegasfluid import smooth
from vegasfluid.errors import InvalidInput

__all__ = [
    "NOTHING",
    "PARTIAL",
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
    "sample_round_trip",
    "timeout_share",
    "window_in_use",
]

NOTHING, RETRANSMIT, SEND, SEND_ONE, RESEND = 0, 1, 2, 4, 8
"""What a sender shall do after an ACK, a sum of: send the oldest packet again and start the timer
anew (RETRANSMIT), or let the timer and the timing of a later packet go on (RESEND); send what the
window allows (SEND); send one new packet (SEND_ONE)."""

SMALLEST_SSTHRESH = 2.0
"""Packets: no loss leaves less of a window (RFC 5681, equation 4)."""

increase_window: Callable[[Any, int, int], None]
window_after_loss: Callable[[Any, float], float]
window_after_mark: Callable[[Any, float], float]
window_after_timeout: Callable[[Any, float], float]
on_rtt_sample: Callable[[Any, float], None]
on_recovery_end: Callable[[Any], None]
on_restart: Callable[[Any, int], None]

RENO, NEWRENO, SACK, FINE = 0, 1, 2, 3
"""How a sender repairs losses: fast recovery that ends with the first new ACK (RFC 5681), with
the last loss of the window (RFC 6582), by selective ACKs (RFC 6675), or by a fine-grained timer
that duplicate ACKs check (Vegas in ns-2)."""

PARTIAL = 2
"""What `in_recovery` is after a partial ACK, the last one to start the timer anew: a window with
very many losses ends in a timeout, not after as many round trips (RFC 6582, section 4)."""

RECOVERIES = {"reno": RENO, "newreno": NEWRENO, "sack": SACK}
"""Those that a congestion control can be given in a model file, by name."""

RECOVERY_NUMBERS = {**RECOVERIES, "fine": FINE}
"""All of them, by name."""

TIMEOUTS = {"reno": (1.0, 1.5), "newreno": (0.0, 1.5), "sack": (0.0, 1.9), "fine": (0.0, 1.1)}
"""Of `timeout_share`: the share of windows with several losses that end in one, and the window
(packets) at which every loss is one. Fitted to the packet simulator's timeouts for each drop,
windows 1.8 to 40 packets under RED; the form min(1, 3 / W) of Misra, Gong and Towsley and of Padhye
et al. (losses in bursts) gives two to five times as many there."""

PATIENCE, MOST_HURRIED = 1.2, 1.6
"""How the last term grows with the round-trip time over the smallest timer, and how far."""

DUPLICATE_ACK_THRESHOLD = 3
LARGEST_BACKOFF = 64
LARGEST_TRUSTED_BACKOFF = 8
"""Beyond it the round trips seen before are not believed any more (ns-2.35, tcp/tcp.cc)."""

Flow = Any
"""A record of `vegasfluid.packet.records.FLOW`: NumPy's when interpreted, Numba's when compiled."""


def require_recovery(law: Any) -> None:
    """Hold the field `recovery` of a law to the names of `RECOVERIES`.

    Raises:
        InvalidInput: for any other name.
    """
    if law.recovery not in RECOVERIES:
        allowed = "one of " + ", ".join(RECOVERIES)
        raise InvalidInput(type(law).__name__, "recovery", allowed, law.recovery)


def timeout_share(recovery: str, cwnd: Any, drop_prob: Any, hurry: Any) -> Any:
    """The share of loss events that end in a timeout, for the fluid.

    A small window cannot bring three duplicate ACKs; the packet sent again may be lost, too; and
    plain Reno often waits for its timer where a window lost two packets or more.

    Args:
        recovery: a name in `RECOVERIES`, or `fine` for Vegas's fine-grained timer.
        cwnd: window before the loss, packets.
        drop_prob: of a packet.
        hurry: round-trip time over the smallest timer: a timer of several round trips leaves
            time for more packets, and for the duplicate ACKs that they bring.
    """
    several, small = TIMEOUTS[recovery]
    by_window = smooth.minimum(PATIENCE * hurry, MOST_HURRIED) * (small / cwnd) ** 2
    others = drop_prob * cwnd / (1 + drop_prob * cwnd)
    return smooth.minimum(several * others + drop_prob + by_window, 1.0)


def sample_round_trip(flow: Flow, rtt: int) -> None:
    """Take a round-trip sample into the retransmission timer (RFC 6298, section 2).

    After many expiries the timer begins anew, as section 5 allows and ns-2 does.
    """
    if flow.srtt == 0 or flow.backoff > LARGEST_TRUSTED_BACKOFF:
        flow.srtt = rtt
        flow.rttvar = rtt // 2
    else:
        error = rtt - flow.srtt
        flow.srtt += error // 8
        flow.rttvar += (abs(error) - flow.rttvar) // 4
    flow.rto = max(flow.srtt + 4 * flow.rttvar, flow.min_rto)
    flow.backoff = 1


def leave_recovery(flow: Flow) -> None:
    """A new ACK ends fast recovery and deflates the window (RFC 5681, section 3.2, step 6)."""
    flow.duplicates = 0
    flow.inflation = 0
    flow.in_recovery = 0


def window_in_use(flow: Flow) -> float:
    """The window, with what duplicate ACKs have added to it in recovery, packets."""
    return min(flow.cwnd, flow.max_window) + flow.inflation


def on_ack(flow: Flow, now: int, acked: int) -> int:
    """Process an ACK of `acked` new packets: go on with recovery, or let the window grow."""
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
    """Process a duplicate ACK: fast retransmit where it shows a loss, limited transmit else."""
    if shows_loss(flow):
        return fast_retransmit(flow, window_after_loss(flow, window_in_use(flow)))
    return limited_transmit(flow)


def on_ecn_echo(flow: Flow, now: int) -> None:
    """Reduce the window for a mark as for a loss; nothing is lost (RFC 3168, section 6.1.2)."""
    if flow.in_recovery == 0:
        window = window_after_mark(flow, window_in_use(flow))
        flow.ssthresh = max(window, SMALLEST_SSTHRESH)
        flow.cwnd = flow.ssthresh


def on_timeout(flow: Flow, now: int) -> None:
    """Start slow start anew from one packet (RFC 5681, section 3.1)."""
    window = window_after_timeout(flow, min(flow.cwnd, flow.max_window))
    flow.ssthresh = max(float(int(window)), SMALLEST_SSTHRESH)
    flow.cwnd = 1.0
    flow.recover = flow.max_seq
    leave_recovery(flow)
    on_restart(flow, now)


def shows_loss(flow: Flow) -> bool:
    """Count a duplicate ACK; whether it shows a loss, at most once a window of data.

    Without SACK that is the third duplicate ACK in a row (RFC 5681, section 3.2), and not
    before everything is acknowledged that was sent before the last loss (RFC 6582, section 3.2,
    step 2).
    """
    flow.duplicates += 1
    if flow.una <= flow.recover:
        return False
    if flow.recovery == SACK:
        return not flow.in_recovery and flow.edge > flow.una
    return flow.duplicates == DUPLICATE_ACK_THRESHOLD


def limited_transmit(flow: Flow) -> int:
    """What to send for a duplicate ACK that shows no loss.

    One new packet for each before the third (RFC 3042); later ones inflate the window by a packet
    (RFC 5681, section 3.2, step 4). With SACK the scoreboard says what has left the network.
    """
    if flow.recovery == SACK:
        return SEND
    if flow.duplicates < DUPLICATE_ACK_THRESHOLD:
        return SEND_ONE
    if flow.duplicates > DUPLICATE_ACK_THRESHOLD:
        flow.inflation += min(flow.in_recovery, 1)
    return SEND


def fast_retransmit(flow: Flow, window: float) -> int:
    """Resend the oldest packet, and go on with a smaller window (RFC 5681, section 3.2)."""
    flow.undo_cwnd, flow.undo_ssthresh = flow.cwnd, flow.ssthresh
    flow.ssthresh = max(float(int(window)), SMALLEST_SSTHRESH)
    flow.cwnd = max(window, 1.0)
    flow.recover = flow.max_seq
    flow.in_recovery = 1
    flow.inflation = 0 if flow.recovery == SACK else DUPLICATE_ACK_THRESHOLD
    return RETRANSMIT + SEND


def on_recovery_ack(flow: Flow, acked: int) -> int:
    """What to send for an ACK of new packets in recovery; NOTHING outside recovery."""
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
    """A partial ACK takes what it acknowledges from the window, but for one packet.

    RFC 6582, section 3.2, step 3.
    """
    left = flow.inflation - acked
    if left > 0:
        flow.inflation = left + 1
    else:
        flow.cwnd = max(flow.cwnd + left, 1.0)
        flow.inflation = 1


def undo_if_spurious(flow: Flow) -> None:
    """Take back the answer to a loss that was none.

    An ACK that comes sooner after the packet was sent again than any round trip has taken is
    that of the packet as it was sent first (RFC 3522 tells them apart by timestamps).
    """
    if flow.acked_at - flow.resent_at < flow.least_rtt:
        leave_recovery(flow)
        flow.cwnd = max(flow.cwnd, flow.undo_cwnd)
        flow.ssthresh = max(flow.ssthresh, flow.undo_ssthresh)
        flow.recover = flow.una - 1
