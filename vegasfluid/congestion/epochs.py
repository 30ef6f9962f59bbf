"""Congestion controls whose window is a function of the last loss and the time since, as CUBIC."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

from vegasfluid.congestion.base import CongestionControl

__all__ = ["AFTER_LOSS", "AFTER_SLOW_START", "FAST_CONVERGENCE", "EpochCongestionControl"]

AFTER_LOSS, FAST_CONVERGENCE, AFTER_SLOW_START = 0, 1, 2
"""Kinds of epochs: after a loss; after a loss with fast convergence, which lowers the plateau; and
after a slow start without a loss, which is treated as a loss that left the same window."""


@dataclass(frozen=True)
class EpochCongestionControl(CongestionControl):
    """A congestion control whose window is a function of the window at the last loss and its age.

    The state has the field `elapsed`: the time since the last loss during which the window, not the
    application, limited the sender, s.
    """

    @abstractmethod
    def plateau_time(self, kind: Any, lost: Any) -> Any:
        """Age of an epoch, s, at which its window reaches the plateau; K for CUBIC.

        Args:
            kind: how the epoch starts: AFTER_LOSS, FAST_CONVERGENCE or AFTER_SLOW_START.
            lost: window at the loss, packets; broadcast with `kind` to the shape of the result.
        """

    @abstractmethod
    def window_before_loss(self, window: Any) -> Any:
        """Window just before a loss after which the window is `window`; both in packets."""

    @abstractmethod
    def epoch_state(self, plateau: Any, lost: Any, age: Any, rtt: Any) -> Any:
        """State of a flow at an age of its epoch.

        Args:
            plateau: `plateau_time` of the epoch, s.
            lost: window at the loss, packets.
            age: time since the recovery from the loss, s.
            rtt: round-trip time, s.

        Returns:
            The state, with its window `cwnd` in packets.
        """

    @abstractmethod
    def max_epoch_age(self, largest: float) -> float:
        """Age of an epoch, s, at which the window exceeds `largest` packets in any case.

        Args:
            largest: upper bound of the window at the loss, packets.
        """

    @abstractmethod
    def applies_fast_convergence(self, state: Any) -> Any:
        """Fraction of losses, 0 to 1, to which fast convergence applies if they occur in a state.

        The kind of the epoch that follows is then FAST_CONVERGENCE, whose plateau is lower.

        Args:
            state: state just before the loss; the fraction has the shape of its fields.
        """
