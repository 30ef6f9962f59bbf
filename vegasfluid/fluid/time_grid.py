"""Where the solution of a network's equations is wanted, and with which steps."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from vegasfluid.dde.fixed.history import ring_rows
from vegasfluid.dde.fixed.schedule import Schedule, anywhere, on_the_grid
from vegasfluid.fluid.mesh import FINEST
from vegasfluid.fluid.parameters import least_lag, longest_lag, start_of_flows
from vegasfluid.network import Network
from vegasfluid.run_options import DEFAULT_SAMPLES, sample_times

__all__ = ["TimeGrid", "density_grid", "mean_field_grid", "with_longer_steps"]

LARGEST_STEP = 0.02
"""Seconds; a queue's filling must be seen even where round trips are long."""
LONGEST_STEP, SETTLING = 0.05, 40
"""Seconds, once a part of the run is over in which queues come to stand, where that is asked for.
On network 2 goodput changes by up to 0.3 %, where half the usual step changes it by 0.1 %."""
SLACK = 0.99
AVERAGING_STEPS = 1.5
"""The largest step in time constants of RED's average (the method is stable up to 2.78)."""
FILLING = 0.5
"""The largest step in the time in which a link sends a full buffer."""
COURANT = 0.9
"""How far mass may move in a step, in the narrowest cells."""


class TimeGrid(NamedTuple):
    """Where the solution is wanted, and how finely it is integrated; all concrete.

    Args:
        until: s.
        samples: number of evenly spaced sample times from 0 to `until`.
        step: s.
        longest_lag: bound on the round-trip time, s.
        longer_steps: from so many seconds on, steps are so many times as long; None: never.
        warmup: another time at which the solution is read, s; None: none.
        aligned: whether steps are cut to a whole number between two samples, as `jax.grad` needs;
            else they are all of that length, and the solution does not depend on `samples`.
        finest: the shortest step that shares a compiled program with this one, s; None: its own.
    """

    until: float
    samples: int
    step: float
    longest_lag: float
    longer_steps: tuple[float, int] | None = None
    warmup: float | None = None
    aligned: bool = False
    finest: float | None = None

    def schedule(self, dtype: Any) -> Schedule:
        """All its steps, for states of this type."""
        given = self.step, self.longest_lag, dtype, self.longer_steps
        if self.aligned:
            return on_the_grid(np.linspace(0.0, self.until, self.samples), *given)
        times = sample_times(self.until, self.warmup, self.samples)
        return anywhere(times, *given, ring_rows(self.longest_lag, self.finest or self.step))

    def halved(self) -> TimeGrid:
        """The same with steps half as long."""
        return self._replace(step=self.step / 2)


def mean_field_grid(network: Network, until: float, samples: int = DEFAULT_SAMPLES) -> TimeGrid:
    """A grid on which the network's equations are integrated well.

    The step is no longer than the shortest lag (the method's history must be known), and short
    against the averaging of each queue law.
    """
    limits = [least_lag(network), LARGEST_STEP, *limits_of_links(network)]
    return TimeGrid(until, samples, SLACK * min(limits), longest_lag(network))


def limits_of_links(network: Network) -> Iterator[float]:
    """The longest steps that each link allows, s."""
    for link in network.links.values():
        yield FILLING * link.buffer / link.capacity
        averaging = -math.log1p(-getattr(link.aqm, "weight", 0.0)) * link.capacity
        if averaging > 0:
            yield AVERAGING_STEPS / averaging


def with_longer_steps(grid: TimeGrid, network: Network) -> TimeGrid:
    """The same with longer steps once queues stand: where the shortest lag is no limit any more.

    Where queues do not stand, the solution shows it: its outcome is that a lag is too short. Then
    the grid itself is right.
    """
    starts = [start for flows in network.flows.values() for start in start_of_flows(flows)]
    settled = max([*starts, *(event.at for event in network.events)]) + grid.until / SETTLING
    longest = SLACK * min([LONGEST_STEP, *limits_of_links(network)])
    factor = int(longest / grid.step + 1e-9)
    return grid if factor < 2 else grid._replace(longer_steps=(settled, factor))


def density_grid(network: Network, until: float, samples: int = DEFAULT_SAMPLES) -> TimeGrid:
    """A grid on which windows are carried from cell to cell, too."""
    grid = mean_field_grid(network, until, samples)
    shortest = least_lag(network)
    return grid._replace(step=min(grid.step, COURANT * FINEST * shortest))
