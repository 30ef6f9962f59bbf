"""What is connected to what: links, classes of flows, and the network they make.

Values only: nothing here computes a trajectory, and nothing is changed in place.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal

from annotated_types import Ge, Le

from vegasfluid.aqm.base import QueueDiscipline
from vegasfluid.aqm.droptail import DropTail
from vegasfluid.congestion.base import CongestionControl
from vegasfluid.errors import InvalidInput
from vegasfluid.quantities import (
    Delay,
    Packets,
    PacketsPerSecond,
    Positive,
    Seconds,
    Value,
    check_quantities,
    is_concrete,
)
from vegasfluid.traffic.base import TrafficSource
from vegasfluid.traffic.bulk import Bulk

__all__ = ["Event", "Flows", "Link", "Network", "Spread"]

SINGLE_LINK = "bottleneck"
ROUNDING = 1e-12
"""s: what an order of additions may change in a sum of delays."""


@dataclass(frozen=True)
class Spread(Value):
    """Uniform random start times from 0 to `spread`, drawn anew for each seed."""

    spread: Seconds


@dataclass(frozen=True)
class Link(Value):
    """A link with the queue in front of it.

    >>> Link(capacity=1000.0, buffer=100).aqm.name
    'droptail'
    """

    capacity: Annotated[PacketsPerSecond, Positive]
    """Data packets that the link sends."""
    buffer: Annotated[Packets, Ge(1)]
    """Packets that can wait, besides the one in transmission."""
    aqm: QueueDiscipline = field(default_factory=DropTail)
    """The law by which the queue drops."""
    delay: Delay = 0.0
    """Propagation one way."""
    jitter: Delay = 0.0
    """Largest random delay that is added to each packet."""
    jitter_reorders: bool = False
    """Whether jitter may change the order of packets."""


@dataclass(frozen=True)
class Flows(Value):
    """A class of flows that are alike.

    >>> from vegasfluid.congestion.reno import Reno
    >>> Flows(5, Reno(), base_rtt=0.04).propagation([Link(1000.0, 100)])
    (0.04, 0.04, 0.04, 0.04, 0.04)
    """

    count: Annotated[int, Ge(1), Le(1_000_000)]
    """Number of flows."""
    law: CongestionControl
    """Their congestion control."""
    base_rtt: Annotated[Delay, Positive] | tuple[Annotated[Delay, Positive], ...] | None = None
    """Propagation there and back; one value, or one a flow; instead of `access_delay`."""
    access: Annotated[PacketsPerSecond, Positive] | None = None
    """Rate of the access link at each end; None: no limit."""
    access_delay: Delay | None = None
    """Propagation of the access link at each end, one way."""
    start: Seconds | tuple[Seconds, ...] | Spread = 0.0
    """When they start: one value, one a flow, or at random."""
    traffic: TrafficSource = field(default_factory=Bulk)
    """What their applications offer."""
    direction: Literal["forward", "reverse"] = "forward"
    """Whether data go with the links' stream or against it."""
    path: tuple[str, ...] | None = None
    """The links that they cross, by name; None: the single link."""
    max_window: Annotated[Packets, Ge(1)] = 1e5
    """Advertised window or send buffer."""
    initial_window: Annotated[Packets, Ge(1)] = 1.0
    """Window at the start."""
    initial_ssthresh: Annotated[Packets, Ge(2)] = 1e5
    """Window at which the first slow start ends."""
    min_rto: Annotated[Seconds, Positive] = 0.2
    """Smallest retransmission timeout."""
    delayed_ack: Delay = 0.0
    """Longest time that a receiver holds an ACK back; 0: every packet is acknowledged at once."""
    quick_acks: Annotated[int, Ge(0)] = 0
    """First packets of a connection whose ACKs are not held back (Linux: 16)."""
    send_overhead: Delay | None = None
    """Largest random time that a sender takes before sending; None: see `Network.send_overhead`."""
    ecn: bool = True
    """Whether queues may mark their packets instead of dropping them."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.direction not in ("forward", "reverse"):
            raise InvalidInput("Flows", "direction", "forward or reverse", self.direction)
        if (self.base_rtt is None) == (self.access_delay is None):
            if self.base_rtt is None:
                raise InvalidInput("Flows", "base_rtt", "given, or else access_delay", "missing")
            allowed = "left out where access_delay is given"
            raise InvalidInput("Flows", "base_rtt", allowed, self.base_rtt)
        if not self.law.rules.reliable and self.traffic.name == "bulk":
            raise InvalidInput("Flows", "traffic", "other than bulk with the law udp", "bulk")
        for name in ("base_rtt", "start"):
            value = getattr(self, name)
            if isinstance(value, tuple) and len(value) != self.count:
                allowed = f"one value, or {self.count} values"
                raise InvalidInput("Flows", name, allowed, f"{len(value)} values")

    def propagation(self, links: Sequence[Link]) -> tuple[float, ...]:
        """Propagation there and back of each flow over `links`, s."""
        if isinstance(self.base_rtt, tuple):
            return self.base_rtt
        if self.base_rtt is not None:
            return (self.base_rtt,) * self.count
        assert self.access_delay is not None
        return (4 * self.access_delay + 2 * sum(link.delay for link in links),) * self.count


@dataclass(frozen=True)
class Event(Value):
    """A change of delay while the run goes on, as after rerouting.

    What leaves for that link later than `at` takes the new time; it may overtake what left before.
    """

    at: Seconds
    """When."""
    link: str
    """A link's name, or `access` for the access links of `flows`."""
    delay: Delay
    """The new propagation: of a link one way; of access links what the class gives, which is
    its `access_delay` or its `base_rtt`."""
    flows: str | None = None
    """The class whose access links change; None: all classes."""


