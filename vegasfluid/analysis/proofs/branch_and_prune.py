"""Branch and prune: all zeros of a system of equations in a box, and what remains undecided.

Boxes, or halves of them, in which some function has no zero are removed (`contractor`). Where the
functions change little over the remaining box, Krawczyk's operator contracts it, removes it, or
proves that it contains exactly one zero (`krawczyk`). Otherwise it is bisected. Boxes that are left
when the budget is spent are reported with their volume; none is dropped silently.

All arithmetic is interval arithmetic: what is claimed holds for real numbers.

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

from vegasfluid.analysis.proofs.contractor import Contractor, Monotone, split_point
from vegasfluid.analysis.proofs.krawczyk import (
    PRECISION_BITS,
    Box,
    Zero,
    disjoint,
    inside,
    krawczyk_image,
    zero_in,
    zero_near,
)

__all__ = ["IsolatedZeros", "isolate_zeros"]

MAX_VARIATION = 3.0
"""Krawczyk's operator is tried where the functions change by less, in units of their scale."""
NEWTON_EVERY = 5
"""Newton's method searches for a zero in every fifth box in which Krawczyk's operator is tried."""
MAX_SHRINKAGE = 0.5
"""Krawczyk's contraction is kept if it leaves less than this fraction of a box's volume: otherwise
bisection does as well."""


class IsolatedZeros(NamedTuple):
    """What is known of the zeros in a box.

    Args:
        zeros: the zeros that are proven, all different.
        boxes: number of boxes that were examined.
        undecided: number of boxes that may contain further zeros.
        share: volume of the undecided boxes divided by that of the whole box, 0 to 1.
    """

    zeros: tuple[Zero, ...]
    boxes: int
    undecided: int
    share: float

    @property
    def complete(self) -> bool:
        """Whether no box is undecided: all zeros of the system in the box are then known."""
        return self.undecided == 0


def isolate_zeros(
    system: Monotone, box: Box, known: Sequence[Zero] = (), budget: int = 20000
) -> IsolatedZeros:
    """Isolate all zeros of a system in a box by branch and prune.

    Args:
        system: the functions, each of which falls, or stays, where a variable rises.
        box: the lowest and the highest value of each variable.
        known: zeros that are already proven (`zero_near`).
        budget: largest number of boxes to examine.

    Returns:
        The proven zeros, the known ones in the box among them, the number of boxes examined, and
        how many boxes remain undecided with their share of the volume.

    >>> from flint import arb_mat
    >>> class Line:
    ...     scale = [1.0]
    ...     at = upper_bound = lower_bound = staticmethod(lambda at: [1 - at[0]])
    ...     slopes = staticmethod(lambda at: arb_mat([[-1]]))
    >>> result = isolate_zeros(Line(), ((0.0, 5.0),))
    >>> len(result.zeros), result.complete, result.zeros[0].index
    (1, True, 1)
    >>> isolate_zeros(Line(), ((2.0, 5.0),)).zeros
    ()
    """
    search = BranchAndPrune(system, box)
    for zero in known:
        search.add(zero)
    with ctx.workprec(PRECISION_BITS):
        return search.run(budget)


