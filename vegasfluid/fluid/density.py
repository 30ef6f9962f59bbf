"""A class of flows represented by the distribution of its windows: the mean-field limit.

For a flow group with windows w, f(w, t) is the density of flows outside recovery, and m(w, t) that
of flows in recovery from a loss (`window_mesh`):

    df/dt = -d(v f)/dw - h f + m / R        v(w): growth of the window, h = p w / R: loss events
    dm/dt = J(h f) - m / R                  J: from each window to that after a loss

(More exactly than m / R, the flows that had a loss a round trip ago leave recovery.) For congestion
controls whose window follows from the window w' at the last loss and the time a since then (CUBIC),
these are densities of w' and a (`epoch_mesh`):

    df/dt = -df/da - h f,  f(w', 0, t) = m(w', t) / R

Flows in slow start are a fraction with one common window. Other variables of a congestion control
(a base RTT) are common to the group. If every flow has the mean window, this is the mean model.
Here the variance of windows, the unfairness within a class and the recovery after a loss follow
from the congestion control, and no loss process has to be assumed: losses are independent.

Sources:
    F. Baccelli, D. McDonald and J. Reynier, "A mean-field model for multiple TCP connections
    through a buffer implementing RED", Performance Evaluation 49, 2002 (abstract read; equations
    derived for this project, with recovery and slow start added).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from vegasfluid import smooth
from vegasfluid.congestion.base import Signals
from vegasfluid.fluid.epoch_mesh import EpochMesh
from vegasfluid.fluid.options import FluidOptions
from vegasfluid.fluid.senders import (
    ClassDerivative,
    SenderSignals,
    law_signals,
    synchronised_part,
    timeout_fraction,
)
from vegasfluid.fluid.shapes import LawState, PerCell, PerGroup
from vegasfluid.fluid.window_mesh import WindowMesh

__all__ = ["ClassMesh", "Density", "Distribution"]

ClassMesh = WindowMesh | EpochMesh
"""The cells over which the flows of a class are distributed."""

MOST_RANDOM_LOSSES = 2.0
"""Largest number of random loss events of a flow in a round trip (chosen; more make the equations
stiff)."""
MOST_SYNCHRONISED_LOSSES = 5.0
"""Largest number of synchronised loss events, or exits from recovery, of a flow in a round trip
(chosen)."""
TINY = 1e-12
"""Keeps quotients finite where no flow is in recovery, or no window grows."""

Masses = Float[Array, "groups cells"]
"""One number for each cell, mostly the fraction of the group's flows in it, or its rate, 1/s."""


