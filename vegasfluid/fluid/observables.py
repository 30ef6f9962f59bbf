"""What follows from a state of the fluid model: rates, round-trip times and signals to senders.

A flow sends a window in a round trip, at most what its access link and its application allow, while
it has data (`transfers`) and is not in a timeout (`in_timeout`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import jax.numpy as jnp
import numpy as np

from vegasfluid import smooth
from vegasfluid.fluid import queues
from vegasfluid.fluid.delayed import DelayedState
from vegasfluid.fluid.fair_queueing import Service, equal_shares, service
from vegasfluid.fluid.parameters import FluidParameters
from vegasfluid.fluid.rtt_noise import jitter_noise, minimum_rtt_offset, own_rtt_offset
from vegasfluid.fluid.senders import (
    SenderSignals,
    capped_loss_rate,
    loss_signals,
    measured_rtt,
    timeout_duration,
)
from vegasfluid.fluid.shapes import PerGroup, PerHop, PerQueue, Scalar
from vegasfluid.fluid.state import State
from vegasfluid.fluid.structure import FluidStructure
from vegasfluid.traffic import TrafficSource

if TYPE_CHECKING:
    from vegasfluid.fluid.vector_field import VectorField

__all__ = ["Observables", "delays_at", "from_traffic", "observe", "round_trip_times", "serve"]

TINY = 1e-30
"""Keeps quotients finite where no flow of a group is sending."""
START_WIDTH = 1e-3
"""Seconds over which a group's start, or a change of delay, is smoothed."""


def delays_at(time: Scalar, parameters: FluidParameters) -> tuple[PerGroup, PerHop]:
    """Base RTT of each group, and delay from the previous queue to each hop, s, at a time (s)."""
    base_rtt, propagation = parameters.groups.base_rtt, parameters.propagation
    events = parameters.delay_events
    if events is None:
        return base_rtt, propagation
    past = smooth.step(time - events.time, START_WIDTH)
    return base_rtt + past @ events.base_rtt, propagation + past @ events.propagation


class Observables(NamedTuple):
    """Rates and signals that follow from the state at one time.

    Args:
        senders: what the senders observe.
        arriving: packets/s of a flow that arrive at each hop.
        served: rate at which packets leave each queue now, data packets/s.
        service: service rate of each queue while packets wait, packets/s.
        waiting: number of packets in each queue.
        started: 1 for a group that has started, 0 before.
        busy: fraction of a flow's time in which it has data to send.
    """

    senders: SenderSignals
    arriving: PerHop
    served: PerQueue
    service: PerQueue
    waiting: PerQueue
    started: PerGroup
    busy: PerGroup


def round_trip_times(base_rtt: PerGroup, waits: PerQueue, structure: FluidStructure) -> PerGroup:
    """Round-trip time of each group, s, without jitter and waiting at the flow's access link.

    Args:
        base_rtt: round-trip time without queueing, s.
        waits: waiting time in each queue, s.
        structure: static structure of the equations.
    """
    if structure.queue_count == 1:
        return base_rtt + waits[0]
    return base_rtt + structure.crossings @ waits


def serve(time: Scalar, state: State, base_rtt: PerGroup, field: VectorField) -> Service:
    """Rates at which the queues are served at a time (s), data packets/s.

    It is the capacity without flow queueing. With it, flows that have packets waiting get a fair
    share, whatever they send. What other flows send depends little on their queues. So all rates
    of sending are computed with the waiting times that equal shares would give.

    Args:
        time: present time, s.
        state: state of the equations.
        base_rtt: round-trip time without queueing, s.
        field: the equations.
    """
    parameters, structure = field.parameters, field.structure
    if not structure.has_own_queues:
        return Service(parameters.queues.capacity, parameters.queues.capacity)
    waits = state.queue / equal_shares(parameters, structure)
    rtt = round_trip_times(base_rtt, waits, structure)
    sent = sending(time, state, packets_in_flight(state, rtt, field), rtt, field).mean_rate
    work = sent[structure.hop_groups] * parameters.relative_size
    return service(work, state.queue, parameters, structure)


class Sending(NamedTuple):
    """What a flow of each group sends.

    Args:
        rate: rate while it sends, packets/s.
        rate_limit: rate that its access link and its application allow, packets/s.
        started: 1 for a group that has started, 0 before.
        busy: fraction of the time in which it has data to send.
        active: fraction of the time in which it has data to send and is not in a timeout.
    """

    rate: PerGroup
    rate_limit: PerGroup
    started: PerGroup
    busy: PerGroup
    active: PerGroup

    @property
    def mean_rate(self) -> PerGroup:
        """Mean rate of a flow over time, times in which it does not send included, packets/s."""
        return self.started * self.active * self.rate


def sending(
    time: Scalar, state: State, window: PerGroup, rtt: PerGroup, field: VectorField
) -> Sending:
    """What a flow of each group sends at a time (s).

    Unresponsive senders send at their rate limit, others a window in a round trip up to that limit.

    Args:
        time: present time, s.
        state: state of the equations.
        window: packets in flight that the window allows.
        rtt: round-trip time, s.
        field: the equations.
    """
    groups = field.parameters.groups
    rate_limit = smooth.minimum(groups.application_rate, groups.access)
    clocked = queues.ack_clocked(field.parameters, field.structure) > 0
    rate = jnp.where(clocked, smooth.minimum(window / rtt, rate_limit), rate_limit)
    started = smooth.step(time - groups.start, START_WIDTH)
    busy = from_traffic(lambda source, part: source.busy_fraction(part), state.transfers, field)
    return Sending(rate, rate_limit, started, busy, busy * (1 - state.in_timeout))


