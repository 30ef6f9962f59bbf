"""Bulk: an endless file, so that only TCP limits the rate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from vegasfluid.clock import NEVER
from vegasfluid.traffic.base import CONTINUED, SourceRules, TrafficSource

__all__ = ["ENDLESS", "Bulk"]

ENDLESS = 2**60
"""Size of an endless file, packets: more than any run sends."""


def on_application(flow: Any, now: int) -> int:
    """Offer the whole endless file to TCP (`flow.offered`, packets) at the start.

    Returns:
        CONTINUED: it belongs to the present connection.
    """
    flow.offered = ENDLESS
    flow.app_at = NEVER
    return CONTINUED


@dataclass(frozen=True)
class Bulk(TrafficSource):
    """An endless file.

    >>> Bulk().name
    'bulk'
    """

    name: ClassVar[str] = "bulk"
    endless: ClassVar[bool] = True
    sources: ClassVar[tuple[str, ...]] = ("ns-2.35, Application/FTP (a file without end)",)

    @property
    def rules(self) -> SourceRules:
        """The packet simulator's rule, which offers an endless file at the start."""
        return SourceRules(on_application)
