"""Correct alpha on the packet simulator, until its confidence interval holds the goal.

The fluid's alpha is close, but it is the packets that count. With the same seeds at every alpha
the measured ratio is a nearly smooth, rising function of alpha, so a bracketing root finder
(SciPy's, Brent's method) on its logarithm needs a handful of measurements. It stops at the first
alpha whose interval holds the goal (and is centred near it), or when no whole alpha lies between
two that straddle it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from scipy.optimize import brentq

from vegasfluid.tuning.measurement import Measurement

__all__ = ["Correction", "correct"]

OVERREACH = 1.5
"""A step towards the goal is made longer by this, so that it brackets the goal."""
SMALLEST_STEP = 0.03
LARGEST_STEP = 1.5
"""Bounds of a step in log(alpha)."""
LENGTHEN = 2.0
"""A step that did not reach the goal is followed by one at least so much longer."""
MOST_STEPS = 12
"""The last of them goes to the end of the range."""
FLAT = 0.05
"""The smallest slope d log(ratio) / d log(alpha) that is believed."""
RESOLUTION = 0.005
"""Relative accuracy of alpha where it may be any real number."""


CLOSE = 0.03
"""However wide the interval, its middle must be this near to the goal, in log(ratio)."""

NEAR_ENOUGH = 0.05
"""Where the goal falls between two alphas, the nearer is there within this, in log(ratio)."""


class Found(Exception):
    """Raised inside the root finder to leave it at the first alpha that will do."""


@dataclass
class Correction:
    """The measurements made, by alpha, and how the search ended.

    Args:
        goal: the ratio to reach.
        measurements: by alpha.
        best: the alpha nearest to the goal so far.
        reached: whether the goal was reached.
        reason: if not, why.
    """

    goal: float
    measurements: dict[float, Measurement] = field(default_factory=dict)
    best: float = math.nan
    reached: bool = False
    reason: str = ""

    def distance(self, alpha: float) -> float:
        """log(ratio / goal) as measured at an alpha."""
        return math.log(self.measurements[alpha].ratio / self.goal)


class Search:
    """Measures where asked, and knows what was measured."""

    def __init__(
        self,
        measure_at: Callable[[float], Measurement],
        settle: Callable[[float], float],
        goal: float,
    ) -> None:
        self._measure_at, self._settle = measure_at, settle
        self.result = Correction(goal)

    def at(self, log_alpha: float) -> float:
        """log(ratio / goal) near an alpha; leaves the search where that is good enough."""
        result, alpha = self.result, self._settle(math.exp(log_alpha))
        if alpha not in result.measurements:
            result.measurements[alpha] = self._measure_at(alpha)
            result.best = min(result.measurements, key=lambda a: abs(result.distance(a)))
            near = abs(result.distance(alpha)) < CLOSE
            if near and result.measurements[alpha].holds(result.goal):
                result.best, result.reached = alpha, True
                raise Found
        return result.distance(alpha)


def bracket(
    search: Search, start: float, slope: float, low: float, high: float
) -> tuple[float, float]:
    """Walk from `start` towards the goal until it lies between two points, all in log(alpha).

    Returns:
        The last two points; they are equal where an end was reached without passing the goal.
    """
    here, distance, step = start, search.at(start), SMALLEST_STEP
    for left in range(MOST_STEPS, 0, -1):
        length = OVERREACH * abs(distance) / max(slope, FLAT)
        step = min(max(length, step), LARGEST_STEP) if left > 1 else math.inf
        there = min(max(here - math.copysign(step, distance), low), high)
        if there == here:
            break
        new = search.at(there)
        if (new > 0) != (distance > 0):
            return here, there
        here, distance, step = there, new, LENGTHEN * step
    return here, here


def correct(
    measure_at: Callable[[float], Measurement],
    settle: Callable[[float], float],
    *,
    goal: float,
    start: float,
    slope: float,
    limits: tuple[float, float],
) -> Correction:
    """Find the alpha whose measured ratio has the goal in its confidence interval.

    Args:
        measure_at: measures the network at an alpha.
        settle: the nearest alpha that the dialect can hold.
        goal: the ratio to reach.
        start: the fluid's alpha, packets.
        slope: d log(ratio) / d log(alpha) there, as a first guess.
        limits: the smallest and the largest alpha to try, packets.

    Returns:
        All measurements, the best alpha, and whether it reached the goal.
    """
    search = Search(measure_at, settle, goal)
    low, high = math.log(limits[0]), math.log(limits[1])
    begin = min(max(math.log(start), low), high)
    try:
        first, second = bracket(search, begin, slope, low, high)
        if first == second:
            return _out_of_reach(search.result, limits)
        brentq(search.at, first, second, xtol=RESOLUTION / 2)
    except Found:
        return search.result
    return _straddled(search.result)


def _out_of_reach(result: Correction, limits: tuple[float, float]) -> Correction:
    """The goal was not passed between the limits."""
    above = result.distance(result.best) > 0
    side = "smallest" if above else "largest"
    alpha, ratio = limits[0 if above else 1], result.measurements[result.best].ratio
    result.reason = (
        f"even with the {side} alpha ({alpha:.4g} packets) the ratio is {ratio:.3g}, "
        f"{'above' if above else 'below'} {result.goal:g}"
    )
    return result


def _straddled(result: Correction) -> Correction:
    """No interval holds the goal, but two alphas with nothing between them lie on either side."""
    below = max(alpha for alpha in result.measurements if result.distance(alpha) < 0)
    above = min(alpha for alpha in result.measurements if result.distance(alpha) > 0)
    result.reached = abs(result.distance(result.best)) < NEAR_ENOUGH
    result.reason = (
        f"the goal lies between alpha {below:.5g} (ratio {result.measurements[below].ratio:.3g}) "
        f"and {above:.5g} (ratio {result.measurements[above].ratio:.3g}), "
        f"and no other lies between them"
    )
    return result
