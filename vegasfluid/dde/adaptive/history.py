"""The past as a right-hand side of an adaptive solve asks for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int32

from vegasfluid.dde.adaptive.breaking_points import ActiveInterval
from vegasfluid.dde.adaptive.compensated_time import CompensatedTime
from vegasfluid.dde.adaptive.history_ring import Piece, Track
from vegasfluid.dde.outcome import Outcome

__all__ = ["EvaluationPoint", "History", "ReadPerturbations"]


VANISHED_LAG_TOLERANCE = 0.02
"""A lag that is negative by less than this share of the last step has vanished, but for errors."""


class ReadPerturbations(NamedTuple):
    """Zeros added to what is read from the ring: by them a reverse solve is told who read what.

    Args:
        starts: to the start of each piece read, shape (reads, *batch).
        coefficients: to its coefficients, shape (powers, n, reads, *batch).
    """

    starts: Float[Array, "reads batch"]
    coefficients: Float[Array, "powers n reads *batch"]

    def each(self, number: Any) -> ReadPerturbations:
        """Of taps with the looks in front, those of one look, or of some."""
        return ReadPerturbations(self.starts[number], self.coefficients[number])


class EvaluationPoint(NamedTuple):
    """Where in a step the right-hand side is evaluated.

    Args:
        ahead: time since the start of the step.
        y: state there.
        current: the step's own piece so far as it is known.
        hints: for each time that the history is asked for, a row near it; None: the last row.
        arriving: whether that is the step's end, not the next one's start.
        perturbations: for a reverse solve.
    """

    ahead: Float[Array, "*batch"]
    y: Float[Array, "n batch"]
    current: Piece
    hints: Int32[Array, "sites batch"] | None = None
    arriving: Any = True
    perturbations: ReadPerturbations | None = None


class History:
    """`history(s)` is y at time s, `history.ago(lag)` is y a lag ago; s <= t, lag >= 0.

    Call it in the right-hand side itself, not inside `jax.vmap`, `jax.jit`, `lax.cond` or
    `lax.scan` within it: each call leaves a note for the solver, and a note cannot leave those.
    Instead of `vmap`, hand it an array of times.

    Args:
        track: the pieces up to the last step's.
        now: where the current step starts.
        point: where in the step the right-hand side is evaluated. At the end of a step
            `initial_history` gives y at t0 itself, where y may jump; at the start the solution.
        initial_history: the state before `begin`, shape () to shape (n,).
        begin: t0.
        time_tolerance: rounding of a time.
        interval: between which breaks each site reads; None: it is not known.
        previous_step: length of the last step.
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
    ) -> None:
        self._track, self._now, self._where = track, now, point
        self._past = jnp.vectorize(initial_history, signature="()->(n)")
        self._slack, self._fence, self._stride = time_tolerance, interval, previous_step
        self._first = begin.since(now)
        self.read_times: list[Float[Array, " _"]] = []
        """For each call, the times asked for, after `now`."""
        self.rows: list[Int32[Array, " _"]] = []
        """For each call, the rows that they were found in; one past the last for the current."""
        self.fault = jnp.zeros((), jnp.int32)
        """The first `Outcome` that a call met."""
        self.overlaps = jnp.zeros((), bool)
        """Whether a call asked for a time within the current step."""
        self.overshoot = jnp.full((), -jnp.inf, time_tolerance.dtype)
        """How far beyond its fence the farthest call asked; negative where none did."""

    def __call__(self, s: float | Float[Array, "*lags"]) -> Float[Array, "*lags n"]:
        """The state at past times, shape (n,); for an array of times, shape (..., n)."""
        return self._at(self._now.until(jnp.asarray(s, self._slack.dtype)))

    def ago(self, lag: float | Float[Array, "*lags"]) -> Float[Array, "*lags n"]:
        """The state a lag ago: as `history(t - lag)`, but without the rounding of t."""
        return self._at(self._where.ahead - jnp.asarray(lag, self._slack.dtype))

    def _at(self, offset: Float[Array, "*lags"]) -> Float[Array, "*lags n"]:
        """The state some time after `now` (before it, where that is negative)."""
        fenced = self._fenced(offset)
        row = self._track.search(self._now, fenced, self._hint(offset))
        piece = self._track.piece(row)
        began = piece.start.since(self._now)
        within = (offset > self._slack) & (fenced > 0)
        current = self._where.current
        began = jnp.where(within, current.start.since(self._now), began)
        piece = _chosen(within, current, piece)
        if self._where.perturbations is not None:
            started, added = self._tap(offset)
            began = began + started
            piece = piece._replace(coefficients=piece.coefficients + added)
        interpolated = piece.at(offset - began)
        before = fenced < self._first
        initial_history = self._before(jnp.where(before, offset, self._first))
        lost = (row == self._track.oldest) & (began > fenced + 2 * self._slack) & ~before
        self._note(offset, row, lost, within, before, initial_history)
        return jnp.where(before[..., None], initial_history, jnp.moveaxis(interpolated, 0, -1))

    def _before(self, offset: Float[Array, "*lags"]) -> Float[Array, "*lags n"]:
        """The initial history; after t0 its continuation where that is finite, else y at t0."""
        outside = self._past(self._now.whole + jax.lax.stop_gradient(offset))
        goes_on = jnp.all(jnp.isfinite(outside), axis=-1)
        known = jnp.minimum(offset, self._first)
        return self._past(self._now.whole + jnp.where(goes_on, offset, known))

    def _fenced(self, offset: Float[Array, "*lags"]) -> Float[Array, "*lags"]:
        """The time whose piece is read: not beyond the breaks that the site is between.

        It is never exactly at a piece's start, which a time to be read often is but for rounding:
        a compiler may round `offset` in two ways, and choose two rows. On arriving at a kink its
        near side is read, on leaving its far side: the values are one, their derivatives two.
        """
        time = offset + jnp.where(self._where.arriving, -self._slack, self._slack)
        if self._fence is None:
            return time
        first = sum(read_times.size for read_times in self.read_times)
        sites = slice(first, first + offset.size)
        lower, upper = (post[sites].reshape(offset.shape) for post in self._fence)
        outside = jnp.max(jnp.maximum(offset - upper, lower - offset))
        self.overshoot = jnp.maximum(self.overshoot, jax.lax.stop_gradient(outside))
        return jnp.clip(time, lower + self._slack, upper - self._slack)

    def _tap(self, offset: Float[Array, "*lags"]) -> tuple[Array, Array]:
        """The taps of this call."""
        perturbations, first = (
            self._where.perturbations,
            sum(read_times.size for read_times in self.read_times),
        )
        assert perturbations is not None
        reads = slice(first, first + offset.size)
        powers, n, _ = perturbations.coefficients.shape
        added = perturbations.coefficients[:, :, reads].reshape(powers, n, *offset.shape)
        return perturbations.starts[reads].reshape(offset.shape), added

    def _hint(self, offset: Float[Array, "*lags"]) -> Int32[Array, "*lags"]:
        """Rows near those of this call's times."""
        first, hints = sum(read_times.size for read_times in self.read_times), self._where.hints
        if hints is not None and first + offset.size <= hints.size:
            return hints[first : first + offset.size].reshape(offset.shape)
        nearest = self.rows[0][0] if self.rows else self._track.last
        return jnp.broadcast_to(nearest, offset.shape)

    def _note(
        self,
        offset: Array,
        row: Array,
        lost: Array,
        within: Array,
        before: Array,
        initial_history: Array,
    ) -> None:
        """Tell the solver what was asked for, and what was wrong with it."""
        track, advance = self._track, VANISHED_LAG_TOLERANCE * self._stride
        faults = (
            (Outcome.HISTORY_OVERFLOW, lost),
            (Outcome.LAG_NEGATIVE, offset > self._where.ahead + self._slack + advance),
            (Outcome.PAST_NOT_FINITE, before & ~jnp.all(jnp.isfinite(initial_history), axis=-1)),
        )
        for outcome, seen in faults:
            new = (self.fault == jnp.int32(Outcome.SUCCESS)) & jnp.any(seen)
            self.fault = jnp.where(new, jnp.int32(outcome), self.fault)
        self.overlaps |= jnp.any(within)
        self.read_times.append(offset.ravel())
        self.rows.append(jnp.where(within, track.last + jnp.int32(1), row).ravel())


def _chosen(which: Array, this: Piece, other: Piece) -> Piece:
    """One piece where `which`, another elsewhere; the start is the other's."""
    rate = jnp.where(which, this.rate, other.rate)
    coefficients = jnp.where(which, _wide(this.coefficients, which), other.coefficients)
    return Piece(other.start, rate, coefficients)


def _wide(coefficients: Array, like: Array) -> Array:
    """Coefficients of one piece, to be beside those of several."""
    return coefficients.reshape(coefficients.shape + (1,) * like.ndim)
