"""Flow queueing: the share of each flow, where a link has a queue for each, and their buffers.

Deficit round robin serves the queues that have packets at one rate, phi, and the others as they
send. With N flows of each group that send x data packets/s, of which the fraction b has packets
waiting,

    sum N s = C        s = b phi + (1 - b) min(x, phi)

b rises from 0 to 1 over waiting times up to a small part of the round trip. phi is at most C. In
equilibrium it is the max-min fair share.

Sources:
    Derived for this project from deficit round robin (M. Shreedhar and G. Varghese, SIGCOMM 1995;
    see `packet.flow_queues`), and compared with packets (`tests/fluid/test_fair_queueing.py`).
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from vegasfluid import smooth
from vegasfluid.fluid.parameters import FluidParameters
from vegasfluid.fluid.shapes import PerHop, PerQueue, Scalar
from vegasfluid.fluid.structure import FluidStructure

__all__ = ["Service", "equal_shares", "queue_limits", "service", "shared_overflow"]
__all__ += ["shared_overflow_in_step"]

LEAST_SLOPE = 1e-9
"""Smallest derivative of the served work by the share, flows, by which Newton's method divides. It
applies where no flow could use a larger share."""
LEAST_WORK = 1e-9
"""Least work, data packets or data packets/s, by which an excess is divided."""
MOST_STEPS = 10
"""Most steps of Newton's method (chosen: with 100 kinds of flows the relative error of the share is
then within 1e-6)."""
LONG = 0.8
"""Length of a queue, relative to the longest one, above which a full buffer drops its packets
(chosen: queues that are cut by half when they are the longest differ by a factor of up to 2)."""
PART_OF_DELAY = 1 / 8
"""Waiting time, relative to the shortest delay, from which on a flow counts as waiting all the time
(chosen: short, but not so short that a queue that empties limits the solver's step)."""


class Service(NamedTuple):
    """Rates at which queues are served, data packets/s; of one flow where it has its own queue.

    Args:
        shares: rate while packets wait: the link's capacity, or the fair share of a flow.
        served: rate at which work leaves: the capacity of a shared queue, even if it is empty; for
            the queue of one flow at most the fair share.
    """

    shares: PerQueue
    served: PerQueue


def equal_shares(parameters: FluidParameters, structure: FluidStructure) -> PerQueue:
    """Capacity of the link of each queue, data packets/s; (queues,).

    Where each flow has its own queue, it is divided by the number of flows at the link.
    """
    if not structure.has_own_queues:
        return parameters.queues.capacity
    own = structure.in_own_queue
    flows = structure.link_queue_matrix @ structure.queue_hop_matrix
    count = jnp.where(own, parameters.groups.count[structure.hop_groups], 0.0)
    total = (flows @ count)[np.array(structure.queue_links)]
    return parameters.queues.capacity / jnp.where(np.array(structure.own_queues), total, 1.0)


def service(
    work: PerHop, queue: PerQueue, parameters: FluidParameters, structure: FluidStructure
) -> Service:
    """Rates at which all queues are served, where some hold the packets of a single flow.

    Args:
        work: data packets/s that one flow sends to each hop.
        queue: work waiting in each queue, data packets.
        parameters: parameters of the equations.
        structure: static structure of the equations.
    """
    capacity = parameters.queues.capacity
    waits = queue / equal_shares(parameters, structure)
    width = PART_OF_DELAY * parameters.delay_bounds.shortest
    waiting = smooth.clip(waits / width, 0.0, 1.0)
    shares, served = list(jnp.asarray(capacity)), list(jnp.asarray(capacity))
    for hops in own_hops(structure):
        at, sent = structure.hop_queues[hops], work[hops]
        flows = parameters.groups.count[structure.hop_groups[hops]]
        share = fair_share(sent, waiting[at], flows, capacity[at[0]])
        rates = served_rates(share, sent, waiting[at])
        for number, rate in zip(at, rates, strict=True):
            shares[number], served[number] = share, rate
    return Service(jnp.stack(shares), jnp.stack(served))


def queue_limits(parameters: FluidParameters, structure: FluidStructure) -> PerQueue:
    """Packets that each queue can hold; (queues,).

    It is the link's buffer; for the queue of one flow, `flow_limit` of the queue discipline if that
    is smaller.
    """
    if not structure.has_own_queues:
        return parameters.queues.buffer
    limits = list(jnp.asarray(parameters.queues.buffer))
    for number, aqm in enumerate(parameters.aqm):
        if served := aqm.flow_queues:
            limits[number] = smooth.minimum(limits[number], served.flow_limit)
    return jnp.stack(limits)


def own_hops(structure: FluidStructure) -> list[np.ndarray]:
    """Indices of the hops at each link with flow queueing, one array for each such link."""
    links = sorted(set(structure.hop_links[structure.in_own_queue]))
    return [np.flatnonzero(structure.hop_links == link) for link in links]


def served_rates(share: Scalar, sent: PerHop, waiting: PerHop) -> PerHop:
    """Rate s at which each flow is served, data packets/s: b phi + (1 - b) min(x, phi).

    Args:
        share: phi, data packets/s.
        sent: x, data packets/s.
        waiting: b, fraction of the flows with packets waiting.
    """
    return waiting * share + (1 - waiting) * smooth.minimum(sent, share)


def fair_share(sent: PerHop, waiting: PerHop, flows: PerHop, capacity: Scalar) -> Scalar:
    """Share of each flow that has packets waiting, data packets/s, at most the capacity.

    The work that is served is concave in the share. So Newton's method from equal shares converges
    to the solution from below, in at most as many steps as there are kinds of flows (entries of the
    arrays). With more than ten kinds the share may be slightly too small.

    Args:
        sent: x, data packets/s that a flow of each kind sends.
        waiting: b, fraction of its flows with packets waiting.
        flows: N, number of flows of each kind.
        capacity: C, data packets/s.
    """
    share = capacity / jnp.sum(flows)
    for _ in range(min(sent.shape[0], MOST_STEPS)):
        served = jnp.sum(flows * served_rates(share, sent, waiting))
        slope = jnp.sum(flows * (waiting + (1 - waiting) * jnp.where(sent > share, 1.0, 0.0)))
        change = (capacity - served) / smooth.maximum(slope, LEAST_SLOPE)
        share = smooth.clip(share + change, 0.0, capacity)
    return share


def shared_overflow(
    arriving: PerHop, waiting: PerQueue, parameters: FluidParameters, structure: FluidStructure
) -> PerQueue:
    """Fraction of the arrivals at each queue that a full buffer, shared by all, drops; 0 to 1.

    It is 0 for queues without flow queueing, and where the buffer has space for a packet. The
    longest queues lose the excess of all arrivals over the capacity. The others lose packets only
    if this excess is more than what arrives at the longest ones. A queue counts as one of the
    longest fully at the length of the longest one, half at 0.9 of it, not at all below 0.8.

    Args:
        arriving: packets/s of a flow at each hop.
        waiting: number of packets in each queue.
        parameters: parameters of the equations.
        structure: static structure of the equations.
    """
    dropped = list(jnp.zeros(structure.queue_count))
    for hops in own_hops(structure):
        at = structure.hop_queues[hops]
        flows = parameters.groups.count[structure.hop_groups[hops]]
        most = smooth.maximum(jnp.max(waiting[at]), 1.0)
        longest = smooth.step(waiting[at] - LONG * most, (1 - LONG) * most)
        work = flows * arriving[hops] * parameters.relative_size[hops]
        excess = smooth.positive_part(jnp.sum(work) - parameters.queues.capacity[at[0]])
        left = parameters.queues.buffer[at[0]] - jnp.sum(flows * waiting[at])
        full = smooth.step(1 - left, 1.0)
        fractions = full * parts_of(excess, work, longest)
        for number, fraction in zip(at, fractions, strict=True):
            dropped[number] = fraction
    return jnp.stack(dropped)


def shared_overflow_in_step(
    added: PerHop, queue: PerQueue, parameters: FluidParameters, structure: FluidStructure
) -> PerHop:
    """Packets of a flow at each hop that a step put into its queue beyond the shared buffer.

    They are at most the packets that the step admitted and that still wait. Hops without flow
    queueing have 0.

    Args:
        added: packets of a flow that the step admitted at each hop, at least 0.
        queue: work in each queue after the step, data packets, at most its own limit.
        parameters: parameters of the equations.
        structure: static structure of the equations.
    """
    lost = list(jnp.zeros_like(added))
    for hops in own_hops(structure):
        at = structure.hop_queues[hops]
        flows = parameters.groups.count[structure.hop_groups[hops]]
        buffer = parameters.queues.buffer[at[0]]
        level = fair_share(queue[at], jnp.zeros(len(at)), flows, buffer)
        longest = jnp.where(queue[at] >= level, 1.0, 0.0)
        there = smooth.minimum(parameters.relative_size[hops] * added[hops], queue[at])
        excess = smooth.positive_part(jnp.sum(flows * queue[at]) - buffer)
        fractions = parts_of(excess, flows * there, longest)
        for number, packets in zip(hops, fractions * there, strict=True):
            lost[number] = packets / parameters.relative_size[number]
    return jnp.stack(lost)


def parts_of(excess: Scalar, work: PerHop, longest: PerHop) -> PerHop:
    """Fraction of the work at each hop to drop, 0 to 1, so that the drops add up to `excess`.

    Work of the longest queues is dropped first, and work of other queues only if that is too
    little.

    Args:
        excess: work to drop at all hops together, data packets or data packets/s.
        work: work of all flows at each hop, in the same unit.
        longest: whether the queue is one of the longest, 0 to 1.
    """
    own, others = jnp.sum(work * longest), jnp.sum(work * (1 - longest))
    first = smooth.minimum(excess / smooth.maximum(own, LEAST_WORK), 1.0)
    left = smooth.positive_part(excess - own)
    second = smooth.minimum(left / smooth.maximum(others, LEAST_WORK), 1.0)
    return longest * first + (1 - longest) * second