@dataclass(frozen=True, init=False)
class Network(Value):
    """Links, and the classes of flows that share them.

    Args:
        links: one link, or links by name.
        flows: classes of flows by name.
        packet_bytes: size of a data packet on the wire, bytes.
        ack_bytes: size of an acknowledgement, bytes.
        events: changes of delay during the run, in order of time.

    Raises:
        InvalidInput: for an unknown link in a path or an event, or no flows.
    """

    links: Mapping[str, Link]
    flows: Mapping[str, Flows]
    packet_bytes: Annotated[int, Ge(1), Le(65535)] = 1500
    ack_bytes: Annotated[int, Ge(1), Le(65535)] = 40
    events: tuple[Event, ...] = ()

    def __init__(
        self,
        links: Link | Mapping[str, Link],
        flows: Mapping[str, Flows],
        packet_bytes: int = 1500,
        ack_bytes: int = 40,
        events: tuple[Event, ...] = (),
    ) -> None:
        named = {SINGLE_LINK: links} if isinstance(links, Link) else links
        _check_parts("links", named, Link)
        _check_parts("flows", flows, Flows)
        values = (dict(named), dict(flows), packet_bytes, ack_bytes, tuple(events))
        for name, value in zip(self.__dataclass_fields__, values, strict=True):
            object.__setattr__(self, name, value)
        check_quantities(self)
        self._check_connections()

    def _check_connections(self) -> None:
        if not self.links:
            raise InvalidInput("Network", "links", "at least one link", "none")
        if not self.flows:
            raise InvalidInput("Network", "flows", "at least one class of flows", "none")
        for name, flows in self.flows.items():
            if flows.path == ():
                raise InvalidInput(f"flows.{name}", "path", "at least one link", "none")
            if flows.path is None and len(self.links) > 1:
                allowed = "given where there are several links"
                raise InvalidInput(f"flows.{name}", "path", allowed, "missing")
            for link in flows.path or ():
                if link not in self.links:
                    known = "one of " + ", ".join(self.links)
                    raise InvalidInput(f"flows.{name}", "path", known, link)
            self._check_round_trip(f"flows.{name}", "base_rtt", flows, self.path(name))
        for index, event in enumerate(self.events):
            self._check_event(f"events[{index}]", event)
            if index and event.at < self.events[index - 1].at:
                raise InvalidInput(f"events[{index}]", "at", "in order of time", event.at)

    def _check_round_trip(
        self, whose: str, given_as: str, flows: Flows, links: Sequence[Link]
    ) -> None:
        least, given = 2 * sum(link.delay for link in links), flows.propagation(links)
        if all(map(is_concrete, (least, *given))) and min(given) < least - ROUNDING:
            allowed = f"at least twice the delay of its links ({least:g} s)"
            raise InvalidInput(whose, given_as, allowed, min(given))

    def _check_event(self, whose: str, event: Event) -> None:
        if event.link != "access" and event.link not in self.links:
            known = "access or one of " + ", ".join(self.links)
            raise InvalidInput(whose, "link", known, event.link)
        if event.flows is not None and event.flows not in self.flows:
            raise InvalidInput(whose, "flows", "one of " + ", ".join(self.flows), event.flows)
        if event.link == "access":
            for name in self.flows if event.flows is None else (event.flows,):
                if self.flows[name].base_rtt is not None:
                    changed = replace(self.flows[name], base_rtt=event.delay)
                    self._check_round_trip(whose, "delay", changed, self.path(name))

    @property
    def link(self) -> Link:
        """The link of a network that has one.

        Raises:
            InvalidInput: where there are several.
        """
        if len(self.links) != 1:
            raise InvalidInput("Network", "links", "one link here", f"{len(self.links)} links")
        return next(iter(self.links.values()))

    def path(self, flows: str) -> tuple[Link, ...]:
        """The links that a class crosses, in the direction of the stream."""
        return tuple(self.links[name] for name in self.route(flows))

    def flow_class(self, name: str) -> Flows:
        """The flows of a class.

        Raises:
            InvalidInput: for a name that no class has.
        """
        if name not in self.flows:
            raise InvalidInput("Network", "flows", "one of " + ", ".join(self.flows), name)
        return self.flows[name]

    def route(self, flows: str) -> tuple[str, ...]:
        """The names of the links that a class crosses, in the direction of the stream."""
        given = self.flow_class(flows).path
        return tuple(self.links) if given is None else given

    def crossing(self, link: str) -> int:
        """The number of flows that cross a link."""
        return sum(of.count for name, of in self.flows.items() if link in self.route(name))

    def send_overhead(self, flows: str) -> float:
        """The largest random time that the senders of a class take before they send, s.

        Where it is not given: one packet time of the slowest link on the path that several flows
        share and that drops only at a full buffer; 0 where there is none, and of flows that do not
        answer losses. Without any randomness
        flows over such a link fall into step, and which of them loses is an accident of phases (S.
        Floyd and V. Jacobson, "On traffic phase effects in packet-switched gateways", 1992, which
        has this remedy). The times of real hosts vary by themselves. Packets only.
        """
        of = self.flow_class(flows)
        if of.send_overhead is not None or not of.law.rules.reliable:
            return of.send_overhead or 0.0
        shared = (self.links[name] for name in self.route(flows) if self.crossing(name) > 1)
        times = [1 / link.capacity for link in shared if not link.aqm.drops_by_chance]
        return max(times, default=0.0)

    def assumptions(self) -> list[str]:
        """What packet runs take for granted that the model does not say, a sentence each."""
        taken: dict[float, list[str]] = {}
        for name, flows in self.flows.items():
            time = self.send_overhead(name)
            if flows.send_overhead is None and time > 0:
                taken.setdefault(time, []).append(name)
        return [
            f"{', '.join(names)}: senders wait at random up to {time * 1e3:.3g} ms, a packet time, "
            "before they send, or flows over drop-tail would fall into step (send_overhead_ms)."
            for time, names in taken.items()
        ]

    @property
    def two_way(self) -> bool:
        """Whether data go both ways, so that ACKs wait in queues."""
        return any(flows.direction == "reverse" for flows in self.flows.values())

    @property
    def counts(self) -> list[int]:
        """The number of flows of each class, in order."""
        return [flows.count for flows in self.flows.values()]

    def with_law(self, flows: str, law: CongestionControl) -> Network:
        """The same network with another law for one class of flows."""
        changed = {**self.flows, flows: replace(self.flow_class(flows), law=law)}
        return replace(self, flows=changed)

    def base_rtts(self, flows: str) -> tuple[float, ...]:
        """The round-trip time of each flow of a class with nothing in the queues, s.

        Propagation, and the time to put a packet and its acknowledgement on every link.
        """
        of, links = self.flow_class(flows), self.path(flows)
        bits = 1 + self.ack_bytes / self.packet_bytes
        sending = sum(bits / link.capacity for link in links)
        sending += 0.0 if of.access is None else 2 * bits / of.access
        ways = of.propagation(links)
        trips = {id(way): way + sending for way in ways}  # flows that are alike share the value
        return tuple(trips[id(way)] for way in ways)

    def mean_base_rtt(self, flows: str) -> float:
        """The mean of `base_rtts` over the flows of a class, s."""
        rtts = self.base_rtts(flows)
        return sum(rtts) / len(rtts)

    def bandwidth_delay(self) -> float:
        """Packets that the slowest link holds in a mean round trip with nothing in the queues."""
        rtts = [rtt for name in self.flows for rtt in self.base_rtts(name)]
        return min(link.capacity for link in self.links.values()) * sum(rtts) / len(rtts)

    def fair_share(self) -> float:
        """What each flow had if all that cross the most crowded link had the same, packets/s."""
        capacities = {name: float(link.capacity) for name, link in self.links.items()}
        return min(of / max(self.crossing(name), 1) for name, of in capacities.items())

    def warnings(self) -> list[str]:
        """What is allowed, but probably not meant."""
        found = []
        slowest = min(link.capacity for link in self.links.values())
        if _below(sum(map(access_rate, self.flows.values())), slowest):
            found.append("the access links together cannot fill the link.")
        for name, link in self.links.items():
            high = getattr(link.aqm, "max_thresh", None)
            if high is not None and _below(link.buffer, high):
                of = "" if len(self.links) == 1 else f" of {name}"
                found.append(f"the buffer{of} is full before RED's max_thresh is reached.")
        return found


def require_network(whose: str, given: Any) -> None:
    """Refuse what is no network.

    Args:
        whose: the function that it was given to.
        given: in the place of a network.

    Raises:
        InvalidInput: for anything else.
    """
    if not isinstance(given, Network):
        shown = given if isinstance(given, str) else type(given).__name__
        allowed = "a Network (that of a model file is read_model(...).network)"
        raise InvalidInput(whose, "network", allowed, shown)


def _check_parts(name: str, given: Any, kind: type) -> None:
    """Refuse what is no mapping of names to instances of a class."""
    allowed = f"a mapping of names to instances of {kind.__name__}"
    if not isinstance(given, Mapping):
        raise InvalidInput("Network", name, allowed, type(given).__name__)
    for key, part in given.items():
        if not isinstance(part, kind):
            shown = part.__name__ if isinstance(part, type) else type(part).__name__
            raise InvalidInput(
                "Network", f"{name}[{key!r}]", f"an instance of {kind.__name__}", shown
            )


def access_rate(flows: Flows) -> float:
    """The rate of all access links of a class, packets/s."""
    return math.inf if flows.access is None else flows.access * flows.count


def _below(a: Any, b: Any) -> bool:
    return is_concrete(a) and is_concrete(b) and a < b
