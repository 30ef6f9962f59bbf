"""Contraction of a box for a system of functions that fall in every variable.

In a box each function is at most its value at the corner of lowest variables, and at least its
value at the corner of highest variables. So two corners show whether a box can contain a zero of
the system, and one more corner decides it for a half of the box.

Sources:
    Derived for this project.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from flint import arb

from vegasfluid.analysis.proofs.krawczyk import Box, Smooth

__all__ = ["Contracted", "Contractor", "Monotone", "split_point"]

SMALLEST_WIDTH = 1e-12
"""Width up to which a side is not bisected, relative to 1 + abs(its lower end): near rounding."""
WIDTH_WEIGHT = 0.1
"""Weight of a side's relative width in the choice of the side to bisect, against the change of the
functions: breaks ties in favour of wide sides."""


class Monotone(Smooth, Protocol):
    """Functions that fall, or stay, where any variable rises."""

    def upper_bound(self, low: Sequence[arb], /) -> list[arb]:
        """Upper bounds of the functions in a box, in their own units; (functions,).

        Args:
            low: the lowest value of each variable in the box, where every function is largest.
        """
        ...

    def lower_bound(self, high: Sequence[arb], /) -> list[arb]:
        """Lower bounds of the functions in a box, in their own units; (functions,).

        Args:
            high: the highest value of each variable in the box, where every function is smallest.
        """
        ...


class Contracted(NamedTuple):
    """A contracted box.

    Args:
        box: the box.
        side: index of the side to bisect next; None where all sides are too narrow.
        variation: largest change of a function over the box, in units of its scale.
    """

    box: Box
    side: int | None
    variation: float


class Contractor:
    """A box from which halves without a zero are removed.

    Args:
        system: the functions.
        domain: the box of the whole search, by whose sides widths are measured.
        box: the box to contract.
    """

    def __init__(self, system: Monotone, domain: Box, box: Box) -> None:
        self.system, self.domain = system, domain
        self.low, self.high = ([side[end] for side in box] for end in (0, 1))
        self.upper, self.lower = self.upper_bound(self.low), self.lower_bound(self.high)

    def upper_bound(self, low: Sequence[float]) -> list[arb]:
        """Upper bounds of the system's functions in a box, in their own units; (functions,).

        Args:
            low: the lowest value of each variable.
        """
        return self.system.upper_bound([arb(value) for value in low])

    def lower_bound(self, high: Sequence[float]) -> list[arb]:
        """Lower bounds of the system's functions in a box, in their own units; (functions,).

        Args:
            high: the highest value of each variable.
        """
        return self.system.lower_bound([arb(value) for value in high])

    def contract(self) -> Contracted | None:
        """Remove halves of the box that contain no zero of the system, until none can be removed.

        Returns:
            The contracted box, the side to bisect next, and how much the functions change over the
            box; None where no part of it can contain a zero.
        """
        while True:
            if any(bound < 0 for bound in self.upper) or any(bound > 0 for bound in self.lower):
                return None
            gains = [self.remove_half(side) for side in range(len(self.low))]
            if None not in gains:
                known = [gain for gain in gains if gain is not None]
                side = known.index(max(known)) if max(known) > 0 else None
                return Contracted(self.box, side, self.variation)

    @property
    def box(self) -> Box:
        """The lowest and highest value of each variable, after the halves removed so far."""
        return tuple(zip(self.low, self.high, strict=True))

    @property
    def variation(self) -> float:
        """The largest gap between a function's bounds in the box, divided by its `scale`."""
        rows = zip(self.upper, self.lower, self.system.scale, strict=True)
        return max(float(upper - lower) / scale for upper, lower, scale in rows)

    def remove_half(self, side: int) -> float | None:
        """Remove one half of the box in a variable, if it is proven to contain no zero.

        Args:
            side: index of the variable.

        Returns:
            None if a half was removed; otherwise how much bisecting this side would tighten the
            bounds of the functions, a pure number, larger for wide sides; 0 for one too narrow to
            bisect.
        """
        if self.high[side] - self.low[side] <= SMALLEST_WIDTH * (1 + abs(self.low[side])):
            return 0.0
        middle = split_point((self.low[side], self.high[side]))
        raised, lowered = list(self.low), list(self.high)
        raised[side] = lowered[side] = middle
        upper, lower = self.upper_bound(raised), self.lower_bound(lowered)
        if any(bound < 0 for bound in upper):
            self.high, self.lower = lowered, lower
            return None
        if any(bound > 0 for bound in lower):
            self.low, self.upper = raised, upper
            return None
        gain = sum(map(self.squashed, self.upper)) - sum(map(self.squashed, upper))
        gain += sum(map(self.squashed, lower)) - sum(map(self.squashed, self.lower))
        bottom, top = self.domain[side]
        return gain + WIDTH_WEIGHT * (self.high[side] - self.low[side]) / (top - bottom)

    def squashed(self, value: arb) -> float:
        """The value v of a function as v / (s + abs(v)), between -1 and 1; s is the largest scale.

        In sums of such values, changes of sign count most.
        """
        relative = float(value) / max(self.system.scale)
        return relative / (1 + abs(relative))


def split_point(side: tuple[float, float]) -> float:
    """The value at which an interval (low, high) is bisected: 0 if inside it, else the midpoint."""
    low, high = side
    return 0.0 if low < 0 < high else (low + high) / 2
