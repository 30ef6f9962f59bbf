"""CBR: packets at a constant rate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from vegasfluid.clock import picoseconds
from vegasfluid.quantities import PacketsPerSecond, Positive
from vegasfluid.traffic.base import CONTINUED, SourceRules, TrafficSource

__all__ = ["Cbr"]


def on_application(flow: Any, now: int) -> int:
    """Offer one packet at `now` (ps) and schedule the next after an interval.

    Returns:
        CONTINUED: the packet belongs to the present connection.
    """
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
        """Constant rate at which the application offers packets, packets/s.

        `packet_bytes` is not used.
        """
        return self.rate

    @property
    def rules(self) -> SourceRules:
        """The packet simulator's rule, which offers single packets at equal intervals."""
        return SourceRules(on_application)

    def packet_parameters(self, packet_bytes: int) -> dict[str, float]:
        """Numbers that the packet rule reads: `interval`, time between two packets, s."""
        return {"interval": 1 / self.rate}
