"""A queue discipline with its feedback gain scaled, for the gain margin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax

from vegasfluid.aqm.base import AdmissionRule, QueueDiscipline, QueueState

__all__ = ["GainScaled"]


@dataclass(frozen=True)
class GainScaled(QueueDiscipline):
    """A queue discipline whose drop probability has the same value and `gain` times the slope.

    Only derivatives see the difference: it is for Jacobians at an equilibrium, not for runs.

    Args:
        discipline: the queue discipline.
        gain: factor of the derivatives of its drop probability.
    """

    discipline: QueueDiscipline
    gain: Any

    @property
    def losses_follow_growth(self) -> bool:
        """Whether losses divide among flows in proportion to the growth of their windows."""
        return self.discipline.losses_follow_growth

    @property
    def counts_bytes(self) -> bool:
        """Whether the scaled discipline measures its queue in bytes."""
        return self.discipline.counts_bytes

    @property
    def drops_by_size(self) -> bool:
        """Whether the scaled discipline's drop probability is in proportion to a packet's size."""
        return self.discipline.drops_by_size

    @property
    def marks(self) -> bool:
        """Whether the scaled discipline marks ECN-capable packets instead of dropping them."""
        return self.discipline.marks

    @property
    def average_weight(self) -> Any:
        """Weight (0 to 1) of one sample in the scaled discipline's average of the queue."""
        return self.discipline.average_weight

    def relaxation_rate(self, capacity: Any) -> Any:
        """Fastest rate, 1/s, of the scaled discipline's state on a link of `capacity` packets/s."""
        return self.discipline.relaxation_rate(capacity)

    def average_queue(self, aqm_state: Any) -> Any:
        """The scaled discipline's average of the queue, packets, in the state `aqm_state`."""
        return self.discipline.average_queue(aqm_state)

    def clip(self, aqm_state: Any, buffer: Any) -> Any:
        """A state of the scaled discipline clipped to its domain, for a `buffer` in packets."""
        return self.discipline.clip(aqm_state, buffer)

    @property
    def upper_threshold(self) -> Any:
        """Average queue, packets, above which drops are no longer random; None if there is none."""
        return self.discipline.upper_threshold

    @property
    def adapts(self) -> bool:
        """Whether the scaled discipline changes its own parameters during a run."""
        return self.discipline.adapts

    def init(self) -> Any:
        """State of the scaled discipline for an empty queue, e.g. an average of 0 packets."""
        return self.discipline.init()

    def drop_prob(self, seen: QueueState) -> Any:
        """Probability that an arriving packet is dropped or marked, for the queue and state `seen`.

        Its value is that of the scaled discipline, its derivatives are multiplied by `gain`.
        """
        return self._scaled(self.discipline.drop_prob(seen))

    def forced_prob(self, seen: QueueState) -> Any:
        """Probability that a packet that may be marked is dropped, for queue and state `seen`.

        Its value is that of the scaled discipline, its derivatives are multiplied by `gain`.
        """
        return self._scaled(self.discipline.forced_prob(seen))

    def loss_signal_prob(self, drop_prob: Any) -> Any:
        """Loss signals to a flow per packet, from its drop probability; not scaled."""
        return self.discipline.loss_signal_prob(drop_prob)

    def derivative(self, seen: QueueState) -> Any:
        """Rate of change per second of the discipline's state for the queue `seen`, unscaled."""
        return self.discipline.derivative(seen)

    @property
    def rule(self) -> AdmissionRule:
        """Rule by which the packet simulator admits, marks or drops arriving packets."""
        return self.discipline.rule

    def _scaled(self, prob: Any) -> Any:
        """A probability with the same value, and with its derivatives multiplied by `gain`."""
        value = jax.lax.stop_gradient(prob)
        return value + self.gain * (prob - value)
