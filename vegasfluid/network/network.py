"""The network: links and the classes of flows that share them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any

from annotated_types import Ge, Le

from vegasfluid.congestion.base import CongestionControl
from vegasfluid.errors import InvalidInput, Words
from vegasfluid.html_table import html_table
from vegasfluid.network.arguments import check_events, check_parts
from vegasfluid.network.connections import check_connections
from vegasfluid.network.event import Event
from vegasfluid.network.flows import Flows
from vegasfluid.network.hosts import HOSTS, TEXTBOOK
from vegasfluid.network.link import Link
from vegasfluid.network.rows import FLOW_COLUMNS, LINK_COLUMNS, flow_rows, link_rows
from vegasfluid.network.warnings import implausible_times, small_buffers, weak_access
from vegasfluid.quantities import Value, check_quantities

__all__ = ["SINGLE_LINK", "Network", "require_network"]

SINGLE_LINK = "bottleneck"
"""Name of the link of a network that is given a single link without a name."""


@dataclass(frozen=True, init=False)
class Network(Value):
    """Links, and the classes of flows that share them.

    Args:
        links: one link, or links by name.
        flows: classes of flows by name.
        packet_bytes: size of a data packet on the wire, bytes.
        ack_bytes: size of all acknowledgements on the wire, bytes; None: for each class the
            `ack_bytes` of its host.
        events: changes of delay during the run, in order of time.

    Raises:
        InvalidInput: for no links or flows, an unknown name in a path or an event, or a base RTT
            below twice the delay of its links.
    """

    links: Mapping[str, Link]
    flows: Mapping[str, Flows]
    packet_bytes: Annotated[int, Ge(1), Le(65535)] = 1500
    ack_bytes: Annotated[int, Ge(1), Le(65535)] | None = None
    events: tuple[Event, ...] = ()

    def __init__(
        self,
        links: Link | Mapping[str, Link],
        flows: Mapping[str, Flows],
        packet_bytes: int = 1500,
        ack_bytes: int | None = None,
        events: tuple[Event, ...] = (),
    ) -> None:
        named = {SINGLE_LINK: links} if isinstance(links, Link) else links
        check_parts("links", named, Link)
        check_parts("flows", flows, Flows)
        check_events(events)
        values = (dict(named), dict(flows), packet_bytes, ack_bytes, tuple(events))
        for name, value in zip(self.__dataclass_fields__, values, strict=True):
            object.__setattr__(self, name, value)
        check_quantities(self)
        check_connections(self)

    def _repr_html_(self) -> str:
        """Tables of links and classes, for notebooks."""
        links = html_table("Links", LINK_COLUMNS, link_rows(self))
        return links + html_table("Classes of flows", FLOW_COLUMNS, flow_rows(self))

    @property
    def link(self) -> Link:
        """The link of a network with a single link.

        Raises:
            InvalidInput: for a network with several links.
        """
        if len(self.links) != 1:
            raise InvalidInput(
                "Network", "links", "a single link", Words(f"{len(self.links)} links")
            )
        return next(iter(self.links.values()))

    @property
    def default_host(self) -> str:
        """Name of the host of classes whose `host` is None, that of the network's Vegas classes.

        It is `textbook` without a Vegas class, or if these have different implementations.
        """
        hosts = {flows.law.usual_host for flows in self.flows.values()} - {None}
        return (hosts.pop() if len(hosts) == 1 else None) or TEXTBOOK.name

    def resolved(self) -> Network:
        """Network with the same behaviour in which no value is left to a host or a default.

        Every class has a host and all of its values, and every queue discipline its parameters. The
        simulators and analyses read this network. A complete network is returned itself.

        >>> from vegasfluid import Reno, Vegas
        >>> flows = {"a": Flows(1, Reno(), base_rtt=0.1), "b": Flows(1, Vegas(), base_rtt=0.1)}
        >>> complete = Network(Link(1000.0, 100), flows).with_law("b", Vegas(dialect="linux"))
        >>> [complete.resolved().flows[name].initial_window for name in flows]
        [10, 10]
        """
        return self._resolved

    @cached_property
    def _resolved(self) -> Network:
        """Value of `resolved`, computed once."""
        host = self.default_host
        complete = {name: flows.on_host(host) for name, flows in self.flows.items()}
        hosts = {flows.host for flows in complete.values() if flows.host is not None}
        links = {}
        for name, link in self.links.items():
            aqm = link.aqm.beside(hosts, self.packet_bytes)
            links[name] = link if aqm is link.aqm else replace(link, aqm=aqm)
        same = all(complete[name] is flows for name, flows in self.flows.items())
        same = same and all(links[name] is link for name, link in self.links.items())
        return self if same else replace(self, links=links, flows=complete)

    def ack_bytes_of(self, flows: str) -> int:
        """Size of an acknowledgement of class `flows` on the wire, bytes."""
        if self.ack_bytes is not None:
            return self.ack_bytes
        return self.resolved().flow_class(flows).settings.ack_bytes

    def ack_size(self, flows: str) -> float:
        """Size of an acknowledgement of class `flows`, relative to a data packet."""
        return self.ack_bytes_of(flows) / self.packet_bytes

    def links_of(self, flows: str) -> tuple[Link, ...]:
        """Links on the path of the class named `flows`, in order of their forward direction."""
        return tuple(self.links[name] for name in self.path_of(flows))

    def flow_class(self, name: str) -> Flows:
        """The class of flows named `name`.

        Raises:
            InvalidInput: for an unknown name.
        """
        if name not in self.flows:
            raise InvalidInput("Network", "flows", "one of " + ", ".join(self.flows), name)
        return self.flows[name]

    def path_of(self, flows: str) -> tuple[str, ...]:
        """The names of the links that a class crosses; without a `path`, the only link.

        They are in the order of the links' forward direction, also for a class whose `direction` is
        reverse: its data cross them from the last to the first.
        """
        path = self.flow_class(flows).path
        return tuple(self.links) if path is None else path

    def queue_indices(self, flows: str) -> tuple[list[int], list[int]]:
        """Indices of the queues that data packets and ACKs of class `flows` cross, each in order.

        Queue i < n (the number of links) is that of link i in the forward direction, n + i that
        of the same link in the reverse direction.

        >>> from vegasfluid.congestion.reno import Reno
        >>> links = {"one": Link(1000.0, 100), "two": Link(1000.0, 100)}
        >>> flows = Flows(1, Reno(), base_rtt=0.04, path=("one", "two"))
        >>> Network(links, {"reno": flows}).queue_indices("reno")
        ([0, 1], [3, 2])
        """
        names = list(self.links)
        forward = [names.index(name) for name in self.path_of(flows)]
        reverse = [len(names) + index for index in reversed(forward)]
        upstream = self.flow_class(flows).direction == "reverse"
        return (reverse, forward) if upstream else (forward, reverse)

    def access_delays(self, flows: str) -> list[float]:
        """One-way propagation delay of one access link of each flow of class `flows`, s; (flow,).

        It is a quarter of the round-trip propagation delay that remains without the links of the
        path: a round trip crosses the access links of both ends twice.
        """
        links = self.links_of(flows)
        shared = 2 * sum(link.delay for link in links)
        return [max(rtt - shared, 0.0) / 4 for rtt in self.flow_class(flows).propagation(links)]

    def after(self, event: Event) -> Network:
        """Copy of the network with the delays that apply after an event, and without events.

        Twice the change of a link's delay is added to the base RTTs of the classes that cross it,
        for each time that they do.
        """
        if event.link == "access":
            flows = dict(self.flows)
            for name in self.flows if event.flows is None else (event.flows,):
                key = "access_delay" if flows[name].base_rtt is None else "base_rtt"
                flows[name] = replace(flows[name], **{key: event.delay})
            return replace(self, flows=flows, events=())
        link = self.links[event.link]
        added = 2 * (event.delay - link.delay)
        crossings = {name: self.path_of(name).count(event.link) for name in self.flows}
        shifted = {
            name: tuple(
                rtt + crossings[name] * added for rtt in flows.propagation(self.links_of(name))
            )
            for name, flows in self.flows.items()
            if flows.base_rtt is not None and crossings[name]
        }
        flows = {name: replace(self.flows[name], base_rtt=rtts) for name, rtts in shifted.items()}
        links = {**self.links, event.link: replace(link, delay=event.delay)}
        return replace(self, links=links, flows={**self.flows, **flows}, events=())

    def stages(self) -> Iterator[Network]:
        """Yield copies without events, with the initial delays, then those after each event."""
        network = replace(self, events=())
        yield network
        for event in self.events:
            network = network.after(event)
            yield network

    def flow_count(self, link: str) -> int:
        """Number of flows of all classes whose paths have the link `link`, in any direction."""
        return sum(flows.count for name, flows in self.flows.items() if link in self.path_of(name))

    def send_overhead(self, flows: str) -> float:
        """Maximum of the random delay before each transmission of class `flows` in packet runs, s.

        It is `Flows.send_overhead` if that is given. The default is one packet time of the slowest
        drop-tail, fq, CoDel or FQ-CoDel link on the path that several flows share, or step-marking
        link if the flows are not ECN-capable; 0 without such a link, and for flows that do not
        respond to losses. Without any randomness, flows over a drop-tail link synchronise, and the
        phase of their packets decides which of them loses (S. Floyd and V. Jacobson, "On traffic
        phase effects in packet-switched gateways", 1992, which proposes this remedy); the timing of
        real hosts always varies.
        """
        chosen = self.flow_class(flows)
        if chosen.send_overhead is not None or not chosen.law.rules.reliable:
            return chosen.send_overhead or 0.0
        shared = (self.links[name] for name in self.path_of(flows) if self.flow_count(name) > 1)
        times = [
            1 / link.capacity
            for link in shared
            if link.aqm.synchronises
            and (link.aqm.synchronises_marked or not (link.aqm.marks and chosen.ecn))
        ]
        return max(times, default=0.0)

    def assumptions(self) -> list[str]:
        """Sentences on what a model leaves open: hosts, and the send overheads (ms) of packet runs.

        Hosts are mentioned where they differ from the textbook.
        """
        return [*self._assumed_hosts(), *self._assumed_overheads()]

    def _assumed_hosts(self) -> list[str]:
        """A sentence on the classes that get the host of the Vegas classes."""
        host = HOSTS[self.default_host]
        names = [name for name, flows in self.flows.items() if flows.host is None]
        if not names or replace(host, name=TEXTBOOK.name, implementation=None) == TEXTBOOK:
            return []
        return [
            f"The end hosts of {' and '.join(names)} are {host.name} hosts, as the Vegas dialect "
            f"is {host.name}: the initial window is {host.initial_window:g} packets, and ACKs are "
            f"delayed by up to {host.delayed_ack * 1e3:g} ms. To change this, set host."
        ]

    def _assumed_overheads(self) -> list[str]:
        """Sentences on the send overheads (ms) that packet runs use where the model gives none."""
        delayed: dict[float, list[str]] = {}
        for name, flows in self.flows.items():
            time = self.send_overhead(name)
            if flows.send_overhead is None and time > 0:
                delayed.setdefault(time, []).append(name)
        return [
            f"Senders of {' and '.join(names)} wait up to {time * 1e3:.3g} ms (a packet time) at "
            "random before they send (send_overhead_ms). Without this, flows would synchronise: "
            "nothing else is random."
            for time, names in delayed.items()
        ]

    @property
    def two_way(self) -> bool:
        """Whether data flow in both directions, so that ACKs share queues with data."""
        return any(flows.direction == "reverse" for flows in self.flows.values())

    @property
    def counts(self) -> list[int]:
        """Number of flows of each class, in the order of `flows`; (flow_class,)."""
        return [flows.count for flows in self.flows.values()]

    def with_law(self, flows: str, law: CongestionControl) -> Network:
        """Copy of the network with another congestion control for one class of flows.

        Args:
            flows: name of the class.
            law: its new congestion control.

        Raises:
            InvalidInput: for an unknown class.
        """
        replaced = replace(self.flow_class(flows), law=law)
        return replace(self, flows={**self.flows, flows: replaced})

    def base_rtts(self, flows: str) -> tuple[float, ...]:
        """Round-trip time of each flow of class `flows` with empty queues, s; (flow,).

        Propagation, and the transmission time of a packet and its ACK on every link of the path.
        """
        chosen, links = self.flow_class(flows), self.links_of(flows)
        size = 1 + self.ack_size(flows)
        transmission = sum(size / link.capacity for link in links)
        transmission += 0.0 if chosen.access is None else 2 * size / chosen.access
        delays = chosen.propagation(links)
        # one object for flows with one delay: traced values can be grouped by identity only
        rtts = {id(delay): delay + transmission for delay in delays}
        return tuple(rtts[id(delay)] for delay in delays)

    def mean_base_rtt(self, flows: str) -> float:
        """Mean base RTT (propagation and transmission) of the flows of class `flows`, s."""
        rtts = self.base_rtts(flows)
        return sum(rtts) / len(rtts)

    def bandwidth_delay(self) -> float:
        """Bandwidth-delay product, packets: slowest link times mean base RTT of all flows.

        Capacity is in packets/s, the base RTT (round trip without queueing) in s.
        """
        rtts = [rtt for name in self.flows for rtt in self.base_rtts(name)]
        return min(link.capacity for link in self.links.values()) * sum(rtts) / len(rtts)

    def fair_share(self) -> float:
        """Smallest fair share of a link, packets/s: its capacity over the number of its flows."""
        return min(
            float(link.capacity) / max(self.flow_count(name), 1)
            for name, link in self.links.items()
        )

    def warnings(self) -> list[str]:
        """Sentences on properties that are valid but probably unintended; empty if there are none.

        These are base RTTs, and times to send a full buffer, of more than 10 s (a number in another
        unit?), access links that together are slower than the slowest link, and buffers smaller
        than the upper threshold of the AQM.

        >>> from vegasfluid import Flows, Reno
        >>> flows = {"reno": Flows(1, Reno(), base_rtt=0.04)}
        >>> print(*Network(Link(5, 55), flows).warnings())
        bottleneck takes 11 s to send a full buffer at 5 packets/s (0.06 Mbit/s); were Mbit/s meant?
        """
        base_rtts = {
            name: tuple(flows.propagation(self.links_of(name)))
            for name, flows in self.flows.items()
        }
        return [
            *implausible_times(self.links, base_rtts, self.packet_bytes),
            *weak_access(self.links, map(access_rate, self.flows.values())),
            *small_buffers(self.links),
        ]


def require_network(whose: str, given: Any) -> None:
    """Check that an argument is a `Network`.

    Args:
        whose: the function that received it, for the error message.
        given: the argument.

    Raises:
        InvalidInput: for anything else.
    """
    if not isinstance(given, Network):
        shown = given if isinstance(given, str) else type(given).__name__
        allowed = "a Network (that of a model file is read_model(...).network)"
        raise InvalidInput(whose, "network", allowed, shown)


def access_rate(flows: Flows) -> float:
    """Sum of the access-link rates of the flows of a class, at one end, packets/s.

    Infinite where the access links have no limit.
    """
    return math.inf if flows.access is None else flows.access * flows.count
