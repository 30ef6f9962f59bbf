"""Krawczyk's operator: proof that a system of equations has exactly one zero in a box.

With m the midpoint of a box X, F'(X) an enclosure of all slopes of F between points of X, and any
matrix Y,

    K(X) = m - Y F(m) + (1 - Y F'(X)) (X - m)

contains every zero in X; if K(X) lies in the interior of X, there is exactly one. Slopes may be
hulls of several, so that F may have kinks. All arithmetic is interval arithmetic: what is proven
holds for real numbers.

Sources:
    R. Krawczyk, Computing 4, 1969; R. E. Moore, R. B. Kearfott and M. J. Cloud, Introduction to
    Interval Analysis, 2009, chapter 8 (neither checked against the original).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from flint import arb, arb_mat, ctx

__all__ = [
    "PRECISION_BITS",
    "Box",
    "Smooth",
    "Zero",
    "disjoint",
    "float_ends",
    "inside",
    "krawczyk_image",
    "zero_in",
    "zero_near",
]

PRECISION_BITS = 96
"""Precision of the arithmetic, bits: doubles have 53, and the results are doubles."""
NEWTON_STEPS = 25
"""Number of steps of Newton's method."""
LONGEST_STEP = 1e9
"""Newton's method gives up where a step is longer, in units of the variables (packets)."""
MAX_HALVINGS = 40
"""Halvings of the first box around a zero, in which each function changes by its scale."""
MAX_REFINEMENTS = 8
"""Most applications of the operator that tighten the enclosure of a proven zero."""

Box = tuple[tuple[float, float], ...]
"""The lowest and the highest value of each variable."""


class Smooth(Protocol):
    """A system of functions with slopes, as many as variables."""

    @property
    def scale(self) -> Sequence[float]:
        """The typical size of each function, in its own unit, which relative measures divide by."""
        ...

    def at(self, variables: Sequence[arb], /) -> list[arb]:
        """Enclosures of the functions' values at intervals of the variables; (functions,)."""
        ...

    def slopes(self, variables: Sequence[arb], /) -> arb_mat:
        """An interval matrix with all slopes of the functions between points of a box.

        Args:
            variables: an interval for each variable.

        Returns:
            The matrix; row i, column j: function i by variable j.
        """
        ...


class Zero(NamedTuple):
    """A proven zero.

    Args:
        isolating_box: a box that contains no other zero.
        enclosure: a tight box that contains the zero.
        index: the sign of det(-F') there, 1 or -1; 0 where it is not certain.
    """

    isolating_box: Box
    enclosure: Box
    index: int


def inside(box: Box, other: Box) -> bool:
    """Whether each side (low, high) of `box` lies in that of `other`; common ends count."""
    return all(c <= a and b <= d for (a, b), (c, d) in zip(box, other, strict=True))


def disjoint(box: Box, other: Box) -> bool:
    """Whether two boxes, each given by (low, high) of each variable, have no point in common."""
    return any(b < c or d < a for (a, b), (c, d) in zip(box, other, strict=True))


def zero_near(system: Smooth, guess: Sequence[float]) -> Zero | None:
    """The zero to which Newton's method converges, if it is proven, and a box without other zeros.

    The isolating box is the largest of a series of boxes, each half as wide as the one before, for
    which the proof succeeds.

    Args:
        system: the functions.
        guess: the starting point, one value for each variable.

    Returns:
        The zero; None where none is proven: Newton's method diverges, the matrix of slopes is
        singular, or the proof fails for all of 40 boxes.
    """
    with ctx.workprec(PRECISION_BITS):
        try:
            middle = newton(system, [arb(value) for value in guess])
            reach = first_radii(system, middle)
            for halvings in range(MAX_HALVINGS):
                box = [
                    value + arb(0, radius / 2**halvings)
                    for value, radius in zip(middle, reach, strict=True)
                ]
                zero = zero_in(system, box)
                if zero is not None:
                    return zero
        except ZeroDivisionError:  # a singular matrix
            return None
    return None


