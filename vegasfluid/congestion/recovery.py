"""Loss recovery and the retransmission timer, as every TCP law shares them.

Plain scalar rules on a flow record, in the words of their RFCs. The defaults follow ns-2.35's
`Agent/TCP/Reno` where the RFC leaves a choice, because the project's reference runs are ns-2's.

Sources:
    RFC 5681, section 3.2 (fast retransmit and fast recovery); RFC 3042 (limited transmit);
    RFC 6582, section 3.2 (NewReno's partial ACKs); RFC 6298, section 2 (the timer).
"""

from __future__ import annotations

from typing import Any

from vegasfluid.congestion.law import NOTHING, RETRANSMIT, SEND, SEND_ONE

__all__ = [
    "fast_retransmit",
    "leave_recovery",
    "newreno_ack",
    "restart",
    "sample_round_trip",
]

DUPLICATE_ACK_THRESHOLD = 3
SMALLEST_SSTHRESH = 2.0
LARGEST_BACKOFF = 64

Flow = Any
"""A record of `vegasfluid.packet.records.FLOW`: NumPy's when interpreted, Numba's when compiled."""


def sample_round_trip(flow: Flow, rtt: int) -> None:
    """Take a round-trip sample into the retransmission timer (RFC 6298, section 2)."""
    if flow.srtt == 0:
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


def fast_retransmit(flow: Flow) -> int:
    """Count a duplicate ACK; at the third, halve the window and resend (RFC 5681, section 3.2).

    A second fast retransmit inside one window of data is held back until everything that was
    sent before the first is acknowledged (RFC 6582, section 3.2, step 2). Before the third
    duplicate ACK one new packet goes out for each (RFC 3042).
    """
    flow.duplicates += 1
    if flow.duplicates < DUPLICATE_ACK_THRESHOLD:
        return SEND_ONE
    if flow.duplicates > DUPLICATE_ACK_THRESHOLD:
        flow.inflation += flow.in_recovery
        return SEND
    if flow.una <= flow.recover:
        return SEND
    half = (min(flow.cwnd, flow.max_window) + flow.inflation) / 2
    flow.ssthresh = max(float(int(half)), SMALLEST_SSTHRESH)
    flow.cwnd = max(half, 1.0)
    flow.recover = flow.max_seq
    flow.in_recovery = 1
    flow.inflation = DUPLICATE_ACK_THRESHOLD
    return RETRANSMIT + SEND


def newreno_ack(flow: Flow, acked: int) -> int:
    """An ACK during fast recovery (RFC 6582, section 3.2, step 3).

    Returns:
        What to do, or NOTHING where the flow was not in recovery and the law may grow its window.
    """
    if not flow.in_recovery:
        flow.duplicates = 0
        return NOTHING
    if flow.una < flow.recover:
        flow.inflation = max(flow.inflation - acked + 1, 0)
        return RETRANSMIT + SEND
    leave_recovery(flow)
    return SEND


def restart(flow: Flow, window: float) -> None:
    """A timeout: half of the window becomes the target, and slow start begins anew."""
    flow.ssthresh = max(float(int(min(flow.cwnd, flow.max_window) / 2)), SMALLEST_SSTHRESH)
    flow.cwnd = window
    flow.recover = flow.max_seq
    leave_recovery(flow)
