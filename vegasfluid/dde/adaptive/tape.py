"""What a reverse solve needs to know of each step, beside the pieces in the ring."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int32

from vegasfluid.dde.adaptive.bounds import Modes
from vegasfluid.dde.adaptive.breaking_points import ActiveInterval
from vegasfluid.dde.adaptive.history_ring import put_rows
from vegasfluid.dde.adaptive.step_result import EventRecord

__all__ = ["Entry", "Tape", "empty_tape"]


class Entry(NamedTuple):
    """One step of each instance.

    Args:
        step: length of the attempt, shape (batch,).
        last: whether it was as long as to end at t1.
        modes: in which the step was made.
        interval: between which breaks it read the past.
        rows: near which it read it, shape (sites, batch).
        event: whether it was cut at an event.
        passed: how far it led.
        landed: on which event.
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
        """The tape with an entry of each instance in a row of its own."""
        flat = [_wide(leaf, self.table.dtype) for leaf in jax.tree.leaves(entry)]
        return Tape(put_rows(self.table, row, jnp.concatenate(flat).T[:, None]))

    def read(self, row: Int32[Array, " batch"], like: Entry) -> Entry:
        """The entries of some rows; shaped as another entry."""
        instances = jnp.arange(row.shape[0], dtype=jnp.int32)
        flat = self.table.at[instances, row].get(mode="promise_in_bounds").T
        leaves, structure = jax.tree.flatten(like)
        result, first = [], 0
        for leaf in leaves:
            size = leaf.size // row.shape[0]
            result.append(flat[first : first + size].reshape(leaf.shape).astype(leaf.dtype))
            first += size
        return jax.tree.unflatten(structure, result)


def empty_tape(rows: int, like: Entry) -> Tape:
    """A tape of so many rows for entries like this."""
    leaves = jax.tree.leaves(like)
    batch = like.step.shape[0]
    width = sum(leaf.size // batch for leaf in leaves)
    return Tape(jnp.zeros((batch, rows, width), like.step.dtype))


def _wide(leaf: Array, dtype: Any) -> Float[Array, "some batch"]:
    """A leaf as floats; row numbers are far below those that a float32 cannot tell apart."""
    return leaf.reshape(-1, leaf.shape[-1]).astype(dtype)
