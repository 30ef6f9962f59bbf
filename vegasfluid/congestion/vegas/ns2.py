"""Vegas of ns-2.35 (`Agent/TCP/Vegas`), including its quirks.

Published results for Vegas were obtained with it, so that its behaviour is reproduced: the backlog
counts packets in flight and is rounded to a whole number; the window grows only while it is used; a
loss takes away a quarter of the window; duplicate ACKs check a fine-grained timer. A round without
an RTT sample uses the time since its start as its RTT. So *the base RTT is much too small after
timeouts*, and the window then has its equilibrium near alpha packets.

Sources:
    The behaviour of ns-2.35, tcp/tcp-vegas.cc (no code copied).
"""

from __future__ import annotations

from typing import Any

from vegasfluid.congestion.loss_recovery import (
    DUPLICATE_ACK_THRESHOLD,
    LARGEST_BACKOFF,
    RESEND,
    RETRANSMIT,
    SEND,
)
from vegasfluid.congestion.packet_rules import PacketRules
from vegasfluid.congestion.vegas.implementation import COUNTERS, VegasImplementation

__all__ = ["NS2"]

Flow = Any
"""A record of `vegasfluid.packet.records.FLOW`: NumPy's when interpreted, Numba's when compiled."""

SMALLEST_WINDOW = 2.0
"""Smallest window after recovery, packets. (ns-2: 0 after a timeout, and then another timeout.)"""

UNKNOWN = 1e30
"""Value of a base RTT until the first ACK, ps: larger than any RTT."""

CHECKED_ACKS = 2
"""New ACKs after a loss at which the age of the oldest packet is checked."""


def end_round(flow: Flow, now: int) -> None:
    """At the end of a round trip (`now`, ps), estimate the backlog, set the next round's increase.

    Without an RTT sample, the time since the start of the round counts as its RTT. Changes the
    flow's record.
    """
    if flow.round_samples > 0:
        rtt = flow.round_rtt_sum / flow.round_samples
    else:
        rtt = float(now - flow.round_started)
    sent = flow.next_seq - flow.round_end
    if rtt > 0:
        if rtt < flow.base_rtt or sent <= 1:
            flow.base_rtt = rtt
        unacked = flow.next_seq - flow.una + 1
        choose_step(flow, int(unacked - sent * flow.base_rtt / rtt + 0.5))
    flow.round_samples = 0
    flow.round_rtt_sum = 0.0
    flow.round_end = flow.next_seq
    flow.round_started = now


def choose_step(flow: Flow, backlog: int) -> None:
    """Set a flow's increase for the next round trip by its backlog (packets).

    Grow below alpha; shrink by one packet above beta, at once; above gamma, end slow start and
    take 1/8 of the window away. `increase` is in packets per ACK.
    """
    flow.vegas_diff = float(backlog)
    if flow.cwnd < flow.ssthresh:
        flow.doubling_round = 1 - flow.doubling_round
        flow.increase = float(flow.doubling_round)
        if flow.doubling_round and backlog > flow.gamma:
            flow.ssthresh = 2.0
            flow.cwnd = max(flow.cwnd * 7 / 8, 2.0)
            flow.increase = 0.0
            flow.vegas_above_gamma += 1
    elif backlog > flow.beta:
        flow.cwnd = max(flow.cwnd - 1.0, 2.0)
        flow.increase = 0.0
        flow.vegas_above_beta += 1
    elif backlog < flow.alpha:
        flow.increase = 1.0 / flow.cwnd
        flow.vegas_below_alpha += 1
    else:
        flow.increase = 0.0
        flow.vegas_unchanged += 1


def take_sample(flow: Flow, rtt: int) -> None:
    """Update a flow's mean RTT of the round, base RTT and fine-grained timer by `rtt` (ps)."""
    flow.round_rtt_sum += rtt
    flow.round_samples += 1
    flow.base_rtt = min(flow.base_rtt, float(rtt))
    error = rtt - flow.fine_rtt
    flow.fine_rtt += error / 8
    flow.fine_deviation += abs(error) - flow.fine_deviation / 4
    flow.fine_timeout = (flow.fine_rtt + flow.fine_deviation / 2) * 17 / 16


def start_connection(flow: Flow, now: int) -> None:
    """Initialise a flow's estimates (ps) by the round trip of the first ACK, at `now` (ps).

    It counts as no sample of the round.
    """
    rtt = float(now - flow.acked_sent_at)
    flow.base_rtt = rtt
    flow.fine_rtt = rtt
    flow.fine_deviation = rtt
    flow.fine_timeout = 1.5 * rtt
    flow.round_started = flow.acked_sent_at


def oldest_expired(flow: Flow, now: int) -> bool:
    """Whether the fine-grained timer of a flow's oldest packet has expired at `now` (ps).

    Also true if that packet was offered but not sent (a quirk of ns-2).
    """
    unsent = flow.una == flow.max_seq
    return flow.una < flow.offered and (unsent or now - flow.oldest_sent_at >= flow.fine_timeout)


def increase_window(flow: Flow, now: int, acked: int) -> None:
    """Add `flow.increase` (packets per ACK) to `flow.cwnd`, if the window is used.

    It is used if it exceeds the packets in flight plus one by at most two packets. In slow start,
    an `increase` of 1 becomes 0 once the window reaches ssthresh. `now` (ps) and `acked` are not
    used.
    """
    if flow.increase == 1.0 and flow.cwnd >= flow.ssthresh:
        flow.increase = 0.0
    if flow.increase > 0 and flow.cwnd - (flow.next_seq - flow.una + 1) <= 2:
        flow.cwnd += flow.increase


