"""Delayed values and rates in the equations, from the solver's history of the state's counters.

A delayed rate is the slope of a counter at a past time. The components of `state.State` that the
equations read at past times come first, so that the solver keeps a history of these only.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from jaxtyping import Array, Float

from vegasfluid import smooth
from vegasfluid.fluid.delays import DelayBounds
from vegasfluid.fluid.options import FluidOptions
from vegasfluid.fluid.shapes import PerGroup, Scalar
from vegasfluid.fluid.structure import FluidStructure

__all__ = ["DelayedState", "HopRates", "StateHistory", "history_size"]

Selected = Float[Array, " n"]
"""One number for each selected hop or queue."""

BELOW_LONGEST = 0.999
"""Delays are clipped to this fraction of the longest one, where the solver's history ends."""


def history_size(indices: Any, structure: FluidStructure, options: FluidOptions) -> int:
    """Number of leading components of the state of which the solver keeps a history.

    It includes the queues if a path has several hops or the RTT is delayed, else counters only.

    Args:
        indices: positions of the state's components (`Layout.indices`).
        structure: static structure of the equations.
        options: modelling options.
    """
    several_hops = any(hop.previous >= 0 for hop in structure.hops)
    if several_hops or options.delayed_rtt:
        last = indices.queue
    else:
        last = indices.dropped if structure.has_ecn else indices.signalled
    return int(last[-1]) + 1


class StateHistory(Protocol):
    """The history of the leading components of the state, such as `dde.FixedStepHistory`."""

    def __call__(self, times: Any, /, components: Any = None) -> Array:
        """Values of components of the state at past times (s).

        Args:
            times: past times, s; one time, or an array.
            components: index of one component for each time; None: all components, on a last axis.
        """
        ...

    def slope(self, times: Any, /, components: Any = None) -> Array:
        """Time derivatives of components of the state at past times (s), in their unit per second.

        Args:
            times: past times, s; one time, or an array.
            components: index of one component for each time; None: all components, on a last axis.
        """
        ...


class HopRates(NamedTuple):
    """Delayed rates of a flow at selected hops, packets/s.

    Args:
        arrived: packets that arrived.
        signalled: packets lost or marked to which the sender responds.
        dropped: packets lost; without marks the same as `signalled`.
    """

    arrived: Selected
    signalled: Selected
    dropped: Selected


class DelayedState:
    """Values and rates of the state's counters at past times.

    Args:
        history: the solver's history of the leading components of the state.
        indices: positions of the state's components (`Layout.indices`).
        structure: static structure of the equations.
        bounds: bounds to which delays are clipped.
        time: present time, s.
    """

    def __init__(
        self,
        history: StateHistory,
        indices: Any,
        structure: FluidStructure,
        bounds: DelayBounds,
        time: Scalar,
    ) -> None:
        self._history, self._indices, self._bounds = history, indices, bounds
        self._has_ecn, self._time = structure.has_ecn, time

    def times(self, delays: Selected) -> Selected:
        """Times in the past, s: the present minus `delays` (s), which are clipped to the bounds."""
        bounds = self._bounds
        return self._time - smooth.clip(delays, bounds.shortest, BELOW_LONGEST * bounds.longest)

    def loss_events(self, delays: PerGroup) -> PerGroup:
        """Number of loss events of a flow of each group from the start until `delays` (s) ago."""
        return self._history(self.times(delays), components=self._indices.loss_events)

    def loss_event_rate(self, delays: PerGroup) -> PerGroup:
        """Loss events of a flow of each group `delays` (s) ago, 1/s; (groups,)."""
        return self._history.slope(self.times(delays), components=self._indices.loss_events)

    def admission_rate(self, hops: np.ndarray, times: Selected) -> Selected:
        """Rate, packets/s, at which the queue of each of `hops` admitted one flow's packets.

        It is the rate of arrivals minus the rate of drops, one number for each hop.

        Args:
            hops: numbers of the hops.
            times: past time for each hop, s; not clipped.
        """
        arrived = self._history.slope(times, components=self._indices.arrived[hops])
        return arrived - self._history.slope(times, components=self._indices.dropped[hops])

    def admitted(self, hops: np.ndarray, delays: Selected) -> Selected:
        """Packets of a flow that the queue of each of `hops` had admitted `delays` (s) ago.

        They are counted from the start of the run; one number for each hop.
        """
        times = self.times(delays)
        arrived = self._history(times, components=self._indices.arrived[hops])
        return arrived - self._history(times, components=self._indices.dropped[hops])

    def queue(self, queues: np.ndarray, delays: Selected) -> Selected:
        """Work waiting in the selected `queues` `delays` (s) ago, in data packets."""
        return self._history(self.times(delays), components=self._indices.queue[queues])

    def queue_slope(self, queues: np.ndarray, times: Selected) -> Selected:
        """Time derivative of the work in the selected `queues` at times (s), data packets/s."""
        return self._history.slope(times, components=self._indices.queue[queues])

    def hop_rates(self, hops: np.ndarray, delays: Selected, same_delay: bool) -> HopRates:
        """Arrivals, loss signals and drops of one flow at selected hops in the past, packets/s.

        Args:
            hops: numbers of the hops.
            delays: how long ago, for each hop, s.
            same_delay: whether all delays are equal, so that one history read is enough.
        """
        times = self.times(delays)
        counters = [self._indices.arrived[hops], self._indices.signalled[hops]]
        if self._has_ecn:
            counters.append(self._indices.dropped[hops])
        if same_delay:
            slopes = self._history.slope(times[0])
            rates = [slopes[counter] for counter in counters]
        else:
            rates = [self._history.slope(times, components=counter) for counter in counters]
        return HopRates(rates[0], rates[1], rates[-1])
