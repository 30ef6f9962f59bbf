"""Poisson: packets at exponential intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from vegasfluid.quantities import Delay, Positive
from vegasfluid.traffic.kind import AbstractTraffic

__all__ = ["Poisson"]


@dataclass(frozen=True)
class Poisson(AbstractTraffic):
    """Packets at exponential intervals.

    >>> Poisson(mean_interval=0.01).mean_interval
    0.01
    """

    name: ClassVar[str] = "poisson"

    mean_interval: Annotated[Delay, Positive]
    """Mean time between two packets."""
