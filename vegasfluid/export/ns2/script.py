"""The OTcl script: the model's numbers as lists, then the part that all scripts share."""

from __future__ import annotations

from dataclasses import replace

from vegasfluid.errors import Unsupported
from vegasfluid.export.dialects import Points, vegas_parameters
from vegasfluid.export.document import Exported, header_comments
from vegasfluid.export.hosts import Substitute, fit_hosts
from vegasfluid.export.ns2.agents import Agent, agent_of, receiver_of
from vegasfluid.export.ns2.body import BODY, COUNTING, SESSIONS
from vegasfluid.export.ns2.queues import queue_of
from vegasfluid.export.ns2.traffic import traffic_of
from vegasfluid.export.quoting import tcl_number, tcl_word
from vegasfluid.export.settings import SYSTEMS
from vegasfluid.export.topology import Topology, access_hops, build_topology
from vegasfluid.export.unsupported import linux_red_notes
from vegasfluid.model import Model
from vegasfluid.network import Flows, Network, UniformStart
from vegasfluid.quantities import bits_per_second

__all__ = ["export_ns2"]

FAST = 1e12
"""Rate of an access link without a limit, bit/s (chosen)."""
UNLIMITED = 1_000_000
"""Buffer of a queue without a limit, packets (chosen)."""
HOSTS = {
    "delayed_ack": Substitute(
        0.0,
        "In ns-2 each packet of {} is acknowledged, so that windows grow by packets; the model's "
        "hosts delay ACKs and count the packets that they acknowledge.",
    ),
    "quick_acks": Substitute(0, ""),
    "byte_counting": Substitute(False, ""),
    "validates": Substitute(False, ""),
    "recovery": Substitute(
        "sack",
        "ns-2 recovers from losses of {} by SACK (RFC 6675), the model's hosts by RACK-TLP.",
        ("rack",),
    ),
}
"""Values that replace settings of hosts that ns-2 does not have, by setting."""
APPLICATION_NOTE = (
    "In ns-2 the window of {} grows on every ACK, on the model's hosts only while it limits the "
    "sender."
)
HEAD = """\
# A scenario for ns-2.35, written by vegasfluid. Run it with: ns scenario.tcl [SEED]
# It prints the mean goodput of a flow of each class after the warm-up, packets/s, and of each link
# the mean queue, packets, and the fraction of packets dropped."""


def export_ns2(model: Model, points: Points, seed: int) -> Exported:
    """Export a model to ns-2.35: the OTcl script `scenario.tcl`.

    Args:
        model: the model.
        points: operating points of the Vegas classes with another dialect, by class.
        seed: seed of the random numbers if the script is run without one.

    Returns:
        The text of the script, the Vegas parameters in it (packets), and notes on differences.

    Raises:
        InvalidInput: for a part of the model that ns-2 does not support.
        Unsupported: for a change of access delays that ns-2 does not support.
    """
    network, host_notes = fit_hosts(model.network, HOSTS)
    vegas = vegas_parameters(SYSTEMS["ns2"], network, points)
    agents = {}
    for name, flows in network.flows.items():
        overhead = network.send_overhead(name)
        agents[name] = agent_of(name, replace(flows, send_overhead=overhead), vegas)
    topology = build_topology(network, "ns-2")
    notes = (
        linux_red_notes(network.links.values(), "ns-2")
        + host_notes
        + application_notes(model.network)
    )
    notes += tuple(note for agent in agents.values() for note in agent.notes)
    traffic = {
        name: traffic_of(name, flows, network.packet_bytes) for name, flows in network.flows.items()
    }
    lines = [
        HEAD,
        *header_comments(model, notes, vegas),
        *global_lines(model, network, topology, seed),
    ]
    lines += link_lines(network, topology)
    for number, (name, flows) in enumerate(network.flows.items()):
        lines += ["", *class_lines(network, number, name, topology, agents[name])]
        lines.append(f"set traffic({number}) {tcl_list(traffic[name])}")
        lines.append(f"set start({number}) {tcl_list(starts(flows))}")
    lines += ["", "set events {", *event_lines(network, topology), "}"]
    sessions = SESSIONS if any(kind[0] == "sessions" for kind in traffic.values()) else ""
    text = "\n".join(lines) + "\n" + BODY + sessions + COUNTING
    return Exported("ns2", {"scenario.tcl": text}, vegas, notes)


def application_notes(network: Network) -> tuple[str, ...]:
    """Notes on classes whose hosts validate the window, where the application may limit them."""
    return tuple(
        APPLICATION_NOTE.format(name)
        for name, flows in network.resolved().flows.items()
        if flows.settings.validates and flows.law.rules.reliable and not flows.traffic.endless
    )


def tcl_list(words: list[str] | tuple[str, ...]) -> str:
    """Words without special characters as a list of Tcl."""
    return "{" + " ".join(words) + "}"


def pairs(variables: dict[str, str]) -> str:
    """Variables and their values as a flat list of Tcl: `{name value name value}`."""
    return tcl_list([word for item in variables.items() for word in item])


