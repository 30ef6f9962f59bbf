"""Schedule of a solve with constant steps: its grid, and its save times in units of steps.

The arrays of a schedule may be traced, so that one compiled program serves steps of any length.
The number of save times and the number of rows of the ring are static.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import jax
import numpy as np
from jaxtyping import Array, Float, Int32
from numpy.typing import DTypeLike

from vegasfluid.dde.fixed.history import Grid, ring_rows
from vegasfluid.errors import InvalidInput

__all__ = ["Schedule", "Stretch", "anywhere", "on_the_grid"]

ROUNDING = 16
"""Assumed rounding error of a time, in units in its last place (chosen)."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Stretch:
    """A part of a solve with steps of one length, and its m save times after its start.

    Args:
        grid: grid of the steps.
        counts: number of steps to each save time from the one before it; for the first, from the
            start of the stretch. The last step contains the save time. Shape (m,).
        parts: position of each save time in the last of these steps, 0 (start) to 1; shape (m,).
        even: number of steps between consecutive save times, if each is the end of a step. None:
            save times lie anywhere; JAX's reverse mode is then not possible.
    """

    grid: Grid
    counts: Int32[Array | np.ndarray, " m"]
    parts: Float[Array | np.ndarray, " m"]
    even: int | None = field(default=None, metadata={"static": True})


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Schedule:
    """All steps of a solve.

    Args:
        times: save times, the first of which is the start; shape (m,).
        first: the stretch from the start on.
        then: a stretch with longer steps after it; None: there is none.
        factor: steps of `first` in one step of `then`.
    """

    times: Float[Array | np.ndarray, " m"]
    first: Stretch
    then: Stretch | None = None
    factor: int = field(default=1, metadata={"static": True})


def on_the_grid(
    times: np.ndarray,
    step: float,
    longest_lag: float,
    dtype: DTypeLike,
    longer_steps: tuple[float, int] | None = None,
) -> Schedule:
    """A schedule of constant steps in which each save time is the end of a step.

    All times have one unit, which the caller chooses.

    Args:
        times: save times, equally spaced; the first is the start; shape (m,).
        step: longest step; the intervals of `times` are divided into equal steps no longer than
            this.
        longest_lag: longest lag that the history covers.
        dtype: dtype of the states.
        longer_steps: (time after the start, factor): steps are longer by the factor, a whole
            number, from the first save time at or after that time. None: never.

    Returns:
        The save times with one stretch of equal steps, or two with `longer_steps`.

    Raises:
        InvalidInput: for a step below the rounding error of times, or for 2**31 steps.
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
    dtype: DTypeLike,
    longer_steps: tuple[float, int] | None = None,
    rows: int | None = None,
) -> Schedule:
    """A schedule with exactly this step, whose save times may lie within steps.

    All times have one unit, which the caller chooses.

    Args:
        times: save times, increasing; the first is the start; shape (m,).
        step: length of the steps.
        longest_lag: longest lag that the history covers.
        dtype: dtype of the states.
        longer_steps: (time after the start, factor): steps are longer by the factor, a whole
            number, from the first multiple of the longer step at or after it. None: never.
        rows: least number of rows of the history ring, a power of two, so that shorter steps and
            longer lags use the same program. None: as many as the lag needs.

    Returns:
        The save times with one stretch of equal steps, or two with `longer_steps`.

    Raises:
        InvalidInput: for a step below the rounding error of times, or for 2**31 steps.
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
    """A stretch of equal steps, with `readings` save times: the ends of every `steps` steps."""
    return Stretch(grid, np.full(readings, steps, np.int32), np.ones(readings), steps)


def _stretch_with_readings(
    grid: Grid, places: np.ndarray, ends: np.ndarray, begin: int, dtype: DTypeLike
) -> Stretch:
    """A stretch of equal steps whose save times lie within steps.

    Args:
        grid: grid of the steps.
        places: save times, in steps of the grid since its start; shape (m,).
        ends: number of the grid point at the end of the step that contains each, shape (m,).
        begin: number of the grid point at which the stretch starts.
        dtype: dtype of the states.
    """
    parts = np.clip(places - (ends - 1), 0.0, 1.0)
    counts = np.diff(ends, prepend=begin)
    return Stretch(grid, counts.astype(np.int32), parts.astype(dtype))


def _switch_interval(times: np.ndarray, longer_steps: tuple[float, int] | None) -> tuple[int, int]:
    """Number of the first interval of `times` with longer steps, and the factor of their lengths.

    `longer_steps` is (time after the start, factor). Without it, or if that time is after the last
    save time, the result is the number of all intervals; without it the factor is 1.
    """
    if longer_steps is None or longer_steps[1] == 1:
        return times.size - 1, 1
    after = int(np.searchsorted(times, times[0] + longer_steps[0] - 1e-9))
    return min(after, times.size - 1), longer_steps[1]


def _grid(
    times: np.ndarray, step: float, longest_lag: float, dtype: DTypeLike, rows: int | None = None
) -> Grid:
    """Grid of time steps from the first save time on, with the number of rows of its history.

    Args:
        times: save times in increasing order.
        step: length of a step, in the unit of the times.
        longest_lag: longest lag that the history covers, in the same unit.
        dtype: dtype of times in the solve, which limits how short a step may be.
        rows: smallest number of rows of the history ring; those that the lag does not need are
            masked. None: as many as the lag needs.

    Raises:
        InvalidInput: if the step is too short for the precision of times, or for 2**31 steps.
    """
    if (times[-1] - times[0]) / step >= 2**31 - 1:
        raise InvalidInput("dde.solve", "dt0", "large enough for fewer than 2**31 steps", step)
    latest = float(np.abs(times).max()) + longest_lag
    time_tolerance = ROUNDING * float(np.finfo(dtype).eps) * latest / step
    if time_tolerance > 0.5:
        allowed = f"above {2 * time_tolerance * step:.3g}, for times up to {latest:g} in {dtype}"
        raise InvalidInput("dde.solve", "dt0", allowed, step)
    used = ring_rows(longest_lag, step)
    mask = None if rows is None else np.int32(used - 1)
    start = float(times[0])
    return Grid(start, step, longest_lag, time_tolerance, max(used, rows or 0), mask)


def _coarser_grid(grid: Grid, factor: int) -> Grid:
    """The grid of every `factor`-th point; its history has about twice the rows that it needs."""
    rows = max(2 * grid.rows // 2 ** math.floor(math.log2(factor)), 8)
    longer, tolerance = grid.step * factor, grid.time_tolerance / factor
    return replace(grid, step=longer, time_tolerance=tolerance, rows=rows, mask=None)
