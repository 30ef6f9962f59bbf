"""Reads of the history of an adaptive solve, from its pieces and the initial history."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int32

from vegasfluid.dde.adaptive.breaking_points import ActiveInterval
from vegasfluid.dde.adaptive.compensated_time import CompensatedTime
from vegasfluid.dde.adaptive.history_ring import Piece, Track, chosen
from vegasfluid.dde.adaptive.quadrature import Panels, panels_between
from vegasfluid.dde.outcome import Outcome

__all__ = ["EvaluationPoint", "HistoryReader", "ReadPerturbations"]


VANISHED_LAG_TOLERANCE = 0.02
"""A lag that is negative by less than this fraction of the last step counts as zero (chosen: the
error of a lag that vanishes is of that order)."""


NO_SITE = 1e9
"""The nodes of a quadrature are recorded as if they read a time this long before t0, for which no
breaking point is tracked (chosen)."""


class ReadPerturbations(NamedTuple):
    """Zeros added to the values read from the ring, so that the reverse pass gets their cotangents.

    Args:
        starts: added to the start of each piece read, shape (reads, *batch).
        coefficients: added to its coefficients, shape (powers, n, reads, *batch).
    """

    starts: Float[Array, "reads batch"]
    coefficients: Float[Array, "powers n reads *batch"]

    def each(self, number: Any) -> ReadPerturbations:
        """Those of the evaluations `number` (an index or a slice of an additional first axis)."""
        return ReadPerturbations(self.starts[number], self.coefficients[number])


class EvaluationPoint(NamedTuple):
    """Time and state at which the right-hand side is evaluated within a step.

    Args:
        ahead: time since the start of the step, in the unit of t.
        y: state at that time.
        current: the dense output of the step itself, as the last iteration has found it.
        hints: for each site, a row near the time that it reads; None: the last row.
        arriving: whether this point ends a step; false at the start of the next one.
        perturbations: zeros that give the reverse pass its cotangents; None: no reverse pass.
    """

    ahead: Float[Array, "*batch"]
    y: Float[Array, "n batch"]
    current: Piece
    hints: Int32[Array, "sites batch"] | None = None
    arriving: Any = True
    perturbations: ReadPerturbations | None = None


class HistoryReader:
    """Serves the reads of the history in one evaluation of the user's functions.

    It records the times read, the rows that hold them, and the first fault, for the solver.

    Args:
        track: the pieces of all finished steps.
        now: start of the current step.
        point: time and state at which the right-hand side is evaluated. Where y jumps at t0,
            y(t0) is the initial history at the end of a step and the solution at its start.
        initial_history: the state before `begin`, a function of shape () to shape (n,).
        begin: t0.
        time_tolerance: rounding error of a time.
        interval: the active interval of each site; None: not known yet.
        previous_step: length of the last step.
        past_breaks: whether there are breaking points before t0. Then the initial history is
            evaluated between two of them only, and continued linearly beyond.
    """

    def __init__(
        self,
        track: Track,
        now: CompensatedTime,
        point: EvaluationPoint,
        initial_history: Callable[[Float[Array, ""]], Float[Array, " n"]],
        begin: CompensatedTime,
        time_tolerance: Float[Array, ""],
        interval: ActiveInterval | None,
        previous_step: Float[Array, ""],
        *,
        past_breaks: bool = False,
    ) -> None:
        self._track, self._now, self._point = track, now, point
        self._initial_history = jnp.vectorize(initial_history, signature="()->(n)")
        self._time_tolerance, self._interval, self._previous_step = (
            time_tolerance,
            interval,
            previous_step,
        )
        self._first, self._past_breaks = begin.since(now), past_breaks
        self._counts: Any = True
        self.read_times: list[Float[Array, " _"]] = []
        """For each read, the times read, relative to `now`."""
        self.rows: list[Int32[Array, " _"]] = []
        """For each read, the rows whose pieces have these times; the current step is the row after
        `track.last`."""
        self.derivatives: list[Bool[Array, " _"]] = []
        """For each read, whether it is one of the derivative."""
        self.fault = jnp.zeros((), jnp.int32)
        """The first fault of any read, an `Outcome`."""
        self.overlaps = jnp.zeros((), bool)
        """Whether any read was within the current step."""
        self.overshoot = jnp.full((), -jnp.inf, time_tolerance.dtype)
        """Largest time by which a read was beyond its active interval; negative if none was."""

    def read(
        self, times: Float[Array, "*lags"], *, ago: bool, derivative: bool
    ) -> Float[Array, "*lags n"]:
        """The state y, or its derivative dy/dt, at past times.

        Args:
            times: times in the unit of t; with `ago`, lags.
            ago: whether they are lags, which have no rounding error of t.
            derivative: whether dy/dt is read.

        Returns:
            The values, shape (..., n).
        """
        offset = self._point.ahead - times if ago else self._now.until(times)
        return self._at(offset, derivative=derivative)

    def windows(
        self, starts: Float[Array, "*windows"], ends: Float[Array, "*windows"], **sizes: int
    ) -> list[Array]:
        """Nodes of the quadrature over windows of the past.

        Args:
            starts: begins of the windows, in the unit of t.
            ends: ends of the windows, in the unit of t; same shape.
            sizes: `nodes`, the number of nodes in a panel, and `panels`, the number of panels.

        Returns:
            Times and weights of the nodes, shape (..., panels, nodes), and the states there, shape
            (..., panels, nodes, n).
        """
        pairs = zip(starts.ravel(), ends.ravel(), strict=True)
        parts = [self._window(*pair, **sizes) for pair in pairs]
        joined = (jnp.stack(each) for each in zip(*parts, strict=True))
        return [part.reshape(*starts.shape, *part.shape[1:]) for part in joined]

    @contextmanager
    def counting_if(self, condition: Bool[Array, ""]) -> Iterator[None]:
        """Within this context, faults of reads count only where `condition` holds."""
        before = self._counts
        self._counts = before & condition
        yield
        self._counts = before

    def _window(
        self, start: Array, end: Array, *, nodes: int, panels: int
    ) -> tuple[Array, Array, Array]:
        """Times and weights of the nodes of one window, (panels, nodes), and the states there."""
        edges, limits = self._edges(start, end, panels)
        window = panels_between(edges, limits, nodes)
        times = self._now.whole + (window.nodes + self._now.compensation)
        return times, window.weights, self._at(window.nodes, window)

    def _edges(
        self, start: Array, end: Array, panels: int
    ) -> tuple[Float[Array, " edges"], tuple[Float[Array, ""], Float[Array, ""]]]:
        """The ends of a window's panels, and the breaking points before and after the window.

        Each edge is looked up (`_site`) for the next breaking point, where the next panel begins;
        `panels` is the number of panels: those that are not needed have length 0.
        """
        first, last = (self._now.until(time) for time in (start, end))
        latest, after = self._site(last)
        before, upper = self._site(first)
        edges = [first]
        for number in range(panels - 1):
            if number:
                upper = self._site(edges[-1])[1]
            inside = upper <= latest
            edges.append(jnp.where(inside, jnp.maximum(upper, edges[-1]), last))
        return jnp.stack([*edges, last]), (before, after)

    def _site(self, offset: Float[Array, ""]) -> tuple[Float[Array, ""], Float[Array, ""]]:
        """The breaking points before and after the time `offset`, which becomes a site.

        All are relative to the step's start; infinite where there is none or it is not known yet.
        """
        number = sum(read_times.size for read_times in self.read_times)
        self.read_times.append(offset[None])
        self.rows.append(self._hint(offset)[None])
        self.derivatives.append(jnp.zeros(1, bool))
        if self._interval is None:
            infinite = jnp.full_like(offset, jnp.inf)
            return -infinite, infinite
        return self._interval.lower[number], self._interval.upper[number]

    def _at(
        self,
        offset: Float[Array, "*lags"],
        window: Panels | None = None,
        *,
        derivative: bool = False,
    ) -> Float[Array, "*lags n"]:
        """The state y, shape (..., n), at times `offset` after the start of the current step.

        Times are in the unit of the delay equation's time, negative before the step. Reads and
        their faults are recorded. With a `window`, the times are the nodes of its quadrature, and
        each is read within its panel's interval. With `derivative`, returns dy/dt instead of y.
        """
        clipped = self._clipped_to_interval(offset, window)
        row = self._track.search(self._now, clipped, self._hint(offset))
        piece = self._track.piece(row)
        began = piece.start.since(self._now)
        within = (offset > self._time_tolerance) & (clipped > 0)
        current = self._point.current
        began = jnp.where(within, current.start.since(self._now), began)
        piece = chosen(within, current, piece)
        if self._point.perturbations is not None:
            started, added = self._perturbation(offset)
            began = began + started
            piece = piece._replace(coefficients=piece.coefficients + added)
        if derivative:
            interpolated = piece.slope_at(offset - began)
        else:
            interpolated = self._at_once(offset, piece.at(offset - began), piece, began)
        before = clipped < self._first
        earlier = jnp.where(before, offset, self._first)
        initial_history = self._before(earlier, clipped, derivative=derivative)
        lost = (row == self._track.oldest) & (began > clipped + 2 * self._time_tolerance) & ~before
        self._record(offset, row, lost, within, before, initial_history)
        self.derivatives.append(jnp.full(offset.size, derivative))
        if window is not None:  # no break that a node passes ends a step
            self.read_times[-1] = jnp.full_like(self.read_times[-1], self._first - NO_SITE)
        return jnp.where(before[..., None], initial_history, jnp.moveaxis(interpolated, 0, -1))

    def _at_once(
        self, offset: Float[Array, "*lags"], value: Array, piece: Piece, began: Array
    ) -> Array:
        """The values read, shape (n, ...), with the state where the lag is zero at a step's start.

        There the step's piece is not known yet, so that derivatives with respect to the state would
        be lost. The derivative with respect to the lag stays that of the piece.
        """
        zero = jnp.abs(offset - self._point.ahead) <= self._time_tolerance
        zero &= ~jnp.asarray(self._point.arriving)
        state = self._point.y.reshape(-1, *(1,) * offset.ndim)
        moved = value - piece.at(jax.lax.stop_gradient(offset - began))
        return jnp.where(zero, state + moved, value)

    def _before(
        self, offset: Float[Array, "*lags"], clipped: Float[Array, "*lags"], *, derivative: bool
    ) -> Float[Array, "*lags n"]:
        """The initial history, or its `derivative`, at times `offset` after the step's start.

        For times after t0 it is the function's extrapolation if that is finite, else its value at
        t0. With breaking points before t0 it is continued linearly beyond the times `clipped`,
        which are between two of them.
        """
        value = self._initial_history(self._now.whole + jax.lax.stop_gradient(offset))
        finite = jnp.all(jnp.isfinite(value), axis=-1)
        if self._past_breaks:
            near_begin = clipped > self._first - 2.5 * self._time_tolerance
            inside = jax.lax.stop_gradient(jnp.where(near_begin & finite, offset, clipped))
            at = self._now.whole + inside
            value, slope = jax.jvp(self._initial_history, (at,), (jnp.ones_like(at),))
            return slope if derivative else value + slope * (offset - inside)[..., None]
        at = self._now.whole + jnp.where(finite, offset, jnp.minimum(offset, self._first))
        if derivative:
            return jax.jvp(self._initial_history, (at,), (jnp.ones_like(at),))[1]
        return self._initial_history(at)

    def _clipped_to_interval(
        self, offset: Float[Array, "*lags"], window: Panels | None
    ) -> Float[Array, "*lags"]:
        """The times, relative to the step's start, at which the history is searched for each read.

        They are `offset`, clipped to the interval between the breaking points (jumps of a
        derivative of y) around each read; `overshoot` records by how much.

        A read time is often the start of a piece, up to rounding, and a compiler may round it in
        two ways and choose two rows. So it is moved by the tolerance: back where the equations are
        evaluated at the end of a solver step, forward at its start. At a kink both sides have
        the same value, but other derivatives.
        """
        time = offset + jnp.where(self._point.arriving, -self._time_tolerance, self._time_tolerance)
        if self._interval is None:
            return time
        first = sum(read_times.size for read_times in self.read_times)
        sites = slice(first, first + offset.size)
        if window is None:
            lower, upper = (limit[sites].reshape(offset.shape) for limit in self._interval)
        else:
            lower, upper = window.lower, window.upper
        outside = jnp.max(jnp.maximum(offset - upper, lower - offset))
        outside = jnp.where(self._counts, outside, -jnp.inf)
        self.overshoot = jnp.maximum(self.overshoot, jax.lax.stop_gradient(outside))
        return jnp.clip(time, lower + self._time_tolerance, upper - self._time_tolerance)

    def _perturbation(self, offset: Float[Array, "*lags"]) -> tuple[Array, Array]:
        """Zeros that give the reverse pass the cotangents of one call's reads.

        Returns:
            Perturbation of the start of each piece read, shape (...), and of its coefficients,
            shape (powers, n, ...), where ... is the shape of `offset`.
        """
        perturbations, first = (
            self._point.perturbations,
            sum(read_times.size for read_times in self.read_times),
        )
        assert perturbations is not None
        reads = slice(first, first + offset.size)
        powers, n, _ = perturbations.coefficients.shape
        added = perturbations.coefficients[:, :, reads].reshape(powers, n, *offset.shape)
        return perturbations.starts[reads].reshape(offset.shape), added

    def _hint(self, offset: Float[Array, "*lags"]) -> Int32[Array, "*lags"]:
        """Rows of the history at which the search for each time starts, shape of `offset`."""
        first, hints = sum(read_times.size for read_times in self.read_times), self._point.hints
        if hints is not None and first + offset.size <= hints.size:
            return hints[first : first + offset.size].reshape(offset.shape)
        nearest = self.rows[0][0] if self.rows else self._track.last
        return jnp.broadcast_to(nearest, offset.shape)

    def _record(
        self,
        offset: Array,
        row: Array,
        lost: Array,
        within: Array,
        before: Array,
        initial_history: Array,
    ) -> None:
        """Record one call's reads for the solver: their times and rows, and the first fault.

        Faults are overwritten rows, reads of the future, and an initial history that is not finite.

        Args:
            offset: times read, relative to the step's start.
            row: rows of the history that hold them.
            lost: whether each has been overwritten.
            within: whether each lies in the current step.
            before: whether each lies before t0.
            initial_history: the initial history at these times, shape (..., n).
        """
        track, advance = self._track, VANISHED_LAG_TOLERANCE * self._previous_step
        faults = (
            (Outcome.HISTORY_OVERFLOW, lost),
            (Outcome.LAG_NEGATIVE, offset > self._point.ahead + self._time_tolerance + advance),
            (Outcome.PAST_NOT_FINITE, before & ~jnp.all(jnp.isfinite(initial_history), axis=-1)),
        )
        for outcome, seen in faults:
            new = (self.fault == jnp.int32(Outcome.SUCCESS)) & jnp.any(seen) & self._counts
            self.fault = jnp.where(new, jnp.int32(outcome), self.fault)
        self.overlaps |= jnp.any(within) & self._counts
        self.read_times.append(offset.ravel())
        self.rows.append(jnp.where(within, track.last + jnp.int32(1), row).ravel())
