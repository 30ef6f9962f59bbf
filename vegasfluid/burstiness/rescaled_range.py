"""The Hurst exponent by Hurst's rescaled range.

In windows of w bins, the range of the sums of deviations from the window's mean, over the
window's standard deviation, grows as w^H for long windows. In finite windows it does not: with
the correction of Anis and Lloyd, which is exact for independent Gaussian counts, fractional
Gaussian noise of 2^13 bins comes out 0.04 too low at H = 0.7 and 0.105 too low at H = 0.9.
Two things make most of that bias, and both have a closed form, which the fit uses:

* the variance in a window is taken about the window's own mean: w^(2H - 2) of it is missing;
* the range of sums at whole bins misses the peaks between them: a part (2/pi) zeta(1/2) w^-H of
  it, which at H = 1/2 is what the correction of Anis and Lloyd holds.

The slope seen, over windows of `shortest` bins doubled up to a 16th of the series, is compared
with that of each H. The interval is a jackknife: the series in at least 16 blocks, each left out
in turn; the statistic is rescaled in each window, so that blocks are nearly independent even
where counts are not. Measured on 1000 series of fractional Gaussian noise of 2^13 bins:
bias 0.000, +0.004 and +0.002 at H = 0.5, 0.7 and 0.9, standard deviation 0.020, 0.024 and 0.031;
the 95 % interval holds H in 96 % of each. What is left of the bias does not fall with the length
of the series (-0.01 at H = 0.3): with 2^15 bins the interval holds H = 0.3, 0.5, 0.7 and 0.9 in
78, 93, 90 and 94 %, so that longer series want a longer `shortest`.

No library: nolds, the best kept that has the method, gives no interval and corrects for
independence only.

Sources:
    H. E. Hurst, "Long-term storage capacity of reservoirs", Transactions of the ASCE 116, 1951.
    A. A. Anis and E. H. Lloyd, "The expected value of the adjusted rescaled Hurst range of
    independent normal summands", Biometrika 63(1), 1976.
    The correction for H other than 1/2: derived for this project, and tested.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln
from scipy.stats import t as student

from vegasfluid.burstiness.estimate import Estimate, checked
from vegasfluid.burstiness.line import slope_weights
from vegasfluid.errors import InvalidInput

__all__ = ["anis_lloyd", "rescaled_range"]

BLOCKS = 16
"""Fewest windows of the longest scale: the blocks of the jackknife."""
SCALES = 3
"""Fewest lengths of windows through which a line is laid."""
MISSED = -1.4603545088095868 * 2.0 / np.pi
"""The part of the range missed between bins, times w^H: (2/pi) zeta(1/2)."""
HURST = np.linspace(0.02, 0.99, 98)
"""Where the expected slope is computed; between them it is interpolated."""


@cache
def anis_lloyd(window: int) -> float:
    """The expected rescaled range of independent Gaussian counts.

    Args:
        window: bins.

    >>> round(anis_lloyd(2), 6)  # both deviations are one standard deviation
    1.0
    """
    step = np.arange(1, window)
    factor = np.exp(gammaln((window - 1) / 2.0) - gammaln(window / 2.0)) / np.sqrt(np.pi)
    return float(factor * np.sum(np.sqrt((window - step) / step)))


def log_expected(windows: np.ndarray, hurst: float) -> np.ndarray:
    """The log of the expected rescaled range, up to a constant; (scale,)."""
    independent = np.log([anis_lloyd(int(window)) for window in windows])
    lengths = windows.astype(float)
    growth = (hurst - 0.5) * np.log(lengths)
    peaks = np.log1p(MISSED * lengths**-hurst) - np.log1p(MISSED * lengths**-0.5)
    deviation = np.log1p(-(lengths ** (2.0 * hurst - 2.0))) - np.log1p(-1.0 / lengths)
    return independent + growth + peaks - 0.5 * deviation


def ratios(series: np.ndarray, window: int) -> np.ndarray:
    """The rescaled range of each window; (window,)."""
    pieces = series.reshape(-1, window)
    deviations = pieces - pieces.mean(1, keepdims=True)
    sums = np.cumsum(deviations, axis=1)
    spread = deviations.std(1)
    if not np.all(spread > 0.0):
        raise InvalidInput("rescaled_range", f"counts of each {window} bins", "different", 0.0)
    return np.ptp(sums, axis=1) / spread


def block_means(series: np.ndarray, windows: np.ndarray) -> np.ndarray:
    """Mean rescaled range of the windows within each block; (scale, block)."""
    blocks = series.size // windows[-1]
    whole = series[: blocks * windows[-1]]
    return np.array([ratios(whole, size).reshape(blocks, -1).mean(1) for size in windows])


def window_lengths(bins: int, shortest: int) -> np.ndarray:
    """Lengths of windows, each twice the one before; (scale,)."""
    if shortest < 4:
        raise InvalidInput("rescaled_range", "shortest", "at least 4", shortest)
    scales = int(np.log2(bins / (BLOCKS * shortest))) + 1
    return shortest * 2 ** np.arange(scales)


def jackknifed(means: np.ndarray, multipliers: np.ndarray) -> tuple[float, float]:
    """The slope, and half its 95 % interval, from the means of each block (scale, block)."""
    blocks = means.shape[1]
    without = (means.sum(1, keepdims=True) - means) / (blocks - 1)
    error = np.sqrt((blocks - 1) * np.var(multipliers @ np.log(without)))
    slope = multipliers @ np.log(means.mean(1))
    return float(slope), float(student.ppf(0.975, blocks - 1) * error)


def rescaled_range(counts: ArrayLike, shortest: int = 32) -> Estimate:
    """The Hurst exponent of a series of counts by the rescaled range.

    Args:
        counts: packets in each bin, at least 64 times `shortest`; (bin,).
        shortest: bins of the shortest window, at least 4.

    Returns:
        The estimate; its interval ends within 0.02 and 0.99.

    >>> independent = np.random.default_rng(2).poisson(4.0, 4096)
    >>> value, low, high = rescaled_range(independent)
    >>> low < 0.5 < high
    True
    """
    series = checked("rescaled_range", counts, BLOCKS * shortest * 2 ** (SCALES - 1))
    windows = window_lengths(series.size, shortest)
    multipliers = slope_weights(np.log(windows), 1.0 / windows)
    expected = np.array([multipliers @ log_expected(windows, hurst) for hurst in HURST])
    slope, half = jackknifed(block_means(series, windows), multipliers)
    value, low, high = np.interp([slope, slope - half, slope + half], expected, HURST)
    return Estimate(float(value), float(low), float(high))
