"""Decimals, roots and comparisons in ball arithmetic."""

from __future__ import annotations

from fractions import Fraction

from flint import arb, arb_series, ctx

from vegasfluid.analysis.proofs import Enclosure
from vegasfluid.analysis.proofs.intervals import enclose_root, maximum, minimum, value_of, variable


def test_decimals_enclose_the_ball():
    with ctx.workprec(200):
        third = arb(1) / 3
        values = (third, -third, third / 10**30, third * 10**30, arb(5), arb(0))
    for value in values:
        found = Enclosure.around(value)
        low, high = found.bounds
        assert found.contains(value)
        assert 0 < high - low <= max(abs(high), 1) * Fraction(4, 10**19)
        assert not Enclosure(found.high, found.high).contains(value)
    assert not Enclosure("0", "1").contains(arb(0.5, 1))
    assert not Enclosure("0", "1").contains(arb.nan())


def test_a_root_at_a_point_of_the_bisection():
    """On it no sign is certain; it is enclosed from both sides all the same."""
    for root in (arb(2), arb(1), arb(0.3)):
        found = enclose_root(lambda point, root=root: (root - point) * arb(1, 1e-9), arb(0), arb(4))
        assert found.contains(root)
        assert found.rad() < 1e-12


def test_open_comparisons_cover_both_branches():
    wide = variable(arb(0, 1))
    both = maximum(2 * wide, 3 * wide)
    assert both[1].contains(arb(2))
    assert both[1].contains(arb(3))
    assert value_of(both).contains(arb(3))
    assert minimum(wide, arb(5)) is not None
    assert isinstance(minimum(wide, arb(0.5)), arb_series)
    assert minimum(wide, arb(0.5))[1].contains(arb(0))
    assert minimum(arb(1), arb(2)) == 1
