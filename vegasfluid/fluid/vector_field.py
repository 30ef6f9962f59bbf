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

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from vegasfluid import smooth
from vegasfluid.fluid import queues
from vegasfluid.fluid.delayed import DelayedState, StateHistory, history_size
from vegasfluid.fluid.fair_queueing import queue_limits
from vegasfluid.fluid.layout import Layout
from vegasfluid.fluid.observables import (
    Observables,
    delays_at,
    from_traffic,
    observe,
    round_trip_times,
    serve,
)
from vegasfluid.fluid.options import FluidOptions
from vegasfluid.fluid.parameters import FluidParameters
from vegasfluid.fluid.senders import ClassDerivative
from vegasfluid.fluid.shapes import PerCell, PerGroup, Scalar, Vector
from vegasfluid.fluid.state import Moments, Population, State, initial_base_rtt, initial_state
from vegasfluid.fluid.structure import FluidStructure

__all__ = ["VectorField", "derivatives"]


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
        waits = state.queue / serve(time, state, base_rtt, self).shares
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
            queue=queues.without_overflow(state.queue, lost, self.parameters, self.structure),
        )
        return self.layout.pack(self.clip(state))

    def clip(self, state: State) -> State:
        """The state clipped to its domain: windows, queues, AQM states, fractions of flows.

        Windows are at most `max_window`, queues at most the buffer or a flow's own limit (packets).
        Counters are not clipped: their derivatives are never negative.
        """
        largest, buffers = self.parameters.groups.max_window, self.parameters.queues.buffer
        longest = queue_limits(self.parameters, self.structure)
        disciplines = zip(self.parameters.aqm, state.aqm_states, buffers, strict=True)
        return state._replace(
            queue=smooth.clip(state.queue, 0.0, longest),
            aqm_states=tuple(aqm.clip(part, buffer) for aqm, part, buffer in disciplines),
            classes=tuple(
                population.clip(part, largest[groups])
                for population, part, groups in self.by_class(state)
            ),
            in_timeout=smooth.clip(state.in_timeout, 0.0, 1.0),
            transfers=smooth.maximum(state.transfers, 0.0),
        )


def derivatives(state: State, observed: Observables, field: VectorField) -> State:
    """Time derivative of each part of the state, in its unit per second.

    Args:
        state: state of the equations.
        observed: what `observe` computes from it.
        field: the equations.
    """
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
        queue=queues.queue_derivative(
            state, arriving, drops, observed.served, parameters, structure
        ),
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
    """Time derivative of the state of class `number`; each field in its unit per second.

    New transfers begin again at the initial state. Loss events and timeouts are rates, 1/s, of a
    flow that has started and is not in a timeout.
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
