"""Correct alpha on the packet simulator, until its confidence interval holds the goal.

The fluid's alpha is close, but it is the packets that count. With the same seeds at every alpha
the measured ratio is a nearly smooth, rising function of alpha, so a bracketing root finder
(SciPy's, Brent's method) on its logarithm needs a handful of measurements. It stops at the first
alpha whose interval holds the goal (and is centred near it).

Where alpha must be whole and the goal lies between two, **beta is the fine adjustment**: windows
that rest anywhere from alpha to beta hold more where beta is larger. A narrower dead zone at the
upper alpha comes first, as it is fairer among Vegas flows; then a wider one at the lower alpha.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from scipy.optimize import brentq

from vegasfluid.tuning.bracket import bracket_root
from vegasfluid.tuning.measurement import Measurement

__all__ = ["Setting", "StochasticRoot", "correct"]

OVERREACH = 1.5
"""A step towards the goal is made longer by this, so that it brackets the goal."""
RESOLUTION = 0.005
"""Relative accuracy of alpha where it may be any real number."""


CLOSE = 0.03
"""However wide the interval, its middle must be this near to the goal, in log(ratio)."""

NEAR_ENOUGH = math.log(1.1)
"""Where no setting holds the goal, the nearest is there within this, in log(ratio)."""

PLATEAU = 0.01
"""Where larger settings bring no more than this, in log(ratio), the smallest is taken."""

WORTH = 0.01
"""Another dead zone brings the ratio so much nearer for each packet, in log(ratio)."""

WIDER = 4
"""So many packets more than usual a dead zone may have."""


class Found(Exception):
    """Raised inside the root finder to leave it at the first setting that will do."""


class Setting(NamedTuple):
    """What is measured.

    Args:
        alpha: packets.
        zone: beta - alpha, packets.
    """

    alpha: float
    zone: float

    @property
    def text(self) -> str:
        """Alpha and beta in words."""
        return f"alpha {self.alpha:.5g}, beta {self.alpha + self.zone:.5g}"


NOWHERE = Setting(math.nan, math.nan)


@dataclass
class StochasticRoot:
    """The measurements made, by setting, and how the search ended.

    Args:
        goal: the ratio to reach.
        measurements: by setting.
        best: the setting nearest to the goal so far; another dead zone must be worth it.
        reached: whether the goal was reached.
        reason: if not, why.
    """

    goal: float
    measurements: dict[Setting, Measurement] = field(default_factory=dict)
    best: Setting = NOWHERE
    reached: bool = False
    reason: str = ""

    def distance(self, setting: Setting) -> float:
        """log(ratio / goal) as measured at a setting."""
        return math.log(self.measurements[setting].ratio / self.goal)

    @property
    def certain(self) -> bool:
        """Whether it is no setting's goal, as far as their intervals tell."""
        return not any(of.holds(self.goal) for of in self.measurements.values())

    def side(self, above: bool) -> list[Setting]:
        """The settings on one side of the goal, the nearest first."""
        own = [of for of in self.measurements if (self.distance(of) > 0) == above]
        return sorted(own, key=lambda of: abs(self.distance(of)))


