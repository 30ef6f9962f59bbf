"""CUBIC of RFC 9438: packet rules.

Not modelled: HyStart++, which section 4.10 recommends (slow start is that of RFC 5681, which the
section allows), and the response to spurious losses (section 4.9). A mark leaves at least two
packets, as with every congestion control here; section 4.6 allows one.

Sources:
    RFC 9438, sections 4.2 to 4.8 and 5.8, read in the authors' repository (NTAP/rfc8312bis, at
    draft -13).
"""

from __future__ import annotations

from typing import Any

from vegasfluid.congestion.loss_recovery import SMALLEST_SSTHRESH, window_in_use
from vegasfluid.congestion.packet_rules import PacketRules

__all__ = ["SECONDS", "STEEPEST", "rules"]

Flow = Any
"""A record of `vegasfluid.packet.records.FLOW`: NumPy's when interpreted, Numba's when compiled."""

SECONDS = 1e-12
"""Seconds per picosecond."""
STEEPEST = 1.5
"""Largest factor by which the window grows in one round trip (section 4.2)."""


def begin_epoch(flow: Flow) -> None:
    """Start a congestion-avoidance epoch: a cubic through the present window (section 4.2).

    Without a loss before (slow start ended at ssthresh, or after a timeout), W_max is the present
    window and K is 0 (sections 4.8 and 4.10). Sets `w_max`, `w_est` (packets) and `k` (s) of the
    flow's record.
    """
    flow.in_epoch = 1
    flow.elapsed = 0
    flow.w_est = flow.cwnd
    flow.w_max = max(flow.w_max, flow.cwnd)
    flow.k = ((flow.w_max - flow.cwnd) / flow.cubic_c) ** (1 / 3)


def cubic(flow: Flow, t: float) -> float:
    """Window of the cubic, W_cubic, packets, at the age `t` (s) of the flow's present epoch."""
    return flow.cubic_c * (t - flow.k) ** 3 + flow.w_max


def count_time(flow: Flow, now: int) -> None:
    """Advance the age `elapsed` (ps) of the flow's epoch to the time `now` (ps).

    It stands still while the application limits the sender (section 5.8).
    """
    if flow.window_limited and flow.was_limited:
        flow.elapsed += now - flow.seen_at
    flow.was_limited = flow.window_limited
    flow.seen_at = now


def grow(flow: Flow, acked: int) -> None:
    """Grow `flow.cwnd` along the cubic or the Reno-friendly window, for `acked` new packets."""
    fraction = min(acked / flow.cwnd, 1.0)  # of a round trip
    t = flow.elapsed * SECONDS
    flow.w_est += fraction * (1.0 if flow.w_est >= flow.cwnd_prior else flow.alpha_cubic)
    if flow.friendly and cubic(flow, t) < flow.w_est:
        flow.cwnd = max(flow.cwnd, flow.w_est)
    else:
        target = cubic(flow, t + flow.srtt * SECONDS)
        target = min(max(target, flow.cwnd), STEEPEST * flow.cwnd)
        flow.cwnd += fraction * (target - flow.cwnd)


def increase_window(flow: Flow, now: int, acked: int) -> None:
    """Grow `flow.cwnd` for an ACK of `acked` packets at `now` (ps): slow start, then the cubic.

    Slow start adds one packet per ACK. Nothing grows unless the window limits the sender.
    """
    count_time(flow, now)
    if not flow.window_limited:
        return
    if flow.cwnd < flow.ssthresh:
        flow.cwnd += 1.0
        return
    if not flow.in_epoch:
        begin_epoch(flow)
    grow(flow, acked)


def window_after_loss(flow: Flow, window: float) -> float:
    """Window after a loss, packets: beta times the window in use (`window`), at least 2.

    Sets W_max for the next epoch, too, which fast convergence lowers (sections 4.6 and 4.7).
    """
    flow.in_epoch = 0
    flow.cwnd_prior = window
    if flow.fast_convergence and window < flow.w_max:
        flow.w_max = window * (1 + flow.beta) / 2
    else:
        flow.w_max = window
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
            "w_est": 0.0,
            "cwnd_prior": 0.0,
        },
        recovery=recovery,
    )
