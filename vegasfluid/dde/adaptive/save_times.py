"""The solution at the save times, evaluated before the ring overwrites the pieces.

Each instance saves a block of times whenever a quarter of the ring is new: saving after each step
would be slower, as each instance would write to another row.
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


class Saved(NamedTuple):
    """The states at the save times that have been passed.

    Args:
        ys: states, nan where not saved yet; shape (batch, m + block, n): one block more than
            there are times, because whole blocks are written.
        next: number of the next save time, shape (batch,).
    """

    ys: Float[Array, "batch slots n"]
    next: Int32[Array, " batch"]


def empty_saved(problem: Problem, times: Float[Array, " m"], block: int) -> Saved:
    """States at the save times, of which none has been reached: all nan.

    Args:
        problem: the batch.
        times: save times, shape (m,).
        block: number of save times that are evaluated together.
    """
    size, batch = problem.y0.shape
    slots = times.shape[0] + block if times.shape[0] else 0
    ys = jnp.full((batch, slots, size), jnp.nan, problem.y0.dtype)
    return Saved(ys, jnp.zeros(batch, jnp.int32))


def evaluate(
    track: Track, now: CompensatedTime, time_tolerance: Float[Array, ""], times: Float[Array, " k"]
) -> Float[Array, "k n"]:
    """The states y of one instance at times that its history holds, shape (k, n).

    Args:
        track: its history, the polynomial pieces of its steps.
        now: a time near `times`, relative to which they are computed.
        time_tolerance: rounding error of a time.
        times: times from the start of the oldest piece to the end of the latest, shape (k,).
    """
    piece, passed = track.piece_at(now, now.until(times), time_tolerance)
    return piece.at(passed).T


def save_passed(
    problem: Problem,
    saved: Saved,
    times: Float[Array, " m"],
    ring: Ring,
    last: Int32[Array, " batch"],
    now: CompensatedTime,
    scheduled: Bool[Array, ""],
) -> Saved:
    """Save the states y at all save times that have been passed.

    Args:
        problem: the batch.
        saved: the states saved so far.
        times: save times, increasing; shape (m,).
        ring: the pieces up to row `last`.
        last: the latest row of each instance, shape (batch,).
        now: the time of each instance, the end of its latest piece.
        scheduled: whether to save at all in this call.

    Returns:
        `saved` with these states, and the number of the next save time of each instance.
    """
    count, size = times.shape[0], problem.y0.shape[0]
    if not count:
        return saved
    together = saved.ys.shape[1] - count

    def block(
        ring: Ring, last: Array, first: Array, now: CompensatedTime, time_tolerance: Array
    ) -> tuple[Array, Array]:
        """The states of one instance at the next block of save times, and how many were passed.

        Args:
            ring: its pieces up to row `last`.
            last: its latest row.
            first: number of its next save time.
            now: its time.
            time_tolerance: rounding error of a time.

        Returns:
            States, shape (block, n), nan where not passed; the number of times passed.
        """
        numbers = first + jnp.arange(together, dtype=jnp.int32)
        wanted = times.at[jnp.minimum(numbers, count - 1)].get(mode="promise_in_bounds")
        passed = (numbers < count) & (now.until(wanted) <= time_tolerance)
        ys = evaluate(Track(ring, size, last), now, time_tolerance, wanted)
        ys = jnp.where(passed[:, None], ys, jnp.nan)
        return ys, jnp.sum(passed, dtype=jnp.int32)

    def save_block(state: tuple[Saved, Array]) -> tuple[Saved, Array]:
        ys, first = state[0]
        blocks, passed = jax.vmap(block)(ring, last, first, now, problem.time_tolerance)
        return Saved(put_rows(ys, first, blocks), first + passed), jnp.any(passed == together)

    return jax.lax.while_loop(lambda state: state[1], save_block, (saved, scheduled))[0]
