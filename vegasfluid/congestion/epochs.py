"""Laws whose window follows from their last loss and the time since: between losses, a clock."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

from vegasfluid.congestion.law import AbstractWindowLaw

__all__ = ["AbstractEpochLaw"]


@dataclass(frozen=True)
class AbstractEpochLaw(AbstractWindowLaw):
    """A law whose flows differ by the window at their last loss and by the time since.

    Its state has the field `elapsed`, which `growth` moves while the window is used.
    """

    @abstractmethod
    def plateau_age(self, kind: Any, lost: Any) -> Any:
        """The age of an epoch at which it would begin had slow start ended there, s.

        Args:
            kind: of the epoch: 1 where the loss before gave way (see `gives_way`), or 0.
            lost: the window at the loss, packets.
        """

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
        """Whether a loss in a state begins an epoch of kind 1; from 0 to 1."""
