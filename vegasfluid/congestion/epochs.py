"""Laws whose window follows from their last loss and the time since: between losses, a clock."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

from vegasfluid.congestion.base import CongestionControl

__all__ = ["FRESH", "LOWERED", "USUAL", "EpochCongestionControl"]

USUAL, LOWERED, FRESH = 0, 1, 2
"""Kinds of epochs: after a loss; after one that gave way to newcomers (see `gives_way`); and after
a slow start that ended without a loss, as if at the window that would leave as much."""


@dataclass(frozen=True)
class EpochCongestionControl(CongestionControl):
    """A law whose flows differ by the window at their last loss and by the time since.

    Its state has the field `elapsed`, which `growth` moves while the window is used.
    """

    @abstractmethod
    def plateau_age(self, kind: Any, lost: Any) -> Any:
        """The age at which the window of an epoch is flat, s.

        Args:
            kind: of the epoch: USUAL, LOWERED or FRESH.
            lost: the window at the loss, packets.
        """

    @abstractmethod
    def before_loss(self, window: Any) -> Any:
        """The window at a loss that would leave so much, packets."""

    @abstractmethod
    def epoch(self, plateau: Any, lost: Any, age: Any, rtt: Any) -> Any:
        """The state of a flow some time after a loss.

        Args:
            plateau: the epoch's `plateau_age`, s.
            lost: the window at the loss, packets.
            age: time since its repair, s.
            rtt: s.
        """

    @abstractmethod
    def oldest(self, largest: float) -> float:
        """At this age windows that were smaller at the loss are above `largest`, s."""

    @abstractmethod
    def gives_way(self, state: Any) -> Any:
        """Whether a loss in a state begins a LOWERED epoch; from 0 to 1."""