class BranchAndPrune:
    """A search for all zeros in a box.

    Args:
        system: the functions.
        domain: the box.
    """

    def __init__(self, system: Monotone, domain: Box) -> None:
        self.system, self.domain = system, domain
        self.zeros: list[Zero] = []
        self.too_narrow: list[Box] = []
        self.attempts = 0

    def run(self, budget: int) -> IsolatedZeros:
        """Search the domain for zeros: examine boxes, largest first, within a budget.

        Args:
            budget: largest number of boxes to examine.

        Returns:
            The proven zeros, the number of boxes examined, and how many remain undecided.
        """
        queue, number = [(-volume(self.domain), 0, self.domain)], count(1)
        examined = 0
        while queue and examined < budget:
            examined += 1
            for part in self.prune(heappop(queue)[2]):
                heappush(queue, (-volume(part), next(number), part))
        undecided = [box for *_, box in queue] + self.too_narrow
        share = sum(volume(box) for box in undecided) / volume(self.domain)
        return IsolatedZeros(tuple(self.zeros), examined, len(undecided), share)

    def prune(self, box: Box) -> list[Box]:
        """Examine a box, add the zeros that are proven to be in it, and return its undecided parts.

        Args:
            box: the lowest and the highest value of each variable.

        Returns:
            Boxes that may contain further zeros; empty if none can.
        """
        if any(inside(box, zero.isolating_box) for zero in self.zeros):
            return []
        for zero in self.zeros:
            if overlap(box, zero.isolating_box):
                return split_at_face(box, zero.isolating_box)
        contracted = Contractor(self.system, self.domain, box).contract()
        if contracted is None:
            return []
        if contracted.variation < MAX_VARIATION:
            smaller = self.apply_krawczyk(contracted.box)
            if smaller is not None:
                return smaller
        if contracted.side is None:
            self.too_narrow.append(contracted.box)
            return []
        return split(contracted.box, contracted.side, split_point(contracted.box[contracted.side]))

    def apply_krawczyk(self, box: Box) -> list[Box] | None:
        """Examine a box by Krawczyk's operator, and add a zero that it proves.

        In some boxes it also starts Newton's method at the middle; a zero found so is added.

        Args:
            box: the lowest and the highest value of each variable.

        Returns:
            The parts that may contain further zeros; empty if there are none; None where the
            operator fails or leaves more than half of the volume.
        """
        self.attempts += 1
        if self.attempts % NEWTON_EVERY == 1 and self.add(
            zero_near(self.system, [split_point(side) for side in box])
        ):
            return [box]
        sides = [arb(low).union(arb(high)) for low, high in box]
        try:
            image = krawczyk_image(self.system, sides)
        except ZeroDivisionError:
            return None
        if image is None or not all(side.is_finite() for side in image):
            return None
        pairs = list(zip(box, sides, image, strict=True))
        if any(not side.overlaps(mapped) for _, side, mapped in pairs):
            return []
        zero = zero_in(self.system, sides)
        if self.add(zero) or self.is_known(zero):
            return []
        common = tuple(intersection(side, mapped) for side, _, mapped in pairs)
        return [common] if volume(common) < MAX_SHRINKAGE * volume(box) else None

    def add(self, zero: Zero | None) -> bool:
        """Add a zero to the list if it is new and in the domain; return whether it was added.

        Args:
            zero: a proven zero; it is new if its enclosure does not touch the isolating box of any
                zero in the list. None adds nothing.
        """
        if zero is None or not inside(zero.enclosure, self.domain):
            return False
        new = all(disjoint(zero.enclosure, other.isolating_box) for other in self.zeros)
        if new:
            self.zeros.append(zero)
        return new

    def is_known(self, zero: Zero | None) -> bool:
        """Whether a zero lies in the isolating box of one in the list; False for None."""
        if zero is None:
            return False
        return any(inside(zero.enclosure, other.isolating_box) for other in self.zeros)


def volume(box: Box) -> float:
    """The product of a box's side lengths, in the units of its variables."""
    return math.prod(high - low for low, high in box)


def split(box: Box, side: int, value: float) -> list[Box]:
    """The two parts of a box, below and above a value of one variable.

    Args:
        box: the lowest and the highest value of each variable.
        side: index of the variable.
        value: where it is split.
    """
    low, high = box[side]
    parts = (low, value), (value, high)
    return [(*box[:side], part, *box[side + 1 :]) for part in parts]


def overlap(box: Box, other: Box) -> bool:
    """Whether the interiors of two boxes have a point in common; touching faces do not count."""
    return all(a < d and c < b for (a, b), (c, d) in zip(box, other, strict=True))


def split_at_face(box: Box, other: Box) -> list[Box]:
    """Both parts of a box, split at the first face of another box that cuts it.

    Raises:
        ValueError: where no face of the other box lies inside the box.
    """
    for side, ((low, high), faces) in enumerate(zip(box, other, strict=True)):
        for face in faces:
            if low < face < high:
                return split(box, side, face)
    raise ValueError("no face of the other box is in the box")


def intersection(side: tuple[float, float], interval: arb) -> tuple[float, float]:
    """The common part of a side (low, high) and an interval, its ends rounded outwards."""
    low, high = float(interval.lower()), float(interval.upper())
    return (
        max(side[0], math.nextafter(low, -math.inf)),
        min(side[1], math.nextafter(high, math.inf)),
    )
