"""The traffic of tables 2 and 3."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import vegasfluid as vf
from vegasfluid.traffic import TrafficSource

__all__ = [
    "HIGHER",
    "KINDS",
    "LOWER",
    "NAMES",
    "Load",
    "bulk",
    "carrying",
    "load_of",
    "nps",
    "pareto",
]

GAP_S, ON_S, OFF_S, SHAPE = 0.5, 0.03, 0.07, 1.5
"""Mean time between flows, mean on and off times, and the shape of all Pareto distributions."""

CBR_MBPS = (10, 100)
"""Rate of infinite files, of network 1 and of the others, Mbit/s."""

Load = tuple[float, float]
"""A mean flow length (MB) and an on rate (Mbit/s)."""
LOWER: Load = (10.0, 100.0)
"""Of network 2 (table 3, double dagger), and ours of network 1, for which the table has none."""
HIGHER: Load = (100.0, 1000.0)
"""Of networks 3 and 4."""

Offer = Callable[[float, float], TrafficSource]
"""What applications offer, of a flow's mean length (MB) and an on rate (packets/s)."""


def bulk(size: float, rate: float) -> TrafficSource:
    """An infinite file."""
    return vf.Bulk()


def pareto(size: float, rate: float) -> TrafficSource:
    """Pareto on and off times inside sessions."""
    return vf.OnOff(ON_S, OFF_S, rate, SHAPE, mean_gap=GAP_S, mean_size=size)


def nps(size: float, rate: float) -> TrafficSource:
    """Sessions whose packets are handed to TCP at once."""
    return vf.Sessions(mean_gap=GAP_S, mean_size=size, shape=SHAPE)


KINDS: Mapping[str, Offer] = {"bulk": bulk, "pareto": pareto, "nps": nps}
NAMES = {"bulk": "CBR", "pareto": "Pareto", "nps": "NPS"}
"""The kinds as the paper's figures call them."""


def load_of(network: vf.Network) -> Load:
    """The values of table 3 that go with a network."""
    return HIGHER if network.link.capacity > vf.mbps(500) else LOWER


def carrying(network: vf.Network, kind: str) -> vf.Network:
    """The network with all flows offering one kind of traffic."""
    size, rate = load_of(network)
    traffic = KINDS[kind](size, vf.mbps(rate))
    flows = {name: replace(of, traffic=traffic) for name, of in network.flows.items()}
    return replace(network, flows=flows)
