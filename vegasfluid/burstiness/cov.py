"""The coefficient of variation of counts: standard deviation divided by mean.

The confidence interval is a jackknife over B = 16 blocks, which accounts for correlations within
blocks. For long memory with Hurst exponent H it is corrected by three facts:

* the variance of the mean over all blocks is B^(2H - 2) times that of the mean over one block
  (1/B if blocks are independent);
* the variance among blocks about their common mean is 1 - B^(2H - 2) times that about the true
  mean;
* the variance of a series of n bins about its own mean is 1 - n^(2H - 2) times the true variance,
  which raises the upper end of the interval.

H is estimated by local Whittle, and is at least 1/2.

In tests on 1000 series of 2^13 bins the 95 % interval contains the truth in 95 and 96 % of the
cases for independent Poisson counts of mean 0.2 and 5, and in 96, 99 and 96 % for fractional
Gaussian noise with H = 0.5, 0.7 and 0.9 and a mean of 5 standard deviations. The value itself is
not corrected: with long memory it is too low, by 8 % at H = 0.9. The interval is too wide for
strong short memory that reaches beyond the frequencies of the local Whittle estimator.

No library is used: arch has a stationary block bootstrap, which does not handle long memory either
and needs statsmodels. A block jackknife is a few lines and not random.

Sources:
    J. Beran, "Statistics for long-memory processes", 1994, section 8 (the variance of a mean and
    the bias of a variance under long memory).
    The corrected jackknife: composed for this project, and tested.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import t as student

from vegasfluid.burstiness.estimate import Estimate, as_series
from vegasfluid.burstiness.local_whittle import SHORTEST, local_whittle
from vegasfluid.errors import InvalidInput

__all__ = ["cov"]

BLOCKS = 16
"""Number of blocks of the jackknife; chosen."""
LARGEST_HURST = 0.95
"""Largest H used in the corrections, which grow without bound as H approaches 1; chosen."""


def leave_one_out(series: np.ndarray) -> np.ndarray:
    """Coefficients of variation of a series, each without one of its 16 blocks; (block,).

    Each is the standard deviation divided by the mean. `series` has the count of each bin, (bin,);
    bins after the last whole block are left out.
    """
    length = series.size // BLOCKS
    blocks = series[: length * BLOCKS].reshape(BLOCKS, length)
    size = length * (BLOCKS - 1)
    mean = (blocks.sum() - blocks.sum(1)) / size
    centred = (blocks - series.mean()) ** 2
    square = (centred.sum() - centred.sum(1)) / size
    return np.sqrt(square - (mean - series.mean()) ** 2) / mean


def cov(counts: ArrayLike) -> Estimate:
    """Coefficient of variation of a series of counts: standard deviation divided by mean.

    Args:
        counts: number of packets in each bin; (bin,), at least 128 bins.

    Returns:
        The estimate with its 95 % confidence interval, which accounts for long memory. The interval
        is not symmetric, and its lower end may be negative.

    Raises:
        InvalidInput: if the series is too short, not finite, constant or negative anywhere.

    >>> independent = np.random.default_rng(2).poisson(4.0, 4096)
    >>> value, low, high = cov(independent)
    >>> low < 1 / 4**0.5 < high
    True
    """
    series = as_series("cov", counts, SHORTEST)
    if series.min() < 0.0:
        raise InvalidInput("cov", "counts", "at least 0", float(series.min()))
    value = float(series.std() / series.mean())
    exponent = 2.0 * np.clip(local_whittle(series).value, 0.5, LARGEST_HURST) - 2.0
    of_blocks, of_series = BLOCKS**exponent, series.size**exponent
    variance = (BLOCKS - 1) ** 2 * np.var(leave_one_out(series))
    error = np.sqrt(variance * of_blocks / (1.0 - of_blocks))
    half = float(student.ppf(0.975, BLOCKS - 1) * error)
    return Estimate(value, value - half, float(value / np.sqrt(1.0 - of_series)) + half)
