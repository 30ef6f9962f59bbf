"""Congestion controls, one file each: the fluid model's drift beside the packet rules.

A new module of this package needs no registration: every subclass of `CongestionControl` with a
name is found.
"""

from __future__ import annotations

from functools import cache

from vegasfluid.congestion.base import CongestionControl
from vegasfluid.discovery import named_subclasses

__all__ = ["CongestionControl", "congestion_controls"]


@cache
def congestion_controls() -> dict[str, type[CongestionControl]]:
    """Classes of all congestion controls of this package, by their names in model files.

    >>> sorted(congestion_controls())[:5]
    ['cubic', 'dctcp', 'highspeed', 'newreno', 'reno']
    """
    return named_subclasses(__name__, __path__, CongestionControl)
