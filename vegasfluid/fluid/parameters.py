"""From a network to what its equations need: laws, numbers, and groups of flows that are alike.

A class whose flows differ in round-trip time or start is split into groups, each one state with
a count, so that a class of identical flows costs as much as one flow.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from vegasfluid.aqm.base import QueueDiscipline
from vegasfluid.congestion.base import CongestionControl
from vegasfluid.errors import InvalidInput
from vegasfluid.fluid.pytrees import register_values
from vegasfluid.fluid.structure import FluidStructure, make_plan
from vegasfluid.network import Flows, Network, UniformStart
from vegasfluid.quantities import is_concrete
from vegasfluid.traffic.base import NO_LIMIT, TrafficSource

__all__ = ["Changes", "FluidParameters", "Groups", "Stations", "as_floats", "flows_of_groups"]
__all__ += ["least_lag", "longest_lag", "pose", "start_of_flows"]

PARTS = 8
"""Shorter parts of a round trip than 1/8 are rounded up to that, or steps would be too small."""
LONGEST_ACCESS = 4.0
"""A round trip is not taken to be longer than so many times what the network can make of it."""
START_PARTS = 5
NO_BELIEF = -1.0
"""For `believed_rtt`: the sender learns its base RTT by itself."""


class Groups(NamedTuple):
    """Numbers of each group of flows; each of shape (groups,).

    Args:
        count: flows.
        base_rtt: round-trip time with nothing in the queues, s.
        start: when they send their first data, s; for random starts the mean.
        access: packets/s.
        initial_window: packets.
        initial_ssthresh: packets.
        max_window: packets.
        min_rto: s.
        offered: packets/s that the application hands over at most.
        transfer: mean size of a transfer, packets; infinite where there is no end.
        capable: 1 where packets may be marked.
        ack_every: packets that an ACK acknowledges.
        believed_rtt: the base RTT that the senders begin with, s; below 0: what they see.
    """

    count: Any
    base_rtt: Any
    start: Any
    access: Any
    initial_window: Any
    initial_ssthresh: Any
    max_window: Any
    min_rto: Any
    offered: Any
    transfer: Any
    capable: Any
    ack_every: Any
    believed_rtt: Any


class Stations(NamedTuple):
    """Numbers of each station; each of shape (stations,).

    Args:
        capacity: data packets/s.
        buffer: packets.
        jitter: largest random delay behind it, s.
        reorders: 1 where that may change the order of packets.
    """

    capacity: Any
    buffer: Any
    jitter: Any
    reorders: Any


class Changes(NamedTuple):
    """Changes of delay during the run.

    Args:
        at: when, s; shape (events,).
        base_rtt: by how much each group's round trip becomes longer, s; (events, groups).
        onward: by how much the way to each hop from the one before does, s; (events, hops).
    """

    at: Any
    base_rtt: Any
    onward: Any


class Lags(NamedTuple):
    """The bounds within which each delay in the equations is clipped.

    Args:
        least: s.
        longest: s.
    """

    least: Any
    longest: Any


class FluidParameters(NamedTuple):
    """All numbers of the equations; a pytree whose leaves may be traced or batched.

    Args:
        laws: of each class.
        traffic: of each class.
        groups: numbers of groups.
        stations: numbers of stations.
        aqm: the queue law of each station.
        onward: propagation from the queue before to each hop, s; (hops,).
        worth: capacity that a packet of each hop takes, data packets; (hops,).
        changes: of delays.
        lags: bounds on them.
    """

    laws: tuple[CongestionControl, ...]
    traffic: tuple[TrafficSource, ...]
    groups: Groups
    stations: Stations
    aqm: tuple[QueueDiscipline, ...]
    onward: Any
    worth: Any
    changes: Changes
    lags: Lags


def as_floats(posed: FluidParameters) -> FluidParameters:
    """The same numbers as arrays of floats: 40 and 40.0 then need one compiled program, not two."""
    return jax.tree.map(lambda leaf: jnp.asarray(leaf, float), posed)


def start_of_flows(flows: Flows) -> tuple[Any, ...]:
    """When each flow starts, s; random starts by their mean.

    Where a flow learns something at its start (the base RTT), random starts are told by the means
    of a few parts of the class, of which the later ones find the queue of the earlier ones.
    """
    if isinstance(flows.start, UniformStart):
        learns = "base_rtt" in flows.law.init(1.0, 1.0)._fields
        parts = min(START_PARTS, flows.count) if learns else 1
        numbers = np.arange(flows.count) * parts // flows.count
        return tuple(flows.start.spread * (number + 0.5) / parts for number in numbers)
    if isinstance(flows.start, tuple):
        return flows.start
    return (flows.start,) * flows.count


def alike(network: Network, name: str) -> list[tuple[Any, Any, list[int]]]:
    """The distinct (base RTT, first data) of a class, with the numbers of their flows."""
    found: dict[tuple[Any, Any], list[int]] = {}
    rtts, starts = network.base_rtts(name), start_of_flows(network.flows[name])
    for number, (rtt, start) in enumerate(zip(rtts, starts, strict=True)):
        found.setdefault((_key(rtt), _key(start)), []).append(number)
    firsts = [(rtts[which[0]], starts[which[0]], which) for which in found.values()]
    if not network.flows[name].law.rules.reliable:
        return firsts  # no handshake
    return [(rtt, start + rtt, which) for rtt, start, which in firsts]


def _key(value: Any) -> Any:
    """A concrete value is told apart by its value, a traced one by identity."""
    return value if is_concrete(value) else id(value)


def flows_of_groups(network: Network) -> np.ndarray:
    """The group of each flow, in the order of the network's flows; (flows,)."""
    group_of, groups = [], 0
    for name, flows in network.flows.items():
        own = np.zeros(flows.count, int)
        for _, _, numbers in alike(network, name):
            own[numbers] = groups
            groups += 1
        group_of.append(own)
    return np.concatenate(group_of)