def mean_windows(state: State, rtt: PerGroup, field: VectorField) -> PerGroup:
    """Mean window of a flow of each group, packets, in a state, at round-trip times (s)."""
    parts = field.by_class(state)
    return jnp.concatenate(
        [population.cwnd(part, rtt[groups]) for population, part, groups in parts]
    )


def from_traffic(
    quantity: Callable[[TrafficSource, PerGroup], PerGroup], transfers: PerGroup, field: VectorField
) -> PerGroup:
    """A quantity of each group that its traffic source computes from the number of transfers.

    Args:
        quantity: function of a traffic source and the transfers of its groups.
        transfers: number of transfers of a flow of each group, in progress or waiting.
        field: the equations.
    """
    sources = zip(field.parameters.traffic, field.structure.class_slices, strict=True)
    return jnp.concatenate([quantity(source, transfers[groups]) for source, groups in sources])


def packets_in_flight(state: State, rtt: PerGroup, field: VectorField) -> PerGroup:
    """Packets in flight that the window of a flow of each group allows, at RTTs (s).

    It is the mean window. With `FluidOptions.whole_packets`, only whole packets of each window
    count, and `max_window` is allowed where the mean window reaches it.
    """
    cwnd = mean_windows(state, rtt, field)
    if not field.options.whole_packets:
        return cwnd
    allowed = jnp.concatenate(
        [
            population.in_flight(part, rtt[groups])
            for population, part, groups in field.by_class(state)
        ]
    )
    largest = field.parameters.groups.max_window
    return jnp.where(cwnd < largest, allowed, largest)


def observe(time: Scalar, state: State, delayed: DelayedState, field: VectorField) -> Observables:
    """RTTs (s), rates, arrivals (packets/s) and loss signals at a time (s), from the state."""
    parameters, structure = field.parameters, field.structure
    groups = parameters.groups
    base_rtt, propagation = delays_at(time, parameters)
    noise = jitter_noise(parameters, structure)
    shares, served = serve(time, state, base_rtt, field)
    waits = state.queue / shares
    rtt = round_trip_times(base_rtt, waits, structure) + noise.mean_delay
    window = packets_in_flight(state, rtt, field)
    rtt = smooth.maximum(rtt, window / groups.access)
    sent = sending(time, state, window, rtt, field)
    arriving = queues.arrivals(
        sent.mean_rate, propagation, time, state.queue, shares, delayed, parameters, structure
    )
    admitted = state.arrived - state.dropped
    waiting = state.queue / queues.queued_packet_size(
        admitted, waits, delayed, parameters, structure
    )
    queueing_delay = waits[structure.hop_queues]
    losses = loss_signals(rtt, queueing_delay, propagation, delayed, structure)
    offset = minimum_rtt_offset(
        window, losses.rate, base_rtt, rtt, parameters.queues.capacity, groups.count
    )
    if structure.has_own_queues:
        alone = own_rtt_offset(window, losses.rate, base_rtt, rtt, shares, structure)
        offset = jnp.where(structure.own_queue_groups, alone, offset)
    in_recovery = smooth.clip(state.loss_events - delayed.loss_events(rtt), 0.0, 1.0)
    loss_rate = losses.rate / smooth.maximum(sent.active, TINY)
    measured = rtt
    if field.options.delayed_rtt:
        measured = measured_rtt(rtt, queueing_delay, propagation, shares, delayed, structure)
    senders = SenderSignals(
        rtt=rtt,
        measured_rtt=measured,
        rate=sent.rate,
        losses=losses._replace(rate=capped_loss_rate(loss_rate, rtt, parameters.delay_bounds)),
        noise=noise._replace(minimum_offset=offset),
        in_recovery=in_recovery,
        rate_limit=sent.rate_limit,
        ssthresh=groups.initial_ssthresh,
        min_rto=groups.min_rto,
        ack_every=groups.ack_every,
        synchronised=synchronised_fraction(parameters, structure),
        recovered=delayed.loss_event_rate(rtt),
        timeout_exits=jnp.zeros_like(rtt),
    )
    exits = state.in_timeout / timeout_duration(mean_windows(state, rtt, field), senders)
    exits = exits / smooth.maximum(1 - state.in_timeout, TINY)
    return Observables(
        senders=senders._replace(timeout_exits=exits),
        arriving=arriving,
        served=served,
        service=queues.service_rates(arriving, shares, parameters, structure),
        waiting=waiting,
        started=sent.started,
        busy=sent.busy,
    )


def synchronised_fraction(parameters: FluidParameters, structure: FluidStructure) -> np.ndarray:
    """Fraction (0 to 1) of the queues on each group's path whose losses follow window growth.

    Only queues that its data cross count; (groups,).
    """
    paths: list[list[bool]] = [[] for _ in range(structure.group_count)]
    for hop in structure.hops:
        if not hop.is_ack:
            paths[hop.group].append(parameters.aqm[hop.queue].losses_follow_growth)
    return np.array([np.mean(path) for path in paths])
