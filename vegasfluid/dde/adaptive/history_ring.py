"""History: for each instance a ring buffer of polynomial pieces, searched by their start times.

Row k of an instance is in slot k modulo rows, a power of two; or in slot k, if there are at least
as many rows as are ever written. A piece is the dense output of one step: a polynomial in the
fraction u of the step that has passed.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int32

from vegasfluid.dde.adaptive.compensated_time import CompensatedTime

__all__ = ["Piece", "Ring", "Track", "chosen", "empty_ring", "horner", "put_rows"]

Index = Int32[Array, "*lags"]
"""Numbers of rows (pieces of the dense output), counted from t0, or their slots in the ring."""


class Piece(NamedTuple):
    """The dense output of a step.

    Args:
        start: time at which the step starts.
        rate: one over the length of the step, so that u = rate times the time since the start.
        coefficients: coefficients of 1, u, u^2, ..., shape (powers, n, *batch).
    """

    start: CompensatedTime
    rate: Float[Array, "*batch"]
    coefficients: Float[Array, "powers n *batch"]

    def at(self, passed: Float[Array, "*batch"]) -> Float[Array, "n batch"]:
        """The state y at time `passed` after the piece's start, shape (n, *batch)."""
        return horner(self.coefficients, passed * self.rate)

    def slope_at(self, passed: Float[Array, "*batch"]) -> Float[Array, "n batch"]:
        """The derivative dy/dt at time `passed` after the piece's start, shape (n, *batch)."""
        return jax.jvp(self.at, (passed,), (jnp.ones_like(passed),))[1]


def horner(
    coefficients: Float[Array, "powers n *batch"], u: Float[Array, "*batch"]
) -> Float[Array, "n batch"]:
    """The values at u, shape (n, *batch), of n polynomials with coefficients in ascending order.

    >>> horner(jnp.array([[1.0], [2.0], [3.0]]), jnp.array(2.0)).tolist()
    [17.0]
    """
    value = coefficients[-1]
    for power in range(coefficients.shape[0] - 2, -1, -1):
        value = value * u + coefficients[power]
    return value


class Ring(NamedTuple):
    """The latest rows of each instance.

    Args:
        pieces: one piece in each row: start (two floats), rate and coefficients; shape (*batch,
            rows, 3 + powers * n).
    """

    pieces: Float[Array, "*batch rows width"]

    @property
    def rows(self) -> int:
        """Number of rows (pieces) that the ring can keep of each instance."""
        return self.pieces.shape[-2]

    def slot(self, row: Index) -> Index:
        """The slot of each row: its number modulo the smallest power of two from `rows` up."""
        return row & jnp.int32((1 << (self.rows - 1).bit_length()) - 1)

    def write(self, row: Int32[Array, " batch"], piece: Piece) -> Ring:
        """The ring of a batch with one piece of each instance written to its row `row`.

        Args:
            row: number of the row of each instance, counted from t0; shape (batch,).
            piece: dense output of one step of each instance.
        """
        flat = piece.coefficients.reshape(-1, piece.rate.shape[0])
        whole = jnp.concatenate([jnp.stack([*piece.start, piece.rate]), flat]).T
        return Ring(put_rows(self.pieces, self.slot(row), whole[:, None]))


def put_rows(
    table: Float[Array, "batch rows width"],
    slot: Int32[Array, " batch"],
    values: Float[Array, "batch some width"],
) -> Float[Array, "batch rows width"]:
    """A table with new values in consecutive rows of each instance.

    Args:
        table: shape (batch, rows, width).
        slot: first row to be written of each instance, shape (batch,).
        values: the new rows, shape (batch, number of rows written, width).
    """
    batch = table.shape[0]
    if jax.default_backend() != "cpu":
        zero = jnp.int32(0)
        update = jax.lax.dynamic_update_slice
        return jax.vmap(lambda rows, new, first: update(rows, new, (first, zero)))(
            table, values, slot
        )

    # On a CPU, XLA turns that into a scatter, which takes several times as long as this loop.
    def put(number: Array, table: Array) -> Array:
        new = jax.lax.dynamic_slice_in_dim(values, number, 1)
        return jax.lax.dynamic_update_slice(table, new, (number, slot[number], jnp.int32(0)))

    return jax.lax.fori_loop(jnp.int32(0), jnp.int32(batch), put, table)


def empty_ring(rows: int, piece: Piece) -> Ring:
    """A history of zeros with `rows` rows for each instance, for pieces of the shape of `piece`."""
    powers, n, batch = piece.coefficients.shape
    return Ring(jnp.zeros((batch, rows, 3 + powers * n), piece.rate.dtype))


