"""Where a network is stable, over any two of its numbers.

Rest is found from scratch at one point, and followed by Newton's method to its neighbours, many at
a time, as far as that goes; where nothing leads on, because another window stands at its limit or
another branch of a law is taken, one more point is solved from scratch. The rightmost roots are
eigenvalues of the collocated generator.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from vegasfluid.analysis.equilibria.corners import Solved, idling
from vegasfluid.analysis.equilibria.equations import first_guess
from vegasfluid.analysis.equilibria.equilibrium import THEORY, arrays, at_last, estimate
from vegasfluid.analysis.equilibria.newton import Nearby
from vegasfluid.analysis.equilibria.pseudo_transient import Case
from vegasfluid.analysis.linear_stability.linearisation import (
    Frame,
    Jacobians,
    jacobians,
    linear_of,
    reads_of,
)
from vegasfluid.analysis.linear_stability.spectrum import generator
from vegasfluid.errors import InvalidInput, SolveFailed
from vegasfluid.fluid.options import FluidOptions
from vegasfluid.fluid.structure import FluidStructure
from vegasfluid.network import Network

__all__ = ["StabilityMap", "stability_map"]

TOGETHER = 64
"""Points that are followed at a time: one number, so that one program serves all."""
NODES = 12
"""Intervals between the generator's nodes: the rightmost root has some six digits."""
MOVED, INSIDE = 1e-7, 1e-9
"""What rest may still move in a second, and stand beyond a limit, relative."""


class StabilityMap(NamedTuple):
    """The rightmost root over two numbers.

    Args:
        first: values; (rows,).
        second: values; (columns,).
        rightmost: its real part, 1/s, below zero where the network is stable; NaN where it has no
            rest, or the linear system does not tell (a set of equilibria, a full buffer).
        queue: at rest, of the first link, packets; both (rows, columns).
    """

    first: np.ndarray
    second: np.ndarray
    rightmost: np.ndarray
    queue: np.ndarray


class Followed(NamedTuple):
    """Rest at some points, from rest near them; arrays with one more axis.

    Args:
        flat: the unknowns as one vector.
        right: whether it is rest: nothing moves, but outwards at a limit.
        found: the Jacobians there.
    """

    flat: Any
    right: Any
    found: Jacobians


@partial(jax.jit, static_argnames=("network_of", "plan", "options"))
def follow(
    network_of: Callable[[Any, Any], Network],
    plan: FluidStructure,
    options: FluidOptions,
    values: tuple[Any, Any],
    near: Solved,
) -> Followed:
    """Rest at some points, from solutions near them; these with their unknowns as a vector."""

    def one(first: Any, second: Any, near: Solved) -> Followed:
        posed, _ = arrays(at_last(network_of(first, second)))
        return follow_one(Case(posed, plan, options), near)

    return jax.vmap(one)(*values, near)


def follow_one(case: Case, near: Solved) -> Followed:
    """The same at one point."""
    unravel, limited = ravel_pytree(first_guess(case.steady))[1], near.limited
    nearby = Nearby(case, near._replace(unknowns=unravel(near.unknowns)))
    found = nearby.unknowns(nearby.root())
    flat, moved = ravel_pytree(found)[0], ravel_pytree(case.steady.residual(found))[0]
    unit = jnp.maximum(jnp.abs(flat), 1e-3)
    pushed = unravel(flat + jnp.where(limited, INSIDE * unit * jnp.sign(moved), 0.0))
    beyond = jnp.abs(ravel_pytree(case.steady.held(pushed))[0] - flat)
    still = jnp.where(limited, beyond <= INSIDE / 2 * unit, jnp.abs(moved) <= MOVED * unit)
    inside = jnp.abs(ravel_pytree(case.steady.held(found))[0] - flat) <= INSIDE * unit
    worked = case.steady.worked(found)
    return Followed(flat, jnp.all(still & inside), jacobians(*case, worked, 1.0))


class Seed(NamedTuple):
    """What points have in common that were followed from one.

    Args:
        solved: the solution there, with its unknowns as a vector.
        tells: whether the linear system tells there.
    """

    solved: Solved
    tells: bool


