"""The solution at the times that were asked for, read off the ring before it forgets.

Not step by step, where each instance would write to a place of its own, but every so many rows,
a block of times an instance.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int32

from vegasfluid.dde.adaptive.compensated_time import CompensatedTime
from vegasfluid.dde.adaptive.history_ring import Ring, Track, put_rows
from vegasfluid.dde.adaptive.problem import Problem

__all__ = ["Saved", "empty_saved", "evaluate", "save_passed"]

SAVE_BLOCK = 32
"""Times that are read off at once."""


class Saved(NamedTuple):
    """States at the save times so far.

    Args:
        ys: nan where there is none yet; a block longer than there are times, because whole
            blocks are written; shape (batch, m + block, n).
        next: number of the next save time, shape (batch,).
    """

    ys: Float[Array, "batch places n"]
    next: Int32[Array, " batch"]


def empty_saved(problem: Problem, times: Float[Array, " m"]) -> Saved:
    """Nothing saved yet."""
    size, batch = problem.y0.shape
    places = times.shape[0] + SAVE_BLOCK if times.shape[0] else 0
    ys = jnp.full((batch, places, size), jnp.nan, problem.y0.dtype)
    return Saved(ys, jnp.zeros(batch, jnp.int32))


def evaluate(
    track: Track, now: CompensatedTime, time_tolerance: Float[Array, ""], times: Float[Array, " k"]
) -> Float[Array, "k n"]:
    """The solution of one instance at some times that its ring holds.

    Args:
        track: its ring.
        now: a time near these.
        time_tolerance: rounding of a time.
        times: not after the latest piece's end.
    """
    offset = now.until(times)
    piece = track.piece(track.bisect(now, offset + time_tolerance))
    return piece.at(offset - piece.start.since(now)).T


def save_passed(
    problem: Problem,
    saved: Saved,
    times: Float[Array, " m"],
    ring: Ring,
    last: Int32[Array, " batch"],
    now: CompensatedTime,
    scheduled: Bool[Array, ""],
) -> Saved:
    """Read off the save times that have been passed.

    Args:
        problem: the batch.
        saved: so far.
        times: rising.
        ring: the pieces up to row `last`.
        last: the latest row of each instance.
        now: where each instance stands: at the end of its latest piece.
        scheduled: whether to do so at all.
    """
    count, size = times.shape[0], problem.y0.shape[0]
    if not count:
        return saved

    def block(
        ring: Ring, last: Array, first: Array, now: CompensatedTime, time_tolerance: Array
    ) -> tuple[Array, Array]:
        traced = first + jnp.arange(SAVE_BLOCK, dtype=jnp.int32)
        wanted = times.at[jnp.minimum(traced, count - 1)].get(mode="promise_in_bounds")
        passed = (traced < count) & (now.until(wanted) <= time_tolerance)
        ys = evaluate(Track(ring, size, last), now, time_tolerance, wanted)
        ys = jnp.where(passed[:, None], ys, jnp.nan)
        return ys, jnp.sum(passed, dtype=jnp.int32)

    def due(state: tuple[Saved, Array]) -> Array:
        return state[1]

    def note(state: tuple[Saved, Array]) -> tuple[Saved, Array]:
        ys, first = state[0]
        blocks, passed = jax.vmap(block)(ring, last, first, now, problem.time_tolerance)
        return Saved(put_rows(ys, first, blocks), first + passed), jnp.any(passed == SAVE_BLOCK)

    return jax.lax.while_loop(due, note, (saved, scheduled))[0]