def pose(
    network: Network,
    base_rtt: Mapping[str, Any] | None = None,
    lags: tuple[float, float] | None = None,
) -> tuple[FluidParameters, FluidStructure]:
    """The numbers and the structure of a network's equations.

    Args:
        network: laws, links and delays may hold traced values.
        base_rtt: the base RTT that the senders of a class begin with, s, by the class's name.
        lags: the least and the longest, s, where delays are traced.

    Raises:
        InvalidInput: for an unknown class in `base_rtt`.
    """
    register_values(network)
    believed = dict(base_rtt or {})
    for name in believed:
        if name not in network.flows:
            known = "one of " + ", ".join(network.flows)
            raise InvalidInput("fluid", "base_rtt", f"for {known}", name)
    rows, sizes, firsts = [], [], []
    for name, flows in network.flows.items():
        parts = alike(network, name)
        sizes.append(len(parts))
        firsts += [(name, which[0]) for _, _, which in parts]
        own = numbers_of(flows, network.packet_bytes, believed.get(name, NO_BELIEF))
        rows += [(float(len(which)), rtt, start, *own) for rtt, start, which in parts]
    rtts = [_key(row[1]) for row in rows]
    distinct = list(dict.fromkeys(rtts))
    lag = tuple(distinct.index(rtt) for rtt in rtts)
    bounds = Lags(*(lags or (least_lag(network), longest_lag(network))))
    plan = make_plan(network, tuple(sizes), lag)
    groups = Groups(*(stacked(column) for column in zip(*rows, strict=True)))
    classes = network.flows.values()
    ways = 2 if network.two_way else 1
    links = [*network.links.values()] * ways
    ack = network.ack_bytes / network.packet_bytes
    return FluidParameters(
        laws=tuple(flows.law for flows in classes),
        traffic=tuple(flows.traffic for flows in classes),
        groups=groups,
        stations=Stations(
            stacked([link.capacity for link in links]),
            stacked([link.buffer for link in links]),
            stacked([link.jitter for link in links]),
            stacked([float(link.jitter_reorders) for link in links]),
        ),
        aqm=tuple(link.aqm for link in links),
        onward=stacked(onward(network, plan, firsts)),
        worth=np.array([ack if hop.acks else 1.0 for hop in plan.hops]),
        changes=changes_of(network, plan, firsts),
        lags=bounds,
    ), plan


