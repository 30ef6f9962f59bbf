"""Fair queueing: a queue for each flow, served in turn, without early drops (Linux's `fq`).

A full queue of one flow drops that flow's packets only; so does the limit of all queues together.

Linux's `fq` also paces the packets of the host's own sockets; here it serves the flows of others,
as on a router. Every flow has its own queue: no two flows share one by accident.

Sources:
    M. Shreedhar and G. Varghese, "Efficient fair queueing using deficit round robin", SIGCOMM 1995.
    Linux 6.1, net/sched/sch_fq.c (default values, and when a queue gets a new quantum; behaviour
    only, no code copied).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from annotated_types import Ge

from vegasfluid.aqm.base import (
    ADMIT,
    AdmissionRule,
    FlowQueues,
    Quantum,
    QueueState,
    WithoutAverage,
)
from vegasfluid.quantities import Packets

__all__ = ["Fq"]

REFILL_DELAY = 0.04
"""Time, s, for which a queue must have been empty to get a new quantum (Linux: `refill_delay`)."""


def decide(queue: Any, waiting: int, idle_packets: float) -> int:
    """Admit every packet (ADMIT); a packet that arrives at a full queue is dropped by the link."""
    return ADMIT


@dataclass(frozen=True)
class Fq(WithoutAverage):
    """Fair queueing: a queue for each flow, served in turn, without early drops.

    >>> Fq().flow_limit
    100
    """

    name: ClassVar[str] = "fq"
    drops_by_chance: ClassVar[bool] = False
    synchronises: ClassVar[bool] = True
    sets_queue: ClassVar[tuple[str, ...]] = ("flow_limit",)
    sources: ClassVar[tuple[str, ...]] = (
        "Shreedhar and Varghese, SIGCOMM 1995",
        "Linux 6.1, net/sched/sch_fq.c",
    )

    flow_limit: Annotated[Packets, Ge(1)] = 100
    """Packets that the queue of one flow can hold."""
    quantum: Quantum = 2
    """Packets that a queue may send in its turn."""
    initial_quantum: Quantum = 10
    """Packets that the queue of a new flow may send in its first turn."""

    @property
    def flow_queues(self) -> FlowQueues:
        """How the link serves a queue for each flow; a full queue drops packets that arrive."""
        return FlowQueues(self.quantum, self.initial_quantum, self.flow_limit, False, REFILL_DELAY)

    @property
    def losses_follow_growth(self) -> bool:
        """Whether losses divide among flows in proportion to their windows' growth: True."""
        return True

    def drop_prob(self, state: QueueState) -> Any:
        """Probability that a packet is dropped before its queue is full: 0."""
        return 0.0 * state.queue

    @property
    def rule(self) -> AdmissionRule:
        """The packet simulator's rule, which admits every packet."""
        return AdmissionRule(decide)
