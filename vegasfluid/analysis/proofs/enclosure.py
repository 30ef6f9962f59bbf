"""Numbers between two decimals: what a certificate claims, exact to the last digit.

Computations use balls (binary midpoint and radius); documents contain decimals. A ball is rounded
outwards to decimals, so that the claim is a little weaker than what is known.

Sources:
    Balls: F. Johansson, "Arb: efficient arbitrary-precision midpoint-radius interval arithmetic",
    IEEE Transactions on Computers 66(8), 2017; used through python-flint.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from flint import arb

__all__ = ["DIGITS", "Enclosure", "Key", "exact_fraction", "is_decimal", "round_decimal"]

DIGITS = 20
"""Significant decimal digits of a claim: more than the 17 of a double."""
LONGEST_DECIMAL = 120
"""Characters of a decimal that is read: bounds the time that a foreign file can take."""
DECIMAL = re.compile(r"-?\d+(\.\d+)?(E[+-]?\d{1,3})?", re.ASCII)
"""The form of a decimal in a certificate."""

Key = tuple[str, ...]
"""The keys that lead to a claim in a document, outermost first."""


def is_decimal(text: object) -> bool:
    """Whether a value is text with a decimal number, such as -1.5E-7, of at most 120 characters.

    >>> is_decimal("134.2629"), is_decimal("nan"), is_decimal("1E999999999")
    (True, False, False)
    """
    if not isinstance(text, str) or len(text) > LONGEST_DECIMAL:
        return False
    return DECIMAL.fullmatch(text) is not None


def exact_fraction(exact: arb) -> Fraction:
    """The value of an interval (`arb`) of radius 0 as an exact fraction."""
    mantissa, exponent = (int(part) for part in exact.man_exp())
    return Fraction(mantissa) * Fraction(2) ** exponent


def ends_of(ball: arb) -> tuple[Fraction, Fraction]:
    """Lower and upper end of a finite interval (`arb`) as exact fractions, at any precision."""
    middle, radius = exact_fraction(ball.mid()), exact_fraction(ball.rad())
    return middle - radius, middle + radius


def round_decimal(value: Fraction, *, up: bool, beyond: int = 0) -> str:
    """Round a number up or down to `DIGITS` significant digits, as decimal text.

    Args:
        value: the number.
        up: round up instead of down.
        beyond: units of the last digit to add in that direction.

    >>> round_decimal(Fraction(1, 3), up=True), round_decimal(Fraction(6711), up=False)
    ('0.33333333333333333334', '6711')
    """
    if value == 0 and not beyond:
        return "0"
    size = abs(value) or Fraction(1)
    magnitude = Decimal(size.numerator).adjusted() - Decimal(size.denominator).adjusted()
    if size < Fraction(10) ** magnitude:
        magnitude -= 1
    decimals = DIGITS - 1 - magnitude
    scaled = value * Fraction(10) ** decimals
    digits = math.ceil(scaled) + beyond if up else math.floor(scaled) - beyond
    sign, figures = int(digits < 0), tuple(map(int, str(abs(digits))))
    text = str(Decimal((sign, figures, -decimals)))
    if "." in text and "E" not in text:
        text = text.rstrip("0").rstrip(".")
    return text


@dataclass(frozen=True)
class Enclosure:
    """The claim that a number is between two decimals, `low` and `high`.

    >>> Enclosure("0.25", "0.5").contains(arb(1) / 3)
    True
    """

    low: str
    high: str

    @classmethod
    def around(cls, ball: arb) -> Enclosure:
        """Two decimals of 20 digits that enclose a ball, each a unit of the last digit farther out.

        Args:
            ball: a finite interval.
        """
        low, high = ends_of(ball)
        return cls(round_decimal(low, up=False, beyond=1), round_decimal(high, up=True, beyond=1))

    @classmethod
    def within(cls, low: arb, high: arb) -> Enclosure:
        """Two decimals of 20 digits inside an interval, `low` rounded up and `high` rounded down.

        Args:
            low: enclosure of the lower end.
            high: enclosure of the upper end.
        """
        inner = ends_of(low)[1], ends_of(high)[0]
        return cls(round_decimal(inner[0], up=True), round_decimal(inner[1], up=False))

    @property
    def bounds(self) -> tuple[Fraction, Fraction]:
        """The lower and the upper end as exact fractions."""
        return Fraction(self.low), Fraction(self.high)

    @property
    def digits(self) -> float:
        """Decimal digits to which the number is known.

        It is -log10 of the width of the interval, relative to the larger end in absolute value.
        Infinite where both ends are equal.
        """
        low, high = self.bounds
        largest = max(abs(low), abs(high))
        if high <= low or largest == 0:
            return math.inf
        return -math.log10((high - low) / largest)

    def contains(self, ball: arb) -> bool:
        """Whether a whole ball lies between the two decimals; False for one that is not finite."""
        if not ball.is_finite():
            return False
        inner, (low, high) = ends_of(ball), self.bounds
        return low <= inner[0] and inner[1] <= high

    def __float__(self) -> float:
        """The middle between the two ends, rounded to a double."""
        low, high = self.bounds
        return float((low + high) / 2)
