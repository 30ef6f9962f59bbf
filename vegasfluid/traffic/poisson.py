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
    """Offer one packet at `now` (ps) and schedule the next one.

    The first call, at the start of the flow, schedules only. The time between two packets has an
    exponential distribution.

    Returns:
        CONTINUED: the packet belongs to the present connection.
    """
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
        """Mean rate at which the application offers packets, packets/s: 1 / `mean_interval`.

        `packet_bytes` is not used.
        """
        return 1 / self.mean_interval

    @property
    def rules(self) -> SourceRules:
        """The packet simulator's rule, which offers single packets at random intervals."""
        return SourceRules(on_application)

    def packet_parameters(self, packet_bytes: int) -> dict[str, float]:
        """Numbers that the packet rule reads: `interval`, mean time between two packets, s."""
        return {"interval": self.mean_interval}
