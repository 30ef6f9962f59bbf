"""The queues: arrivals at each hop, drop probabilities, and the derivative of queue lengths.

    dq/dt = arrivals (1 - p) - C       clipped to 0 and the buffer, in data packets of work
    p = 1 - (1 - early) (1 - overflow) drops of the queue discipline, and of a full buffer

Queues are first in, first out: a flow group arrives at its next hop at the rate at which it was
admitted here when the packet that leaves now arrived, divided by 1 + d(waiting time)/dt at that
time. Where ACKs wait among data, q is work, in data packets. So the waiting time is exactly q / C,
and no packets are lost or created between hops. Queue disciplines that count packets get q divided
by the mean packet size.

Where each flow has its own queue, q are the packets of one flow that wait, and they are served
at its max-min fair share phi of the link in place of C: see `fair_queueing`. There the waiting time
is q / phi, which is exact for a constant share.

Sources:
    V. Misra, W.-B. Gong and D. Towsley, SIGCOMM 2000 (one queue). Rates between hops, packet sizes
    and counters: derived for this project from first in, first out.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from vegasfluid import smooth
from vegasfluid.aqm.base import QueueState
from vegasfluid.aqm.droptail import overflow_prob
from vegasfluid.fluid.delayed import DelayedState
from vegasfluid.fluid.fair_queueing import (
    queue_limits,
    shared_overflow,
    shared_overflow_in_step,
)
from vegasfluid.fluid.parameters import FluidParameters
from vegasfluid.fluid.shapes import PerGroup, PerHop, PerQueue, Scalar
from vegasfluid.fluid.state import State
from vegasfluid.fluid.structure import FluidStructure

__all__ = ["Drops", "ack_clocked", "arrivals", "buffer_in_packets", "drop_probabilities"]
__all__ += ["drop_tail_loss_bias", "mean_packet_size", "overflow_in_step", "queue_derivative"]
__all__ += ["queued_packet_size", "service_rates", "without_overflow"]

LEAST_RATE = 1e-9
"""Added to arrival rates, packets/s, to avoid 0/0 where nothing arrives."""
LEAST_GROWTH = 1e-12
"""Added to the growth of windows, packets/s, to avoid 0/0 where none grows."""
LEAST_STRETCH = 1e-3
"""Smallest 1 + d(waiting time)/dt; only interpolation errors make it smaller."""
DRAIN_RATE = 1.0
"""Rate, 1/s, at which packets in excess of the buffer drain (chosen). A queue exceeds its buffer
where small ACKs replace data that leave."""


class Drops(NamedTuple):
    """Drop and loss-signal probabilities of the packets that arrive at each hop.

    Args:
        dropped: fraction of the arriving packets that is dropped.
        signalled: fraction whose loss or mark the sender responds to.
        queues: the inputs of each queue discipline.
    """

    dropped: PerHop
    signalled: PerHop
    queues: tuple[QueueState, ...]


def sum_by_queue(per_hop: PerHop, structure: FluidStructure) -> PerQueue:
    """Sums of `per_hop` over all hops at each queue, in its unit; (queues,)."""
    if structure.queue_count == 1:
        return jnp.sum(per_hop, keepdims=True)
    return jnp.asarray(structure.queue_hop_matrix) @ per_hop


def flows_per_hop(parameters: FluidParameters, structure: FluidStructure) -> PerHop:
    """Flows of each hop's group that share its queue: all, or 1 with flow queueing; (hops,)."""
    count = parameters.groups.count[structure.hop_groups]
    return jnp.where(structure.in_own_queue, 1.0, count) if structure.has_own_queues else count


def service_rates(
    arriving: PerHop, shares: PerQueue, parameters: FluidParameters, structure: FluidStructure
) -> PerQueue:
    """Service rate of each queue, packets/s, for packets of the mean size of those that arrive.

    Args:
        arriving: packets/s of a flow at each hop.
        shares: rate at which each queue is served, data packets/s.
        parameters: parameters of the equations.
        structure: static structure of the equations.
    """
    if not structure.has_ack_hops:
        return shares
    return shares / mean_packet_size(arriving, parameters, structure)


