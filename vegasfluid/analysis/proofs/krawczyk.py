"""One zero of a system of equations, shown to exist and to be alone in a box around it.

With m the middle of a box X, F' all slopes of F between points of it, and any matrix Y,

    K(X) = m - Y F(m) + (1 - Y F'(X)) (X - m)

holds every zero in X; and where K(X) lies in the inside of X, there is exactly one. Slopes may be
hulls of several, so that F may have corners. All is computed in balls: what is shown holds for real
numbers.

Sources:
    R. Krawczyk, Computing 4, 1969; R. E. Moore, R. B. Kearfott and M. J. Cloud, Introduction to
    Interval Analysis, 2009, chapter 8 (neither checked against the original).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from flint import arb, arb_mat, ctx

__all__ = ["BITS", "Box", "Smooth", "Zero", "apart", "image_of", "inside", "zero_in", "zero_near"]

BITS = 96
NEWTON_STEPS, FAR = 25, 1e9
"""Newton's method gives up where a step is longer, in units of how far variables reach."""
HALVINGS = 40
"""Of the box around a zero, from one in which functions change by all that they are measured by."""
TIGHTER = 8

Box = tuple[tuple[float, float], ...]
"""The lowest and the highest value of each variable."""


class Smooth(Protocol):
    """Functions with slopes, as many as variables."""

    @property
    def scale(self) -> Sequence[float]:
        """What each function is measured by."""
        ...

    def at(self, places: Sequence[arb]) -> list[arb]:
        """The functions, at balls."""
        ...

    def slopes(self, places: Sequence[arb]) -> arb_mat:
        """All slopes between points of a box."""
        ...


class Zero(NamedTuple):
    """A zero that is proven.

    Args:
        alone: a box in which there is no other.
        at: where it is.
        index: the sign of det(-F') there, 1 or -1; 0 where it is not certain.
    """

    alone: Box
    at: Box
    index: int


def inside(box: Box, other: Box) -> bool:
    """Whether a box lies in another."""
    return all(c <= a and b <= d for (a, b), (c, d) in zip(box, other, strict=True))


def apart(box: Box, other: Box) -> bool:
    """Whether two boxes have no point in common."""
    return any(b < c or d < a for (a, b), (c, d) in zip(box, other, strict=True))


def zero_near(system: Smooth, guess: Sequence[float]) -> Zero | None:
    """The zero to which Newton's method leads, in a box as large as it is shown to be alone in.

    Args:
        system: the functions.
        guess: where to begin.
    """
    with ctx.workprec(BITS):
        try:
            middle = newton(system, [arb(at) for at in guess])
            reach = reach_of(system, middle)
            for halvings in range(HALVINGS):
                box = [
                    at + arb(0, far / 2**halvings) for at, far in zip(middle, reach, strict=True)
                ]
                found = zero_in(system, box)
                if found is not None:
                    return found
        except ZeroDivisionError:  # a matrix without inverse
            return None
    return None


def newton(system: Smooth, places: list[arb]) -> list[arb]:
    """Where Newton's method leads; no proof."""
    for _ in range(NEWTON_STEPS):
        inverse = system.slopes(places).mid().inv()
        moves = (inverse * column(system.at(places))).entries()
        if not all(abs(float(move)) < FAR for move in moves):
            raise ZeroDivisionError
        places = [(at - move).mid() for at, move in zip(places, moves, strict=True)]
    return places


def reach_of(system: Smooth, middle: list[arb]) -> list[float]:
    """How far each variable goes where each function changes by what it is measured by."""
    inverse = system.slopes(middle).mid().inv()
    size = range(len(middle))
    return [sum(abs(float(inverse[i, j])) * system.scale[j] for j in size) for i in size]


def column(values: Sequence[arb]) -> arb_mat:
    """A vector as a matrix of one column."""
    return arb_mat([[value] for value in values])


def image_of(system: Smooth, box: Sequence[arb]) -> list[arb] | None:
    """K of a box; None where slopes are not known.

    Raises:
        ZeroDivisionError: where the slopes in the middle make no regular matrix.
    """
    slopes, middle = system.slopes(box), [side.mid() for side in box]
    if not all(slope.is_finite() for slope in slopes.entries()):
        return None
    inverse = system.slopes(middle).mid().inv().mid()
    size = len(middle)
    one = arb_mat([[int(i == j) for j in range(size)] for i in range(size)])
    off = column([side - at for side, at in zip(box, middle, strict=True)])
    moved = (one - inverse * slopes) * off - inverse * column(system.at(middle))
    return [at + of for at, of in zip(middle, moved.entries(), strict=True)]


def zero_in(system: Smooth, box: Sequence[arb]) -> Zero | None:
    """The zero in a box, if there is shown to be exactly one.

    Args:
        system: the functions.
        box: balls.
    """
    image = image_of(system, box)
    if image is None or not contained(image, box):
        return None
    tight = image
    for _ in range(TIGHTER):
        again = image_of(system, tight)
        if again is None or not contained(again, tight):
            break
        tight = again
    sign = (-system.slopes(tight)).det()
    index = 1 if sign > 0 else -1 if sign < 0 else 0
    alone = tuple(nearest(side, 1) for side in box)
    return Zero(alone, tuple(nearest(side, -1) for side in tight), index)


def contained(image: Sequence[arb], box: Sequence[arb]) -> bool:
    """Whether an image lies in the inside of a box."""
    return all(side.contains_interior(of) for side, of in zip(box, image, strict=True))


def nearest(ball: arb, inwards: int) -> tuple[float, float]:
    """The ends of a ball as floats: inside of it for 1, around it for -1."""
    low, high = float(ball.lower()), float(ball.upper())
    return math.nextafter(low, inwards * math.inf), math.nextafter(high, -inwards * math.inf)
