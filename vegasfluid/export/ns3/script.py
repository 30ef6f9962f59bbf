"""The Python program: the model's numbers as lists, then what every scenario has."""

from __future__ import annotations

import pprint
from collections.abc import Mapping
from typing import Any

from vegasfluid.aqm.codel import CoDel
from vegasfluid.aqm.droptail import DropTail
from vegasfluid.aqm.fq_codel import FqCoDel
from vegasfluid.aqm.pie import Pie
from vegasfluid.aqm.red import Red
from vegasfluid.aqm.step import StepMarking
from vegasfluid.errors import InvalidInput
from vegasfluid.export.codel_elsewhere import codel_attributes
from vegasfluid.export.dialects import Points, vegas_parameters
from vegasfluid.export.document import Exported, header_comments
from vegasfluid.export.flow_queues_elsewhere import flow_queues_in_ns3
from vegasfluid.export.hosts import Substitute, fit_hosts
from vegasfluid.export.ns3.body import BODY
from vegasfluid.export.ns3.senders import Sender, application, boolean, sender_of
from vegasfluid.export.pie_elsewhere import ns3_attributes
from vegasfluid.export.quoting import plain_text
from vegasfluid.export.settings import SYSTEMS
from vegasfluid.export.step_elsewhere import step_in_ns3
from vegasfluid.export.topology import Topology, access_hops, build_topology
from vegasfluid.export.unsupported import linux_red_notes, require_discipline, require_no_jitter
from vegasfluid.model import Model
from vegasfluid.network import Flows, Link, Network, UniformStart
from vegasfluid.quantities import bits_per_second

__all__ = ["export_ns3"]

QUEUES = (CoDel, DropTail, FqCoDel, Pie, Red, StepMarking)
"""Queue disciplines that ns-3 has."""
HEADERS, TIMESTAMPS = 40, 12
"""Headers of IPv4 and TCP without options, and the option for timestamps, bytes."""
LARGEST_SSTHRESH = 2**32 - 1
"""Largest slow-start threshold of ns-3, bytes."""
HOSTS = {
    "quick_acks": Substitute(
        0,
        "ns-3 delays the ACKs of {} from the first packet; the model's hosts acknowledge the first "
        "packets of a connection at once.",
    )
}
"""Values that replace settings of hosts that ns-3 does not have, by setting."""
FAST = "1000Gbps"
"""Rate of an access link without a limit (chosen)."""
QUEUE_SAMPLES = 2000
"""Number of times at which a scenario counts the waiting packets after the warm-up (chosen)."""
UNLIMITED = ("ns3::FifoQueueDisc", {"MaxSize": "1000000p"})
"""Queue without a limit (chosen: a million packets)."""
HEAD = '''\
"""A scenario for ns-3, written by vegasfluid.

Run it with: pip install ns3; python scenario.py [SEED]
It prints the mean goodput of a flow of each class after the warm-up, packets/s, and of each link
the mean queue, packets, and the fraction of packets dropped.
"""

import random
import sys

from ns import ns
'''

PHASE_NOTE = (
    "ns-3's senders send without a random wait, so flows may synchronise where drops are not "
    "random. The model's senders wait a random time of up to a packet time."
)


def export_ns3(model: Model, points: Points, seed: int) -> Exported:
    """Export a model to ns-3: the program `scenario.py` and the list `attributes.txt`.

    Args:
        model: the model.
        points: operating points of the Vegas classes with another dialect, by class.
        seed: seed of the random numbers if the script is run without one.

    Returns:
        Texts of the files, the Vegas parameters in them (packets), and notes on differences.

    Raises:
        InvalidInput: for a part of the model that ns-3 does not support.
    """
    network, host_notes = fit_hosts(model.network, HOSTS)
    vegas = vegas_parameters(SYSTEMS["ns3"], network, points)
    topology = build_topology(network, "ns-3")
    senders = {name: sender_of(name, flows, vegas) for name, flows in network.flows.items()}
    waits = (
        network.send_overhead(name) > (network.flows[name].send_overhead or 0) for name in senders
    )
    phases = [PHASE_NOTE] if any(waits) else []
    differences = [note for sender in senders.values() for note in sender.notes]
    differences += linux_red_notes(network.links.values(), "ns-3")
    notes = tuple(dict.fromkeys([*differences, *phases, *host_notes]))
    headers = HEADERS + TIMESTAMPS * has_timestamps(network)
    segment = network.packet_bytes - headers
    if segment < 1:
        given = network.packet_bytes
        raise InvalidInput("Network", "packet_bytes", f"above {headers} for ns-3", given)
    defaults = {**socket_attributes(network, segment), **attributes_of(senders)}
    links = {name: link_entry(network, name, topology) for name in network.links}
    classes = [
        class_entry(network, name, topology, senders[name], segment) for name in network.flows
    ]
    values = {
        "SEED": seed,
        "DURATION": float(model.duration),
        "WARMUP": float(model.warmup),
        "SEGMENT_BYTES": segment,
        "QUEUE_SAMPLES": QUEUE_SAMPLES,
        "NODES": topology.nodes,
        "UNLIMITED": UNLIMITED,
        "DEFAULTS": defaults,
        "LINKS": links,
        "CLASSES": classes,
        "EVENTS": events(network),
    }
    lines = [f"{name} = {pprint.pformat(value, width=96)}" for name, value in values.items()]
    text = "\n".join([HEAD, *header_comments(model, notes, vegas), "", *lines]) + "\n" + BODY
    files = {"scenario.py": text, "attributes.txt": attribute_list(defaults, links)}
    return Exported("ns3", files, vegas, notes)


