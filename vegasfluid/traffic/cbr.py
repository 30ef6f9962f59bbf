"""CBR: packets at a constant rate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from vegasfluid.clock import picoseconds
from vegasfluid.quantities import PacketsPerSecond, Positive
from vegasfluid.traffic.base import CONTINUED, SourceRules, TrafficSource

__all__ = ["Cbr"]


def on_application(flow: Any, now: int) -> int:
    """Offer a packet, and schedule the next one after an interval."""
    flow.offered += 1
    flow.app_at = now + picoseconds(flow.interval)
    return CONTINUED


@dataclass(frozen=True)
class Cbr(TrafficSource):
    """Packets at a constant rate.

    >>> Cbr(rate=100.0).rate
    100.0
    """

    name: ClassVar[str] = "cbr"
    sources: ClassVar[tuple[str, ...]] = ("ns-2.35, Application/Traffic/CBR",)

    rate: Annotated[PacketsPerSecond, Positive]
    """Rate at which packets are offered to TCP."""

    def rate_limit(self, packet_bytes: int) -> float:
        """The rate, packets/s."""
        return self.rate

    @property
    def rules(self) -> SourceRules:
        """The rule that offers single packets."""
        return SourceRules(on_application)

    def packet_parameters(self, packet_bytes: int) -> dict[str, float]:
        """Time between two packets, s."""
        return {"interval": 1 / self.rate}
