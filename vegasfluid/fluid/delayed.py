"""What the equations ask of the past: rates, as slopes of counters.

The state begins with the counters that are asked for (answered, arrived, noticed; where packets are
marked, dropped; and, where they cross several queues, the queues), so that the solver keeps these
and nothing else.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Array, Float

from vegasfluid import smooth
from vegasfluid.fluid.options import FluidOptions
from vegasfluid.fluid.parameters import Lags
from vegasfluid.fluid.structure import FluidStructure

__all__ = ["Past", "Places", "places", "remembered"]

Rates = Float[Array, " n"]

BELOW = 0.999
"""Lags are held below the longest one by this."""


class Places(NamedTuple):
    """Where in the state each of the counters begins; see `equations.State`.

    Args:
        arrived: of the hops; before it stand the loss events of the groups.
        noticed: of the hops.
        dropped: of the hops.
        queue: of the stations.
    """

    arrived: int
    noticed: int
    dropped: int
    queue: int


def places(plan: FluidStructure) -> Places:
    """Where the counters of a network begin."""
    groups, hops = sum(plan.groups), len(plan.hops)
    return Places(*(groups + number * hops for number in range(4)))


def remembered(plan: FluidStructure, options: FluidOptions) -> int:
    """How many leading components of the state the history keeps."""
    at = places(plan)
    several = any(hop.previous >= 0 for hop in plan.hops)
    if several or options.delayed_rtt:
        return at.queue + plan.stations
    return at.queue if plan.marks else at.dropped


class Past:
    """Rates at past times.

    Args:
        history: the solver's.
        plan: structure.
        lags: bounds on them.
        now: s.
    """

    def __init__(self, history: Any, plan: FluidStructure, lags: Lags, now: Any) -> None:
        self._history, self._plan, self._lags, self._now = history, plan, lags, now
        self._at = places(plan)

    def ago(self, lags: Rates) -> Rates:
        """The times so long ago, s; lags are held to what the history can tell."""
        return self._now - smooth.clip(lags, self._lags.least, BELOW * self._lags.longest)

    def answered(self, lags: Rates) -> Rates:
        """Loss events of a flow of each group up to some time ago; (groups,)."""
        return self._history(self.ago(lags), of=np.arange(self._at.arrived))

    def answering(self, lags: Rates) -> Rates:
        """Loss events of a flow of each group some time ago, 1/s; (groups,)."""
        return self._history.slope(self.ago(lags), of=np.arange(self._at.arrived))

    def admitted(self, hops: np.ndarray, times: Rates) -> Rates:
        """Packets/s of a flow that these hops admitted, each at its time."""
        arrived = self._history.slope(times, of=self._at.arrived + hops)
        return arrived - self._history.slope(times, of=self._at.dropped + hops)

    def admitted_until(self, hops: np.ndarray, lags: Rates) -> Rates:
        """Packets of a flow that these hops admitted since the start, each up to some time ago."""
        times = self.ago(lags)
        arrived = self._history(times, of=self._at.arrived + hops)
        return arrived - self._history(times, of=self._at.dropped + hops)

    def queue(self, stations: np.ndarray, lags: Rates) -> Rates:
        """What waited at these stations, data packets' worth, each some time ago."""
        return self._history(self.ago(lags), of=self._at.queue + stations)

    def waiting(self, stations: np.ndarray, times: Rates) -> Rates:
        """By how much these queues grew, data packets' worth/s, each at its time."""
        return self._history.slope(times, of=self._at.queue + stations)

    def met(self, hops: np.ndarray, lags: Rates, together: bool) -> tuple[Rates, Rates, Rates]:
        """Packets/s of a flow that came to these hops; those lost or marked there; those lost.

        Args:
            hops: their numbers.
            lags: how long ago, for each of them.
            together: whether all lags are the same; one look then serves all.
        """
        times = self.ago(lags)
        counters = [self._at.arrived + hops, self._at.noticed + hops]
        if self._plan.marks:
            counters.append(self._at.dropped + hops)
        if together:
            slopes = self._history.slope(times[0])
            found = [slopes[of] for of in counters]
        else:
            found = [self._history.slope(times, of=of) for of in counters]
        return found[0], found[1], found[-1]
