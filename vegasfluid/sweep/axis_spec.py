"""Parse the option `--over` of a sweep, such as `vegas.alpha_packets=1:400:40`."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from vegasfluid.errors import InvalidInput
from vegasfluid.sweep.axes import Numbers

__all__ = ["numbers_from", "size_from"]

FORMS = "NAME=FROM:TO:COUNT, NAME=FROM:TO:COUNT:log, or NAME=VALUE,VALUE,..."
"""Forms of the option `--over`, for messages."""
DIGITS = 12
"""Significant digits of the values, so that a user can select 0.3 and not 0.30000000000000004."""


def numbers_from(text: str) -> Numbers:
    """The axis that one option `--over` describes, with values in the unit that the name ends in.

    Args:
        text: `NAME=FROM:TO:COUNT`, `NAME=FROM:TO:COUNT:log` or `NAME=VALUE,VALUE,...`.

    Raises:
        InvalidInput: if the text is malformed, or its range is empty.

    >>> numbers_from("bottleneck.capacity_mbps=1:100:3:log").values
    (1.0, 10.0, 100.0)
    >>> numbers_from("vegas.alpha_packets=1,2,4").values
    (1.0, 2.0, 4.0)
    """
    name, spec = parse(text)
    if isinstance(spec, Span):
        values = (np.geomspace if spec.logarithmic else np.linspace)(*spec[:3])
        return Numbers(name, [float(f"{value:.{DIGITS}g}") for value in values])
    return Numbers(name, spec)


def size_from(text: str) -> int:
    """Number of values in one option `--over`, without creating them.

    Args:
        text: `NAME=FROM:TO:COUNT`, `NAME=FROM:TO:COUNT:log` or `NAME=VALUE,VALUE,...`.

    Raises:
        InvalidInput: if the text is malformed, or its range is empty.

    >>> size_from("vegas.alpha_packets=1:400:1000000000")
    1000000000
    """
    _, spec = parse(text)
    return spec.count if isinstance(spec, Span) else len(spec)


class Span(NamedTuple):
    """Evenly spaced values from `low` to `high`, both included.

    Args:
        low: first value.
        high: last value.
        count: number of values.
        logarithmic: whether their logarithms are evenly spaced.
    """

    low: float
    high: float
    count: int
    logarithmic: bool


def parse(text: str) -> tuple[str, Span | list[float]]:
    """Split one option `--over`, such as `vegas.alpha_packets=1:400:40`, into name and values.

    Returns the parameter's name, and its values or, for a range, a `Span`.

    Raises:
        InvalidInput: if the text is malformed, or its range is empty.
    """
    name, _, spec = text.partition("=")
    try:
        if name and ":" in spec:
            return name, span_of(spec.split(":"), text)
        if name and spec:
            return name, [float(value) for value in spec.split(",")]
    except InvalidInput:
        raise
    except ValueError:  # a part is not a number
        pass
    raise InvalidInput("sweep", "--over", FORMS, text)


def span_of(parts: list[str], text: str) -> Span:
    """The range of values that the parts of FROM:TO:COUNT or FROM:TO:COUNT:log describe.

    Raises:
        InvalidInput: if it is malformed or empty; the message quotes `text`, the whole option.
    """
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
