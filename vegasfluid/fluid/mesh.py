"""A one-dimensional mesh on which a distribution is advected and jumps without losing mass.

Cells have one width up to some value and widths in geometric progression above it, so that windows
of a few packets and of thousands are resolved equally well. Meshes have few different numbers of
cells, since a compiled program serves one number. Advection moves mass over the edges
between cells. The flux is the speed times the density at the edge, extrapolated from upwind with
van Leer's limiter, which keeps fronts sharp. A jump divides mass between two cells so that its mean
is the target of the jump (linear deposition).

Sources:
    B. van Leer, "Towards the ultimate conservative difference scheme. II", J. Comput. Phys. 14,
    1974 (the limiter; not checked against the original).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from vegasfluid import smooth

__all__ = ["FINEST", "Deposition", "Mesh", "advect", "deposit", "deposit_at", "deposition"]
__all__ += ["make_mesh"]

FINEST = 0.5
"""Width of the narrowest cells, packets."""
RATIO = 1.03
"""Width of a cell over that of the one below, where widths grow."""
FEWEST_CELLS, SIZE_RATIO = 32, 1.15
"""Numbers of cells are rounded to the nearest `FEWEST_CELLS` times a power of `SIZE_RATIO` (chosen:
a mesh has at most 7 % more or fewer cells than without, and runs take as much longer or less).
`FEWEST_CELLS` is the size of the smallest mesh of windows."""
INSIDE = "promise_in_bounds"
"""Numbers of cells are inside the mesh, so JAX need not check them."""
LOWEST = 0.75
"""Lowest edge, packets: the first cell is centred at one packet."""

Masses = Float[Array, "groups cells"]
"""One number for each cell, mostly the fraction of the group's flows in it, or its rate, 1/s."""


class Mesh(NamedTuple):
    """Cells of windows (packets) or of times (s).

    Args:
        edges: edges of the cells, increasing; (cells + 1,).
    """

    edges: Float[np.ndarray, " edges"]

    @property
    def centres(self) -> Float[np.ndarray, " cells"]:
        """Midpoints of the cells, in the unit of the edges (packets or s); (cells,)."""
        return (self.edges[1:] + self.edges[:-1]) / 2

    @property
    def widths(self) -> Float[np.ndarray, " cells"]:
        """Widths of the cells, in the unit of the edges (packets or s); (cells,)."""
        return self.edges[1:] - self.edges[:-1]


def make_mesh(
    largest: float, *, lowest: float = LOWEST, finest: float = FINEST, ratio: float = RATIO
) -> Mesh:
    """A mesh from `lowest` to at least `largest`; by default of windows from one packet.

    Cells have the width `finest` up to about `finest / (ratio - 1)`, where the mesh ends at least.
    The number of cells is rounded by `shared_size`, so that other ranges have the same number; the
    ratio differs a little for that, and the last edge does not.

    Args:
        largest: a value that the mesh covers; packets (or s).
        lowest: the first edge, in the same unit.
        finest: width of the narrowest cells, in the same unit.
        ratio: about the width of a cell over that of the one below, where widths grow; above 1.

    >>> mesh = make_mesh(1000.0)
    >>> mesh.centres.size, float(mesh.centres[0]), bool(mesh.edges[-1] >= 1000.0)
    (171, 1.0, True)
    >>> make_mesh(900.0).centres.size
    171
    """
    uniform_end = finest / (ratio - 1)
    uniform = np.arange(lowest, uniform_end + finest, finest)
    growing = max(math.ceil(math.log(max(largest / uniform[-1], 1.0)) / math.log(ratio)), 0)
    last = float(uniform[-1]) * ratio**growing
    return mesh_of_size(shared_size(len(uniform) - 1 + growing), lowest, last, finest)


def shared_size(cells: int) -> int:
    """A number of cells rounded to one of few: those that meshes of other ranges have, too.

    >>> [shared_size(cells) for cells in (32, 36, 41, 165, 177)]
    [32, 37, 42, 171, 171]
    """
    power = round(math.log(cells / FEWEST_CELLS) / math.log(SIZE_RATIO))
    return max(round(FEWEST_CELLS * SIZE_RATIO**power), 1)


