"""Interval arithmetic on numbers with or without a slope: maximum, minimum, steps, roots.

The equations are written once and evaluated in two ways: on intervals (`flint.arb`) they enclose
values; on power series of two intervals (`flint.arb_series`) they enclose slopes as well. Where two
intervals overlap, so that it is open which one is larger, the result covers both cases. The slope
is then the hull of both slopes. It contains every difference quotient of a function that switches
from one branch to the other (by the mean value theorem on each piece).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from flint import arb, arb_series

__all__ = [
    "ONE",
    "ZERO",
    "Interval",
    "enclose_root",
    "maximum",
    "minimum",
    "slope_of",
    "smooth_step",
    "subdivide",
    "value_of",
    "variable",
    "with_slope",
]

Interval = Any
"""An interval (`flint.arb`), or an interval with its slope (`flint.arb_series` of two terms)."""

ZERO, ONE = arb(0), arb(1)
"""The numbers 0 and 1 as intervals of width 0."""
SERIES_TERMS = 2
"""Terms of a power series: the value and the slope."""
MAX_BISECTIONS = 600
"""Bound on bisection steps: more than the bits of any precision in use, so never reached."""


def with_slope(value: arb, slope: arb) -> arb_series:
    """A power series of two terms: an interval `value` with its derivative `slope`."""
    return arb_series([value, slope], SERIES_TERMS)


def variable(value: arb) -> arb_series:
    """An independent variable of a differentiation, as a series: the given value with slope 1."""
    return with_slope(value, ONE)


def value_of(number: Interval) -> arb:
    """The interval without its slope, as an `arb`, of a number with or without one."""
    return number[0] if isinstance(number, arb_series) else number


def slope_of(number: Interval) -> arb:
    """The derivative that a number carries, as an `arb`; 0 for a plain interval."""
    return number[1] if isinstance(number, arb_series) else arb(0)


def maximum(a: Interval, b: Interval) -> Interval:
    """An enclosure of the larger of two numbers, with a slope if one of them has a slope.

    Where the intervals overlap, the slope is the hull of both slopes.

    >>> wide = variable(arb(0, 1))
    >>> both = maximum(2 * wide, 3 * wide)
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
    return with_slope(value, slope_of(a).union(slope_of(b)))


def minimum(a: Interval, b: Interval) -> Interval:
    """An enclosure of the smaller of two numbers, with a slope if one of them has a slope.

    Where the intervals overlap, the slope is the hull of both slopes.
    """
    return -maximum(-a, -b)


def smooth_step(x: Interval, width: arb) -> Interval:
    """The cubic 3 u^2 - 2 u^3 with u = x / width clipped to 0 to 1, on intervals.

    It rises from 0 at x = 0 to 1 at x = width, as `vegasfluid.smooth.step`.
    """
    fraction = minimum(maximum(x / width, ZERO), ONE)
    return fraction * fraction * (3 - 2 * fraction)


def subdivide(low: arb, high: arb, parts: int) -> Iterator[arb]:
    """Yield `parts` intervals of equal width, in order, that together cover `low` to `high`."""
    width = (high - low) / parts
    for index in range(parts):
        start, end = low + index * width, low + (index + 1) * width
        yield start.union(end)


def enclose_root(decreasing: Callable[[arb], arb], low: arb, high: arb) -> arb:
    """Enclose the root of a function that is positive below it and negative above it, by bisection.

    Args:
        decreasing: an enclosure of the function's value at a point.
        low: a point below the root.
        high: a point above the root.

    Returns:
        An interval that contains the root. It is as narrow as signs at its ends can be proven.

    >>> enclose_root(lambda x: 9 - 4 * x * x, arb(0), arb(4)).contains(arb(1.5))
    True
    """
    for _ in range(MAX_BISECTIONS):
        middle = ((low + high) / 2).mid()
        value = decreasing(middle)
        if value > 0:
            low = middle
        elif value < 0:
            high = middle
        else:  # the sign at the middle is open, perhaps by chance: approach from both sides
            low = approach(middle, low, lambda point: bool(decreasing(point) > 0))
            high = approach(middle, high, lambda point: bool(decreasing(point) < 0))
            break
    return low.union(high)


def approach(target: arb, start: arb, condition: Callable[[arb], bool]) -> arb:
    """A point near `target` that is proven to satisfy a condition.

    It moves from `start` to `target` by half of the distance in each step, until a step would fail.

    Args:
        target: the point to approach.
        start: a point that satisfies the condition.
        condition: whether a point is proven to satisfy it.
    """
    for _ in range(MAX_BISECTIONS):
        closer = ((start + target) / 2).mid()
        if not condition(closer):
            break
        start = closer
    return start
