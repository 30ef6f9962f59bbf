"""Weight of RED's average that `tc` chooses, as it has no option for it.

`tc` takes a burst, by its manual page (2 min + max) / (3 avpkt) packets and not less than `min`. It
chooses the largest power of two 2^-Wlog with which a burst that arrives at an empty queue, at once,
is not dropped. The kernel stores thresholds and average, shifted by Wlog, in 32 bits, and rejects
what does not fit, so that large thresholds allow only large weights.

The functions take numbers, arrays and traced values alike.

Sources:
    tc-red(8), `burst`. The behaviour of iproute2, tc/tc_red.c (the burst where none is given) and
    tc/tc_core.c and tc/tc_red.c (`tc_red_eval_ewma`), and of Linux, include/net/red.h
    (`red_check_params`: the bits of a threshold and Wlog are below 32) (no code copied).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from vegasfluid import smooth

__all__ = ["WORD", "largest_log", "usual_burst", "usual_weight", "weight_log"]

WORD = 32
"""Bits of the kernel's thresholds."""
USUAL_PACKET = 1500
"""Size of a data packet where the network does not give it, bytes: Ethernet's."""


def count(conditions: Iterable[Any]) -> Any:
    """Number of conditions that hold, as a float; each is a bool, an array or a traced value."""
    return sum(float(each) if isinstance(each, bool) else each.astype(float) for each in conditions)


def weight_log(low: Any, burst: Any) -> Any:
    """Wlog that tc chooses: the smallest w with burst + 1 - low <= (1 - (1 - 2^-w)^burst) 2^w.

    Args:
        low: lower threshold, packets.
        burst: option `burst`, packets.

    Returns:
        Wlog from 1 to 31, or 32 if there is none; then tc rejects the burst. It rejects one below
        `low`, too, for which this returns 1.

    >>> int(weight_log(30, 55))
    5
    """
    excess = burst + 1 - low
    return 1 + count(excess > (1 - (1 - 2.0**-w) ** burst) * 2.0**w for w in range(1, WORD))


def largest_log(high: Any) -> Any:
    """Largest Wlog that the kernel accepts, from 1 to 30.

    Args:
        high: upper threshold, bytes.

    >>> int(largest_log(120_000))
    14
    """
    return smooth.maximum(count(high < 2.0**bits for bits in range(1, WORD - 1)), 1.0)


def usual_burst(low: Any, high: Any) -> Any:
    """Burst of the manual page, (2 low + high) / 3 rounded down, packets, not less than `low`.

    Args:
        low: lower threshold, packets.
        high: upper threshold, packets.

    >>> int(usual_burst(20, 80)), int(usual_burst(20.5, 21))
    (40, 21)
    """
    return smooth.maximum((2 * low + high) // 3, -(-low // 1))


def usual_weight(low: Any, high: Any, packet_bytes: Any = USUAL_PACKET) -> Any:
    """Weight of a sample in RED's average with the burst of the manual page, a power of two.

    It is limited to what the kernel accepts. A lower threshold of less than a packet, with which tc
    accepts no burst, counts as a packet.

    Args:
        low: lower threshold, packets.
        high: upper threshold, packets.
        packet_bytes: size of a data packet, bytes.

    >>> float(usual_weight(20, 80)), float(usual_weight(2000, 8000))
    (0.03125, 0.0078125)
    """
    low = smooth.maximum(low, 1.0)
    chosen, largest = weight_log(low, usual_burst(low, high)), largest_log(high * packet_bytes)
    return 2.0 ** -smooth.minimum(chosen, largest)