def least_lag(network: Network) -> float:
    """The shortest lag that the equations keep, s: a round trip, or a part of one between links."""
    shortest = min(
        rtt for at in network.stages() for name in at.flows for rtt in at.base_rtts(name)
    )
    several = any(len(network.links_of(name)) > 1 for name in network.flows)
    if not several and not network.two_way:
        return shortest
    links = [link for at in network.stages() for link in at.links.values()]
    between = min(link.delay + 1 / link.capacity for link in links)
    return max(min(between, shortest), shortest / PARTS)


def longest_lag(network: Network) -> float:
    """The longest lag that the equations keep, s: more only an access link makes a round trip."""
    at = [rtt for now in network.stages() for name in now.flows for rtt in now.base_rtts(name)]
    links = network.links.values()
    waits = sum(link.buffer / link.capacity + 2 * link.jitter for link in links)
    return LONGEST_ACCESS * (max(at) + (2 if network.two_way else 1) * waits)


def stacked(values: Sequence[Any]) -> Any:
    """Numbers, traced or not, as one array; of plain ones on the host, without a device's work."""
    if not any(isinstance(value, jax.Array) for value in values):
        return np.array(values, float)
    return jnp.stack([jnp.asarray(value, float) for value in values])


def numbers_of(flows: Flows, packet_bytes: int, believed: Any) -> tuple[Any, ...]:
    """The numbers of a group that its class gives, in the order of `Groups`."""
    traffic = flows.traffic
    return (
        NO_LIMIT if flows.access is None else flows.access,
        flows.initial_window,
        flows.initial_ssthresh,
        flows.max_window,
        flows.min_rto,
        traffic.rate_limit(packet_bytes),
        traffic.mean_transfer_size(packet_bytes),
        float(flows.ecn and flows.law.rules.reliable),
        2.0 if flows.delayed_ack else 1.0,
        believed,
    )


Firsts = Sequence[tuple[str, int]]
"""For each group, its class and the number in it of one of its flows."""


def onward(network: Network, plan: FluidStructure, firsts: Firsts) -> list[Any]:
    """The time from leaving each hop's previous queue to reaching the hop, s."""
    links = list(network.links.values())
    found = []
    for hop in plan.hops:
        name, number = firsts[hop.group]
        path = network.links_of(name)
        if hop.previous < 0:
            found.append(0.0)
            continue
        before = links[plan.hops[hop.previous].station % len(links)]
        found.append(before.delay + 1 / before.capacity)
        if hop.acks and not plan.hops[hop.previous].acks:  # over the receiver's access, and back
            own = network.flows[name].propagation(path)[number]
            found[-1] += (own - 2 * sum(link.delay for link in path)) / 2
    return found


def changes_of(network: Network, plan: FluidStructure, firsts: Firsts) -> Changes:
    """What each event adds to round trips and to the ways between hops."""
    if not network.events:
        return Changes(None, None, None)
    rtts, ways, now = [], [], network
    for event in network.events:
        after = now.after(event)
        rtts.append([a - b for a, b in zip(trips(after, firsts), trips(now, firsts), strict=True)])
        new, old = onward(after, plan, firsts), onward(now, plan, firsts)
        ways.append([a - b for a, b in zip(new, old, strict=True)])
        now = after
    at = np.array([float(event.at) for event in network.events])
    return Changes(at, np.array(rtts), np.array(ways))


def trips(network: Network, firsts: Firsts) -> Iterator[Any]:
    """The round-trip time of each group with nothing in the queues, s."""
    return (network.base_rtts(name)[number] for name, number in firsts)
