"""Minima within constraints whose places are known: by hand, or from the literature."""

from __future__ import annotations

import numpy as np
import pytest

from vegasfluid.tuning.trust_region import minimise

LIMITS = {"max_evaluations": 100, "ftol": 1e-10, "tolerance": 1e-6}


def rosenbrock(x: np.ndarray) -> tuple[float, np.ndarray]:
    """Rosenbrock's valley (1960), with its minimum 0 at (1, 1)."""
    bend = x[1] - x[0] ** 2
    value = 100 * bend**2 + (1 - x[0]) ** 2
    return float(value), np.array([-400 * bend * x[0] - 2 * (1 - x[0]), 200 * bend])


def test_the_bottom_of_rosenbrocks_valley():
    result = minimise(rosenbrock, None, np.array([-1.2, 1.0]), [(-5.0, 5.0)] * 2, **LIMITS)
    np.testing.assert_allclose(result, [1, 1], atol=1e-4)


def test_a_minimum_on_a_curved_constraint():
    """Hock and Schittkowski's problem 12 (1981): the minimum -30 at (2, 3)."""

    def function(x):
        value = 0.5 * x[0] ** 2 + x[1] ** 2 - x[0] * x[1] - 7 * x[0] - 7 * x[1]
        return value, np.array([x[0] - x[1] - 7, 2 * x[1] - x[0] - 7])

    def inside(x):
        return np.array([25 - 4 * x[0] ** 2 - x[1] ** 2]), np.array([[-8 * x[0], -2 * x[1]]])

    result = minimise(function, inside, np.zeros(2), [(-9.0, 9.0)] * 2, **LIMITS)
    np.testing.assert_allclose(result, [2, 3], atol=1e-4)


def test_a_bound_is_never_left():
    seen = []

    def function(x):
        seen.append(x)
        return float(np.sum((x - 3) ** 2)), 2 * (x - 3)

    result = minimise(function, None, np.array([0.0, 9.0]), [(0.0, 1.0), (2.0, 5.0)], **LIMITS)
    np.testing.assert_allclose(result, [1, 3], atol=1e-5)
    assert all((x >= [0, 2]).all() and (x <= [1, 5]).all() for x in seen)


@pytest.mark.parametrize("start", [-4.0, -2.5, 2.5, 4.0])
def test_bumps_beside_the_way_do_not_end_a_search(start):
    """A parabola with bumps away from its minimum, as means of oscillating networks have them."""

    def function(x):
        far = max(abs(x[0]) - 1, 0.0)
        value = x[0] ** 2 + 0.05 * far * np.sin(40 * x[0])
        side = np.sign(x[0]) * (far > 0)
        slope = 2 * x[0] + 0.05 * (side * np.sin(40 * x[0]) + far * 40 * np.cos(40 * x[0]))
        return float(value), np.array([slope])

    result = minimise(function, None, np.array([start]), [(-5.0, 5.0)], **LIMITS)
    assert abs(result[0]) < 0.02


def test_constraints_that_contradict_each_other_are_violated_least():
    """At least 2 and at most 1, which weighs twice: violations add up to least at 1."""

    def function(x):
        return float(x[0]), np.ones(1)

    def both(x):
        return np.array([x[0] - 2, 2 * (1 - x[0])]), np.array([[1.0], [-2.0]])

    result = minimise(function, both, np.array([4.0]), [(-5.0, 5.0)], **LIMITS)
    assert result[0] == pytest.approx(1.0, abs=1e-6)


def test_no_more_evaluations_than_allowed():
    seen = []

    def function(x):
        seen.append(x)
        return rosenbrock(x)

    given = {**LIMITS, "max_evaluations": 7}
    minimise(function, None, np.array([-1.2, 1.0]), [(-5.0, 5.0)] * 2, **given)
    assert len(seen) == 7


def test_the_initial_point_is_kept_where_nothing_is_better():
    """It satisfies the constraint, and every other point that does is worse."""

    def function(x):
        return float(x[0]), np.ones(1)

    def above(x):
        return x - 1.0, np.eye(1)

    result = minimise(function, above, np.ones(1), [(-5.0, 5.0)], **LIMITS)
    assert result[0] == pytest.approx(1.0, abs=1e-6)
