"""Traffic sources, one file each: the data that applications offer to TCP, and when.

A new module of this package needs no registration: every subclass of `TrafficSource` with a name is
found.
"""

from __future__ import annotations

from functools import cache

from vegasfluid.discovery import named_subclasses
from vegasfluid.traffic.base import TrafficSource

__all__ = ["TrafficSource", "traffic_sources"]


@cache
def traffic_sources() -> dict[str, type[TrafficSource]]:
    """Classes of all traffic sources of this package, by their names in model files.

    >>> sorted(traffic_sources())
    ['bulk', 'cbr', 'on_off', 'poisson', 'sessions']
    """
    return named_subclasses(__name__, __path__, TrafficSource)
