"""The numbers of a network's equations, as arrays over flow groups, queues and hops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from vegasfluid.aqm.base import QueueDiscipline
from vegasfluid.congestion.base import CongestionControl
from vegasfluid.errors import InvalidInput
from vegasfluid.fluid.delays import (
    DelayBounds,
    DelayEvents,
    bounds_of_delays,
    delay_events,
    propagation_delays,
)
from vegasfluid.fluid.flow_groups import group_flows, identity
from vegasfluid.fluid.pytrees import register_values
from vegasfluid.fluid.shapes import Number, PerGroup, PerHop, PerQueue
from vegasfluid.fluid.structure import FluidStructure, build_structure
from vegasfluid.network import Flows, Network
from vegasfluid.traffic.base import NO_LIMIT, TrafficSource

__all__ = ["FluidParameters", "GroupParameters", "QueueParameters", "all_floats", "as_floats"]
__all__ += ["build_parameters"]

MEASURED = -1.0
"""Value of `base_rtt_override` where senders measure their base RTT."""


class GroupParameters(NamedTuple):
    """Parameters of each flow group; each field (groups,).

    Args:
        count: number of flows.
        base_rtt: round-trip time without queueing, s.
        start: time of the first data, s; for random starts the mean.
        access: rate of the access link, packets/s; `NO_LIMIT` (1e15) without one.
        initial_window: congestion window of a new connection, packets.
        initial_ssthresh: window at which the first slow start ends, packets.
        max_window: largest window, packets.
        min_rto: smallest retransmission timeout, s.
        application_rate: largest rate of the application, packets/s; `NO_LIMIT` (1e15) without one.
        transfer_size: mean size of a transfer, packets; infinite for unlimited ones.
        ecn_capable: 1 where packets may be marked (ECT of RFC 3168), else 0.
        ack_every: packets that an ACK acknowledges: 2 with delayed ACKs, else 1.
        base_rtt_override: base RTT with which senders start, s; negative: they measure it.
    """

    count: PerGroup
    base_rtt: PerGroup
    start: PerGroup
    access: PerGroup
    initial_window: PerGroup
    initial_ssthresh: PerGroup
    max_window: PerGroup
    min_rto: PerGroup
    application_rate: PerGroup
    transfer_size: PerGroup
    ecn_capable: PerGroup
    ack_every: PerGroup
    base_rtt_override: PerGroup


class QueueParameters(NamedTuple):
    """Parameters of each queue and its link.

    Args:
        capacity: rate of the link, data packets/s.
        buffer: packets that the link can hold.
        jitter: largest random delay after the queue, s.
        reorders: 1 where the jitter may change the order of packets, else 0.
    """

    capacity: PerQueue
    buffer: PerQueue
    jitter: PerQueue
    reorders: PerQueue


class FluidParameters(NamedTuple):
    """All numbers of the equations: a pytree whose leaves may be traced or batched.

    Args:
        laws: congestion control of each class.
        traffic: traffic source of each class.
        groups: parameters of the flow groups.
        queues: parameters of the queues.
        aqm: queue discipline of each queue.
        propagation: delay from the previous queue to each hop, s; 0 for the first hop of a group.
        relative_size: size of a packet at each hop relative to a data packet; 1 for data.
        delay_events: changes of delay during the run; None without events.
        delay_bounds: bounds on all delays.
    """

    laws: tuple[CongestionControl, ...]
    traffic: tuple[TrafficSource, ...]
    groups: GroupParameters
    queues: QueueParameters
    aqm: tuple[QueueDiscipline, ...]
    propagation: PerHop
    relative_size: PerHop
    delay_events: DelayEvents | None
    delay_bounds: DelayBounds


def as_floats(parameters: FluidParameters) -> FluidParameters:
    """Copy of the parameters as JAX floats, so that 40 and 40.0 share one compiled program."""
    return jax.tree.map(lambda leaf: jnp.asarray(leaf, float), parameters)


def all_floats(parameters: FluidParameters) -> bool:
    """Whether all parameters are JAX arrays of floats, of JAX's default precision, already."""
    kind = jnp.result_type(float)
    return all(
        isinstance(leaf, jax.Array) and leaf.dtype == kind and not leaf.weak_type
        for leaf in jax.tree.leaves(parameters)
    )


