"""The alpha whose measured goodput ratio has the target in its confidence interval.

With the same seeds at every alpha (common random numbers) the measured ratio is a nearly smooth,
rising function of alpha: it is bracketed, and Brent's method (SciPy) ends at the first alpha whose
confidence interval contains the target and is centred near it. A setting that a few runs show to be
far from the target gets no further runs, unless it is the best one in the end. If the interval of
the confirmed setting is too wide, the search is repeated from there with twice as many runs
(retrospective approximation, H. Chen and B. Schmeiser, "Stochastic root finding via retrospective
approximation", IIE Transactions 33(3), 2001; title page read).

Where alpha must be whole and the target lies between two, **beta is the fine adjustment**: windows
that stay anywhere from alpha to beta are larger where beta is larger. A narrower dead band at the
upper alpha comes first, as it is fairer among Vegas flows; then a wider one at the lower alpha.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from scipy.optimize import brentq

from vegasfluid.tuning.measurement import RatioStatistics
from vegasfluid.tuning.scalar_root import PLATEAU_TOLERANCE, bracket_root

__all__ = ["CENTRED", "NEAR_ENOUGH", "SCREENING_RUNS", "AlphaSetting", "StochasticRoot"]
__all__ += ["find_stochastic_root", "retrospective_approximation"]

OVERREACH = 1.5
"""Length of a step on packets over that of a Newton step with the slope, to pass the root."""
RESOLUTION = 0.005
"""Relative accuracy of alpha on packets, where it may be any real number."""
CENTRED = 0.03
"""Largest |log(ratio / target)| of a confirmed setting, however wide the confidence interval."""
NEAR_ENOUGH = math.log(1.1)
"""Logarithm of the largest factor between ratio and target with which the nearest setting counts
as reaching it, where no confidence interval contains the target."""
SCREENING_RUNS = 4
"""Runs after which a setting may be known to be far from the target; chosen."""
DEAD_BAND_COST = 0.01
"""A packet of dead band is changed only if log(ratio) comes nearer to the target by this."""
WIDER = 4
"""Largest excess of a dead band over the usual one, packets."""
PRECISION = 0.05
"""Runs are added until half of the confidence interval is at most this, in log(ratio)."""


class AlphaSetting(NamedTuple):
    """Alpha and dead band of a Vegas class.

    Args:
        alpha: packets.
        dead_band: beta - alpha, packets.
    """

    alpha: float
    dead_band: float

    @property
    def text(self) -> str:
        """Alpha and beta (packets) in words, such as `alpha 10, beta 12`."""
        return f"alpha {self.alpha:.5g}, beta {self.alpha + self.dead_band:.5g}"


Sampler = Callable[[AlphaSetting], RatioStatistics]
"""Function that measures goodput ratios, one for each run, at a setting."""
NOT_MEASURED = AlphaSetting(math.nan, math.nan)
"""The best setting before the first measurement."""


@dataclass
class StochasticRoot:
    """The measurements of a stochastic root search, and its result.

    Args:
        target: the goodput ratio to reach.
        samples: measured goodput ratios of each run, by setting.
        best: the setting with the least distance from the target, plus a small cost for each packet
            by which its dead band differs from the usual one.
        reached: whether a setting is confirmed (its confidence interval contains the target, and
            its ratio is within 3 % of it), or the best one is within a factor of 1.1 of the target.
        reason: why no setting is confirmed; empty if one is.
    """

    target: float
    samples: dict[AlphaSetting, RatioStatistics] = field(default_factory=dict)
    best: AlphaSetting = NOT_MEASURED
    reached: bool = False
    reason: str = ""

    def distance(self, setting: AlphaSetting) -> float:
        """log(measured ratio / target) of a setting, from the geometric mean over runs."""
        return math.log(self.samples[setting].ratio / self.target)

    @property
    def certainly_missed(self) -> bool:
        """Whether no setting's 95 % confidence interval contains the target ratio."""
        return not any(sample.contains(self.target) for sample in self.samples.values())

    def on_side(self, above: bool) -> list[AlphaSetting]:
        """Measured settings with ratios above (or not above) the target, the nearest first."""
        settings = [one for one in self.samples if (self.distance(one) > 0) == above]
        return sorted(settings, key=lambda setting: abs(self.distance(setting)))


