"""Measures of fairness against known shares, printed numbers, and what they must not depend on."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from vegasfluid.analysis.literature import (
    alpha_fair_utility,
    harm,
    jain_index,
    max_min_ratio,
    unfairness,
)
from vegasfluid.errors import InvalidInput


@pytest.mark.parametrize("alpha", [0.5, 1, 4 / 3, 2, 20])
def test_a_flow_over_two_links_gets_its_alpha_fair_share(alpha: float) -> None:
    """It takes 1 / (1 + 2^(1/a)) of both: a third by proportional fairness, half by max-min."""

    def loss(share: float) -> float:
        return -alpha_fair_utility([share, 1 - share, 1 - share], alpha)

    best = float(minimize_scalar(loss, bounds=(0.01, 0.99), options={"xatol": 1e-10}).x)
    assert best == pytest.approx(1 / (1 + 2 ** (1 / alpha)), rel=1e-5)


def test_alpha_zero_counts_throughput() -> None:
    assert alpha_fair_utility([1.0, 2.0, 4.0], 0) == 7.0


def test_alpha_fair_utility_has_no_gap_at_one() -> None:
    """Up to the constant n / (1 - a), which no share depends on."""
    rates, near = [3.0, 5.0], 1 + 1e-7
    gained = alpha_fair_utility(rates, near) - len(rates) / (1 - near)
    assert gained == pytest.approx(alpha_fair_utility(rates, 1), rel=1e-6)


@pytest.mark.parametrize(("served", "of"), [(1, 10), (3, 4), (20, 100)])
def test_jains_index_of_k_served_among_n(served: int, of: int) -> None:
    """Jain, Chiu and Hawe: k of n users share equally, the others have none: k/n."""
    rates = np.zeros(of)
    rates[:served] = 17.0
    assert jain_index(rates) == pytest.approx(served / of, rel=1e-12)
    assert max_min_ratio(rates) == math.inf


def test_equal_rates_are_fair() -> None:
    rates = np.full(7, 250.0)
    assert (jain_index(rates), max_min_ratio(rates), unfairness(250.0, 250.0)) == (1.0, 1.0, 0.0)
    assert max_min_ratio([0.0, 0.0]) == 1.0


def test_units_cancel() -> None:
    rates = np.array([1.0, 2.0, 5.0])
    for measure in (jain_index, max_min_ratio):
        assert measure(rates) == pytest.approx(measure(8000 * rates), rel=1e-12)
    assert unfairness(8.0, 2.0) == pytest.approx(unfairness(1.0, 4.0), rel=1e-12)


@pytest.mark.parametrize(
    ("solo", "together", "printed"),
    # heistp/ccafct, README, flow completion times in ms and their harm.
    [
        (176.2, 339.3, 0.481),
        (176.2, 1171.3, 0.850),
        (3465.1, 4207.8, 0.177),
        (976.4, 2174.7, 0.551),
    ],
)
def test_harm_of_completion_times(solo: float, together: float, printed: float) -> None:
    assert harm(solo, together, better="less") == pytest.approx(printed, abs=6e-4)


def test_harm_of_rates_is_that_of_the_times_that_go_with_them() -> None:
    """A rate is one over the time of a packet, and harm is the same for both."""
    assert harm(100.0, 20.0) == pytest.approx(harm(1 / 100, 1 / 20, better="less"), rel=1e-12)
    assert (harm(100.0, 0.0), harm(100.0, 100.0)) == (1.0, 0.0)
    assert harm(100.0, 110.0) < 0


def test_refusals() -> None:
    with pytest.raises(InvalidInput, match=r"^alpha_fair_utility: rates must be above 0"):
        alpha_fair_utility([1.0, 0.0], 1)
    with pytest.raises(InvalidInput, match=r"^alpha_fair_utility: alpha must be at least 0"):
        alpha_fair_utility([1.0], -1)
    with pytest.raises(InvalidInput, match=r"^jain_index: rates must be at least 0"):
        jain_index([1.0, -1.0])
    with pytest.raises(InvalidInput, match=r"^max_min_ratio: rates must be a row of numbers"):
        max_min_ratio([])
    with pytest.raises(InvalidInput, match=r"^unfairness: rates must be above 0"):
        unfairness(1.0, 0.0)
    with pytest.raises(InvalidInput, match=r"^harm: better must be more or less, but is 'worse'"):
        harm(1.0, 1.0, better="worse")
    with pytest.raises(InvalidInput, match=r"^harm: solo must be above 0"):
        harm(0.0, 1.0)
    with pytest.raises(InvalidInput, match=r"^harm: together must be above 0"):
        harm(1.0, 0.0, better="less")
    with pytest.raises(InvalidInput, match=r"^harm: together must be at least 0"):
        harm(1.0, -1.0)
