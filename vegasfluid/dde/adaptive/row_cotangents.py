"""Cotangents of the rows of the history that a step read."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int32

from vegasfluid.dde.adaptive.history_reader import ReadPerturbations
from vegasfluid.dde.adaptive.history_ring import put_rows

__all__ = ["ReadCotangents", "add_read_cotangents", "add_to_row", "row_of", "split_own_row"]


class ReadCotangents(NamedTuple):
    """The cotangents of the rows that a step read.

    Args:
        rows: number of the row of each read, shape (evaluations, reads, batch).
        perturbations: cotangents of the values read; 0 for reads of the step's own row.
        here: the cotangent of the start of the step's own row, shape (batch,).
    """

    rows: Int32[Array, "evaluations reads batch"]
    perturbations: ReadPerturbations
    here: Float[Array, " batch"]


def split_own_row(
    perturbations: ReadPerturbations, rows: Array, own: Array
) -> tuple[ReadCotangents, Float[Array, "powers n batch"]]:
    """The cotangents of the rows read, and of the coefficients of the step's own piece.

    `perturbations` are the cotangents of all reads, `rows` the rows read, shape (evaluations,
    reads, batch), and `own` is the step's own row, shape (batch,).
    """
    here = rows == own
    own_part = jnp.where(here[:, None, None], perturbations.coefficients, 0.0)
    others = ReadPerturbations(
        jnp.where(here, 0.0, perturbations.starts),
        jnp.where(here[:, None, None], 0.0, perturbations.coefficients),
    )
    start = jnp.sum(jnp.where(here, perturbations.starts, 0.0), axis=(0, 1))
    return ReadCotangents(rows, others, start), jnp.sum(own_part, axis=(0, 3))


def add_read_cotangents(pieces: Array, read_cotangents: ReadCotangents) -> Array:
    """The cotangents of all pieces, (batch, rows, width), with those of the rows read added."""
    evaluations, powers, n, reads, batch = read_cotangents.perturbations.coefficients.shape
    if not reads:
        return pieces
    flat = jnp.moveaxis(read_cotangents.perturbations.coefficients, 3, 1).reshape(
        evaluations * reads, powers * n, batch
    )
    starts = read_cotangents.perturbations.starts.reshape(evaluations * reads, 1, batch)
    zeros = jnp.zeros((evaluations * reads, 2, batch), flat.dtype)
    cotangents = jnp.concatenate([starts, zeros, flat], axis=1)
    rows = read_cotangents.rows.reshape(evaluations * reads, batch)

    def add(number: Array, pieces: Array) -> Array:
        return add_to_row(pieces, rows[number], cotangents[number])

    return jax.lax.fori_loop(jnp.int32(0), jnp.int32(evaluations * reads), add, pieces)


def add_to_row(
    pieces: Array, row: Int32[Array, " batch"], more: Float[Array, "width batch"]
) -> Array:
    """The cotangents of all pieces, with `more` (width, batch) added to row `row` of each."""
    return put_rows(pieces, row, (row_of(pieces, row) + more).T[:, None])


def row_of(table: Float[Array, "batch rows width"], row: Int32[Array, " batch"]) -> Array:
    """The row `row` of each instance in a table of shape (batch, rows, width); (width, batch)."""
    instances = jnp.arange(row.shape[0], dtype=jnp.int32)
    return table.at[instances, row].get(mode="promise_in_bounds").T
