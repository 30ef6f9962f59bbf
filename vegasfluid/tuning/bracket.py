"""From one point to two with a root between them: a walk along a rising function."""

from __future__ import annotations

import math
from collections.abc import Callable

__all__ = ["bracket_root"]

SMALLEST_STEP, LARGEST_STEP = 0.03, 1.5
"""Bounds of a step."""
LENGTHEN = 2.0
"""A step that did not reach the root is followed by one at least so much longer."""
MOST_STEPS = 12
"""The last of them goes to the end of the range."""
FLAT = 0.05
"""The smallest slope that is believed."""


def bracket_root(
    distance_at: Callable[[float], float],
    start: float,
    slope: float,
    limits: tuple[float, float],
    overreach: float,
    smooth: bool = False,
) -> tuple[float, float]:
    """Walk along a rising function until its root lies between two points.

    Args:
        distance_at: the function.
        start: where to begin.
        slope: of the function there, as a first guess.
        limits: how far to bracket_root down and up.
        overreach: a step is made so much longer than the slope says, to pass the root.
        smooth: whether two values tell a slope, or are too noisy for that.

    Returns:
        The last two points; they are equal where an end was reached without passing the root.

    >>> bracket_root(lambda x: x - 4.0, 0.0, 2.0, (0.0, 10.0), overreach=1.2)
    (3.0, 4.5)
    >>> bracket_root(lambda x: x - 30.0, 0.0, 1.0, (0.0, 10.0), overreach=1.2)
    (10.0, 10.0)
    """
    low, high = limits
    here, distance, step = start, distance_at(start), SMALLEST_STEP
    for left in range(MOST_STEPS, 0, -1):
        length = overreach * abs(distance) / max(slope, FLAT)
        step = min(max(length, step), LARGEST_STEP) if left > 1 else math.inf
        there = min(max(here - math.copysign(step, distance), low), high)
        if there == here:
            break
        new = distance_at(there)
        if new == 0 or (new > 0) != (distance > 0):
            return here, there
        if smooth:
            slope, step = (new - distance) / (there - here), SMALLEST_STEP / LENGTHEN
        here, distance, step = there, new, LENGTHEN * step
    return here, here
