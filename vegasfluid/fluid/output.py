"""Results of a solution: plain arrays of a run, and totals after the warm-up."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from vegasfluid import dde
from vegasfluid.fluid.fair_queueing import equal_shares
from vegasfluid.fluid.flow_groups import group_of_each_flow
from vegasfluid.fluid.invariants import LINK_COUNTERS, check_invariants
from vegasfluid.fluid.queues import ack_clocked
from vegasfluid.fluid.state import State
from vegasfluid.fluid.structure import FluidStructure
from vegasfluid.fluid.vector_field import VectorField
from vegasfluid.metric_formulas import IntervalTotals, increase_from, interpolation_position
from vegasfluid.network import Network
from vegasfluid.trajectory import CWND_VARIANCE, Recording

__all__ = ["delivered", "to_recording", "totals_after_warmup"]


def delivered(state: State, structure: FluidStructure) -> Float[Array, "*times groups"]:
    """Packets that one flow of each group has delivered since the start; (..., groups)."""
    return state.admitted[..., np.array(structure.last_data_hops)]


def totals_after_warmup(
    state: State, field: VectorField, until: float, warmup: float
) -> IntervalTotals:
    """Increase of all counters from the end of the warm-up to the end of a run; traceable.

    Args:
        state: saved states at evenly spaced times from 0 to `until`; arrays (time, ...).
        field: the equations.
        until: end of the run, s.
        warmup: time at the start that is left out, s.

    Returns:
        The totals of one flow of each group and of each link, with flow groups in place of classes.
    """
    times = np.linspace(0.0, until, state.queue.shape[0])
    after, part = interpolation_position(times, warmup)

    def increment(values: Any) -> Any:
        """Increase of counters (time, ...) from the warm-up, interpolated there, to the end."""
        return increase_from(values[after - 1], values[after], values[-1], part)

    links = {name: increment(values) for name, values in link_counters(state, field).items()}
    return IntervalTotals(
        until - warmup,
        count=field.parameters.groups.count,
        delivered=increment(delivered(state, field.structure)),
        capacity=field.parameters.queues.capacity[first_queues(field.structure)],
        backlog=increment(backlog_at(state, field)),
        **links,
    )


def to_recording(network: Network, solution: dde.Solution, field: VectorField) -> Recording:
    """Arrays of each flow and link, by name, from a solution of a network's equations.

    Args:
        network: the network.
        solution: solution of its equations.
        field: the equations, with concrete parameters.

    Returns:
        Times (s), and arrays (time, flow) and (time, link) by names of variables.

    Raises:
        SolveFailed: if the solution violates an invariant (see `invariants`).
    """
    state: State = field.saved.unpack(np.asarray(solution.ys))
    times = np.asarray(solution.ts)
    links = link_arrays(times, state, field)
    rtt = round_trip_times(times, state, field)
    of_groups = Recording(network, times, group_arrays(state, rtt, field), links)
    check_invariants(of_groups, classes_of_groups(network, field.structure))
    groups = group_of_each_flow(network)
    flows = {name: values[:, groups] for name, values in of_groups.flows.items()}
    return of_groups._replace(flows=flows, links=without_rounding(links))


def without_rounding(links: dict[str, Any]) -> dict[str, Any]:
    """Arrays of links whose counters never decrease.

    They are sums over hops by matrix products, which may round equal rows differently; decreases
    above rounding have been found by `check_invariants`.

    Args:
        links: arrays (time, link) by name.
    """
    counters = {name: np.maximum.accumulate(np.asarray(links[name])) for name in LINK_COUNTERS}
    return links | counters


def classes_of_groups(network: Network, structure: FluidStructure) -> list[str]:
    """Name of the class of each flow group of a network."""
    per_class = zip(network.flows, structure.groups_per_class, strict=True)
    return [name for name, groups in per_class for _ in range(groups)]


def link_arrays(times: np.ndarray, state: State, field: VectorField) -> dict[str, Any]:
    """Counters, queues, backlogs and average queues of each link, by name; (time, link).

    `admitted`, `lost`, `marked`, `queue` and `avg_queue` are in packets, `waited` in packets s,
    `work` and `backlog` in data packets (see `vegasfluid.trajectory.LINK_VARIABLES`).
    """
    counters, structure = link_counters(state, field), field.structure
    disciplines = zip(field.parameters.aqm, state.aqm_states, strict=True)
    averages = np.stack([aqm.average_queue(part) for aqm, part in disciplines], axis=-1)
    backlog = np.asarray(backlog_at(state, field))
    return counters | {
        "queue": backlog / queued_packet_size(times, backlog, counters, field),
        "backlog": backlog,
        "avg_queue": averages @ structure.link_queue_matrix.T,
        "marked": marked(state, field) @ flows_by_link(field),
    }


def backlog_at(state: State, field: VectorField) -> Any:
    """Work that waits at each link, data packets; NumPy or JAX array (time, link)."""
    structure = field.structure
    if not structure.has_own_queues:
        return state.queue
    return (state.queue * flows_of_queues(field)) @ structure.link_queue_matrix.T


def flows_of_queues(field: VectorField) -> Float[Array, " queues"]:
    """Number of real queues that each queue of the model represents; (queues,).

    It is the number of flows of the group where each flow has its own queue, and else 1.
    """
    structure = field.structure
    flows = structure.queue_hop_matrix @ field.parameters.groups.count[structure.hop_groups]
    return jnp.where(np.array(structure.own_queues), flows, 1.0)


def first_queues(structure: FluidStructure) -> np.ndarray:
    """Index of the first queue of each link; all queues of a link have its capacity."""
    return np.array([structure.queue_links.index(link) for link in range(structure.link_count)])


def link_counters(state: State, field: VectorField) -> dict[str, Any]:
    """Counters of each link since the start, by name; NumPy or JAX arrays (time, link).

    `admitted` and `lost` in packets, `waited` in packets s, `work` in data packets.
    """
    sums, structure = flows_by_link(field), field.structure
    waited = state.queue_integral
    if structure.has_own_queues:
        waited = (waited * flows_of_queues(field)) @ structure.link_queue_matrix.T
    return {
        "admitted": state.admitted @ sums,
        "lost": state.dropped @ sums,
        "waited": waited,
        "work": (state.admitted * field.parameters.relative_size) @ sums,
    }


def flows_by_link(field: VectorField) -> Float[Array, "hops links"]:
    """Number of flows at each hop, in the column of the hop's link; (hops, links)."""
    count = field.parameters.groups.count[field.structure.hop_groups]
    at = field.structure.hop_links[:, np.newaxis] == np.arange(field.structure.link_count)
    return at.astype(float) * count[:, np.newaxis]


