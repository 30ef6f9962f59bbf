"""The Python program: the model's numbers as lists, then what every scenario has."""

from __future__ import annotations

import pprint
from collections.abc import Mapping
from itertools import islice
from typing import Any

from vegasfluid.errors import InvalidInput
from vegasfluid.export.document import Exported, about
from vegasfluid.export.ns3.body import BODY
from vegasfluid.export.ns3.senders import Sender, application, boolean, sender_of
from vegasfluid.export.quoting import plain_text
from vegasfluid.export.refusals import red_of, require_no_jitter
from vegasfluid.export.settings import SYSTEMS
from vegasfluid.export.spoken import Points, in_words_of
from vegasfluid.export.topology import Topology, access_hops, lay_out
from vegasfluid.model import Model
from vegasfluid.network import Flows, Link, Network, UniformStart
from vegasfluid.quantities import bits_per_second

__all__ = ["export_ns3"]

HEADERS = 40
"""Bytes of IPv4 and TCP without options."""
FAST = "1000Gbps"
UNLIMITED = ("ns3::FifoQueueDisc", {"MaxSize": "1000000p"})
HEAD = '''\
"""A scenario for ns-3, written by vegasfluid.

Run it with: pip install ns3; python scenario.py [SEED]
It prints for each class the packets a second that came to a flow's receiver, in the mean, after
the warm-up.
"""

import random
import sys

from ns import ns
'''

PHASE_NOTE = (
    "ns-3's senders send at once: over drop-tail flows may fall into step, where the model's wait "
    "at random up to a packet time."
)


def export_ns3(model: Model, points: Points, seed: int) -> Exported:
    """A model as a scenario for ns-3.

    Args:
        model: what to export.
        points: where the flows of Vegas classes are that speak another dialect.
        seed: of the random numbers, where the program is given none.

    Raises:
        InvalidInput: for what ns-3 cannot express.
    """
    network = model.network
    spoken = in_words_of(SYSTEMS["ns3"], network, points)
    topology = lay_out(network, "ns-3")
    senders = {name: sender_of(name, flows, spoken) for name, flows in network.flows.items()}
    told = [note for sender in senders.values() for note in sender.notes]
    told += [PHASE_NOTE] if network.assumptions() else []
    notes = tuple(dict.fromkeys(told))
    segment = network.packet_bytes - HEADERS
    if segment < 1:
        given = network.packet_bytes
        raise InvalidInput("Network", "packet_bytes", f"above {HEADERS} for ns-3", given)
    defaults = {**for_all(network, segment), **attributes_of(senders)}
    links = {name: link_entry(network, name, topology) for name in network.links}
    classes = [
        class_entry(network, name, topology, senders[name], segment) for name in network.flows
    ]
    values = {
        "SEED": seed,
        "DURATION": float(model.duration),
        "WARMUP": float(model.warmup),
        "SEGMENT_BYTES": segment,
        "NODES": topology.nodes,
        "UNLIMITED": UNLIMITED,
        "DEFAULTS": defaults,
        "LINKS": links,
        "CLASSES": classes,
        "EVENTS": events(network),
    }
    lines = [f"{name} = {pprint.pformat(value, width=96)}" for name, value in values.items()]
    text = "\n".join([HEAD, *about(model, notes, spoken), "", *lines]) + "\n" + BODY
    files = {"scenario.py": text, "attributes.txt": listed(defaults, links)}
    return Exported("ns3", files, spoken, notes)


def seconds(value: float) -> str:
    """A time as ns-3 reads it, to the nanosecond that it counts in."""
    return f"{round(value * 1e9)}ns"


def for_all(network: Network, segment: int) -> dict[str, str]:
    """Attributes of every socket, which ns-3 has once for all classes of a scenario.

    Raises:
        InvalidInput: where the classes differ.
    """
    wanted: dict[str, str] = {}
    for name, flows in network.flows.items():
        largest = round(flows.max_window * segment)
        own = {
            "TcpSocket::InitialCwnd": str(max(int(flows.initial_window), 1)),
            "TcpSocket::InitialSlowStartThreshold": str(round(flows.initial_ssthresh * segment)),
            "TcpSocket::SndBufSize": str(largest),
            "TcpSocket::RcvBufSize": str(largest),
            "TcpSocket::DelAckCount": "2" if flows.delayed_ack else "1",
            "TcpSocketBase::MinRto": seconds(flows.min_rto),
            "TcpSocketBase::UseEcn": "On" if uses_ecn(network) and flows.ecn else "Off",
        }
        if flows.delayed_ack:
            own["TcpSocket::DelAckTimeout"] = seconds(flows.delayed_ack)
        if flows.quick_acks or flows.send_overhead:
            raise InvalidInput(f"flows.{name}", "quick_acks and send_overhead", "0 for ns-3", "set")
        if not flows.law.rules.reliable:
            continue
        for key, value in own.items():
            if wanted.setdefault(key, value) != value:
                allowed = f"the same in all classes for ns-3 ({key})"
                raise InvalidInput(f"flows.{name}", "a setting", allowed, value)
    wanted |= {
        "TcpSocket::SegmentSize": str(segment),
        "TcpSocketBase::Timestamp": "false",
        "TcpSocketBase::Sack": "true",
    }
    return {f"ns3::{key}": value for key, value in wanted.items()}