class Track(NamedTuple):
    """The ring of one instance, and its latest row.

    Args:
        ring: the ring, without a batch axis.
        size: number of components of the state.
        last: the latest row.
    """

    ring: Ring
    size: int
    last: Int32[Array, ""]

    @property
    def oldest(self) -> Int32[Array, ""]:
        """The oldest row that has not been overwritten."""
        return jnp.maximum(self.last - jnp.int32(self.ring.rows - 1), jnp.int32(0))

    def start(self, row: Index) -> CompensatedTime:
        """Time at which the piece (dense output of one step) in each of these rows starts."""
        slot = self.ring.slot(row)
        return CompensatedTime(*(_get(self.ring.pieces, slot, column) for column in (0, 1)))

    def piece(self, row: Index) -> Piece:
        """The piece (dense output of one step) in each of these rows."""
        flat = self.ring.pieces.at[self.ring.slot(row)].get(mode="promise_in_bounds")
        coefficients = jnp.moveaxis(flat[..., 3:], -1, 0).reshape(-1, self.size, *row.shape)
        return Piece(CompensatedTime(flat[..., 0], flat[..., 1]), flat[..., 2], coefficients)

    def search(self, now: CompensatedTime, offset: Float[Array, "*lags"], hint: Index) -> Index:
        """The latest row whose piece starts at or before `now` + `offset`; the oldest if none does.

        Args:
            now: reference time.
            offset: times relative to it, negative for the past; any shape.
            hint: rows at which the linear search starts; the nearer, the faster.

        Returns:
            Row numbers, shape of `offset`.
        """
        return _search(*jax.lax.stop_gradient((self.ring, self.last, now, offset)), hint)

    def bisect(self, now: CompensatedTime, offset: Float[Array, "*lags"]) -> Index:
        """The latest row whose piece starts at or before `now` + `offset`; the oldest if none does.

        By bisection, for times far from any known row; `search` is faster near one.

        Args:
            now: reference time.
            offset: times relative to it, negative for the past; any shape.

        Returns:
            Row numbers, shape of `offset`.
        """
        one = jnp.int32(1)
        frozen, now, offset = jax.lax.stop_gradient((self, now, offset))

        def halve(_: Array, bounds: tuple[Index, Index]) -> tuple[Index, Index]:
            low, high = bounds
            middle = (low + high + one) >> one
            early = frozen.start(middle).since(now) <= offset
            return jnp.where(early, middle, low), jnp.where(early, high, middle - one)

        low = jnp.broadcast_to(self.oldest, offset.shape)
        high = jnp.broadcast_to(self.last, offset.shape)
        halvings = self.ring.rows.bit_length()
        return jax.lax.fori_loop(0, halvings, halve, (low, high))[0]

    def piece_at(
        self, now: CompensatedTime, offset: Float[Array, "*lags"], margin: Float[Array, ""]
    ) -> tuple[Piece, Float[Array, "*lags"]]:
        """The pieces of dense output that cover given times, and the time since each piece's start.

        Times are in the unit of the delay equation's time.

        Args:
            now: reference time.
            offset: times relative to it; any shape.
            margin: a piece that starts no later than this after the time counts as containing it:
                the rounding error of a time. If negative, a time at the start of a piece belongs
                to the piece before.

        Returns:
            The pieces, and the time since the start of each, shape of `offset`.
        """
        row = self.bisect(now, offset + margin)
        first = jnp.minimum(jnp.maximum(self.oldest, jnp.int32(1)), self.last)
        piece = self.piece(jnp.maximum(row, first))
        return piece, offset - piece.start.since(now)


@jax.jit
def _search(
    ring: Ring,
    last: Int32[Array, ""],
    now: CompensatedTime,
    offset: Float[Array, "*lags"],
    hint: Index,
) -> Index:
    """The rows that `Track.search` finds; traced once for all reads of a solve."""
    one, track = jnp.int32(1), Track(ring, 0, last)
    oldest = track.oldest

    def begins_later(row: Index) -> Array:
        return track.start(row).since(now) > offset

    def direction(row: Index) -> Index:
        """The step to the next row to check: -1, 1, or 0 if `row` is the one."""
        back = (row > oldest) & begins_later(row)
        forward = (row < last) & ~begins_later(jnp.minimum(row + one, last))
        return jnp.where(back, -one, forward.astype(jnp.int32))

    def move(state: tuple[Index, Index]) -> tuple[Index, Index]:
        row = state[0] + state[1]
        return row, direction(row)

    row = jnp.clip(hint, oldest, last)
    initial = (row, direction(row))
    return jax.lax.while_loop(lambda state: jnp.any(state[1] != 0), move, initial)[0]


def _get(pieces: Array, slot: Index, column: int) -> Array:
    """One column of a ring's pieces in these slots; shape of `slot`."""
    return pieces.at[slot, column].get(mode="promise_in_bounds")


def chosen(which: Array, this: Piece, other: Piece) -> Piece:
    """The piece `this` where `which` is true, else `other`, element by element.

    Only the rate and the coefficients are chosen; the start is always that of `other`.
    """
    rate = jnp.where(which, this.rate, other.rate)
    coefficients = jnp.where(which, _wide(this.coefficients, which), other.coefficients)
    return Piece(other.start, rate, coefficients)


def _wide(coefficients: Array, like: Array) -> Array:
    """Coefficients, shape (powers, n), with an axis of length 1 added for each axis of `like`."""
    return coefficients.reshape(coefficients.shape + (1,) * like.ndim)
