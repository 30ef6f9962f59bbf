"""CUBIC of ns-3.44 (`ns3::TcpCubic`): packet rules.

It is the kernel's CUBIC (`linux.py`) without the kernel's clock:

* The target is the cubic one smallest RTT ahead, at every ACK.
* The window grows by one packet when `per_packet` packets (at least 2) are acknowledged, by at most
  one packet for an ACK; the packets counted are kept at a loss.
* Before the first loss, and after a timeout, it grows by one packet for at most 20 packets.
* The Reno-friendly window grows by one packet for 15/8 windows (beta 0.7), as the kernel's.
* HyStart ends slow start when the ACKs of a round trip come close together for longer than the
  smallest RTT (kernel: half of it), or when the RTT has risen by *the smallest RTT itself*, 4 ms to
  1 s (kernel: an eighth of it). So it seldom ends slow start before packets are lost.
* RTTs of the first 10 ms of an epoch are not used (kernel: 1 s).

Sources:
    The behaviour of ns-3.44, src/internet/model/tcp-cubic.cc (no code copied), and the defaults of
    its attributes (CntClamp, CubicDelta, HyStartAckDelta, ...). Runs of the PyPI package ns3
    3.44.post0 (see the tests).
"""

from __future__ import annotations

from typing import Any

from vegasfluid.congestion.counted_growth import packets_of_growth
from vegasfluid.congestion.packet_rules import PacketRules

__all__ = ["rules"]

Flow = Any
"""A record of `vegasfluid.packet.records.FLOW`: NumPy's when interpreted, Numba's when compiled."""

MILLISECOND = 10**9
"""Picoseconds in a millisecond."""
SECONDS = 1e-12
"""Seconds per picosecond."""
NO_EPOCH = -1
"""Start of an epoch that has not begun, ps."""
COUNT_CLAMP = 20
"""Largest number of packets per packet of growth before the first loss (CntClamp)."""
NO_GROWTH = 100
"""Windows of packets to be acknowledged per packet of growth where the window is above the cubic:
nearly no growth."""
FEWEST_PER_PACKET = 2
"""Smallest number of packets acknowledged per packet of growth."""
CUBIC_DELTA = 10 * MILLISECOND
"""Time after the start of an epoch in which RTT samples are not used, ps (CubicDelta)."""
HYSTART_WINDOW = 16
"""Window from which HyStart looks for the end of slow start, packets (HyStartLowWindow)."""
TRAIN_SPACING = 2 * MILLISECOND
"""Largest spacing of the ACKs of one train, ps (HyStartAckDelta)."""
DELAY_SAMPLES = 8
"""RTT samples of a round trip from which its smallest is taken (HyStartMinSamples)."""
SMALLEST_RISE, LARGEST_RISE = 4 * MILLISECOND, 1000 * MILLISECOND
"""Bounds of the rise of the RTT that ends slow start, ps (HyStartDelayMin, HyStartDelayMax)."""
UNKNOWN = 2.0**62
"""Value of a smallest RTT until the first sample, ps: larger than any RTT."""


def begin_epoch(flow: Flow, now: int) -> None:
    """Start an epoch at `now` (ps): a cubic from the present window to `last_max` (packets)."""
    flow.epoch_start = now
    flow.friendly_acked = 0.0
    flow.friendly_window = float(int(flow.cwnd))
    flow.origin = max(flow.last_max, flow.friendly_window)
    flow.plateau = ((flow.origin - flow.friendly_window) / flow.cubic_c) ** (1 / 3)


def packets_to_target(flow: Flow, now: int) -> float:
    """Packets to be acknowledged per packet of growth, so that the window follows the cubic.

    The target is the cubic one smallest RTT after `now` (ps). The result is rounded down to a whole
    number, as in ns-3, and may be 0. It is `NO_GROWTH` windows where the target is not above the
    window, and at most `COUNT_CLAMP` before the first loss.
    """
    ahead = 0.0 if flow.delay_min == UNKNOWN else flow.delay_min
    t = (now - flow.epoch_start + ahead) * SECONDS - flow.plateau
    change = float(int(flow.cubic_c * abs(t) ** 3))
    target, cwnd = flow.origin + (change if t >= 0 else -change), float(int(flow.cwnd))
    count = NO_GROWTH * cwnd
    if target > cwnd:
        count = float(int(cwnd / (target - cwnd)))
    if flow.last_max == 0.0:
        count = min(count, float(COUNT_CLAMP))
    return count


