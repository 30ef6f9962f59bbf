"""Scenarios: a handful of networks that stand for ranges of a network's numbers.

The nominal network; the corners of the box of ranges, as the worst case of a ratio that each number
moves one way is at a corner; and some points inside, spread evenly by the ranges' distributions, to
show a worst case that is no corner.

Corners double with every range. Beyond five ranges a part of them is taken in which every two
ranges occur in all four combinations equally often, with each corner's opposite.

Sources:
    Corners: the two-level orthogonal arrays of R. L. Plackett and J. P. Burman, "The design of
    optimum multifactorial experiments", Biometrika 33(4), 1946 (title read), by SciPy's Hadamard
    matrices. Inside: Sobol's sequence by `scipy.stats.qmc`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Literal

import numpy as np
from jaxtyping import Float
from scipy.linalg import hadamard

from vegasfluid.errors import InvalidInput
from vegasfluid.network import Network
from vegasfluid.ranges import Range

__all__ = ["Scenario", "Substitution", "make_scenarios", "range_words", "separating_ranges"]

ALL_CORNERS = 5
"""Largest number of ranges with which every corner of the box is a scenario."""
ROWS = 16
"""Corners in the smaller orthogonal array (a Hadamard matrix); their opposites are added."""
MAX_RANGES = 31
"""Largest number of ranges: the larger orthogonal array has as many columns."""
INSIDE = 4
"""Number of scenarios inside the box: the points of a Sobol sequence after the first four, which
include a corner and the middle."""
SEPARATING = 0.5
"""A range separates two scenarios if its effect is this fraction of the largest one."""
WORDS = {
    "base_rtt_ms": "RTTs",
    "access_delay_ms": "RTTs",
    "delay_ms": "RTTs",
    "count": "numbers of flows",
    "capacity_mbps": "capacities",
    "access_mbps": "access rates",
    "buffer_packets": "buffers",
}
"""Plural words for the numbers of each key."""

Kind = Literal["nominal", "corner", "inside"]
"""Where a scenario is in the box of ranges."""
Substitution = Callable[[Mapping[str, float]], Network]
"""Returns the network with other numbers, given by name in the units of the names."""


@dataclass(frozen=True)
class Scenario:
    """One network that the uncertain one may turn out to be.

    Args:
        kind: the nominal network, a corner of the box of ranges, or a point inside.
        quantiles: of each uncertain number in its range, 0 to 1.
        numbers: the uncertain numbers by name, in the units of the names.
        network: with these numbers.
    """

    kind: Kind
    quantiles: Mapping[str, float]
    numbers: Mapping[str, float]
    network: Network

    @property
    def text(self) -> str:
        """The uncertain numbers in words, such as `reno.base_rtt_ms 40, vegas.count 5`."""
        return ", ".join(f"{name} {value:.4g}" for name, value in self.numbers.items())


def make_scenarios(
    network: Network, ranges: Mapping[str, Range], substitute: Substitution
) -> tuple[Scenario, ...]:
    """Networks that stand for ranges of a network's numbers.

    Args:
        network: the nominal one, in which each number is the median of its range.
        ranges: ranges by names such as `reno.base_rtt_ms`, in the units of the names.
        substitute: returns the network with other values of these numbers.

    Returns:
        The nominal network, corners of the box of ranges, and four points inside, in that order.

    Raises:
        InvalidInput: for no range, more than 31, or numbers with which the network is invalid.
    """
    if not 1 <= len(ranges) <= MAX_RANGES:
        allowed = f"from 1 to {MAX_RANGES}"
        raise InvalidInput("recommend", "the number of ranges", allowed, len(ranges))
    from scipy.stats import qmc  # most of a second, that most recommendations do without

    inside = qmc.Sobol(len(ranges), scramble=False).fast_forward(INSIDE).random(INSIDE)
    names = list(ranges)
    middle = dict.fromkeys(names, 0.5)
    nominal = {name: _number(name, given, 0.5) for name, given in ranges.items()}
    scenarios = [Scenario("nominal", middle, nominal, network)]
    for point in [*corners(len(ranges)), *inside]:
        kind: Kind = "corner" if set(point.tolist()) <= {0.0, 1.0} else "inside"
        quantiles = dict(zip(names, point.tolist(), strict=True))
        numbers = {name: _number(name, given, quantiles[name]) for name, given in ranges.items()}
        scenarios.append(Scenario(kind, quantiles, numbers, substitute(numbers)))
    return tuple(scenarios)


def _number(name: str, given: Range, quantile: float) -> float:
    """Value of range `given` at a quantile, in the unit of `name`; whole for numbers of flows."""
    number = given.at(quantile)
    return float(round(number)) if name.endswith(".count") else number


def corners(ranges: int) -> Float[np.ndarray, "corners ranges"]:
    """Corners of a box of `ranges` dimensions; 0 is the low end of a range, 1 the high one.

    All corners up to five dimensions, otherwise an orthogonal array and its opposite.

    >>> len(corners(3)), len(corners(9))
    (8, 32)
    """
    if ranges <= ALL_CORNERS:
        return np.array(list(product((0.0, 1.0), repeat=ranges)))
    rows = ROWS if ranges < ROWS else 2 * ROWS
    columns = sorted(range(1, rows), key=lambda number: number.bit_count() > 1)  # basis first
    signs = hadamard(rows)[:, columns[:ranges]]
    return (1.0 + np.concatenate([signs, -signs])) / 2


def separating_ranges(
    scenarios: tuple[Scenario, ...],
    distances: Float[np.ndarray, " scenarios"],
    highest: Scenario,
    lowest: Scenario,
) -> list[str]:
    """Names of the uncertain numbers that explain most of the difference of two ratios.

    The effect of a number is its slope in a plane that is fitted to log(ratio) of all scenarios by
    least squares, times its difference between the two scenarios.

    Args:
        scenarios: all scenarios.
        distances: log(ratio / target) of each scenario.
        highest: the scenario with the larger ratio.
        lowest: the one with the smaller ratio.

    Returns:
        Numbers with at least half of the largest effect, that one first; all that differ, if
        according to `distances` none of them explains the difference.
    """
    names = list(highest.quantiles)
    quantiles = np.array([[one.quantiles[name] for name in names] for one in scenarios])
    columns = np.column_stack([np.ones(len(quantiles)), quantiles])
    effects = np.linalg.lstsq(columns, distances)[0][1:]
    apart = {
        name: effect * (highest.quantiles[name] - lowest.quantiles[name])
        for name, effect in zip(names, effects.tolist(), strict=True)
    }
    largest = max(apart.values())
    if largest <= 0:  # packets differ as the fluid model does not: any number may be the reason
        return [name for name in names if highest.quantiles[name] != lowest.quantiles[name]]
    separating = [name for name in names if apart[name] >= SEPARATING * largest]
    return sorted(separating, key=lambda name: -apart[name])


def range_words(names: list[str]) -> str:
    """Plural words for uncertain numbers, such as `RTTs and capacities`.

    >>> range_words(["reno.base_rtt_ms", "vegas.base_rtt_ms", "bottleneck.capacity_mbps"])
    'RTTs and capacities'
    """
    words = dict.fromkeys(WORDS[name.rpartition(".")[2]] for name in names)
    return " and ".join(words)
