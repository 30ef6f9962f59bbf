"""Links and classes of a network as rows of text, for `vegasfluid check` and notebooks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from vegasfluid.network.flows import Flows
from vegasfluid.quantities import mbps

if TYPE_CHECKING:
    from vegasfluid.network.network import Network

__all__ = ["FLOW_COLUMNS", "LINK_COLUMNS", "flow_rows", "link_rows"]

LINK_COLUMNS = ("link", "Mbit/s", "packets/s", "delay, ms", "buffer", "queue")
"""Columns of `link_rows`; the buffer is in packets, `queue` is the queue discipline."""
FLOW_COLUMNS = ("class", "flows", "base RTT, ms", "control", "traffic")
"""Columns of `flow_rows`; `control` is the congestion control."""


def link_rows(network: Network) -> Iterator[tuple[str, ...]]:
    """Yield the cells of each link as text, in the order and units of `LINK_COLUMNS`.

    They are its name, capacity in Mbit/s and in packets/s, delay (ms), buffer (packets) and queue
    discipline.
    """
    one_mbps = mbps(1.0, network.packet_bytes)
    for name, link in network.links.items():
        rate = (f"{link.capacity / one_mbps:.4g}", f"{link.capacity:.1f}")
        yield (name, *rate, f"{link.delay * 1e3:g}", f"{link.buffer:g}", link.aqm.name)


def flow_rows(network: Network) -> Iterator[tuple[str, ...]]:
    """Yield the cells of each class as text, in the order and units of `FLOW_COLUMNS`.

    They are its name, number of flows, mean base RTT (ms), congestion control and traffic.
    """
    for name, flows in network.flows.items():
        rtt = f"{network.mean_base_rtt(name) * 1e3:.2f}"
        yield (name, str(flows.count), rtt, flows.law.label, traffic(flows))


def traffic(flows: Flows) -> str:
    """Name of a class's traffic source, with its direction if that is reverse."""
    source = flows.traffic.name
    return source if flows.direction == "forward" else f"{source}, {flows.direction}"
