"""The remembered past of a batch: a ring of polynomial pieces, found by when they start.

A row holds one piece of every instance, side by side; row k of the solve is in place k modulo
rows, a power of two. A piece is the dense output of one step: a polynomial in the share u of the
step that has passed. An instance that has no new step to write writes its last piece again, so
that all write to one place: one contiguous copy a step.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int32

from vegasfluid.dde.adaptive.clock import Clock

__all__ = ["Mark", "Piece", "Ring", "Track", "empty_ring", "horner"]

Index = Int32[Array, "*lags"]


class Mark(NamedTuple):
    """The latest breaking point at or before a time.

    Args:
        clock: when it was.
        level: how smooth y is there: continuous with its first `level` derivatives; a float,
            to be kept in the ring beside the time.
    """

    clock: Clock
    level: Float[Array, "*batch"]


class Piece(NamedTuple):
    """The dense output of a step.

    Args:
        start: when the step began.
        rate: one over its length.
        coefficients: of 1, u, u^2, ..., shape (powers, n, *batch).
    """

    start: Clock
    rate: Float[Array, "*batch"]
    coefficients: Float[Array, "powers n *batch"]

    def at(self, passed: Float[Array, "*batch"]) -> Float[Array, "n batch"]:
        """The state some time after the start."""
        return horner(self.coefficients, passed * self.rate)


def horner(
    coefficients: Float[Array, "powers n *batch"], u: Float[Array, "*batch"]
) -> Float[Array, "n batch"]:
    """A polynomial, its coefficients in rising order.

    >>> horner(jnp.array([[1.0], [2.0], [3.0]]), jnp.array(2.0)).tolist()
    [17.0]
    """
    value = coefficients[-1]
    for power in range(coefficients.shape[0] - 2, -1, -1):
        value = value * u + coefficients[power]
    return value


class Ring(NamedTuple):
    """The last rows of a batch; instance b of row k is in place (k modulo rows) * batch + b.

    Args:
        times: start in two parts, and rate, of each piece; shape (places, 3).
        pieces: coefficients of each piece; shape (places, powers * n).
        marks: time in two parts, and level, of the mark at each start; shape (places, 3).
    """

    times: Float[Array, "places three"]
    pieces: Float[Array, "places width"]
    marks: Float[Array, "places three"]

    def write(self, row: Int32[Array, ""], piece: Piece, mark: Mark) -> Ring:
        """The ring with the pieces of the batch in a row."""
        batch = piece.rate.shape[0]
        place = self._place(batch, jnp.int32(0), row)
        times = jnp.stack([*piece.start, piece.rate], axis=-1)
        marks = jnp.stack([*mark.clock, mark.level], axis=-1)
        pieces = piece.coefficients.reshape(self.pieces.shape[1], batch).T
        return Ring(
            _put(self.times, times, place),
            _put(self.pieces, pieces, place),
            _put(self.marks, marks, place),
        )

    def rows(self, batch: int) -> int:
        """How many rows are kept."""
        return self.times.shape[0] // batch

    def _place(self, batch: int, instance: Int32[Array, ""], row: Index) -> Index:
        return (row & jnp.int32(self.rows(batch) - 1)) * jnp.int32(batch) + instance


def _put(values: Array, rows: Array, place: Int32[Array, ""]) -> Array:
    return jax.lax.dynamic_update_slice(values, rows, (place, jnp.zeros_like(place)))


def empty_ring(rows: int, piece: Piece) -> Ring:
    """A ring of zeros for pieces of a batch like these."""
    powers, n, batch = piece.coefficients.shape
    places, dtype = rows * batch, piece.rate.dtype
    return Ring(
        jnp.zeros((places, 3), dtype),
        jnp.zeros((places, powers * n), dtype),
        jnp.zeros((places, 3), dtype),
    )


class Track(NamedTuple):
    """The ring as one instance sees it.

    Args:
        ring: of the whole batch.
        batch: instances in a row.
        size: components of the state.
        instance: which of them.
        last: the latest row.
    """

    ring: Ring
    batch: int
    size: int
    instance: Int32[Array, ""]
    last: Int32[Array, ""]

    @property
    def oldest(self) -> Int32[Array, ""]:
        """The oldest row that is kept."""
        return jnp.maximum(self.last - jnp.int32(self.ring.rows(self.batch) - 1), jnp.int32(0))

    def start(self, row: Index) -> Clock:
        """When the piece in a row starts."""
        place = self._place(row)
        return Clock(_get(self.ring.times, place, 0), _get(self.ring.times, place, 1))

    def piece(self, row: Index) -> Piece:
        """The piece in a row."""
        place = self._place(row)
        times = self.ring.times.at[place].get(mode="promise_in_bounds")
        flat = self.ring.pieces.at[place].get(mode="promise_in_bounds")
        coefficients = jnp.moveaxis(flat, -1, 0).reshape(-1, self.size, *row.shape)
        return Piece(Clock(times[..., 0], times[..., 1]), times[..., 2], coefficients)

    def mark(self, row: Index) -> Mark:
        """The mark at the start of the piece in a row."""
        marks = self.ring.marks.at[self._place(row)].get(mode="promise_in_bounds")
        return Mark(Clock(marks[..., 0], marks[..., 1]), marks[..., 2])

    def search(self, now: Clock, offset: Float[Array, "*lags"], hint: Index) -> Index:
        """The latest row that starts at or before `offset` after `now`; the oldest if none does.

        Args:
            now: a time.
            offset: time after it, negative for the past.
            hint: rows to walk from; the nearer, the sooner found.
        """
        frozen, now, offset = jax.lax.stop_gradient((self, now, offset))
        one, oldest = jnp.int32(1), self.oldest

        def begins_later(row: Index) -> Array:
            return frozen.start(row).since(now) > offset

        def move(row: Index) -> Index:
            """Where to walk from a row: a row back, a row on, or 0: found."""
            back = (row > oldest) & begins_later(row)
            on = (row < self.last) & ~begins_later(jnp.minimum(row + one, self.last))
            return jnp.where(back, -one, on.astype(jnp.int32))

        def walk(state: tuple[Index, Index]) -> tuple[Index, Index]:
            row = state[0] + state[1]
            return row, move(row)

        row = jnp.clip(hint, oldest, self.last)
        begin = (row, move(row))
        return jax.lax.while_loop(lambda state: jnp.any(state[1] != 0), walk, begin)[0]

    def first_mark(
        self, now: Clock, after: Float[Array, "*lags"], until: Float[Array, "*lags"], hint: Index
    ) -> Index:
        """The first row, starting between two times, whose mark is after the first of them.

        Args:
            now: a time.
            after: time after it, negative for the past.
            until: likewise.
            hint: rows to walk from.

        Returns:
            That row, or the latest that starts before `until`.
        """
        frozen, now, after, until = jax.lax.stop_gradient((self, now, after, until))
        one = jnp.int32(1)

        def on(row: Index) -> Array:
            marked = frozen.mark(row).clock.since(now) > after
            next_one = jnp.minimum(row + one, self.last)
            ends = (row >= self.last) | (frozen.start(next_one).since(now) > until)
            return ~marked & ~ends

        def walk(state: tuple[Index, Array]) -> tuple[Index, Array]:
            row = state[0] + state[1].astype(jnp.int32)
            return row, on(row)

        row = self.search(now, after, hint)
        return jax.lax.while_loop(lambda state: jnp.any(state[1]), walk, (row, on(row)))[0]

    def bisect(self, now: Clock, offset: Float[Array, "*lags"]) -> Index:
        """As `search`, for times that are far from each other."""
        one = jnp.int32(1)
        frozen, now, offset = jax.lax.stop_gradient((self, now, offset))

        def halve(_: Array, bounds: tuple[Index, Index]) -> tuple[Index, Index]:
            low, high = bounds
            middle = (low + high + one) >> one
            begun = frozen.start(middle).since(now) <= offset
            return jnp.where(begun, middle, low), jnp.where(begun, high, middle - one)

        low = jnp.broadcast_to(self.oldest, offset.shape)
        high = jnp.broadcast_to(self.last, offset.shape)
        times = self.ring.rows(self.batch).bit_length()
        return jax.lax.fori_loop(0, times, halve, (low, high))[0]

    def _place(self, row: Index) -> Index:
        mask = jnp.int32(self.ring.rows(self.batch) - 1)
        return (row & mask) * jnp.int32(self.batch) + self.instance


def _get(values: Array, place: Index, column: int) -> Array:
    return values.at[place, column].get(mode="promise_in_bounds")
