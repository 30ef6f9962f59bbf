"""Dense output of an adaptive solve: the polynomial pieces of all its steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int32

from vegasfluid.dde.adaptive.compensated_time import CompensatedTime
from vegasfluid.dde.adaptive.history_ring import Piece, Ring, Track

__all__ = ["DensePieces"]


class DensePieces(NamedTuple):
    """The pieces of all steps of a solve; for a batch, every array has the batch axis first.

    Args:
        ring: the pieces, one in each row.
        last: the latest row.
        begin: t0.
        end: time that the solve reached.
        y: the state at `end`, shape (n,).
        time_tolerance: rounding error of a time.
    """

    ring: Ring
    last: Int32[Array, "*batch"]
    begin: CompensatedTime
    end: CompensatedTime
    y: Float[Array, "*batch n"]
    time_tolerance: Float[Array, "*batch"]

    def evaluate(self, times: Float[Array, "*times"], left: bool) -> Array:
        """The states y at any times; nan before t0 and after the end of the solve.

        Args:
            times: any shape, in the unit of t0; the same for all instances.
            left: where y jumps, whether the state before the jump is returned.

        Returns:
            States, shape (*times, n); for a batch, (batch, *times, n).
        """
        return self._at(times, left, Piece.at)

    def derivative(self, times: Float[Array, "*times"], left: bool) -> Array:
        """The derivatives dy/dt at any times; nan before t0 and after the end of the solve.

        Args:
            times: any shape, in the unit of t0; the same for all instances.
            left: where dy/dt jumps, whether the derivative before the jump is returned.

        Returns:
            Derivatives, shape (*times, n); for a batch, (batch, *times, n).
        """
        return self._at(times, left, Piece.slope_at)

    def _at(self, times: Array, left: bool, value: Callable[[Piece, Array], Array]) -> Array:
        """`value(piece, time since its start)` for the piece that contains each time; else nan.

        Shape (*times, n); for a batch, (batch, *times, n).
        """
        times = jnp.asarray(times, self.time_tolerance.dtype)
        if self.last.ndim:
            return jax.vmap(lambda pieces: pieces._at(times, left, value))(self)
        offset, track = self.end.until(times), Track(self.ring, self.y.shape[0], self.last)
        margin = -self.time_tolerance if left else self.time_tolerance
        values = jnp.moveaxis(value(*track.piece_at(self.end, offset, margin)), 0, -1)
        known = self.begin.until(times) >= -self.time_tolerance
        known &= offset <= self.time_tolerance
        return jnp.where(known[..., None], values, jnp.nan)
