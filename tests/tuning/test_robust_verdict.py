"""Whether a compromise over ranges reaches the goal, and which of its networks is the worst."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest

from tests.tuning.ranges import COUNTS, NETWORK
from vegasfluid.tuning.measurement import Measurement
from vegasfluid.tuning.result import Robustness, ScenarioResult
from vegasfluid.tuning.robust_verdict import robust_failure
from vegasfluid.tuning.scenarios import Scenario

FAR_ABOVE = (0.75, 0.4, math.log(1.5))
"""Highest and lowest ratio, and the largest |log(ratio / target)| of the two, with target 1/2."""
FAR_BELOW = (0.6, 0.25, math.log(2.0))
"""The same where the lowest ratio is farther from the target."""


def made_robustness(recommended: Sequence[float], nominal: Sequence[float]) -> Robustness:
    """Robustness with a target of 1/2, and these highest and lowest ratios in two packet runs.

    Args:
        recommended: ratios with the recommended parameters.
        nominal: ratios with those of the nominal network.
    """

    def with_ratio(ratio: float) -> ScenarioResult:
        """Two packet runs of a scenario, each with this goodput ratio."""
        scenario = Scenario("inside", {}, {"reno.count": 100 * ratio}, NETWORK)
        return ScenarioResult(scenario, ratio, Measurement(({"ratio": ratio},) * 2))

    unused: Any = None
    return Robustness(
        target_ratio=0.5,
        ranges=COUNTS,
        scenarios=(),
        highest=with_ratio(recommended[0]),
        lowest=with_ratio(recommended[1]),
        nominal=unused,
        nominal_optimum=unused,
        nominal_highest=with_ratio(nominal[0]),
        nominal_lowest=with_ratio(nominal[1]),
        regret=0.0,
        nominal_regret=0.0,
        fluid_regret=0.0,
    )


@pytest.mark.parametrize(
    ("recommended", "nominal"), [(FAR_ABOVE, FAR_BELOW), (FAR_BELOW, FAR_ABOVE)]
)
def test_the_worst_scenario_is_the_farther_one_of_highest_and_lowest(recommended, nominal):
    """With the recommended parameters and with those of the nominal network."""
    robust = made_robustness(recommended, nominal)
    assert robust.worst == pytest.approx(recommended[2])
    assert robust.nominal_worst == pytest.approx(nominal[2])


@pytest.mark.parametrize(
    ("highest", "lowest", "reason"),
    [
        (0.62, 0.41, ""),  # 1.24 and 0.82 times the goal
        (0.46, 0.41, ""),  # the highest is within 10 %
        (0.45, 0.41, "in none of the networks is the ratio within 10 % of the goal: the ratio is"),
        (0.62, 0.56, "in none of the networks is the ratio within 10 % of the goal: the ratio is"),
        (0.63, 0.55, "no single alpha is fair to numbers of flows this far apart: the ratio is 0."),
        (
            0.55,
            0.39,
            "no alpha at all is fair at reno.count 39: the ratio is 0.39",
        ),
    ],
)
def test_the_goal_is_reached_if_all_networks_are_near_it_and_some_are_nearer(
    highest, lowest, reason
):
    """The goal is 1/2; no alpha is fair in the network with the lowest ratio of the last case."""
    robust = made_robustness((highest, lowest), (highest, lowest))
    unfair = [robust.lowest.scenario] if "no alpha" in reason else []
    found = robust_failure(robust, unfair, lambda: ["reno.count"])
    assert found.startswith(reason)
    assert bool(found) == bool(reason)
