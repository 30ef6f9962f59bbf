"""The queues: what arrives at each station, what it admits, and how long it takes.

    dq/dt = arrivals (1 - p) - C       held between 0 and the buffer, in data packets' worth
    p = 1 - (1 - early) (1 - overflow) the queue law's drops, and a full buffer's

Behind a queue, the flows leave in the proportion in which they came: what a group of flows sends
to its next hop is what it brought to this one when the packet that leaves now came, stretched by
how the wait grew. Where ACKs wait among data the queue is the work that is left to do, so that the
wait is exactly q / C and nothing is lost or made by handing it on; the laws, which count packets,
see it divided by the mean worth of what came during that wait.

Sources:
    V. Misra, W.-B. Gong and D. Towsley, SIGCOMM 2000 (one queue). The hand-over from queue to
    queue, worth and the counters: derived for this project from first in, first out.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from vegasfluid import smooth
from vegasfluid.aqm.base import QueueState
from vegasfluid.aqm.droptail import overflow_prob
from vegasfluid.fluid.parameters import FluidParameters
from vegasfluid.fluid.structure import FluidStructure

__all__ = ["Verdict", "arrivals", "exposure", "judge", "queue_drift", "reliable", "service"]
__all__ += ["mean_worth", "overflow_in_step", "room", "waiting_worth"]

Hops = Float[Array, "hops"]
PerStation = Float[Array, "stations"]


class Verdict(NamedTuple):
    """What the queues make of what arrives.

    Args:
        dropped: share of the packets of each hop that is dropped; (hops,).
        noticed: share whose loss or mark their sender answers; (hops,).
        seen: the queue of each station, as its law sees it.
    """

    dropped: Hops
    noticed: Hops
    seen: tuple[QueueState, ...]


def incidence(plan: FluidStructure) -> np.ndarray:
    """Which hop is at which station: (stations, hops), ones and zeros."""
    at = np.array([hop.station for hop in plan.hops])
    return (at == np.arange(plan.stations)[:, np.newaxis]).astype(float)


def totals(per_hop: Hops, plan: FluidStructure) -> PerStation:
    """Sums over the hops of each station."""
    if plan.stations == 1:
        return jnp.sum(per_hop, keepdims=True)
    return jnp.asarray(incidence(plan)) @ per_hop


def counts(posed: FluidParameters, plan: FluidStructure) -> Hops:
    """Flows of the group of each hop."""
    return posed.groups.count[np.array([hop.group for hop in plan.hops])]


def service(arriving: Hops, posed: FluidParameters, plan: FluidStructure) -> PerStation:
    """Packets/s that each station sends, of the mean worth of what arrives.

    Args:
        arriving: packets/s of a flow at each hop.
        posed: numbers.
        plan: structure.
    """
    if not any(hop.acks for hop in plan.hops):
        return posed.stations.capacity
    return posed.stations.capacity / mean_worth(arriving, posed, plan)


LEAST_RATE, LEAST_GROWTH = 1e-9, 1e-12
"""Packets/s: tell the worth of packets where none arrive, and whom to hit where none grow."""


def waiting_worth(
    admitted: Hops, wait: PerStation, past: Any, posed: FluidParameters, plan: FluidStructure
) -> PerStation:
    """The mean worth of a packet that waits at each station: of what came while its first waited.

    Args:
        admitted: packets of a flow that each hop admitted since the start; (hops,).
        wait: of a packet that comes now, s; (stations,).
        past: counters of past times.
        posed: numbers.
        plan: structure.
    """
    if not any(hop.acks for hop in plan.hops):
        return jnp.ones(plan.stations)
    at = np.array([hop.station for hop in plan.hops])
    came = admitted - past.admitted_until(np.arange(len(plan.hops)), wait[at])
    return mean_worth(smooth.maximum(came, 0.0), posed, plan)


def mean_worth(admitted: Hops, posed: FluidParameters, plan: FluidStructure) -> PerStation:
    """The mean worth of packets of which each hop admitted so many of a flow; (stations,)."""
    packets = counts(posed, plan) * (admitted + LEAST_RATE)
    return totals(packets * posed.worth, plan) / totals(packets, plan)


def arrivals(
    sent: Any,
    onward: Hops,
    now: Any,
    queue: PerStation,
    past: Any,
    posed: FluidParameters,
    plan: FluidStructure,
) -> Hops:
    """Packets/s of a flow that arrive at each hop.

    Args:
        sent: packets/s of a flow of each group.
        onward: propagation from the queue before, s; (hops,).
        now: s.
        queue: what waits at each station now, data packets' worth; (stations,).
        past: rates at past times.
        posed: numbers.
        plan: structure.
    """
    first, later = plan.first, [n for n, hop in enumerate(plan.hops) if hop.previous >= 0]
    entering = sent[np.array([plan.hops[number].group for number in first])]
    if not later:
        return entering
    before = np.array([plan.hops[number].previous for number in later])
    at = np.array([plan.hops[number].station for number in before])
    capacity = posed.stations.capacity[at]
    then = now - smooth.maximum(onward[np.array(later)] + queue[at] / capacity, posed.lags.least)
    admitted = smooth.maximum(past.admitted(before, then), 0.0)
    stretched = smooth.maximum(1 + past.waiting(at, then) / capacity, SHORTEST)
    places = np.argsort([*first, *later])
    return jnp.concatenate([entering, admitted / stretched])[places]


SHORTEST = 1e-3
"""Keeps a rate finite while a queue empties faster than time passes, by interpolation only."""


def in_bytes(law: Any) -> bool:
    """Whether a queue law measures the queue in bytes, told in data packets' worth."""
    return getattr(law, "in_bytes", False)


