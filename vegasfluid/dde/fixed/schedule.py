"""When a solve with steps of one length makes its steps, and where in them it is read.

The numbers of a schedule may be traced, so that one compiled program serves steps of any length;
how often the solution is read, and how many rows the ring has, may not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import jax
import numpy as np

from vegasfluid.dde.fixed.history import Grid, ring_rows
from vegasfluid.errors import InvalidInput

__all__ = ["Schedule", "Stretch", "anywhere", "on_the_grid"]

ROUNDING = 16
"""A time is known to so many units in its last place."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Stretch:
    """Steps of one length, and the times at which the solution is read.

    Args:
        grid: of the steps.
        counts: steps to each reading from the one before; (m,).
        parts: where in the last of these steps the solution is read, from 0 (its start) to 1; (m,).
        even: steps between any two readings, all of which are ends of steps; None: they lie
            anywhere. In reverse only an even stretch can be differentiated.
    """

    grid: Grid
    counts: Any
    parts: Any
    even: int | None = field(default=None, metadata={"static": True})


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Schedule:
    """All steps of a solve.

    Args:
        times: at which the solution is read; the first one is the start; (m,).
        first: from the start on.
        then: with longer steps after it; None: there are none.
        factor: steps of `first` in one of `then`.
    """

    times: Any
    first: Stretch
    then: Stretch | None = None
    factor: int = field(default=1, metadata={"static": True})


def on_the_grid(
    times: np.ndarray,
    step: float,
    longest_lag: float,
    dtype: Any,
    longer_steps: tuple[float, int] | None = None,
) -> Schedule:
    """Each interval cut into equal steps.

    Args:
        times: equally spaced; (m,).
        step: the longest one.
        longest_lag: how far back the history is kept.
        dtype: of states.
        longer_steps: after so much time, and how many times as long.

    Raises:
        InvalidInput: for a step that is too short.
    """
    after, factor = _switch_interval(times, longer_steps)
    gap = float(times[-1] - times[0]) / (times.size - 1)
    steps = factor * max(1, math.ceil(gap / step / factor - 1e-9))
    grid = _grid(times, gap / steps, longest_lag, dtype)
    first = _even(grid, after, steps)
    if after == times.size - 1:
        return Schedule(times, first)
    longer = _coarser_grid(grid, factor)
    return Schedule(times, first, _even(longer, times.size - 1 - after, steps // factor), factor)


def anywhere(
    times: np.ndarray,
    step: float,
    longest_lag: float,
    dtype: Any,
    longer_steps: tuple[float, int] | None = None,
    rows: int | None = None,
) -> Schedule:
    """Steps of exactly one length, in which the solution is read wherever the times are.

    Args:
        times: increasing; (m,).
        step: of all steps.
        longest_lag: how far back the history is kept.
        dtype: of states.
        longer_steps: after so much time, and how many times as long.
        rows: of the ring, if more than needed, so that shorter steps are the same program.

    Raises:
        InvalidInput: for a step that is too short.
    """
    grid = _grid(times, step, longest_lag, dtype, rows)
    places = (times[1:] - times[0]) / step
    ends = np.maximum(np.ceil(places - 1e-9 - grid.time_tolerance), 1).astype(int)
    if longer_steps is None or longer_steps[1] == 1:
        return Schedule(times, _stretch_with_readings(grid, places, ends, 0, dtype))
    factor = longer_steps[1]
    turn = factor * math.ceil(longer_steps[0] / step / factor - 1e-9)
    early = ends <= turn
    if early.all():
        return Schedule(times, _stretch_with_readings(grid, places, ends, 0, dtype))
    first = _stretch_with_readings(
        grid, np.append(places[early], turn), np.append(ends[early], turn), 0, dtype
    )
    late = places[~early] / factor
    whole = np.ceil(late - 1e-9 - grid.time_tolerance).astype(int)
    longer = _coarser_grid(grid, factor)
    return Schedule(
        times, first, _stretch_with_readings(longer, late, whole, turn // factor, dtype), factor
    )


def _even(grid: Grid, readings: int, steps: int) -> Stretch:
    return Stretch(grid, np.full(readings, steps, np.int32), np.ones(readings), steps)


def _stretch_with_readings(
    grid: Grid, places: np.ndarray, ends: np.ndarray, begin: int, dtype: Any
) -> Stretch:
    """Readings at these places, counted in steps, each within the step that ends there."""
    parts = np.clip(places - (ends - 1), 0.0, 1.0)
    counts = np.diff(ends, prepend=begin)
    return Stretch(grid, counts.astype(np.int32), parts.astype(dtype))


def _switch_interval(times: np.ndarray, longer_steps: tuple[float, int] | None) -> tuple[int, int]:
    """From which interval on steps are longer (behind the last one: never), and by how much."""
    if longer_steps is None or longer_steps[1] == 1:
        return times.size - 1, 1
    after = int(np.searchsorted(times, times[0] + longer_steps[0] - 1e-9))
    return min(after, times.size - 1), longer_steps[1]


def _grid(
    times: np.ndarray, step: float, longest_lag: float, dtype: Any, rows: int | None = None
) -> Grid:
    """The grid of a step, if times can be told apart on it."""
    if (times[-1] - times[0]) / step >= 2**31 - 1:
        raise InvalidInput("dde.solve", "dt0", "large enough for less than 2**31 steps", step)
    latest = float(np.abs(times).max()) + longest_lag
    time_tolerance = ROUNDING * float(np.finfo(dtype).eps) * latest / step
    if time_tolerance > 0.5:
        allowed = f"above {2 * time_tolerance * step:.3g}, for times up to {latest:g} in {dtype}"
        raise InvalidInput("dde.solve", "dt0", allowed, step)
    least = ring_rows(longest_lag, step)
    return Grid(float(times[0]), step, longest_lag, time_tolerance, max(least, rows or 0))


def _coarser_grid(grid: Grid, factor: int) -> Grid:
    """The grid of every `factor`-th point."""
    rows = max(2 * grid.rows // 2 ** math.floor(math.log2(factor)), 8)
    return replace(
        grid, step=grid.step * factor, time_tolerance=grid.time_tolerance / factor, rows=rows
    )