def build_parameters(
    network: Network,
    base_rtt: Mapping[str, Number] | None = None,
    delay_bounds: tuple[float, float] | None = None,
) -> tuple[FluidParameters, FluidStructure]:
    """Parameters (in s, packets, packets/s) and static structure of a network's equations.

    Args:
        network: laws, links and delays may contain traced values.
        base_rtt: base RTT with which senders start, s, by class name; other classes measure it.
        delay_bounds: shortest and longest delay, s; required where delays are traced. None: those
            of the network.

    Raises:
        InvalidInput: for an unknown class in `base_rtt`.
    """
    register_values(network)
    network = network.resolved()
    overrides = dict(base_rtt or {})
    for name in overrides:
        if name not in network.flows:
            allowed = "for one of " + ", ".join(network.flows)
            raise InvalidInput("fluid", "base_rtt", allowed, name)
    rows, groups_per_class, representatives = [], [], []
    for name, flows in network.flows.items():
        groups = group_flows(network, name)
        groups_per_class.append(len(groups))
        representatives += [(name, group.flows[0]) for group in groups]
        shared = class_values(flows, network.packet_bytes, overrides.get(name, MEASURED))
        rows += [
            {"count": float(len(group.flows)), "base_rtt": group.base_rtt, "start": group.start}
            | shared
            for group in groups
        ]
    rtts = [identity(row["base_rtt"]) for row in rows]
    distinct = list(dict.fromkeys(rtts))
    rtt_index = tuple(distinct.index(rtt) for rtt in rtts)
    structure = build_structure(network, tuple(groups_per_class), rtt_index)
    classes, names = network.flows.values(), list(network.links.values())
    links = [names[number % len(names)] for number in structure.queue_links]
    return FluidParameters(
        laws=tuple(flows.law for flows in classes),
        traffic=tuple(flows.traffic for flows in classes),
        groups=GroupParameters(
            **{name: stack([row[name] for row in rows]) for name in GroupParameters._fields}
        ),
        queues=QueueParameters(
            capacity=stack([link.capacity for link in links]),
            buffer=stack([link.buffer for link in links]),
            jitter=stack([link.jitter for link in links]),
            reorders=stack([float(link.jitter_reorders) for link in links]),
        ),
        aqm=tuple(link.aqm for link in links),
        propagation=stack(propagation_delays(network, structure, representatives)),
        relative_size=stack(relative_sizes(network, structure, representatives)),
        delay_events=delay_events(network, structure, representatives),
        delay_bounds=bounds_of_delays(network, delay_bounds),
    ), structure


def relative_sizes(
    network: Network, structure: FluidStructure, representatives: Sequence[tuple[str, int]]
) -> list[float]:
    """Size of a packet at each hop relative to a data packet: 1, or the ACK size where ACKs wait.

    Args:
        network: the network.
        structure: its hops.
        representatives: class and number of a flow of each flow group.
    """
    sizes = [network.ack_size(name) for name, _ in representatives]
    return [sizes[hop.group] if hop.is_ack else 1.0 for hop in structure.hops]


def stack(values: Sequence[Number]) -> Any:
    """Numbers as a 1-D array of floats: of NumPy, or of JAX if any of them is traced."""
    if not any(isinstance(value, jax.Array) for value in values):
        return np.array(values, float)
    return jnp.stack([jnp.asarray(value, float) for value in values])


def class_values(flows: Flows, packet_bytes: int, base_rtt_override: Number) -> dict[str, Number]:
    """Parameters common to all flow groups of a class, by fields of `GroupParameters`.

    Args:
        flows: the class, of a resolved network (one whose hosts are known).
        packet_bytes: size of a packet, bytes.
        base_rtt_override: base RTT with which its senders start, s; negative: they measure it.
    """
    traffic, host = flows.traffic, flows.settings
    return {
        "access": NO_LIMIT if flows.access is None else flows.access,
        "initial_window": host.initial_window,
        "initial_ssthresh": host.initial_ssthresh,
        "max_window": flows.max_window,
        "min_rto": host.min_rto,
        "application_rate": traffic.rate_limit(packet_bytes),
        "transfer_size": traffic.mean_transfer_size(packet_bytes),
        "ecn_capable": float(flows.ecn and flows.law.rules.reliable),
        "ack_every": 2.0 if host.delayed_ack else 1.0,
        "base_rtt_override": base_rtt_override,
    }
