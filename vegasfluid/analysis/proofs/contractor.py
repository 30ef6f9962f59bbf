"""A box, less the halves in which some function of several variables has no zero.

The functions fall, or stay, where any variable rises: in a box they are at most what they are at
the corner of lowest values, and at least what they are at that of highest ones. So two corners
tell whether a box can hold a zero of all, and one corner more tells it of a half.

Sources:
    Derived for this project.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from flint import arb

from vegasfluid.analysis.proofs.krawczyk import Box, Smooth

__all__ = ["Falling", "Left", "Trimming", "middle_of"]

NARROW = 1e-12
"""Sides are not halved that are not wider, relative above 1."""
WIDTH_COUNTS = 0.1
"""Of the change of functions and of its width, by which the side to halve is chosen."""


class Falling(Smooth, Protocol):
    """Functions that fall, or stay, where any variable rises."""

    def highest(self, low: Sequence[arb]) -> list[arb]:
        """The functions at most, in a box with this corner of lowest values."""
        ...

    def lowest(self, high: Sequence[arb]) -> list[arb]:
        """The functions at least, in a box with this corner of highest values."""
        ...


class Left(NamedTuple):
    """What is left of a box.

    Args:
        box: its sides.
        side: the number of that to halve next; None where all are too narrow.
        change: of the function that changes most, in units of its scale.
    """

    box: Box
    side: int | None
    change: float


class Trimming:
    """A box of which halves are left out while that goes.

    Args:
        system: the functions.
        whole: the box of the search, whose sides tell what is wide.
        box: the box.
    """

    def __init__(self, system: Falling, whole: Box, box: Box) -> None:
        self.system, self.whole = system, whole
        self.low, self.high = ([side[end] for side in box] for end in (0, 1))
        self.most, self.least = self.highest(self.low), self.lowest(self.high)

    def highest(self, low: Sequence[float]) -> list[arb]:
        """The functions at most, from a corner."""
        return self.system.highest([arb(at) for at in low])

    def lowest(self, high: Sequence[float]) -> list[arb]:
        """The functions at least, to a corner."""
        return self.system.lowest([arb(at) for at in high])

    def left(self) -> Left | None:
        """What is left; None where nothing is."""
        while True:
            if any(of < 0 for of in self.most) or any(of > 0 for of in self.least):
                return None
            told = [self.half(side) for side in range(len(self.low))]
            if None not in told:
                gains = [of for of in told if of is not None]
                side = gains.index(max(gains)) if max(gains) > 0 else None
                return Left(self.box, side, self.change)

    @property
    def box(self) -> Box:
        """What it is now."""
        return tuple(zip(self.low, self.high, strict=True))

    @property
    def change(self) -> float:
        """Of the function that changes most."""
        rows = zip(self.most, self.least, self.system.scale, strict=True)
        return max(float(most - least) / scale for most, least, scale in rows)

    def half(self, side: int) -> float | None:
        """Leave a half out (None), or tell what halving this side would gain."""
        if self.high[side] - self.low[side] <= NARROW * (1 + abs(self.low[side])):
            return 0.0
        middle = middle_of((self.low[side], self.high[side]))
        raised, lowered = list(self.low), list(self.high)
        raised[side] = lowered[side] = middle
        most, least = self.highest(raised), self.lowest(lowered)
        if any(of < 0 for of in most):
            self.high, self.least = lowered, least
            return None
        if any(of > 0 for of in least):
            self.low, self.most = raised, most
            return None
        gain = sum(map(self.bounded, self.most)) - sum(map(self.bounded, most))
        gain += sum(map(self.bounded, least)) - sum(map(self.bounded, self.least))
        bottom, top = self.whole[side]
        return gain + WIDTH_COUNTS * (self.high[side] - self.low[side]) / (top - bottom)

    def bounded(self, value: arb) -> float:
        """A value of a function, held between -1 and 1, so that signs count most."""
        part = float(value) / max(self.system.scale)
        return part / (1 + abs(part))


def middle_of(side: tuple[float, float]) -> float:
    """Where a side is halved: at 0 if that is in it."""
    low, high = side
    return 0.0 if low < 0 < high else (low + high) / 2
