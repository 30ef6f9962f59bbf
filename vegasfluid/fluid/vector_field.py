"""The vector field of the fluid model: windows, queues and AQM states, coupled by delays.

For a group of flows with window W, base RTT T and count N, behind queues q of capacity C:

    R = T + sum q / C                      round-trip time
    x = W / R                              rate, at most what access link and application allow
    dW/dt                                  the congestion control's, with losses a round trip ago
    dq/dt = sum N x (1 - p) - C            clipped to 0 and the buffer (`queues`)

A flow sends while it has data (`transfers`) and is not in a timeout (`in_timeout`). A new transfer
starts with a new window; before a group starts, its state is the initial one.

Sources:
    V. Misra, W.-B. Gong and D. Towsley, SIGCOMM 2000, equations 4 and 9 (read). The rest
    is derived for this project and compared with the packet simulator.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from vegasfluid import smooth
from vegasfluid.fluid import queues
from vegasfluid.fluid.delayed import DelayedState, StateHistory, history_size
from vegasfluid.fluid.layout import Layout
from vegasfluid.fluid.options import FluidOptions
from vegasfluid.fluid.parameters import FluidParameters
from vegasfluid.fluid.rtt_noise import jitter_noise, minimum_rtt_offset
from vegasfluid.fluid.senders import (
    ClassDerivative,
    SenderSignals,
    capped_loss_rate,
    loss_signals,
    measured_rtt,
    timeout_duration,
)
from vegasfluid.fluid.shapes import PerCell, PerGroup, PerHop, PerQueue, Scalar, Vector
from vegasfluid.fluid.state import Moments, Population, State, initial_base_rtt, initial_state
from vegasfluid.fluid.structure import FluidStructure
from vegasfluid.traffic import TrafficSource

__all__ = ["Observables", "VectorField", "delays_at", "derivatives", "observe"]
__all__ += ["round_trip_times"]

TINY = 1e-30
"""Keeps quotients finite where no flow of a group is sending."""
START_WIDTH = 1e-3
"""Seconds over which a group's start, or a change of delay, is smoothed."""


class VectorField(NamedTuple):
    """The right-hand side of a network's equations, and the domain of its state.

    Args:
        parameters: parameters of the equations.
        populations: representation of each class: a `MeanField` or a `Density`.
        structure: static structure of the equations.
        options: modelling options.
        layout: layout of states in the solver's vector.
        saved: layout of the states that a run saves.
    """

    parameters: FluidParameters
    populations: tuple[Population, ...]
    structure: FluidStructure
    options: FluidOptions
    layout: Layout
    saved: Layout

    @classmethod
    def of(
        cls,
        parameters: FluidParameters,
        populations: tuple[Population, ...],
        structure: FluidStructure,
        options: FluidOptions,
    ) -> VectorField:
        """Equations of a network whose classes are represented by `populations`, with layouts."""
        state = jax.eval_shape(lambda: initial_state(parameters, populations, structure))
        sizes = structure.groups_per_class
        moments = tuple(Moments(jnp.zeros(size), jnp.zeros(size)) for size in sizes)
        saved = state._replace(classes=moments)
        layouts = Layout.of(state), Layout.of(saved)
        return cls(parameters, populations, structure, options, *layouts)

    @property
    def history_size(self) -> int:
        """Number of leading components of the state of which the solver keeps a history."""
        return history_size(self.layout.indices, self.structure, self.options)

    def delayed(self, time: Scalar, history: StateHistory) -> DelayedState:
        """Access to the state's counters at times before `time` (s), from the solver's history."""
        bounds = self.parameters.delay_bounds
        return DelayedState(history, self.layout.indices, self.structure, bounds, time)

    def save(self, time: Scalar, y: Vector) -> Vector:
        """Vector that a run saves of the state `y` at a time (s).

        It has mean and variance of the windows (packets, packets^2) instead of distributions.
        """
        state = self.layout.unpack(y)
        base_rtt, _ = delays_at(time, self.parameters)
        waits = state.queue / self.parameters.queues.capacity
        rtt = round_trip_times(base_rtt, waits, self.structure)
        moments = tuple(
            Moments(population.cwnd(part, rtt[groups]), population.variance(part, rtt[groups]))
            for population, part, groups in self.by_class(state)
        )
        return self.saved.pack(state._replace(classes=moments))

    def by_class(self, state: State) -> zip[tuple[Population, Any, slice]]:
        """For each class its representation, its part of the state, and the slice of its groups."""
        return zip(self.populations, state.classes, self.structure.class_slices, strict=True)

    def derivative(self, time: Scalar, y: Vector, history: StateHistory) -> Vector:
        """Time derivative of the solver's vector, dy/dt, in the units of `State` per second.

        Args:
            time: present time, s.
            y: state of the whole network as a vector.
            history: the solver's history of the state.
        """
        state = self.clip(self.layout.unpack(y))  # within a step it may be slightly outside
        observed = observe(time, state, self.delayed(time, history), self)
        return self.layout.pack(derivatives(state, observed, self))

    def project(self, before: Vector, y: Vector) -> Vector:
        """The state after a solver step, with each component clipped to its domain.

        Packets that the step put into a queue beyond its buffer are counted as dropped, not as
        admitted.

        Args:
            before: state before the step, shape (n,).
            y: state after it, shape (n,).
        """
        state = self.layout.unpack(y)
        lost = queues.overflow_in_step(
            self.layout.unpack(before), state, self.parameters, self.structure
        )
        state = state._replace(
            dropped=state.dropped + lost,
            signalled=state.signalled + lost,
            admitted=state.admitted - lost,
        )
        return self.layout.pack(self.clip(state))

    def clip(self, state: State) -> State:
        """The state clipped to its domain: windows, queues, AQM states, fractions of flows.

        Windows are at most `max_window`, queues at most the buffer (packets). Counters are not
        clipped: their derivatives are never negative.
        """
        largest, buffers = self.parameters.groups.max_window, self.parameters.queues.buffer
        disciplines = zip(self.parameters.aqm, state.aqm_states, buffers, strict=True)
        return state._replace(
            queue=smooth.clip(state.queue, 0.0, buffers),
            aqm_states=tuple(aqm.clip(part, buffer) for aqm, part, buffer in disciplines),
            classes=tuple(
                population.clip(part, largest[groups])
                for population, part, groups in self.by_class(state)
            ),
            in_timeout=smooth.clip(state.in_timeout, 0.0, 1.0),
            transfers=smooth.maximum(state.transfers, 0.0),
        )


