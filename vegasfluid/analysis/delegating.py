"""A queue discipline that passes everything on to another one; base of variants for analysis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from vegasfluid.aqm.base import AdmissionRule, QueueDiscipline, QueueState

__all__ = ["Delegating"]


@dataclass(frozen=True)
class Delegating(QueueDiscipline):
    """A queue discipline that behaves as another one; subclasses change some of its members.

    Args:
        discipline: the other queue discipline.
    """

    discipline: QueueDiscipline

    @property
    def losses_follow_growth(self) -> bool:
        """Whether losses divide among flows in proportion to the growth of their windows."""
        return self.discipline.losses_follow_growth

    @property
    def counts_bytes(self) -> bool:
        """Whether the discipline measures its queue in bytes."""
        return self.discipline.counts_bytes

    @property
    def drops_by_size(self) -> bool:
        """Whether the discipline's drop probability is in proportion to a packet's size."""
        return self.discipline.drops_by_size

    @property
    def marks(self) -> bool:
        """Whether the discipline marks ECN-capable packets instead of dropping them."""
        return self.discipline.marks

    @property
    def average_weight(self) -> Any:
        """Weight (0 to 1) of one arriving packet's sample in the average of the queue; 0: none."""
        return self.discipline.average_weight

    def relaxation_rate(self, capacity: Any) -> Any:
        """Fastest rate, 1/s, at which the state approaches its equilibrium at a constant queue.

        `capacity` of the link is in packets/s. A result of 0 means that the state has no rate.
        """
        return self.discipline.relaxation_rate(capacity)

    def average_queue(self, aqm_state: Any) -> Any:
        """The discipline's average of the queue, packets, in the state `aqm_state`."""
        return self.discipline.average_queue(aqm_state)

    def clip(self, aqm_state: Any, buffer: Any) -> Any:
        """`aqm_state` with each field clipped to its domain, such as 0 to `buffer` packets."""
        return self.discipline.clip(aqm_state, buffer)

    @property
    def upper_threshold(self) -> Any:
        """Average queue, packets, above which drops are no longer random; None if there is none."""
        return self.discipline.upper_threshold

    @property
    def adapts(self) -> bool:
        """Whether the discipline changes its own parameters during a run."""
        return self.discipline.adapts

    def init(self) -> Any:
        """State of the discipline for an empty queue, e.g. an average of 0 packets."""
        return self.discipline.init()

    def loss_signal_prob(self, drop_prob: Any) -> Any:
        """Fraction of a flow's packets whose loss or mark its sender responds to, 0 to 1.

        `drop_prob` is the probability that a packet of the flow is dropped or marked.
        """
        return self.discipline.loss_signal_prob(drop_prob)

    def derivative(self, state: QueueState) -> Any:
        """Rate of change per second of the discipline's state, for the queue in `state`."""
        return self.discipline.derivative(state)

    @property
    def integrates(self) -> bool:
        """Whether the state keeps changing unless the queue has one certain length, as with PIE."""
        return self.discipline.integrates

    def target_queue(self, capacity: Any) -> Any:
        """Queue, packets, at which the discipline holds a busy link of `capacity` packets/s.

        None if it has no such target.
        """
        return self.discipline.target_queue(capacity)

    def converging_derivative(self, state: QueueState) -> Any:
        """Rate of change of the state, per second, modified so that it converges for any queue.

        Equal to `derivative` for a discipline without integral control.
        """
        return self.discipline.converging_derivative(state)

    @property
    def rule(self) -> AdmissionRule:
        """Rule by which the packet simulator admits, marks or drops arriving packets."""
        return self.discipline.rule

    def drop_prob(self, state: QueueState) -> Any:
        """Probability, before the buffer is full, that an arriving packet is dropped or marked."""
        return self.discipline.drop_prob(state)

    def forced_prob(self, state: QueueState) -> Any:
        """Probability, before the buffer is full, that an ECN-capable packet is dropped."""
        return self.discipline.forced_prob(state)
