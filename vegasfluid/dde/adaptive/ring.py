"""The remembered past: for each instance a ring of polynomial pieces, found by when they start.

Row k of an instance is in place k modulo rows, a power of two; or in place k, if there are at
least as many rows as are ever written. A piece is the dense output of one
step: a polynomial in the share u of the step that has passed. The starts are kept once more
beside the pieces, and twice over: a search reads several that follow each other at once, also
those about the seam.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int32

from vegasfluid.dde.adaptive.clock import Clock

__all__ = ["Piece", "Ring", "Track", "empty_ring", "horner", "put_rows"]

Index = Int32[Array, "*lags"]

WINDOW = 8
"""Starts that a search reads at once."""
BEHIND = 2
"""How many of them are of rows before its hint."""


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
    """The last rows of each instance.

    Args:
        starts: in two parts, of each piece, twice over; shape (*batch, 2 rows, 2).
        pieces: start in two parts, rate and coefficients; shape (*batch, rows, 3 + powers * n).
    """

    starts: Float[Array, "*batch twice two"]
    pieces: Float[Array, "*batch rows width"]

    @property
    def rows(self) -> int:
        """How many rows are kept."""
        return self.pieces.shape[-2]

    def place(self, row: Index) -> Index:
        """Where a row is."""
        return row & jnp.int32((1 << (self.rows - 1).bit_length()) - 1)

    def write(self, row: Int32[Array, " batch"], piece: Piece) -> Ring:
        """The ring of a batch with a piece of each instance in a row of its own."""
        batch = piece.rate.shape[0]
        place = self.place(row)
        start = jnp.stack(piece.start, axis=-1)
        flat = piece.coefficients.reshape(-1, batch).T
        whole = jnp.concatenate([start, piece.rate[:, None], flat], axis=1)
        starts = put_rows(self.starts, place, start[:, None])
        starts = put_rows(starts, place + jnp.int32(self.rows), start[:, None])
        return Ring(starts, put_rows(self.pieces, place, whole[:, None]))


def put_rows(
    table: Float[Array, "batch rows width"],
    place: Int32[Array, " batch"],
    values: Float[Array, "batch some width"],
) -> Float[Array, "batch rows width"]:
    """A table with values in some rows of each instance, from a place on."""
    batch = table.shape[0]
    if jax.default_backend() != "cpu":
        zero = jnp.int32(0)
        update = jax.lax.dynamic_update_slice
        return jax.vmap(lambda own, new, first: update(own, new, (first, zero)))(
            table, values, place
        )

    # On a CPU the scatter that comes of this takes several times as long as a loop.
    def put(number: Array, table: Array) -> Array:
        own = jax.lax.dynamic_slice_in_dim(values, number, 1)
        return jax.lax.dynamic_update_slice(table, own, (number, place[number], jnp.int32(0)))

    return jax.lax.fori_loop(jnp.int32(0), jnp.int32(batch), put, table)


def empty_ring(rows: int, piece: Piece) -> Ring:
    """A ring of zeros for pieces of a batch like these."""
    powers, n, batch = piece.coefficients.shape
    dtype = piece.rate.dtype
    starts = jnp.zeros((batch, 2 * rows, 2), dtype)
    return Ring(starts, jnp.zeros((batch, rows, 3 + powers * n), dtype))


class Track(NamedTuple):
    """The ring of one instance, and its latest row.

    Args:
        ring: without a batch.
        size: components of the state.
        last: the latest row.
    """

    ring: Ring
    size: int
    last: Int32[Array, ""]

    @property
    def oldest(self) -> Int32[Array, ""]:
        """The oldest row that is kept."""
        return jnp.maximum(self.last - jnp.int32(self.ring.rows - 1), jnp.int32(0))

    def start(self, row: Index) -> Clock:
        """When the piece in a row starts."""
        start = self.ring.starts.at[self.ring.place(row)].get(mode="promise_in_bounds")
        return Clock(start[..., 0], start[..., 1])

    def piece(self, row: Index) -> Piece:
        """The piece in a row."""
        flat = self.ring.pieces.at[self.ring.place(row)].get(mode="promise_in_bounds")
        coefficients = jnp.moveaxis(flat[..., 3:], -1, 0).reshape(-1, self.size, *row.shape)
        return Piece(Clock(flat[..., 0], flat[..., 1]), flat[..., 2], coefficients)

    def search(self, now: Clock, offset: Float[Array, "*lags"], hint: Index) -> Index:
        """The latest row that starts at or before `offset` after `now`; the oldest if none does.

        Args:
            now: a time.
            offset: time after it, negative for the past.
            hint: rows near which to look first.
        """
        frozen, now, offset = jax.lax.stop_gradient((self, now, offset))
        oldest, last = self.oldest, self.last

        def seen(first: Index) -> tuple[Index, Array]:
            """The row as a window from `first` on shows it; and by how much to move that."""
            begun = frozen._window(first).since(now) <= offset[..., None]
            known = first[..., None] + jnp.arange(WINDOW, dtype=jnp.int32) <= last
            count = jnp.sum(begun & known, axis=-1, dtype=jnp.int32)
            row = first + count - jnp.int32(1)
            back = (count == 0) & (first > oldest)
            on = (count == WINDOW) & (row < last)
            shift = jnp.int32(WINDOW - 1)
            return row, on.astype(jnp.int32) * shift - back.astype(jnp.int32) * shift

        def go_on(state: tuple[Index, Index, Index]) -> tuple[Index, Index, Index]:
            first, _, shift = state
            first = jnp.maximum(first + shift, oldest)
            return (first, *seen(first))

        first = jnp.clip(hint - jnp.int32(BEHIND), oldest, last)
        begin = (first, *seen(first))
        _, row, _ = jax.lax.while_loop(lambda state: jnp.any(state[2] != 0), go_on, begin)
        return jnp.maximum(row, oldest)

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
        times = self.ring.rows.bit_length()
        return jax.lax.fori_loop(0, times, halve, (low, high))[0]

    def _window(self, first: Index) -> Clock:
        """The starts of some rows from `first` on; shape (*lags, window)."""

        def one(first: Array) -> Array:
            place = (self.ring.place(first), jnp.int32(0))
            return jax.lax.dynamic_slice(self.ring.starts, place, (WINDOW, 2))

        flat = jax.vmap(one)(first.reshape(-1)).reshape(*first.shape, WINDOW, 2)
        return Clock(flat[..., 0], flat[..., 1])
