"""RED of Linux (tc red): the packet rule.

A threshold is drawn, uniform from 0 to 1, when the average comes between `min_thresh` and
`max_thresh`, and after each random drop. Each packet then counts, and the first for which
count p_b reaches the threshold is dropped, so that gaps are uniform over 1..1/p_b packets. The
packet at which the average comes into this range is admitted. The curve is not `gentle`, and the
size of a packet does not change its chance. `adaptive` as in ns-2.

While a link is idle the average keeps its value. That is RED below a shaper (`tbf`, `htb`), as in
exported configurations: a shaper looks at the queue and takes a packet when it may send it, so that
RED never learns that it is empty. RED at the root of a device lets the average decay.

Not modelled: the rounding of average and probability (32 bits), and `nodrop`.

Sources:
    The behaviour of Linux 6.1, include/net/red.h (`red_action`, `red_mark_probability`,
    `red_adaptative_algo`), net/sched/sch_red.c and sch_tbf.c (no code copied).
"""

from __future__ import annotations

from typing import Any

from vegasfluid.aqm.base import ADMIT, EARLY, FORCED, MARK, AdmissionRule
from vegasfluid.aqm.red.average import adapt, curve, update_average

__all__ = ["RULE"]

OUTSIDE = -1.0
"""Value of `count` (packets since the last drop) while the average is not between the
thresholds."""


def decide(queue: Any, waiting: int, idle_packets: float) -> int:
    """Decide on a packet that arrives at a RED queue, after updating the average queue.

    Args:
        queue: record of the queue, changed in place.
        waiting: packets in the queue, without the one in transmission.
        idle_packets: not used.

    Returns:
        ADMIT, EARLY (dropped at random), FORCED (dropped as the average is too long) or MARK.
    """
    update_average(queue, queue.waiting_size if queue.in_bytes else float(waiting), 0.0)
    if queue.adaptive:
        adapt(queue)
    if queue.avg_queue < queue.min_thresh:
        queue.count = OUTSIDE
        return ADMIT
    if queue.avg_queue >= queue.max_thresh:
        queue.count = OUTSIDE
        return FORCED if queue.hard_drop or not (queue.ecn and queue.ect) else MARK
    queue.count += 1.0
    dropped = queue.count > 0.0 and queue.count * curve(queue) >= queue.threshold
    if dropped or queue.count == 0.0:
        queue.count, queue.threshold = 0.0, queue.uniform
        queue.uniform_used = 1
    if dropped:
        return MARK if queue.ecn and queue.ect else EARLY
    return ADMIT


RULE = AdmissionRule(decide, state={"threshold": 0.0, "adapted_at": 0})
"""Admission rule of Linux's RED, with initial values of the fields that it keeps in the record."""
