"""A lattice of windows or times, on which a distribution moves and jumps without losing a flow.

Cells are of one width up to some place and in geometric progression above, so that a window of a
few packets and one of thousands are told equally well. Growth carries mass over the edges between
cells: the flux is that of the density at the edge, extrapolated from upwind with van Leer's
limiter, so that an edge in the distribution stays one. A jump puts mass between two cells so that
their mean is where it jumped to.

Sources:
    B. van Leer, "Towards the ultimate conservative difference scheme. II", J. Comput. Phys. 14,
    1974 (the limiter; not checked against the original).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from vegasfluid import smooth

__all__ = ["FINEST", "Mesh", "deposit", "make_mesh", "places", "put", "transport"]

FINEST = 0.5
"""Packets: the narrowest cell."""
RATIO = 1.03
"""One cell's width over that of the one below, where they grow."""
LOWEST = 0.75
"""Packets: the lowest edge; the first cell holds windows of one packet."""

Masses = Float[Array, "groups cells"]


class Mesh(NamedTuple):
    """Cells of windows.

    Args:
        edges: packets; (cells + 1,).
    """

    edges: Any

    @property
    def centres(self) -> Any:
        """The middles of the cells, packets; (cells,)."""
        return (self.edges[1:] + self.edges[:-1]) / 2

    @property
    def widths(self) -> Any:
        """Packets; (cells,)."""
        return self.edges[1:] - self.edges[:-1]


def make_mesh(
    largest: float, *, lowest: float = LOWEST, finest: float = FINEST, ratio: float = RATIO
) -> Mesh:
    """A lattice of places from `lowest` to `largest`; by default of windows from one packet.

    Args:
        largest: no edge but the last is above it.
        lowest: the first edge.
        finest: width of the narrowest cells.
        ratio: of a cell's width to that of the one below, where they grow; above 1.

    >>> mesh = make_mesh(1000.0)
    >>> mesh.centres.size, float(mesh.centres[0]), bool(mesh.edges[-1] >= 1000.0)
    (171, 1.0, True)
    """
    turn = finest / (ratio - 1)
    even = np.arange(lowest, turn + finest, finest)
    cells = max(math.ceil(math.log(max(largest / even[-1], 1.0)) / math.log(ratio)), 0)
    return Mesh(np.concatenate([even, even[-1] * ratio ** np.arange(1, cells + 1)]))


def transport(masses: Masses, speed: Float[Array, "groups inner"], mesh: Mesh) -> Masses:
    """d(masses)/dt of what moves over the edges between cells.

    Args:
        masses: share of the flows in each cell.
        speed: at the edges between cells, packets/s; (groups, cells - 1).
        mesh: the cells.
    """
    density = masses / mesh.widths
    step = density[:, 1:] - density[:, :-1]
    nothing = jnp.zeros_like(step[:, :1])
    before = jnp.concatenate([nothing, step], axis=1)
    after = jnp.concatenate([step, nothing], axis=1)
    product = before * after
    total = before + after
    safe = jnp.where(product > 0, total, 1.0)
    slope = jnp.where(product > 0, product / safe, 0.0)  # half of van Leer's harmonic mean
    up, down = smooth.maximum(speed, 0.0), smooth.minimum(speed, 0.0)
    flux = up * (density + slope)[:, :-1] + down * (density - slope)[:, 1:]
    return jnp.concatenate([-flux, nothing], axis=1) + jnp.concatenate([nothing, flux], axis=1)


class Places(NamedTuple):
    """Where between the middles of two cells something belongs.

    Args:
        lower: number of the lower cell; of any shape.
        part: of it that goes to the upper cell.
    """

    lower: Any
    part: Any


def places(of: Masses, mesh: Mesh) -> Places:
    """Where windows (or times) belong.

    Args:
        of: in the unit of the edges; (groups, any).
        mesh: the cells.
    """
    centres = jnp.asarray(mesh.centres)
    last = centres.shape[0] - 2
    lower = jnp.clip(jnp.searchsorted(centres, of, side="right") - 1, 0, last)
    part = (of - centres[lower]) / (centres[lower + 1] - centres[lower])
    return Places(lower, smooth.clip(part, 0.0, 1.0))


def put(masses: Masses, at: Places, mesh: Mesh) -> Masses:
    """Masses put into two neighbouring cells each, so that their mean is where they belong.

    Args:
        masses: what is put down; (groups, any).
        at: where.
        mesh: the cells.
    """
    groups = np.arange(masses.shape[0])[:, np.newaxis]
    found = jnp.zeros((masses.shape[0], len(mesh.edges) - 1), masses.dtype)
    found = found.at[groups, at.lower].add(masses * (1 - at.part))
    return found.at[groups, at.lower + 1].add(masses * at.part)


def deposit(masses: Masses, windows: Masses, mesh: Mesh) -> Masses:
    """Masses put where they belong, half-way windows into two neighbouring cells.

    Args:
        masses: what is put down; (groups, any).
        windows: where, packets; of the same shape.
        mesh: the cells.
    """
    return put(masses, places(windows, mesh), mesh)
