"""The coefficient of variation and its interval, with and without memory."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.signal import lfilter

from tests.burstiness.series import consistent, covering, fractional_noise
from vegasfluid.burstiness import Estimate, cov
from vegasfluid.burstiness.cov import BLOCKS, leave_one_out
from vegasfluid.errors import InvalidInput

BINS = 2**13
SERIES = 200


@pytest.mark.parametrize(("sources", "rate", "width"), [(1, 0.4, 0.5), (20, 0.5, 0.5)])
def test_poisson_sources(sources, rate, width):
    """N sources of rate lambda in bins of tau: 1/sqrt(lambda N tau)."""
    rng = np.random.default_rng(31)
    counts = [rng.poisson(rate * width, (BINS, sources)).sum(1) for _ in range(SERIES)]
    found = np.array([cov(series) for series in counts])
    truth = (rate * sources * width) ** -0.5
    assert found[:, 0].mean() == pytest.approx(truth, rel=0.005)
    assert consistent(covering(found, truth), SERIES), covering(found, truth)


@pytest.mark.parametrize(("exponent", "bias"), [(0.5, 0.0), (0.7, -0.0025), (0.9, -0.083)])
def test_long_memory_makes_the_interval_wide_enough(exponent, bias):
    """At least 95 % contain the true value; the bias is that of the module's docstring."""
    rng = np.random.default_rng(41)
    noise = [fractional_noise(exponent, BINS, rng) for _ in range(SERIES)]
    found = np.array([cov(np.maximum(10.0 + 2.0 * series, 0.0)) for series in noise])
    covered = covering(found, 0.2)
    assert covered > 0.95 * SERIES or consistent(covered, SERIES), covered
    error = found[:, 0].std() / 0.2 / SERIES**0.5
    assert found[:, 0].mean() / 0.2 - 1.0 == pytest.approx(bias, abs=3 * error)


def test_long_memory_of_skewed_counts():
    """exp(noise/2) varies by sqrt(e^(1/4) - 1), and its mean wanders as much as its spread."""
    rng = np.random.default_rng(47)
    noise = [fractional_noise(0.9, 2**11, rng) for _ in range(2 * SERIES)]
    found = np.array([cov(np.exp(series / 2.0)) for series in noise])
    covered = covering(found, np.expm1(0.25) ** 0.5)
    assert consistent(covered, 2 * SERIES), covered


def test_short_memory_is_in_the_interval():
    """Autoregressive counts, time constant of 10 bins: at least 95 % hold the truth."""
    rng = np.random.default_rng(43)
    noise = rng.standard_normal((SERIES, BINS + 200))
    correlated = np.asarray(lfilter([(1 - 0.9**2) ** 0.5], [1.0, -0.9], noise))
    series = 10.0 + 2.0 * correlated[:, 200:]
    found = np.array([cov(np.maximum(counts, 0.0)) for counts in series])
    covered = covering(found, 0.2)
    assert covered > 0.95 * SERIES or consistent(covered, SERIES), covered


def test_value_is_standard_deviation_over_mean():
    counts = np.random.default_rng(1).poisson(3.0, 1000)
    found = cov(counts)
    assert isinstance(found, Estimate)
    assert found.value == pytest.approx(counts.std() / counts.mean())
    assert found == cov(list(counts))
    assert cov(7 * counts) == pytest.approx(found)


def test_each_block_is_left_out_once():
    counts = np.random.default_rng(2).poisson(3.0, BLOCKS * 10).astype(float)
    blocks = counts.reshape(BLOCKS, 10)
    for block, value in enumerate(leave_one_out(counts)):
        others = np.delete(blocks, block, axis=0)
        assert value == pytest.approx(others.std() / others.mean())


def test_invalid_counts_are_rejected():
    counts = np.random.default_rng(3).poisson(3.0, 200).astype(float)
    with pytest.raises(InvalidInput, match="number of counts must be at least 128, but is 127"):
        cov(counts[:127])
    with pytest.raises(InvalidInput, match="counts must be of at least two different values"):
        cov(np.zeros(200))
    with pytest.raises(InvalidInput, match="at least 0, but is -1"):
        cov(counts - counts.min() - 1.0)
    with pytest.raises(InvalidInput, match="finite, but is inf"):
        cov(np.where(counts == counts.max(), np.inf, counts))
    with pytest.raises(InvalidInput, match="one dimension"):
        cov(counts.reshape(2, 100))