def mesh_of_size(cells: int, lowest: float, last: float, finest: float) -> Mesh:
    """A mesh with a number of cells, narrow ones first and then in geometric progression.

    Args:
        cells: number of cells.
        lowest: the first edge, in any unit.
        last: the last edge, in the same unit; the mesh ends above it if `cells` of the width
            `finest` reach farther.
        finest: width of the narrowest cells, in the same unit.

    >>> mesh_of_size(5, 0.0, 10.0, 1.0).edges.round(2).tolist()
    [0.0, 1.0, 2.0, 3.42, 5.85, 10.0]
    """
    uniform = lowest + finest * np.arange(cells + 1)
    for number, edge in enumerate(uniform[1:-1], start=1):
        if edge >= last:
            break
        ratio = (last / edge) ** (1 / (cells - number))
        if edge * (ratio - 1) >= finest:  # the narrowest cell limits the steps of the solver
            growing = edge * ratio ** np.arange(1, cells - number + 1)
            return Mesh(np.concatenate([uniform[: number + 1], growing]))
    return Mesh(uniform)


def advect(masses: Masses, speed: Float[Array, "groups inner"], mesh: Mesh) -> Masses:
    """Change of the mass in each cell, 1/s, as mass moves over the edges between cells.

    Args:
        masses: mass (fraction of flows) in each cell; (groups, cells).
        speed: speed at inner edges, in the unit of the edges per second; (groups, cells - 1).
        mesh: the cells.
    """
    density = masses / mesh.widths
    step = density[:, 1:] - density[:, :-1]
    zero = jnp.zeros_like(step[:, :1])
    before = jnp.concatenate([zero, step], axis=1)
    after = jnp.concatenate([step, zero], axis=1)
    product = before * after
    total = before + after
    safe = jnp.where(product > 0, total, 1.0)
    slope = jnp.where(product > 0, product / safe, 0.0)  # half of van Leer's harmonic mean
    up, down = smooth.maximum(speed, 0.0), smooth.minimum(speed, 0.0)
    flux = up * (density + slope)[:, :-1] + down * (density - slope)[:, 1:]
    return jnp.concatenate([-flux, zero], axis=1) + jnp.concatenate([zero, flux], axis=1)


class Deposition(NamedTuple):
    """Division of values between the two cells whose centres enclose them.

    Args:
        lower: number of the lower cell; (groups, any).
        weight: fraction that goes to the upper cell; (groups, any).
    """

    lower: Int[Array, "groups any"]
    weight: Float[Array, "groups any"]


def deposition(values: Masses, mesh: Mesh) -> Deposition:
    """The two cells between which each value is divided, and the weight of the upper one.

    Args:
        values: windows or times, in the unit of the edges; (groups, any).
        mesh: the cells.

    Returns:
        Index of the lower cell, and the fraction that goes to the upper one; (groups, any). A value
        outside the centres of the first and last cell goes to that cell alone.
    """
    centres = jnp.asarray(mesh.centres)
    last = centres.shape[0] - 2
    lower = jnp.clip(jnp.searchsorted(centres, values, side="right") - 1, 0, last)
    below, above = (centres.at[cells].get(mode=INSIDE) for cells in (lower, lower + 1))
    weight = (values - below) / (above - below)
    return Deposition(lower, smooth.clip(weight, 0.0, 1.0))


def deposit_at(parts: Sequence[Masses], at: Deposition, mesh: Mesh) -> list[Masses]:
    """The mass in each cell after a deposition, for several masses at the same values.

    Args:
        parts: masses to deposit; (groups, any) each.
        at: cells and weights of each of them.
        mesh: the cells.

    Returns:
        For each part the mass in each cell; (groups, cells) each.
    """
    groups = np.arange(at.lower.shape[0])[:, np.newaxis]
    shares = [part * weight for part in parts for weight in (1 - at.weight, at.weight)]
    # All shares of a value are added together: separate additions would wait for each other.
    sums = jnp.zeros((len(groups), len(mesh.edges) - 1, len(shares)), shares[0].dtype)
    sums = sums.at[groups, at.lower].add(jnp.stack(shares, -1), mode=INSIDE)
    upper = jnp.pad(sums[:, :-1, 1::2], ((0, 0), (1, 0), (0, 0)))  # goes to the next cell
    return list(jnp.moveaxis(sums[..., ::2] + upper, -1, 0))


def deposit(masses: Masses, values: Masses, mesh: Mesh) -> Masses:
    """The mass in each cell after a deposition of masses at given values; (groups, cells).

    Args:
        masses: masses to deposit; (groups, any).
        values: their windows or times, in the unit of the edges; (groups, any).
        mesh: the cells.
    """
    return deposit_at([masses], deposition(values, mesh), mesh)[0]