def queued_packet_size(
    admitted: PerHop,
    waiting_time: PerQueue,
    delayed: DelayedState,
    parameters: FluidParameters,
    structure: FluidStructure,
) -> PerQueue:
    """Mean size of the packets in each queue, relative to a data packet.

    It is the mean over the packets admitted in the last `waiting_time`.

    Args:
        admitted: packets of a flow that each hop admitted since the start.
        waiting_time: waiting time of a packet that arrives now, s.
        delayed: counters at past times.
        parameters: parameters of the equations.
        structure: static structure of the equations.
    """
    if not structure.has_ack_hops:
        return jnp.ones(structure.queue_count)
    earlier = delayed.admitted(np.arange(len(structure.hops)), waiting_time[structure.hop_queues])
    return mean_packet_size(smooth.maximum(admitted - earlier, 0.0), parameters, structure)


def mean_packet_size(
    admitted: PerHop, parameters: FluidParameters, structure: FluidStructure
) -> PerQueue:
    """Mean size of packets at each queue, relative to a data packet; 1 at queues without hops.

    Args:
        admitted: number, or rate, of packets of one flow at each hop.
        parameters: parameters of the equations.
        structure: static structure of the equations.
    """
    packets = flows_per_hop(parameters, structure) * (admitted + LEAST_RATE)
    work = sum_by_queue(packets * parameters.relative_size, structure)
    uncrossed = (structure.crossings.sum(axis=0) == 0).astype(float)
    return (work + uncrossed) / (sum_by_queue(packets, structure) + uncrossed)


def arrivals(
    sent: PerGroup,
    propagation: PerHop,
    time: Scalar,
    queue: PerQueue,
    shares: PerQueue,
    delayed: DelayedState,
    parameters: FluidParameters,
    structure: FluidStructure,
) -> PerHop:
    """Packets of one flow that arrive at each hop, packets/s; (hops,).

    Args:
        sent: packets/s of a flow of each group.
        propagation: delay from the previous queue to each hop, s.
        time: present time, s.
        queue: work waiting in each queue, data packets.
        shares: rate at which each queue is served, data packets/s.
        delayed: counters and queues at past times.
        parameters: parameters of the equations.
        structure: static structure of the equations.
    """
    first = structure.first_hops
    later = [number for number, hop in enumerate(structure.hops) if hop.previous >= 0]
    entering = sent[structure.hop_groups[first]]
    if not later:
        return entering
    previous = np.array([structure.hops[number].previous for number in later])
    queues = structure.hop_queues[previous]
    capacity = shares[queues]
    delay = propagation[np.array(later)] + queue[queues] / capacity
    times = time - smooth.maximum(delay, parameters.delay_bounds.shortest)
    admitted = smooth.maximum(delayed.admission_rate(previous, times), 0.0)
    stretch = smooth.maximum(1 + delayed.queue_slope(queues, times) / capacity, LEAST_STRETCH)
    hop_order = np.argsort([*first, *later])
    return jnp.concatenate([entering, admitted / stretch])[hop_order]


def ack_clocked(parameters: FluidParameters, structure: FluidStructure) -> np.ndarray:
    """1 for each group that sends when ACKs arrive, 0 for unresponsive ones; (groups,)."""
    sizes = zip(parameters.laws, structure.groups_per_class, strict=True)
    return np.concatenate([np.full(size, float(law.rules.reliable)) for law, size in sizes])


def buffer_in_packets(parameters: FluidParameters) -> PerQueue:
    """Packets that fit into each buffer; the smallest packets if the buffer counts bytes."""
    in_bytes = np.array([aqm.counts_bytes for aqm in parameters.aqm])
    smallest = jnp.min(parameters.relative_size)
    return parameters.queues.buffer / jnp.where(in_bytes, smallest, 1.0)


def byte_mode_factor(parameters: FluidParameters, structure: FluidStructure) -> PerHop:
    """Factor on the drop probability at each hop: 1, or the packet size if the AQM uses it.

    The size is relative to a data packet; (hops,).
    """
    by_size = np.array([parameters.aqm[queue].drops_by_size for queue in structure.hop_queues])
    counted: Any = np.where(by_size, 1.0, 0.0)
    return counted * (parameters.relative_size - 1) + 1


