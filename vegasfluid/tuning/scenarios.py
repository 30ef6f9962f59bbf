"""What a network may turn out to be: a handful of networks that stand for ranges of its numbers.

The nominal network; the corners of the box of ranges, as the worst case of a ratio that each number
moves one way is at a corner; and some points inside, spread evenly by the ranges' distributions, so
that a worst case that is no corner shows.

Corners double with every range. Beyond five ranges a part of them is taken in which every two
ranges solve_ratios in all four ways equally often, and every corner's opposite is there too.

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

__all__ = ["Scenario", "Substitution", "scenarios_of"]

ALL_CORNERS = 5
"""With so many ranges at most, every corner is taken."""
ROWS = 16
"""Of the smallest array of corners; as many of opposite corners."""
MOST_RANGES = 31
INSIDE = 4
"""Points inside the box: a power of two, after as many of the sequence that has 0 and 1/2."""

Kind = Literal["nominal", "corner", "inside"]
Substitution = Callable[[Mapping[str, float]], Network]
"""The network with numbers put in by name, in the units of the names."""


@dataclass(frozen=True)
class Scenario:
    """One network that the uncertain one may turn out to be.

    Args:
        kind: the nominal network, a corner of the box of ranges, or a point inside.
        shares: for each range, which share of its spread lies below the number.
        numbers: the uncertain numbers by name, in the units of the names.
        network: with these numbers.
    """

    kind: Kind
    shares: Mapping[str, float]
    numbers: Mapping[str, float]
    network: Network

    @property
    def text(self) -> str:
        """The numbers in words."""
        return ", ".join(f"{name} {value:.4g}" for name, value in self.numbers.items())


def scenarios_of(
    network: Network, ranges: Mapping[str, Range], place: Substitution
) -> tuple[Scenario, ...]:
    """The nominal network, corners, and points inside, in that order.

    Args:
        network: the nominal one.
        ranges: by the names of the numbers, in the units of the names.
        place: puts numbers into the network.

    Raises:
        InvalidInput: for no range, more than 31, or numbers that make no sense together.
    """
    if not 1 <= len(ranges) <= MOST_RANGES:
        allowed = f"from 1 to {MOST_RANGES}"
        raise InvalidInput("recommend", "the number of ranges", allowed, len(ranges))
    from scipy.stats import qmc  # most of a second, that most recommendations do without

    inside = qmc.Sobol(len(ranges), scramble=False).fast_forward(INSIDE).random(INSIDE)
    names = list(ranges)
    middle = dict.fromkeys(names, 0.5)
    nominal = {name: _number(name, of, 0.5) for name, of in ranges.items()}
    found = [Scenario("nominal", middle, nominal, network)]
    for point in [*corners(len(ranges)), *inside]:
        kind: Kind = "corner" if set(point.tolist()) <= {0.0, 1.0} else "inside"
        shares = dict(zip(names, point.tolist(), strict=True))
        numbers = {name: _number(name, of, shares[name]) for name, of in ranges.items()}
        found.append(Scenario(kind, shares, numbers, place(numbers)))
    return tuple(found)


def _number(name: str, given: Range, share: float) -> float:
    """The number of a share; numbers of flows are whole."""
    number = given.at(share)
    return float(round(number)) if name.endswith(".count") else number


def corners(ranges: int) -> Float[np.ndarray, "corners ranges"]:
    """Corners of a box, 0 for low and 1 for high: all, or an orthogonal part of them.

    >>> len(corners(3)), len(corners(9))
    (8, 32)
    """
    if ranges <= ALL_CORNERS:
        return np.array(list(product((0.0, 1.0), repeat=ranges)))
    rows = ROWS if ranges < ROWS else 2 * ROWS
    columns = sorted(range(1, rows), key=lambda number: number.bit_count() > 1)  # basis first
    signs = hadamard(rows)[:, columns[:ranges]]
    return (1.0 + np.concatenate([signs, -signs])) / 2
