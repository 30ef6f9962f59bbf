"""Laws whose window follows from their last loss and the time since: between losses, a clock."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

from vegasfluid.congestion.base import CongestionControl

__all__ = ["AFTER_LOSS", "AFTER_SLOW_START", "FAST_CONVERGENCE", "EpochCongestionControl"]

AFTER_LOSS, FAST_CONVERGENCE, AFTER_SLOW_START = 0, 1, 2
"""Kinds of epochs: after a loss; after a loss with fast convergence (a lower plateau); and after a
slow start that ended without a loss, as if at the window of which a loss would leave as much."""


@dataclass(frozen=True)
class EpochCongestionControl(CongestionControl):
    """A law whose flows differ by the window at their last loss and by the time since.

    Its state has the field `elapsed`, which `growth` moves while the window is used.
    """

    @abstractmethod
    def plateau_time(self, kind: Any, lost: Any) -> Any:
        """The age at which the window of an epoch is flat, s.

        Args:
            kind: of the epoch: AFTER_LOSS, FAST_CONVERGENCE or AFTER_SLOW_START.
            lost: the window at the loss, packets.
        """

    @abstractmethod
    def window_before_loss(self, window: Any) -> Any:
        """The window at a loss that would leave so much, packets."""

    @abstractmethod
    def epoch_state(self, plateau: Any, lost: Any, age: Any, rtt: Any) -> Any:
        """The state of a flow some time after a loss.

        Args:
            plateau: the epoch's `plateau_time`, s.
            lost: the window at the loss, packets.
            age: time since its repair, s.
            rtt: s.
        """

    @abstractmethod
    def max_epoch_age(self, largest: float) -> float:
        """At this age windows that were smaller at the loss are above `largest`, s."""

    @abstractmethod
    def applies_fast_convergence(self, state: Any) -> Any:
        """Whether a loss in a state begins a FAST_CONVERGENCE epoch; from 0 to 1."""
