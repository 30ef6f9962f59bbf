"""Drop-tail: a packet is lost when, and only when, the buffer is full.

Sources:
    Fluid overflow: what arrives above capacity at a full buffer is lost, p = 1 - C/y.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from vegasfluid import smooth
from vegasfluid.aqm.law import ADMIT, AbstractQueueLaw, AdmissionRule, QueueState

__all__ = ["DropTail", "overflow_prob"]


def overflow_prob(seen: QueueState) -> Any:
    """The share of arrivals that a full buffer loses, rising over the last packet of room."""
    excess = smooth.positive_part(1 - seen.capacity / smooth.maximum(seen.arrival_rate, 1e-9))
    return excess * smooth.step(seen.queue - (seen.buffer - 1), 1.0)


def drops(queue: Any, waiting: int, idle_packets: float) -> int:
    """Never before the buffer is full; the link itself refuses what does not fit."""
    return ADMIT


@dataclass(frozen=True)
class DropTail(AbstractQueueLaw):
    """A first-in, first-out queue with a finite buffer and no early drops.

    >>> DropTail().name
    'droptail'
    """

    name: ClassVar[str] = "droptail"
    sources: ClassVar[tuple[str, ...]] = ("RFC 7567, section 1 (drop-tail as the baseline)",)

    def drop_prob(self, seen: QueueState) -> Any:
        """No early drops."""
        return 0.0 * seen.queue

    def averaging(self, seen: QueueState) -> Any:
        """No average is kept."""
        return 0.0 * seen.queue

    @property
    def rule(self) -> AdmissionRule:
        """Admit; only the full buffer drops."""
        return AdmissionRule(drops)
