"""CUBIC of RFC 8312 (2018), which RFC 9438 replaced: packet rules.

What differs from RFC 9438 (`rfc9438.py`), by the sections of RFC 8312:

* 4.1: K = cbrt(W_max (1 - beta) / C) always. After fast convergence, which lowers W_max, the cubic
  so begins below the window, which does not grow until the cubic has reached it. (9438: the cubic
  begins at the window.)
* 4.2: the Reno-friendly window W_est is a function of time, beta W_max + 3 (1 - beta) / (1 + beta)
  t / RTT. (9438: it counts acknowledged packets, and grows by one packet per round trip from the
  window before the loss on.)
* 4.3: the window may grow to any target. (9438: by at most one half per round trip.)
* 4.3: it grows with each ACK. (9438: with each acknowledged packet.)
* 4.6: fast convergence applies to a window smaller than *the window* at the loss before. (9438:
  smaller than W_max, which it may have lowered then.)

Slow start (4.8, that of RFC 5681, which the section allows), the multiplicative decrease (4.5),
timeouts (4.7) and application-limited flows (5.8) are the same.

Sources:
    RFC 8312, sections 4.1 to 4.8 and 5.8.
"""

from __future__ import annotations

from typing import Any

from vegasfluid.congestion.cubic.rfc9438 import SECONDS, count_time
from vegasfluid.congestion.loss_recovery import SMALLEST_SSTHRESH, window_in_use
from vegasfluid.congestion.packet_rules import PacketRules

__all__ = ["rules"]

Flow = Any
"""A record of `vegasfluid.packet.records.FLOW`: NumPy's when interpreted, Numba's when compiled."""


def begin_epoch(flow: Flow) -> None:
    """Start congestion avoidance: the cubic of equation 1 at t = 0.

    Without a loss before (slow start ended at ssthresh, or after a timeout), W_max is the present
    window and K is 0 (sections 4.7 and 4.8). Sets `w_max`, `w_start` (packets) and `k` (s) of the
    flow's record.
    """
    flow.in_epoch = 1
    flow.elapsed = 0
    if flow.w_max > 0.0:
        flow.k = (flow.w_max * (1 - flow.beta) / flow.cubic_c) ** (1 / 3)
        flow.w_start = flow.w_max * flow.beta
    else:
        flow.k = 0.0
        flow.w_max = flow.w_start = flow.cwnd


def cubic(flow: Flow, t: float) -> float:
    """Window of the cubic, packets, at the age `t` (s) of the flow's present epoch (equation 1)."""
    return flow.cubic_c * (t - flow.k) ** 3 + flow.w_max


def grow(flow: Flow) -> None:
    """Grow `flow.cwnd` along the cubic or the Reno-friendly window, for one ACK."""
    t, rtt = flow.elapsed * SECONDS, flow.srtt * SECONDS
    w_est = flow.w_start + (flow.alpha_cubic * t / rtt if rtt > 0 else 0.0)
    if flow.friendly and cubic(flow, t) < w_est:
        flow.cwnd = max(flow.cwnd, w_est)
    else:
        target = cubic(flow, t + rtt)
        flow.cwnd += max(target - flow.cwnd, 0.0) / flow.cwnd


def increase_window(flow: Flow, now: int, acked: int) -> None:
    """Grow `flow.cwnd` for an ACK at `now` (ps): one packet in slow start, then along the cubic.

    Nothing grows unless the window limits the sender. `acked` is not used.
    """
    count_time(flow, now)
    if not flow.window_limited:
        return
    if flow.cwnd < flow.ssthresh:
        flow.cwnd += 1.0
        return
    if not flow.in_epoch:
        begin_epoch(flow)
    grow(flow)


def window_after_loss(flow: Flow, window: float) -> float:
    """Window after a loss, packets: beta times the window in use (`window`), at least 2.

    Sets W_max for the next epoch, too, which fast convergence lowers (sections 4.5 and 4.6).
    """
    gives_way = flow.fast_convergence and window < flow.w_last_max
    flow.in_epoch = 0
    flow.w_last_max = window
    flow.w_max = window * (1 + flow.beta) / 2 if gives_way else window
    return max(window * flow.beta, SMALLEST_SSTHRESH)


def window_after_timeout(flow: Flow, window: float) -> float:
    """New ssthresh after a timeout, packets: beta times the window in use with its inflation.

    The argument `window` is not used. The next epoch begins without a W_max.
    """
    remaining = window_after_loss(flow, window_in_use(flow))
    flow.w_max = 0.0
    return remaining


def rules(recovery: str) -> PacketRules:
    """Packet rules with a recovery scheme, by its name in `loss_recovery.RECOVERIES`."""
    return PacketRules(
        increase_window,
        window_after_loss,
        window_after_timeout=window_after_timeout,
        state={
            "in_epoch": 0,
            "elapsed": 0,
            "seen_at": 0,
            "was_limited": 0,
            "k": 0.0,
            "w_max": 0.0,
            "w_start": 0.0,
            "w_last_max": 0.0,
        },
        recovery=recovery,
    )
