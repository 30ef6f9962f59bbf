"""Ranges of numbers: those that a definition implies, and those that all engines can hold.

A model may only have numbers with which every engine computes correctly. The packet simulator's
clock counts picoseconds in 64-bit integers, and floats have 53 bits.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from annotated_types import Ge, Gt, Le, Lt

__all__ = [
    "CLOCK",
    "FASTEST",
    "FLOATS",
    "HUGEST",
    "LARGEST_NETWORK",
    "LATEST",
    "LONGEST_DELAY",
    "MOST_PACKETS",
    "SHORTEST",
    "SLOWEST",
    "TINIEST",
    "Largest",
    "Limit",
    "Positive",
    "Smallest",
    "broken_limit",
    "limits_in",
    "short_number",
]


@dataclass(frozen=True)
class Largest:
    """Upper end of the range in which all engines compute correctly.

    Args:
        bound: the largest value.
        reason: why, in words, for error messages; empty where it is obvious.
    """

    bound: float
    reason: str = ""


@dataclass(frozen=True)
class Smallest:
    """Lower end, apart from 0, of the range in which all engines compute correctly.

    Args:
        bound: the smallest value that is not 0.
        reason: why, in words, for error messages; empty where it is obvious.
        or_zero: whether 0 is allowed, too.
    """

    bound: float
    reason: str = ""
    or_zero: bool = True


Limit = Ge | Gt | Le | Lt | Largest | Smallest
"""An end of the range of a number."""
Positive = Gt(0)
"""A number above 0."""

LATEST = 1e6
"""Latest time of a run, s (11.6 days). The packet simulator's clock ends after 2^63 ps (9.2e6 s);
the rest is for what a run schedules beyond its end: timers (up to 6.4e6 s) and full queues."""
LONGEST_DELAY = 1e5
"""Longest delay, s: 64 of them, as after repeated timeouts, fit the packet simulator's clock."""
SHORTEST = 1e-9
"""Shortest time that is not 0, s: 1000 ticks of the packet simulator's clock."""
MOST_PACKETS = 1e15
"""Largest number of packets: floats count each packet below 9e15."""
FASTEST, SLOWEST = 1e10, 1e-6
"""Largest and smallest rate, packets/s: a packet takes at least 100 ticks of the packet simulator's
clock (then rates are right within 0.5 %), and at most the longest run."""
LARGEST_NETWORK = 1000
"""Largest number of links, flow classes or events of a network (chosen: they are read and shown in
seconds)."""
TINIEST, HUGEST = 1e-12, 1e12
"""Smallest (apart from 0) and largest number without a unit: products of several are floats."""

ROUNDING = 1e-9
"""Fraction of a limit by which a number may exceed it: conversions of units are rounded."""
LARGEST_WHOLE = 1_000_000
"""Largest whole number of which error messages print all digits (chosen)."""

CLOCK = "the packet clock counts picoseconds in 64 bits"
"""Reason for the limits of times and rates."""
FLOATS = "floats count packets one by one up to there"
"""Reason for the largest number of packets."""


def limits_in(metadata: tuple[Any, ...]) -> tuple[Limit, ...]:
    """Limits (`Ge`, `Gt`, `Le`, `Lt`, `Largest`, `Smallest`) in the metadata of an annotation.

    They keep their order. If `Positive` is among them, each `Smallest` is one that excludes 0.
    """
    limits = tuple(item for item in metadata if isinstance(item, Limit))
    if Positive not in limits:
        return limits
    return tuple(
        replace(one, or_zero=False) if isinstance(one, Smallest) else one for one in limits
    )


def short_number(number: Any) -> str:
    """A number as text with at most four significant digits; whole ones up to a million in full.

    An integer too large for a float is `a huge number`.

    >>> short_number(65535), short_number(2 / 3), short_number(10**300)
    ('65535', '0.6667', '1e+300')
    """
    try:
        value = float(number)
    except OverflowError:
        return "a huge number"
    whole = abs(value) <= LARGEST_WHOLE and value == int(value)
    return str(int(value)) if whole else f"{value:.4g}"


def broken_limit(value: float, limit: Limit) -> str | None:
    """The allowed values in words, such as `above 0`, if `value` violates `limit`; else None.

    `Largest` and `Smallest` have a relative tolerance of 1e-9; the other limits are exact.
    """
    match limit:
        case Gt(bound) if not value > bound:  # type: ignore[operator]
            return f"above {short_number(bound)}"
        case Ge(bound) if not value >= bound:  # type: ignore[operator]
            return f"at least {short_number(bound)}"
        case Lt(bound) if not value < bound:  # type: ignore[operator]
            return f"below {short_number(bound)}"
        case Le(bound) if not value <= bound:  # type: ignore[operator]
            return f"at most {short_number(bound)}"
        case Largest(bound, reason) if float(value) > float(bound) * (1 + ROUNDING):
            return f"at most {short_number(bound)}" + _because(reason)
        case Smallest(bound, reason, or_zero) if 0 < value < float(bound) * (1 - ROUNDING):
            zero = "0 or " if or_zero else ""
            return f"{zero}at least {short_number(bound)}" + _because(reason)
        case _:
            return None


def _because(reason: str) -> str:
    """The reason of a limit in parentheses; empty without one."""
    return f" ({reason})" if reason else ""