def marked(state: State, field: VectorField) -> np.ndarray:
    """Packets of one flow that each hop has marked since the start; (time, hops).

    It is 0 at hops whose queue discipline does not mark.
    """
    aqm = field.parameters.aqm
    marks = [aqm[hop.queue].marks for hop in field.structure.hops]
    return np.where(marks, state.signalled - state.dropped, 0.0)


def queued_packet_size(
    times: np.ndarray, backlog: np.ndarray, counters: dict[str, Any], field: VectorField
) -> np.ndarray:
    """Mean size of the packets in each queue, relative to a data packet; (time, link).

    It is the mean over the packets admitted since the first one in the queue arrived, or since the
    sample before, whichever is earlier; 1 where there are none.

    Args:
        times: sample times, s; (time,).
        backlog: work that waits at each link, data packets; (time, link).
        counters: `work` (data packets) and `admitted` (packets) from `link_counters`.
        field: the equations.
    """
    size = np.ones_like(backlog)
    if not field.structure.has_ack_hops:
        return size
    previous = np.concatenate([times[:1], times[:-1]])
    capacities = np.asarray(field.parameters.queues.capacity)[first_queues(field.structure)]
    for link, capacity in enumerate(capacities):
        first = np.minimum(times - backlog[:, link] / capacity, previous)
        work, packets = (
            counter[:, link] - np.interp(first, times, counter[:, link])
            for counter in (counters["work"], counters["admitted"])
        )
        np.divide(work, packets, out=size[:, link], where=packets > 0)
    return size


def round_trip_times(times: np.ndarray, state: State, field: VectorField) -> np.ndarray:
    """Round-trip time of each flow group, s, without jitter and access-link waits; (time, groups).

    Args:
        times: sample times, s; (time,).
        state: saved states at these times.
        field: the equations, which give base RTTs, delay events and capacities.
    """
    parameters = field.parameters
    base_rtt = np.asarray(parameters.groups.base_rtt)
    events = parameters.delay_events
    if events is not None:
        base_rtt = base_rtt + (times[:, np.newaxis] >= events.time) @ events.base_rtt
    return base_rtt + waiting_times(times, state, field) @ field.structure.crossings.T


def waiting_times(times: np.ndarray, state: State, field: VectorField) -> np.ndarray:
    """Waiting time in each queue, s; (time, queues).

    The service rate of a flow that has its own queue is not saved. It is estimated as the rate at
    which its packets leave between samples, and at least an equal share.
    """
    parameters, structure = field.parameters, field.structure
    capacity = np.asarray(parameters.queues.capacity)
    waits = np.asarray(state.queue) / capacity
    least = np.asarray(equal_shares(parameters, structure))
    for number in np.flatnonzero(structure.in_own_queue):
        queue = structure.hop_queues[number]
        work = state.admitted[:, number] * np.asarray(parameters.relative_size)[number]
        rate = np.gradient(work - state.queue[:, queue], times)
        waits[:, queue] = state.queue[:, queue] / np.maximum(rate, least[queue])
    return waits


def group_arrays(state: State, rtt: np.ndarray, field: VectorField) -> dict[str, Any]:
    """Windows, RTTs and counters of one flow of each group, by name; (time, group).

    The names are `cwnd` (packets), its variance (packets^2), `rtt` (s), `delivered`, `dropped`,
    `retransmitted`, `sent` (packets since the start) and `timeouts` (number since the start).

    Args:
        state: saved states.
        rtt: round-trip time without waiting at the access link, s; (time, groups).
        field: the equations.
    """
    parameters, structure = field.parameters, field.structure
    cwnd, variance = (
        np.concatenate(moments, axis=1) for moments in zip(*state.classes, strict=True)
    )
    dropped = np.zeros_like(cwnd)
    for number, hop in enumerate(structure.hops):
        if not hop.is_ack:
            dropped[:, hop.group] += state.dropped[:, number]
    return {
        "cwnd": cwnd,
        CWND_VARIANCE: variance,
        "rtt": np.maximum(rtt, cwnd / np.asarray(parameters.groups.access)),
        "delivered": delivered(state, structure),
        "dropped": dropped,
        "retransmitted": dropped * ack_clocked(parameters, structure),
        "sent": (state.admitted + state.dropped)[:, np.array(structure.first_hops)],
        "timeouts": state.timeouts,
    }
