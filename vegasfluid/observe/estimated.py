"""A number that was estimated from a measurement, with its 90 % interval and its origin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

__all__ = ["Estimated", "block_bootstrap", "unknown"]

COVERAGE = 0.90
"""Probability that the interval of an estimate contains the true value."""
NORMAL_QUANTILE = 1.645
"""Standard deviations from the middle of a normal distribution to the ends of its 90 % interval."""
RESAMPLES = 200
"""Resamples of a bootstrap (chosen: the ends of a 90 % interval then vary by a few percent)."""
SEED = 1
"""Seed of the bootstrap: the same measurement has the same intervals."""


class Estimated(NamedTuple):
    """An estimated number, or the reason why the measurement does not determine it.

    Args:
        value: the estimate; None: the measurement does not determine it.
        low: lower end of the 90 % interval, or the largest proven lower bound.
        high: upper end of the 90 % interval, or infinity.
        how: how it was estimated, or why it is not known, in a few words.

    >>> Estimated(10.0, 9.0, 12.0, "minimum of 5 flows").is_known
    True
    """

    value: float | None
    low: float
    high: float
    how: str

    @property
    def is_known(self) -> bool:
        """Whether the measurement determines the number."""
        return self.value is not None

    def scaled(self, factor: float) -> Estimated:
        """The estimate and its interval times `factor`, above 0, such as 1000 to change s to ms."""
        value = None if self.value is None else self.value * factor
        return self._replace(value=value, low=self.low * factor, high=self.high * factor)

    def widened(self, reach: float) -> Estimated:
        """The estimate with an interval that is longer by `reach`, in its unit, at both ends."""
        return self._replace(low=max(self.low - reach, 0.0), high=self.high + reach)

    def document(self) -> dict[str, Any]:
        """JSON entries: `value`, `interval90` (its two ends) and `how`.

        An unknown value and an infinite end are None, which JSON writes as null.
        """
        ends = [end if np.isfinite(end) else None for end in (self.low, self.high)]
        return {"value": self.value, "interval90": ends, "how": self.how}


def unknown(why: str, low: float = 0.0, high: float = float("inf")) -> Estimated:
    """A number that the measurement does not determine: the reason, and bounds if there are any."""
    return Estimated(None, low, high, why)


def block_bootstrap(
    statistic: Callable[[np.ndarray], float], data: np.ndarray, blocks: int
) -> tuple[float, float]:
    """90 % interval of a statistic of a time series, by a bootstrap of blocks.

    Blocks keep the correlation of neighbouring samples (H. Kuensch, "The jackknife and the
    bootstrap for general stationary observations", Annals of Statistics 17(3), 1989).

    Args:
        statistic: function of an array (..., time).
        data: the series, (..., time).
        blocks: number of blocks in each resample.

    Returns:
        The 5 % and the 95 % quantile of the statistic; NaN counts as infinity.
    """
    rng = np.random.default_rng(SEED)
    times = data.shape[-1]
    length = max(1, times // blocks)
    offsets = np.arange(length)
    values = np.empty(RESAMPLES)
    for k in range(RESAMPLES):
        starts = rng.integers(0, times - length + 1, blocks)
        values[k] = statistic(data[..., (starts[:, None] + offsets).ravel()])
    values = np.where(np.isnan(values), np.inf, values)
    tail = (1 - COVERAGE) / 2
    ends = np.quantile(values, [tail, 1 - tail], method="nearest")
    return float(ends[0]), float(ends[1])
