"""Sample times and step lengths with which the equations are integrated."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from vegasfluid.aqm.base import QueueDiscipline
from vegasfluid.dde.fixed.history import ring_rows
from vegasfluid.dde.fixed.schedule import Schedule, anywhere, on_the_grid
from vegasfluid.fluid.delays import DelayBounds, bounds_of_delays
from vegasfluid.fluid.flow_groups import flow_starts
from vegasfluid.fluid.mesh import FINEST
from vegasfluid.network import Network
from vegasfluid.run_options import DEFAULT_SAMPLES, sample_times

__all__ = ["TimeGrid", "density_grid", "density_step", "mean_field_grid", "mean_field_step"]
__all__ += ["with_longer_steps"]

LARGEST_STEP = 0.02
"""Longest step, s (chosen, to resolve the filling of a queue even with long round trips)."""
LARGEST_LATE_STEP = 0.05
"""Longest step after the initial transient, s, of `with_longer_steps`. On network 2 of Weigle and
Feng it changes goodput by up to 0.3 %; half the usual step changes it by 0.1 %."""
TRANSIENT_PART = 40
"""The initial transient ends 1/40 of the run after the last start or event (chosen)."""
SAFETY_FACTOR = 0.99
"""Step over its largest allowed value (chosen; a margin for rounding)."""
AVERAGING_STEPS = 1.0
"""Longest step over the time constant of an AQM's state (the method is stable up to 2)."""
FILLING = 0.5
"""Longest step over the time in which a link sends a full buffer (chosen)."""
SHARED_ROWS, ROWS_FACTOR = 4096, 16
"""Fewest rows of a history that serves many networks, and the factor between the sizes (chosen: a
row takes about 1 kB, and most networks need less than the first size)."""
LARGEST_SHARED_ROWS = 2**16
"""Rows of a history above which it has just the length that is needed, to save memory."""
COURANT = 0.9
"""Largest Courant number: distance that mass moves in a step, in widths of the narrowest cell
(chosen)."""


class TimeGrid(NamedTuple):
    """Sample times, and how finely the equations are integrated; all concrete.

    Args:
        until: end of the run, s.
        samples: number of evenly spaced sample times from 0 to `until`.
        step: length of the steps, s.
        longest_lag: longest delay, s: the length of the solver's history.
        longer_steps: a time (s) and the factor by which steps are longer from then on; None: never.
        warmup: another time at which the solution is saved, s; None: none.
        aligned: whether a whole number of steps lies between two samples, as `jax.grad` needs with
            respect to more than 64 numbers; otherwise all steps have the same length, and the
            solution does not depend on `samples`.
        finest: shortest step for which the same compiled program is used, s. The program then
            serves networks with other delays, too, but keeps room for a long history, which a batch
            of many runs should not. None: a history of just the length that is needed.
    """

    until: float
    samples: int
    step: float
    longest_lag: float
    longer_steps: tuple[float, int] | None = None
    warmup: float | None = None
    aligned: bool = False
    finest: float | None = None

    def schedule(self, dtype: DTypeLike) -> Schedule:
        """All steps of the solver, with their lengths (s), for states of the type `dtype`."""
        lengths = self.step, self.longest_lag, dtype, self.longer_steps
        if self.aligned:
            return on_the_grid(np.linspace(0.0, self.until, self.samples), *lengths)
        times = sample_times(self.until, self.warmup, self.samples)
        return anywhere(times, *lengths, self.shared_rows())

    def shared_rows(self) -> int | None:
        """Rows of the solver's history that serve many networks; None without `finest`."""
        if self.finest is None:
            return None
        rows, needed = SHARED_ROWS, ring_rows(self.longest_lag, self.finest)
        while rows < needed:
            rows *= ROWS_FACTOR
        return rows if needed <= LARGEST_SHARED_ROWS else needed

    def halved(self) -> TimeGrid:
        """Copy of the grid with solver steps half as long."""
        return self._replace(step=self.step / 2)


