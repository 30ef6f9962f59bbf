"""A queue law whose signal is louder or softer around its value at rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax

from vegasfluid.aqm.base import AdmissionRule, QueueDiscipline, QueueState

__all__ = ["Amplified"]


@dataclass(frozen=True)
class Amplified(QueueDiscipline):
    """A law whose drop probability has the same value, and a slope that is `gain` times its own.

    Only slopes see a difference: it is for Jacobians at rest, and not for runs.

    Args:
        law: the law.
        gain: by how much more its drop probability moves.
    """

    law: QueueDiscipline
    gain: Any

    @property
    def losses_follow_growth(self) -> bool:
        """As the law."""
        return self.law.losses_follow_growth

    @property
    def in_bytes(self) -> bool:
        """As the law."""
        return getattr(self.law, "in_bytes", False)

    def init(self) -> Any:
        """As the law."""
        return self.law.init()

    def drop_prob(self, seen: QueueState) -> Any:
        """The law's, with another slope."""
        return self._amplified(self.law.drop_prob(seen))

    def forced_prob(self, seen: QueueState) -> Any:
        """The law's, with another slope."""
        return self._amplified(self.law.forced_prob(seen))

    def loss_signal_prob(self, drop_prob: Any) -> Any:
        """As the law."""
        return self.law.loss_signal_prob(drop_prob)

    def derivative(self, seen: QueueState) -> Any:
        """As the law."""
        return self.law.derivative(seen)

    @property
    def rule(self) -> AdmissionRule:
        """As the law."""
        return self.law.rule

    def _amplified(self, prob: Any) -> Any:
        at_rest = jax.lax.stop_gradient(prob)
        return at_rest + self.gain * (prob - at_rest)
