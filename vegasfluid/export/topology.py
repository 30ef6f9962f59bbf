"""Nodes and links of a network, for simulators that compute their own routes.

A model defines the path of each class; a simulator uses the shortest route between two nodes. Where
these differ, the model cannot be exported.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from vegasfluid.errors import InvalidInput, Unsupported
from vegasfluid.network import Network

__all__ = ["Topology", "access_hops", "build_topology"]

End = tuple[str, int]
"""A link, and 0 for its start or 1 for its end."""


@dataclass(frozen=True)
class Topology:
    """Numbered nodes of a network.

    Args:
        nodes: number of nodes, which are numbered from 0.
        links: nodes at the start and at the end of each link, by its name.
        routes: first and last node of each class's path, in the forward direction, by its name.
    """

    nodes: int
    links: Mapping[str, tuple[int, int]]
    routes: Mapping[str, tuple[int, int]]


def access_hops(network: Network, name: str) -> list[float]:
    """One-way propagation delay of one access link of each flow of a class, s.

    Returns:
        One value for each flow, or a single one if all are equal.
    """
    delays = network.access_delays(name)
    return delays[:1] if len(set(delays)) == 1 else delays


def build_topology(network: Network, system: str) -> Topology:
    """Number the nodes of a network: consecutive links of a path share a node.

    Args:
        network: the network.
        system: name of the simulator, for the error message.

    Returns:
        Number of nodes, the two nodes of each link, and the end nodes of each class's path.

    Raises:
        InvalidInput: if a path is not the only shortest route between its ends, and for parallel
            links or a ring of one link.
    """
    paths = {name: flows.path or tuple(network.links)[:1] for name, flows in network.flows.items()}
    number = _numbered(network, paths)
    links = {name: (number[name, 0], number[name, 1]) for name in network.links}
    pairs = [frozenset(ends) for ends in links.values()]
    if len(set(pairs)) < len(pairs) or any(len(pair) < 2 for pair in pairs):
        reason = f"{system} needs links that join different pairs of nodes"
        raise Unsupported("Network", "a network with parallel links or a ring", reason)
    routes = {name: (number[path[0], 0], number[path[-1], 1]) for name, path in paths.items()}
    for name, path in paths.items():
        if _shortest_routes(pairs, *routes[name]) != (len(path), 1):
            allowed = f"the only shortest path between its ends, for {system}"
            raise InvalidInput(f"flows.{name}", "path", allowed, ", ".join(path))
    return Topology(len(set(number.values())), links, routes)


def _numbered(network: Network, paths: Mapping[str, tuple[str, ...]]) -> dict[End, int]:
    """Node number of each end of each link, by link name and 0 (start) or 1 (end).

    `paths` has the links of each class's path, in order; consecutive ones share a node.
    """
    same: dict[End, End] = {(name, end): (name, end) for name in network.links for end in (0, 1)}

    def root(end: End) -> End:
        """Representative of all link ends that are the same node as `end`."""
        while same[end] != end:
            end = same[end]
        return end

    for path in paths.values():
        for before, behind in pairwise(path):
            same[root((behind, 0))] = root((before, 1))
    roots = list(dict.fromkeys(root(end) for end in same))
    return {end: roots.index(root(end)) for end in same}


def _shortest_routes(pairs: list[frozenset[int]], start: int, goal: int) -> tuple[int, int]:
    """Length in links, and number, of the shortest routes from node `start` to node `goal`.

    Args:
        pairs: the two nodes of each link.
        start: first node.
        goal: last node.
    """
    routes, visited, length = {start: 1}, {start}, 0
    while routes and goal not in routes:
        following: dict[int, int] = {}
        for node, count in routes.items():
            for pair in pairs:
                if node in pair:
                    (other,) = pair - {node}
                    if other not in visited:
                        following[other] = following.get(other, 0) + count
        visited |= set(following)
        routes, length = following, length + 1
    return length, routes.get(goal, 0)
