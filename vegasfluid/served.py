"""What model files can describe and the fluid model does not serve yet, refused by name."""

from __future__ import annotations

from collections.abc import Iterator

from vegasfluid.errors import NotServed
from vegasfluid.network import Flows, Link, Network

__all__ = ["check_served"]


def not_served(network: Network) -> Iterator[str]:
    """Everything in a network that the fluid model does not serve yet."""
    if len(network.links) > 1:
        yield "networks of several links"
    if network.events:
        yield "events"
    for link in network.links.values():
        yield from of_link(link)
    for name, flows in network.flows.items():
        for what in of_class(flows):
            yield f"{what} (flows.{name})"


def of_link(link: Link) -> Iterator[str]:
    """What of a link is not served."""
    if link.jitter:
        yield "jitter"
    for switch in ("ecn", "adaptive", "in_bytes"):
        if getattr(link.aqm, switch, False):
            yield f"{link.aqm.name} with {switch}"


def of_class(flows: Flows) -> Iterator[str]:
    """What of a class of flows is not served."""
    if flows.direction != "forward":
        yield "data against the stream"
    if flows.traffic.name != "bulk":
        yield f"{flows.traffic.name} traffic"
    if flows.delayed_ack:
        yield "delayed ACKs"
    if not flows.law.has_drift:
        yield f"the law {flows.law.name}"


def check_served(engine: str, network: Network) -> None:
    """Refuse what a simulator does not serve yet.

    Args:
        engine: who says so.
        network: what it is asked to simulate.

    Raises:
        NotServed: for the first such thing.
    """
    for what in not_served(network):
        raise NotServed(engine, what)