class Search:
    """Measures where asked, and knows what was measured."""

    def __init__(
        self,
        measure_at: Callable[[Setting], Measurement],
        settle: Callable[[float], float],
        zone: float,
        goal: float,
    ) -> None:
        self._measure_at, self._settle, self._zone = measure_at, settle, zone
        self.result = StochasticRoot(goal)

    def at(self, log_alpha: float) -> float:
        """log(ratio / goal) near an alpha, with the usual dead zone."""
        return self.look(Setting(self._settle(math.exp(log_alpha)), self._zone))

    def look(self, setting: Setting) -> float:
        """log(ratio / goal) at a setting; leaves the search where that is good enough."""
        result = self.result
        if setting not in result.measurements:
            result.measurements[setting] = self._measure_at(setting)
            result.best = min(result.measurements, key=self.cost)
            near = abs(result.distance(setting)) < CLOSE
            if near and result.measurements[setting].holds(result.goal):
                result.best, result.reached = setting, True
                raise Found
        return result.distance(setting)

    def cost(self, setting: Setting) -> float:
        """How far a setting is from the goal, and from the usual dead zone."""
        return abs(self.result.distance(setting)) + WORTH * abs(setting.zone - self._zone)

    def turn(self, alpha: float, zones: range, down: bool) -> None:
        """Look at dead zones of an alpha: at the one that goes farthest, and between, if beyond."""
        narrow, wide = zones[0], zones[-1]
        end = narrow if down else wide
        if (self.look(Setting(alpha, float(end))) > 0) == down:
            return
        while narrow <= wide:
            zone = (narrow + wide) // 2
            if self.look(Setting(alpha, float(zone))) > 0:
                wide = zone - 1
            else:
                narrow = zone + 1

    def refine(self) -> None:
        """Settle with beta what whole alphas cannot."""
        zone = int(self._zone)
        above = min((of.alpha for of in self.result.side(above=True)), default=None)
        below = max((of.alpha for of in self.result.side(above=False)), default=None)
        if above is not None:
            self.turn(above, range(zone), down=True)
        if below is not None and abs(self.result.distance(self.result.best)) > CLOSE:
            self.turn(below, range(zone + 1, zone + WIDER + 1), down=False)


def correct(
    measure_at: Callable[[Setting], Measurement],
    settle: Callable[[float], float],
    *,
    goal: float,
    start: float,
    slope: float,
    limits: tuple[float, float],
    zone: float,
    whole: bool,
) -> StochasticRoot:
    """Find the setting whose measured ratio has the goal in its confidence interval.

    Args:
        measure_at: measures the network at a setting.
        settle: the nearest alpha that the dialect can hold.
        goal: the ratio to reach.
        start: the fluid's alpha, packets.
        slope: d log(ratio) / d log(alpha) there, as a first guess.
        limits: the smallest and the largest alpha to try, packets.
        zone: the usual beta - alpha, packets.
        whole: whether only whole numbers can be held, so that beta has to help.

    Returns:
        All measurements, the best setting, and whether it reached the goal.
    """
    search = Search(measure_at, settle, zone, goal)
    low, high = math.log(limits[0]), math.log(limits[1])
    begin = min(max(math.log(start), low), high)
    try:
        first, second = bracket_root(search.at, begin, slope, (low, high), OVERREACH)
        if first != second:
            brentq(search.at, first, second, xtol=RESOLUTION / 2)
        if whole:
            search.refine()
    except Found:
        return search.result
    one_sided = not (search.result.side(above=True) and search.result.side(above=False))
    return _out_of_reach(search.result) if one_sided else _straddled(search.result)


def _out_of_reach(result: StochasticRoot) -> StochasticRoot:
    """The goal was not passed between the limits."""
    if result.distance(result.best) < 0:  # a plateau: of the settings as good, the smallest queue
        enough = result.distance(result.best) - PLATEAU
        result.best = min(of for of in result.measurements if result.distance(of) >= enough)
    ratio, above = result.measurements[result.best].ratio, result.distance(result.best) > 0
    side, end = ("smallest", min) if above else ("largest", max)
    result.reached = abs(result.distance(result.best)) < NEAR_ENOUGH
    result.reason = (
        f"even with the {side} setting ({end(result.measurements).text}) the ratio is "
        f"{ratio:.3g}, {'above' if above else 'below'} {result.goal:g}"
    )
    return result


def _straddled(result: StochasticRoot) -> StochasticRoot:
    """No interval holds the goal, but two settings with nothing between them lie on either side."""
    below, above = result.side(above=False)[0], result.side(above=True)[0]
    result.reached = abs(result.distance(result.best)) < NEAR_ENOUGH
    result.reason = (
        f"the goal lies between {below.text} (ratio {result.measurements[below].ratio:.3g}) "
        f"and {above.text} (ratio {result.measurements[above].ratio:.3g}), "
        f"and nothing that was tried lies between them"
    )
    return result
