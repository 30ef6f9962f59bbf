"""Sessions: transfers of Pareto size, one after the other, with exponential gaps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from annotated_types import Ge, Gt

from vegasfluid.quantities import Positive, Seconds, Share, Unit
from vegasfluid.traffic.kind import AbstractTraffic

__all__ = ["Sessions"]


@dataclass(frozen=True)
class Sessions(AbstractTraffic):
    """Transfers whose packets are handed to TCP at once ("no packet spacing").

    >>> Sessions(mean_gap=0.5, mean_size=10.0).shape
    1.5
    """

    name: ClassVar[str] = "sessions"

    mean_gap: Annotated[Seconds, Positive]
    """Mean time between the end of a transfer and the start of the next."""
    mean_size: Annotated[float, Unit("MB", "mb"), Ge(0), Positive]
    """Mean size of a transfer, in 1 000 000 bytes."""
    shape: Annotated[Share, Gt(1)] = 1.5
    """Shape of the sizes' Pareto distribution; above 1, so that the mean exists."""
