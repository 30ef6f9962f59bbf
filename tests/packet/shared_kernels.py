"""The scenarios with idle classes and links beside their own, so that two kernels serve for all.

A kernel is compiled for the laws, the queues, the traffic and the features of a network, which
takes seconds: each network here asks for all that its neighbours ask for.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.packet.scenarios import SCENARIOS, link
from vegasfluid.aqm.base import QueueDiscipline
from vegasfluid.network import Event, Flows, Link, Network

ONE_WAY = ("every law", "drop-tail", "chain", "marks", "adaptive marks", "PIE", "step", "traffic")
ONE_WAY += ("flow queues",)
"""Scenarios in which ACKs wait in no queue."""
IDLE = 1e6
"""When the idle classes start, s; after the end of every run."""


def marks(aqm: QueueDiscipline) -> bool:
    """Whether a queue marks packets."""
    return aqm.marks


def idle_links(links: list[Link]) -> dict[str, Link]:
    """A link with each queue discipline, with all that any of `links` asks of the engine."""
    disciplines: dict[Any, QueueDiscipline] = {}
    for aqm in sorted((each.aqm for each in links), key=marks, reverse=True):
        disciplines.setdefault((aqm.rule.decide, aqm.flow_queues is None), aqm)
    more: dict[str, Any] = {
        "jitter": max(each.jitter for each in links),
        "jitter_reorders": any(each.jitter_reorders for each in links),
    }
    return {f"idle {i}": link(aqm, 20, **more) for i, aqm in enumerate(disciplines.values())}


def idle_classes(classes: list[Flows], path: tuple[str, ...]) -> dict[str, Flows]:
    """A class for each congestion control and each traffic source, with all that any asks for."""
    laws: dict[Any, Flows] = {}
    sources: dict[Any, Flows] = {}
    for flows in classes:  # the first one stays: what comes last changes no kernel
        laws.setdefault((flows.law.rules.on_ack, flows.law.rules.recovery), flows)
        sources.setdefault(flows.traffic.rules.on_application, flows)
    more: dict[str, Any] = {
        "count": 1,
        "start": IDLE,
        "path": path,
        "direction": max(flows.direction for flows in classes),
        "delayed_ack": max(flows.delayed_ack or 0.0 for flows in classes),
        "send_overhead": max(flows.send_overhead or 0.0 for flows in classes),
    }
    chosen = [*laws.values(), *sources.values()]
    return {f"idle {i}": replace(flows, **more) for i, flows in enumerate(chosen)}


def alike(networks: dict[str, Network]) -> dict[str, Network]:
    """The networks, each with idle classes and links so that one kernel simulates them all."""
    links = idle_links([link for network in networks.values() for link in network.links.values()])
    classes = [flows for network in networks.values() for flows in network.flows.values()]
    idle = idle_classes(classes, tuple(links))
    events: tuple[Event, ...] = ()
    if any(network.events for network in networks.values()):
        events = (Event(IDLE, next(iter(links)), 0.0),)
    return {name: with_idle(each, links, idle, events) for name, each in networks.items()}


def with_idle(
    network: Network, links: dict[str, Link], idle: dict[str, Flows], events: tuple[Event, ...]
) -> Network:
    """The network with idle links and classes before its own, and idle events."""
    names = tuple(network.links)
    classes = {
        name: replace(flows, path=flows.path or names, send_overhead=network.send_overhead(name))
        for name, flows in network.flows.items()
    }
    return Network(
        {**links, **network.links},
        {**idle, **classes},
        network.packet_bytes,
        network.ack_bytes,
        (*network.events, *events),
    )


ONE_WAY_NETWORKS = {name: SCENARIOS[name] for name in ONE_WAY}


def one_way(network: Network) -> Network:
    """A network of which ONE_WAY has all laws, queues and features, with the kernel of those."""
    return alike({**ONE_WAY_NETWORKS, "this": network})["this"]


SHARED: dict[str, Network] = {
    **alike(ONE_WAY_NETWORKS),
    **alike({name: network for name, network in SCENARIOS.items() if name not in ONE_WAY}),
}
"""The scenarios with idle classes and links, by name: two kernels for all of them."""
