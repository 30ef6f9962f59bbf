"""RED of ns-2.35 (queue/red.cc): the packet rule.

The gap between drops is uniform over 1..1/p_b - 1 packets (`wait` false) or over 1/p_b..2/p_b - 1
(`wait` true). The first packet above the lower threshold is admitted, and so is a packet that finds
one or none waiting. While the link is idle, the average decays as if it sent small packets.

Sources:
    S. Floyd and V. Jacobson, "Random early detection gateways for congestion avoidance",
    IEEE/ACM ToN 1(4), 1993, sections 4 and 7 (the spacing). `wait`, `gentle`, `in_bytes`: the
    behaviour of ns-2.35, queue/red.cc (no code copied). Marks: RFC 3168, section 7.
"""

from __future__ import annotations

from typing import Any

from vegasfluid.aqm.base import ADMIT, EARLY, FORCED, MARK, AdmissionRule
from vegasfluid.aqm.red.average import adapt, curve, update_average

__all__ = ["RULE"]


def spaced(prob: float, count: float, wait: float) -> float:
    """Drop probability of one packet, 0 to 1, with RED's spacing of drops.

    Args:
        prob: p_b, the probability by RED's curve.
        count: packets since the last drop, including this one.
        wait: 1 if drops are at least 1/p_b packets apart, 0 if they are at most 1/p_b apart.
    """
    progress = count * prob
    if wait:
        if progress < 1.0:
            return 0.0
        return prob / (2.0 - progress) if progress < 2.0 else 1.0
    return prob / (1.0 - progress) if progress < 1.0 else 1.0


def decide(queue: Any, waiting: int, idle_packets: float) -> int:
    """Decide on a packet that arrives at a RED queue, after updating the average queue.

    Args:
        queue: record of the queue, changed in place.
        waiting: packets in the queue, without the one in transmission.
        idle_packets: packets that the link could have sent while it was idle just before.

    Returns:
        ADMIT, EARLY (dropped at random), FORCED (dropped as the average is too long) or MARK.
    """
    update_average(queue, queue.waiting_size if queue.in_bytes else float(waiting), idle_packets)
    if queue.adaptive:
        adapt(queue)
    if queue.avg_queue < queue.min_thresh or waiting <= 1:
        queue.above = 0
        return ADMIT
    size = queue.relative_size if queue.in_bytes else 1.0
    certain = 1.0 if queue.gentle == 0 else 2.0
    queue.count += size
    if queue.avg_queue >= certain * queue.max_thresh:
        queue.count = 0.0
        return FORCED if queue.hard_drop or not (queue.ecn and queue.ect) else MARK
    if queue.above == 0:
        queue.above = 1
        queue.count = size
        return ADMIT
    queue.uniform_used = 1
    if queue.uniform <= size * spaced(curve(queue), queue.count, queue.wait):
        queue.count = 0.0
        return MARK if queue.ecn and queue.ect else EARLY
    return ADMIT


RULE = AdmissionRule(decide, state={"above": 0, "adapted_at": 0})
"""Admission rule of ns-2's RED, with initial values of the fields that it keeps in the record."""
