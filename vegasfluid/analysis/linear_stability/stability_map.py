"""The rightmost root of a network over a grid of two of its parameters.

The equilibrium is solved from scratch at one point of the grid. Newton's method then follows it to
the neighbouring points, many at a time, as far as possible. Where it fails, because another window
is at its limit or another branch of a congestion control applies, the next point is solved from
scratch. The rightmost roots are eigenvalues of the collocated generator (`spectrum`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from vegasfluid.analysis.equilibria.corners import Solution, is_continuum
from vegasfluid.analysis.equilibria.equations import (
    EquilibriumEquations,
    buffer_sizes,
    initial_guess,
)
from vegasfluid.analysis.equilibria.equilibrium import (
    THEORY,
    after_events,
    equilibrium_model,
    estimate,
)
from vegasfluid.analysis.equilibria.newton import SMALLEST_SCALE, ScaledEquations
from vegasfluid.analysis.linear_stability.jacobians import Jacobians, history_reads, jacobians
from vegasfluid.analysis.linear_stability.linearisation import Linearisation
from vegasfluid.analysis.linear_stability.spectrum import generator
from vegasfluid.errors import InvalidInput, SolveFailed
from vegasfluid.fluid.model import FluidModel
from vegasfluid.fluid.options import FluidOptions
from vegasfluid.fluid.structure import FluidStructure
from vegasfluid.network import Network

__all__ = ["StabilityMap", "stability_map"]

BATCH = 64
"""Number of grid points that one batch solves: constant, so that one compiled program serves
all."""
INTERVALS = 12
"""Intervals between the generator's nodes: the rightmost root then has about six digits."""
LARGEST_RATE = 1e-7
"""Largest rate of change at an equilibrium that was followed, relative to the unknown, 1/s."""
LIMIT_TOLERANCE = 1e-9
"""Largest distance of an unknown beyond its limit, relative to the unknown."""


class StabilityMap(NamedTuple):
    """The rightmost root over a grid of two parameters.

    Args:
        first: values of the first parameter; (rows,).
        second: values of the second parameter; (columns,).
        rightmost: real part of the rightmost root, 1/s, negative where the network is stable; NaN
            where no equilibrium was found, or where the equations have no Jacobian (a continuum of
            equilibria, a full buffer); (rows, columns).
        queue: queue of the first link at equilibrium, packets; NaN where no equilibrium was found;
            (rows, columns).
    """

    first: np.ndarray
    second: np.ndarray
    rightmost: np.ndarray
    queue: np.ndarray


class FollowedPoints(NamedTuple):
    """Results of Newton's method at some points of a grid; arrays with one row for each point.

    Args:
        flat: the unknowns as a flat vector; (points, n).
        valid: whether the unknowns are an equilibrium: each rate of change is almost zero, or
            pushes its unknown beyond a limit; (points,).
        jacobians: Jacobians of the rates of change at the unknowns.
    """

    flat: Any
    valid: Any
    jacobians: Jacobians


NetworkOf = Callable[[Any, Any], Network]
"""Returns the network with two numbers, which may be traced, as its two parameters."""


@partial(jax.jit, static_argnames=("network_of", "structure", "options"))
def follow(
    network_of: NetworkOf,
    structure: FluidStructure,
    options: FluidOptions,
    values: tuple[Any, Any],
    near: Solution,
) -> FollowedPoints:
    """Equilibria and Jacobians at points of a grid, by Newton's method from solutions near them.

    Args:
        network_of: makes the network with two parameters.
        structure: structure of the fluid model at all points; traced numbers do not determine it.
        options: switches of the fluid model (`FluidOptions`).
        values: values of the two parameters, each (points,).
        near: solutions whose `unknowns` are flat vectors; each array (points, n).

    Returns:
        The unknowns, whether they are an equilibrium, and the Jacobians, one row for each point.
    """

    def at_point(first: Any, second: Any, near: Solution) -> FollowedPoints:
        """The equilibrium at one point of the grid, by Newton's method from a solution near it."""
        model = equilibrium_model(after_events(network_of(first, second)), options)
        return follow_to(replace(model, structure=structure), near)

    return jax.vmap(at_point)(*values, near)


