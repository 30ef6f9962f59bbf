"""CUBIC of the Linux kernel (net/ipv4/tcp_cubic.c): packet rules.

The target is the cubic one smallest RTT ahead, updated at most once a tick (1 ms with HZ = 1000),
when the window has changed or after 1/32 s. The window grows by one packet for every `per_packet`
packets acknowledged, at least 2. The Reno-friendly window grows by one packet for 15/8 windows.
HyStart ends slow start when ACKs of a round trip come close together for half of the smallest RTT,
or when the RTT of its first packets has risen by an eighth (4 to 16 ms).

Not modelled: the rounding of the kernel's cube root (at most 0.2 %), and a pacing rate above
2 Gbit/s, where HyStart allows less than 1 ms for bunched ACKs.

Sources:
    The behaviour of Linux 6.1, net/ipv4/tcp_cubic.c (no code copied). S. Ha and I. Rhee, "Taming
    the elephants: new TCP slow start", Computer Networks 55(9), 2011 (HyStart).
"""

from __future__ import annotations

from typing import Any

from vegasfluid.congestion.counted_growth import (
    COUNT,
    add_packets,
    packets_of_growth,
    slow_start,
)
from vegasfluid.congestion.packet_rules import PacketRules

__all__ = ["rules"]

Flow = Any
"""A record of `vegasfluid.packet.records.FLOW`: NumPy's when interpreted, Numba's when compiled."""

MILLISECOND = 10**9
"""Picoseconds in a millisecond."""
TICK = MILLISECOND
"""Period of the kernel's clock, ps: HZ = 1000."""
SECONDS = 1e-12
"""Seconds per picosecond."""
LONGEST_PAUSE = 1000 * MILLISECOND // 32
"""Time after which the target is updated although the window is the same, ps."""
FIRST_EPOCH_COUNT = 20
"""Largest number of packets per packet of growth before the first loss: 5 % a round trip."""
NO_GROWTH = 100
"""Windows of packets to be acknowledged per packet of growth where the window is above the cubic:
nearly no growth."""
FEWEST_PER_PACKET = 2
"""Smallest number of packets acknowledged per packet of growth, so that a window grows to at most
1.5 times its size in a round trip."""
HYSTART_WINDOW = 16
"""Window from which HyStart looks for the end of slow start, packets."""
TRAIN_SPACING = 2 * MILLISECOND
"""Largest spacing of the ACKs of one train, ps."""
TRAIN_ALLOWANCE = MILLISECOND
"""Time added to the smallest RTT in the test of an ACK train, as ACKs may be bunched, ps."""
DELAY_SAMPLES = 8
"""RTT samples of a round trip from which its smallest is taken."""
SMALLEST_RISE, LARGEST_RISE = 4 * MILLISECOND, 16 * MILLISECOND
"""Bounds of the rise of the RTT that ends slow start, ps."""
SKIPPED = 1000 * MILLISECOND
"""Time after the start of an epoch in which RTT samples are not used, ps."""
UNKNOWN = 2.0**62
"""Value of a smallest RTT until the first sample, ps: larger than any RTT."""


def begin_epoch(flow: Flow, now: int, acked: int) -> None:
    """Start an epoch at `now` (ps), for an ACK of `acked` packets.

    Sets the cubic from the present window to `origin`, the larger of it and `last_max` (packets),
    which it reaches after `plateau` (s), and restarts the window of standard TCP.
    """
    flow.epoch_start = now
    flow.friendly_acked = float(acked)
    flow.friendly_window = flow.cwnd
    flow.origin = max(flow.last_max, flow.cwnd)
    flow.plateau = ((flow.origin - flow.cwnd) / flow.cubic_c) ** (1 / 3)


def packets_to_target(flow: Flow, now: int) -> float:
    """Packets to be acknowledged per packet of growth, so that the window follows the cubic.

    The target is the cubic one smallest RTT after `now` (ps). The result is rounded down to a whole
    number, as in the kernel, and may be 0. It is `NO_GROWTH` windows where the target is not above
    the window, and at most `FIRST_EPOCH_COUNT` before the first loss.
    """
    ahead = 0.0 if flow.delay_min == UNKNOWN else flow.delay_min
    t = (now - flow.epoch_start + ahead) * SECONDS - flow.plateau
    change = float(int(flow.cubic_c * abs(t) ** 3))
    target = flow.origin + (change if t >= 0 else -change)
    count = float(NO_GROWTH * int(flow.cwnd))
    if target > flow.cwnd:
        count = float(int(flow.cwnd / (target - flow.cwnd)))
    if flow.last_max == 0.0:
        count = min(count, float(FIRST_EPOCH_COUNT))
    return count


def update_count(flow: Flow, now: int, acked: int) -> None:
    """Update `flow.per_packet`, the packets to be acknowledged per packet of growth.

    An ACK of `acked` packets at `now` (ps) updates it only if the window has changed, or 1/32 s
    have passed, since the last update. It then is at least `FEWEST_PER_PACKET`.
    """
    flow.friendly_acked += acked
    tick = now // TICK * TICK
    if flow.last_cwnd == flow.cwnd and tick - flow.updated_at <= LONGEST_PAUSE:
        return
    if flow.epoch_start == 0 or tick != flow.updated_at:
        flow.last_cwnd = flow.cwnd
        flow.updated_at = tick
        if flow.epoch_start == 0:
            begin_epoch(flow, tick, acked)
        flow.per_packet = packets_to_target(flow, tick)
    if flow.friendly:
        follow_reno(flow)
    flow.per_packet = max(flow.per_packet, float(FEWEST_PER_PACKET))


