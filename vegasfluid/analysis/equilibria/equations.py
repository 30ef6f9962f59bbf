"""Equilibrium equations: the fluid model's vector field with a history at constant rates.

At equilibrium queues are constant and counters grow at constant rates. With such a history, the
vector field that runs integrate (`fluid.vector_field`) gives the residual of any candidate state.
The unknowns are the queues, the states of the queue disciplines, the windows, the fractions of
flows in timeout and the rates of the counters. Fields that are constant for another reason (slow
start, a measured base RTT) get their values from `CongestionControl.stationary_fields`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from vegasfluid import smooth
from vegasfluid.fluid.delayed import DelayedState
from vegasfluid.fluid.model import FluidModel
from vegasfluid.fluid.observables import (
    Observables,
    delays_at,
    observe,
    round_trip_times,
)
from vegasfluid.fluid.queues import buffer_in_packets, mean_packet_size
from vegasfluid.fluid.state import State, initial_state
from vegasfluid.fluid.vector_field import VectorField, derivatives

__all__ = ["REFERENCE_TIME", "EquilibriumEquations", "RampHistory", "Unknowns", "buffer_sizes"]
__all__ += ["counter_rates", "initial_guess"]

REFERENCE_TIME = 1024.0
"""Time at which the equations are evaluated, s: late enough that all flows have started, and small
enough that delays subtracted from it keep their digits."""

Vector = Float[Array, " n"]
"""One number for each unknown or each stored component, each in its own unit."""


class Unknowns(NamedTuple):
    """The unknowns of the equilibrium equations.

    Args:
        queue: packets; in data packets of work where a function states this; (queues,).
        aqm_states: the state of each queue discipline.
        classes: for each class the fields of its state that change, each (groups,).
        in_timeout: fraction of flows in timeout; (groups,).
        counter_rates: rates of the counters whose history is used, 1/s; (counters,).
    """

    queue: Any
    aqm_states: tuple[Any, ...]
    classes: tuple[dict[str, Any], ...]
    in_timeout: Any
    counter_rates: Any


class RampHistory:
    """A history whose components change at constant rates; stands in for the solver's history.

    Args:
        values: values of the stored components (counters, queues) at `time`; (components,).
        rates: constant rates of the components, in their units per second; (components,).
        time: present time, s.
    """

    def __init__(self, values: Vector, rates: Vector, time: float) -> None:
        self._values, self._rates, self._time = values, rates, time

    def __call__(self, times: Any, components: Any = slice(None)) -> Vector:
        """Values of stored `components` (indices or a slice) at `times` (s), linear in time.

        The shape is that of `times` broadcast against the components.
        """
        return self._values[components] + self._rates[components] * (times - self._time)

    def slope(self, times: Any, components: Any = slice(None)) -> Vector:
        """Constant rates of stored `components` (indices or a slice), per second.

        The shape is that of `times` broadcast against the components.
        """
        return self._rates[components] + 0 * times


class EquilibriumEquations(NamedTuple):
    """The equilibrium equations of a network.

    Args:
        field: the fluid model's vector field.
        base_rtt: base RTT that each group's senders assume, s; (groups,).
    """

    field: VectorField
    base_rtt: Any

    @classmethod
    def from_model(cls, model: FluidModel) -> EquilibriumEquations:
        """The equilibrium equations of a fluid model.

        Senders assume the true base RTT of their path (s), unless the model overrides it.
        """
        field = model.vector_field
        override = field.parameters.groups.base_rtt_override
        true, _ = delays_at(jnp.asarray(REFERENCE_TIME), field.parameters)
        return cls(field, jnp.where(override < 0, true, override))

    @property
    def counter_count(self) -> int:
        """Number of counters (loss events, arrivals, signals, drops), first in the state."""
        return int(self.field.layout.indices.queue[0])

    def state(self, unknowns: Unknowns) -> State:
        """The fluid model's state from unknowns with queues in packets; counters are zero.

        Fields that are constant at equilibrium get the values that a long run leaves in them.
        """
        return self.state_from_work(self.in_work_units(unknowns))

    def in_work_units(self, unknowns: Unknowns) -> Unknowns:
        """The unknowns with each queue converted from packets to work (in sizes of a data packet).

        A packet in a queue has the mean size of those that arrive, as `observe` assumes. Without
        ACKs in the queues nothing changes. Equilibria are distinguished by their queues in packets:
        the same work may be few data packets or many ACKs.
        """
        structure, parameters = self.field.structure, self.field.parameters
        if not any(hop.is_ack for hop in structure.hops):
            return unknowns
        arrived = unknowns.counter_rates[self.field.layout.indices.arrived]
        size = mean_packet_size(smooth.maximum(arrived, 0.0), parameters, structure)
        return unknowns._replace(queue=unknowns.queue * size)

    def state_from_work(self, unknowns: Unknowns) -> State:
        """The fluid model's state from unknowns with queues in data packets of work.

        Counters are zero. Fields that are constant at equilibrium get the values that a long run
        leaves in them.
        """
        parameters, structure = self.field.parameters, self.field.structure
        base, _ = delays_at(jnp.asarray(REFERENCE_TIME), parameters)
        rtt = round_trip_times(base, unknowns.queue / parameters.queues.capacity, structure)
        initial = initial_state(parameters, self.field.populations, structure)
        parts = zip(
            parameters.laws, initial.classes, unknowns.classes, structure.class_slices, strict=True
        )
        classes = tuple(
            with_stationary_fields(
                law, state._replace(**fields), rtt[groups], self.base_rtt[groups]
            )
            for law, state, fields, groups in parts
        )
        return initial._replace(
            queue=unknowns.queue,
            aqm_states=unknowns.aqm_states,
            classes=classes,
            in_timeout=unknowns.in_timeout,
        )

    def delayed(self, unknowns: Unknowns) -> DelayedState:
        """Past values and rates of the fluid model's counters and queues for a constant past.

        In this past, queues are constant and counters grow at the counter rates of `unknowns`
        (1/s), so that they are 0 now. Queues are given in packets, and returned in data packets of
        work.
        """
        constant, work = jnp.zeros_like(unknowns.queue), self.in_work_units(unknowns).queue
        values = jnp.concatenate([jnp.zeros(self.counter_count), work])
        rates = jnp.concatenate([unknowns.counter_rates, constant])
        history = RampHistory(values, rates, REFERENCE_TIME)
        return self.field.delayed(jnp.asarray(REFERENCE_TIME), history)

    def evaluate(self, unknowns: Unknowns) -> tuple[Observables, State]:
        """The fluid model's observables, and the rate of change of every part of its state.

        Rates are in the part's unit per second. Both are taken at `unknowns` (queues in packets),
        after a past in which the unknowns were the same.
        """
        state, delayed = self.state(unknowns), self.delayed(unknowns)
        observed = observe(jnp.asarray(REFERENCE_TIME), state, delayed, self.field)
        return observed, derivatives(state, observed, self.field)

    def residual(self, unknowns: Unknowns) -> Unknowns:
        """Rate of change of each unknown, in its own unit per second; all are zero at equilibrium.

        For a counter rate it is the difference between the rate that follows and the given one,
        1/s. Queues are in packets.
        """
        return self.residual_of(self.evaluate(unknowns)[1], unknowns)

    def residual_of(self, rates: State, unknowns: Unknowns) -> Unknowns:
        """The residual at `unknowns`, from the `rates` that `evaluate` gives there."""
        error = counter_rates(rates) - unknowns.counter_rates
        return self.unknowns_of(rates, unknowns)._replace(counter_rates=error)

    def unknowns_of(self, state: State, unknowns: Unknowns) -> Unknowns:
        """The unknowns that a fluid state contains, in the units of `state`.

        `unknowns` states which fields of each class are unknown, and provides the counter rates.
        """
        classes = tuple(
            {name: getattr(values, name) for name in fields}
            for values, fields in zip(state.classes, unknowns.classes, strict=True)
        )
        return Unknowns(
            state.queue, state.aqm_states, classes, state.in_timeout, unknowns.counter_rates
        )

    def clipped(self, unknowns: Unknowns) -> Unknowns:
        """The unknowns clipped to their limits, such as 0 to the buffer for queues (packets)."""
        clipped = self.unknowns_of(self.field.clip(self.state(unknowns)), unknowns)
        buffer = buffer_in_packets(self.field.parameters)
        return clipped._replace(queue=smooth.clip(unknowns.queue, 0.0, buffer))


def with_stationary_fields(law: Any, state: Any, rtt: Any, base_rtt: Any) -> Any:
    """A class's state with its constant fields set to the values that a long run leaves in them.

    `state` has the fields of congestion control `law`, `rtt` and `base_rtt` are in s, all
    (groups,).
    """
    return state._replace(**law.stationary_fields(state, rtt, base_rtt))


def counter_rates(rates: State) -> Vector:
    """One vector of counter rates, 1/s, from a state that holds derivatives; (counters,).

    The order is loss events of each group, then arrivals, signals and drops at each hop.
    """
    return jnp.concatenate([rates.loss_events, rates.arrived, rates.signalled, rates.dropped])


def stationary_field_names(law: Any) -> frozenset[str]:
    """Names of the state variables of a congestion control that equilibrium equations leave out.

    Their equilibrium values are known without solving: `slow_start` is 0, and others (such as the
    base RTT of Vegas) keep the value that a long run gives them.
    """
    one = np.ones(1)
    return frozenset(law.stationary_fields(law.init(one, one), one, one))


def initial_guess(equations: EquilibriumEquations) -> Unknowns:
    """The unknowns with which a search for an equilibrium starts: small windows, empty queues.

    Windows of one packet grow to the equilibrium from below; an initial window of many packets
    could be above it. Counter rates are zero.
    """
    field = equations.field
    groups = field.parameters.groups
    small = groups._replace(initial_window=jnp.ones_like(groups.initial_window))
    parameters = field.parameters._replace(groups=small)
    initial = initial_state(parameters, field.populations, field.structure)
    classes = tuple(
        {
            name: values
            for name, values in state._asdict().items()
            if name not in stationary_field_names(law)
        }
        for law, state in zip(field.parameters.laws, initial.classes, strict=True)
    )
    rates = jnp.zeros_like(counter_rates(initial))
    guess = Unknowns(initial.queue, initial.aqm_states, classes, initial.in_timeout, rates)
    return jax.tree.map(lambda part: jnp.asarray(part, float), guess)


def buffer_sizes(model: FluidModel) -> np.ndarray:
    """Buffer of each queue, packets; (queues,)."""
    return np.asarray(buffer_in_packets(model.parameters)) * np.ones(model.structure.queue_count)
