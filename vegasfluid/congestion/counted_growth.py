"""Growth of a window by whole packets, from the number of packets acknowledged.

Sources:
    RFC 3465, section 2 (appropriate byte counting: one packet more after a window of acknowledged
    bytes); Linux 6.1, net/ipv4/tcp_cong.c (no limit of the growth by one ACK; behaviour only).
"""

from __future__ import annotations

from typing import Any

__all__ = ["COUNT", "add_packets", "grow_as_reno", "packets_of_growth", "slow_start"]

COUNT: dict[str, int | float] = {"acked_count": 0}
"""Field of a flow that these functions use, with its initial value: packets acknowledged since the
window last grew."""
ROUNDING_ERROR = 1e-9
"""Added before a quotient is rounded down, so that 8 / (8 / 15) is 15."""


def slow_start(flow: Any, acked: int) -> int:
    """Grow `flow.cwnd` by one for each of `acked` packets, up to `flow.ssthresh` (packets).

    Returns:
        How many of the packets are left when the threshold is reached.
    """
    cwnd = min(flow.cwnd + acked, flow.ssthresh)
    left = acked - int(cwnd - flow.cwnd)
    flow.cwnd = cwnd
    return left


def add_packets(flow: Any, needed: int, acked: int) -> None:
    """Grow `flow.cwnd` by one packet for every `needed` packets acknowledged, `acked` now."""
    if flow.acked_count >= needed:
        flow.acked_count = 0
        flow.cwnd += 1.0
    flow.acked_count += acked
    if flow.acked_count >= needed:
        flow.cwnd += float(flow.acked_count // needed)
        flow.acked_count %= needed


def packets_of_growth(cwnd: float, increase: float) -> int:
    """Packets to be acknowledged per packet of growth of an AIMD sender's window, at least 1.

    It is `cwnd` (packets) over `increase` (packets per round trip), of which the reciprocal is
    rounded down to eighths.
    """
    return max(int(cwnd * int(8 / increase + ROUNDING_ERROR) / 8), 1)


def grow_as_reno(flow: Any, acked: int) -> None:
    """Grow `flow.cwnd` for `acked` packets: slow start, then one packet for a window of them."""
    left = acked
    if flow.cwnd < flow.ssthresh:
        left = slow_start(flow, acked)
    if left > 0:
        add_packets(flow, max(int(flow.cwnd), 1), left)
