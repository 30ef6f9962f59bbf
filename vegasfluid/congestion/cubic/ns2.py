"""CUBIC of ns-2.35 (`Agent/TCP/Linux` with `select_ca cubic`): packet rules.

It is the kernel's CUBIC 2.1 of Linux 2.6.22, before HyStart, on a clock of 1 ms. It differs from
Linux 6.1:

* It counts ACKs, not packets. The number of ACKs per packet of growth is divided by the estimated
  number of packets per ACK, which starts at 2 and, with an ACK for each packet, falls to 31/16 only
  (it is rounded down): *the window reaches a target in half of the round trip*.
* After a loss slow start goes on up to ssthresh and including it: one packet more per epoch.
* Before the first loss, and after a timeout, it grows by one packet for 50 ACKs, whatever the cubic
  is. A timeout forgets the cubic and the smallest RTT.
* Above the plateau it grows by at most 16 packets in 100 ms.
* The Reno-friendly window grows by one packet for 23/8 windows of ACKs: the increase that belongs
  to its own beta, 819/1024. A model's `beta` does not change it, as ns-2 computes it only once.
* The smallest RTT is measured in whole milliseconds.

ns-2's own `beta` is 819/1024, the model's default is 0.7. Not modelled: rate halving
(in recovery ns-2 sends a packet for every second ACK until the new window is reached), the loss of
retransmitted packets, which ns-2 finds without a timeout, C in units of 1/1024 (410/1024), and the
rounding of its cube root (0.4 %).

Sources:
    The behaviour of ns-2.35, tcp/linux/src/tcp_cubic.c, tcp/linux/src/tcp_cong.c (tcp_slow_start)
    and tcp/tcp-linux.cc (no code copied). Traces of Debian's ns2 2.35+dfsg (see the tests).
"""

from __future__ import annotations

from typing import Any

from vegasfluid.congestion.counted_growth import packets_of_growth
from vegasfluid.congestion.packet_rules import PacketRules

__all__ = ["FRIENDLY_EIGHTHS", "FRIENDLY_INCREASE", "rules"]

Flow = Any
"""A record of `vegasfluid.packet.records.FLOW`: NumPy's when interpreted, Numba's when compiled."""

FRIENDLY_EIGHTHS = 23
"""Eighths of a window of ACKs per packet of growth of the Reno-friendly window: 8 (1 + beta) /
(3 (1 - beta)) for beta = 819/1024, rounded down."""
FRIENDLY_INCREASE = 8 / FRIENDLY_EIGHTHS
"""Growth of the Reno-friendly window, packets per round trip."""
MILLISECOND = 10**9
"""Picoseconds in a millisecond, the period of ns-2's clock (HZ = 1000)."""
SECOND = 1000
"""Ticks in a second."""
PAUSE = SECOND // 32
"""Ticks after which the target is updated although the window is the same."""
UNIT = 1024
"""Units of time in a second, and of beta."""
NO_GROWTH = 100
"""Windows of ACKs per packet of growth where the window is above the cubic: nearly no growth."""
FIRST_EPOCH_COUNT = 50
"""ACKs per packet of growth before the first loss."""
MOST_IN_TENTH = 16
"""Largest growth above the plateau, packets in 100 ms."""
FIRST_RATIO = 32
"""Initial estimate of the packets that an ACK acknowledges, in sixteenths: two."""
BURST = 3
"""Packets more than those in flight that the window may have after a timeout's recovery."""


def begin_epoch(flow: Flow, tick: int) -> None:
    """Start an epoch at `tick` (ms): a cubic from the present window to `last_max` (packets)."""
    flow.epoch_start = tick
    flow.friendly_acks = 1
    flow.friendly_window = flow.cwnd
    flow.origin = max(flow.last_max, flow.cwnd)
    flow.plateau = int(UNIT * ((flow.origin - flow.cwnd) / flow.cubic_c) ** (1 / 3))


