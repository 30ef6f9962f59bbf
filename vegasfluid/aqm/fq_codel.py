"""FQ-CoDel: a queue for each flow, served in turn, with CoDel in each.

Sparse flows have low delays, as a queue that comes back is served before those that have been busy.
Where all queues together exceed the buffer, packets at the head of the longest one are dropped.

Every flow has its own queue. Real ones hash flows to 1024 queues, so that two of ten flows
share one in 4 % of all cases.

Sources:
    T. Hoeiland-Joergensen et al., RFC 8290 (FQ-CoDel), sections 4 and 5.2 (default values). Linux
    6.1, net/sched/sch_fq_codel.c (behaviour only, no code copied): CoDel stops where all queues
    together hold no more than one packet.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from vegasfluid.aqm.base import FlowQueues, Quantum
from vegasfluid.aqm.codel import ControlledDelay

__all__ = ["FqCoDel"]

NO_LIMIT = float("inf")
"""Limit of one flow's queue, packets: only that of all queues together counts."""


@dataclass(frozen=True)
class FqCoDel(ControlledDelay):
    """A queue for each flow, served in turn, with CoDel in each.

    >>> FqCoDel().target
    0.005
    """

    name: ClassVar[str] = "fq_codel"
    sources: ClassVar[tuple[str, ...]] = ("RFC 8290", "Linux 6.1, net/sched/sch_fq_codel.c")

    quantum: Quantum = 1
    """Packets that a queue may send in its turn."""

    @property
    def flow_queues(self) -> FlowQueues:
        """How the link serves a queue for each flow.

        A single queue has no limit. A full buffer drops packets at the head of the longest queue.
        """
        return FlowQueues(self.quantum, self.quantum, NO_LIMIT, True, 0.0)
