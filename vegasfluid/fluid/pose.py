"""From a network to what its equations need: laws, numbers, and groups of flows that are alike.

A class whose flows differ in round-trip time or start is split into groups, each one state with
a count, so that a class of identical flows costs as much as one flow.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from vegasfluid.aqm.law import AbstractQueueLaw
from vegasfluid.congestion.law import AbstractWindowLaw
from vegasfluid.fluid.pytrees import register_values
from vegasfluid.network import Flows, Network, Spread
from vegasfluid.quantities import is_concrete
from vegasfluid.served import check_served

__all__ = ["Groups", "Posed", "Shape", "flows_of_groups", "pose"]

NO_LIMIT = 1e15
"""Packets/s of an access link that does not limit."""


class Groups(NamedTuple):
    """Numbers of each group of flows; each of shape (groups,).

    Args:
        count: flows.
        base_rtt: round-trip time with nothing in the queue, s.
        start: when they send their first data, s; for random starts the mean.
        access: packets/s.
        initial_window: packets.
        initial_ssthresh: packets.
        max_window: packets.
    """

    count: Any
    base_rtt: Any
    start: Any
    access: Any
    initial_window: Any
    initial_ssthresh: Any
    max_window: Any


class Posed(NamedTuple):
    """All numbers of the equations; a pytree whose leaves may be traced or batched."""

    laws: tuple[AbstractWindowLaw, ...]
    groups: Groups
    capacity: Any
    buffer: Any
    aqm: AbstractQueueLaw


class Shape(NamedTuple):
    """What of the equations is structure, and cannot be traced.

    Args:
        groups: the number of groups of each class, in the network's order.
        lag: for each group, which of the distinct round-trip times it has.
    """

    groups: tuple[int, ...]
    lag: tuple[int, ...]


def start_of_flows(flows: Flows) -> tuple[Any, ...]:
    """When each flow starts, s; random starts by their mean."""
    if isinstance(flows.start, Spread):
        return (flows.start.spread / 2,) * flows.count
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
    return [(rtt, start + rtt, which) for rtt, start, which in firsts]  # after the handshake


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


def pose(network: Network) -> tuple[Posed, Shape]:
    """The numbers and the structure of a network's equations.

    Args:
        network: one link, bulk data one way; laws, link and delays may hold traced values.

    Raises:
        NotServed: where the network has something that is not served yet.
    """
    check_served("fluid", network)
    register_values()
    rows: list[tuple[Any, ...]] = []
    sizes = []
    for name, flows in network.flows.items():
        parts = alike(network, name)
        sizes.append(len(parts))
        access = NO_LIMIT if flows.access is None else flows.access
        windows = (flows.initial_window, flows.initial_ssthresh, flows.max_window)
        rows += [(float(len(n)), rtt, start, access, *windows) for rtt, start, n in parts]
    rtts = [_key(row[1]) for row in rows]
    distinct = list(dict.fromkeys(rtts))
    columns = zip(*rows, strict=True)
    groups = Groups(*(jnp.stack([jnp.asarray(value) for value in c]) for c in columns))
    laws = tuple(flows.law for flows in network.flows.values())
    posed = Posed(laws, groups, network.link.capacity, network.link.buffer, network.link.aqm)
    return posed, Shape(tuple(sizes), tuple(distinct.index(rtt) for rtt in rtts))
