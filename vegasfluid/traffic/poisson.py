"""Poisson: packets at exponentially distributed intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from vegasfluid.clock import picoseconds
from vegasfluid.quantities import Delay, Positive
from vegasfluid.traffic.base import CONTINUED, SourceRules, TrafficSource
from vegasfluid.traffic.random_variates import exponential

__all__ = ["Poisson"]


def on_application(flow: Any, now: int) -> int:
    """Offer a packet, except at the start, and schedule the next one."""
    flow.offered += now > flow.start
    flow.app_at = now + picoseconds(exponential(flow, flow.interval)) + 1
    return CONTINUED


@dataclass(frozen=True)
class Poisson(TrafficSource):
    """Packets at exponentially distributed intervals.

    >>> Poisson(mean_interval=0.01).mean_interval
    0.01
    """

    name: ClassVar[str] = "poisson"
    sources: ClassVar[tuple[str, ...]] = ("Kleinrock, Queueing Systems I, 1975, section 2.4",)

    mean_interval: Annotated[Delay, Positive]
    """Mean time between two packets."""

    def rate_limit(self, packet_bytes: int) -> float:
        """Mean rate, packets/s."""
        return 1 / self.mean_interval

    @property
    def rules(self) -> SourceRules:
        """The rule that offers single packets."""
        return SourceRules(on_application)

    def packet_parameters(self, packet_bytes: int) -> dict[str, float]:
        """Mean time between two packets, s."""
        return {"interval": self.mean_interval}
