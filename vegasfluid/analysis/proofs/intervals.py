"""Comparisons of balls, and of balls with their slopes.

The equations are written once and read twice: handed balls they enclose values, handed power
series of two terms (a ball for the value, a ball for the slope) they enclose slopes too. Where a
comparison is open, because the balls overlap, both answers are covered: of two slopes that is
their hull, which holds every difference quotient of a function that changes from one branch to
the other (the mean value theorem, piece by piece).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from flint import arb, arb_series

__all__ = [
    "Number",
    "enclosed_root",
    "larger",
    "lesser",
    "pieces",
    "slope_of",
    "value_of",
    "variable",
]

Number = Any
"""A ball, or a power series of two balls."""

TERMS = 2
BISECTIONS = 600
"""More than any precision in use has bits."""


def variable(ball: arb) -> arb_series:
    """A number that varies: value `ball`, slope 1."""
    return arb_series([ball, arb(1)], TERMS)


def value_of(number: Number) -> arb:
    """The values of a number."""
    return number[0] if isinstance(number, arb_series) else number


def slope_of(number: Number) -> arb:
    """The slopes of a number; 0 of one that does not vary."""
    return number[1] if isinstance(number, arb_series) else arb(0)


def larger(a: Number, b: Number) -> Number:
    """The larger of two numbers, or a hull of both.

    >>> wide = variable(arb(0, 1))
    >>> both = larger(2 * wide, 3 * wide)
    >>> both[1].contains(arb(2)), both[1].contains(arb(3))
    (True, True)
    """
    if value_of(a) >= value_of(b):
        return a
    if value_of(b) >= value_of(a):
        return b
    value = value_of(a).max(value_of(b))
    if isinstance(a, arb) and isinstance(b, arb):
        return value
    return arb_series([value, slope_of(a).union(slope_of(b))], TERMS)


def lesser(a: Number, b: Number) -> Number:
    """The smaller of two numbers, or a hull of both."""
    return -larger(-a, -b)


def pieces(low: arb, high: arb, number: int) -> Iterator[arb]:
    """An interval as balls of equal width that cover it, ends included."""
    width = (high - low) / number
    for place in range(number):
        start, end = low + place * width, low + (place + 1) * width
        yield start.union(end)


def enclosed_root(falling: Callable[[arb], arb], low: arb, high: arb) -> arb:
    """The root of a function that is above 0 before it and below 0 after it, by bisection.

    Args:
        falling: a ball for the function's value at a point.
        low: before the root.
        high: after it.

    >>> enclosed_root(lambda x: 9 - 4 * x * x, arb(0), arb(4)).contains(arb(1.5))
    True
    """
    for _ in range(BISECTIONS):
        middle = ((low + high) / 2).mid()
        value = falling(middle)
        if value > 0:
            low = middle
        elif value < 0:
            high = middle
        else:  # as near as can be told, perhaps by chance: come from both sides
            low = approached(middle, low, lambda point: bool(falling(point) > 0))
            high = approached(middle, high, lambda point: bool(falling(point) < 0))
            break
    return low.union(high)


def approached(target: arb, start: arb, allowed: Callable[[arb], bool]) -> arb:
    """A point as near to a target as a condition can be shown to hold, by halves of the way."""
    for _ in range(BISECTIONS):
        nearer = ((start + target) / 2).mid()
        if not allowed(nearer):
            break
        start = nearer
    return start