def follow_reno(flow: Flow, count: float) -> float:
    """Advance `friendly_window` (packets), which standard TCP would have, by the packets counted.

    Returns:
        Packets to be acknowledged per packet of growth: `count`, or fewer if the window must grow
        faster to keep up with `friendly_window`.
    """
    cwnd = float(int(flow.cwnd))
    needed = float(packets_of_growth(cwnd, flow.alpha_cubic))
    while flow.friendly_acked > needed:
        flow.friendly_acked -= needed
        flow.friendly_window += 1.0
    if flow.friendly_window > cwnd:
        count = min(count, float(int(cwnd / (flow.friendly_window - cwnd))))
    return count


def increase_window(flow: Flow, now: int, acked: int) -> None:
    """Grow `flow.cwnd` for an ACK of `acked` packets at `now` (ps): slow start, then the cubic.

    Slow start adds one packet for each acknowledged packet, and may exceed ssthresh. After it an
    ACK adds at most one packet. Nothing happens unless the window limits the sender.
    """
    if not flow.window_limited:
        return
    if flow.cwnd < flow.ssthresh:
        if flow.una > flow.round_end:
            begin_round(flow, now)
        flow.cwnd += float(acked)
        return
    flow.packets_counted += acked
    if flow.epoch_start == NO_EPOCH:
        begin_epoch(flow, now)
    flow.friendly_acked += float(acked)
    count = packets_to_target(flow, now)
    if flow.friendly:
        count = follow_reno(flow, count)
    count = max(count, float(FEWEST_PER_PACKET))
    if flow.packets_counted >= count:
        flow.cwnd += 1.0
        flow.packets_counted -= int(count)


def window_after_loss(flow: Flow, window: float) -> float:
    """Window after a loss, whole packets: beta times `window`, rounded down, at least 2.

    Ends the epoch, and sets `last_max`, whole packets: `window` rounded down, which fast
    convergence lowers if it is below the last maximum. `flow.cwnd` stays unchanged.

    Args:
        flow: record of the flow, changed in place.
        window: window in use, packets.
    """
    cwnd = float(int(window))
    gives_way = flow.fast_convergence and cwnd < flow.last_max
    flow.last_max = float(int(cwnd * (1 + flow.beta) / 2)) if gives_way else cwnd
    flow.epoch_start = NO_EPOCH
    return max(float(int(cwnd * flow.beta)), 2.0)


def on_restart(flow: Flow, now: int) -> None:
    """Reset the cubic, the smallest RTT and HyStart's round after a timeout at `now` (ps)."""
    flow.last_max = flow.origin = flow.plateau = 0.0
    flow.delay_min = UNKNOWN
    flow.slow_start_ended = 0
    begin_round(flow, now)


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

    Samples at the beginning of an epoch (`CUBIC_DELTA`) are ignored.
    """
    now = flow.acked_at
    if flow.epoch_start != NO_EPOCH and now - flow.epoch_start < CUBIC_DELTA:
        return
    flow.delay_min = min(flow.delay_min, rtt)
    if not flow.slow_start_ended and HYSTART_WINDOW <= flow.cwnd <= flow.ssthresh:
        look_for_end(flow, now, rtt)


def look_for_end(flow: Flow, now: int, rtt: float) -> None:
    """End slow start by `ssthresh` = `cwnd` if HyStart finds at `now` (ps) that the link is full.

    It is full if a train of ACKs lasts as long as the smallest RTT, or the RTT has risen. `rtt` is
    the latest sample, ps.
    """
    if now - flow.train_at <= TRAIN_SPACING:
        flow.train_at = now
        if now - flow.round_started > flow.delay_min:
            flow.slow_start_ended = 1
    if flow.round_samples < DELAY_SAMPLES:
        flow.round_rtt = min(flow.round_rtt, rtt)
        flow.round_samples += 1
    else:
        rise = min(max(flow.delay_min, float(SMALLEST_RISE)), float(LARGEST_RISE))
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
        state={
            "packets_counted": 0,
            "last_max": 0.0,
            "origin": 0.0,
            "plateau": 0.0,
            "epoch_start": NO_EPOCH,
            "friendly_acked": 0.0,
            "friendly_window": 0.0,
            "delay_min": UNKNOWN,
            "slow_start_ended": 0,
            "round_started": 0,
            "round_end": 0,
            "round_rtt": UNKNOWN,
            "round_samples": 0,
            "train_at": 0,
        },
        places=("round_end",),
        recovery=recovery,
    )
