"""Dense output of an adaptive solve: the polynomial pieces of all its steps."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int32

from vegasfluid.dde.adaptive.compensated_time import CompensatedTime
from vegasfluid.dde.adaptive.history_ring import Ring, Track
from vegasfluid.dde.adaptive.save_times import evaluate

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

    def evaluate(self, times: float | Float[Array, "*times"]) -> Array:
        """The states y at any times; nan before t0 and after the end of the solve.

        Args:
            times: one time, or an array of times, in the unit of t0; the same for all instances.

        Returns:
            States, shape (*times, n); for a batch, (batch, *times, n).
        """
        times = jnp.asarray(times, self.time_tolerance.dtype)
        if self.last.ndim:
            return jax.vmap(lambda pieces: pieces.evaluate(times))(self)
        flat, size = times.ravel(), self.y.shape[0]
        ys = evaluate(Track(self.ring, size, self.last), self.end, self.time_tolerance, flat)
        known = (self.begin.until(flat) >= -self.time_tolerance) & (
            self.end.until(flat) <= self.time_tolerance
        )
        return jnp.where(known[:, None], ys, jnp.nan).reshape(*times.shape, size)
