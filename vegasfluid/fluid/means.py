"""What a run gained after the warm-up, as JAX arrays that can be differentiated and batched."""

from __future__ import annotations

from typing import Any

import numpy as np

from vegasfluid.fluid.output import counters, delivered
from vegasfluid.fluid.vector_field import System
from vegasfluid.interval_totals import IntervalTotals, interpolation_position

__all__ = ["growth_of"]


def growth_of(ys: Any, system: System, until: float, warmup: float) -> IntervalTotals:
    """What was gained from the warm-up to the end, by groups of flows and by links.

    Args:
        ys: saved states at evenly spaced times from 0 to `until`; (time, n).
        system: the equations that they solve.
        until: end of the run, s.
        warmup: time that the means leave out, s.

    Returns:
        With groups of flows that are alike in the place of classes.
    """
    times = np.linspace(0.0, until, ys.shape[0])
    after, part = interpolation_position(times, warmup)

    def gained(values: Any) -> Any:
        low, high = values[after - 1], values[after]
        return values[-1] - (low + part * (high - low))

    state = system.saved.unpack(ys)
    links = {name: gained(of) for name, of in counters(state, system).items()}
    return IntervalTotals(
        until - warmup,
        count=system.posed.groups.count,
        delivered=gained(delivered(ys, system.plan)),
        capacity=system.posed.stations.capacity,
        backlog=gained(state.queue),
        **links,
    )