def drop_tail_loss_bias(
    arriving: PerHop,
    window_growth: PerGroup | None,
    parameters: FluidParameters,
    structure: FluidStructure,
) -> PerHop | float:
    """Drop probability of each hop's packets at a full buffer, relative to the queue's mean.

    With ACK clocking each packet replaces one that has left the queue. So a full buffer mainly
    drops the extra packet of a growing window, and losses are divided among flows in proportion to
    their growth. The larger the fraction of extra packets among all arrivals, the more often
    another packet arrives first and is dropped instead: this fraction of drops is random.

    Args:
        arriving: packets/s of a flow at each hop.
        window_growth: growth of a window of each group, packets/s; None where no queue needs it.
        parameters: parameters of the equations.
        structure: static structure of the equations.

    Returns:
        The ratio of probabilities, without unit, of each hop; 1 where losses are random.
    """
    if window_growth is None:
        return 1.0
    queues, groups = structure.hop_queues, structure.hop_groups
    biased = np.array(
        [
            parameters.aqm[hop.queue].losses_follow_growth and not hop.is_ack
            for hop in structure.hops
        ]
    )
    clocked = biased * ack_clocked(parameters, structure)[groups]
    rates = arriving + LEAST_RATE, window_growth[groups] + LEAST_GROWTH
    flows = flows_per_hop(parameters, structure)
    sent, grown = (sum_by_queue(flows * clocked * rate, structure)[queues] for rate in rates)
    mean = jnp.where(clocked > 0, grown, 1.0) / jnp.where(clocked > 0, sent, 1.0)
    random_fraction = smooth.minimum(mean, 1.0)
    return 1 + clocked * (1 - random_fraction) * (rates[1] / rates[0] / mean - 1)


def drop_probabilities(
    state: State,
    arriving: PerHop,
    service: PerQueue,
    waiting: PerQueue,
    loss_bias: PerHop | float,
    parameters: FluidParameters,
    structure: FluidStructure,
) -> Drops:
    """Drop and loss-signal probabilities, 0 to 1, of the packets that arrive at each hop.

    Args:
        state: state of the equations.
        arriving: packets/s of a flow at each hop.
        service: service rate of each queue, packets/s.
        waiting: number of packets in each queue.
        loss_bias: relative drop probability at a full buffer, from `drop_tail_loss_bias`.
        parameters: parameters of the equations.
        structure: static structure of the equations.

    Returns:
        Both probabilities, (hops,), and the inputs of each queue discipline.
    """
    total = sum_by_queue(flows_per_hop(parameters, structure) * arriving, structure)
    length = [state.queue if aqm.counts_bytes else waiting for aqm in parameters.aqm]
    limits = queue_limits(parameters, structure)
    queues = tuple(
        QueueState(length[q][q], aqm_state, total[q], service[q], limits[q])
        for q, aqm_state in enumerate(state.aqm_states)
    )
    pairs = list(zip(parameters.aqm, queues, strict=True))
    overflow = jnp.stack([overflow_prob(draining_if_overfull(queue)) for queue in queues])
    if structure.has_own_queues:
        shared = shared_overflow(arriving, waiting, parameters, structure)
        overflow = smooth.maximum(overflow, shared)
    early = jnp.stack([aqm.drop_prob(queue) for aqm, queue in pairs])
    forced = jnp.stack([aqm.forced_prob(queue) for aqm, queue in pairs])
    at = structure.hop_queues
    is_data = jnp.array([not hop.is_ack for hop in structure.hops], float)
    ecn_capable = is_data * parameters.groups.ecn_capable[structure.hop_groups]  # not ACKs
    size_factor = byte_mode_factor(parameters, structure)
    full = full_buffer_drops(overflow, arriving, loss_bias, parameters, structure)
    lost = 1 - (1 - early[at] * size_factor) * (1 - full)
    lost_with_ecn = 1 - (1 - forced[at]) * (1 - full)  # data, of size 1
    dropped = ecn_capable * lost_with_ecn + (1 - ecn_capable) * lost
    signalled = [parameters.aqm[q].loss_signal_prob(lost[hop]) for hop, q in enumerate(at)]
    return Drops(dropped, jnp.stack(signalled), queues)