def follow_to(model: FluidModel, near: Solution) -> FollowedPoints:
    """The equilibrium of a model and its Jacobians, by Newton's method from a solution near it.

    `near` has its `unknowns` as a flat vector. The result has one point: its unknowns (flat),
    whether they are an equilibrium, and the Jacobians (1/s).
    """
    equations = EquilibriumEquations.from_model(model)
    unravel, limited = ravel_pytree(initial_guess(equations))[1], near.limited
    scaled = ScaledEquations(model, near._replace(unknowns=unravel(near.unknowns)))
    unknowns = scaled.unknowns(scaled.root()[0])
    flat, rates = (ravel_pytree(part)[0] for part in (unknowns, equations.residual(unknowns)))
    unit = jnp.maximum(jnp.abs(flat), SMALLEST_SCALE)
    pushed = flat + jnp.where(limited, LIMIT_TOLERANCE * unit * jnp.sign(rates), 0.0)
    back = jnp.abs(ravel_pytree(equations.clipped(unravel(pushed)))[0] - flat)
    at_limit, slow = back <= LIMIT_TOLERANCE / 2 * unit, jnp.abs(rates) <= LARGEST_RATE * unit
    excess = jnp.abs(ravel_pytree(equations.clipped(unknowns))[0] - flat)
    inside = excess <= LIMIT_TOLERANCE * unit
    valid = jnp.all(jnp.where(limited, at_limit, slow) & inside)
    return FollowedPoints(flat, valid, jacobians(model, equations.in_work_units(unknowns), 1.0))


class Seed(NamedTuple):
    """A point that was solved from scratch, from which others are followed.

    Args:
        solution: equilibrium at the point, with its unknowns as a flat vector.
        smooth: whether the equations have a Jacobian there.
    """

    solution: Solution
    smooth: bool


class Target(NamedTuple):
    """A point of the grid to which an equilibrium is to be followed.

    Args:
        point: index of the point, counted row by row.
        seed: the solved point from which the equilibrium comes.
        near: unknowns at a neighbouring point, as a flat vector.
    """

    point: int
    seed: Seed
    near: np.ndarray


