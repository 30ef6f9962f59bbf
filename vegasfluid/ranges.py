"""Ranges of uncertain numbers of a network, with their distributions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from vegasfluid.errors import InvalidInput
from vegasfluid.quantities import Value, require_ordered

__all__ = ["Range", "RangeDistribution"]

RangeDistribution = Literal["uniform", "log_uniform"]
"""Distribution of a number in its range: uniform, or uniform in its logarithm."""


@dataclass(frozen=True)
class Range(Value):
    """The range of an uncertain number, in the unit of its name in model files.

    Raises:
        InvalidInput: for ends that are not finite or not in order, an unknown distribution, or a
            `log_uniform` one from zero or below.

    >>> Range(10, 40).nominal, Range(10, 40, "log_uniform").nominal
    (25.0, 20.0)
    """

    low: float
    """Smallest value."""
    high: float
    """Largest value."""
    spread: RangeDistribution = "uniform"
    """Distribution: `uniform`, or `log_uniform` (uniform in the logarithm)."""

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

    def at(self, fraction: float) -> float:
        """Quantile of the distribution, in the unit of the range.

        Args:
            fraction: probability of a smaller value, from 0 to 1.

        >>> Range(1, 100, "log_uniform").at(0.5), Range(1, 100).at(1)
        (10.0, 100.0)
        """
        if fraction in (0, 1):  # no rounding at the ends
            return float(self.high if fraction else self.low)
        if self.spread == "uniform":
            return self.low + fraction * (self.high - self.low)
        return self.low * (self.high / self.low) ** fraction

    @property
    def nominal(self) -> float:
        """Median of the distribution, in the unit of the range.

        It is the middle of a `uniform` range, and sqrt(low high) of a `log_uniform` one.
        """
        return self.at(0.5)