def reliable(posed: FluidParameters, plan: FluidStructure) -> np.ndarray:
    """1 for each group that sends by the clock of its ACKs, else 0; (groups,)."""
    laws = zip(posed.laws, plan.groups, strict=True)
    return np.concatenate([np.full(size, float(law.rules.reliable)) for law, size in laws])


def room(posed: FluidParameters) -> Any:
    """Packets that fit into each buffer; more small ones where it holds bytes; (stations,)."""
    switches = np.array([in_bytes(law) for law in posed.aqm])
    smallest = jnp.min(posed.worth)
    return posed.stations.buffer / jnp.where(switches, smallest, 1.0)


def lightness(posed: FluidParameters, plan: FluidStructure) -> Any:
    """By how much less a small packet is dropped by a law that counts bytes; (hops,)."""
    switches = np.array([in_bytes(posed.aqm[hop.station]) for hop in plan.hops])
    return np.where(switches, 1.0, 0.0) * (posed.worth - 1) + 1


def exposure(arriving: Hops, growing: Any, posed: FluidParameters, plan: FluidStructure) -> Any:
    """How much more often a full buffer hits the packets of a hop than others; (hops,).

    A packet that an ACK lets go comes to a full buffer when one has left it, and finds room: it is
    the packet by which a window grows that does not. So the losses fall on flows in proportion to
    what they grow. Where a share of what arrives is such packets, so often another one comes in
    between, and chance decides.

    Args:
        arriving: packets/s of a flow at each hop.
        growing: packets/s by which a window of each group grows; None where no law asks.
        posed: numbers.
        plan: structure.
    """
    if growing is None:
        return 1.0
    at, group = (np.array([getattr(hop, of) for hop in plan.hops]) for of in ("station", "group"))
    concerned = np.array(
        [posed.aqm[hop.station].losses_follow_growth and not hop.acks for hop in plan.hops]
    )
    clocked = concerned * reliable(posed, plan)[group]
    rates = arriving + LEAST_RATE, growing[group] + LEAST_GROWTH
    sent, grown = (totals(counts(posed, plan) * clocked * of, plan)[at] for of in rates)
    mean = jnp.where(clocked > 0, grown, 1.0) / jnp.where(clocked > 0, sent, 1.0)
    crowd = smooth.minimum(mean, 1.0)
    return 1 + clocked * (1 - crowd) * (rates[1] / rates[0] / mean - 1)


