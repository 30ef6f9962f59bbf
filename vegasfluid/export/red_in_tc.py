"""How `tc` and the Linux kernel round the parameters of RED.

tc has no option for the weight: it chooses a power of two, 2^-Wlog, from the burst. The kernel
stores thresholds and average, shifted by Wlog, in 32 bits, so that large thresholds allow only
large weights. It divides the probability by the distance of the thresholds in bytes, in multiples
of 2^-32; before Linux 3.3 this step was a power of two (Plog).

Sources:
    The behaviour of iproute2, tc/tc_red.c and tc/q_red.c (Wlog from burst, min and avpkt; Plog; the
    probability as a multiple of 2^-32) and of Linux, include/net/red.h (`red_set_parms`;
    `red_check_params` rejects thresholds of 32 bits or more after the shift) and
    net/sched/sch_red.c (no code copied). The tests compare with the table of bursts in red.h.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from vegasfluid.aqm.red import Red, tc_weight
from vegasfluid.aqm.red.tc_weight import WORD
from vegasfluid.errors import InvalidInput

__all__ = ["TcRed", "burst_for", "rounded_red", "step_of_old_kernels", "weight_log"]

ONE = 2**32
"""A probability of 1 in the kernel's units; 1 itself does not fit into 32 bits."""
LARGEST_PROBABILITY = 0.999999
"""Largest probability that is exported, as 1 does not fit (chosen)."""
LARGEST_SIZE = 2**31
"""Largest threshold, bytes, and largest burst, packets (chosen: more than any queue)."""


@dataclass(frozen=True)
class TcRed:
    """Options of `tc qdisc ... red`, and the values that the kernel makes of them.

    Args:
        limit: buffer, bytes.
        low: lower threshold, bytes.
        high: upper threshold, bytes.
        average_packet: packet size, bytes.
        burst: option `burst`, packets.
        probability: option `probability`: largest drop probability that is asked for.
        wlog: the weight is 2^-wlog.
        wanted_wlog: wlog nearest to the model's weight.
        kernel_probability: drop probability at the upper threshold in the kernel.
        old_probability: drop probability at the upper threshold in kernels before 3.3.
    """

    limit: int
    low: int
    high: int
    average_packet: int
    burst: int
    probability: float
    wlog: int
    wanted_wlog: int
    kernel_probability: float
    old_probability: float

    @property
    def weight(self) -> float:
        """Weight of a sample in RED's moving average of the queue: 2^-wlog, no unit."""
        return 2.0**-self.wlog


def weight_log(low: int, burst: int, average_packet: int) -> int | None:
    """Wlog that tc chooses, from sizes as it is given them.

    Args:
        low: lower threshold, bytes.
        burst: option `burst`, packets.
        average_packet: packet size, bytes.

    Returns:
        Wlog; None if tc rejects the burst as too small or too large.

    >>> weight_log(30000, 55, 1000)
    5
    """
    if burst < low / average_packet:
        return None
    wlog = int(tc_weight.weight_log(low / average_packet, burst))
    return wlog if wlog < WORD else None


def burst_for(wlog: int, low: int, average_packet: int) -> int:
    """A burst (packets) for which tc chooses a given Wlog: the middle of all such bursts.

    Args:
        wlog: desired exponent of the weight 2^-wlog.
        low: lower threshold, bytes.
        average_packet: packet size, bytes.

    >>> weight_log(30000, burst_for(9, 30000, 1000), 1000)
    9
    """

    def first(target: int) -> int:
        """Smallest burst (packets) for which tc chooses a Wlog of at least `target`."""
        small, large = max(math.ceil(low / average_packet), 1), LARGEST_SIZE
        while small < large:
            middle = (small + large) // 2
            chosen = weight_log(low, middle, average_packet)
            if chosen is not None and chosen < target:
                small = middle + 1
            else:
                large = middle
        return small

    return (first(wlog) + first(wlog + 1)) // 2


def step_of_old_kernels(low: int, high: int, probability: float) -> int:
    """Plog of kernels before 3.3: the probability at `high` was (high - low) / 2^Plog.

    Args:
        low: lower threshold, bytes.
        high: upper threshold, bytes.
        probability: drop probability that is asked for at `high`.

    >>> step_of_old_kernels(32 * 1024, 128 * 1024, 0.02)
    23
    """
    step, plog = probability / (high - low), 0
    while step <= 1:
        step, plog = 2 * step, plog + 1
    return plog


def rounded_red(law: Red, buffer: float, packet_bytes: int) -> TcRed:
    """Options of tc for RED, in bytes, with the values that the kernel uses.

    Args:
        law: RED of the model: thresholds in packets, weight and probability.
        buffer: packets that can wait in the queue.
        packet_bytes: size of a data packet, bytes.

    Raises:
        InvalidInput: for a queue that is too large for the kernel.
    """
    low, high = (max(round(packet_bytes * value), 1) for value in (law.min_thresh, law.max_thresh))
    limit = round(packet_bytes * buffer)
    high = max(high, low + 1)
    if max(limit, high) >= LARGEST_SIZE:
        raise InvalidInput("Red", "max_thresh", f"below {LARGEST_SIZE} bytes for linux", high)
    wanted = min(max(round(-math.log2(law.average_weight)), 1), WORD - 1)
    wlog = min(wanted, int(tc_weight.largest_log(high)))
    probability = min(law.max_drop, LARGEST_PROBABILITY)
    step = max(int(probability * ONE) // (high - low), 1)
    plog = step_of_old_kernels(low, high, probability)
    return TcRed(
        limit=limit,
        low=low,
        high=high,
        average_packet=packet_bytes,
        burst=burst_for(wlog, low, packet_bytes),
        probability=probability,
        wlog=wlog,
        wanted_wlog=wanted,
        kernel_probability=step * (high - low) / ONE,
        old_probability=(high - low) / 2.0**plog,
    )
