"""Links as nodes and the lines between them, for simulators that find their own routes.

A model says which links a class crosses; a simulator finds the shortest way between two nodes.
Where that is not the same, the model is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from vegasfluid.errors import InvalidInput
from vegasfluid.network import Network

__all__ = ["Topology", "access_hops", "lay_out"]

End = tuple[str, int]
"""A link, and whether its beginning (0) or its end (1)."""


@dataclass(frozen=True)
class Topology:
    """Numbered nodes.

    Args:
        nodes: how many.
        links: for each link the node before it and the one behind it.
        routes: for each class the node at which the links' stream enters, and where it leaves.
    """

    nodes: int
    links: Mapping[str, tuple[int, int]]
    routes: Mapping[str, tuple[int, int]]


def access_hops(network: Network, name: str) -> list[float]:
    """One-way propagation delay of the access links of a class, s.

    Returns:
        One value for each flow, or a single one if all are equal.
    """
    delays = network.access_delays(name)
    return delays[:1] if len(set(delays)) == 1 else delays


def lay_out(network: Network, system: str) -> Topology:
    """Nodes for a network: links that follow each other in a path share one.

    Args:
        network: the links and the paths.
        system: who finds the routes, for refusals.

    Raises:
        InvalidInput: where the shortest ways are not the paths.
    """
    paths = {name: flows.path or tuple(network.links)[:1] for name, flows in network.flows.items()}
    number = _numbered(network, paths)
    links = {name: (number[name, 0], number[name, 1]) for name in network.links}
    pairs = [frozenset(ends) for ends in links.values()]
    if len(set(pairs)) < len(pairs) or any(len(pair) < 2 for pair in pairs):
        allowed = f"such that no two links join the same nodes, for {system}"
        raise InvalidInput("Network", "the paths", allowed, "with links side by side or in a ring")
    routes = {name: (number[path[0], 0], number[path[-1], 1]) for name, path in paths.items()}
    for name, path in paths.items():
        if _shortest(pairs, *routes[name]) != (len(path), 1):
            allowed = f"the only shortest way between its ends, for {system}"
            raise InvalidInput(f"flows.{name}", "path", allowed, ", ".join(path))
    return Topology(len(set(number.values())), links, routes)


def _numbered(network: Network, paths: Mapping[str, tuple[str, ...]]) -> dict[End, int]:
    """Numbers of the nodes at both ends of each link."""
    same: dict[End, End] = {(name, end): (name, end) for name in network.links for end in (0, 1)}

    def first(end: End) -> End:
        while same[end] != end:
            end = same[end]
        return end

    for path in paths.values():
        for before, behind in pairwise(path):
            same[first((behind, 0))] = first((before, 1))
    roots = list(dict.fromkeys(first(end) for end in same))
    return {end: roots.index(first(end)) for end in same}


def _shortest(pairs: list[frozenset[int]], start: int, goal: int) -> tuple[int, int]:
    """How long the shortest ways between two nodes are, and how many there are."""
    ways, seen, length = {start: 1}, {start}, 0
    while ways and goal not in ways:
        following: dict[int, int] = {}
        for node, count in ways.items():
            for pair in pairs:
                if node in pair:
                    (other,) = pair - {node}
                    if other not in seen:
                        following[other] = following.get(other, 0) + count
        seen |= set(following)
        ways, length = following, length + 1
    return length, ways.get(goal, 0)
