"""Step marking: a packet that finds more than K packets waiting is marked.

Data centres mark this way for DCTCP. The queue is that of the moment, not an average, and nothing
is random. A packet that cannot be marked is dropped, as by switches that mark with RED thresholds.

RED comes close to it (`max_thresh` just above `min_thresh`, `max_drop` of 1), but its average has a
weight below 1, so that it marks late and goes on marking after the queue has drained.

Sources:
    M. Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010, section 3.1 (marks where the queue
    is greater than K on arrival). RFC 8257, sections 3.1 and 5 (not checked against the original).
    The fluid's step over one packet: chosen, as the packets' queue is a whole number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from vegasfluid import smooth
from vegasfluid.aqm.base import (
    ADMIT,
    FORCED,
    MARK,
    AdmissionRule,
    QueueState,
    WithoutAverage,
)
from vegasfluid.quantities import Packets

__all__ = ["StepMarking"]


def decide(queue: Any, waiting: int, idle_packets: float) -> int:
    """Decide on a packet that arrives at a queue that marks above a threshold.

    Args:
        queue: record of the queue; it has the threshold, packets.
        waiting: packets in the queue, without the one in transmission.
        idle_packets: not used.

    Returns:
        ADMIT; above the threshold MARK, or FORCED for a packet that cannot be marked.
    """
    if waiting <= queue.threshold:
        return ADMIT
    return MARK if queue.ect else FORCED


@dataclass(frozen=True)
class StepMarking(WithoutAverage):
    """Marks each packet that finds more than a threshold of packets waiting.

    Nothing is random. ECN-capable flows of equal round-trip times are in step, as in the analysis
    of DCTCP, so packet runs have no random send overhead for them unless it is given. Over flows
    that are not ECN-capable it acts as drop-tail with a smaller buffer, and they have that of
    drop-tail (`Network.send_overhead`).

    >>> StepMarking(threshold=20).marks
    True
    """

    name: ClassVar[str] = "step"
    synchronises: ClassVar[bool] = True
    synchronises_marked: ClassVar[bool] = False
    sets_queue: ClassVar[tuple[str, ...]] = ("threshold",)
    sources: ClassVar[tuple[str, ...]] = ("Alizadeh et al., SIGCOMM 2010", "RFC 8257")

    threshold: Packets
    """Waiting packets, without the one in transmission, above which an arrival is marked."""

    @property
    def upper_threshold(self) -> Any:
        """Queue above which every packet is marked (`threshold`), packets."""
        return self.threshold

    @property
    def marks(self) -> bool:
        """True: ECN-capable packets are marked instead of dropped."""
        return True

    def target_queue(self, capacity: Any) -> Any:
        """Queue, packets, at which marks hold a busy link: `threshold`, at any `capacity`."""
        return self.threshold

    def drop_prob(self, state: QueueState) -> Any:
        """Probability, 0 to 1, that an arriving packet is dropped or marked.

        It is 0 up to a queue of `threshold` packets in `state`, and 1 from one packet more on.
        """
        return smooth.step(state.queue - self.threshold, 1.0)

    def forced_prob(self, state: QueueState) -> Any:
        """Probability that an ECN-capable packet is dropped before the buffer is full: 0."""
        return 0.0 * state.queue

    @property
    def rule(self) -> AdmissionRule:
        """The packet simulator's rule, which marks above the threshold."""
        return AdmissionRule(decide)

    def packet_parameters(self) -> dict[str, float]:
        """The threshold, packets, which the packet rule reads from the queue's record."""
        return {"threshold": float(self.threshold)}
