"""Bulk: an endless file, so that TCP alone decides the rate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from vegasfluid.traffic.base import CONTINUED, NEVER, SourceRules, TrafficSource

__all__ = ["ENDLESS", "Bulk"]

ENDLESS = 2**60
"""Packets; more than any run sends."""


def on_application(flow: Any, now: int) -> int:
    """Everything at once."""
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
        """Everything at the start."""
        return SourceRules(on_application)
