"""All zeros of a system of equations in a box, and what of the box is left undecided.

A box, or a half of it, in which some function is not zero is left out (`trimming`). Where the
functions change little in what is left, Krawczyk's operator makes it smaller, leaves it out, or
shows that there is exactly one zero in it (`krawczyk`). Otherwise it is halved. Boxes that are
still there when so many have been looked at are told, with their volume; nothing is dropped.

All is computed in balls: what is claimed holds for real numbers.

Sources:
    Derived for this project from the methods in R. E. Moore, R. B. Kearfott and M. J. Cloud,
    Introduction to Interval Analysis, 2009 (not checked against the original).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from heapq import heappop, heappush
from itertools import count
from typing import NamedTuple

from flint import arb, ctx

from vegasfluid.analysis.proofs.contractor import Falling, Trimming, middle_of
from vegasfluid.analysis.proofs.krawczyk import (
    BITS,
    Box,
    Zero,
    apart,
    image_of,
    inside,
    zero_in,
    zero_near,
)

__all__ = ["Exclusion", "exclude"]

SMOOTH = 3.0
"""Krawczyk's operator is tried where functions change by less, in units of their scale."""
LOOK_EVERY = 5
"""After so many of these, Newton's method looks for a zero."""
SHRUNK = 0.5
"""What is left of a box that is not halved."""


class Exclusion(NamedTuple):
    """What is known of the zeros in a box.

    Args:
        zeros: proven, all different.
        boxes: how many boxes were looked at.
        undecided: how many may hold further zeros.
        share: of the volume of the box that these have.
    """

    zeros: tuple[Zero, ...]
    boxes: int
    undecided: int
    share: float

    @property
    def complete(self) -> bool:
        """Whether there is no other zero."""
        return self.undecided == 0


def exclude(
    system: Falling, box: Box, known: Sequence[Zero] = (), budget: int = 20000
) -> Exclusion:
    """All zeros in a box.

    Args:
        system: the functions.
        box: the lowest and the highest value of each variable.
        known: zeros that are proven before (`zero_near`).
        budget: how many boxes are looked at.

    >>> from flint import arb_mat
    >>> class Line:
    ...     scale = [1.0]
    ...     at = highest = lowest = staticmethod(lambda at: [1 - at[0]])
    ...     slopes = staticmethod(lambda at: arb_mat([[-1]]))
    >>> found = exclude(Line(), ((0.0, 5.0),))
    >>> len(found.zeros), found.complete, found.zeros[0].index
    (1, True, 1)
    >>> exclude(Line(), ((2.0, 5.0),)).zeros
    ()
    """
    search = Search(system, box)
    for zero in known:
        search.keep(zero)
    with ctx.workprec(BITS):
        return search.run(budget)


class Search:
    """A search for all zeros in a box.

    Args:
        system: the functions.
        box: where.
    """

    def __init__(self, system: Falling, box: Box) -> None:
        self.system, self.box = system, box
        self.zeros: list[Zero] = []
        self.stuck: list[Box] = []
        self.tried = 0

    def run(self, budget: int) -> Exclusion:
        """Look at boxes until none is left, or at so many; at the largest first."""
        todo, number = [(-volume(self.box), 0, self.box)], count(1)
        looked = 0
        while todo and looked < budget:
            looked += 1
            for part in self.parts(heappop(todo)[2]):
                heappush(todo, (-volume(part), next(number), part))
        left = [box for *_, box in todo] + self.stuck
        share = sum(volume(box) for box in left) / volume(self.box)
        return Exclusion(tuple(self.zeros), looked, len(left), share)

    def parts(self, box: Box) -> list[Box]:
        """What of a box may hold further zeros."""
        if any(inside(box, zero.alone) for zero in self.zeros):
            return []
        for zero in self.zeros:
            if overlap(box, zero.alone):
                return cut_at(box, zero.alone)
        left = Trimming(self.system, self.box, box).left()
        if left is None:
            return []
        if left.change < SMOOTH:
            smaller = self.smaller(left.box)
            if smaller is not None:
                return smaller
        if left.side is None:
            self.stuck.append(left.box)
            return []
        return halves(left.box, left.side, middle_of(left.box[left.side]))

    def smaller(self, box: Box) -> list[Box] | None:
        """What Krawczyk's operator leaves of a box; None where that is not much less."""
        self.tried += 1
        if self.tried % LOOK_EVERY == 1 and self.keep(
            zero_near(self.system, [middle_of(side) for side in box])
        ):
            return [box]
        balls = [arb(low).union(arb(high)) for low, high in box]
        try:
            image = image_of(self.system, balls)
        except ZeroDivisionError:
            return None
        if image is None or not all(side.is_finite() for side in image):
            return None
        if any(not side.overlaps(of) for side, of in zip(balls, image, strict=True)):
            return []
        found = zero_in(self.system, balls)
        if self.keep(found) or self.known(found):
            return []
        both = tuple(common(side, of) for side, of in zip(box, image, strict=True))
        return [both] if volume(both) < SHRUNK * volume(box) else None

    def keep(self, zero: Zero | None) -> bool:
        """Keep a zero if it is another one, in the box, and say so."""
        if zero is None or not inside(zero.at, self.box):
            return False
        new = all(apart(zero.at, other.alone) for other in self.zeros)
        if new:
            self.zeros.append(zero)
        return new

    def known(self, zero: Zero | None) -> bool:
        """Whether a zero is one of those that are kept."""
        return zero is not None and any(inside(zero.at, other.alone) for other in self.zeros)


def volume(box: Box) -> float:
    """Of a box."""
    return math.prod(high - low for low, high in box)


def halves(box: Box, side: int, at: float) -> list[Box]:
    """The parts of a box below and above a value of one variable."""
    low, high = box[side]
    parts = (low, at), (at, high)
    return [(*box[:side], part, *box[side + 1 :]) for part in parts]


def overlap(box: Box, other: Box) -> bool:
    """Whether two boxes have more in common than faces."""
    return all(a < d and c < b for (a, b), (c, d) in zip(box, other, strict=True))


def cut_at(box: Box, other: Box) -> list[Box]:
    """A box cut in two at a face of another that overlaps and does not hold it."""
    for side, ((low, high), faces) in enumerate(zip(box, other, strict=True)):
        for face in faces:
            if low < face < high:
                return halves(box, side, face)
    raise ValueError("no face of the other box is in the box")


def common(side: tuple[float, float], ball: arb) -> tuple[float, float]:
    """What a side has in common with a ball."""
    low, high = float(ball.lower()), float(ball.upper())
    return (
        max(side[0], math.nextafter(low, -math.inf)),
        min(side[1], math.nextafter(high, math.inf)),
    )
