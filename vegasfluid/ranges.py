"""A number of a network that is not known for sure: from where to where it may lie, and how."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from vegasfluid.errors import InvalidInput
from vegasfluid.quantities import Value, require_ordered

__all__ = ["Range", "RangeDistribution"]

RangeDistribution = Literal["uniform", "log_uniform"]


@dataclass(frozen=True)
class Range(Value):
    """From where to where a number may lie, in the unit of the number's name at the edge.

    Raises:
        InvalidInput: for ends that are not finite or not in order, an unknown spread, or a
            `log_uniform` one from zero or below.

    >>> Range(10, 40).nominal, Range(10, 40, "log_uniform").nominal
    (25.0, 20.0)
    """

    low: float
    """The least."""
    high: float
    """The most."""
    spread: RangeDistribution = "uniform"
    """Whether equal differences are as likely, or equal ratios."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("low", "high"):
            if not math.isfinite(getattr(self, name)):
                raise InvalidInput("Range", name, "a finite number", getattr(self, name))
        if self.spread not in ("uniform", "log_uniform"):
            raise InvalidInput("Range", "spread", "uniform or log_uniform", self.spread)
        require_ordered(self, "low", "high", strict=True)
        if self.spread == "log_uniform" and self.low <= 0:
            raise InvalidInput("Range", "low", "above 0 where spread is log_uniform", self.low)

    def at(self, share: float) -> float:
        """The number below which that share of the spread lies.

        Args:
            share: from 0 to 1.

        >>> Range(1, 100, "log_uniform").at(0.5), Range(1, 100).at(1)
        (10.0, 100.0)
        """
        if share in (0, 1):  # no rounding at the ends
            return float(self.high if share else self.low)
        if self.spread == "uniform":
            return self.low + share * (self.high - self.low)
        return self.low * (self.high / self.low) ** share

    @property
    def nominal(self) -> float:
        """The middle; of a `log_uniform` spread the geometric one."""
        return self.at(0.5)
