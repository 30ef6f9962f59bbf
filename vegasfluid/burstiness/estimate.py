"""Estimates with confidence intervals, and checks of the series that they are made from."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from vegasfluid.errors import InvalidInput, Words

__all__ = ["QUANTILE", "Estimate", "as_series", "normal_estimate", "require_above_zero"]

QUANTILE = 1.959963984540054
"""97.5 % quantile of the standard normal distribution, for 95 % intervals."""


class Estimate(NamedTuple):
    """An estimated number with its 95 % confidence interval.

    Args:
        value: the estimate.
        low: lower end of the interval.
        high: upper end of the interval.
    """

    value: float
    low: float
    high: float


def normal_estimate(value: float, error: float) -> Estimate:
    """Estimate with the 95 % interval of a normal distribution.

    Args:
        value: the estimate.
        error: its standard error.

    >>> normal_estimate(0.5, 0.1)
    Estimate(value=0.5, low=0.30400..., high=0.69599...)
    """
    return Estimate(float(value), float(value - QUANTILE * error), float(value + QUANTILE * error))


def as_series(whose: str, counts: ArrayLike, shortest: int) -> np.ndarray:
    """Convert counts of packets to an array of floats, and validate it.

    Args:
        whose: name of the calling function, for the error message.
        counts: number of packets in each bin; (bin,).
        shortest: smallest allowed number of bins.

    Returns:
        The counts as floats; (bin,).

    Raises:
        InvalidInput: if the series is not one-dimensional, too short, not finite or constant.

    >>> as_series("cov", [1, 2, 4], shortest=3)
    array([1., 2., 4.])
    """
    series = np.asarray(counts, float)
    if series.ndim != 1:
        raise InvalidInput(whose, "counts", "an array of one dimension", series.shape)
    if series.size < shortest:
        raise InvalidInput(whose, "number of counts", f"at least {shortest}", series.size)
    if not np.all(np.isfinite(series)):
        bad = series[~np.isfinite(series)][0]
        raise InvalidInput(whose, "counts", "finite", float(bad))
    if np.ptp(series) == 0.0:
        raise InvalidInput(whose, "counts", "of at least two different values", Words("all equal"))
    return series


def require_above_zero(whose: str, name: str, variances: np.ndarray) -> None:
    """Raise InvalidInput unless the variance on each scale is above zero and thus has a logarithm.

    `variances` has one value for each time scale, (scale,). The message names the function `whose`
    and the quantity `name`.

    >>> require_above_zero("wavelet", "energy of every octave", np.array([2.0, 1.0]))
    """
    if not np.all(variances > 0.0):
        raise InvalidInput(whose, name, "above 0", 0.0)
