"""Whether a compromise over ranges reaches the goal and, if not, why."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection

from vegasfluid.tuning.result import Robustness
from vegasfluid.tuning.scenarios import Scenario, range_words
from vegasfluid.tuning.stochastic_root import NEAR_ENOUGH

__all__ = ["FAIR", "robust_failure"]

FAIR = math.log(1.25)
"""How far from the target, in log(ratio), the worst scenario may be: 0.8 to 1.25 times as much."""


def robust_failure(
    robustness: Robustness,
    unfair: Collection[Scenario],
    apart: Callable[[], list[str]],
) -> str:
    """Sentence on why the goal is not reached over the ranges; empty if it is.

    It is reached if the worst scenario is within 0.8 to 1.25 times the target, and not all
    scenarios are more than 10 % above it, or below: the best parameters then miss it everywhere.

    Args:
        robustness: goodput ratios over the ranges.
        unfair: scenarios in which no alpha is within 0.8 to 1.25 times the target.
        apart: computes the names of the ranges that separate the lowest and the highest ratio.
    """
    lowest, highest = robustness.lowest, robustness.highest
    ends = f"the ratio is {lowest.text}, and {highest.text}"
    if robustness.worst > FAIR:
        worst = max((lowest, highest), key=lambda result: robustness.distance(result.packets))
        if any(worst.scenario is scenario for scenario in unfair):
            return f"no alpha at all is fair at {worst.scenario.text}: {ends}"
        return f"no single alpha is fair to {range_words(apart())} this far apart: {ends}"
    target = math.log(robustness.target_ratio)
    sides = [math.log(each.packets.ratio) - target for each in (lowest, highest)]
    if min(sides) > NEAR_ENOUGH or max(sides) < -NEAR_ENOUGH:
        return f"in none of the networks is the ratio within 10 % of the goal: {ends}"
    return ""
