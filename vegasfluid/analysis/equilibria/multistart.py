"""A search for all rests of a network on the fluid's very equations, from many beginnings.

Sources:
    Derived for this project.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import combinations

import numpy as np

from vegasfluid.analysis.equilibria.corners import idling
from vegasfluid.analysis.equilibria.equilibrium import Equilibrium, arrays, concrete, equilibrium
from vegasfluid.analysis.equilibria.pseudo_transient import Case
from vegasfluid.analysis.equilibria.queue_newton import begin_at, rest_near
from vegasfluid.errors import InvalidInput, SolveFailed
from vegasfluid.fluid.options import FluidOptions
from vegasfluid.network import Network

__all__ = ["SAME", "Search", "same", "searched"]

SAME = 1e-6
"""Relative, and packets: queues that differ by less are the same."""
BETWEEN = (0.25, 0.5, 0.75)
"""Where between two rests a third one is looked for."""


class Search:
    """A search for rests of a network.

    Args:
        network: as it rests.
        options: switches of the fluid model (`FluidOptions`).
    """

    def __init__(self, network: Network, options: FluidOptions) -> None:
        self.network, self.options = network, options
        self.case = Case(*arrays(network), options)
        self.found: list[Equilibrium] = []
        self.idle: Equilibrium | None = None

    def default(self) -> None:
        """The rest that `equilibrium` finds, if it finds one."""
        with suppress(SolveFailed):
            self.keep(equilibrium(self.network, self.options))

    def near(self, queue: np.ndarray) -> None:
        """The rest to which Newton's method leads from some queues, if to any."""
        solved = rest_near(self.case, queue)
        if solved is None:
            return
        with suppress(SolveFailed):
            values = concrete(self.case, solved.unknowns, solved)
            rest = Equilibrium(self.network, self.options, values, solved)
            idles = idling(self.case, solved.unknowns)
            self.keep(replace(rest, upper=rest) if idles else rest)

    def between(self) -> None:
        """Rests between each two that were found: of three one is often not stable."""
        for one, other in list(combinations(self.found, 2)):
            for part in BETWEEN:
                self.near((1 - part) * one.values.queue + part * other.values.queue)

    def keep(self, rest: Equilibrium) -> None:
        """Keep a rest if it is another one."""
        if rest.upper is not None:
            self.idle = self.idle or rest
        elif not any(same(rest, other) for other in self.found):
            self.found.append(rest)


def same(rest: Equilibrium, other: Equilibrium) -> bool:
    """Whether two rests have the same queues and losses."""
    return all(
        np.allclose(getattr(rest.values, of), getattr(other.values, of), rtol=SAME, atol=SAME)
        for of in ("queue", "drop_prob")
    )


def searched(
    network: Network, options: FluidOptions, starts: int | Sequence[Sequence[float]]
) -> Search:
    """The rests of a network that are found from some beginnings.

    Args:
        network: as it rests.
        options: switches of the fluid model (`FluidOptions`).
        starts: how many beginnings, of which the first is `equilibrium`'s; or queues, packets.

    Raises:
        InvalidInput: for no beginning, or queues that the network does not have.
        SolveFailed: where there is none.
    """
    search = Search(network, options)
    begin = beginnings(search.case.room, starts)
    if isinstance(starts, int):
        search.default()
        begin = begin[1:]
    for queue in begin:
        search.near(queue)
    search.between()
    if not search.found and search.idle is None:
        raise SolveFailed("no rest is found from these beginnings")
    return search


def beginnings(room: np.ndarray, starts: int | Sequence[Sequence[float]]) -> list[np.ndarray]:
    """Queues to begin at, packets.

    Raises:
        InvalidInput: where there are none, or others than the network has.
    """
    if isinstance(starts, int):
        if starts < 1:
            raise InvalidInput("all_equilibria", "starts", "1 or above", starts)
        return list(begin_at(room, starts))
    begin = [np.asarray(queue, float) for queue in starts]
    fitting = [of.shape == room.shape and np.all((of >= 0) & (of <= room)) for of in begin]
    if not begin or not all(fitting):
        allowed = f"lists of {room.size} queues, each from 0 to what fits in"
        raise InvalidInput("all_equilibria", "starts", allowed, [list(of) for of in starts])
    return begin