def seconds(value: float) -> str:
    """A time in s as the text of an ns-3 attribute, rounded to whole ns."""
    return f"{round(value * 1e9)}ns"


def has_timestamps(network: Network) -> bool:
    """Whether the ACKs of all classes are large enough for timestamps."""
    classes = [name for name, flows in network.flows.items() if flows.law.rules.reliable]
    return all(network.ack_bytes_of(name) >= HEADERS + TIMESTAMPS for name in classes)


def socket_attributes(network: Network, segment: int) -> dict[str, str]:
    """ns-3's attributes of sockets as texts by name, one set for all classes.

    Args:
        network: host settings of all classes, complete.
        segment: packet size without headers, bytes.

    Raises:
        InvalidInput: if the settings of classes differ, or ns-3 does not have them.
    """
    attributes: dict[str, str] = {}
    for name, flows in network.flows.items():
        largest, host = round(flows.max_window * segment), flows.settings
        ssthresh = min(round(host.initial_ssthresh * segment), LARGEST_SSTHRESH)
        values = {
            "TcpSocket::InitialCwnd": str(max(int(host.initial_window), 1)),
            "TcpSocket::InitialSlowStartThreshold": str(ssthresh),
            "TcpSocket::SndBufSize": str(largest),
            "TcpSocket::RcvBufSize": str(largest),
            "TcpSocket::DelAckCount": "2" if host.delayed_ack else "1",
            "TcpSocketBase::MinRto": seconds(host.min_rto),
            "TcpSocketBase::UseEcn": "On" if uses_ecn(network) and flows.ecn else "Off",
        }
        if host.delayed_ack:
            values["TcpSocket::DelAckTimeout"] = seconds(host.delayed_ack)
        for field, value in (
            ("quick_acks", host.quick_acks),
            ("send_overhead", flows.send_overhead),
        ):
            if value:
                raise InvalidInput(f"flows.{name}", field, "0 for ns-3", value)
        if not flows.law.rules.reliable:
            continue
        for key, value in values.items():
            if attributes.setdefault(key, value) != value:
                raise InvalidInput(f"flows.{name}", key, "the same in all classes for ns-3", value)
    attributes |= {
        "TcpSocket::SegmentSize": str(segment),
        "TcpSocketBase::Timestamp": boolean(has_timestamps(network)),
        "TcpSocketBase::Sack": "true",
    }
    return {f"ns3::{key}": value for key, value in attributes.items()}


def uses_ecn(network: Network) -> bool:
    """Whether some queue of the network marks packets instead of dropping them."""
    return any(link.aqm.marks for link in network.links.values())


def attributes_of(senders: Mapping[str, Sender]) -> dict[str, str]:
    """ns-3's attributes of congestion controls as texts by name, one set for all classes.

    Args:
        senders: congestion control of each class, by the class's name.

    Raises:
        InvalidInput: if two classes with the same congestion control differ.
    """
    attributes: dict[str, str] = {}
    for name, sender in senders.items():
        for key, value in sender.attributes.items():
            attribute = f"{sender.control}::{key}"
            if attributes.setdefault(attribute, value) != value:
                allowed = (
                    f"the same in all its classes for ns-3 ({attribute} is {attributes[attribute]})"
                )
                raise InvalidInput(f"flows.{name}", "law", allowed, value)
    return attributes


