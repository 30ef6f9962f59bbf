"""Every estimator of the Hurst exponent against series whose exponent is known."""

from __future__ import annotations

import inspect
from functools import cache

import numpy as np
import pytest

from tests.burstiness.series import consistent, covering, fractional_noise, on_off_source
from vegasfluid.burstiness import METHODS, Estimate, hurst
from vegasfluid.burstiness.line import slope_weights
from vegasfluid.burstiness.local_whittle import local_whittle
from vegasfluid.burstiness.rescaled_range import (
    anis_lloyd,
    block_means,
    rescaled_range,
    window_lengths,
)
from vegasfluid.burstiness.variance_time import (
    FINEST,
    block_variances,
    multipliers,
    slope_moments,
    slopes,
    variance_time,
)
from vegasfluid.burstiness.wavelet import details, wavelet
from vegasfluid.errors import InvalidInput

BINS = 2**13
SERIES = 120
BIAS = 0.006
"""The largest bias that the modules state (1000 series), rounded up."""


@cache
def noises(exponent: float) -> list[np.ndarray]:
    rng = np.random.default_rng(int(1000 * exponent))
    return [fractional_noise(exponent, BINS, rng) for _ in range(SERIES)]


def estimates(method: str, series: list[np.ndarray]) -> np.ndarray:
    """(series, [value, low, high])."""
    return np.array([hurst(counts, method) for counts in series])


def away(values: np.ndarray, truth: float) -> float:
    """How far the mean lies beyond three of its standard errors from the truth."""
    return abs(values.mean() - truth) - 3.0 * values.std(ddof=1) / values.size**0.5


def test_noise_has_the_covariance_that_it_is_made_from():
    rng = np.random.default_rng(5)
    many = np.array([fractional_noise(0.8, 64, rng) for _ in range(4000)])
    found = [np.mean(many[:, 0] * many[:, lag]) for lag in (0, 1, 2, 40)]
    lag = np.array([0.0, 1.0, 2.0, 40.0])
    exact = 0.5 * ((lag + 1) ** 1.6 - 2 * lag**1.6 + np.abs(lag - 1) ** 1.6)
    np.testing.assert_allclose(found, exact, atol=4 * 2**0.5 / 4000**0.5)


@pytest.mark.parametrize("exponent", [0.5, 0.7, 0.9])
@pytest.mark.parametrize("method", METHODS)
def test_fractional_noise_has_its_exponent_within_the_interval(method, exponent):
    found = estimates(method, noises(exponent))
    assert away(found[:, 0], exponent) < BIAS
    assert consistent(covering(found, exponent), SERIES), covering(found, exponent)
    assert np.all((found[:, 1] <= found[:, 0]) & (found[:, 0] <= found[:, 2]))


@pytest.mark.parametrize("method", METHODS)
def test_intervals_of_short_series_near_the_end_of_the_range(method):
    rng = np.random.default_rng(19)
    found = estimates(method, [fractional_noise(0.9, 2**11, rng) for _ in range(SERIES)])
    assert consistent(covering(found, 0.9), SERIES), covering(found, 0.9)


@pytest.mark.parametrize("method", METHODS)
def test_independent_poisson_counts_have_exponent_one_half(method):
    rng = np.random.default_rng(17)
    found = estimates(method, [rng.poisson(3.0, BINS) for _ in range(SERIES)])
    assert away(found[:, 0], 0.5) < BIAS
    assert consistent(covering(found, 0.5), SERIES), covering(found, 0.5)


@cache
def superpositions() -> list[np.ndarray]:
    """Pareto on/off sources of shape 1.4, their periods far shorter than a bin."""
    rng = np.random.default_rng(23)

    def superposition() -> np.ndarray:
        return np.sum([on_off_source(1.4, 0.02, BINS, rng) for _ in range(20)], axis=0)

    return [superposition() for _ in range(8)]


@pytest.mark.parametrize("method", METHODS)
def test_pareto_on_off_sources(method):
    """Taqqu, Willinger and Sherman: (3 - 1.4)/2 = 0.8, from above as periods become shorter.

    The exact spectrum, Re((1 - p)/(1 + p))/w^2 with the characteristic function p of a period, has
    local exponents of 0.93, 0.85 and 0.81 at 0.1, 0.01 and 0.001 rad a shortest period, and the
    frequencies used lie between 0.00002 and 0.006: 0.80 to 0.84.
    """
    found = estimates(method, superpositions())[:, 0]
    error = found.std(ddof=1) / found.size**0.5
    assert 0.8 - 3 * error < found.mean() < 0.84 + 3 * error
    assert error < 0.025


@pytest.mark.parametrize("method", METHODS)
def test_scale_and_level_of_the_counts_do_not_matter(method):
    series = noises(0.7)[0]
    np.testing.assert_allclose(hurst(1e3 * series + 1e4, method), hurst(series, method), rtol=1e-4)


@pytest.mark.parametrize("method", METHODS)
def test_longer_series_have_narrower_intervals_or_longer_blocks(method):
    rng = np.random.default_rng(2)
    widths = [
        found.high - found.low
        for found in (hurst(rng.poisson(5.0, size), method) for size in (2**12, 2**16))
    ]
    assert widths[1] < (1.3 if method == "variance_time" else 0.6) * widths[0]


def test_methods_by_name():
    series = noises(0.5)[0]
    assert hurst(series) == local_whittle(series)
    for name, method in METHODS.items():
        assert hurst(series, name) == method(series)
        assert isinstance(hurst(series, name), Estimate)
    with pytest.raises(InvalidInput, match="one of rescaled_range, variance_time, wavelet, local"):
        hurst(series, "whittle")


