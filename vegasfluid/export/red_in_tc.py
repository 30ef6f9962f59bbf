"""RED as `tc` and the Linux kernel round it.

tc takes no weight: it looks for the power of two that a burst calls for, 2^-Wlog. The kernel keeps
thresholds and average shifted by Wlog in 32 bits, so large thresholds allow only large weights;
and it divides the probability by the distance of the thresholds in bytes, in whole parts of 2^-32.
Kernels before 3.3 took a power of two for that step (Plog).

Sources:
    iproute2, tc/tc_red.c and tc/q_red.c (Wlog from burst, min and avpkt; Plog; the probability is
    handed over as a part of 2^32). Linux, include/net/red.h (`red_set_parms`; `red_check_params`
    refuses thresholds of 32 bits and more after the shift) and net/sched/sch_red.c. Read there,
    told anew here; the table of bursts in red.h is what the tests compare with.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from vegasfluid.aqm.red import Red
from vegasfluid.errors import InvalidInput

__all__ = ["TcRed", "burst_for", "rounded_red", "step_of_old_kernels", "weight_log"]

ONE = 2**32
"""What the kernel writes for a probability of 1; 1 itself does not fit into its 32 bits."""
WORD = 32
LARGEST_PROBABILITY = 0.999999
LARGEST_SIZE = 2**31
"""Bytes, beyond any queue; a burst of as many packets is out of the question, too."""


@dataclass(frozen=True)
class TcRed:
    """What to write into a line of tc, and what becomes of it.

    Args:
        limit: bytes.
        low: the lower threshold, bytes.
        high: the upper threshold, bytes.
        average_packet: bytes.
        burst: packets.
        probability: as written.
        wlog: the weight is 2^-wlog.
        wanted_wlog: what would be nearest to the weight that was asked for.
        held_probability: at the upper threshold, as the kernel holds it.
        old_probability: the same in kernels before 3.3.
    """

    limit: int
    low: int
    high: int
    average_packet: int
    burst: int
    probability: float
    wlog: int
    wanted_wlog: int
    held_probability: float
    old_probability: float

    @property
    def weight(self) -> float:
        """The weight of a packet in the average."""
        return 2.0**-self.wlog


def weight_log(low: int, burst: int, average_packet: int) -> int | None:
    """The Wlog that tc takes: the smallest w with burst + 1 - min/avpkt <= (1 - (1-W)^burst) / W.

    Args:
        low: the lower threshold, bytes.
        burst: packets.
        average_packet: bytes.

    Returns:
        Wlog; None where tc refuses, because the burst is too small or too large.

    >>> weight_log(30000, 55, 1000)
    5
    """
    room = burst + 1 - low / average_packet
    if room < 1:
        return None
    for wlog in range(1, WORD):
        weight = 2.0**-wlog
        if room <= (1 - (1 - weight) ** burst) / weight:
            return wlog
    return None


def burst_for(wlog: int, low: int, average_packet: int) -> int:
    """A burst for which tc takes this Wlog: in the middle of those that there are.

    >>> weight_log(30000, burst_for(9, 30000, 1000), 1000)
    9
    """

    def first(target: int) -> int:
        small, large = max(math.ceil(low / average_packet), 1), LARGEST_SIZE
        while small < large:
            middle = (small + large) // 2
            found = weight_log(low, middle, average_packet)
            if found is not None and found < target:
                small = middle + 1
            else:
                large = middle
        return small

    return (first(wlog) + first(wlog + 1)) // 2


def step_of_old_kernels(low: int, high: int, probability: float) -> int:
    """Plog: before 3.3 the probability at `high` was (high - low) / 2^Plog.

    >>> step_of_old_kernels(32 * 1024, 128 * 1024, 0.02)
    23
    """
    step, plog = probability / (high - low), 0
    while step <= 1:
        step, plog = 2 * step, plog + 1
    return plog


def rounded_red(law: Red, buffer: float, packet_bytes: int) -> TcRed:
    """RED as a line of tc can have it.

    Args:
        law: what was asked for.
        buffer: packets that can wait.
        packet_bytes: the size of a data packet.

    Raises:
        InvalidInput: for a queue that the kernel cannot count.
    """
    low, high = (max(round(packet_bytes * at), 1) for at in (law.min_thresh, law.max_thresh))
    limit = round(packet_bytes * buffer)
    high = max(high, low + 1)
    if max(limit, high) >= LARGEST_SIZE:
        raise InvalidInput("Red", "max_thresh", f"below {LARGEST_SIZE} bytes for linux", high)
    wanted = min(max(round(-math.log2(law.weight)), 1), WORD - 1)
    wlog = max(min(wanted, WORD - 1 - high.bit_length()), 1)
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
        held_probability=step * (high - low) / ONE,
        old_probability=(high - low) / 2.0**plog,
    )
