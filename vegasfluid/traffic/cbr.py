"""CBR: packets at a constant rate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from vegasfluid.quantities import PacketsPerSecond, Positive
from vegasfluid.traffic.base import CONTINUED, SourceRules, TrafficSource, ps

__all__ = ["Cbr"]


def on_application(flow: Any, now: int) -> int:
    """One packet, and the next after one interval."""
    flow.offered += 1
    flow.app_at = now + ps(flow.interval)
    return CONTINUED


@dataclass(frozen=True)
class Cbr(TrafficSource):
    """Packets at a constant rate.

    >>> Cbr(rate=100.0).rate
    100.0
    """

    name: ClassVar[str] = "cbr"
    sources: ClassVar[tuple[str, ...]] = ("ns-2.35, Application/Traffic/CBR",)
    validation: ClassVar[Mapping[str, str]] = {
        "tests/fluid/test_networks.py": "the mean rate, in the fluid",
        "tests/packet/test_queues.py": "sources of random phase queue as N D/D/1",
        "tests/agreement/test_ns2_more.py": "beside Reno and Vegas on network 2: ns-2.35",
        "tests/packet/test_engines.py": "packet by packet against a second, conventional engine",
        "tests/export/test_ns2.py": "shares against ns-2.35, by the exported scenarios",
    }

    rate: Annotated[PacketsPerSecond, Positive]
    """Packets handed to TCP."""

    def rate_limit(self, packet_bytes: int) -> float:
        """The rate."""
        return self.rate

    @property
    def rules(self) -> SourceRules:
        """A packet at a time."""
        return SourceRules(on_application)

    def packet_parameters(self, packet_bytes: int) -> dict[str, float]:
        """The time between two packets, s."""
        return {"interval": 1 / self.rate}