class _StochasticRootFinder:
    """Measures settings, once each, until one confirms the target ratio.

    Args:
        sample_at: returns measured goodput ratios, one for each run, at a setting.
        settable_alpha: returns the nearest alpha that the dialect can represent, packets.
        dead_band: the usual beta - alpha, packets.
        target: the ratio to reach.
        screen: as `sample_at`, with its first few runs only; None: all runs at every setting.
    """

    def __init__(
        self,
        sample_at: Sampler,
        settable_alpha: Callable[[float], float],
        dead_band: float,
        target: float,
        screen: Sampler | None = None,
    ) -> None:
        self._sample_at, self._settable_alpha = sample_at, settable_alpha
        self._dead_band = dead_band
        self._screen = screen
        self._screened = set[AlphaSetting]()
        self.root = StochasticRoot(target)

    def distance_at(self, log_alpha: float) -> float:
        """log(ratio / target) at the settable alpha next to exp(log_alpha), usual dead band."""
        return self.measure(
            AlphaSetting(self._settable_alpha(math.exp(log_alpha)), self._dead_band)
        )

    def measure(self, setting: AlphaSetting) -> float:
        """log(ratio / target) at a setting; 0, without a measurement, once one is confirmed."""
        root = self.root
        if not root.reached and setting not in root.samples:
            root.samples[setting] = self._sample(setting)
            root.best = self.nearest()
            centred = abs(root.distance(setting)) < CENTRED
            if centred and root.samples[setting].contains(root.target):
                root.best, root.reached = setting, True
        return 0.0 if root.reached else root.distance(setting)

    def _sample(self, setting: AlphaSetting) -> RatioStatistics:
        """Goodput ratios at a setting: a few runs if they show it to be far, else all."""
        if self._screen is not None:
            sample = self._screen(setting)
            if abs(math.log(sample.ratio / self.root.target)) - sample.half_width > NEAR_ENOUGH:
                self._screened.add(setting)
                return sample
        return self._sample_at(setting)

    def settle_best(self, choose: Callable[[], AlphaSetting]) -> None:
        """Choose the best setting and measure it with all runs, until the choice has them all."""
        root = self.root
        root.best = choose()
        while root.best in self._screened:
            self._screened.remove(root.best)
            root.samples[root.best] = self._sample_at(root.best)
            root.best = choose()

    def nearest(self) -> AlphaSetting:
        """The setting nearest to the target, with a small cost of changed dead bands."""
        return min(self.root.samples, key=self._cost)

    def _cost(self, setting: AlphaSetting) -> float:
        """|log(ratio / target)| of a setting, plus 0.01 for each packet of changed dead band."""
        change = abs(setting.dead_band - self._dead_band)
        return abs(self.root.distance(setting)) + DEAD_BAND_COST * change

    def _search_dead_bands(self, alpha: float, bands: range, downwards: bool) -> None:
        """Bisect the dead bands `bands` (packets) at an alpha (packets) for the target ratio.

        The ratio grows with the dead band. Nothing but the widest band (`downwards`: the narrowest)
        is measured if it does not bring the ratio to the other side of the target.
        """
        narrow, wide = bands[0], bands[-1]
        last = narrow if downwards else wide
        if (self.measure(AlphaSetting(alpha, float(last))) > 0) == downwards:
            return
        while narrow <= wide and not self.root.reached:
            middle = (narrow + wide) // 2
            if self.measure(AlphaSetting(alpha, float(middle))) > 0:
                wide = middle - 1
            else:
                narrow = middle + 1

    def adjust_dead_band(self) -> None:
        """Measure other dead bands where no whole alpha gives the target ratio.

        Narrower ones at the alpha above the target, then wider ones at the alpha below it.
        """
        root, usual = self.root, int(self._dead_band)
        above = min((setting.alpha for setting in root.on_side(above=True)), default=None)
        below = max((setting.alpha for setting in root.on_side(above=False)), default=None)
        if above is not None and not root.reached:
            self._search_dead_bands(above, range(usual), downwards=True)
        if below is not None and not root.reached and abs(root.distance(root.best)) > CENTRED:
            self._search_dead_bands(below, range(usual + 1, usual + WIDER + 1), downwards=False)


