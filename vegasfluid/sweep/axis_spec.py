"""How a command says what is swept: `vegas.alpha_packets=1:400:40`."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from vegasfluid.errors import InvalidInput
from vegasfluid.sweep.axes import Numbers

__all__ = ["numbers_from", "size_from"]

FORMS = "NAME=FROM:TO:COUNT, NAME=FROM:TO:COUNT:log, or NAME=VALUE,VALUE,..."
DIGITS = 12
"""Significant digits that are kept: 0.30000000000000004 is no label that anyone can select."""


def numbers_from(text: str) -> Numbers:
    """What one `--over` says.

    Raises:
        InvalidInput: for another form, or an empty range.

    >>> numbers_from("bottleneck.capacity_mbps=1:100:3:log").values
    (1.0, 10.0, 100.0)
    >>> numbers_from("vegas.alpha_packets=1,2,4").values
    (1.0, 2.0, 4.0)
    """
    name, spec = parsed(text)
    if isinstance(spec, Span):
        spaced = (np.geomspace if spec.logarithmic else np.linspace)(*spec[:3])
        return Numbers(name, [float(f"{of:.{DIGITS}g}") for of in spaced])
    return Numbers(name, spec)


def size_from(text: str) -> int:
    """How many values one `--over` has; none is made for that.

    Raises:
        InvalidInput: as `numbers_from`.

    >>> size_from("vegas.alpha_packets=1:400:1000000000")
    1000000000
    """
    _, spec = parsed(text)
    return spec.count if isinstance(spec, Span) else len(spec)


class Span(NamedTuple):
    """Values from one to another.

    Args:
        low: the first.
        high: the last.
        count: how many.
        logarithmic: whether their ratios are equal, and not their differences.
    """

    low: float
    high: float
    count: int
    logarithmic: bool


def parsed(text: str) -> tuple[str, Span | list[float]]:
    """The name, and the values or where they come from."""
    name, _, given = text.partition("=")
    try:
        if name and ":" in given:
            return name, span_of(given.split(":"), text)
        if name and given:
            return name, [float(of) for of in given.split(",")]
    except InvalidInput:
        raise
    except ValueError:  # no number where one is wanted
        pass
    raise InvalidInput("sweep", "--over", FORMS, text)


def span_of(parts: list[str], text: str) -> Span:
    """FROM:TO:COUNT, or FROM:TO:COUNT:log."""
    logarithmic = parts[3:] == ["log"]
    if len(parts) != 3 and not (logarithmic and len(parts) == 4):
        raise InvalidInput("sweep", "--over", FORMS, text)
    low, high, count = float(parts[0]), float(parts[1]), int(parts[2])
    if count < 1:
        raise InvalidInput("sweep", "--over", "a range with a COUNT of 1 or more", text)
    if not (math.isfinite(low) and math.isfinite(high)):
        raise InvalidInput("sweep", "--over", "a range from one finite number to another", text)
    if not (low < high or (low == high and count == 1)):
        raise InvalidInput("sweep", "--over", "a range with FROM below TO", text)
    if logarithmic and low <= 0:
        raise InvalidInput("sweep", "--over", "a log range with FROM above 0", text)
    return Span(low, high, count, logarithmic)
