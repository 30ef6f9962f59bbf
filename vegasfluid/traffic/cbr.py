"""CBR: packets at a constant rate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from vegasfluid.quantities import PacketsPerSecond, Positive
from vegasfluid.traffic.kind import AbstractTraffic

__all__ = ["Cbr"]


@dataclass(frozen=True)
class Cbr(AbstractTraffic):
    """Packets at a constant rate.

    >>> Cbr(rate=100.0).rate
    100.0
    """

    name: ClassVar[str] = "cbr"

    rate: Annotated[PacketsPerSecond, Positive]
    """Packets handed to TCP."""
