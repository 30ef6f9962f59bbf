"""The gradient search on the fluid model."""

from __future__ import annotations

import math

import numpy as np
import pytest

from vegasfluid import Flows, Link, Network, Red, Reno, Vegas, metrics, simulate_fluid
from vegasfluid.tuning import fluid_search
from vegasfluid.tuning.fluid_search import (
    Objective,
    Point,
    approach,
    descend,
    knee,
    make_task,
    search,
)
from vegasfluid.tuning.thresholds import with_alpha

UNTIL, WARMUP = 60.0, 15.0


def network(dialect: str) -> Network:
    link = Link(10e6 / 12000, 100, Red(min_thresh=20, max_thresh=80))
    vegas = Vegas(dialect=dialect)
    return Network(
        link, {"reno": Flows(4, Reno(), base_rtt=0.02), "vegas": Flows(4, vegas, base_rtt=0.02)}
    )


def ratio_at(of: Network, alpha: float) -> float:
    law = with_alpha(of.flows["vegas"].law, alpha)
    return metrics.ratio(simulate_fluid(of.with_law("vegas", law), UNTIL, warmup=WARMUP), "vegas")


@pytest.fixture(scope="module")
def objective() -> Objective:
    return Objective(*make_task(network("ns2"), "vegas", UNTIL, WARMUP), goal=1.0)


@pytest.mark.parametrize("alpha", [1.2, 2.0, 3.5])
def test_derivative_is_that_of_central_differences(objective, alpha):
    x, width = math.log(alpha), 1e-5
    difference = objective.at(x + width).distance - objective.at(x - width).distance
    assert objective.at(x).slope == pytest.approx(difference / (2 * width), rel=1e-4)
    assert objective.at(x).slope > 0.1


def test_jacobian_is_that_of_central_differences(objective):
    objective.start, width = math.log(2.0), 1e-5
    above, below = (objective.residuals(np.array([0.1 + x])) for x in (width, -width))
    jacobian = objective.jacobian(np.array([0.1]))[:, 0]
    np.testing.assert_allclose(jacobian, (above - below) / (2 * width), rtol=1e-4)


@pytest.mark.parametrize("alpha", [1.0, 4.0])
def test_objective_is_the_ratio_of_a_simulation(objective, alpha):
    """A run of its own with other sample times, measured by `metrics`."""
    expected = math.log(ratio_at(network("ns2"), alpha))
    assert objective.at(math.log(alpha)).distance == pytest.approx(expected, abs=2e-3)


@pytest.mark.parametrize("goal", [0.5, 1.0])
def test_search_finds_the_crossing(goal):
    """Below the ratio is too small, above too large: bisected here on the simulator itself."""
    found = search(network("ns2"), "vegas", goal=goal, until=UNTIL, warmup=WARMUP)
    assert found.reached
    assert found.ratio == pytest.approx(goal, rel=1e-3)
    assert found.evaluations < 30
    low, high = math.floor(found.alpha), math.ceil(found.alpha)
    assert ratio_at(network("ns2"), low) < goal < ratio_at(network("ns2"), high)


def test_on_a_plateau_the_smallest_alpha_is_taken():
    """Textbook Vegas halves: it gets at most what Reno gets, and from saturation on just that."""
    saturated = network("brakmo")
    plateau = ratio_at(saturated, 50.0)
    assert ratio_at(saturated, 100.0) == pytest.approx(plateau, abs=1e-3)
    found = search(saturated, "vegas", goal=2.0, until=UNTIL, warmup=WARMUP)
    assert not found.reached
    assert found.ratio == pytest.approx(plateau, rel=0.03)
    assert found.alpha < 12
    assert ratio_at(saturated, found.alpha / 1.5) < 0.97 * plateau


class Made(Objective):
    """An objective over a made-up distance."""

    def __init__(self, distance) -> None:
        self._distance, self.start, self.asked, self._known = distance, 0.0, [], {}

    def evaluate(self, log_alpha: float) -> Point:
        self.asked.append(log_alpha)
        width = 1e-6
        slope = (self._distance(log_alpha + width) - self._distance(log_alpha - width)) / 2 / width
        return Point(self._distance(log_alpha), slope)


def test_approach_stops_at_the_goal():
    objective = Made(lambda x: x - 2.0)
    start, end = approach(objective, 0.0, 6.0)
    assert start < 2.0 <= end
    assert end - start == pytest.approx(6.0 / (fluid_search.WALK - 1))
    assert objective.asked == sorted(objective.asked)
    descend(objective, start, end)
    assert objective.nearest == pytest.approx(2.0, abs=1e-4)


def test_approach_along_a_plateau_keeps_the_last_slope():
    """The distance rises to -1 at 3 and stays: the search runs from before 3, and ends near it."""
    objective = Made(lambda x: min(x - 4.0, -1.0))
    start, end = approach(objective, 0.0, 6.0)
    assert 2.0 <= start <= 3.0
    assert end == 6.0
    descend(objective, start, end)
    best = objective.nearest
    assert objective.at(best).distance == -1.0
    found = knee(objective, 0.0, best)
    assert objective.at(found).distance >= -1.0 - fluid_search.KNEE
    assert found <= 3.0 + fluid_search.FINE_STEP


def test_nearest_is_the_smallest_of_those_as_near():
    objective = Made(lambda x: min(x - 4.0, -1.0))
    for x in (5.0, 3.5, 1.0, 4.0):
        objective.at(x)
    assert objective.nearest == 3.5


def test_a_jump_does_not_trap_the_search():
    """A dip inside the range: the walk's own points are still answers."""
    objective = Made(lambda x: x - 2.0 - (3.0 if 1.4 < x < 1.6 else 0.0))
    start, end = approach(objective, 0.0, 6.0)
    descend(objective, start, end)
    assert abs(objective.at(objective.nearest).distance) < 0.51


def test_goal_below_the_smallest_alpha():
    """Nothing is below: the smallest alpha is the answer, and it is not said to be the goal's."""
    found = search(network("ns2"), "vegas", goal=0.01, until=UNTIL, warmup=WARMUP)
    assert not found.reached
    assert found.alpha == pytest.approx(1.0)
    assert found.ratio > 0.1
