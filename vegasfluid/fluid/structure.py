"""The static structure of a network's equations: its queues, and the path of each flow group.

Each link has a queue for each direction that carries data or waiting ACKs, or, with flow queueing,
one for each flow group that crosses it: the queue of one of its flows. A link that no group crosses
has one queue, which stays empty. A hop is a queue on the path of one flow group. The hops of a
group are the queues that its data cross, in order. If data flow in both directions, so that ACKs
wait too, the queues that its ACKs cross follow.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from vegasfluid.network import Network

__all__ = ["FluidStructure", "Hop", "build_structure"]


class Hop(NamedTuple):
    """A queue on the path of a flow group.

    Args:
        group: number of the flow group.
        queue: number of the queue: those of the links in order, then of the links in the reverse
            direction.
        previous: number of the hop before; -1 for the first.
        is_ack: whether the group's ACKs wait here, and not its data.
    """

    group: int
    queue: int
    previous: int
    is_ack: bool


class FluidStructure(NamedTuple):
    """Everything about the equations that cannot be traced; hashable, a static argument of `jit`.

    Args:
        groups_per_class: number of flow groups of each class, in the network's order.
        rtt_index: for each group, the index of its base RTT among the distinct ones.
        hops: hops of all groups, group by group.
        queue_links: for each queue its link: the number of a link of the network, plus the number
            of links in the reverse direction.
        own_queues: for each queue whether it holds the packets of a single flow.
        has_ecn: whether any queue marks packets instead of dropping them.
    """

    groups_per_class: tuple[int, ...]
    rtt_index: tuple[int, ...]
    hops: tuple[Hop, ...]
    queue_links: tuple[int, ...]
    own_queues: tuple[bool, ...]
    has_ecn: bool

    @property
    def queue_count(self) -> int:
        """Number of queues."""
        return len(self.queue_links)

    @property
    def has_own_queues(self) -> bool:
        """Whether any queue holds the packets of a single flow."""
        return any(self.own_queues)

    @property
    def link_count(self) -> int:
        """Number of links; twice the network's number where packets wait in both directions."""
        return max(self.queue_links) + 1

    @property
    def in_own_queue(self) -> np.ndarray:
        """Whether the packets at each hop wait in a queue of their flow alone; (hops,)."""
        return np.array(self.own_queues)[self.hop_queues]

    @property
    def own_queue_groups(self) -> np.ndarray:
        """Whether the data of each group cross a queue of their flow alone; (groups,)."""
        own = np.zeros(self.group_count, bool)
        for hop in self.hops:
            own[hop.group] |= self.own_queues[hop.queue] and not hop.is_ack
        return own

    @property
    def link_queue_matrix(self) -> Float[np.ndarray, "links queues"]:
        """1 where a queue is at a link, else 0; (links, queues). A product sums over queues."""
        return (np.array(self.queue_links) == np.arange(self.link_count)[:, np.newaxis]).astype(
            float
        )

    @property
    def hop_links(self) -> np.ndarray:
        """Index of the link at which each hop is; (hops,)."""
        return np.array(self.queue_links)[self.hop_queues]

    @property
    def group_count(self) -> int:
        """Number of flow groups."""
        return sum(self.groups_per_class)

    @property
    def class_slices(self) -> Iterator[slice]:
        """Slices that select the groups of each class from arrays over groups."""
        start = 0
        for size in self.groups_per_class:
            yield slice(start, start + size)
            start += size

    @property
    def first_hops(self) -> list[int]:
        """Index of the first hop of each flow group."""
        return [number for number, hop in enumerate(self.hops) if hop.previous < 0]

    @property
    def last_data_hops(self) -> list[int]:
        """Index of the last hop that the data of each flow group cross."""
        last = {hop.group: number for number, hop in enumerate(self.hops) if not hop.is_ack}
        return [last[group] for group in range(self.group_count)]

    @property
    def hop_queues(self) -> np.ndarray:
        """Index of the queue at which each hop is; (hops,)."""
        return np.array([hop.queue for hop in self.hops])

    @property
    def hop_groups(self) -> np.ndarray:
        """Index of the flow group to which each hop belongs; (hops,)."""
        return np.array([hop.group for hop in self.hops])

    @property
    def has_ack_hops(self) -> bool:
        """Whether ACKs wait in queues, as data flow in both directions."""
        return any(hop.is_ack for hop in self.hops)

    @property
    def crossings(self) -> Float[np.ndarray, "groups queues"]:
        """How often data or waiting ACKs of each group cross each queue; (groups, queues)."""
        crossed = np.zeros((self.group_count, self.queue_count))
        for hop in self.hops:
            crossed[hop.group, hop.queue] += 1
        return crossed

    @property
    def group_hop_matrix(self) -> Float[np.ndarray, "groups hops"]:
        """1 where a hop belongs to a flow group, else 0; (groups, hops).

        A product with it sums over the hops of each group. A scatter would be 20 times slower:
        XLA's CPU compiler does not compile a loop as one function if it contains a scatter.
        """
        return (self.hop_groups == np.arange(self.group_count)[:, np.newaxis]).astype(float)

    @property
    def queue_hop_matrix(self) -> Float[np.ndarray, "queues hops"]:
        """1 where a hop is at a queue, else 0; (queues, hops). A product sums over hops."""
        return (self.hop_queues == np.arange(self.queue_count)[:, np.newaxis]).astype(float)

    def upstream_hops(self, number: int) -> list[int]:
        """Indices of the hops before hop `number` on the path of its group, in order."""
        upstream = []
        while (number := self.hops[number].previous) >= 0:
            upstream.insert(0, number)
        return upstream


