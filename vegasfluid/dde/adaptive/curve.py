"""Dense output of an adaptive solve: all its pieces, kept."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int32

from vegasfluid.dde.adaptive.clock import Clock
from vegasfluid.dde.adaptive.problem import Problem
from vegasfluid.dde.adaptive.ring import Ring, Track
from vegasfluid.dde.adaptive.saving import evaluate

__all__ = ["Pieces"]


class Pieces(NamedTuple):
    """All pieces of a solve; of a batch, each array has the batch in front.

    Args:
        times: start in two parts and rate of each, shape (rows, 3).
        coefficients: shape (rows, powers, n).
        last: the latest row.
        begin: t0.
        end: how far the solve came.
        slack: rounding of a time.
    """

    times: Float[Array, "*batch rows three"]
    coefficients: Float[Array, "*batch rows powers n"]
    last: Int32[Array, "*batch"]
    begin: Clock
    end: Clock
    slack: Float[Array, "*batch"]

    @classmethod
    def of(cls, problem: Problem, ring: Ring, last: Int32[Array, ""], end: Clock) -> Pieces:
        """The pieces of a batch whose ring holds all of them."""
        size, batch = problem.y0.shape
        rows = ring.rows(batch)
        times = jnp.moveaxis(ring.times.reshape(rows, batch, 3), 1, 0)
        coefficients = jnp.moveaxis(ring.pieces.reshape(rows, batch, -1, size), 1, 0)
        everywhere = jnp.broadcast_to(last, (batch,))
        return cls(times, coefficients, everywhere, problem.begin, end, problem.slack)

    def evaluate(self, times: float | Float[Array, "*times"]) -> Array:
        """The states at some times; nan before t0, and after the end of the solve."""
        times = jnp.asarray(times, self.slack.dtype)
        if self.last.ndim:
            return jax.vmap(lambda pieces: pieces.evaluate(times))(self)
        rows, _, size = self.coefficients.shape
        ring = Ring(self.times, self.coefficients.reshape(rows, -1), jnp.zeros((rows, 3)))
        track = Track(ring, 1, size, jnp.zeros((), jnp.int32), self.last)
        flat = times.ravel()
        ys = evaluate(track, self.end, self.slack, flat)
        known = (self.begin.until(flat) >= -self.slack) & (self.end.until(flat) <= self.slack)
        return jnp.where(known[:, None], ys, jnp.nan).reshape(*times.shape, size)