def on_ack(flow: Flow, now: int, acked: int) -> int:
    """Process an ACK of new packets: window, round trip, RTT sample, check for a second loss.

    Args:
        flow: record of the flow, changed in place.
        now: time of the ACK, ps.
        acked: number of new packets that it acknowledges; not used.

    Returns:
        The sender's actions: SEND, or RESEND + SEND if the oldest packet's timer has expired.
    """
    if flow.duplicates > DUPLICATE_ACK_THRESHOLD and flow.cwnd > flow.cwnd_after_loss:
        flow.cwnd = max(flow.cwnd_after_loss, SMALLEST_WINDOW)
        flow.ssthresh = 2.0
    flow.duplicates = 0
    first = flow.base_rtt == UNKNOWN
    if first:
        start_connection(flow, now)
    if flow.una > flow.round_end:
        end_round(flow, now)
    increase_window(flow, now, acked)
    if flow.acked_transmissions == 1 and not first:
        take_sample(flow, now - flow.acked_sent_at)
    if flow.worried > 0:
        flow.worried -= 1
        if oldest_expired(flow, now):
            flow.duplicates = DUPLICATE_ACK_THRESHOLD
            return RESEND + SEND
        flow.worried = 0
    return SEND


def on_duplicate_ack(flow: Flow, now: int) -> int:
    """Process a duplicate ACK at `now` (ps).

    The third, or any if the fine-grained timer of the oldest packet has expired, retransmits this
    packet and reduces the window, at most once per window of data. After a timeout neither happens
    until the data sent before it are acknowledged. Other duplicate ACKs after the third inflate
    the window by one packet each.

    Returns:
        The sender's actions: a sum of RETRANSMIT and SEND, or 0.
    """
    flow.duplicates += 1
    action = 0
    if oldest_expired(flow, now) or flow.duplicates == DUPLICATE_ACK_THRESHOLD:
        if flow.una > flow.recover or flow.after_timeout == 0:
            reduce_window(flow, now)
            action = RETRANSMIT
    elif flow.duplicates > DUPLICATE_ACK_THRESHOLD:
        flow.cwnd += 1.0
    if flow.duplicates >= DUPLICATE_ACK_THRESHOLD:
        action += SEND
    return action


def reduce_window(flow: Flow, now: int) -> None:
    """Reduce a flow's window for a loss at `now` (ps), at most once per window of data.

    A first loss takes away a quarter of the window, a second loss of the same packet a half, both
    in whole packets; a window of up to 3 packets becomes 2. The timers also grow.
    """
    again = flow.oldest_transmissions > 1
    flow.after_timeout = 0
    flow.recover = flow.max_seq
    flow.worried = min(CHECKED_ACKS, flow.next_seq - flow.una + 1)
    flow.fine_timeout *= 2.0 if again else 1.125
    flow.backoff = min(2 * flow.backoff, LARGEST_BACKOFF)
    if flow.cwnd_changed_at < flow.oldest_sent_at:
        window = int(min(flow.cwnd, flow.max_window))
        if window <= 3:
            window = 2
        elif again:
            window //= 2
        else:
            window -= window // 4
        flow.cwnd_after_loss = float(window)
        flow.cwnd = flow.cwnd_after_loss + flow.duplicates
        flow.cwnd_changed_at = now
    if not again:
        flow.duplicates = DUPLICATE_ACK_THRESHOLD


def window_after_timeout(flow: Flow, window: float) -> float:
    """Window at which slow start ends after a timeout, packets: half of `window`, now in use."""
    return window / 2


def on_restart(flow: Flow, now: int) -> None:
    """After a timeout at `now` (ps), set `flow.cwnd` to two packets; the base RTT is kept.

    Until all data sent before the timeout are acknowledged, duplicate ACKs retransmit nothing.
    """
    flow.cwnd = 2.0
    flow.cwnd_after_loss = 0.0
    flow.cwnd_changed_at = now
    flow.after_timeout = 1


def window_after_mark(flow: Flow, window: float) -> float:
    """Window after an ECN mark, packets: 3/4 of that in use (`window`), as after a first loss."""
    return window * 3 / 4


NS2 = VegasImplementation(
    name="ns2",
    alpha=1,
    beta=3,
    gamma=1,
    loss_cut=1 / 4,
    slow_start_cut=1 / 8,
    slow_start_rounds=2,
    divides_by_base_rtt=False,
    alpha_offset=0.0,
    beta_offset=0.0,
    uses_min_rtt=False,
    reno_during_reordering=False,
    unsent_fraction=0.0,
    steps_per_ack=True,
    min_samples=0,
    resets_base_rtt_at_timeout=True,
    keeps_ssthresh=False,
    whole_packets=True,
    rules=PacketRules(
        increase_window,
        window_after_timeout,
        window_after_mark=window_after_mark,
        on_restart=on_restart,
        handlers={"on_ack": on_ack, "on_duplicate_ack": on_duplicate_ack},
        state={
            "round_end": 0,
            "round_started": 0,
            "round_samples": 0,
            "round_rtt_sum": 0.0,
            "base_rtt": UNKNOWN,
            "increase": 0.0,
            "doubling_round": 1,
            "fine_rtt": 0.0,
            "fine_deviation": 0.0,
            "fine_timeout": 1e30,
            "worried": 0,
            "cwnd_after_loss": 0.0,
            "cwnd_changed_at": 0,
            "after_timeout": 0,
            **COUNTERS,
        },
        places=("round_end",),
        counters=tuple(COUNTERS),
        recovery="fine",
    ),
    sources=("ns-2.35, tcp/tcp-vegas.cc",),
)
"""Vegas of ns-2.35."""
