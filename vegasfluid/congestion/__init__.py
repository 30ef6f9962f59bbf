"""Congestion-control laws, one file each: a fluid drift and packet rules, side by side.

A module of this package that defines a law is found by itself: adding a law is adding its file.
"""

from __future__ import annotations

from functools import cache

from vegasfluid.congestion.base import CongestionControl
from vegasfluid.discovery import named_subclasses

__all__ = ["CongestionControl", "congestion_controls"]


@cache
def congestion_controls() -> dict[str, type[CongestionControl]]:
    """Every congestion-control law by its name in model files.

    >>> sorted(congestion_controls())
    ['cubic', 'highspeed', 'newreno', 'reno', 'scalable', 'udp', 'vegas', 'vegas_rerouting']
    """
    return named_subclasses(__name__, __path__, CongestionControl)
