"""The Hurst exponent by how the variance of block means falls with the length of the blocks.

The variance of the means of blocks of m bins falls as m^(2H - 2). The slope of the plain line in
the variance-time plot is biased, since each variance is taken about the mean of the series: on
fractional Gaussian noise of 2^13 bins, -0.01, -0.02 and -0.07 in H at H = 0.5, 0.7 and 0.9. So
the slope seen is compared with the slope that fractional Gaussian noise of each H would give:
its first two moments are known exactly (quadratic forms of a Gaussian vector), and aggregation
leaves that noise what it is, so that they depend only on the numbers of blocks. The estimate is
the H whose mean slope is the one seen; the interval holds every H from whose mean slope the one
seen is within 1.96 standard deviations. Measured on 1000 series of fractional Gaussian noise of
2^13 bins:
bias 0.001, 0.002 and 0.005 at H = 0.5, 0.7 and 0.9, standard deviation 0.036, 0.040 and 0.052; the
95 % interval holds H in 96, 96 and 95 %.

Its precision does not grow with the series: the blocks become longer instead, and short memory
matters less. No library: those that have the method (hurst-estimators) lay the plain line and
give no interval.

Sources:
    M. S. Taqqu, V. Teverovsky and W. Willinger, "Estimators for long-range dependence: an
    empirical study", Fractals 3(4), 1995 (the aggregated variance).
    The moments of the slope: derived for this project, and tested.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import toeplitz

from vegasfluid.burstiness.estimate import (
    QUANTILE,
    Estimate,
    checked,
    require_above_zero,
)
from vegasfluid.burstiness.line import slope_weights

__all__ = ["FEWEST", "FINEST", "SHORTEST", "variance_time"]

FINEST, FEWEST = 512, 16
"""Blocks that the series is cut into at the finest and at the coarsest scale; each scale halves
their number."""
SHORTEST = 4 * FINEST
"""Bins that are needed."""
SCALES = int(np.log2(FINEST // FEWEST)) + 1
HURST = np.linspace(0.02, 0.99, 25)
"""Where the moments of the slope are computed; between them they are interpolated."""


class Slopes(NamedTuple):
    """Mean and standard deviation of the slope for fractional Gaussian noise; (HURST,) each."""

    mean: np.ndarray
    spread: np.ndarray


def halved(blocks: np.ndarray) -> np.ndarray:
    """Means of neighbours along the first axis."""
    return 0.5 * (blocks[0::2] + blocks[1::2])


def multipliers() -> np.ndarray:
    """Of the log variances, finest scale first, in the weighted slope; (scale,)."""
    scales = np.arange(SCALES)
    return slope_weights(scales * np.log(2.0), 0.5**scales)


def noise_covariance(hurst: float, size: int) -> np.ndarray:
    """Of fractional Gaussian noise of variance 1; (size, size)."""
    lag = np.arange(float(size))
    double = 2.0 * hurst
    return toeplitz(0.5 * ((lag + 1) ** double - 2 * lag**double + np.abs(lag - 1) ** double))


def variance_moments(hurst: float) -> tuple[np.ndarray, np.ndarray]:
    """Mean (scale,) and covariance (scale, scale) of the variances of block means."""
    mean, covariance = np.empty(SCALES), np.empty((SCALES, SCALES))
    rows = noise_covariance(hurst, FINEST)
    for first in range(SCALES):
        both = rows
        for second in range(first, SCALES):
            centred = both - both.mean(0) - both.mean(1)[:, np.newaxis] + both.mean()
            if second == first:
                mean[first] = np.mean(np.diag(centred))
            covariance[first, second] = covariance[second, first] = 2.0 * np.mean(centred**2)
            both = halved(both.T).T
        rows = halved(halved(rows).T)
    return mean, covariance


def slope_moments(hurst: float) -> tuple[float, float]:
    """Mean and standard deviation of the slope, to second order in the log variances."""
    mean, covariance = variance_moments(hurst)
    relative = covariance / np.outer(mean, mean)
    weights = multipliers()
    expected = weights @ (np.log(mean) - 0.5 * np.diag(relative))
    return float(expected), float(np.sqrt(weights @ relative @ weights))


@cache
def slopes() -> Slopes:
    """The moments at every HURST: takes about a second, once."""
    mean, spread = np.array([slope_moments(hurst) for hurst in HURST]).T
    return Slopes(mean, spread)


def block_variances(series: np.ndarray) -> np.ndarray:
    """Variances of block means, finest scale first; (scale,)."""
    length = series.size // FINEST
    means = series[: length * FINEST].reshape(FINEST, length).mean(1)
    found = np.empty(SCALES)
    for scale in range(SCALES):
        found[scale] = means.var()
        means = halved(means)
    return found


def variance_time(counts: ArrayLike) -> Estimate:
    """The Hurst exponent of a series of counts by the aggregated variance.

    Args:
        counts: packets in each bin, at least SHORTEST; (bin,).

    Returns:
        The estimate; its interval ends within 0.02 and 0.99.

    >>> independent = np.random.default_rng(2).poisson(4.0, 4096)
    >>> value, low, high = variance_time(independent)
    >>> low < 0.5 < high
    True
    """
    variances = block_variances(checked("variance_time", counts, SHORTEST))
    require_above_zero("variance_time", "variance of block means", variances)
    mean, spread = slopes()
    away = mean - multipliers() @ np.log(variances)
    value = np.interp(0.0, away, HURST)
    low, high = np.interp([-QUANTILE, QUANTILE], away / spread, HURST)
    return Estimate(float(value), float(low), float(high))
