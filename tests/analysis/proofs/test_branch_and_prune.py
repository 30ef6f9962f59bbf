"""Branch and prune in ball arithmetic: on systems with known zeros."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from flint import arb, arb_mat

from vegasfluid.analysis.proofs.branch_and_prune import isolate_zeros
from vegasfluid.analysis.proofs.krawczyk import Box, zero_near


class Toggle:
    """Two that hold each other back: x = a / (1 + y^2), y = a / (1 + x^2).

    Taking one equation from the other, x = y or x y = 1. So one zero has x^3 + x = a, and where a
    is above 2 two others have x + y = a, x y = 1.
    """

    scale = (1.0, 1.0)

    def __init__(self, a: float) -> None:
        self.a = arb(a)

    def at(self, places: Sequence[arb]) -> list[arb]:
        x, y = places
        return [self.a / (1 + y * y) - x, self.a / (1 + x * x) - y]

    upper_bound = lower_bound = at

    def slopes(self, places: Sequence[arb]) -> arb_mat:
        x, y = (-2 * self.a * place / (1 + place * place) ** 2 for place in places)
        return arb_mat([[-1, y], [x, -1]])


def holds(box: Box, *point: float) -> bool:
    return all(low <= at <= high for (low, high), at in zip(box, point, strict=True))


def test_three_known_zeros_are_enclosed_and_no_other_is_left() -> None:
    found = isolate_zeros(Toggle(3.0), ((0.0, 4.0), (0.0, 4.0)))
    low, high = (3 - math.sqrt(5)) / 2, (3 + math.sqrt(5)) / 2
    (middle,) = [root.real for root in np.roots([1, 0, 1, -3]) if abs(root.imag) < 1e-9]
    assert found.complete
    assert found.share == 0
    assert len(found.zeros) == 3
    by_index = {zero.index: [] for zero in found.zeros} | {1: [], -1: []}
    for zero in found.zeros:
        by_index[zero.index].append(zero.enclosure)
    assert [holds(box, middle, middle) for box in by_index[-1]] == [True]
    assert sorted(holds(box, low, high) for box in by_index[1]) == [False, True]
    assert sorted(holds(box, high, low) for box in by_index[1]) == [False, True]


def test_one_zero_below_the_fold() -> None:
    found = isolate_zeros(Toggle(1.9), ((0.0, 4.0), (0.0, 4.0)))
    assert (len(found.zeros), found.complete, found.zeros[0].index) == (1, True, 1)


def test_a_double_zero_is_left_undecided() -> None:
    found = isolate_zeros(Toggle(2.0), ((0.0, 4.0), (0.0, 4.0)), budget=500)
    assert not found.complete
    assert 0 < found.share < 1e-3


def test_nothing_is_found_in_a_box_without_a_zero() -> None:
    found = isolate_zeros(Toggle(3.0), ((1.3, 2.5), (0.5, 4.0)))
    assert (found.zeros, found.complete) == ((), True)


def test_what_exceeds_the_budget_is_reported() -> None:
    found = isolate_zeros(Toggle(3.0), ((0.0, 4.0), (0.0, 4.0)), budget=1)
    assert found.boxes == 1
    assert found.undecided > 0
    assert 0 < found.share <= 1


def test_a_known_zero_is_not_counted_twice() -> None:
    system = Toggle(3.0)
    known = zero_near(system, (0.4, 2.6))
    assert known is not None
    found = isolate_zeros(system, ((0.0, 4.0), (0.0, 4.0)), [known, known])
    assert (len(found.zeros), found.complete) == (3, True)
