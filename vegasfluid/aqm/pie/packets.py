"""PIE: the packet rule, and the numbers that it shares with the fluid model.

Every `t_update` the drop probability changes by alpha (delay - target) + beta (delay - old delay),
see `delay_control`, scaled down where it is small.

Drops are spaced: each packet adds the probability to a sum, no packet is dropped below a sum of
0.85, then each with the probability, and for certain from 8.5 on.

The delay is the number of waiting packets divided by the capacity (RFC 8033, section 4.2). Linux
(without `dq_rate_estimator`) takes the waiting time of the last packet that left: the same mean,
but older by the delay itself. Where Linux and the RFC differ, the rule follows Linux: no drops with
fewer than two packets waiting, 1/64 less in each update after no delay, 2 % more above 250 ms, and
a packet that is marked stays below the limit of 10 %. Burst allowance as in the RFC: it ends after
updates, in Linux after departures.

Sources:
    R. Pan et al., RFC 8033, 2017, sections 4 and 5, appendices A and B. The behaviour of Linux
    6.1, net/sched/sch_pie.c and include/net/pie.h (no code copied). Not modelled: `bytemode`, and
    that Linux marks every packet after one that was marked with a sum above 8.5.
"""

from __future__ import annotations

from typing import Any

from vegasfluid.aqm.base import ADMIT, EARLY, MARK, AdmissionRule
from vegasfluid.aqm.delay_control import queueing_delay, trend

__all__ = ["CERTAIN_SUM", "DECAY", "GAINS", "LARGEST_STEP", "LARGEST_STEP_FROM", "LEAST_SUM"]
__all__ += ["LEAST_WAITING", "LONG_DELAY", "RULE", "SAFE_PROBABILITY", "TUNINGS"]

GAINS = 2048
"""Divisor of alpha and beta below the smallest probability of `TUNINGS` (RFC 8033, section 4.2)."""
TUNINGS = ((1e-6, 4.0), (1e-5, 4.0), (1e-4, 4.0), (1e-3, 4.0), (1e-2, 4.0), (1e-1, 2.0))
"""Probabilities, and the factor by which alpha and beta grow above each (the same section)."""
LARGEST_STEP, LARGEST_STEP_FROM = 0.02, 0.1
"""Largest increase of the probability in an update, and the probability from which it holds (RFC
8033, section 5.5)."""
LONG_DELAY = 0.25
"""Delay, s, above which each update adds `LARGEST_STEP` (Linux, and RFC 8033, section 5.6)."""
DECAY = 1 / 64
"""Fraction of the probability that an update takes away if delay and old delay are 0 (Linux)."""
SAFE_PROBABILITY = 0.2
"""Probability below which no packet is dropped while the delay is below half the target."""
LEAST_WAITING = 2
"""Packets waiting below which none is dropped (Linux)."""
LEAST_SUM, CERTAIN_SUM = 0.85, 8.5
"""Sums of the probability since the last drop: below the first no packet is dropped, from the
second on the next one is (RFC 8033, section 5.4)."""


def gain(prob: float) -> float:
    """Factor of alpha and beta, from 1/2048 (probability `prob` below 1e-6) to 1 (from 0.1 on)."""
    factor = 1.0 / GAINS
    for above, growth in TUNINGS:
        if prob >= above:
            factor *= growth
    return factor


def change(queue: Any, delay: float) -> float:
    """Change of the drop probability in an update, before it is clipped to 0 to 1.

    Args:
        queue: record of the queue.
        delay: present queueing delay, s.
    """
    step = gain(queue.drop_prob) * trend(queue, delay)
    if queue.drop_prob >= LARGEST_STEP_FROM:
        step = min(step, LARGEST_STEP)
    if delay > LONG_DELAY:
        step += LARGEST_STEP
    return step


def update(queue: Any, at: int) -> None:
    """Update the drop probability, the old delay and the burst allowance in a queue's record.

    Args:
        queue: record of the queue, changed in place.
        at: time of the update, ps.
    """
    delay = queueing_delay(queue, at)
    prob = min(max(queue.drop_prob + change(queue, delay), 0.0), 1.0)
    if delay == 0.0 and queue.old_delay == 0.0:
        prob -= prob * DECAY
    queue.burst_left = max(queue.burst_left - queue.update_interval, 0)
    half = queue.target / 2
    if prob == 0.0 and delay < half and queue.old_delay < half:
        queue.burst_left, queue.count = queue.burst, 0.0
    queue.drop_prob, queue.old_delay = prob, delay


def chosen(queue: Any) -> bool:
    """Whether the arriving packet is the one to drop or mark, by the spacing of drops.

    It is not while the sum of the probability since the last drop is below 0.85, then with the
    probability, and for certain from a sum of 8.5 on.

    Args:
        queue: record of the queue, whose sum `count` is changed in place.
    """
    queue.count = queue.count + queue.drop_prob if queue.drop_prob > 0.0 else 0.0
    if queue.count < LEAST_SUM:
        return False
    queue.uniform_used = 1
    if queue.count < CERTAIN_SUM and queue.uniform >= queue.drop_prob:
        return False
    queue.count = 0.0
    return True


def decide(queue: Any, waiting: int, idle_packets: float) -> int:
    """Decide on a packet that arrives at a PIE queue, after the updates that are due.

    Args:
        queue: record of the queue, changed in place.
        waiting: packets in the queue, without the one in transmission.
        idle_packets: not used.

    Returns:
        ADMIT, EARLY (dropped at random) or MARK.
    """
    while queue.update_at <= queue.now:
        update(queue, queue.update_at)
        queue.update_at += queue.update_interval
    if queue.burst_left > 0 or waiting < LEAST_WAITING:
        return ADMIT
    if queue.old_delay < queue.target / 2 and queue.drop_prob < SAFE_PROBABILITY:
        return ADMIT
    if not chosen(queue):
        return ADMIT
    if queue.ecn and queue.ect and queue.drop_prob <= queue.mark_threshold:
        return MARK
    return EARLY


RULE = AdmissionRule(
    decide, state={"drop_prob": 0.0, "old_delay": 0.0, "burst_left": 0, "update_at": 0}
)
"""Admission rule of PIE, with initial values of the fields that it keeps in the record; the burst
allowance starts with the first update."""
