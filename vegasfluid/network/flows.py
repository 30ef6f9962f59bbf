"""Classes of identical flows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal

from annotated_types import Ge, Le

from vegasfluid.congestion.base import CongestionControl
from vegasfluid.errors import InvalidInput
from vegasfluid.limits import Largest
from vegasfluid.network.link import Link
from vegasfluid.quantities import (
    Delay,
    Packets,
    PacketsPerSecond,
    Positive,
    Seconds,
    Value,
)
from vegasfluid.traffic.base import TrafficSource
from vegasfluid.traffic.bulk import Bulk

__all__ = ["Flows", "UniformStart"]

LARGEST_RTO = Largest(1e5, "a timer may grow to 64 times as much, on a clock of 64 bits")
"""Largest retransmission timeout before backoff, s (ns-2.35: `maxrto_`)."""


@dataclass(frozen=True)
class UniformStart(Value):
    """Random start times, uniform from 0 to `spread`; each seed gives other times."""

    spread: Seconds
    """Latest start time, s."""


@dataclass(frozen=True)
class Flows(Value):
    """A class of identical flows.

    >>> from vegasfluid.congestion.reno import Reno
    >>> Flows(5, Reno(), base_rtt=0.04).propagation([Link(1000.0, 100)])
    (0.04, 0.04, 0.04, 0.04, 0.04)
    """

    count: Annotated[int, Ge(1), Le(1_000_000)]
    """Number of flows."""
    law: CongestionControl
    """Their congestion control."""
    base_rtt: Annotated[Delay, Positive] | tuple[Annotated[Delay, Positive], ...] | None = None
    """Round-trip propagation delay, s: one for all, or one per flow. Instead of `access_delay`."""
    access: Annotated[PacketsPerSecond, Positive] | None = None
    """Rate of the access link at each end, packets/s; None: unlimited."""
    access_delay: Delay | None = None
    """One-way propagation delay of the access link at each end, s."""
    start: Seconds | tuple[Seconds, ...] | UniformStart = 0.0
    """Start time, s: one value, one per flow, or random."""
    traffic: TrafficSource = field(default_factory=Bulk)
    """The traffic source: how much data the applications offer, and when."""
    direction: Literal["forward", "reverse"] = "forward"
    """Whether data cross the links in their forward direction or in reverse."""
    path: tuple[str, ...] | None = None
    """Names of the links that the flows cross, in the forward direction; None: the single link."""
    max_window: Annotated[Packets, Ge(1)] = 1e5
    """Largest window, packets: the advertised window or the send buffer."""
    initial_window: Annotated[Packets, Ge(1)] = 1.0
    """Initial congestion window, packets."""
    initial_ssthresh: Annotated[Packets, Ge(2)] = 1e5
    """Window at which the first slow start ends (the initial ssthresh), packets."""
    min_rto: Annotated[Seconds, Positive, LARGEST_RTO] = 0.2
    """Lower bound of the retransmission timeout, s."""
    delayed_ack: Delay = 0.0
    """Delayed-ACK timer of the receiver, s; 0: every packet is acknowledged at once."""
    quick_acks: Annotated[int, Ge(0), Le(1_000_000_000)] = 0
    """Packets at the start of a connection that are acknowledged at once (Linux: 16)."""
    send_overhead: Delay | None = None
    """Maximum of the uniform random delay before each transmission, s; None: chosen by
    `Network.send_overhead`."""
    ecn: bool = True
    """Whether the flows are ECN-capable: queues may mark their packets instead of dropping them."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.direction not in ("forward", "reverse"):
            raise InvalidInput("Flows", "direction", "forward or reverse", self.direction)
        if (self.base_rtt is None) == (self.access_delay is None):
            if self.base_rtt is None:
                raise InvalidInput("Flows", "base_rtt", "given, or else access_delay", "missing")
            allowed = "left out where access_delay is given"
            raise InvalidInput("Flows", "base_rtt", allowed, self.base_rtt)
        if not self.law.rules.reliable and self.traffic.endless:
            source = self.traffic.name
            allowed = f"other than {source} with the law {self.law.name}"
            raise InvalidInput("Flows", "traffic", allowed, source)
        for name in ("base_rtt", "start"):
            value = getattr(self, name)
            if isinstance(value, tuple) and len(value) != self.count:
                allowed = f"one value, or {self.count} values"
                raise InvalidInput("Flows", name, allowed, f"{len(value)} values")

    def propagation(self, links: Sequence[Link]) -> tuple[float, ...]:
        """Round-trip propagation delay of each flow, s; (flow,).

        Args:
            links: the links of the flows' path; unused where `base_rtt` is given.

        Returns:
            `base_rtt`, or else four access-link delays and twice the delays of the links, without
            transmission and queueing.
        """
        if isinstance(self.base_rtt, tuple):
            return self.base_rtt
        if self.base_rtt is not None:
            return (self.base_rtt,) * self.count
        assert self.access_delay is not None
        return (4 * self.access_delay + 2 * sum(link.delay for link in links),) * self.count