Links = Iterable[tuple[float, float, QueueDiscipline]]
"""Capacity (packets/s), buffer (packets) and queue discipline of each link."""


def mean_field_step(shortest: float, links: Links) -> float:
    """Length of the solver's steps for the mean model, s.

    It is no longer than the shortest delay (the solver reads finished steps only), and short
    relative to the time constant of each AQM and the filling time of each buffer.

    Args:
        shortest: shortest delay, s.
        links: capacity (packets/s), buffer (packets) and queue discipline of each link.
    """
    return SAFETY_FACTOR * min([shortest, LARGEST_STEP, *link_limits(links)])


def density_step(step: float, rtt: float) -> float:
    """Length of the solver's steps for the density model, s, stable for advection.

    Windows move by about a packet a round trip, however short the delays between links are.

    Args:
        step: step for the mean model, s, which it does not exceed.
        rtt: shortest base RTT, s.
    """
    return min(step, COURANT * FINEST * rtt)


def link_limits(links: Links) -> list[float]:
    """Upper limits of the solver's step, s, that the links set.

    Each link sets half the time in which it sends a full buffer. If the state of its AQM relaxes,
    it also sets `AVERAGING_STEPS` times the time constant.
    """
    limits = []
    for capacity, buffer, aqm in links:
        limits.append(float(FILLING * buffer / capacity))
        relaxing = float(aqm.relaxation_rate(float(capacity)))
        if relaxing > 0:
            limits.append(AVERAGING_STEPS / relaxing)
    return limits


def links_of(network: Network) -> Links:
    """Capacity (packets/s), buffer (packets) and queue discipline of each link of a network."""
    links = network.resolved().links.values()
    return [(link.capacity, link.buffer, link.aqm) for link in links]


def mean_field_grid(
    network: Network,
    until: float,
    samples: int = DEFAULT_SAMPLES,
    bounds: DelayBounds | None = None,
) -> TimeGrid:
    """Sample times and solver step for the mean model of a network.

    Args:
        network: the network, with concrete numbers.
        until: end of the run, s.
        samples: number of evenly spaced sample times.
        bounds: bounds of the network's delays, s; None: they are computed.
    """
    bounds = bounds_of_delays(network, None) if bounds is None else bounds
    step = mean_field_step(bounds.shortest, links_of(network))
    return TimeGrid(until, samples, step, bounds.longest)


def density_grid(
    network: Network,
    until: float,
    samples: int = DEFAULT_SAMPLES,
    bounds: DelayBounds | None = None,
) -> TimeGrid:
    """Sample times and solver step for the density model of a network.

    Args:
        network: the network, with concrete numbers.
        until: end of the run, s.
        samples: number of evenly spaced sample times.
        bounds: bounds of the network's delays, s; None: they are computed.
    """
    bounds = bounds_of_delays(network, None) if bounds is None else bounds
    grid = mean_field_grid(network, until, samples, bounds)
    return grid._replace(step=density_step(grid.step, bounds.rtt))


def with_longer_steps(grid: TimeGrid, network: Network) -> TimeGrid:
    """Copy of the grid with longer steps after the initial transient of a network.

    The longer steps have lengths up to `LARGEST_LATE_STEP` and the limits of the links, and may
    exceed the shortest base RTT, as queues then delay every packet. If the queues empty, the solver
    reports a delay shorter than the step; integrate without longer steps in that case. In the
    transient, steps are half as long as the grid's: it decides where in a wide dead band Vegas's
    window stays. If the longer steps were not at least twice the grid's, the grid is unchanged.
    """
    starts = [start for flows in network.flows.values() for start in flow_starts(flows)]
    last_change = max([*starts, *(event.at for event in network.events)])
    transient_end = last_change + grid.until / TRANSIENT_PART
    longest = SAFETY_FACTOR * min([LARGEST_LATE_STEP, *link_limits(links_of(network))])
    if longest < 2 * grid.step:
        return grid
    short = grid.step / 2
    return grid._replace(step=short, longer_steps=(transient_end, int(longest / short + 1e-9)))
