"""Routers, hosts and links of a network as namespaces, with the flows that the hosts send."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from vegasfluid.errors import InvalidInput
from vegasfluid.export.netns.hosts import receiver_route, sender_route, window_bytes
from vegasfluid.export.netns.namespaces import (
    Namespace,
    Veth,
    address_of,
    delay_words,
    queue_words,
)
from vegasfluid.export.topology import Topology, build_topology
from vegasfluid.network import Network, UniformStart

__all__ = ["HEADERS", "Layout", "lay_out"]

HEADERS = 52
"""Headers of IPv4 and TCP with timestamps, bytes."""
PER_NODE = 1 << 14
"""Subnets of the hosts at a node, which together are 10.NODE.0.0/16."""
LINKS = 255
"""Number in place of a node's for the subnets of links between routers."""
FIRST_PORT = 5001
"""Port of the first flow (chosen)."""


@dataclass
class Layout:
    """Namespaces of a network, and its flows.

    Args:
        namespaces: routers and hosts.
        veths: pairs of devices that join them.
        flows: for each flow, what `traffic.py` has to know.
        links: for each link, its name, namespace and device, as `traffic.py` reads them.
    """

    namespaces: list[Namespace] = field(default_factory=list)
    veths: list[Veth] = field(default_factory=list)
    flows: list[dict[str, Any]] = field(default_factory=list)
    links: list[dict[str, str]] = field(default_factory=list)

    def add(self, name: str, is_router: bool = False) -> Namespace:
        """Add a namespace called `name`, and return it."""
        self.namespaces.append(Namespace(name, is_router))
        return self.namespaces[-1]

    def join(self, veth: Veth) -> None:
        """Add a pair of devices, with the commands that give them addresses."""
        self.veths.append(veth)
        veth.connect()


def lay_out(network: Network, controls: Mapping[str, str]) -> Layout:
    """Lay a network out in namespaces.

    Args:
        network: links, paths and flow classes, whose hosts are known.
        controls: the kernel's name of each class's congestion control.

    Returns:
        Namespaces with their commands, pairs of devices, flows and links.

    Raises:
        InvalidInput: for paths that are not shortest routes, queue disciplines that Linux does not
            support, or too many nodes or flows.
    """
    topology = build_topology(network, "Linux")
    if topology.nodes >= LINKS:
        raise InvalidInput("Network", "links", f"below {LINKS} nodes for Linux", topology.nodes)
    layout, mtu = Layout(), network.packet_bytes
    routers = [layout.add(f"r{node}", is_router=True) for node in range(topology.nodes)]
    for index, (name, link) in enumerate(network.links.items()):
        ends = tuple(routers[node] for node in topology.links[name])
        device = f"link{index}"
        layout.join(Veth((ends[0], ends[1]), (device, device), LINKS * PER_NODE + index, mtu))
        for end in ends if network.two_way else ends[:1]:
            words = queue_words(name, link, network)
            end.tc += [f"qdisc add dev {device} {discipline}" for discipline in words]
        layout.links.append({"name": name, "namespace": ends[0].name, "device": device})
    add_routes(topology, list(network.links), routers)
    hosts: Counter[int] = Counter()
    for index, name in enumerate(network.flows):
        add_class(layout, network, topology, index, name, controls[name], routers, hosts)
    if max(hosts.values()) > PER_NODE:
        raise InvalidInput("Network", "flows", f"below {PER_NODE} hosts for Linux", max(hosts))
    return layout


def add_routes(topology: Topology, links: list[str], routers: list[Namespace]) -> None:
    """Add to each router the routes to the hosts of all other nodes.

    Args:
        topology: nodes of the links.
        links: names of the links, in the order of their subnets.
        routers: the router of each node.
    """
    neighbours: dict[int, list[tuple[int, str]]] = {node: [] for node in range(topology.nodes)}
    for index, name in enumerate(links):
        first, second = topology.links[name]
        subnet = LINKS * PER_NODE + index
        neighbours[first].append((second, address_of(subnet, 1)))
        neighbours[second].append((first, address_of(subnet, 0)))
    for node, router in enumerate(routers):
        reached, border = {node: ""}, [node]
        while border:
            found = [
                (other, reached[near] or gateway)
                for near in border
                for other, gateway in neighbours[near]
                if other not in reached
            ]
            reached |= dict(found)
            border = list(dict.fromkeys(other for other, _ in found))
        router.ip += [
            f"route add 10.{other}.0.0/16 via {gateway}"
            for other, gateway in reached.items()
            if gateway
        ]


def add_class(
    layout: Layout,
    network: Network,
    topology: Topology,
    index: int,
    name: str,
    control: str,
    routers: list[Namespace],
    hosts: Counter[int],
) -> None:
    """Add the hosts and flows of one class.

    Flows of one base RTT without access rates share a host; all receivers are one host.

    Args:
        layout: what they are added to.
        network: the network.
        topology: nodes at the ends of the class's path.
        index: index of the class.
        name: its name.
        control: the kernel's name of its congestion control.
        routers: the router of each node.
        hosts: number of hosts at each node so far.
    """
    flows, segment = network.flows[name], network.packet_bytes - HEADERS
    ends = topology.routes[name]
    enter, leave = ends if flows.direction == "forward" else (ends[1], ends[0])

    def host(host_name: str, device: str, node: int, route: str) -> tuple[Namespace, int]:
        """Add a host at a node with a default route; returns it and the number of its subnet."""
        made, subnet = layout.add(host_name), node * PER_NODE + hosts[node]
        hosts[node] += 1
        pair = (made, routers[node])
        layout.join(Veth(pair, ("eth0", device), subnet, network.packet_bytes))
        made.ip.append(f"route add default via {address_of(subnet, 1)}{route}")
        return made, subnet

    receiver, subnet = host(f"d{index}", f"d{index}", leave, receiver_route(flows))
    senders: dict[Any, Namespace] = {}
    noise = network.send_overhead(name)
    for number, rtt in enumerate(network.base_rtts(name)):
        key = number if flows.access is not None else rtt
        if key not in senders:
            label = f"h{index}-{len(senders)}"
            senders[key], _ = host(label, label, enter, sender_route(flows))
            delay = one_way_delay(network, name, rtt)
            size = network.packet_bytes
            forward = delay_words(delay, noise, flows.access, size)
            backward = delay_words(delay, 0.0, flows.access, size)
            senders[key].tc.append(f"qdisc add dev eth0 root {forward}")
            routers[enter].tc.append(f"qdisc add dev {label} root {backward}")
        layout.flows.append(
            {
                "class": index,
                "control": control,
                "from": senders[key].name,
                "to": receiver.name,
                "address": address_of(subnet, 0),
                "port": FIRST_PORT + number,
                "start": start_of(network, name, number),
                "window_bytes": window_bytes(flows, segment),
            }
        )


def one_way_delay(network: Network, name: str, rtt: float) -> float:
    """Delay of netem in each direction, s: half of a flow's base RTT.

    Without what netem adds itself: a packet's and its ACK's transmission at the access rate.

    Args:
        network: the network.
        name: name of the class.
        rtt: base RTT of the flow, propagation and transmission, s.
    """
    access = network.flows[name].access
    added = 0.0 if access is None else (1 + network.ack_size(name)) / access
    return (rtt - added) / 2


def start_of(network: Network, name: str, number: int) -> float | dict[str, float]:
    """Start time of flow `number` of class `name`, s, or `{"spread": latest}` if it is random."""
    start = network.flows[name].start
    if isinstance(start, UniformStart):
        return {"spread": float(start.spread)}
    return float(start[number] if isinstance(start, tuple) else start)
