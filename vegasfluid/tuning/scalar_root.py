"""The alpha at which the fluid model gives a goodput ratio: bracketing, then Brent's method.

log(ratio / target) rises with log(alpha), nearly as a straight line, up to saturation, and does not
change above it. From an initial guess and a slope a few runs of the delay equations lead to the
root, without derivatives: these would save runs, but take three times as long and a program of
their own (`benchmarks.search` measures both). Where no alpha reaches the target, the smallest one
of the plateau is taken: the smallest queue.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from scipy.optimize import brentq

from vegasfluid.tuning.initial_guess import InitialGuess
from vegasfluid.tuning.objectives import SMALLEST_RATIO

__all__ = ["PLATEAU_TOLERANCE", "FluidOptimum", "bracket_root", "find_root", "plateau_onset"]

SMALLEST_STEP = 0.03
"""Smallest step of the bracketing, in log(alpha)."""
LARGEST_STEP = 1.5
"""Largest step of the bracketing, in log(alpha), except for the last step."""
LENGTHEN = 2.0
"""After a step that did not pass the root, the next one is at least this many times as long."""
MAX_STEPS = 12
"""Steps of the bracketing, at most; the last one goes to the end of the range."""
SMALLEST_SLOPE = 0.05
"""Smaller slopes d log(ratio) / d log(alpha) are raised to this where a step is computed."""

TOLERANCE = 1e-4
"""The search on the fluid model ends where |log(ratio / target)| is below this."""
OVERREACH = 1.05
"""Length of a step over that of a Newton step with the slope, so that it passes the root."""
XTOL = 1e-4
"""Tolerance of log(alpha) of Brent's method on the fluid model."""
REACHED = 0.01
"""The fluid model reaches the target where |log(ratio / target)| is below this."""
PLATEAU_TOLERANCE = 0.01
"""Alphas within this of the best, in log(ratio), count as equally good."""
PLATEAU_XTOL = 0.02
"""Accuracy of the onset of a plateau on the fluid model, in log(alpha)."""


def bracket_root(
    distance_at: Callable[[float], float],
    start: float,
    slope: float,
    bounds: tuple[float, float],
    overreach: float,
    smooth: bool = False,
) -> tuple[float, float]:
    """Step along a rising function until its root lies between two points.

    Args:
        distance_at: the function, such as log(ratio / target) of log(alpha).
        start: first point.
        slope: first guess of the function's slope there.
        bounds: smallest and largest point.
        overreach: length of a step divided by that of a Newton step with the slope. A step is at
            most `LARGEST_STEP` (the last of `MAX_STEPS` goes to the bound) and, unless `smooth`, at
            least twice the one before.
        smooth: whether the slope is updated from the last two values, which then have no noise.

    Returns:
        The last two points. They are equal where the first one is a root, or where a bound was
        reached without passing the root.

    >>> bracket_root(lambda x: x - 4.0, 0.0, 2.0, (0.0, 10.0), overreach=1.2)
    (3.0, 4.5)
    >>> bracket_root(lambda x: x - 30.0, 0.0, 1.0, (0.0, 10.0), overreach=1.2)
    (10.0, 10.0)
    """
    low, high = bounds
    point, distance, step = start, distance_at(start), SMALLEST_STEP
    for left in range(MAX_STEPS, 0, -1):
        length = overreach * abs(distance) / max(slope, SMALLEST_SLOPE)
        step = min(max(length, step), LARGEST_STEP) if left > 1 else math.inf
        following = min(max(point - math.copysign(step, distance), low), high)
        if distance == 0 or following == point:
            break
        new = distance_at(following)
        if new == 0 or (new > 0) != (distance > 0):
            return point, following
        if smooth:
            slope, step = (new - distance) / (following - point), SMALLEST_STEP / LENGTHEN
        point, distance, step = following, new, LENGTHEN * step
    return point, point


def plateau_onset(
    excess_at: Callable[[float], float],
    excesses: Mapping[float, float],
    lowest: float,
    best: float,
    xtol: float,
    find: Callable[..., Any] = brentq,
) -> float:
    """Smallest evaluated point from which on a function stays at or above 0, as on a plateau.

    Args:
        excess_at: the function, rising up to the plateau; caches its values.
        excesses: values of the function by point; `excess_at` adds to it.
        lowest: where the search begins if no point below 0 is known.
        best: a point on the plateau.
        xtol: accuracy of the onset.
        find: SciPy's root finder, `brentq` or `bisect`.
    """
    below = max((x for x, excess in excesses.items() if excess < 0 and x < best), default=lowest)
    if excess_at(below) < 0:
        find(excess_at, below, best, xtol=xtol)
    return min(x for x, excess in excesses.items() if excess >= 0 and x >= below)


