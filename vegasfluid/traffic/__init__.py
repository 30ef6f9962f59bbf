"""Traffic kinds, one file each: what applications offer to TCP.

A module of this package that defines a kind is found by itself: adding a kind is adding its file.
"""

from __future__ import annotations

from functools import cache

from vegasfluid.discovery import named_subclasses
from vegasfluid.traffic.base import TrafficSource

__all__ = ["TrafficSource", "traffic_sources"]


@cache
def traffic_sources() -> dict[str, type[TrafficSource]]:
    """Every kind of traffic by its name in model files.

    >>> sorted(traffic_sources())
    ['bulk', 'cbr', 'on_off', 'poisson', 'sessions']
    """
    return named_subclasses(__name__, __path__, TrafficSource)