@pytest.mark.parametrize("method", METHODS)
def test_invalid_series_are_rejected(method):
    series = np.arange(float(BINS)) % 7
    invalid = series.copy()
    invalid[5] = np.nan
    with pytest.raises(InvalidInput, match="finite, but is nan"):
        hurst(invalid, method)
    with pytest.raises(InvalidInput, match="counts must be of at least two different values"):
        hurst(np.full(BINS, 3), method)
    with pytest.raises(InvalidInput, match="number of counts must be"):
        hurst(series[:100], method)
    with pytest.raises(InvalidInput, match="one dimension"):
        hurst(series.reshape(2, -1), method)


def test_a_series_without_variance_on_some_scale_is_rejected():
    idle = np.concatenate([np.zeros(512), noises(0.5)[0]])
    with pytest.raises(
        InvalidInput, match="the standard deviation in each 32 bins must be above 0"
    ):
        rescaled_range(idle)
    with pytest.raises(InvalidInput, match="variance of block means must be above 0"):
        variance_time(np.arange(BINS) % 2)


@pytest.mark.parametrize("bandwidth", [3, BINS // 2])
def test_a_bandwidth_beyond_the_frequencies_is_rejected(bandwidth):
    with pytest.raises(InvalidInput, match="bandwidth must be 4 to 4095"):
        local_whittle(noises(0.5)[0], bandwidth)


def test_scales_that_the_series_does_not_have_are_rejected():
    series = noises(0.5)[0]
    with pytest.raises(InvalidInput, match="finest must be at least 1"):
        wavelet(series, finest=0)
    with pytest.raises(InvalidInput, match="enough for 3 octaves from octave 9"):
        wavelet(series, finest=9)
    with pytest.raises(InvalidInput, match="shortest must be at least 4"):
        rescaled_range(series, shortest=2)
    with pytest.raises(InvalidInput, match="at least 16384"):
        rescaled_range(series, shortest=256)


def test_more_frequencies_give_the_narrower_interval_of_theory():
    """At bandwidth m the standard error tends to 1/(2 sqrt(m))."""
    for bandwidth in (500, 4000):
        found = local_whittle(noises(0.5)[0], bandwidth)
        error = (found.high - found.low) / (2 * 1.959964)
        assert error == pytest.approx(0.5 / bandwidth**0.5, rel=0.04)
        assert error > 0.5 / bandwidth**0.5


def test_wavelet_coefficients_are_orthonormal_and_blind_to_a_parabola():
    noise = np.random.default_rng(3).standard_normal(2**16)
    time = np.linspace(-1.0, 1.0, noise.size)
    for plain, bent in zip(details(noise), details(noise + 5.0 * time**2), strict=True):
        np.testing.assert_allclose(bent, plain, atol=1e-8)
        assert np.mean(plain**2) == pytest.approx(1.0, abs=4 * (2 / plain.size) ** 0.5)


def test_anis_and_lloyd_is_exact_for_independent_gaussian_counts():
    counts = np.random.default_rng(9).standard_normal(20000 * 16)
    windows = np.array([16])
    found = block_means(counts, windows)[0]
    assert found.mean() == pytest.approx(anis_lloyd(16), abs=4 * found.std() / 20000**0.5)


@pytest.mark.parametrize("exponent", [0.5, 0.7, 0.9])
def test_moments_of_the_slope_are_those_of_fractional_noise(exponent):
    rng = np.random.default_rng(29)
    many = [fractional_noise(exponent, FINEST, rng) for _ in range(2000)]
    seen = [multipliers() @ np.log(block_variances(series)) for series in many]
    mean, spread = slope_moments(exponent)
    assert np.mean(seen) == pytest.approx(mean, abs=3 * spread / 2000**0.5 + 0.001)
    assert np.std(seen) == pytest.approx(spread, rel=0.08)


def test_log_energies_of_few_wavelet_coefficients_are_freed_of_their_bias():
    """Three octaves of 60, 28 and 12 coefficients: without the correction 0.02 too low."""
    rng = np.random.default_rng(37)
    found = [wavelet(rng.standard_normal(2**10)).value for _ in range(2000)]
    assert np.mean(found) == pytest.approx(0.5, abs=3 * np.std(found) / 2000**0.5)


def test_there_is_one_exponent_for_each_slope():
    """The distance from any slope seen rises with H, so that the interval is one piece."""
    for seen in np.linspace(-1.5, 0.1, 30):
        assert np.all(np.diff((slopes().mean - seen) / slopes().deviation) > 0.0)


@pytest.mark.parametrize(
    ("exponent", "line", "range_"), [(0.5, -0.01, 0.0), (0.7, -0.02, -0.04), (0.9, -0.07, -0.105)]
)
def test_what_the_plain_methods_would_give(exponent, line, range_):
    """The biases that the modules state of the plain variance-time line and of Anis and Lloyd."""
    windows = window_lengths(BINS, 32)
    slope = slope_weights(np.log(windows), 1.0 / windows)
    independent = np.log([anis_lloyd(int(window)) for window in windows])
    plain = [1.0 + multipliers() @ np.log(block_variances(x)) / 2.0 for x in noises(exponent)]
    ranges = [
        0.5 + slope @ (np.log(block_means(x, windows).mean(1)) - independent)
        for x in noises(exponent)
    ]
    assert np.mean(plain) - exponent == pytest.approx(line, abs=0.015)
    assert np.mean(ranges) - exponent == pytest.approx(range_, abs=0.01)


def test_every_estimator_needs_nothing_but_counts():
    for method in METHODS.values():
        counts, *others = inspect.signature(method).parameters.values()
        assert counts.name == "counts"
        assert all(other.default is not other.empty for other in others)