class FluidOptimum(NamedTuple):
    """The best alpha on the fluid model.

    Args:
        alpha: packets.
        ratio: the fluid's goodput ratio of a tuned flow to another flow there.
        slope: d log(ratio) / d log(alpha) there; NaN if several parameters were tuned together.
        reached: whether the ratio is the target within 1 %.
        evaluations: number of fluid runs.
    """

    alpha: float
    ratio: float
    slope: float
    reached: bool
    evaluations: int


class _LogRatio:
    """log(ratio / target) of the fluid model as a function of log(alpha), cached.

    Args:
        ratio_at: returns the goodput ratio at an alpha in packets.
        target: goodput ratio to reach.
    """

    def __init__(self, ratio_at: Callable[[float], float], target: float) -> None:
        self._ratio_at, self._target = ratio_at, target
        self.known: dict[float, float] = {}

    def __call__(self, log_alpha: float) -> float:
        """log(ratio / target) at log(alpha), alpha in packets; computed once for each point."""
        if log_alpha not in self.known:
            ratio = self._ratio_at(math.exp(log_alpha))
            ratio = min(max(ratio, SMALLEST_RATIO), 1 / SMALLEST_RATIO)
            self.known[log_alpha] = math.log(ratio / self._target)
        return self.known[log_alpha]

    def rounded(self, log_alpha: float) -> float:
        """log(ratio / target) at log(alpha); 0 if within 1e-4 of 0, which ends a root finder."""
        distance = self(log_alpha)
        return 0.0 if abs(distance) < TOLERANCE else distance

    @property
    def nearest(self) -> float:
        """The evaluated log(alpha) with the least |log(ratio / target)|, the smallest if tied."""
        return min(self.known, key=lambda x: (abs(self.known[x]), x))

    def slope(self, log_alpha: float) -> float:
        """Slope d log(ratio) / d log(alpha) from an evaluated point to the nearest other one.

        NaN if there is no other.
        """
        others = [x for x in self.known if x != log_alpha]
        if not others:
            return math.nan
        other = min(others, key=lambda x: abs(x - log_alpha))
        return (self.known[other] - self.known[log_alpha]) / (other - log_alpha)

    def plateau_onset(self, lowest: float, best: float) -> float:
        """Smallest log(alpha) whose log(ratio) is at most 0.01 below that at `best`.

        Args:
            lowest: where the search begins if no point below the plateau is known, log(alpha).
            best: an evaluated log(alpha) on the plateau.
        """
        least = self.known[best] - PLATEAU_TOLERANCE
        excesses = {x: distance - least for x, distance in self.known.items()}

        def excess_at(x: float) -> float:
            """log(ratio) at log(alpha) = x, minus the least that counts as equally good."""
            excesses[x] = self(x) - least
            return excesses[x]

        return plateau_onset(excess_at, excesses, lowest, best, PLATEAU_XTOL)


def find_root(
    ratio_at: Callable[[float], float],
    *,
    target: float,
    guess: InitialGuess,
    bounds: tuple[float, float],
) -> FluidOptimum:
    """Find the alpha at which the fluid model gives a target goodput ratio.

    Args:
        ratio_at: returns the fluid's goodput ratio at an alpha in packets.
        target: goodput of a tuned flow over that of another flow.
        guess: alpha (packets) and slope where the search begins.
        bounds: the smallest and the largest alpha, packets.

    Returns:
        The evaluated alpha (packets) nearest to the target, or the smallest one on a plateau below
        it, and the ratio there; `reached` is whether this is the target within 1 %.

    >>> optimum = find_root(
    ...     lambda alpha: min(alpha / 40, 2), target=1, guess=InitialGuess(70, 0.8), bounds=(1, 900)
    ... )
    >>> f"{optimum.alpha:.3f}", optimum.reached, optimum.evaluations < 8
    ('40.000', True, True)
    """
    log_ratio = _LogRatio(ratio_at, target)
    low, high = map(math.log, bounds)
    start = min(max(math.log(guess.alpha), low), high)
    first, second = bracket_root(
        log_ratio.rounded, start, guess.slope, (low, high), OVERREACH, smooth=True
    )
    if first != second:
        brentq(log_ratio.rounded, first, second, xtol=XTOL)
    best = log_ratio.nearest
    if log_ratio.known[best] < -REACHED and max(log_ratio.known) >= high:
        best = log_ratio.plateau_onset(low, best)
    distance, slope = log_ratio.known[best], log_ratio.slope(best)
    return FluidOptimum(
        alpha=math.exp(best),
        ratio=target * math.exp(distance),
        slope=guess.slope if math.isnan(slope) else slope,
        reached=abs(distance) < REACHED,
        evaluations=len(log_ratio.known),
    )
