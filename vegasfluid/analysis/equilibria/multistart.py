"""Multistart search for the equilibria of a network, on the equations that runs integrate.

Sources:
    Derived for this project.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import combinations

import numpy as np

from vegasfluid.analysis.equilibria.corners import is_continuum
from vegasfluid.analysis.equilibria.equations import buffer_sizes
from vegasfluid.analysis.equilibria.equilibrium import (
    Equilibrium,
    equilibrium,
    equilibrium_model,
    finite_quantities,
    upper_end,
)
from vegasfluid.analysis.equilibria.queue_newton import halton_queues, solution_near
from vegasfluid.errors import InvalidInput, SolveFailed
from vegasfluid.fluid.options import FluidOptions
from vegasfluid.network import Network

__all__ = ["SAME", "MultistartSearch", "multistart", "same_equilibrium"]

SAME = 1e-6
"""Queues (packets) and drop probabilities that differ by less, absolute or relative, are equal."""
BETWEEN = (0.25, 0.5, 0.75)
"""Fractions of the line between two equilibria at which further searches start."""


class MultistartSearch:
    """A search for equilibria from several initial queues.

    Isolated equilibria are collected in `found`, the first one of a continuum in `continuum`, which
    is None otherwise.

    Args:
        network: after its events, with all flows started.
        options: switches of the fluid model (`FluidOptions`).
    """

    def __init__(self, network: Network, options: FluidOptions) -> None:
        self.network, self.options = network, options
        self.model = equilibrium_model(network, options)
        self.found: list[Equilibrium] = []
        self.continuum: Equilibrium | None = None

    def try_default(self) -> None:
        """Search from empty queues as `equilibrium` does, and `add` the equilibrium, if any."""
        with suppress(SolveFailed):
            self.add(equilibrium(self.network, self.options))

    def try_near(self, queue: np.ndarray) -> None:
        """Add the equilibrium to which Newton's method leads from given queues to `found`, if any.

        `queue` is in packets, (queues,). The lower end of a continuum is kept in `continuum`
        instead, with the upper end.
        """
        solution = solution_near(self.model, queue)
        if solution is None:
            return
        with suppress(SolveFailed):
            values = finite_quantities(self.model, solution.unknowns, solution)
            point = Equilibrium(self.network, self.options, values, solution)
            continuum = is_continuum(self.model, solution.unknowns)
            upper = upper_end(self.network, self.options, self.model) if continuum else None
            self.add(replace(point, upper=upper))

    def try_between(self) -> None:
        """Search from queues between each two equilibria in `found`, and add new equilibria.

        Of three equilibria one is often unstable and lies between the two others.
        """
        for one, other in list(combinations(self.found, 2)):
            for fraction in BETWEEN:
                self.try_near((1 - fraction) * one.values.queue + fraction * other.values.queue)

    def add(self, point: Equilibrium) -> None:
        """Append an equilibrium to `found` unless an equal one is there.

        The first one of a continuum goes to `continuum` instead.
        """
        if point.upper is not None:
            self.continuum = self.continuum or point
        elif not any(same_equilibrium(point, other) for other in self.found):
            self.found.append(point)


def same_equilibrium(one: Equilibrium, other: Equilibrium) -> bool:
    """Whether two equilibria have equal queues (packets) and drop probabilities.

    Differences up to 1e-6, absolute or relative, are allowed.
    """
    return all(
        np.allclose(getattr(one.values, name), getattr(other.values, name), rtol=SAME, atol=SAME)
        for name in ("queue", "drop_prob")
    )


def multistart(
    network: Network, options: FluidOptions, starts: int | Sequence[Sequence[float]]
) -> MultistartSearch:
    """Search for the equilibria of a network from several initial queues.

    Args:
        network: after its events, with all flows started.
        options: switches of the fluid model (`FluidOptions`).
        starts: number of starts, of which the first is from empty queues as in `equilibrium`; or a
            list of initial states, each with one queue (packets) for every queue of the network.

    Returns:
        The search, with all different equilibria in `found`, and one of a continuum in `continuum`.

    Raises:
        InvalidInput: for no start, or queues of a wrong number or outside 0 to the buffer.
        SolveFailed: if no equilibrium is found.
    """
    search = MultistartSearch(network, options)
    queues = initial_queues(buffer_sizes(search.model), starts)
    if isinstance(starts, int):
        search.try_default()
        queues = queues[1:]
    for queue in queues:
        search.try_near(queue)
    search.try_between()
    if not search.found and search.continuum is None:
        raise SolveFailed("no equilibrium was found from these initial queues")
    return search


def initial_queues(
    buffers: np.ndarray, starts: int | Sequence[Sequence[float]]
) -> list[np.ndarray]:
    """Initial queues of a search, packets: one array (queues,) for each start.

    Args:
        buffers: buffer of each queue, packets; (queues,).
        starts: number of starts, spread by a Halton sequence; or the queues themselves, packets.

    Raises:
        InvalidInput: for no start, or queues of a wrong number or outside 0 to the buffer.
    """
    if isinstance(starts, int):
        if starts < 1:
            raise InvalidInput("all_equilibria", "starts", "1 or above", starts)
        return list(halton_queues(buffers, starts))
    queues = [np.asarray(queue, float) for queue in starts]
    valid = [
        queue.shape == buffers.shape and np.all((queue >= 0) & (queue <= buffers))
        for queue in queues
    ]
    if not queues or not all(valid):
        allowed = f"lists of {buffers.size} queues, each from 0 to the buffer"
        raise InvalidInput("all_equilibria", "starts", allowed, [list(queue) for queue in starts])
    return queues
