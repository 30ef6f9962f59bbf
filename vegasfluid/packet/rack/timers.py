"""The only timer of a sender with RACK-TLP recovery, and its round-trip time estimate.

Sources:
    RFC 6298 and Linux 6.1, tcp_rtt_estimator (the timeout is the smoothed RTT and at least
    `min_rto` more); RFC 8985, section 7.2 (tail loss probe), with Linux's choices (behaviour only).
"""

from __future__ import annotations

from typing import Any

from vegasfluid.clock import NEVER, picoseconds
from vegasfluid.packet.rack.records import CWR, OPEN, PROBE_TIMER, REORDERING_TIMER, RTO_TIMER
from vegasfluid.packet.state import flow_of, slot_of

__all__ = ["estimate_rtt", "rearm_timeout", "restart_timer", "start_probe", "wait_for_reordering"]

TIMER_SLACK = picoseconds(0.002)
"""Time added to short timers, ps: Linux's TCP_TIMEOUT_MIN_US."""
LARGEST_TIMEOUT = picoseconds(120.0)
"""Largest retransmission timeout, ps: Linux's TCP_RTO_MAX."""


def estimate_rtt(flow: Any, rtt: int) -> None:
    """Update smoothed RTT, deviation and retransmission timeout of a flow by one sample, ps.

    The deviation counts as at least `min_rto`, and falls slowly: by a quarter a round trip.
    """
    if flow.srtt == 0:
        flow.srtt = rtt
        flow.deviation = 2 * rtt
        flow.rttvar = max(flow.deviation, flow.min_rto)
        flow.largest_deviation = flow.rttvar
        flow.rtt_round_end = flow.next_seq
    else:
        error = rtt - flow.srtt
        flow.srtt += error // 8
        change = abs(error) - flow.deviation // 4
        if error < 0 and change > 0:
            change //= 8  # a sudden fall of the RTT shall not raise the timeout
        flow.deviation += change
        if flow.deviation > flow.largest_deviation:
            flow.largest_deviation = flow.deviation
            flow.rttvar = max(flow.rttvar, flow.largest_deviation)
        if flow.una > flow.rtt_round_end:
            if flow.largest_deviation < flow.rttvar:
                flow.rttvar -= (flow.rttvar - flow.largest_deviation) // 4
            flow.rtt_round_end = flow.next_seq
            flow.largest_deviation = flow.min_rto
    flow.rto = min(flow.srtt + flow.rttvar, LARGEST_TIMEOUT)
    flow.backoff = 1


def timeout_after(flow: Any, sent_at: int, now: int) -> int:
    """Time from `now` until the retransmission timeout of a packet sent at `sent_at`, ps.

    It is 0 if the timeout is due or past.
    """
    return max(sent_at + flow.rto * flow.backoff - now, 0)


def rearm_timeout(sim: Any, f: int, now: int) -> None:
    """Start the retransmission timer of flow `f` at `now` (ps).

    It ends one timeout after `now`. If it replaces another timer, it ends one timeout after the
    oldest packet was sent. It is stopped if nothing is in flight.
    """
    flow = flow_of(sim, f)
    if flow.una == flow.next_seq:
        flow.deadline = NEVER
        return
    wait = flow.rto * flow.backoff
    if flow.timer != RTO_TIMER:
        wait = max(timeout_after(flow, slot_of(sim, f, flow.una).sent_at, now), TIMER_SLACK // 2)
    flow.timer = RTO_TIMER
    flow.deadline = now + wait


def start_probe(sim: Any, f: int, now: int) -> bool:
    """Set the timer of flow `f` to a tail loss probe, if one may be sent.

    It expires two smoothed RTTs after `now` (ps) and 2 ms more, or `min_rto` more if one packet is
    unacknowledged; at the latest at the retransmission timeout of the oldest packet.

    Returns:
        Whether the timer was set: not in a state other than OPEN and CWR, before the first RTT
        sample, or with nothing in flight.
    """
    flow = flow_of(sim, f)
    if flow.una == flow.next_seq or flow.srtt == 0:
        return False
    if flow.state != OPEN and flow.state != CWR:
        return False
    wait = 2 * flow.srtt
    wait += flow.min_rto if flow.next_seq - flow.una == 1 else TIMER_SLACK
    left = timeout_after(flow, slot_of(sim, f, flow.una).sent_at, now)
    if left > 0:
        wait = min(wait, left)
    flow.timer = PROBE_TIMER
    flow.deadline = now + wait
    return True


def restart_timer(sim: Any, f: int, now: int) -> None:
    """Start the timer of flow `f` anew at `now` (ps): a probe, or the retransmission timeout."""
    if not start_probe(sim, f, now):
        rearm_timeout(sim, f, now)


def wait_for_reordering(flow: Any, now: int, wait: int) -> None:
    """Set the timer of a flow to the end of the reordering window: `now` + `wait` + 2 ms, in ps."""
    flow.timer = REORDERING_TIMER
    flow.deadline = now + wait + TIMER_SLACK
    flow.ack_waits = 1
