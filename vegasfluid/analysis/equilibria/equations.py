"""The fluid's own equations where nothing moves any more: what has to be zero, and of what.

The past of a network at rest is a straight line: its counters rise at a constant rate, its queues
stay. Handed such a past, the very equations that a run integrates (`fluid.equations`) say how far
a state is from rest. Unknown are the queues, what the queue laws keep, the windows, the share of
silent flows and the rates of the counters; fields that nothing moves at rest (slow start, a base
RTT that was found) are what `CongestionControl.stationary_fields` says.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from vegasfluid import smooth
from vegasfluid.fluid.delayed import DelayedState
from vegasfluid.fluid.queues import buffer_in_packets, mean_packet_size
from vegasfluid.fluid.state import State, initial_state
from vegasfluid.fluid.vector_field import (
    Observables,
    VectorField,
    delays_at,
    derivatives,
    observe,
    round_trip_times,
)

__all__ = ["LATE", "Steady", "StraightPast", "Unknowns", "first_guess", "rates_of", "unmoved"]

LATE = 1024.0
"""Seconds: a time at which every flow has started; small enough for lags to keep their digits."""

Vector = Float[Array, " n"]


class Unknowns(NamedTuple):
    """What is to be found.

    Args:
        queue: packets; (stations,). Where `placed` takes it, data packets' worth, as a run does.
        memories: what each queue law keeps.
        classes: of each class the fields of its state that move; each (groups,).
        silent: share of flows that a timeout silences; (groups,).
        rates: of the counters that the past is asked for, 1/s; (counters,).
    """

    queue: Any
    memories: tuple[Any, ...]
    classes: tuple[dict[str, Any], ...]
    silent: Any
    rates: Any


class StraightPast:
    """A history in which counters rise evenly and queues stay: the solver's, for `memory.Past`.

    Args:
        values: of the remembered components now; (remembered,).
        rates: at which they rise, 1/s; (remembered,).
        now: s.
    """

    def __init__(self, values: Vector, rates: Vector, now: float) -> None:
        self._values, self._rates, self._now = values, rates, now

    def __call__(self, times: Any, of: Any = slice(None)) -> Vector:
        """The components at past times."""
        return self._values[of] + self._rates[of] * (times - self._now)

    def slope(self, times: Any, of: Any = slice(None)) -> Vector:
        """Their rates."""
        return self._rates[of] + 0 * times


class Steady(NamedTuple):
    """A network's equations, and what its senders take for their base RTT at rest.

    Args:
        system: the equations.
        base_rtt: s; (groups,).
    """

    system: VectorField
    base_rtt: Any

    @classmethod
    def of(cls, system: VectorField) -> Steady:
        """With the true base RTTs, or with what the senders were given."""
        groups = system.parameters.groups
        true, _ = delays_at(jnp.asarray(LATE), system.parameters)
        return cls(system, jnp.where(groups.base_rtt_override < 0, true, groups.base_rtt_override))

    @property
    def counters(self) -> int:
        """How many counters stand at the beginning of the state."""
        return int(self.system.layout.indices.queue[0])

    def state(self, unknowns: Unknowns) -> State:
        """The whole state, with counters at zero."""
        return self.placed(self.worked(unknowns))

    def worked(self, unknowns: Unknowns) -> Unknowns:
        """The unknowns with the work that waits in the place of packets.

        Packets lead to one rest each, the same work may be a few data or many ACKs. They are those
        that `observe` tells where a station drops all packets alike.
        """
        plan = self.system.structure
        if not any(hop.is_ack for hop in plan.hops):
            return unknowns
        came = smooth.maximum(unknowns.rates[self.system.layout.indices.arrived], 0.0)
        return unknowns._replace(
            queue=unknowns.queue * mean_packet_size(came, self.system.parameters, plan)
        )

    def placed(self, unknowns: Unknowns) -> State:
        """The whole state of unknowns whose queues are work."""
        system, plan = self.system, self.system.structure
        base, _ = delays_at(jnp.asarray(LATE), system.parameters)
        rtt = round_trip_times(base, unknowns.queue / system.parameters.queues.capacity, plan)
        begun = initial_state(system.parameters, system.populations, plan)
        classes = tuple(
            settle(law, of._replace(**moving), rtt[own], self.base_rtt[own])
            for law, of, moving, own in zip(
                system.parameters.laws,
                begun.classes,
                unknowns.classes,
                plan.class_slices,
                strict=True,
            )
        )
        return begun._replace(
            queue=unknowns.queue,
            aqm_states=unknowns.memories,
            classes=classes,
            in_timeout=unknowns.silent,
        )

    def past(self, unknowns: Unknowns) -> DelayedState:
        """The past of a network that has been like this for long."""
        still, work = jnp.zeros_like(unknowns.queue), self.worked(unknowns).queue
        values = jnp.concatenate([jnp.zeros(self.counters), work])
        rates = jnp.concatenate([unknowns.rates, still])
        return self.system.delayed(jnp.asarray(LATE), StraightPast(values, rates, LATE))

    def look(self, unknowns: Unknowns) -> tuple[Observables, State]:
        """What goes on, and how fast each part of the state changes."""
        state = self.state(unknowns)
        now = observe(jnp.asarray(LATE), state, self.past(unknowns), self.system)
        return now, derivatives(state, now, self.system)

    def residual(self, unknowns: Unknowns) -> Unknowns:
        """How fast the unknowns move; of rates, how far they are from those of the counters."""
        _, moved = self.look(unknowns)
        return self.moving(moved, unknowns)._replace(rates=rates_of(moved) - unknowns.rates)

    def moving(self, state: State, unknowns: Unknowns) -> Unknowns:
        """What of a state is unknown, with the rates as they are."""
        classes = tuple(
            {name: getattr(of, name) for name in moving}
            for of, moving in zip(state.classes, unknowns.classes, strict=True)
        )
        return Unknowns(state.queue, state.aqm_states, classes, state.in_timeout, unknowns.rates)

    def held(self, unknowns: Unknowns) -> Unknowns:
        """The unknowns held where they make sense."""
        held = self.moving(self.system.clip(self.state(unknowns)), unknowns)
        return held._replace(
            queue=smooth.clip(unknowns.queue, 0.0, buffer_in_packets(self.system.parameters))
        )


def settle(law: Any, state: Any, rtt: Any, base_rtt: Any) -> Any:
    """A class's state with what a run leaves in the fields that nothing moves."""
    return state._replace(**law.stationary_fields(state, rtt, base_rtt))


def rates_of(moved: State) -> Vector:
    """The rates of the counters that the past is asked for."""
    return jnp.concatenate([moved.loss_events, moved.arrived, moved.signalled, moved.dropped])


def unmoved(law: Any) -> frozenset[str]:
    """The names of a law's fields that nothing moves at rest."""
    one = np.ones(1)
    return frozenset(law.stationary_fields(law.init(one, one), one, one))


def first_guess(steady: Steady) -> Unknowns:
    """Small windows and empty queues: from there rest is come to from below."""
    system = steady.system
    begun = initial_state(system.parameters, system.populations, system.structure)
    classes = tuple(
        {name: part for name, part in of._asdict().items() if name not in unmoved(law)}
        for law, of in zip(system.parameters.laws, begun.classes, strict=True)
    )
    none = jnp.zeros_like(rates_of(begun))
    guess = Unknowns(begun.queue, begun.aqm_states, classes, begun.in_timeout, none)
    return jax.tree.map(lambda part: jnp.asarray(part, float), guess)