class Distribution(NamedTuple):
    """The distribution of the flows of each group; all fractions, with slow start, sum to 1.

    Args:
        growing: fraction of the flows in each cell, not in recovery; (groups, cells).
        recovering: fraction of the flows in each cell, in recovery; (groups, recovery_cells).
        shared: state of the congestion control; each field (groups,). `cwnd` is the window
            (packets) of the flows in slow start, `slow_start` their fraction of all flows; all
            flows of the group have the other fields in common.
    """

    growing: Masses
    recovering: Masses
    shared: LawState


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Density:
    """The flows of a class as a distribution.

    Args:
        law: congestion control of the class.
        mesh: cells over which the flows are distributed.
    """

    law: Any  # a CongestionControl; an EpochCongestionControl with an EpochMesh
    mesh: ClassMesh

    @classmethod
    def of(cls, law: Any, mesh: ClassMesh) -> Density:
        """Flows with congestion control `law`, as a distribution over `mesh` adapted to it."""
        return cls(law, mesh.for_law(law))

    def initial_state(self, cwnd: PerGroup, rtt: PerGroup) -> Distribution:
        """Distribution before the first packet: all flows in slow start, none in the cells.

        Args:
            cwnd: initial window, packets.
            rtt: first round-trip time, s.
        """
        growing, recovering = (
            jnp.zeros((cwnd.shape[0], cells), cwnd.dtype)
            for cells in (self.mesh.cells, self.mesh.recovery_cells)
        )
        return Distribution(growing, recovering, self.law.init(cwnd, rtt))

    def cwnd(self, state: Distribution, rtt: PerGroup) -> PerGroup:
        """Mean window of the flows of each group at round-trip times (s), packets."""
        return self.mean(lambda windows: windows, state, rtt)

    def variance(self, state: Distribution, rtt: PerGroup) -> PerGroup:
        """Variance of the windows of the flows of each group at RTTs (s), packets^2."""
        return self.mean(jnp.square, state, rtt) - self.cwnd(state, rtt) ** 2

    def mean(
        self, function: Callable[[PerCell], PerCell], state: Distribution, rtt: PerGroup
    ) -> PerGroup:
        """Mean of a function of the window (packets) over all flows of each group.

        It is taken over flows in cells, in recovery, and in slow start.
        """
        growing = function(self.mesh.states(self.law, state.shared, rtt).cwnd)
        recovering = function(self.mesh.recovery_states(self.law, state.shared, rtt).cwnd)
        in_cells = jnp.sum(state.growing * growing, axis=-1)
        in_cells += jnp.sum(state.recovering * recovering, axis=-1)
        return in_cells + state.shared.slow_start * function(state.shared.cwnd)

    def in_flight(self, state: Distribution, rtt: PerGroup) -> PerGroup:
        """Mean number of packets in flight that the windows allow at RTTs (s), for each group."""
        growing = self.mesh.states(self.law, state.shared, rtt)
        recovering = self.mesh.recovery_states(self.law, state.shared, rtt)
        wide_rtt = rtt[:, None]
        in_cells = jnp.sum(state.growing * self.law.in_flight(growing, wide_rtt), axis=-1)
        in_cells += jnp.sum(state.recovering * self.law.in_flight(recovering, wide_rtt), axis=-1)
        return in_cells + state.shared.slow_start * state.shared.cwnd

    def clip(self, state: Distribution, largest: PerGroup) -> Distribution:
        """The state with the shared fields clipped to their domains; the cells stay as they are.

        The window of slow start is clipped to 2 to `largest` packets.
        """
        return state._replace(shared=self.law.clip(state.shared, largest))

    def derivative(
        self, state: Distribution, senders: SenderSignals, options: FluidOptions
    ) -> ClassDerivative:
        """Time derivative of the distribution, and rates of loss events and timeouts.

        Args:
            state: distribution of the flows of each group.
            senders: what its senders observe.
            options: modelling options.

        Returns:
            Changes of the fractions of flows, 1/s, and of the shared fields, in their unit per
            second; loss events and timeouts of a flow that is not in a timeout, 1/s.
        """
        cells = self.cell_rates(state, senders, options)
        mean_growth = self.mean_growth(state, cells, senders, options)
        signals = cells.signals_of(cells.states)
        losing = state.growing * self.loss_event_rate(
            cells.states.cwnd, cells.window_growth, cells.senders, signals.ack_rate,
            mean_growth[:, None],
        )  # fmt: skip
        exits, slow_start = self.slow_start_rates(state, cells, senders, options, mean_growth)
        timeouts = timeout_fraction(self.law, cells.states.cwnd, cells.senders, options)
        events = jnp.sum(losing, axis=1) + exits.losing
        timeouts = jnp.sum(losing * timeouts, axis=1)
        recovered = self.recovery_exits(state, senders)
        arriving = self.mesh.after_recovery(recovered) + self.mesh.leave_slow_start(
            exits.ended, state.shared.cwnd, self.law
        )
        advected = self.mesh.advection(
            state.growing, state.shared, cells.derivative, cells.law_derivative
        )
        reduced = self.mesh.after_loss(losing, cells.states, self.law, signals)
        shared = self.shared_derivative(state, senders, options, events)
        distribution = Distribution(
            growing=advected - losing + arriving,
            recovering=reduced - recovered + exits.reduced,
            shared=shared._replace(cwnd=slow_start.cwnd, slow_start=slow_start.slow_start),
        )
        return ClassDerivative(distribution, events, timeouts)

    def window_growth(
        self, state: Distribution, senders: SenderSignals, options: FluidOptions
    ) -> PerGroup:
        """Growth rate of each group's mean window without losses, packets/s; (groups,)."""
        cells = self.cell_rates(state, senders, options)
        return self.mean_growth(state, cells, senders, options)

    def mean_growth(
        self,
        state: Distribution,
        cells: CellRates,
        senders: SenderSignals,
        options: FluidOptions,
    ) -> PerGroup:
        """Growth of the mean window of each group, apart from losses, packets/s.

        It is the sum over the cells and slow start, weighted by the fractions of flows there. The
        windows of flows in recovery do not grow.
        """
        all_starting = self.all_in_slow_start(state)
        rate = self.law.growth(all_starting, self.signals(all_starting, senders, options)).cwnd
        slow_start = smooth.maximum(rate, 0.0) * state.shared.slow_start
        return jnp.sum(cells.window_growth * state.growing, axis=1) + slow_start

    def cell_rates(
        self, state: Distribution, senders: SenderSignals, options: FluidOptions
    ) -> CellRates:
        """Signals, states and time derivatives (apart from losses) of the flows in each cell.

        Arrays have the shape (groups, cells).
        """
        wide = jax.tree.map(lambda leaf: leaf[:, None], senders)

        def signals_of(states: LawState) -> Signals:
            """Inputs of the congestion control's equations for flows in these states."""
            return self.signals(states, wide, options)

        def law_derivative(states: LawState) -> LawState:
            """Time derivative of these states, apart from losses, in their units per second."""
            return self.law.growth(states, signals_of(states))

        states = self.mesh.states(self.law, state.shared, senders.rtt)
        derivative = law_derivative(states)
        growth = self.mesh.window_growth(self.law, senders.rtt, derivative)
        return CellRates(wide, states, derivative, growth, signals_of, law_derivative)

    def all_in_slow_start(self, state: Distribution) -> LawState:
        """State of the congestion control for the flows in slow start: that fraction set to 1."""
        return state.shared._replace(slow_start=jnp.ones_like(state.shared.slow_start))

    def recovery_exits(self, state: Distribution, senders: SenderSignals) -> Masses:
        """Fraction of the flows that leave recovery in each cell, 1/s; (groups, recovery_cells).

        In total as many leave as had a loss a round trip ago, plus a correction that moves the
        fraction in recovery to `senders.in_recovery` within a round trip. The same fraction leaves
        each cell, at most `MOST_SYNCHRONISED_LOSSES` times its flows in a round trip.
        """
        recovering = jnp.sum(state.recovering, axis=1)
        exits = smooth.positive_part(
            senders.recovered + (recovering - senders.in_recovery) / senders.rtt
        )
        rate = smooth.minimum(
            exits / smooth.maximum(recovering, TINY), MOST_SYNCHRONISED_LOSSES / senders.rtt
        )
        return state.recovering * rate[:, None]

    def signals(self, window: LawState, senders: SenderSignals, options: FluidOptions) -> Signals:
        """Inputs of the congestion control's equations for flows in states `window`.

        Args:
            window: states of the flows, such as those of the cells.
            senders: what the senders observe, of the shape of the states or broadcast to it.
            options: modelling options.

        Returns:
            Signals in the shape of the states. The ACK rate, packets/s, is the packets in flight
            over the RTT, at most the rate limit of the senders; the loss rate is 0.
        """
        in_flight = self.law.in_flight(window, senders.rtt)
        rate = smooth.minimum(in_flight / senders.rtt, senders.rate_limit)
        return law_signals(window, self.law, senders._replace(rate=rate), options)

    def loss_event_rate(
        self,
        cwnd: PerCell,
        growth: PerCell,
        senders: SenderSignals,
        rate: PerCell,
        mean_growth: PerCell,
    ) -> PerCell:
        """Loss events of a flow outside recovery, 1/s, at most 2 to 5 in a round trip.

        A random loss hits each packet with the same probability. Synchronised losses hit flows in
        proportion to the growth of their windows (see `senders.loss_events`).

        Args:
            cwnd: windows, packets.
            growth: growth of these windows, packets/s.
            senders: what the senders observe.
            rate: rate at which they send, packets/s.
            mean_growth: growth of the mean window, packets/s.

        Returns:
            The rate for each window in `cwnd`, in its shape.
        """
        random = smooth.minimum(senders.losses.prob * rate, MOST_RANDOM_LOSSES / senders.rtt)
        if not np.any(senders.synchronised):
            return random
        synchronised = senders.losses.rate * growth / smooth.maximum(mean_growth, TINY)
        part = synchronised_part(cwnd, senders)
        return (1 - part) * random + part * smooth.minimum(
            synchronised, MOST_SYNCHRONISED_LOSSES / senders.rtt
        )

    def slow_start_rates(
        self,
        state: Distribution,
        cells: CellRates,
        senders: SenderSignals,
        options: FluidOptions,
        mean_growth: PerGroup,
    ) -> tuple[SlowStartExits, LawState]:
        """Flows that leave slow start, and the derivative of the state of those in slow start.

        Args:
            state: state of the class.
            cells: rates in its cells.
            senders: what its senders observe.
            options: modelling options.
            mean_growth: growth of the mean window, packets/s.

        Returns:
            Fractions of all flows that leave, 1/s; and the time derivative of the state of those
            in slow start, each field in its unit per second.
        """
        starting = self.all_in_slow_start(state)
        wide = jax.tree.map(lambda leaf: leaf[:, None], starting)
        derivative = self.law.growth(starting, self.signals(starting, senders, options))
        signals = cells.signals_of(wide)
        growth = smooth.maximum(derivative.cwnd, 0.0)[:, None]
        rate = self.loss_event_rate(
            wide.cwnd, growth, cells.senders, signals.ack_rate, mean_growth[:, None]
        )
        losing = rate * state.shared.slow_start[:, None]
        reduced = self.mesh.after_loss(losing, wide, self.law, signals)
        ended = -derivative.slow_start * state.shared.slow_start
        exits = SlowStartExits(ended, losing[:, 0], reduced)
        return exits, derivative._replace(slow_start=-(exits.ended + exits.losing))

    def shared_derivative(
        self,
        state: Distribution,
        senders: SenderSignals,
        options: FluidOptions,
        loss_events: PerGroup,
    ) -> LawState:
        """Time derivative of the state that all flows of a group share, at the mean window.

        Args:
            state: state of the class.
            senders: what its senders observe.
            options: modelling options.
            loss_events: loss events of a flow, 1/s.

        Returns:
            The derivative of each field, in its unit per second. (`derivative` does not use those
            of `cwnd` and `slow_start`.)
        """
        mean = state.shared._replace(cwnd=self.cwnd(state, senders.rtt))
        signals = self.signals(mean, senders, options)._replace(loss_rate=loss_events)
        return self.law.growth(mean, signals)


class CellRates(NamedTuple):
    """Signals, states and derivatives in all cells; arrays (groups, cells) unless stated.

    Args:
        senders: what the senders observe; arrays (groups, 1).
        states: states of the congestion control.
        derivative: time derivative of these states, apart from losses.
        window_growth: growth of the windows, packets/s.
        signals_of: maps states of the law to the inputs of its equations.
        law_derivative: maps states of the law to their time derivative, apart from losses.
    """

    senders: SenderSignals
    states: LawState
    derivative: LawState
    window_growth: Masses
    signals_of: Callable[[LawState], Signals]
    law_derivative: Callable[[LawState], LawState]


class SlowStartExits(NamedTuple):
    """Flows that leave slow start, as fractions of all flows of a group per second.

    Args:
        ended: flows that reach its end without a loss, 1/s.
        losing: flows that leave it with a loss event, 1/s.
        reduced: flows in `losing` by the recovery cell that they enter, 1/s;
            (groups, recovery_cells).
    """

    ended: PerGroup
    losing: PerGroup
    reduced: Masses