def uses_ecn(network: Network) -> bool:
    """Whether a queue marks packets."""
    return any(link.aqm.marks for link in network.links.values())


def attributes_of(senders: Mapping[str, Sender]) -> dict[str, str]:
    """Attributes of the laws, which ns-3 has once for all classes.

    Raises:
        InvalidInput: where two classes of one law differ.
    """
    found: dict[str, str] = {}
    for name, sender in senders.items():
        for key, value in sender.attributes.items():
            attribute = f"{sender.control}::{key}"
            if found.setdefault(attribute, value) != value:
                allowed = (
                    f"the same in all its classes for ns-3 ({attribute} is {found[attribute]})"
                )
                raise InvalidInput(f"flows.{name}", "law", allowed, value)
    return found


def queue_of(name: str, link: Link, packet_bytes: int) -> tuple[str, dict[str, str]]:
    """The queue discipline of a link and its attributes; the device itself holds one packet more.

    Raises:
        InvalidInput: for a queue law or jitter that ns-3 does not have.
    """
    require_no_jitter(name, link, "ns-3")
    law, packets = red_of(name, link, "ns-3"), max(int(link.buffer) - 1, 1)
    if law is None:
        return "ns3::FifoQueueDisc", {"MaxSize": f"{packets}p"}
    unit = packet_bytes if law.in_bytes else 1
    return "ns3::RedQueueDisc", {
        "MaxSize": f"{packets * packet_bytes}B" if law.in_bytes else f"{packets}p",
        "MinTh": repr(float(law.min_thresh * unit)),
        "MaxTh": repr(float(law.max_thresh * unit)),
        "LInterm": repr(1 / law.max_drop),
        "QW": repr(law.weight),
        "Gentle": boolean(law.gentle),
        "Wait": boolean(law.wait),
        "UseEcn": boolean(law.ecn),
        "UseHardDrop": boolean(law.hard_drop),
        "AdaptMaxP": boolean(law.adaptive),
        "Bottom": "0.01",
        "MeanPktSize": str(packet_bytes),
        "LinkBandwidth": f"{round(bits_per_second(link.capacity, packet_bytes))}bps",
        "LinkDelay": seconds(link.delay),
    }


def link_entry(network: Network, name: str, topology: Topology) -> tuple[Any, ...]:
    """From, to, rate, delay, the queues of both directions."""
    link = network.links[name]
    queue = queue_of(name, link, network.packet_bytes)
    rate = f"{round(bits_per_second(link.capacity, network.packet_bytes))}bps"
    queues = (queue, queue if network.two_way else UNLIMITED)
    return (*topology.links[name], rate, seconds(link.delay), queues)


def class_entry(
    network: Network, name: str, topology: Topology, sender: Sender, segment: int
) -> dict[str, Any]:
    """One class of flows."""
    flows = network.flows[name]
    enter, leave = topology.routes[name]
    if flows.direction == "reverse":
        enter, leave = leave, enter
    rate = FAST
    if flows.access is not None:
        rate = f"{round(bits_per_second(flows.access, network.packet_bytes))}bps"
    helper, attributes = application(name, flows, segment)
    return {
        "name": plain_text(name),
        "count": flows.count,
        "from": enter,
        "to": leave,
        "access": rate,
        "shares": flows.access is None,
        "hops": [seconds(hop) for hop in access_hops(network, name)],
        "control": sender.control,
        "protocol": "Tcp" if sender.control else "Udp",
        "app": helper,
        "app_attributes": attributes,
        "start": starts(flows),
    }


def starts(flows: Flows) -> dict[str, float] | list[float]:
    """When the flows of a class start: one value, one a flow, or at random."""
    if isinstance(flows.start, UniformStart):
        return {"spread": float(flows.start.spread)}
    several = flows.start if isinstance(flows.start, tuple) else (flows.start,)
    return [float(value) for value in several]


def events(network: Network) -> list[tuple[float, str | int, list[str]]]:
    """Changes of delay: the time (s), a link's name or a class's index, and the new delays."""
    changes: list[tuple[float, str | int, list[str]]] = []
    for event, after in zip(network.events, islice(network.stages(), 1, None), strict=True):
        at = float(event.at)
        if event.link != "access":
            changes.append((at, event.link, [seconds(event.delay)]))
            continue
        for number, name in enumerate(network.flows):
            if event.flows in (None, name):
                changes.append((at, number, [seconds(hop) for hop in access_hops(after, name)]))
    return changes


def listed(defaults: Mapping[str, str], links: Mapping[str, Any]) -> str:
    """The attribute list: a line for each attribute that is set."""
    lines = [f"{key} {value}" for key, value in defaults.items()]
    for name, entry in links.items():
        kind, attributes = entry[-1][0]
        lines.append(f"# The queue of {plain_text(name)}")
        lines += [f"{kind}::{key} {value}" for key, value in attributes.items()]
    return "\n".join(lines) + "\n"