class EquilibriumGrid:
    """Equilibria and Jacobians at the points of a grid, which are numbered row by row.

    Results are stored by point: unknowns as a flat vector in `flat`, the point solved from scratch
    that they were followed from in `seed`, and Jacobians in `jacobians`. `unsolved` has the points
    at which a search from scratch failed.

    Args:
        network_of: makes the network with two parameters.
        first: values of the first parameter; (rows,).
        second: values of the second parameter; (columns,).
        options: switches of the fluid model (`FluidOptions`).
    """

    def __init__(
        self, network_of: NetworkOf, first: np.ndarray, second: np.ndarray, options: FluidOptions
    ) -> None:
        self.network_of, self.options = network_of, options
        self.values = tuple(part.ravel() for part in np.meshgrid(first, second, indexing="ij"))
        self.shape = (first.size, second.size)
        self.flat: dict[int, np.ndarray] = {}
        self.seed: dict[int, Seed] = {}
        self.jacobians: dict[int, Jacobians] = {}
        self.unsolved: set[int] = set()
        self.attempts: set[tuple[int, int]] = set()
        self.model = self.model_at(self.values[0].size // 2)

    def model_at(self, point: int) -> FluidModel:
        """The fluid model of the network at a grid point (its index, counted row by row)."""
        network = self.network_of(*(float(part[point]) for part in self.values))
        return equilibrium_model(after_events(network), self.options)

    def neighbours(self, point: int) -> list[int]:
        """Indices of the up to four grid points next to a point, counted row by row."""
        row, column = divmod(point, self.shape[1])
        places = ((row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1))
        rows, columns = self.shape
        return [r * columns + c for r, c in places if 0 <= r < rows and 0 <= c < columns]

    def solve(self, point: int) -> None:
        """Solve for the equilibrium at a grid point (index) from scratch, and store it.

        Unknowns are stored in `flat`, Jacobians in `jacobians` (none for a continuum of equilibria
        or a full buffer). If no equilibrium is found, the point is added to `unsolved`.
        """
        model = self.model_at(point)
        try:
            solution = estimate(model)
        except SolveFailed:
            self.unsolved.add(point)
            return
        full = np.asarray(solution.unknowns.queue) >= buffer_sizes(model)
        smooth = not (np.any(full) or is_continuum(model, solution.unknowns))
        flat = np.asarray(ravel_pytree(solution.unknowns)[0])
        seed = Seed(solution._replace(unknowns=flat), smooth)
        if smooth:
            self.follow_to([Target(point, seed, flat)])
        else:
            self.flat[point], self.seed[point] = flat, seed
        if point not in self.flat:
            self.unsolved.add(point)

    def follow_to(self, targets: list[Target]) -> None:
        """Search for the equilibria at no more than 64 grid points from those of neighbours.

        Each target has its point (index), a neighbour's unknowns to start from, and the point that
        was solved from scratch. Valid results are stored by point: unknowns in `flat`, origin in
        `seed`, Jacobians in `jacobians`.
        """
        padding = [0] * (BATCH - len(targets))
        rows = np.array([*range(len(targets)), *padding])
        points = np.array([target.point for target in targets])[rows]
        values = tuple(part[points] for part in self.values)
        starts = [target.seed.solution._replace(unknowns=target.near) for target in targets]
        near = jax.tree.map(lambda *parts: np.stack(parts)[rows], *starts)
        structure, options = self.model.structure, self.options
        result = follow(self.network_of, structure, options, values, near)
        result = jax.tree.map(np.asarray, result)
        for row, (point, seed, _) in enumerate(targets):
            if result.valid[row]:
                self.flat[point], self.seed[point] = result.flat[row], seed
                self.jacobians[point] = jax.tree.map(
                    lambda part, row=row: part[row], result.jacobians
                )

    def fill(self) -> None:
        """Find and store the equilibria at all grid points, from the grid's middle outwards."""
        for point in centre_first(self.shape):
            if point in self.flat or point in self.unsolved:
                continue
            self.solve(point)
            frontier = [point] if point in self.flat else []
            while frontier:
                frontier = self.spread(frontier)

    def spread(self, frontier: list[int]) -> list[int]:
        """Follow equilibria from some grid points (indices) to neighbours without one; store them.

        Each step from a point to a neighbour is tried once. Returns the indices of the points
        reached.
        """
        targets: dict[int, Target] = {}
        for point in frontier:
            for other in self.neighbours(point):
                known = other in self.flat or other in targets
                if not known and (other, point) not in self.attempts:
                    self.attempts.add((other, point))
                    targets[other] = Target(other, self.seed[point], self.flat[point])
        waiting = list(targets.values())
        for first in range(0, len(waiting), BATCH):
            self.follow_to(waiting[first : first + BATCH])
        return [point for point in targets if point in self.flat]

    def rightmost(self, point: int, reads: tuple[Any, ...], counter_count: int) -> float:
        """Real part of the rightmost root at a grid point (index), 1/s; negative if stable.

        `reads` are the past values that the equations use, `counter_count` is the number of
        counters.
        """
        found = self.jacobians[point]
        size = found.unknowns[0].shape[0]
        free = ~self.seed[point].solution.insensitive[:size]
        frame = Linearisation(counter_count, self.flat[point][:size], free, reads)
        eigenvalues = np.linalg.eigvals(generator(frame.coupled_system(found), INTERVALS))
        return float(eigenvalues.real.max())


def centre_first(shape: tuple[int, int]) -> np.ndarray:
    """Indices of the points of a grid of shape (rows, columns), sorted from its middle outwards."""
    rows, columns = np.indices(shape)
    distance = np.abs(rows / shape[0] - 0.5) + np.abs(columns / shape[1] - 0.5)
    return np.argsort(distance.ravel(), kind="stable")


def stability_map(
    network_of: NetworkOf,
    first: np.ndarray,
    second: np.ndarray,
    options: FluidOptions = THEORY,
) -> StabilityMap:
    """The rightmost root of a network, and its first queue, over a grid of two parameters.

    Args:
        network_of: makes the network with two parameters, which may be traced; all networks need
            the same structure, so a number of flows cannot be a parameter.
        first: values of the first parameter; (rows,).
        second: values of the second parameter; (columns,).
        options: switches of the fluid model (`FluidOptions`).

    Returns:
        Real part of the rightmost root, 1/s, and the first link's queue at equilibrium, packets;
        both (rows, columns). Both are NaN where no equilibrium is found. The root is also NaN for a
        continuum of equilibria and a full buffer.

    Raises:
        InvalidInput: for values that the network does not allow, or an empty `first` or `second`.
        Unsupported: for networks without an equilibrium, such as those with finite transfers.

    >>> import numpy as np
    >>> from vegasfluid import Flows, Link, Network, Red, Reno
    >>> def network(max_drop, base_rtt):
    ...     link = Link(2000.0, 2000, Red(100, 500, max_drop, weight=0.05))
    ...     return Network(link, {"reno": Flows(20, Reno(), base_rtt=base_rtt)})
    >>> found = stability_map(network, np.array([0.05, 0.9]), np.array([0.1, 0.2]))
    >>> found.rightmost < 0
    array([[ True,  True], [False, False]])
    """
    if not (first.size and second.size):
        sizes = (first.size, second.size)
        raise InvalidInput("stability_map", "sizes of first and second", "at least 1", sizes)
    grid = EquilibriumGrid(network_of, first, second, options)
    grid.fill()
    rightmost, queue = (np.full(first.size * second.size, np.nan) for _ in range(2))
    equations = EquilibriumEquations.from_model(grid.model)
    reads = tuple(history_reads(equations, initial_guess(equations)))
    for point, flat in grid.flat.items():
        queue[point] = flat[0]
        if grid.seed[point].smooth:
            rightmost[point] = grid.rightmost(point, reads, equations.counter_count)
    return StabilityMap(first, second, rightmost.reshape(grid.shape), queue.reshape(grid.shape))
