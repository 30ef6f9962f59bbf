"""What model files can describe and the simulators do not serve yet, refused by name."""

from __future__ import annotations

from collections.abc import Iterator

from vegasfluid.errors import NotServed
from vegasfluid.network import Network

__all__ = ["check_served"]


def not_served(network: Network) -> Iterator[str]:
    """Everything in a network that no simulator serves yet."""
    if len(network.links) > 1:
        yield "networks of several links"
    if network.events:
        yield "events"
    if any(link.jitter for link in network.links.values()):
        yield "jitter"
    for name, flows in network.flows.items():
        if flows.direction != "forward":
            yield f"data against the stream (flows.{name})"
        if flows.traffic.name != "bulk":
            yield f"{flows.traffic.name} traffic (flows.{name})"


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
