"""What a reverse solve needs to know of each step, beside the pieces in the ring."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int32

from vegasfluid.dde.adaptive.clamps import Modes
from vegasfluid.dde.adaptive.landing import Landed
from vegasfluid.dde.adaptive.problem import Problem

__all__ = ["Entry", "Tape", "empty_tape"]


class Entry(NamedTuple):
    """One step of each instance.

    Args:
        step: length of the attempt, shape (batch,).
        last: whether it was as long as to end at t1.
        moved: whether the instance moved on; else its piece is that of the row before.
        modes: in which the step was made.
        event: whether it was cut at an event.
        passed: how far it led.
        landed: on which event.
    """

    step: Float[Array, "*batch"]
    last: Bool[Array, "*batch"]
    moved: Bool[Array, "*batch"]
    modes: Modes
    event: Bool[Array, "*batch"]
    passed: Float[Array, "*batch"]
    landed: Landed


class Tape(NamedTuple):
    """The entries of all rows: as an `Entry`, each array with the rows in front."""

    entries: Entry

    def write(self, row: Int32[Array, ""], entry: Entry) -> Tape:
        """The tape with an entry in a row."""

        def put(rows: Array, value: Array) -> Array:
            place = (row,) + (jnp.zeros_like(row),) * value.ndim
            return jax.lax.dynamic_update_slice(rows, value[None], place)

        return Tape(jax.tree.map(put, self.entries, entry))

    def read(self, row: Int32[Array, ""]) -> Entry:
        """The entry of a row."""
        return jax.tree.map(lambda rows: rows[row], self.entries)


def empty_tape(problem: Problem, rows: int, modes: Modes) -> Tape:
    """A tape of so many rows, nobody moving."""
    zero = jnp.zeros(problem.y0.shape[1], problem.y0.dtype)
    no = jnp.zeros(zero.shape, bool)
    entry = Entry(zero, no, no, modes, no, zero, Landed.nothing(problem))

    def rows_of(value: Any) -> Array:
        return jnp.zeros((rows, *value.shape), value.dtype)

    return Tape(jax.tree.map(rows_of, entry))
