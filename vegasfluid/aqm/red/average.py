"""RED's average queue, the drop probability that follows from it, and its adaptation, per packet.

Sources:
    S. Floyd and V. Jacobson, "Random early detection gateways for congestion avoidance",
    IEEE/ACM ToN 1(4), 1993, section 4 (the average and the curve). `gentle`: the behaviour of
    ns-2.35, queue/red.cc (no code copied). S. Floyd, R. Gummadi and S. Shenker, "Adaptive RED",
    2001, section 3.
"""

from __future__ import annotations

from typing import Any

__all__ = [
    "ADAPTATION_INTERVAL",
    "DECREASE_FACTOR",
    "LARGEST_INCREASE",
    "LARGEST_MAX_DROP",
    "SMALLEST_MAX_DROP",
    "TARGET_HIGH",
    "TARGET_LOW",
    "adapt",
    "curve",
    "update_average",
]

ADAPTATION_INTERVAL = 500_000_000_000
"""Time between two adaptations of `max_drop`, ps: 0.5 s (Floyd, Gummadi and Shenker)."""
TARGET_LOW, TARGET_HIGH = 0.4, 0.6
"""Target range of the average queue, as fractions of the distance between the thresholds (Floyd,
Gummadi and Shenker)."""
SMALLEST_MAX_DROP, LARGEST_MAX_DROP = 0.01, 0.5
"""Bounds between which `max_drop` is adapted (Floyd, Gummadi and Shenker)."""
LARGEST_INCREASE, DECREASE_FACTOR = 0.01, 0.9
"""Largest increase of `max_drop` in one adaptation, and the factor of a decrease (Adaptive RED)."""


def update_average(queue: Any, load: float, idle_packets: float) -> None:
    """Update the moving average queue in a queue's record by one sample, at a packet's arrival.

    Args:
        queue: record of the queue; `avg_queue` (packets) is changed in place.
        load: packets waiting now, or their total size in data packets.
        idle_packets: packets that the link could have sent while idle, by which the average first
            decays.
    """
    if idle_packets > 0.0:
        queue.avg_queue *= (1.0 - queue.weight) ** idle_packets
    queue.avg_queue += queue.weight * (load - queue.avg_queue)


def adapt(queue: Any) -> None:
    """Twice a second, adapt `max_drop` of a queue's record towards an average in its target range.

    The range is the middle fifth between the thresholds. For an average queue above it, `max_drop`
    rises by a quarter, but at most by 0.01, unless it is above 0.5. For one below the range, it
    falls by 10 %, unless it is below 0.01.
    """
    if queue.now < queue.adapted_at + ADAPTATION_INTERVAL:
        return
    queue.adapted_at = queue.now
    position = (queue.avg_queue - queue.min_thresh) / (queue.max_thresh - queue.min_thresh)
    if position > TARGET_HIGH and queue.max_drop <= LARGEST_MAX_DROP:
        queue.max_drop += min(LARGEST_INCREASE, queue.max_drop / 4)
    elif position < TARGET_LOW and queue.max_drop >= SMALLEST_MAX_DROP:
        queue.max_drop *= DECREASE_FACTOR


def curve(queue: Any) -> float:
    """RED's drop probability p_b, 0 to 1, as a function of the average queue (packets).

    Average and parameters are fields of the packet simulator's record `queue`. p_b does not depend
    on the packets since the last drop, by which RED spaces its drops.
    """
    average = queue.avg_queue
    if average < queue.max_thresh:
        position = (average - queue.min_thresh) / (queue.max_thresh - queue.min_thresh)
        return queue.max_drop * position
    if queue.gentle:
        position = average / queue.max_thresh - 1.0
        return min(queue.max_drop + (1.0 - queue.max_drop) * position, 1.0)
    return 1.0