def newton(system: Smooth, variables: list[arb]) -> list[arb]:
    """The approximate zero (one point for each variable) that Newton's method reaches; not proven.

    Args:
        system: the functions.
        variables: the starting point.

    Raises:
        ZeroDivisionError: where the slopes are singular or a step is longer than `LONGEST_STEP`.
    """
    for _ in range(NEWTON_STEPS):
        inverse = system.slopes(variables).mid().inv()
        steps = (inverse * column(system.at(variables))).entries()
        if not all(abs(float(step)) < LONGEST_STEP for step in steps):
            raise ZeroDivisionError
        variables = [(value - step).mid() for value, step in zip(variables, steps, strict=True)]
    return variables


def first_radii(system: Smooth, middle: list[arb]) -> list[float]:
    """How far each variable moves to first order if every function changes by its scale.

    Args:
        system: the functions.
        middle: the point of linearisation.

    Returns:
        An upper bound of each variable's move, in its unit: absolute values of the inverse matrix
        of slopes, times the scales.
    """
    inverse = system.slopes(middle).mid().inv()
    size = range(len(middle))
    return [sum(abs(float(inverse[i, j])) * system.scale[j] for j in size) for i in size]


def column(values: Sequence[arb]) -> arb_mat:
    """Intervals as a matrix with one column."""
    return arb_mat([[value] for value in values])


def krawczyk_image(system: Smooth, box: Sequence[arb]) -> list[arb] | None:
    """Krawczyk's operator m - Y F(m) + (1 - Y F'(X)) (X - m) of a box X with midpoint m.

    It contains every zero of F in X. Y is the inverse of the slopes at m.

    Args:
        system: the functions F and their slopes F'.
        box: an interval for each variable, X.

    Returns:
        An interval for each variable; None where the slopes are not finite.

    Raises:
        ZeroDivisionError: where the matrix of slopes at the midpoint is singular.
    """
    slopes, middle = system.slopes(box), [side.mid() for side in box]
    if not all(slope.is_finite() for slope in slopes.entries()):
        return None
    inverse = system.slopes(middle).mid().inv().mid()
    size = len(middle)
    identity = arb_mat([[int(i == j) for j in range(size)] for i in range(size)])
    offsets = column([side - value for side, value in zip(box, middle, strict=True)])
    change = (identity - inverse * slopes) * offsets - inverse * column(system.at(middle))
    return [value + delta for value, delta in zip(middle, change.entries(), strict=True)]


def zero_in(system: Smooth, box: Sequence[arb]) -> Zero | None:
    """The only zero in a box, with a tight enclosure; None if one is not proven to be there alone.

    Args:
        system: the functions.
        box: an interval for each variable.

    Raises:
        ZeroDivisionError: where the slopes at the midpoint are singular.
    """
    image = krawczyk_image(system, box)
    if image is None or not in_interior(image, box):
        return None
    tight = image
    for _ in range(MAX_REFINEMENTS):
        again = krawczyk_image(system, tight)
        if again is None or not in_interior(again, tight):
            break
        tight = again
    determinant = (-system.slopes(tight)).det()
    index = 1 if determinant > 0 else -1 if determinant < 0 else 0
    isolating = tuple(float_ends(side, outwards=False) for side in box)
    return Zero(isolating, tuple(float_ends(side, outwards=True) for side in tight), index)


def in_interior(image: Sequence[arb], box: Sequence[arb]) -> bool:
    """Whether each interval of `image` lies in the interior of that of `box`."""
    return all(side.contains_interior(mapped) for side, mapped in zip(box, image, strict=True))


def float_ends(interval: arb, *, outwards: bool) -> tuple[float, float]:
    """Lower and upper end of an interval as doubles, one double beyond it or inside it.

    Args:
        interval: the interval.
        outwards: whether the doubles enclose the interval; otherwise they lie in it.
    """
    low, high = float(interval.lower()), float(interval.upper())
    direction = -math.inf if outwards else math.inf
    return math.nextafter(low, direction), math.nextafter(high, -direction)
