"""Where packets queue on their way: the stations and hops of a network, as plain structure.

A station is a link in one direction, with the queue in front of it. A hop is a station on the way
of a group of flows: first those of its data, in order, and then, where data go both ways so that
ACKs wait too, those of its ACKs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from vegasfluid.network import Network

__all__ = ["FluidStructure", "Hop", "make_plan"]


class Hop(NamedTuple):
    """A station on the way of a group.

    Args:
        group: its number.
        station: the station's number: of the links in order, then of their other directions.
        previous: the number of the hop before; -1 at the sender.
        acks: whether it is the group's ACKs that wait here.
    """

    group: int
    station: int
    previous: int
    acks: bool


class FluidStructure(NamedTuple):
    """What of the equations is structure, and cannot be traced; hashable.

    Args:
        groups: the number of groups of each class, in the network's order.
        lag: for each group, which of the distinct round-trip times it has.
        hops: of all groups, group by group.
        stations: their number.
        marks: whether a station marks packets in place of dropping them.
    """

    groups: tuple[int, ...]
    lag: tuple[int, ...]
    hops: tuple[Hop, ...]
    stations: int
    marks: bool

    @property
    def classes(self) -> Iterator[slice]:
        """The groups of each class."""
        begin = 0
        for size in self.groups:
            yield slice(begin, begin + size)
            begin += size

    @property
    def first(self) -> list[int]:
        """The number of each group's first hop."""
        return [number for number, hop in enumerate(self.hops) if hop.previous < 0]

    @property
    def last_data(self) -> list[int]:
        """The number of each group's last hop of data."""
        found = {hop.group: number for number, hop in enumerate(self.hops) if not hop.acks}
        return [found[group] for group in range(sum(self.groups))]

    @property
    def crossings(self) -> np.ndarray:
        """How often data or waiting ACKs of each group cross each station; (groups, stations)."""
        crossed = np.zeros((sum(self.groups), self.stations))
        for hop in self.hops:
            crossed[hop.group, hop.station] += 1
        return crossed

    @property
    def ownership(self) -> np.ndarray:
        """Which hop is on the way of which group: (groups, hops), ones and zeros.

        Sums over the hops of a group are products with it: XLA's CPU compiler makes one function of
        the solver's loop, but not where there is a scatter in it, and then it is 20 times as slow.
        """
        owners = np.array([hop.group for hop in self.hops])
        return (owners == np.arange(sum(self.groups))[:, np.newaxis]).astype(float)

    def way_to(self, number: int) -> list[int]:
        """The hops that come before a hop on the same way, in order."""
        way = []
        while (number := self.hops[number].previous) >= 0:
            way.insert(0, number)
        return way


def make_plan(network: Network, groups: tuple[int, ...], lag: tuple[int, ...]) -> FluidStructure:
    """The structure of a network's equations.

    Args:
        network: what is connected to what.
        groups: the number of groups of each class.
        lag: for each group, which of the distinct round-trip times it has.
    """
    both = network.two_way
    hops: list[Hop] = []
    group = 0
    for size, name in zip(groups, network.flows, strict=True):
        data, acks = network.queue_indices(name)
        for _ in range(size):
            previous = -1
            for number, station in enumerate(data + (acks if both else [])):
                hops.append(Hop(group, station, previous, number >= len(data)))
                previous = len(hops) - 1
            group += 1
    stations = len(network.links) * (2 if both else 1)
    marks = any(getattr(link.aqm, "ecn", False) for link in network.links.values())
    return FluidStructure(groups, lag, tuple(hops), stations, marks)
