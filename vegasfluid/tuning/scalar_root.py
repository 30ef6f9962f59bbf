"""The alpha at which the fluid model gives the wanted ratio.

log(ratio / goal) rises with log(alpha), nearly as a straight line, up to saturation, and does not
change above it. The search begins with the alpha and the slope of rest in theory (`beginning`), and
corrects both by runs of the delay equations: a few, each a run as `simulate` makes it. Runs with
their derivative would need fewer still, but take three times as long and a program of their own;
they are worth it where several numbers are tuned (`benchmarks.search` measures both).

Where no alpha reaches the goal, the smallest one of the plateau is taken: the smallest queue.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from scipy.optimize import brentq

from vegasfluid.tuning.bracket import bracket_root
from vegasfluid.tuning.initial_guess import InitialGuess

__all__ = ["FluidOptimum", "search"]

EXACT = 1e-4
"""An alpha is good enough where log(ratio) is this near to the goal's."""
OVERREACH = 1.05
"""A step is made so much longer than the slope says: the goal then lies between the last two."""
RESOLUTION = 1e-4
"""Relative accuracy of alpha."""
KNEE, FINE = 0.01, 0.02
"""On a plateau below the goal, the smallest alpha within this of the best log(ratio) is taken; and
how exactly it is looked for, in log(alpha)."""
SMALLEST = 1e-12
"""Of a ratio: of a class that the model starves, rounding may leave less than nothing."""
REACHED = 0.01
"""How far from the goal the fluid's ratio may end and still count as there."""


class FluidOptimum(NamedTuple):
    """What the fluid model says.

    Args:
        alpha: packets.
        ratio: the fluid's ratio there.
        slope: d log(ratio) / d log(alpha) there.
        reached: whether the ratio is the goal's.
        evaluations: fluid runs.
    """

    alpha: float
    ratio: float
    slope: float
    reached: bool
    evaluations: int


class Exact(Exception):
    """Raised inside the root finder to leave it at the first alpha that will do."""


class Evaluations:
    """log(ratio / goal) as a function of log(alpha), evaluated once a point."""

    def __init__(self, ratio_at: Callable[[float], float], goal: float) -> None:
        self._ratio_at, self._goal = ratio_at, goal
        self.known: dict[float, float] = {}

    def __call__(self, log_alpha: float) -> float:
        """The distance; leaves the search where it is as good as zero."""
        distance = self.at(log_alpha)
        if abs(distance) < EXACT:
            raise Exact
        return distance

    def at(self, log_alpha: float) -> float:
        """The distance."""
        if log_alpha not in self.known:
            ratio = min(max(self._ratio_at(math.exp(log_alpha)), SMALLEST), 1 / SMALLEST)
            self.known[log_alpha] = math.log(ratio / self._goal)
        return self.known[log_alpha]

    @property
    def nearest(self) -> float:
        """The evaluated log(alpha) nearest to the goal; of several as near, the smallest."""
        return min(self.known, key=lambda x: (abs(self.known[x]), x))

    def slope(self, log_alpha: float) -> float:
        """The slope at a point that was evaluated, by the next nearest one; nan if it is alone."""
        others = [x for x in self.known if x != log_alpha]
        if not others:
            return math.nan
        other = min(others, key=lambda x: abs(x - log_alpha))
        return (self.known[other] - self.known[log_alpha]) / (other - log_alpha)


def knee(distances: Evaluations, low: float, best: float) -> float:
    """The first log(alpha) that is nearly as good as `best`, where that lies on a plateau."""
    wanted = distances.at(best) - KNEE
    below = max((x for x, of in distances.known.items() if of < wanted), default=low)
    if distances.at(below) < wanted:
        brentq(lambda x: distances.at(x) - wanted, below, best, xtol=FINE)
    return min(x for x, of in distances.known.items() if of >= wanted)


def search(
    ratio_at: Callable[[float], float],
    *,
    goal: float,
    beginning: InitialGuess,
    limits: tuple[float, float],
) -> FluidOptimum:
    """Find the alpha at which the fluid model gives the wanted ratio.

    Args:
        ratio_at: the fluid's ratio at an alpha.
        goal: goodput of a tuned flow over that of another flow.
        beginning: where to begin.
        limits: the smallest and the largest alpha.

    Returns:
        The best alpha; `reached` says whether the ratio is the goal's.

    >>> found = search(
    ...     lambda alpha: min(alpha / 40, 2),
    ...     goal=1,
    ...     beginning=InitialGuess(70, 0.8),
    ...     limits=(1, 900),
    ... )
    >>> f"{found.alpha:.3f}", found.reached, found.evaluations < 8
    ('40.000', True, True)
    """
    distances = Evaluations(ratio_at, goal)
    low, high = map(math.log, limits)
    start = min(max(math.log(beginning.alpha), low), high)
    try:
        first, second = bracket_root(
            distances, start, beginning.slope, (low, high), OVERREACH, smooth=True
        )
        if first != second:
            brentq(distances, first, second, xtol=RESOLUTION)
    except Exact:
        pass
    best = distances.nearest
    if distances.known[best] < -REACHED and max(distances.known) >= high:
        best = knee(distances, low, best)
    distance, slope = distances.known[best], distances.slope(best)
    return FluidOptimum(
        alpha=math.exp(best),
        ratio=goal * math.exp(distance),
        slope=beginning.slope if math.isnan(slope) else slope,
        reached=abs(distance) < REACHED,
        evaluations=len(distances.known),
    )