def follow_reno(flow: Flow) -> None:
    """Update the window that standard TCP would have, and let `cwnd` grow to it if it is larger.

    `friendly_window` (packets) grows by the packets acknowledged so far, `friendly_acked`: by one
    packet per 1/alpha_cubic windows of packets (RFC 9438, section 4.3), which the kernel rounds
    down to eighths: 15/8 for beta = 0.7. If it exceeds `cwnd`, `per_packet`, the packets to be
    acknowledged per packet of growth, is lowered so that `cwnd` reaches it.
    """
    needed = float(packets_of_growth(flow.cwnd, flow.alpha_cubic))
    while flow.friendly_acked > needed:
        flow.friendly_acked -= needed
        flow.friendly_window += 1.0
    if flow.friendly_window > flow.cwnd:
        most = float(int(flow.cwnd / (flow.friendly_window - flow.cwnd)))
        flow.per_packet = min(flow.per_packet, most)


def increase_window(flow: Flow, now: int, acked: int) -> None:
    """Grow `flow.cwnd` (packets) for an ACK of `acked` packets at `now` (ps).

    In slow start first; packets left over grow the window along the cubic curve. Nothing happens
    unless the flow is limited by its window.
    """
    if not flow.window_limited:
        return
    left = acked
    if flow.cwnd < flow.ssthresh:
        left = slow_start(flow, acked)
    if left > 0:
        update_count(flow, now, left)
        add_packets(flow, int(flow.per_packet), left)


def window_after_loss(flow: Flow, window: float) -> float:
    """Window after a loss: beta times `window` (in use), rounded down to packets, at least 2.

    Ends the epoch, and sets `last_max` (packets), which fast convergence may lower.
    """
    flow.epoch_start = 0
    flow.acked_count = 0
    gives_way = flow.fast_convergence and window < flow.last_max
    flow.last_max = float(int(window * (1 + flow.beta) / 2)) if gives_way else window
    return max(float(int(window * flow.beta)), 2.0)


def on_restart(flow: Flow, now: int) -> None:
    """Reset the cubic, the smallest RTT and HyStart's round after a timeout at `now` (ps)."""
    flow.last_max = flow.last_cwnd = 0.0
    flow.epoch_start = flow.updated_at = 0
    flow.delay_min = UNKNOWN
    flow.slow_start_ended = 0
    flow.acked_count = 0
    begin_round(flow, now)


def on_flight_start(flow: Flow, now: int) -> None:
    """Shift the epoch's start by the pause before a packet sent with nothing in flight.

    The packet is sent at `now` (ps).
    """
    if flow.epoch_start > 0 and flow.last_sent_at >= 0:
        flow.epoch_start = min(flow.epoch_start + now - flow.last_sent_at, now)


def begin_round(flow: Flow, now: int) -> None:
    """Start a round trip of HyStart at `now` (ps), without RTT samples.

    It ends when the next packet to be sent is acknowledged.
    """
    flow.round_started = flow.train_at = now
    flow.round_end = flow.next_seq
    flow.round_rtt = UNKNOWN
    flow.round_samples = 0


def on_rtt_sample(flow: Flow, rtt: float) -> None:
    """Lower `delay_min` to the RTT of an ACK, both ps, and in slow start run HyStart with it.

    Samples in the first second of an epoch are ignored.
    """
    now = flow.acked_at
    if flow.epoch_start > 0 and now - flow.epoch_start < SKIPPED:
        return
    flow.delay_min = min(flow.delay_min, rtt)
    if flow.cwnd < flow.ssthresh and not flow.slow_start_ended:
        look_for_end(flow, now, rtt)


def look_for_end(flow: Flow, now: int, rtt: float) -> None:
    """End slow start by `ssthresh` = `cwnd` if HyStart finds at `now` (ps) that the link is full.

    It is full if a train of ACKs lasts as long as a one-way delay, or the RTT has risen. `rtt` is
    the latest sample, ps.
    """
    if flow.una > flow.round_end:
        begin_round(flow, now)
    if flow.cwnd < HYSTART_WINDOW:
        return
    if now - flow.train_at <= TRAIN_SPACING:
        flow.train_at = now
        if 2 * (now - flow.round_started) > flow.delay_min + TRAIN_ALLOWANCE:
            flow.slow_start_ended = 1
    flow.round_rtt = min(flow.round_rtt, rtt)
    if flow.round_samples < DELAY_SAMPLES:
        flow.round_samples += 1
    else:
        rise = min(max(flow.delay_min / 8, float(SMALLEST_RISE)), float(LARGEST_RISE))
        if flow.round_rtt > flow.delay_min + rise:
            flow.slow_start_ended = 1
    if flow.slow_start_ended:
        flow.ssthresh = flow.cwnd


def rules(recovery: str) -> PacketRules:
    """Packet rules with a recovery scheme, by its name in `loss_recovery.RECOVERIES`."""
    return PacketRules(
        increase_window,
        window_after_loss,
        on_rtt_sample=on_rtt_sample,
        on_restart=on_restart,
        on_flight_start=on_flight_start,
        state={
            "per_packet": 0.0,
            "last_max": 0.0,
            "last_cwnd": 0.0,
            "origin": 0.0,
            "plateau": 0.0,
            "epoch_start": 0,
            "updated_at": 0,
            "friendly_acked": 0.0,
            "friendly_window": 0.0,
            "delay_min": UNKNOWN,
            "slow_start_ended": 0,
            "round_started": 0,
            "round_end": 0,
            "round_rtt": UNKNOWN,
            "round_samples": 0,
            "train_at": 0,
            **COUNT,
        },
        places=("round_end",),
        recovery=recovery,
    )