def acks_to_target(flow: Flow, tick: int) -> int:
    """ACKs per packet of growth, so that the window follows the cubic, at `tick` (ms).

    The target is the cubic one smallest RTT ahead; whole numbers, as ns-2 rounds down.
    """
    cwnd = int(flow.cwnd)
    t = (tick + flow.delay_min // 8 - flow.epoch_start) * UNIT // SECOND
    change = int(flow.cubic_c * (abs(t - flow.plateau) / UNIT) ** 3)
    target = int(flow.origin) + (change if t >= flow.plateau else -change)
    count = NO_GROWTH * cwnd
    if target > cwnd:
        count = cwnd // (target - cwnd)
    if flow.delay_min > 0 and t >= flow.plateau:
        count = max(count, cwnd * 8 * SECOND // (10 * MOST_IN_TENTH * flow.delay_min))
    return count if flow.had_loss else FIRST_EPOCH_COUNT


def follow_reno(flow: Flow) -> None:
    """Advance `friendly_window` (packets), which standard TCP would have, by the ACKs counted.

    If it exceeds `cwnd`, `per_packet` (ACKs per packet of growth) is lowered to grow as fast.
    """
    needed = packets_of_growth(int(flow.cwnd), flow.alpha_cubic)
    while flow.friendly_acks > needed:
        flow.friendly_acks -= needed
        flow.friendly_window += 1.0
    if flow.friendly_window > flow.cwnd:
        most = int(flow.cwnd) // int(flow.friendly_window - flow.cwnd)
        flow.per_packet = min(flow.per_packet, most)


def update_count(flow: Flow, tick: int) -> None:
    """Update `flow.per_packet`, the ACKs per packet of growth, for an ACK at `tick` (ms)."""
    flow.friendly_acks += 1
    if flow.last_cwnd == flow.cwnd and tick - flow.updated_at <= PAUSE:
        return
    flow.last_cwnd = flow.cwnd
    flow.updated_at = tick
    if flow.epoch_start == 0:
        begin_epoch(flow, tick)
    flow.per_packet = acks_to_target(flow, tick)
    if flow.friendly:
        follow_reno(flow)
    flow.per_packet = max(flow.per_packet * 16 // flow.ack_ratio, 1)


def leave_loss_state(flow: Flow) -> None:
    """End the recovery from a timeout once all packets sent before it are acknowledged.

    The window is then ssthresh, but at most BURST packets more than those in flight.
    """
    flow.after_timeout = 0
    if flow.cwnd < flow.ssthresh:
        in_flight = float(flow.next_seq - flow.una)
        flow.cwnd = min(flow.ssthresh, in_flight + BURST)


def increase_window(flow: Flow, now: int, acked: int) -> None:
    """Grow `flow.cwnd` for an ACK of `acked` packets at `now` (ps): slow start, then the cubic.

    An ACK adds at most one packet. The window does not grow unless it limits the sender and is
    below `flow.max_window`.
    """
    if not flow.after_timeout:
        flow.ack_ratio += acked - flow.ack_ratio // 16
    if flow.window_limited and flow.cwnd < flow.max_window:
        if flow.cwnd <= flow.ssthresh:
            flow.cwnd += 1.0
        else:
            grow(flow, now // MILLISECOND)
    if flow.after_timeout and flow.una >= flow.recover:
        leave_loss_state(flow)


def grow(flow: Flow, tick: int) -> None:
    """Count an ACK at `tick` (ms); grow `cwnd` by one packet after `per_packet` ACKs."""
    update_count(flow, tick)
    if flow.acks_counted >= flow.per_packet:
        flow.cwnd += 1.0
        flow.acks_counted = 0
    else:
        flow.acks_counted += 1


def window_after_loss(flow: Flow, window: float) -> float:
    """Window after a loss: beta times `window` (in use), rounded down to packets, at least 2.

    Ends the epoch, and sets `last_max` (packets), which fast convergence may lower.
    """
    cwnd, beta = int(window), int(UNIT * flow.beta + 0.5)
    gives_way = flow.fast_convergence and cwnd < flow.last_max
    flow.last_max = float(cwnd * (UNIT + beta) // (2 * UNIT) if gives_way else cwnd)
    flow.epoch_start = 0
    flow.acks_counted = 0
    flow.had_loss = 1
    return float(max(cwnd * beta // UNIT, 2))


def on_restart(flow: Flow, now: int) -> None:
    """Reset the cubic, the smallest RTT and the packets per ACK after a timeout at `now` (ps)."""
    flow.last_max = flow.last_cwnd = 0.0
    flow.epoch_start = flow.updated_at = flow.delay_min = flow.had_loss = 0
    flow.per_packet = flow.acks_counted = 0
    flow.ack_ratio = FIRST_RATIO
    flow.after_timeout = 1


def on_rtt_sample(flow: Flow, rtt: float) -> None:
    """Lower `delay_min` (eighths of a millisecond) to an ACK's RTT (ps) if that is smaller.

    `delay_min` is 0 until the first sample. Samples are ignored in recovery and in the first second
    of an epoch; where none has begun, in the first second of the run.
    """
    tick = flow.acked_at // MILLISECOND
    if flow.in_recovery or flow.after_timeout or tick - flow.epoch_start < SECOND:
        return
    sent = int((flow.acked_at - rtt) / MILLISECOND + 0.5)
    delay = max(8 * (tick - sent), 1)
    if flow.delay_min == 0 or delay < flow.delay_min:
        flow.delay_min = delay


def rules(recovery: str) -> PacketRules:
    """Packet rules with a recovery scheme, by its name in `loss_recovery.RECOVERIES`."""
    return PacketRules(
        increase_window,
        window_after_loss,
        on_rtt_sample=on_rtt_sample,
        on_restart=on_restart,
        state={
            "per_packet": 0,
            "last_max": 0.0,
            "last_cwnd": 0.0,
            "origin": 0.0,
            "plateau": 0,
            "epoch_start": 0,
            "updated_at": 0,
            "friendly_acks": 0,
            "friendly_window": 0.0,
            "delay_min": 0,
            "had_loss": 0,
            "acks_counted": 0,
            "ack_ratio": FIRST_RATIO,
            "after_timeout": 0,
        },
        recovery=recovery,
    )