def build_structure(
    network: Network, groups_per_class: tuple[int, ...], rtt_index: tuple[int, ...]
) -> FluidStructure:
    """Static structure of a network's equations: its queues, and the hops of each group.

    Args:
        network: the network.
        groups_per_class: number of flow groups of each class, in the network's order.
        rtt_index: for each group, the index of its base RTT among the distinct ones.
    """
    two_way = network.two_way
    hops: list[Hop] = []
    group = 0
    for size, name in zip(groups_per_class, network.flows, strict=True):
        data, acks = network.queue_indices(name)
        for _ in range(size):
            previous = -1
            for number, link in enumerate(data + (acks if two_way else [])):
                hops.append(Hop(group, link, previous, number >= len(data)))
                previous = len(hops) - 1
            group += 1
    links = [*network.links.values()] * (2 if two_way else 1)
    own_links = {hop.queue for hop in hops if links[hop.queue].aqm.flow_queues}
    numbered, queue_links = number_queues(hops, own_links, len(links))
    has_ecn = any(link.aqm.marks for link in network.links.values())
    own_queues = tuple(link in own_links for link in queue_links)
    return FluidStructure(
        groups_per_class, rtt_index, tuple(numbered), queue_links, own_queues, has_ecn
    )


def number_queues(
    hops: list[Hop], own_links: set[int], link_count: int
) -> tuple[list[Hop], tuple[int, ...]]:
    """Number the queues: one for each link, or with flow queueing for each hop there.

    Args:
        hops: hops, with the number of the link in place of the queue's number.
        own_links: numbers of the links with flow queueing that a hop is at.
        link_count: number of links.

    Returns:
        The hops with the numbers of their queues, and the link of each queue.
    """
    numbered, queue_links = list(hops), []
    for link in range(link_count):
        here = [index for index, hop in enumerate(hops) if hop.queue == link]
        for position, index in enumerate(here):
            own = position if link in own_links else 0
            numbered[index] = hops[index]._replace(queue=len(queue_links) + own)
        queue_links += [link] * (len(here) if link in own_links else 1)
    return numbered, tuple(queue_links)
