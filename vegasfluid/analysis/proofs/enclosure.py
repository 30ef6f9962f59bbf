"""Numbers between two decimals: what a certificate claims, exact to the last digit.

Balls are what is computed with (midpoint and radius, binary); decimals are what is written. A ball
is rounded outwards to decimals, so that the claim is a little weaker than what is known.

Sources:
    Balls: F. Johansson, "Arb: efficient arbitrary-precision midpoint-radius interval arithmetic",
    IEEE Transactions on Computers 66(8), 2017; here by python-flint.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from flint import arb

__all__ = ["DIGITS", "Enclosure", "fraction_of", "is_decimal", "round_decimal"]

DIGITS = 20
"""Significant digits of a claim."""
LONGEST = 120
"""Characters of a decimal: of the exact value of a double there may be many."""
DECIMAL = re.compile(r"-?\d+(\.\d+)?(E[+-]?\d{1,3})?", re.ASCII)


def is_decimal(text: object) -> bool:
    """Whether something is a decimal number as a certificate writes it.

    >>> is_decimal("134.2629"), is_decimal("nan"), is_decimal("1E999999999")
    (True, False, False)
    """
    if not isinstance(text, str) or len(text) > LONGEST:
        return False
    return DECIMAL.fullmatch(text) is not None


def fraction_of(exact: arb) -> Fraction:
    """The value of a ball of radius 0."""
    mantissa, exponent = (int(part) for part in exact.man_exp())
    return Fraction(mantissa) * Fraction(2) ** exponent


def ends_of(ball: arb) -> tuple[Fraction, Fraction]:
    """Both ends of a finite ball, exactly and at any precision."""
    middle, radius = fraction_of(ball.mid()), fraction_of(ball.rad())
    return middle - radius, middle + radius


def round_decimal(value: Fraction, *, up: bool, beyond: int = 0) -> str:
    """A number as a decimal of `DIGITS` significant digits.

    Args:
        value: the number.
        up: to the next decimal above, or below.
        beyond: how many units of the last digit to go on in that direction.

    >>> round_decimal(Fraction(1, 3), up=True), round_decimal(Fraction(6711), up=False)
    ('0.33333333333333333334', '6711')
    """
    if value == 0 and not beyond:
        return "0"
    size = abs(value) or Fraction(1)
    magnitude = Decimal(size.numerator).adjusted() - Decimal(size.denominator).adjusted()
    if size < Fraction(10) ** magnitude:
        magnitude -= 1
    place = DIGITS - 1 - magnitude
    scaled = value * Fraction(10) ** place
    digits = math.ceil(scaled) + beyond if up else math.floor(scaled) - beyond
    sign, figures = int(digits < 0), tuple(map(int, str(abs(digits))))
    written = str(Decimal((sign, figures, -place)))
    if "." in written and "E" not in written:
        written = written.rstrip("0").rstrip(".")
    return written


@dataclass(frozen=True)
class Enclosure:
    """A claim that a number is at least `low` and at most `high`, decimals.

    >>> Enclosure("0.25", "0.5").contains(arb(1) / 3)
    True
    """

    low: str
    high: str

    @classmethod
    def around(cls, ball: arb) -> Enclosure:
        """All of a ball, and a little more."""
        low, high = ends_of(ball)
        return cls(round_decimal(low, up=False, beyond=1), round_decimal(high, up=True, beyond=1))

    @classmethod
    def within(cls, low: arb, high: arb) -> Enclosure:
        """What is certainly between two balls."""
        inner = ends_of(low)[1], ends_of(high)[0]
        return cls(round_decimal(inner[0], up=True), round_decimal(inner[1], up=False))

    @property
    def bounds(self) -> tuple[Fraction, Fraction]:
        """Both ends, exactly."""
        return Fraction(self.low), Fraction(self.high)

    @property
    def digits(self) -> float:
        """How many decimal digits are known: minus the logarithm of the relative width."""
        low, high = self.bounds
        largest = max(abs(low), abs(high))
        if high <= low or largest == 0:
            return math.inf
        return -math.log10((high - low) / largest)

    def contains(self, ball: arb) -> bool:
        """Whether all numbers of a ball are in it; for a ball without bounds, no."""
        if not ball.is_finite():
            return False
        inner, (low, high) = ends_of(ball), self.bounds
        return low <= inner[0] and inner[1] <= high

    def __float__(self) -> float:
        low, high = self.bounds
        return float((low + high) / 2)
