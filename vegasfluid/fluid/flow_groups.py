"""Flow groups: the flows of a class with the same base RTT and start, which share one state.

So a class of identical flows needs no more computing than one flow.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

import numpy as np

from vegasfluid.fluid.shapes import Number
from vegasfluid.network import Flows, Network, UniformStart
from vegasfluid.quantities import is_concrete

__all__ = ["FlowGroup", "flow_starts", "group_flows", "group_of_each_flow", "identity"]

START_PARTS = 5
"""Number of flow groups that represent random starts of flows that measure a base RTT (chosen)."""


class FlowGroup(NamedTuple):
    """A group of identical flows of a class.

    Args:
        base_rtt: round-trip time without queueing, s; may be traced.
        start: time at which they send their first data, s; may be traced.
        flows: their numbers in the class, from 0.
    """

    base_rtt: Number
    start: Number
    flows: list[int]


def flow_starts(flows: Flows) -> tuple[Number, ...]:
    """Start time of each flow of a class, s; random starts are replaced by their mean.

    Where starts are random and flows measure a base RTT, later flows measure the queue of earlier
    ones. Then the class is divided into up to `START_PARTS` parts, each with its mean start.
    """
    if isinstance(flows.start, UniformStart):
        parts = min(START_PARTS, flows.count) if flows.law.learns_base_rtt else 1
        starts = [flows.start.spread * (part + 0.5) / parts for part in range(parts)]
        return tuple(starts[number * parts // flows.count] for number in range(flows.count))
    if isinstance(flows.start, tuple):
        return flows.start
    return (flows.start,) * flows.count


def group_flows(network: Network, name: str) -> list[FlowGroup]:
    """Flow groups of class `name`: its flows by base RTT and start time.

    Each group has both times in s; reliable senders send their first data one base RTT after their
    start, as after a handshake.
    """
    members: dict[tuple[Hashable, Hashable], list[int]] = {}
    rtts, starts = network.base_rtts(name), flow_starts(network.flows[name])
    # Most flows share the objects of their numbers, so that few pairs have to be compared.
    objects = list(zip(map(id, rtts), map(id, starts), strict=True))
    values = dict(zip(objects, zip(rtts, starts, strict=True), strict=True))
    group = {
        pair: members.setdefault((identity(rtt), identity(start)), [])
        for pair, (rtt, start) in values.items()
    }
    for number, pair in enumerate(objects):
        group[pair].append(number)
    handshake = network.flows[name].law.rules.reliable
    groups = []
    for numbers in members.values():
        rtt, start = rtts[numbers[0]], starts[numbers[0]]
        groups.append(FlowGroup(rtt, start + rtt if handshake else start, numbers))
    return groups


def identity(value: Number) -> Hashable:
    """A hashable key of a value, by which flows are grouped.

    It is a concrete value itself, or the object identity of a traced one.
    """
    return value if is_concrete(value) else id(value)


def group_of_each_flow(network: Network) -> np.ndarray:
    """Index of the flow group of each flow, in the order of the network's flows; (flows,)."""
    per_class, groups = [], 0
    for name, flows in network.flows.items():
        group_numbers = np.zeros(flows.count, int)
        for group in group_flows(network, name):
            group_numbers[group.flows] = groups
            groups += 1
        per_class.append(group_numbers)
    return np.concatenate(per_class)
