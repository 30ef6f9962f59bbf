"""On-off: a constant rate during Pareto on times, silence during Pareto off times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from annotated_types import Gt

from vegasfluid.quantities import Delay, PacketsPerSecond, Positive, Share
from vegasfluid.traffic.kind import AbstractTraffic

__all__ = ["OnOff"]


@dataclass(frozen=True)
class OnOff(AbstractTraffic):
    """Pareto on and off times.

    >>> OnOff(on=0.03, off=0.07, rate=100.0).shape
    1.5
    """

    name: ClassVar[str] = "on_off"

    on: Annotated[Delay, Positive]
    """Mean on time."""
    off: Annotated[Delay, Positive]
    """Mean off time."""
    rate: Annotated[PacketsPerSecond, Positive]
    """Packets handed to TCP while on."""
    shape: Annotated[Share, Gt(1)] = 1.5
    """Shape of both Pareto distributions; above 1, so that the means exist."""
