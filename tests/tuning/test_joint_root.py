"""A ratio for each of several classes, on functions whose answers are known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import brentq

from vegasfluid.tuning.joint_root import MAX_EVALUATIONS, solve_ratios

BOUNDS = [(math.log(0.01), math.log(100))] * 2
STARTS = [0.1, 1.0, 5.0]


def shares(x: np.ndarray, top: float) -> np.ndarray:
    """What two classes get of a third's: the second has a largest, and each helps the other."""
    own = np.minimum(np.exp(x), [math.inf, top])
    return own**0.8 * (1 + 0.3 * own[::-1])


@pytest.mark.parametrize("start", STARTS)
def test_each_class_has_its_ratio(start):
    """Both are the root of a^0.8 (1 + 0.3 a) = 1.5."""
    root = brentq(lambda a: a**0.8 * (1 + 0.3 * a) - 1.5, 1.0, 2.0)
    result = solve_ratios(lambda x: np.log(shares(x, 9.0) / 1.5), [np.log([start, start])], BOUNDS)
    assert result.converged
    np.testing.assert_allclose(np.exp(result.x), root, rtol=0.003)
    assert result.evaluations <= 5


@pytest.mark.parametrize("start", STARTS)
def test_a_class_on_its_plateau_keeps_the_other_not_from_coming_near(start):
    result = solve_ratios(lambda x: np.log(shares(x, 0.5) / 1.5), [np.log([start, start])], BOUNDS)
    assert not result.converged
    assert abs(result.distances[0]) < 0.25
    assert result.evaluations <= MAX_EVALUATIONS


def test_it_ends_where_a_step_changes_nothing():
    """The first ratio is its alpha, the second a half whatever its alpha: two steps are enough."""
    result = solve_ratios(
        lambda x: np.log(np.array([math.exp(x[0]), 0.5])), [np.log([2.0, 2.0])], BOUNDS
    )
    assert result.x[0] == pytest.approx(0.0, abs=1e-9)
    assert result.evaluations == 3


def test_the_next_beginning_is_tried_only_where_the_first_led_to_nothing():
    seen = []

    def distances_at(x):
        seen.append(x)
        return np.array([1.0, 1.0]) if x[0] < 0 else x - 1.0

    starts = [np.array([-2.0, -2.0]), np.array([0.5, 0.5])]
    result = solve_ratios(distances_at, starts, [(-3.0, 3.0)] * 2)
    assert result.converged
    np.testing.assert_allclose(result.x, 1.0, atol=0.003)
    assert result.evaluations == len(seen)
    assert solve_ratios(lambda x: x - 1.0, starts, [(-3.0, 3.0)] * 2).evaluations < len(seen)