def queue_of(name: str, link: Link, packet_bytes: int) -> tuple[str, dict[str, str]]:
    """ns-3's queue discipline of link `name` and its attributes as texts, in packets or bytes.

    It holds one packet less than the link's buffer, at least one, as the device holds another.

    Raises:
        InvalidInput: for jitter or a queue discipline that ns-3 does not support.
    """
    require_no_jitter(name, link, "ns-3")
    law, packets = (
        require_discipline(name, link, "ns-3", QUEUES),
        max(int(link.buffer) - 1, 1),
    )
    if isinstance(law, StepMarking):
        return "ns3::RedQueueDisc", step_in_ns3(name, law, packets, packet_bytes)
    if isinstance(law, FqCoDel):
        return "ns3::FqCoDelQueueDisc", flow_queues_in_ns3(law, packets, packet_bytes)
    if isinstance(law, CoDel):
        return "ns3::CoDelQueueDisc", codel_attributes(law, packets, packet_bytes)
    if isinstance(law, Pie):
        return "ns3::PieQueueDisc", ns3_attributes(law, packets, packet_bytes)
    if isinstance(law, DropTail):
        return "ns3::FifoQueueDisc", {"MaxSize": f"{packets}p"}
    unit = packet_bytes if law.counts_bytes else 1
    return "ns3::RedQueueDisc", {
        "MaxSize": f"{packets * packet_bytes}B" if law.counts_bytes else f"{packets}p",
        "MinTh": repr(float(law.min_thresh * unit)),
        "MaxTh": repr(float(law.max_thresh * unit)),
        "LInterm": repr(1 / law.max_drop),
        "QW": repr(law.average_weight),
        "Gentle": boolean(law.gentle),
        "Wait": boolean(law.waits),
        "UseEcn": boolean(law.ecn),
        "UseHardDrop": boolean(law.hard_drop),
        "AdaptMaxP": boolean(law.adaptive),
        "Bottom": "0.01",
        "MeanPktSize": str(packet_bytes),
        "LinkBandwidth": f"{round(bits_per_second(link.capacity, packet_bytes))}bps",
        "LinkDelay": seconds(link.delay),
    }


def link_entry(network: Network, name: str, topology: Topology) -> tuple[Any, ...]:
    """Entry of the scenario's `LINKS` for link `name`.

    It has the first and last node, rate (text in bit/s), delay (text in ns), and the queues of both
    directions; the reverse one is unlimited if no class sends data there.
    """
    link = network.links[name]
    queue = queue_of(name, link, network.packet_bytes)
    rate = f"{round(bits_per_second(link.capacity, network.packet_bytes))}bps"
    queues = (queue, queue if network.two_way else UNLIMITED)
    return (*topology.links[name], rate, seconds(link.delay), queues)


def class_entry(
    network: Network, name: str, topology: Topology, sender: Sender, segment: int
) -> dict[str, Any]:
    """Entry of the scenario's `CLASSES` for one class of flows.

    Args:
        network: the network of the class.
        name: name of the class.
        topology: nodes at the ends of its path.
        sender: its congestion control in ns-3.
        segment: packet size without headers, bytes.

    Returns:
        End nodes, access rate and delays, sender, application and start times (s), by the keys that
        the scenario reads.
    """
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
    """Start times of a class, s: a list (one value, or one per flow), or `{"spread": latest}`."""
    if isinstance(flows.start, UniformStart):
        return {"spread": float(flows.start.spread)}
    times = flows.start if isinstance(flows.start, tuple) else (flows.start,)
    return [float(time) for time in times]


def events(network: Network) -> list[tuple[float, str | int, list[str]]]:
    """Changes of delay: time (s), a link's name or a class's index, new delays (texts in ns).

    For a link there is one delay; for the access links of a class one for each flow, or a single
    one if all are equal.
    """
    changes: list[tuple[float, str | int, list[str]]] = []
    _, *stages = network.stages()
    for event, changed in zip(network.events, stages, strict=True):
        at = float(event.at)
        if event.link != "access":
            changes.append((at, event.link, [seconds(event.delay)]))
            continue
        for number, name in enumerate(network.flows):
            if event.flows in (None, name):
                changes.append((at, number, [seconds(hop) for hop in access_hops(changed, name)]))
    return changes


def attribute_list(defaults: Mapping[str, str], links: Mapping[str, Any]) -> str:
    """Text of attributes.txt: one line `NAME VALUE` for each attribute that is set.

    Args:
        defaults: attributes of sockets and congestion controls, by name.
        links: entries of `LINKS`, whose forward queues are listed.
    """
    lines = [f"{key} {value}" for key, value in defaults.items()]
    for name, entry in links.items():
        kind, attributes = entry[-1][0]
        lines.append(f"# The queue of {plain_text(name)}")
        lines += [f"{kind}::{key} {value}" for key, value in attributes.items()]
    return "\n".join(lines) + "\n"
