"""A queue discipline with its feedback gain scaled, for the gain margin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax

from vegasfluid.analysis.delegating import Delegating
from vegasfluid.aqm.base import QueueState

__all__ = ["GainScaled"]


@dataclass(frozen=True)
class GainScaled(Delegating):
    """A queue discipline whose drop probability has the same value and `gain` times the slope.

    Only derivatives see the difference: it is for Jacobians at an equilibrium, not for runs.

    Args:
        discipline: the queue discipline.
        gain: factor of the derivatives of its drop probability.
    """

    gain: Any

    def drop_prob(self, state: QueueState) -> Any:
        """Probability that an arriving packet is dropped or marked, for the queue in `state`.

        Its value is the probability of `discipline`, and its derivatives are multiplied by `gain`.
        """
        return self._scaled(self.discipline.drop_prob(state))

    def forced_prob(self, state: QueueState) -> Any:
        """Probability that a packet that may be marked is dropped, for the queue in `state`.

        Its value is the probability of `discipline`, and its derivatives are multiplied by `gain`.
        """
        return self._scaled(self.discipline.forced_prob(state))

    def _scaled(self, prob: Any) -> Any:
        """A probability with the same value, and with its derivatives multiplied by `gain`."""
        value = jax.lax.stop_gradient(prob)
        return value + self.gain * (prob - value)
