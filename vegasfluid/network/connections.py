"""Checks of a network as a whole: its paths, base RTTs and events fit its links."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from vegasfluid.errors import InvalidInput, Words
from vegasfluid.network.event import Event
from vegasfluid.network.flows import Flows
from vegasfluid.network.link import Link
from vegasfluid.quantities import is_concrete

if TYPE_CHECKING:
    from vegasfluid.network.network import Network

__all__ = ["check_connections"]

ROUNDING = 1e-12
"""Tolerance for rounding in a sum of delays, s."""


def check_connections(network: Network) -> None:
    """Check that the paths, base RTTs and events of all classes fit the links.

    Args:
        network: the network, whose fields are set.

    Raises:
        InvalidInput: for no links or flows, a missing, empty or unknown path, a base RTT below the
            delay of the links, or events that are invalid or not in order of time.
    """
    if not network.links:
        raise InvalidInput("Network", "links", "at least one link", Words("none"))
    if not network.flows:
        raise InvalidInput("Network", "flows", "at least one class of flows", Words("none"))
    for name, flows in network.flows.items():
        if flows.path == ():
            raise InvalidInput(f"flows.{name}", "path", "at least one link", Words("none"))
        if flows.path is None and len(network.links) > 1:
            allowed = "given where there are several links"
            raise InvalidInput(f"flows.{name}", "path", allowed, Words("missing"))
        for link in flows.path or ():
            if link not in network.links:
                known = "one of " + ", ".join(network.links)
                raise InvalidInput(f"flows.{name}", "path", known, link)
        check_round_trip(f"flows.{name}", "base_rtt", flows, network.links_of(name))
    check_order_and_delays(network)


def check_order_and_delays(network: Network) -> None:
    """Check the events of a network, each with the delays that earlier ones have set.

    Raises:
        InvalidInput: for events not in order of time, or delays that a network cannot have.
    """
    stage = network
    for index, event in enumerate(network.events):
        check_event(stage, f"events[{index}]", event)
        previous = network.events[index - 1].at if index else event.at
        if event.at < previous:
            allowed = f"at least {previous:g}, the time of the previous event"
            raise InvalidInput(f"events[{index}]", "at", allowed, event.at)
        try:
            stage = stage.after(event)
        except InvalidInput as error:  # such as a base RTT beyond the range of the packet clock
            allowed = f"one after which {error.name} is {error.allowed}"
            raise InvalidInput(f"events[{index}]", "delay", allowed, event.delay) from None


def check_round_trip(whose: str, given_as: str, flows: Flows, links: Sequence[Link]) -> None:
    """Check that each flow's round-trip propagation delay is at least twice that of its links.

    Args:
        whose: the table that the value belongs to, for the error message.
        given_as: the key that gives the value, for the error message.
        flows: the class.
        links: the links of its path.

    Raises:
        InvalidInput: for a shorter round trip.
    """
    least, rtts = 2 * sum(link.delay for link in links), flows.propagation(links)
    if all(map(is_concrete, (least, *rtts))) and min(rtts) < least - ROUNDING:
        allowed = f"at least twice the delay of its links ({least:g} s)"
        raise InvalidInput(whose, given_as, allowed, min(rtts))


def check_event(network: Network, whose: str, event: Event) -> None:
    """Check that an event names a known link and class, and leaves a possible round trip.

    Args:
        network: the network before the event, with the delays that earlier events have set.
        whose: the event's table, for the error message.
        event: the event.

    Raises:
        InvalidInput: for an unknown name, a new base RTT of 0 or below twice the delay of the
            class's links, or a new delay of a link that leaves a base RTT of 0.
    """
    if event.link != "access" and event.link not in network.links:
        known = "access or one of " + ", ".join(network.links)
        raise InvalidInput(whose, "link", known, event.link)
    if event.flows is not None and event.flows not in network.flows:
        raise InvalidInput(whose, "flows", "one of " + ", ".join(network.flows), event.flows)
    given = [name for name, flows in network.flows.items() if flows.base_rtt is not None]
    if event.link == "access":
        for name in given:
            if event.flows in (None, name):
                if is_concrete(event.delay) and event.delay <= 0:
                    allowed = f"above 0, as it is the new base RTT of {name}"
                    raise InvalidInput(whose, "delay", allowed, event.delay)
                changed = replace(network.flows[name], base_rtt=event.delay)
                check_round_trip(whose, "delay", changed, network.links_of(name))
        return
    added = 2 * (event.delay - network.links[event.link].delay)
    for name in given:
        rtts = network.flows[name].propagation(network.links_of(name))
        crossings = network.path_of(name).count(event.link)
        left = [rtt + crossings * added for rtt in rtts]
        if crossings and all(map(is_concrete, left)) and min(left) <= 0:
            least = event.delay - min(left) / (2 * crossings)
            allowed = f"above {least:g}, as the base_rtt of {name} must remain above 0"
            raise InvalidInput(whose, "delay", allowed, event.delay)