def judge(
    state: Any, arriving: Hops, sending: PerStation, waiting: PerStation, exposed: Any,
    posed: FluidParameters, plan: FluidStructure,
) -> Verdict:  # fmt: skip
    """What each queue makes of what arrives.

    Args:
        state: the state of the equations.
        arriving: packets/s of a flow at each hop.
        sending: packets/s that each station sends.
        waiting: packets that wait at each station.
        exposed: what `exposure` says.
        posed: numbers.
        plan: structure.
    """
    total = totals(counts(posed, plan) * arriving, plan)
    by_law = [state.queue if in_bytes(law) else waiting for law in posed.aqm]
    seen = tuple(
        QueueState(by_law[s][s], memory, total[s], sending[s], posed.stations.buffer[s])
        for s, memory in enumerate(state.memories)
    )
    pairs = list(zip(posed.aqm, seen, strict=True))
    overflow = jnp.stack([overflow_prob(with_overfull_buffer(queue)) for queue in seen])
    early = jnp.stack([law.drop_prob(queue) for law, queue in pairs])
    forced = jnp.stack([law.forced_prob(queue) for law, queue in pairs])
    at = np.array([hop.station for hop in plan.hops])
    capable = posed.groups.capable[np.array([hop.group for hop in plan.hops])]
    light = lightness(posed, plan)
    refused = full_buffer_drops(overflow, arriving, exposed, posed, plan)
    lost = 1 - (1 - early[at] * light) * (1 - refused)
    kept = 1 - (1 - forced[at] * light) * (1 - refused)  # of packets that are marked instead
    dropped = capable * kept + (1 - capable) * lost
    answered = [posed.aqm[s].loss_signal_prob(lost[number]) for number, s in enumerate(at)]
    return Verdict(dropped, jnp.stack(answered), seen)


def full_buffer_drops(
    overflow: PerStation, arriving: Hops, exposed: Any, posed: FluidParameters, plan: FluidStructure
) -> Hops:
    """The fraction of each hop's packets that a full buffer drops; (hops,).

    No hop can lose more packets than it brings; what is then still to be dropped is taken from the
    other hops of the queue, by the same fraction of what they have left.

    Args:
        overflow: fraction of the arrivals at each queue for which the buffer has no space.
        arriving: packets/s of a flow at each hop.
        exposed: how much more often than the mean each hop is hit, see `exposure`.
        posed: numbers.
        plan: structure.
    """
    at = np.array([hop.station for hop in plan.hops])
    wanted = overflow[at] * exposed
    kept = smooth.positive_part(1 - wanted)
    packets = counts(posed, plan) * arriving
    missing = totals(packets * smooth.positive_part(wanted - 1), plan)
    others = smooth.maximum(totals(packets * kept, plan), LEAST_RATE)
    return 1 - kept * (1 - smooth.minimum(missing / others, 1.0)[at])


def overflow_in_step(before: Any, after: Any, posed: FluidParameters, plan: FluidStructure) -> Hops:
    """Packets of a flow at each hop that a solver step put above the buffer; (hops,).

    A queue that fills within a step overshoots the buffer. The excess is taken from all packets
    that the step admitted, the same fraction at each hop.

    Args:
        before: state of the equations before the step.
        after: state that it led to.
        posed: numbers.
        plan: structure.
    """
    came = after.arrived - before.arrived - (after.dropped - before.dropped)
    admitted = totals(counts(posed, plan) * posed.worth * came, plan)
    over = smooth.positive_part(after.queue - posed.stations.buffer)
    at = np.array([hop.station for hop in plan.hops])
    return came * (over / smooth.maximum(admitted, LEAST_RATE))[at]


def queue_drift(
    state: Any, arriving: Hops, verdict: Verdict, posed: FluidParameters, plan: FluidStructure
) -> PerStation:
    """What is admitted less what is sent; at an empty queue only upwards."""
    admitted = counts(posed, plan) * arriving * (1 - verdict.dropped)
    drift = totals(admitted * posed.worth, plan) - posed.stations.capacity
    return jnp.where(state.queue <= 0, smooth.maximum(drift, 0.0), drift)


SINKING = 1.0
"""1/s: where ACKs take the place of data that leave, more packets may be there than the buffer
holds; then it sinks."""


def with_overfull_buffer(seen: QueueState) -> QueueState:
    """The queue with less capacity where more packets wait than fit, so that it drains."""
    over = smooth.positive_part(seen.queue - seen.buffer)
    return seen._replace(capacity=seen.capacity - SINKING * over)
