"""On-off: a constant rate during Pareto on times, silence during Pareto off times.

Sources:
    W. Willinger, M. Taqqu, R. Sherman and D. Wilson, IEEE/ACM ToN 5(1), 1997: many such sources
    together are self-similar with H = (3 - shape) / 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from annotated_types import Gt

from vegasfluid.quantities import Delay, PacketsPerSecond, Positive, Share
from vegasfluid.traffic.chance import pareto
from vegasfluid.traffic.kind import CONTINUED, AbstractTraffic, OfferRules, ps

__all__ = ["OnOff"]


def on_application(flow: Any, now: int) -> int:
    """A packet, and the next one interval later, after the off time where the on time is over."""
    if flow.on_until < 0:
        flow.on_until = now + ps(pareto(flow, flow.on, flow.shape))
    flow.offered += 1
    following = now + ps(flow.interval)
    if following > flow.on_until:
        following = flow.on_until + ps(pareto(flow, flow.off, flow.shape))
        flow.on_until = following + ps(pareto(flow, flow.on, flow.shape))
    flow.app_at = following
    return CONTINUED


@dataclass(frozen=True)
class OnOff(AbstractTraffic):
    """Pareto on and off times.

    >>> OnOff(on=0.03, off=0.07, rate=100.0).shape
    1.5
    """

    name: ClassVar[str] = "on_off"

    on: Annotated[Delay, Positive]
    """Mean on time."""
    off: Annotated[Delay, Positive]
    """Mean off time."""
    rate: Annotated[PacketsPerSecond, Positive]
    """Packets handed to TCP while on."""
    shape: Annotated[Share, Gt(1)] = 1.5
    """Shape of both Pareto distributions; above 1, so that the means exist."""

    @property
    def rules(self) -> OfferRules:
        """A packet at a time."""
        return OfferRules(on_application, state={"on_until": -1})

    def packet_parameters(self, packet_bytes: int) -> dict[str, float]:
        """Mean times and the time between two packets, s, and the shape."""
        return {
            "on": float(self.on),
            "off": float(self.off),
            "interval": 1 / self.rate,
            "shape": float(self.shape),
        }
