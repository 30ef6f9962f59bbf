"""The networks of table 1, and functions that change them for the experiments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Annotated

from annotated_types import Ge

import vegasfluid as vf
from vegasfluid.quantities import Packets

__all__ = [
    "BACK",
    "MODELS",
    "Pair",
    "both_ways",
    "changed_flows",
    "law_of",
    "read_as_round_trips",
    "starting",
    "table_1",
    "with_drop_tail",
    "with_laws",
    "with_pair",
    "with_queue",
    "with_red",
]

MODELS = Path(__file__).parents[2] / "models"
"""Folder with the model files."""
BACK = "_back"
"""Suffix of the names of classes whose data go in the reverse direction."""

Pair = tuple[int, int]
"""Alpha and beta, packets."""


@cache
def table_1(number: int) -> vf.Network:
    """Return a network of table 1, data one way; network 1 has 25 packets of buffer and RED."""
    return vf.modelfile.load(MODELS / f"weigle_feng_network{number}.toml").network


def changed_flows(network: vf.Network, change: Callable[[vf.Flows], vf.Flows]) -> vf.Network:
    """Return the network with a function applied to each class of flows."""
    return replace(network, flows={name: change(flows) for name, flows in network.flows.items()})


@dataclass(frozen=True)
class VegasFromZero(vf.Vegas):
    """Vegas that allows alpha = 0, which the heuristic of section 4.1 gives for 4 packets."""

    alpha: Annotated[Packets, Ge(0)] | None = None
    """Lower threshold, packets."""


def with_pair(network: vf.Network, pair: Pair) -> vf.Network:
    """Return the network with this alpha and beta for all Vegas flows."""
    alpha, beta = pair
    law = VegasFromZero(alpha=alpha, beta=beta, gamma=1, dialect="ns2")

    def change(flows: vf.Flows) -> vf.Flows:
        return replace(flows, law=law) if isinstance(flows.law, vf.Vegas) else flows

    return changed_flows(network, change)


def with_laws(network: vf.Network, reno: int, vegas: int) -> vf.Network:
    """Return the network with some number of Reno and of Vegas flows; 0 removes a class."""
    counts = {"reno": reno, "vegas": vegas}
    flows = {
        name: replace(group, count=counts[law_of(name)])
        for name, group in network.flows.items()
        if counts[law_of(name)]
    }
    return replace(network, flows=flows)


def both_ways(network: vf.Network) -> vf.Network:
    """Return the network with each class also in the reverse direction ("two-way traffic")."""
    back = {
        name + BACK: replace(flows, direction="reverse") for name, flows in network.flows.items()
    }
    return replace(network, flows={**network.flows, **back})


def starting(network: vf.Network, spread: float) -> vf.Network:
    """Return the network with random starts within `spread` seconds; 0: all start at 0."""
    start = vf.UniformStart(spread) if spread else 0.0
    return changed_flows(network, lambda flows: replace(flows, start=start))


def read_as_round_trips(network: vf.Network) -> vf.Network:
    """Return the network with table 1's delays read as round-trip delays, so all are halved."""
    links = {name: replace(item, delay=item.delay / 2) for name, item in network.links.items()}

    def change(item: vf.Flows) -> vf.Flows:
        return replace(item, access_delay=(item.access_delay or 0.0) / 2)

    return replace(changed_flows(network, change), links=links)


def with_queue(network: vf.Network, **fields: object) -> vf.Network:
    """Return the network with changed fields of its link."""
    ((name, link),) = network.links.items()
    return replace(network, links={name: replace(link, **fields)})


def with_drop_tail(network: vf.Network, queue: int) -> vf.Network:
    """Return the network with a drop-tail queue.

    As in ns-2, `queue` (packets) counts the packet in transmission, and senders by default have no
    random sending times.
    """
    changed = changed_flows(network, lambda flows: replace(flows, send_overhead=0.0))
    return with_queue(changed, buffer=queue - 1, aqm=vf.DropTail())


def with_red(network: vf.Network, low: int, high: int, *, wait: bool = True) -> vf.Network:
    """Return the network with other thresholds of RED, packets."""
    red = replace(network.link.aqm, min_thresh=low, max_thresh=high, wait=wait)
    return with_queue(network, aqm=red)


def law_of(flow_class: str) -> str:
    """Return the congestion control of a class, from the class's name.

    >>> law_of("vegas_back"), law_of("reno_bulk")
    ('vegas', 'reno')
    """
    return flow_class.partition("_")[0]