def delays_at(time: Scalar, parameters: FluidParameters) -> tuple[PerGroup, PerHop]:
    """Base RTT of each group, and propagation delay to each hop, at a time (s); both in s."""
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
        service: service rate of each link, packets/s.
        waiting: number of packets in each queue.
        started: 1 for a group that has started, 0 before.
        busy: fraction of a flow's time in which it has data to send.
    """

    senders: SenderSignals
    arriving: PerHop
    service: PerQueue
    waiting: PerQueue
    started: PerGroup
    busy: PerGroup


def round_trip_times(base_rtt: PerGroup, waits: PerQueue, structure: FluidStructure) -> PerGroup:
    """Round-trip time of each group, s, without jitter and its own access link.

    Args:
        base_rtt: round-trip time without queueing, s.
        waits: waiting time in each queue, s.
        structure: static structure of the equations.
    """
    if structure.queue_count == 1:
        return base_rtt + waits[0]
    return base_rtt + structure.crossings @ waits


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

    `transfers` are those of a flow of each group that are active or waiting.
    """
    sources = zip(field.parameters.traffic, field.structure.class_slices, strict=True)
    return jnp.concatenate([quantity(source, transfers[groups]) for source, groups in sources])


def packets_in_flight(state: State, rtt: PerGroup, field: VectorField) -> PerGroup:
    """Packets in flight that the window of a flow of each group allows, at RTTs (s).

    At most `max_window`; only whole packets if `FluidOptions.whole_packets` is set.
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
    groups, capacity = parameters.groups, parameters.queues.capacity
    base_rtt, propagation = delays_at(time, parameters)
    noise = jitter_noise(parameters, structure)
    waits = state.queue / capacity
    rtt = round_trip_times(base_rtt, waits, structure) + noise.mean_delay
    window = packets_in_flight(state, rtt, field)
    rtt = smooth.maximum(rtt, window / groups.access)
    rate_limit = smooth.minimum(groups.application_rate, groups.access)
    clocked = queues.ack_clocked(parameters, structure) > 0
    rate = jnp.where(clocked, smooth.minimum(window / rtt, rate_limit), rate_limit)
    started = smooth.step(time - groups.start, START_WIDTH)
    busy = from_traffic(lambda source, part: source.busy_fraction(part), state.transfers, field)
    active = busy * (1 - state.in_timeout)
    sent = started * active * rate
    arriving = queues.arrivals(sent, propagation, time, state.queue, delayed, parameters, structure)
    admitted = state.arrived - state.dropped
    waiting = state.queue / queues.queued_packet_size(
        admitted, waits, delayed, parameters, structure
    )
    queueing_delay = waits[structure.hop_queues]
    losses = loss_signals(rtt, queueing_delay, propagation, delayed, structure)
    offset = minimum_rtt_offset(window, losses.rate, base_rtt, rtt, capacity, groups.count)
    in_recovery = smooth.clip(state.loss_events - delayed.loss_events(rtt), 0.0, 1.0)
    loss_rate = losses.rate / smooth.maximum(active, TINY)
    measured = rtt
    if field.options.delayed_rtt:
        measured = measured_rtt(rtt, queueing_delay, propagation, capacity, delayed, structure)
    senders = SenderSignals(
        rtt=rtt,
        measured_rtt=measured,
        rate=rate,
        losses=losses._replace(rate=capped_loss_rate(loss_rate, rtt, parameters.delay_bounds)),
        noise=noise._replace(minimum_offset=offset),
        in_recovery=in_recovery,
        rate_limit=rate_limit,
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
        service=queues.service_rates(arriving, parameters, structure),
        waiting=waiting,
        started=started,
        busy=busy,
    )


def synchronised_fraction(parameters: FluidParameters, structure: FluidStructure) -> np.ndarray:
    """Fraction of the queues on each group's data path whose losses follow window growth."""
    paths: list[list[bool]] = [[] for _ in range(structure.group_count)]
    for hop in structure.hops:
        if not hop.is_ack:
            paths[hop.group].append(parameters.aqm[hop.queue].losses_follow_growth)
    return np.array([np.mean(path) for path in paths])


