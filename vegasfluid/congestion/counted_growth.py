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

    Call it only while `flow.cwnd` is below `flow.ssthresh`.

    Returns:
        Number of the `acked` packets that were not needed to reach the threshold; 0 below it.
    """
    cwnd = min(flow.cwnd + acked, flow.ssthresh)
    left = acked - int(cwnd - flow.cwnd)
    flow.cwnd = cwnd
    return left


def add_packets(flow: Any, needed: int, acked: int) -> None:
    """Grow `flow.cwnd` by one packet for every `needed` packets acknowledged.

    `flow.acked_count` keeps the packets that did not yet give a whole packet of growth; if it
    already holds `needed` or more (`needed` has fallen), it is reset for one packet of growth.

    Args:
        flow: record of the flow, changed in place.
        needed: packets to be acknowledged per packet of growth.
        acked: packets acknowledged by this ACK.
    """
    if flow.acked_count >= needed:
        flow.acked_count = 0
        flow.cwnd += 1.0
    flow.acked_count += acked
    if flow.acked_count >= needed:
        flow.cwnd += float(flow.acked_count // needed)
        flow.acked_count %= needed


def packets_of_growth(cwnd: float, increase: float) -> int:
    """Packets to be acknowledged per packet of growth of an AIMD sender's window, at least 1.

    It is `cwnd` / `increase`, rounded down to a whole number, where 1 / `increase` is first
    rounded down to eighths.

    Args:
        cwnd: congestion window, packets.
        increase: growth of the window, packets per round trip.
    """
    return max(int(cwnd * int(8 / increase + ROUNDING_ERROR) / 8), 1)


def grow_as_reno(flow: Any, acked: int) -> None:
    """Grow `flow.cwnd` as Reno, for `acked` packets acknowledged.

    Slow start adds one packet for each, up to ssthresh. Packets that are left over add one packet
    for each whole window of packets acknowledged.
    """
    left = acked
    if flow.cwnd < flow.ssthresh:
        left = slow_start(flow, acked)
    if left > 0:
        add_packets(flow, max(int(flow.cwnd), 1), left)