class Grid:
    """The points of a map, and what is known of them.

    Args:
        network_of: the network with two numbers, which may be traced.
        first: values of the one; (rows,).
        second: of the other; (columns,).
        options: switches of the fluid model (`FluidOptions`).
    """

    def __init__(
        self,
        network_of: Callable[[Any, Any], Network],
        first: np.ndarray,
        second: np.ndarray,
        options: FluidOptions,
    ) -> None:
        self.network_of, self.options = network_of, options
        self.values = tuple(of.ravel() for of in np.meshgrid(first, second, indexing="ij"))
        self.shape = (first.size, second.size)
        self.flat: dict[int, np.ndarray] = {}
        self.seed: dict[int, Seed] = {}
        self.found: dict[int, Jacobians] = {}
        self.given_up: set[int] = set()
        self.tried: set[tuple[int, int]] = set()
        self.case = self.at(self.values[0].size // 2)

    def at(self, point: int) -> Case:
        """The equations at a point."""
        made = self.network_of(*(float(of[point]) for of in self.values))
        return Case(*arrays(at_last(made)), self.options)

    def neighbours(self, point: int) -> list[int]:
        """The points next to a point."""
        row, column = divmod(point, self.shape[1])
        steps = ((row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1))
        rows, columns = self.shape
        return [r * columns + c for r, c in steps if 0 <= r < rows and 0 <= c < columns]

    def solve(self, point: int) -> None:
        """Find rest at a point from scratch."""
        case = self.at(point)
        try:
            found = estimate(case)
        except SolveFailed:
            self.given_up.add(point)
            return
        full = np.asarray(found.unknowns.queue) >= case.room
        tells = not (np.any(full) or idling(case, found.unknowns))
        near = np.asarray(ravel_pytree(found.unknowns)[0])
        seed = Seed(found._replace(unknowns=near), tells)
        if tells:
            self.take([(point, seed, near)])
        else:
            self.flat[point], self.seed[point] = near, seed
        if point not in self.flat:
            self.given_up.add(point)

    def take(self, ways: list[tuple[int, Seed, np.ndarray]]) -> None:
        """Follow rest to some points, each from a seed and from the unknowns near it."""
        points = [point for point, _, _ in ways]
        pad = [0] * (TOGETHER - len(ways))
        places = np.array([*range(len(ways)), *pad])
        values = tuple(of[np.array(points)[places]] for of in self.values)
        each = [seed.solved._replace(unknowns=near) for _, seed, near in ways]
        near = jax.tree.map(lambda *of: np.stack(of)[places], *each)
        done = follow(self.network_of, self.case.plan, self.options, values, near)
        done = jax.tree.map(np.asarray, done)
        for place, (point, seed, _) in enumerate(ways):
            if done.right[place]:
                self.flat[point], self.seed[point] = done.flat[place], seed
                self.found[point] = jax.tree.map(lambda of, at=place: of[at], done.found)

    def fill(self) -> None:
        """Find rest everywhere."""
        frontier: list[int] = []
        for point in centre_first(self.shape):
            if point in self.flat or point in self.given_up:
                continue
            self.solve(point)
            frontier = [point] if point in self.flat else []
            while frontier:
                frontier = self.spread(frontier)

    def spread(self, frontier: list[int]) -> list[int]:
        """Follow rest from some points to their neighbours; which of these were reached."""
        ways: dict[int, tuple[int, Seed, np.ndarray]] = {}
        for point in frontier:
            for near in self.neighbours(point):
                if near not in self.flat and near not in ways and (near, point) not in self.tried:
                    self.tried.add((near, point))
                    ways[near] = (near, self.seed[point], self.flat[point])
        wanted = list(ways.values())
        for begin in range(0, len(wanted), TOGETHER):
            self.take(wanted[begin : begin + TOGETHER])
        return [point for point in ways if point in self.flat]


def centre_first(shape: tuple[int, int]) -> np.ndarray:
    """The points of a grid, from its middle outwards."""
    rows, columns = np.indices(shape)
    far = np.abs(rows / shape[0] - 0.5) + np.abs(columns / shape[1] - 0.5)
    return np.argsort(far.ravel(), kind="stable")


def stability_map(
    network_of: Callable[[Any, Any], Network],
    first: np.ndarray,
    second: np.ndarray,
    options: FluidOptions = THEORY,
) -> StabilityMap:
    """Where a network is stable, over two of its numbers.

    Args:
        network_of: the network with the two numbers, which may be traced: values of the same
            structure (a number of flows is none).
        first: values of the one; (rows,).
        second: of the other; (columns,).
        options: switches of the fluid model (`FluidOptions`).

    Raises:
        InvalidInput: for values that make no sense in the network; for no values.

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
        raise InvalidInput("stability_map", "values", "one at least of each", "none")
    grid = Grid(network_of, first, second, options)
    grid.fill()
    rightmost, queue = (np.full(first.size * second.size, np.nan) for _ in range(2))
    frame = frame_of(grid)
    for point, flat in grid.flat.items():
        queue[point] = flat[0]
        if grid.seed[point].tells:
            rightmost[point] = root_at(frame, grid, point)
    return StabilityMap(first, second, rightmost.reshape(grid.shape), queue.reshape(grid.shape))


def frame_of(grid: Grid) -> tuple[int, tuple[Any, ...]]:
    """What the Jacobians of all points share: counters, and what is looked up."""
    steady = grid.case.steady
    return steady.counters, tuple(reads_of(steady, first_guess(steady)))


def root_at(shared: tuple[int, tuple[Any, ...]], grid: Grid, point: int) -> float:
    """The real part of the rightmost root at a point, 1/s."""
    counters, reads = shared
    size = grid.found[point].x[0].shape[0]
    flat, free = grid.flat[point][:size], ~grid.seed[point].solved.still[:size]
    linear = linear_of(Frame(counters, flat, free, reads), grid.found[point])
    return float(np.linalg.eigvals(generator(linear, NODES)).real.max())
