"""Results of a solution: plain arrays of a run, and totals after the warm-up."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Array, Float

from vegasfluid import dde
from vegasfluid.fluid.flow_groups import group_of_each_flow
from vegasfluid.fluid.invariants import check_invariants
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
        The totals, with flow groups in place of classes.
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
        capacity=field.parameters.queues.capacity,
        backlog=increment(state.queue),
        **links,
    )


def to_recording(network: Network, solution: dde.Solution, field: VectorField) -> Recording:
    """Arrays of each flow and link, by name, from a solution of a network's equations.

    Args:
        network: the network.
        solution: solution of its equations.
        field: the equations, with concrete parameters.

    Returns:
        Times (s), arrays (time, flow) and (time, link).

    Raises:
        SolveFailed: if it violates an invariant (see `invariants`).
    """
    state: State = field.saved.unpack(np.asarray(solution.ys))
    times = np.asarray(solution.ts)
    links = link_arrays(times, state, field)
    rtt = round_trip_times(times, links["backlog"], field)
    groups = group_of_each_flow(network)
    flows = {name: values[:, groups] for name, values in group_arrays(state, rtt, field).items()}
    return check_invariants(Recording(network, times, flows, links))


def link_arrays(times: np.ndarray, state: State, field: VectorField) -> dict[str, Any]:
    """Counters, queues, backlogs and average queues of each link, by name; (time, link).

    Names, units and meanings are those of `vegasfluid.trajectory.LINK_VARIABLES`.
    """
    counters = link_counters(state, field)
    waiting = state.queue / queued_packet_size(times, state, counters, field)
    disciplines = zip(field.parameters.aqm, state.aqm_states, strict=True)
    averages = [aqm.average_queue(part) for aqm, part in disciplines]
    return counters | {
        "queue": waiting,
        "backlog": state.queue,
        "avg_queue": np.stack(averages, axis=-1),
        "marked": marked(state, field) @ flows_by_queue(field),
    }


def link_counters(state: State, field: VectorField) -> dict[str, Any]:
    """Counters of each link since the start, by name; NumPy or JAX arrays (time, link).

    `admitted` and `lost` in packets, `waited` in packets s, `work` in data packets.
    """
    sums = flows_by_queue(field)
    return {
        "admitted": state.admitted @ sums,
        "lost": state.dropped @ sums,
        "waited": state.queue_integral,
        "work": (state.admitted * field.parameters.relative_size) @ sums,
    }


def flows_by_queue(field: VectorField) -> Float[Array, "hops queues"]:
    """Number of flows at each hop, in the column of the hop's queue; (hops, queues)."""
    count = field.parameters.groups.count[field.structure.hop_groups]
    at = field.structure.hop_queues[:, np.newaxis] == np.arange(field.structure.queue_count)
    return at.astype(float) * count[:, np.newaxis]


def marked(state: State, field: VectorField) -> np.ndarray:
    """Packets of one flow of each hop's group that the hop has marked so far; (time, hops)."""
    aqm = field.parameters.aqm
    marks = [aqm[hop.queue].marks for hop in field.structure.hops]
    return np.where(marks, state.signalled - state.dropped, 0.0)


def queued_packet_size(
    times: np.ndarray, state: State, counters: dict[str, Any], field: VectorField
) -> np.ndarray:
    """Mean size of the packets in each queue, relative to a data packet; (time, link).

    It is the mean over the packets that arrived since the first one in the queue, or since the
    sample before, whichever is earlier.
    """
    size = np.ones_like(state.queue)
    if not field.structure.has_ack_hops:
        return size
    previous = np.concatenate([times[:1], times[:-1]])
    for link, capacity in enumerate(np.asarray(field.parameters.queues.capacity)):
        first = np.minimum(times - state.queue[:, link] / capacity, previous)
        work, packets = (
            counter[:, link] - np.interp(first, times, counter[:, link])
            for counter in (counters["work"], counters["admitted"])
        )
        np.divide(work, packets, out=size[:, link], where=packets > 0)
    return size


def round_trip_times(times: np.ndarray, backlog: np.ndarray, field: VectorField) -> np.ndarray:
    """Round-trip time of each flow group, without its own access link, s; (time, groups).

    Args:
        times: sample times, s; (time,).
        backlog: work waiting in each queue, data packets; (time, queues).
        field: the equations, which give base RTTs, delay events and capacities.
    """
    parameters = field.parameters
    base_rtt = np.asarray(parameters.groups.base_rtt) + np.zeros((times.size, 1))
    events = parameters.delay_events
    if events is not None:
        base_rtt = base_rtt + (times[:, np.newaxis] >= events.time) @ events.base_rtt
    waits = backlog / np.asarray(parameters.queues.capacity)
    return base_rtt + waits @ field.structure.crossings.T


def group_arrays(state: State, rtt: np.ndarray, field: VectorField) -> dict[str, Any]:
    """Windows, RTTs and counters of one flow of each group, by name; (time, group).

    Names, units and meanings are those of `vegasfluid.trajectory.CLASS_VARIABLES`. `rtt` is the
    round-trip time without the access link, s.
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
