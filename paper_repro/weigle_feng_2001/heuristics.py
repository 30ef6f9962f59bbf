"""The heuristics of sections 4.1 and 4.2 for alpha and beta; settings of figures 3 and 4."""

from __future__ import annotations

from paper_repro.weigle_feng_2001.networks import Pair

__all__ = ["LOWS", "QUEUES", "less_two", "third_of"]

QUEUES = (4, 7, 10, 15, 20, 25, 30, 40, 50)
"""Sizes of the queue, packets."""
LOWS = tuple(range(3, 11))
"""RED_min, packets; RED_max is twice that."""


def third_of(queue: int) -> Pair:
    """Return alpha and beta of the heuristic of section 4.1.

    >>> third_of(7), third_of(50)
    ((1, 2), (15, 16))
    """
    return int(queue / 3 - 1), int(queue / 3)


def less_two(low: int) -> Pair:
    """Return alpha and beta of the heuristic of section 4.2.

    >>> less_two(3)
    (1, 4)
    """
    return low - 2, 2 * low - 2
