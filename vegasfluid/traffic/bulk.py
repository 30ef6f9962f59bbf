"""Bulk: an endless file, so that TCP alone decides the rate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from vegasfluid.traffic.kind import CONTINUED, NEVER, AbstractTraffic, OfferRules

__all__ = ["ENDLESS", "Bulk"]

ENDLESS = 2**60
"""Packets; more than any run sends."""


def on_application(flow: Any, now: int) -> int:
    """Everything at once."""
    flow.offered = ENDLESS
    flow.app_at = NEVER
    return CONTINUED


@dataclass(frozen=True)
class Bulk(AbstractTraffic):
    """An endless file.

    >>> Bulk().name
    'bulk'
    """

    name: ClassVar[str] = "bulk"

    @property
    def rules(self) -> OfferRules:
        """Everything at the start."""
        return OfferRules(on_application)
