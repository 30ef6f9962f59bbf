"""Intervals and verdicts, by hand, by tables and by SciPy's test of Welch."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from vegasfluid.crosscheck.comparison import compare, worst


def test_interval_is_student_s_t_of_the_difference():
    """Variances 1 and 0 of three runs each: sqrt(1/3) times t of 2 degrees of freedom, 4.3027."""
    compared = compare([9, 10, 11], [10.5, 10.5, 10.5])
    assert (compared.packets, compared.reference) == (10, 10.5)
    assert compared.high == pytest.approx(10 + 4.3027 / math.sqrt(3), rel=1e-4)
    assert compared.low == pytest.approx(10 - 4.3027 / math.sqrt(3), rel=1e-4)
    assert compared.verdict == "inside"


def test_interval_is_welch_s():
    rng = np.random.default_rng(5)
    ours, theirs = rng.normal(100, 20, 6), rng.normal(105, 30, 4)
    found = stats.ttest_ind(theirs, ours, equal_var=False).confidence_interval(0.95)
    half = (found.high - found.low) / 2
    compared = compare(list(ours), list(theirs))
    assert (compared.low, compared.high) == pytest.approx((ours.mean() - half, ours.mean() + half))


@pytest.mark.parametrize(
    ("reference", "verdict"), [(8.99, "outside"), (9.01, "inside"), (10.99, "inside")]
)
def test_ten_percent_is_inside_where_nothing_is_random(reference, verdict):
    compared = compare([10, 10, 10], [reference] * 3)
    assert (compared.low, compared.high) == pytest.approx((9, 11))
    assert compared.verdict == verdict


def test_wide_intervals_decide_nothing_but_can_still_be_left():
    """Variance 4 of three runs: 4.3027 * 2 / sqrt(3) is 50 % of the mean."""
    assert compare([8, 10, 12], [14, 14, 14]).verdict == "undecided"
    assert compare([8, 10, 12], [15, 15, 15]).verdict == "outside"


def test_a_single_run_decides_nothing():
    assert compare([10], [10, 10]).verdict == "undecided"


def test_small_differences_of_queues_and_drops_do_not_count():
    assert compare([0.2, 0.2], [1.1, 1.1]).verdict == "outside"
    assert compare([0.2, 0.2], [1.1, 1.1], smallest=1.0).verdict == "inside"
    assert compare([0.2, 0.2], [1.3, 1.3], smallest=1.0).verdict == "outside"
    assert compare([0.0, 0.0], [0.0, 0.0], smallest=1e-3).verdict == "inside"
    assert compare([0.2, 0.2], [1.1, 1.1], smallest=1.0).low == 0


def test_starved_classes_are_inside_only_where_both_starve():
    assert compare([math.inf, math.inf], [math.inf, math.inf]).verdict == "inside"
    assert compare([math.inf, math.inf], [4.0, 4.0]).verdict == "outside"
    assert compare([math.nan, 1.0], [math.nan, 1.0]).verdict == "outside"


def test_the_worst_verdict_counts():
    assert worst([]) == "inside"
    assert worst(["inside", "undecided", "inside"]) == "undecided"
    assert worst(["undecided", "outside", "inside"]) == "outside"