def global_lines(model: Model, network: Network, topology: Topology, seed: int) -> list[str]:
    """Script lines for packet headers, the simulator, times (s), sizes (bytes) and the seed.

    Args:
        model: the model.
        network: its network with the hosts that ns-2 has.
        topology: nodes of the links.
        seed: seed of the random numbers.
    """
    headers = "IP TCP Flags"
    if any(not flows.law.rules.reliable for flows in network.flows.values()):
        headers += " RTP"
    return [
        "",
        "remove-all-packet-headers",
        f"add-packet-header {headers}",
        "set ns [new Simulator]",
        "# The size on the wire, headers included.",
        "Agent/TCP set useHeaders_ false",
        f"Agent/TCP set packetSize_ {network.packet_bytes}",
        f"Agent/UDP set packetSize_ {network.packet_bytes}",
        "Agent/TCP set windowOption_ 1",
        "Agent/TCP set tcpTick_ 0.01",
        "",
        f"set seed {seed}",
        f"set duration {tcl_number(model.duration)}",
        f"set warmup {tcl_number(model.warmup)}",
        f"set packet_bytes {network.packet_bytes}",
        f"set nodes {topology.nodes}",
        f"set classes {len(network.flows)}",
    ]


def link_lines(network: Network, topology: Topology) -> list[str]:
    """Script lines with the list of links: nodes, rate (bit/s), delay (s), queues; and their names.

    Both directions have the same queue where both carry data. Otherwise the reverse direction has a
    drop-tail queue of `UNLIMITED` packets.
    """
    lines = [
        "",
        "# from, to, bit/s, s, queue, its limit_, its variables; the same on the way back",
        "set links {",
    ]
    for name, link in network.links.items():
        queue, limit, variables = queue_of(name, link, network.packet_bytes)
        forward = f"{queue} {limit} {pairs(variables)}"
        back = forward if network.two_way else f"DropTail {UNLIMITED} {{}}"
        rate = tcl_number(bits_per_second(link.capacity, network.packet_bytes))
        a, b = topology.links[name]
        lines.append(f"    {{{a} {b} {rate} {tcl_number(link.delay)} {forward} {back}}}")
    names = [f"set link_name({i}) {tcl_word(name)}" for i, name in enumerate(network.links)]
    return [*lines, "}", *names]


def class_lines(
    network: Network, number: int, name: str, topology: Topology, agent: Agent
) -> list[str]:
    """Script lines that set the variables of class number `number`.

    Args:
        network: the network of the class.
        number: index of the class, from 0.
        name: name of the class.
        topology: nodes at the ends of its path.
        agent: its sender and receiver.
    """
    flows = network.flows[name]
    enter, leave = topology.routes[name]
    if flows.direction == "reverse":
        enter, leave = leave, enter
    receiver, receiver_variables = receiver_of(name, flows, agent)
    if agent.sender != "Agent/UDP":
        receiver_variables["packetSize_"] = str(network.ack_bytes_of(name))
    control = [agent.control] if agent.control else []
    for key, value in agent.parameters.items():
        control += [key, str(value)]
    ssthresh = flows.settings.initial_ssthresh
    has_ssthresh = ssthresh < flows.max_window and agent.sender != "Agent/UDP"
    rate = FAST
    if flows.access is not None:
        rate = bits_per_second(flows.access, network.packet_bytes)
    values = {
        "name": tcl_word(name),
        "count": str(flows.count),
        "from": str(enter),
        "to": str(leave),
        "access": tcl_number(rate),
        "shares": str(int(flows.access is None)),
        "hops": tcl_list([tcl_number(hop) for hop in access_hops(network, name)]),
        "sender": agent.sender,
        "sender_settings": pairs(dict(agent.variables)),
        "receiver": receiver,
        "receiver_settings": pairs(receiver_variables),
        "control": tcl_list(control),
        "ssthresh": str(int(ssthresh) if has_ssthresh else 0),
    }
    return [f"set {key}({number}) {value}" for key, value in values.items()]


def starts(flows: Flows) -> list[str]:
    """Start times of a class (s) as words of Tcl.

    They are one time for all flows, one for each flow, or `spread` and the latest time of random
    starts.
    """
    if isinstance(flows.start, UniformStart):
        return ["spread", tcl_number(flows.start.spread)]
    return [tcl_number(value) for value in several(flows.start)]


def several(value: float | tuple[float, ...]) -> tuple[float, ...]:
    """A single value as a tuple of one; a tuple is returned unchanged."""
    return value if isinstance(value, tuple) else (value,)


def event_lines(network: Network, topology: Topology) -> list[str]:
    """Lines of an ns-2 script (Tcl) for the network's changes of delay.

    Each is a list of the time (s), a command, what it changes, and the new delays (s).

    Args:
        network: the network, with its events.
        topology: nodes of the links.

    Raises:
        Unsupported: if access links change of a class whose flows differ in base RTT and have no
            access rate.
    """
    lines = []
    _, *stages = network.stages()
    for event, changed in zip(network.events, stages, strict=True):
        at = tcl_number(event.at)
        if event.link != "access":
            a, b = topology.links[event.link]
            lines.append(f"    {{{at} change_link {a} {b} {tcl_number(event.delay)}}}")
            continue
        for number, (name, flows) in enumerate(network.flows.items()):
            if event.flows in (None, name):
                if flows.access is None and len(access_hops(network, name)) > 1:
                    reason = (
                        f"the flows of {name} differ in base_rtt and have no access rate: ns-2 "
                        "shares access links among flows of one delay"
                    )
                    raise Unsupported("events", "a change of access links", reason)
                delays = tcl_list([tcl_number(hop) for hop in access_hops(changed, name)])
                lines.append(f"    {{{at} change_access {number} {delays}}}")
    return lines