def full_buffer_drops(
    overflow: PerQueue,
    arriving: PerHop,
    loss_bias: PerHop | float,
    parameters: FluidParameters,
    structure: FluidStructure,
) -> PerHop:
    """Fraction of each hop's packets that a full buffer drops, 0 to 1; (hops,).

    No hop loses more packets than arrive. The other hops of the queue lose the remaining drops,
    each the same fraction of its packets.

    Args:
        overflow: fraction of the arrivals at each queue for which the buffer has no space.
        arriving: packets/s of a flow at each hop.
        loss_bias: drop probability relative to the mean, from `drop_tail_loss_bias`.
        parameters: parameters of the equations.
        structure: static structure of the equations.
    """
    at = structure.hop_queues
    drops = overflow[at] * loss_bias
    admitted = smooth.positive_part(1 - drops)
    packets = flows_per_hop(parameters, structure) * arriving
    excess = sum_by_queue(packets * smooth.positive_part(drops - 1), structure)
    others = smooth.maximum(sum_by_queue(packets * admitted, structure), LEAST_RATE)
    return 1 - admitted * (1 - smooth.minimum(excess / others, 1.0)[at])


def overflow_in_step(
    before: State, after: State, parameters: FluidParameters, structure: FluidStructure
) -> PerHop:
    """Packets of a flow at each hop that exceed the buffer after a solver step.

    A queue that fills within a step overshoots the buffer. Then the same fraction of the packets
    that the step admitted is dropped at all hops of the queue.

    Args:
        before: state of the equations before the step.
        after: state of the equations after the step.
        parameters: parameters of the equations.
        structure: static structure of the equations.
    """
    added = after.admitted - before.admitted
    flows = flows_per_hop(parameters, structure)
    admitted = sum_by_queue(flows * parameters.relative_size * added, structure)
    limits = queue_limits(parameters, structure)
    excess = smooth.positive_part(after.queue - limits)
    fraction = excess / smooth.maximum(admitted, LEAST_RATE)
    lost = added * fraction[structure.hop_queues]
    if not structure.has_own_queues:
        return lost
    queue = smooth.minimum(after.queue, limits)
    return lost + shared_overflow_in_step(added - lost, queue, parameters, structure)


def without_overflow(
    queue: PerQueue, lost: PerHop, parameters: FluidParameters, structure: FluidStructure
) -> PerQueue:
    """Work in each queue without the packets that a step put there beyond the buffer, data packets.

    Only queues of single flows change; `VectorField.clip` limits other queues to the buffer.

    Args:
        queue: work in each queue after the step, data packets.
        lost: packets of a flow at each hop that exceed the buffer.
        parameters: parameters of the equations.
        structure: static structure of the equations.
    """
    if not structure.has_own_queues:
        return queue
    own = jnp.where(structure.in_own_queue, lost * parameters.relative_size, 0.0)
    return queue - sum_by_queue(own, structure)


def queue_derivative(
    state: State,
    arriving: PerHop,
    drops: Drops,
    served: PerQueue,
    parameters: FluidParameters,
    structure: FluidStructure,
) -> PerQueue:
    """Time derivative of the work in each queue, data packets/s; at least 0 for an empty queue.

    Args:
        state: state of the equations.
        arriving: packets/s of a flow at each hop.
        drops: drop probabilities of these packets.
        served: rate at which each queue is served, data packets/s.
        parameters: parameters of the equations.
        structure: static structure of the equations.
    """
    admitted = flows_per_hop(parameters, structure) * arriving * (1 - drops.dropped)
    work = sum_by_queue(admitted * parameters.relative_size, structure)
    growth = work - served
    return jnp.where(state.queue <= 0, smooth.maximum(growth, 0.0), growth)


def draining_if_overfull(queue: QueueState) -> QueueState:
    """The queue with a lower capacity (packets/s) if it exceeds its buffer.

    More arrivals are then dropped, so that the excess drains at 1/s.
    """
    excess = smooth.positive_part(queue.queue - queue.buffer)
    return queue._replace(capacity=queue.capacity - DRAIN_RATE * excess)
