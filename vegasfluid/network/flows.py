"""Classes of identical flows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Annotated, Any, Literal

from annotated_types import Ge, Le

from vegasfluid.congestion.base import CongestionControl
from vegasfluid.errors import InvalidInput, Words
from vegasfluid.network.hosts import HOSTS, LARGEST_RTO, Host, HostName
from vegasfluid.network.link import Link
from vegasfluid.quantities import (
    Delay,
    Packets,
    PacketsPerSecond,
    Positive,
    Seconds,
    Value,
    require_one_of,
)
from vegasfluid.traffic.base import TrafficSource
from vegasfluid.traffic.bulk import Bulk

__all__ = ["Flows", "UniformStart"]


@dataclass(frozen=True)
class UniformStart(Value):
    """Random start times, uniform from 0 to `spread`; each seed gives other times."""

    spread: Seconds
    """Latest start time, s."""


@dataclass(frozen=True)
class Flows(Value):
    """A class of identical flows.

    Exactly one of `base_rtt` and `access_delay` is given. Fields for which None means "the host's"
    have the value of the flows' `host` if they are None.

    >>> from vegasfluid.congestion.reno import Reno
    >>> Flows(5, Reno(), base_rtt=0.04).propagation([Link(1000.0, 100)])
    (0.04, 0.04, 0.04, 0.04, 0.04)
    """

    count: Annotated[int, Ge(1), Le(1_000_000)]
    """Number of flows."""
    law: CongestionControl
    """Their congestion control."""
    base_rtt: Annotated[Delay, Positive] | tuple[Annotated[Delay, Positive], ...] | None = None
    """Round-trip propagation delay, s, of the links included: one for all, or one per flow."""
    access: Annotated[PacketsPerSecond, Positive] | None = None
    """Rate of the access link at each end, packets/s; None: unlimited."""
    access_delay: Delay | None = None
    """One-way propagation delay of the access link at each end, s; the links' delays are added."""
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
    host: HostName | None = None
    """Kind of the hosts at both ends, a name in `HOSTS`; None: `Network.default_host` (the host of
    the network's Vegas classes, else `textbook`)."""
    initial_window: Annotated[Packets, Ge(1)] | None = None
    """Initial congestion window, packets; None: the host's."""
    initial_ssthresh: Annotated[Packets, Ge(2)] | None = None
    """Window at which the first slow start ends (the initial ssthresh), packets; None: the
    host's."""
    min_rto: Annotated[Seconds, Positive, LARGEST_RTO] | None = None
    """Lower bound of the retransmission timeout, s; None: the host's."""
    initial_rto: Annotated[Seconds, Positive, LARGEST_RTO] | None = None
    """Retransmission timeout before the first round-trip sample, s; None: the host's."""
    delayed_ack: Delay | None = None
    """Delayed-ACK timer of the receiver, s; 0: every packet is acknowledged at once; None: the
    host's."""
    quick_acks: Annotated[int, Ge(0), Le(1_000_000_000)] | None = None
    """Packets at the start of a connection that are acknowledged at once; None: the host's."""
    send_overhead: Delay | None = None
    """Maximum of the uniform random delay before each transmission, s; None: chosen by
    `Network.send_overhead`."""
    ecn: bool = True
    """Whether the flows are ECN-capable: queues may mark their packets instead of dropping them."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.direction not in ("forward", "reverse"):
            raise InvalidInput("Flows", "direction", "forward or reverse", self.direction)
        if self.host is not None:
            require_one_of(self, "host", HOSTS)
        if (self.base_rtt is None) == (self.access_delay is None):
            if self.base_rtt is None:
                raise InvalidInput(
                    "Flows", "base_rtt", "given, or else access_delay", Words("missing")
                )
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
                raise InvalidInput("Flows", name, allowed, Words(f"{len(value)} values"))

    @property
    def settings(self) -> Host:
        """Host of the flows, with the values that the flows or their law set themselves.

        Raises:
            AssertionError: if `host` is None; in `Network.resolved()` it never is.
        """
        assert self.host is not None, "the host is known in Network.resolved() only"
        return replace(HOSTS[self.host], **self.own_settings)

    @property
    def own_settings(self) -> dict[str, Any]:
        """Values that the flows or their congestion control set themselves, by field of `Host`.

        The flows' own value counts more than that of their congestion control; None counts as not
        set.
        """
        names = [entry.name for entry in fields(Host) if entry.name != "name"]
        return {
            name: getattr(owner, name)
            for owner in (self.law, self)
            for name in names
            if getattr(owner, name, None) is not None
        }

    def on_host(self, name: str) -> Flows:
        """Copy of the flows with `host` set, and with the host's value in each field that is None.

        If nothing is missing, the flows themselves are returned.

        Args:
            name: host of flows whose `host` is None, a name in `HOSTS`; otherwise not used.
        """
        host = HOSTS[self.host or name]
        values = {
            entry.name: getattr(host, entry.name)
            for entry in fields(Host)
            if getattr(self, entry.name, 0) is None
        }
        law = self.law.on_host(host)
        if self.host is not None and law is self.law and not values:
            return self
        return replace(self, host=host.name, law=law, **values)

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
