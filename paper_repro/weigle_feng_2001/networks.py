"""The networks of table 1, and what the experiments change in them."""

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
BACK = "_back"
"""What the names of classes end with whose data go the other way."""

Pair = tuple[int, int]
"""alpha and beta, packets."""


@cache
def table_1(number: int) -> vf.Network:
    """A network of table 1, with data one way; network 1 with a buffer of 25 packets and RED."""
    return vf.modelfile.load(MODELS / f"weigle_feng_network{number}.toml").network


def changed_flows(network: vf.Network, change: Callable[[vf.Flows], vf.Flows]) -> vf.Network:
    """The network with every class of flows changed."""
    return replace(network, flows={name: change(of) for name, of in network.flows.items()})


@dataclass(frozen=True)
class VegasFromZero(vf.Vegas):
    """A Vegas whose alpha may be 0, as the heuristic of section 4.1 has it for 4 packets."""

    alpha: Annotated[Packets, Ge(0)] | None = None


def with_pair(network: vf.Network, pair: Pair) -> vf.Network:
    """With that alpha and beta for all Vegas flows."""
    alpha, beta = pair
    law = VegasFromZero(alpha=alpha, beta=beta, gamma=1, dialect="ns2")

    def change(of: vf.Flows) -> vf.Flows:
        return replace(of, law=law) if isinstance(of.law, vf.Vegas) else of

    return changed_flows(network, change)


def with_laws(network: vf.Network, reno: int, vegas: int) -> vf.Network:
    """With so many flows of each law; a law with none is left out."""
    counts = {"reno": reno, "vegas": vegas}
    flows = {
        name: replace(of, count=counts[law_of(name)])
        for name, of in network.flows.items()
        if counts[law_of(name)]
    }
    return replace(network, flows=flows)


def both_ways(network: vf.Network) -> vf.Network:
    """With each class once more in the other direction ("two-way traffic")."""
    back = {name + BACK: replace(of, direction="reverse") for name, of in network.flows.items()}
    return replace(network, flows={**network.flows, **back})


def starting(network: vf.Network, spread: float) -> vf.Network:
    """With flows that start at random in so many seconds; 0: all at time 0."""
    start = vf.UniformStart(spread) if spread else 0.0
    return changed_flows(network, lambda of: replace(of, start=start))


def read_as_round_trips(network: vf.Network) -> vf.Network:
    """With the delays of table 1 read as there and back, so that all are halved."""
    links = {name: replace(of, delay=of.delay / 2) for name, of in network.links.items()}

    def change(of: vf.Flows) -> vf.Flows:
        return replace(of, access_delay=(of.access_delay or 0.0) / 2)

    return replace(changed_flows(network, change), links=links)


def with_queue(network: vf.Network, **changed: object) -> vf.Network:
    """With another queue in front of its link."""
    ((name, link),) = network.links.items()
    return replace(network, links={name: replace(link, **changed)})


def with_drop_tail(network: vf.Network, queue: int) -> vf.Network:
    """With a drop-tail queue of so many packets, the one in transmission among them, as in ns-2.

    Senders send at once, as ns-2's do where nothing is said.
    """
    changed = changed_flows(network, lambda of: replace(of, send_overhead=0.0))
    return with_queue(changed, buffer=queue - 1, aqm=vf.DropTail())


def with_red(network: vf.Network, low: int, high: int, *, wait: bool = True) -> vf.Network:
    """With other thresholds of RED."""
    red = replace(network.link.aqm, min_thresh=low, max_thresh=high, wait=wait)
    return with_queue(network, aqm=red)


def law_of(flow_class: str) -> str:
    """The law that a class speaks, by the name of the class.

    >>> law_of("vegas_back"), law_of("reno_bulk")
    ('vegas', 'reno')
    """
    return flow_class.partition("_")[0]
