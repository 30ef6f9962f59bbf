"""Series whose coefficient of variation and Hurst exponent are known."""

from __future__ import annotations

import numpy as np
from scipy.stats import binom


def fractional_noise(hurst: float, bins: int, rng: np.random.Generator) -> np.ndarray:
    """Fractional Gaussian noise of variance 1, exact (Davies and Harte 1987); (bin,)."""
    lag = np.arange(bins + 1.0)
    double = 2.0 * hurst
    covariance = 0.5 * ((lag + 1) ** double - 2 * lag**double + np.abs(lag - 1) ** double)
    power = np.fft.fft(np.concatenate([covariance, covariance[-2:0:-1]])).real
    assert power.min() > -1e-9, "the circulant is no covariance"
    noise = rng.standard_normal(power.size) + 1j * rng.standard_normal(power.size)
    return np.fft.fft(np.sqrt(np.maximum(power, 0.0) / power.size) * noise).real[:bins]


def on_off_source(shape: float, shortest: float, bins: int, rng: np.random.Generator) -> np.ndarray:
    """The part of each bin that a source is on; (bin,).

    On and off times are Pareto, at least `shortest` bins long. Half of the run is left out before
    the first bin, so that the source is nearly stationary.
    """
    last = 2 * bins
    periods = int(1.25 * last / (shortest * shape / (shape - 1.0)))
    lengths = shortest * (1.0 + rng.pareto(shape, periods))
    is_on = np.arange(periods) % 2 == 0
    ends = np.concatenate([[0.0], np.cumsum(lengths)])
    assert ends[-1] > last, "the source stops too early"
    on = np.concatenate([[0.0], np.cumsum(np.where(is_on, lengths, 0.0))])
    return np.diff(np.interp(np.arange(bins, last + 1.0), ends, on))


def covering(estimates: np.ndarray, truth: float) -> int:
    """How many of (estimate, [value, low, high]) have the truth within their interval."""
    return int(np.sum((estimates[:, 1] <= truth) & (truth <= estimates[:, 2])))


def consistent(covered: int, tries: int, share: float = 0.95) -> bool:
    """Whether a number of covered cases lies within the central 99 % of the binomial."""
    low, high = binom.interval(0.99, tries, share)
    return bool(low <= covered <= high)
