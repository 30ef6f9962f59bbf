"""Idle classes beside those of a network, so that one compiled kernel serves for several tests.

A kernel is compiled for the congestion controls, the queues and the features of a network, which
takes seconds.
"""

from __future__ import annotations

from dataclasses import replace

from vegasfluid.congestion.reno import Reno
from vegasfluid.congestion.vegas import Vegas
from vegasfluid.network import Flows, Network

__all__ = ["IDLE", "RENO_AND_VEGAS", "with_idle"]

IDLE = 1e6
"""When the idle classes start, s; after the end of every run."""

RENO_AND_VEGAS = (
    Flows(1, Reno(recovery="newreno"), base_rtt=0.05, send_overhead=1e-3),
    Flows(1, Vegas(dialect="ns2"), base_rtt=0.05),
)
"""Beside them, either alone has the kernel of both together with times before sending."""


def with_idle(network: Network, *idle: Flows) -> Network:
    """The network with one flow of each idle class before its own flows."""
    classes = {f"idle{n}": replace(flows, count=1, start=IDLE) for n, flows in enumerate(idle)}
    return replace(network, flows={**classes, **network.flows})
