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

GAP_S = 0.5
"""Mean time between two flows of a source, s (table 3)."""
ON_S = 0.03
"""Mean on time, s (table 3)."""
OFF_S = 0.07
"""Mean off time, s (table 3)."""
SHAPE = 1.5
"""Shape of all Pareto distributions (table 3)."""

CBR_MBPS = (10, 100)
"""Rates of infinite files, of network 1 and of the other networks, Mbit/s."""

Load = tuple[float, float]
"""Mean flow length (MB) and rate of on times (Mbit/s)."""
LOWER: Load = (10.0, 100.0)
"""Load of network 2 (table 3, double dagger), and of network 1, for which the table has none."""
HIGHER: Load = (100.0, 1000.0)
"""Load of networks 3 and 4."""

Offer = Callable[[float, float], TrafficSource]
"""Function that returns a traffic source from a mean flow length (MB) and a rate of on times
(packets/s)."""


def bulk(size: float, rate: float) -> TrafficSource:
    """Return an infinite file."""
    return vf.Bulk()


def pareto(size: float, rate: float) -> TrafficSource:
    """Return Pareto on and off times in sessions."""
    return vf.OnOff(ON_S, OFF_S, rate, SHAPE, mean_gap=GAP_S, mean_size=size)


def nps(size: float, rate: float) -> TrafficSource:
    """Return sessions that offer all their packets to TCP at once."""
    return vf.Sessions(mean_gap=GAP_S, mean_size=size, shape=SHAPE)


KINDS: Mapping[str, Offer] = {"bulk": bulk, "pareto": pareto, "nps": nps}
"""Traffic sources by name."""
NAMES = {"bulk": "CBR", "pareto": "Pareto", "nps": "NPS"}
"""Names of the traffic sources in the paper's figures."""


def load_of(network: vf.Network) -> Load:
    """Return the load of table 3 for a network."""
    return HIGHER if network.link.capacity > vf.mbps(500) else LOWER


def carrying(network: vf.Network, kind: str) -> vf.Network:
    """Return the network with one traffic source for all flows."""
    size, rate = load_of(network)
    traffic = KINDS[kind](size, vf.mbps(rate))
    flows = {name: replace(group, traffic=traffic) for name, group in network.flows.items()}
    return replace(network, flows=flows)
