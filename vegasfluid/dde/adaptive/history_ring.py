"""The remembered past: for each instance a ring of polynomial pieces, found by when they start.

Row k of an instance is in place k modulo rows, a power of two; or in place k, if there are at
least as many rows as are ever written. A piece is the dense output of one
step: a polynomial in the share u of the step that has passed.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int32

from vegasfluid.dde.adaptive.compensated_time import CompensatedTime

__all__ = ["Piece", "Ring", "Track", "empty_ring", "horner", "put_rows"]

Index = Int32[Array, "*lags"]


class Piece(NamedTuple):
    """The dense output of a step.

    Args:
        start: when the step began.
        rate: one over its length.
        coefficients: of 1, u, u^2, ..., shape (powers, n, *batch).
    """

    start: CompensatedTime
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
        pieces: start in two parts, rate and coefficients; shape (*batch, rows, 3 + powers * n).
    """

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
        flat = piece.coefficients.reshape(-1, piece.rate.shape[0])
        whole = jnp.concatenate([jnp.stack([*piece.start, piece.rate]), flat]).T
        return Ring(put_rows(self.pieces, self.place(row), whole[:, None]))


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
    return Ring(jnp.zeros((batch, rows, 3 + powers * n), piece.rate.dtype))


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

    def start(self, row: Index) -> CompensatedTime:
        """When the piece in a row starts."""
        place = self.ring.place(row)
        whole, rest = (_get(self.ring.pieces, place, column) for column in (0, 1))
        return CompensatedTime(whole, rest)

    def piece(self, row: Index) -> Piece:
        """The piece in a row."""
        flat = self.ring.pieces.at[self.ring.place(row)].get(mode="promise_in_bounds")
        coefficients = jnp.moveaxis(flat[..., 3:], -1, 0).reshape(-1, self.size, *row.shape)
        return Piece(CompensatedTime(flat[..., 0], flat[..., 1]), flat[..., 2], coefficients)

    def search(self, now: CompensatedTime, offset: Float[Array, "*lags"], hint: Index) -> Index:
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

        def resolve_step(row: Index) -> Index:
            """Where to walk from a row: a row back, a row on, or 0: found."""
            back = (row > oldest) & begins_later(row)
            on = (row < self.last) & ~begins_later(jnp.minimum(row + one, self.last))
            return jnp.where(back, -one, on.astype(jnp.int32))

        def walk(state: tuple[Index, Index]) -> tuple[Index, Index]:
            row = state[0] + state[1]
            return row, resolve_step(row)

        row = jnp.clip(hint, oldest, self.last)
        begin = (row, resolve_step(row))
        return jax.lax.while_loop(lambda state: jnp.any(state[1] != 0), walk, begin)[0]

    def bisect(self, now: CompensatedTime, offset: Float[Array, "*lags"]) -> Index:
        """As `search`, for times that are far from each other."""
        one = jnp.int32(1)
        frozen, now, offset = jax.lax.stop_gradient((self, now, offset))

        def halve(_: Array, bounds: tuple[Index, Index]) -> tuple[Index, Index]:
            low, high = bounds
            middle = (low + high + one) >> one
            start_values = frozen.start(middle).since(now) <= offset
            return jnp.where(start_values, middle, low), jnp.where(start_values, high, middle - one)

        low = jnp.broadcast_to(self.oldest, offset.shape)
        high = jnp.broadcast_to(self.last, offset.shape)
        times = self.ring.rows.bit_length()
        return jax.lax.fori_loop(0, times, halve, (low, high))[0]


def _get(pieces: Array, place: Index, column: int) -> Array:
    return pieces.at[place, column].get(mode="promise_in_bounds")