def derivatives(state: State, observed: Observables, field: VectorField) -> State:
    """Time derivative of each part of the state, in its unit per second, from `observe`."""
    parameters, structure = field.parameters, field.structure
    arriving, started = observed.arriving, observed.started
    growth = window_growth(state, observed, field)
    bias = queues.drop_tail_loss_bias(arriving, growth, parameters, structure)
    drops = queues.drop_probabilities(
        state, arriving, observed.service, observed.waiting, bias, parameters, structure
    )
    classes = [
        class_derivative(number, state, observed, field)
        for number in range(len(structure.groups_per_class))
    ]
    loss_events = started * jnp.concatenate([part.loss_events for part in classes])
    timeouts = started * jnp.concatenate([part.timeouts for part in classes])
    completed = arriving[np.array(structure.first_hops)] / parameters.groups.transfer_size
    new_transfers = from_traffic(
        lambda source, part: source.arrival_rate(part), state.transfers, field
    )
    disciplines = zip(parameters.aqm, drops.queues, strict=True)
    return State(
        loss_events=float(field.options.recovery) * loss_events,
        arrived=arriving,
        signalled=arriving * drops.signalled,
        dropped=arriving * drops.dropped,
        queue=queues.queue_derivative(state, arriving, drops, parameters, structure),
        aqm_states=tuple(aqm.derivative(queue) for aqm, queue in disciplines),
        classes=tuple(part.state for part in classes),
        in_timeout=(1 - state.in_timeout) * (timeouts - observed.senders.timeout_exits),
        transfers=started * (new_transfers - completed),
        timeouts=(1 - state.in_timeout) * observed.busy * timeouts,
        queue_integral=observed.waiting,
        admitted=arriving * (1 - drops.dropped),
    )


def window_growth(state: State, observed: Observables, field: VectorField) -> PerGroup | None:
    """Rate at which the window of a flow of each group grows without losses, packets/s; (groups,).

    None if no queue discipline needs it to divide losses among flows.
    """
    if not any(aqm.losses_follow_growth for aqm in field.parameters.aqm):
        return None
    rates = [
        population.window_growth(part, select(observed.senders, groups), field.options)
        for population, part, groups in field.by_class(state)
    ]
    return observed.started * observed.busy * jnp.concatenate(rates)


def class_derivative(
    number: int, state: State, observed: Observables, field: VectorField
) -> ClassDerivative:
    """Time derivative of the state of class `number`, with restarts for new transfers.

    Each field is in its unit per second; so are loss events and timeouts of a flow that sends.
    """
    part = list(field.structure.class_slices)[number]
    senders, started = select(observed.senders, part), observed.started[part]
    groups = select(field.parameters.groups, part)
    population, values = field.populations[number], state.classes[number]
    running = population.derivative(values, senders, field.options)
    first_rtt = initial_base_rtt(senders.rtt - senders.noise.mean_delay, groups)
    initial = population.initial_state(groups.initial_window, first_rtt)
    restart_rate = started * senders.rate / groups.transfer_size + (1 - started) / senders.rtt
    total = jax.tree.map(
        lambda rate, value, new: scale(started, rate) + scale(restart_rate, new - value),
        running.state,
        values,
        initial,
    )
    return running._replace(state=total)


def select(values: Any, groups: slice) -> Any:
    """The part of a pytree of arrays over all groups that belongs to a slice of groups."""
    return jax.tree.map(lambda leaf: leaf[groups], values)


def scale(factor: PerGroup, values: PerCell) -> PerCell:
    """`values` (groups, ...) times the factor of each group (groups,)."""
    return factor.reshape(factor.shape + (1,) * (values.ndim - 1)) * values
