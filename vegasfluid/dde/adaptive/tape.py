"""The tape: what the reverse pass needs of each step, besides the pieces in the ring."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int32

from vegasfluid.dde.adaptive.bounds import Modes
from vegasfluid.dde.adaptive.breaking_points import ActiveInterval
from vegasfluid.dde.adaptive.history_ring import put_rows
from vegasfluid.dde.adaptive.node import EventRecord

__all__ = ["Entry", "Tape", "empty_tape"]


class Entry(NamedTuple):
    """The decisions of one step of each instance.

    Args:
        step: length of the attempt, shape (batch,).
        last: whether it ended at t1, shape (batch,).
        modes: active bounds and guard signs during the step.
        interval: the active intervals of its sites.
        rows: rows at which its history searches started, shape (sites, batch).
        event: whether it ended at an event, shape (batch,).
        passed: time from its start to its end or event, shape (batch,).
        landed: the event at which it ended; undefined where `event` is false.
    """

    step: Float[Array, " batch"]
    last: Bool[Array, " batch"]
    modes: Modes
    interval: ActiveInterval
    rows: Int32[Array, "sites batch"]
    event: Bool[Array, " batch"]
    passed: Float[Array, " batch"]
    landed: EventRecord


class Tape(NamedTuple):
    """The entries of all rows, each flattened to floats.

    Args:
        table: shape (batch, rows, width).
    """

    table: Float[Array, "batch rows width"]

    def write(self, row: Int32[Array, " batch"], entry: Entry) -> Tape:
        """The tape with one entry of each instance written to its row `row`, shape (batch,)."""
        flat = [_wide(leaf, self.table.dtype) for leaf in jax.tree.leaves(entry)]
        return Tape(put_rows(self.table, row, jnp.concatenate(flat).T[:, None]))

    def read(self, row: Int32[Array, " batch"], like: Entry) -> Entry:
        """The entries in row `row`, shape (batch,), with the shapes and dtypes of `like`."""
        instances = jnp.arange(row.shape[0], dtype=jnp.int32)
        flat = self.table.at[instances, row].get(mode="promise_in_bounds").T
        shapes, structure = jax.tree.flatten(like)
        leaves, first = [], 0
        for leaf in shapes:
            size = leaf.size // row.shape[0]
            leaves.append(flat[first : first + size].reshape(leaf.shape).astype(leaf.dtype))
            first += size
        return jax.tree.unflatten(structure, leaves)


def empty_tape(rows: int, like: Entry) -> Tape:
    """A tape of zeros with `rows` rows for each instance, for entries of the shape of `like`."""
    leaves = jax.tree.leaves(like)
    batch = like.step.shape[0]
    width = sum(leaf.size // batch for leaf in leaves)
    return Tape(jnp.zeros((batch, rows, width), like.step.dtype))


def _wide(leaf: Array, dtype: Any) -> Float[Array, "some batch"]:
    """One array of a step's tape entry, flattened to floats of `dtype`, shape (values, batch).

    Row numbers and flags are small enough to be exact floats.
    """
    return leaf.reshape(-1, leaf.shape[-1]).astype(dtype)