def find_stochastic_root(
    sample_at: Sampler,
    settable_alpha: Callable[[float], float],
    *,
    target: float,
    start: float,
    slope: float,
    bounds: tuple[float, float],
    dead_band: float,
    whole: bool,
    screen: Sampler | None = None,
) -> StochasticRoot:
    """Find the setting whose measured ratio has the target in its confidence interval.

    Its ratio must also be within 3 % of the target. Without such a setting, the nearest one counts
    as reaching the target if its ratio is within a factor of 1.1.

    Args:
        sample_at: returns measured goodput ratios, one for each run, at a setting.
        settable_alpha: returns the nearest alpha that the dialect can represent, packets.
        target: the ratio to reach.
        start: first alpha, packets.
        slope: d log(ratio) / d log(alpha) there, as a first guess.
        bounds: the smallest and the largest alpha to try, packets.
        dead_band: the usual beta - alpha, packets.
        whole: whether alpha must be whole, so that beta has to help.
        screen: as `sample_at`, with its first few runs only. A setting has no further runs if the
            95 % confidence interval of these lies outside a factor of 1.1 of the target, unless it
            is the best one in the end. None: all runs at every setting.

    Returns:
        All measurements, the best setting, and whether it reached the target.
    """
    finder = _StochasticRootFinder(sample_at, settable_alpha, dead_band, target, screen)
    low, high = math.log(bounds[0]), math.log(bounds[1])
    log_start = min(max(math.log(start), low), high)
    first, second = bracket_root(finder.distance_at, log_start, slope, (low, high), OVERREACH)
    if first != second:
        brentq(finder.distance_at, first, second, xtol=RESOLUTION / 2)
    if whole:
        finder.adjust_dead_band()
    finder.settle_best(finder.nearest)
    root = finder.root
    if root.reached:
        return root
    straddled = root.on_side(above=True) and root.on_side(above=False)
    return _between_settings(root) if straddled else _out_of_reach(finder)


def _out_of_reach(finder: _StochasticRootFinder) -> StochasticRoot:
    """Complete the result where all measured ratios are on one side of the target.

    Sets the best setting, `reached` (within a factor of 1.1) and the reason; returns the root.
    """
    root = finder.root
    if root.distance(root.best) < 0:  # a plateau: of equally good settings, the smallest queue
        finder.settle_best(partial(_start_of_plateau, finder))
    ratio, above = root.samples[root.best].ratio, root.distance(root.best) > 0
    side, end = ("smallest", min) if above else ("largest", max)
    root.reached = abs(root.distance(root.best)) < NEAR_ENOUGH
    root.reason = (
        f"even with the {side} setting ({end(root.samples).text}) the ratio is "
        f"{ratio:.3g}, {'above' if above else 'below'} {root.target:g}"
    )
    return root


def _start_of_plateau(finder: _StochasticRootFinder) -> AlphaSetting:
    """The smallest setting whose ratio is hardly below that of the one nearest to the target."""
    root = finder.root
    least = root.distance(finder.nearest()) - PLATEAU_TOLERANCE
    return min(one for one in root.samples if root.distance(one) >= least)


def _between_settings(root: StochasticRoot) -> StochasticRoot:
    """Complete the result where the target lies between the ratios of two settings.

    Sets `reached` (within a factor of 1.1) and the reason; returns `root`.
    """
    below, above = root.on_side(above=False)[0], root.on_side(above=True)[0]
    root.reached = abs(root.distance(root.best)) < NEAR_ENOUGH
    root.reason = (
        f"the goal lies between {below.text} (ratio {root.samples[below].ratio:.3g}) "
        f"and {above.text} (ratio {root.samples[above].ratio:.3g}), "
        f"and no setting that was tried has a ratio between these two"
    )
    return root


def retrospective_approximation(
    find: Callable[[float], StochasticRoot], start: float, add_runs: Callable[[], bool]
) -> StochasticRoot:
    """Repeat a stochastic root search with ever more runs, until its interval is narrow.

    It ends where half of the best setting's confidence interval is at most 0.05 in log(ratio), no
    setting's interval contains the target, or no more runs may be added.

    Args:
        find: the search from an alpha in packets, with the present runs.
        start: first alpha, packets.
        add_runs: doubles the runs; returns False where these would be too many.

    Returns:
        The last search: measurements, best setting, and whether it reached the target.
    """
    while True:
        root = find(start)
        precise = root.samples[root.best].half_width <= PRECISION
        if precise or root.certainly_missed or not add_runs():
            return root
        start = root.best.alpha
