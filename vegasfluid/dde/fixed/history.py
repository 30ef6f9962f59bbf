"""History of a solve with constant steps: a ring buffer of states and slopes, interpolated.

The solver writes the state and its slope at every grid point into a ring. Between two grid points
the history is the cubic Hermite interpolant, which has the order of the steps (4).

Sources: Hairer, Norsett and Wanner, Solving Ordinary Differential Equations I, 2nd edition 1993:
section II.6 (dense output) and section II.17 (delay equations).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int32

__all__ = [
    "FixedStepHistory",
    "Grid",
    "InitialHistory",
    "coarser_ring",
    "empty_ring",
    "hermite",
    "hermite_slope",
]
__all__ += ["record", "ring_rows"]

InitialHistory = Callable[[Float[Array, ""]], Float[Array, " n"]]
"""Maps a time before the start, shape (), to the state, shape (n,)."""

Real = float | Float[Array, ""]
"""A number that may be traced."""

Ring = Float[Array, "rows two_n"]
"""State and slope in one row; grid point k is in row k modulo rows, a power of two."""


def ring_rows(longest_lag: float, step: float) -> int:
    """Number of rows of a history ring: the power of two from `longest_lag` / `step` + 3 up.

    Each row is for one grid point. `longest_lag` and `step`, the distance of grid points, are
    times in the same unit.

    >>> ring_rows(2.0, 0.5)
    8
    """
    return 2 ** math.ceil(math.log2(math.ceil(longest_lag / step) + 3))


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Grid:
    """Equidistant times, computed from their numbers so that rounding errors do not accumulate.

    Args:
        start: time of grid point 0, in any unit; the other times have the same unit.
        step: time between two grid points.
        longest_lag: longest lag that the history covers, as a time.
        time_tolerance: rounding error of a time, in steps; a lag may exceed its bound by it.
        rows: number of rows of the ring, a power of two; 0: as many as `longest_lag` needs.
        mask: number of rows in use less one, a power of two less one; it may be traced, so that one
            compiled program serves histories of different lengths. None: all rows are in use.

    >>> grid = Grid(start=1.0, step=0.5, longest_lag=2.0, time_tolerance=0.0)
    >>> grid.rows, float(grid.time(jnp.int32(3), 0.5, jnp.float32))
    (8, 2.75)
    """

    start: Real
    step: Real
    longest_lag: Real
    time_tolerance: Real
    rows: int = field(default=0, metadata={"static": True})
    mask: Int32[Array | np.generic, ""] | None = None

    def __post_init__(self) -> None:
        if not self.rows:
            object.__setattr__(self, "rows", ring_rows(float(self.longest_lag), float(self.step)))

    def row(self, number: Int32[Array, "*points"]) -> Int32[Array, "*points"]:
        """Rows of the ring in which the grid points of these numbers are; shape of `number`."""
        return number & jnp.asarray(self.rows - 1 if self.mask is None else self.mask, jnp.int32)

    def time(self, number: Int32[Array, ""], ahead: Real, dtype: jnp.dtype) -> Float[Array, ""]:
        """Time `ahead` steps after grid point `number`, in the unit of `start`; a `dtype` float."""
        return self.start + self.step * (number.astype(dtype) + ahead)


def empty_ring(y: Float[Array, " n"], rows: int) -> Ring:
    """A history ring of zeros, shape (rows, 2 n), for states of the length n and dtype of `y`.

    >>> empty_ring(jnp.ones(3), 8).shape
    (8, 6)
    """
    return jnp.zeros((rows, 2 * y.shape[0]), y.dtype)


def record(
    ring: Ring, slot: Int32[Array, ""], y: Float[Array, " n"], slope: Float[Array, " n"]
) -> Ring:
    """A copy of a history ring with the state and slope of one grid point written to it.

    Args:
        ring: states and slopes at grid points, shape (rows, 2 n).
        slot: the row of the grid point (`Grid.row`).
        y: state there, shape (n,).
        slope: dy/dt there, shape (n,).

    >>> record(jnp.zeros((2, 2)), jnp.int32(1), jnp.ones(1), jnp.full(1, 7.0)).tolist()
    [[0.0, 0.0], [1.0, 7.0]]
    """
    row = jnp.concatenate([y, slope])[None]
    return jax.lax.dynamic_update_slice(ring, row, (slot, jnp.zeros_like(slot)))


def coarser_ring(ring: Ring, grid: Grid, last: Int32[Array, ""], factor: int, rows: int) -> Ring:
    """The history ring of a coarser grid, from that of a finer one; shape (rows, 2 n).

    Args:
        ring: states and slopes at the finer grid's points up to `last`.
        grid: the finer grid.
        last: number, on the finer grid, of the newest point of both grids: a multiple of `factor`.
        factor: number of finer steps in one coarser step.
        rows: number of rows of the coarser ring, a power of two; older points are left out.

    >>> grid = Grid(start=0.0, step=1.0, longest_lag=5.0, time_tolerance=0.0)
    >>> ring = jnp.arange(8.0)[:, None]  # point k in row k
    >>> coarser_ring(ring, grid, jnp.int32(6), 2, 4)[:, 0].tolist()  # points 0, 2, 4, 6
    [0.0, 2.0, 4.0, 6.0]
    """
    newest = last // jnp.int32(factor)

    def point(row: Int32[Array, ""]) -> Float[Array, " two_n"]:
        back = (newest - row) & jnp.int32(rows - 1)
        return ring.at[grid.row((newest - back) * factor)].get(mode="promise_in_bounds")

    return jax.lax.map(point, jnp.arange(rows, dtype=jnp.int32))


def hermite(
    before: Float[Array, "*lags two_n"],
    after: Float[Array, "*lags two_n"],
    part: Float[Array, "*lags"],
    step: Real,
) -> Float[Array, "*lags n"]:
    """The state between two neighbouring grid points, by cubic Hermite interpolation.

    Args:
        before: state and slope at the earlier point, concatenated; shape (..., 2 n).
        after: state and slope one step later, likewise.
        part: position between them as a fraction of the step, from 0 to 1; shape (...).
        step: time between them.

    Returns:
        The state, shape (..., n).

    >>> before, after = jnp.array([0.0, 0.0]), jnp.array([8.0, 12.0])
    >>> hermite(before, after, jnp.array(0.5), 2.0).tolist()  # t^3 at 1
    [1.0]
    """
    y0, slope0 = jnp.split(before, 2, axis=-1)
    y1, slope1 = jnp.split(after, 2, axis=-1)
    u = part[..., None]
    square = u * u
    cube = square * u
    difference = (3 * square - 2 * cube) * (y1 - y0)
    return y0 + difference + step * ((cube - 2 * square + u) * slope0 + (cube - square) * slope1)


def hermite_slope(
    before: Float[Array, "*lags two_n"],
    after: Float[Array, "*lags two_n"],
    part: Float[Array, "*lags"],
    step: Real,
) -> Float[Array, "*lags n"]:
    """The slope dy/dt between two neighbouring grid points, by cubic Hermite interpolation.

    Args:
        before: state and slope at the earlier point, concatenated; shape (..., 2 n).
        after: state and slope one step later, likewise.
        part: position between them as a fraction of the step, from 0 to 1; shape (...).
        step: time between them.

    Returns:
        dy/dt, shape (..., n).

    >>> before, after = jnp.array([0.0, 0.0]), jnp.array([8.0, 12.0])
    >>> hermite_slope(before, after, jnp.array(0.5), 2.0).tolist()  # 3 t^2 at 1
    [3.0]
    """
    y0, slope0 = jnp.split(before, 2, axis=-1)
    y1, slope1 = jnp.split(after, 2, axis=-1)
    u = part[..., None]
    weight = 6 * u * (1 - u)
    secant = weight * (y1 - y0) / step
    return secant + (1 - u) * slope0 + u * slope1 - weight / 2 * (slope0 + slope1)


class FixedStepHistory:
    """The past of the solution, as a right-hand side reads it: `history(s)` is y at time s.

    `history.slope(s)` is dy/dt at time s, for a counter its rate. With the solver's option
    `history_components`, both contain the leading components of y only.

    Call it in the right-hand side itself, not inside a `jax.vmap`, `jax.jit`, `lax.cond` or
    `lax.scan` there: the solver records lags out of bounds at each call, and the record cannot
    leave these (JAX then raises `UnexpectedTracerError`). Instead of `vmap`, pass an array of
    times.

    Args:
        ring: states and slopes at the grid points up to `last`, shape (rows, 2 n).
        last: number of the last known grid point.
        ahead: steps from `last` to the time at which the right-hand side is evaluated, 0 to 1.
        grid: times of the grid points.
        initial_history: state before `grid.start`, a function of a time to shape (n,).
        arriving: whether the right-hand side is evaluated at the end of a step and not at the
            start of the next. Then a read at `grid.start` itself, where y may jump or have a
            kink, returns the value of `initial_history`; else that of the solution.

    >>> grid = Grid(start=0.0, step=1.0, longest_lag=3.0, time_tolerance=0.0)
    >>> ring = record(jnp.zeros((grid.rows, 2)), jnp.int32(0), jnp.zeros(1), jnp.ones(1))
    >>> ring = record(ring, grid.row(jnp.int32(1)), jnp.ones(1), jnp.ones(1))
    >>> history = FixedStepHistory(ring, jnp.int32(1), 0.0, grid, lambda s: jnp.full(1, 5.0))
    >>> history(jnp.array([-1.0, 0.0, 0.5, 1.0]))[:, 0].tolist()
    [5.0, 0.0, 0.5, 1.0]
    >>> history(1.5).tolist(), bool(history.too_short)
    ([1.0], True)
    """

    def __init__(
        self,
        ring: Ring,
        last: Int32[Array, ""],
        ahead: Real,
        grid: Grid,
        initial_history: InitialHistory,
        arriving: bool | Bool[Array, ""] = False,
    ) -> None:
        self._ring, self._last, self._ahead, self._grid = ring, last, ahead, grid
        rounding = grid.time_tolerance * grid.step
        self._first = grid.start + jnp.where(arriving, rounding, -rounding)
        self._past = jnp.vectorize(initial_history, signature="()->(n)")
        self._origin = grid.time(last, 0.0, ring.dtype)
        self.too_long: Bool[Array, ""] = jnp.zeros((), bool)
        """Whether any lag so far was longer than `grid.longest_lag`, and was clipped to it."""
        self.too_short: Bool[Array, ""] = jnp.zeros((), bool)
        """Whether any time so far was after the last known one, and was clipped to it."""

    def __call__(
        self, s: float | Float[Array, "*lags"], components: Int32[np.ndarray, "*lags"] | None = None
    ) -> Array:
        """The state y at past times: interpolated; before the start, `initial_history`.

        A time after the last known grid point is replaced by the time of that point, and sets
        `too_short`. A lag longer than `grid.longest_lag` is replaced by it, and sets `too_long`.

        Args:
            s: one time, or an array of times of any shape, in the unit of t.
            components: for each time, the index of the one component to return; None: all.

        Returns:
            The state, shape (n,); for an array of times, shape (..., n); for single components, the
            shape of the times.
        """
        s = jnp.asarray(s, self._ring.dtype)
        interpolated = self._read(self._within(s), hermite, components)
        initial_history = self._past(jnp.minimum(s, self._first))
        if components is not None:
            initial_history = jnp.take_along_axis(initial_history, components[..., None], axis=-1)
        states = jnp.where((s < self._first)[..., None], initial_history, interpolated)
        return states if components is None else states[..., 0]

    def slope(
        self, s: float | Float[Array, "*lags"], components: Int32[np.ndarray, "*lags"] | None = None
    ) -> Array:
        """The slope dy/dt at past times; 0 before the start, whatever `initial_history` is.

        It is accurate to order 3 in the step, the state to order 4. Times out of range are treated
        as in `history(s)`: clipped, and recorded in `too_short` or `too_long`.

        Args:
            s: one time, or an array of times of any shape, in the unit of t.
            components: for each time, the index of the one component to return; None: all.

        Returns:
            dy/dt, shape (n,); for an array of times, shape (..., n); for single components, the
            shape of the times.
        """
        s = jnp.asarray(s, self._ring.dtype)
        interpolated = self._read(self._within(s), hermite_slope, components)
        slopes = jnp.where((s < self._first)[..., None], 0.0, interpolated)
        return slopes if components is None else slopes[..., 0]

    def _within(self, s: Float[Array, "*lags"]) -> Float[Array, "*lags"]:
        """Steps from the last known grid point to the times s (negative in the past), clipped.

        They are clipped to 0 and to the longest lag before the time of evaluation; `too_short` and
        `too_long` record whether any time had to be.
        """
        time_tolerance, bound = self._grid.time_tolerance, self._grid.longest_lag / self._grid.step
        offset = (s - self._origin) / self._grid.step
        late = offset > time_tolerance
        early = offset < self._ahead - bound - time_tolerance
        self.too_short |= jnp.any(late)
        self.too_long |= jnp.any(early)
        return jnp.where(late, 0.0, jnp.where(early, self._ahead - bound, offset))

    def _read(
        self,
        offset: Float[Array, "*lags"],
        cubic: Callable[..., Array],
        components: Int32[np.ndarray, "*lags"] | None = None,
    ) -> Float[Array, "*lags n"]:
        """The values of `cubic` (`hermite` or `hermite_slope`), shape (..., n), at past times.

        The times are given as `offset`, in steps from the last known grid point (negative in the
        past). `components` chooses one component for each time; None: all.

        A lag of whole steps falls on a grid point up to rounding, and a compiler that computes
        `offset` twice may round it in two ways. If the choice of the interval changed exactly at
        grid points, `part` and rows could then belong to different intervals (observed with XLA on
        CPU, under `vmap`). So it changes `time_tolerance` before them.
        """
        nearest = jnp.floor(offset + self._grid.time_tolerance).astype(jnp.int32)
        back = jnp.minimum(nearest, jnp.int32(-1))
        part = offset - back.astype(offset.dtype)
        number = self._last + back
        return cubic(
            self._row(number, components), self._row(number + 1, components), part, self._grid.step
        )

    def _row(
        self, number: Int32[Array, "*lags"], components: Int32[np.ndarray, "*lags"] | None
    ) -> Float[Array, "*lags two_n"]:
        """State and slope, concatenated, at the grid points of these numbers; shape (..., 2 n).

        With `components`, the number of one component for each point: its state and slope only,
        shape (..., 2).
        """
        slot = self._grid.row(number)
        if components is None:
            return self._ring.at[slot].get(mode="promise_in_bounds")
        columns = np.stack([components, components + self._ring.shape[1] // 2], axis=-1)
        return self._ring.at[slot[..., None], columns].get(mode="promise_in_bounds")
