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
from vegasfluid.network.hosts import HEADER_BYTES

__all__ = ["Layout", "layout_of"]

PER_NODE = 1 << 14
"""Number of subnets for the hosts at a node, which together are 10.NODE.0.0/16."""
LINKS = 255
"""Value of NODE in addresses of links between routers, 10.255.0.0/16; nodes have lower numbers."""
FIRST_PORT = 5001
"""Port of the first flow (chosen)."""


@dataclass
class Layout:
    """Namespaces of a network, and its flows.

    Args:
        namespaces: routers and hosts.
        veths: pairs of devices that join them.
        flows: for each flow what `traffic.py` reads: `class` (index), `control`, `from` and `to`
            (namespaces), `address`, `port`, `start` (s) and `window_bytes`.
        links: for each link what `traffic.py` reads: `name`, `namespace` and `device`.
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


def layout_of(network: Network, controls: Mapping[str, str]) -> Layout:
    """Lay a network out in namespaces.

    Args:
        network: links, paths and flow classes, whose hosts are known.
        controls: the kernel's name of each class's congestion control.

    Returns:
        Namespaces with their commands, pairs of devices, flows and links.

    Raises:
        InvalidInput: for paths that are not the only shortest routes, queue disciplines that Linux
            does not support, or too many nodes, or hosts at a node.
    """
    topology = build_topology(network, "Linux")
    if topology.nodes >= LINKS:
        raise InvalidInput("Network", "links", f"below {LINKS} nodes for Linux", topology.nodes)
    layout = Layout()
    routers = [layout.add(f"r{node}", is_router=True) for node in range(topology.nodes)]
    for index, (name, link) in enumerate(network.links.items()):
        first, second = (routers[node] for node in topology.links[name])
        device, subnet = f"link{index}", LINKS * PER_NODE + index
        layout.join(Veth((first, second), (device, device), subnet, network.packet_bytes))
        for end in (first, second) if network.two_way else (first,):
            words = queue_words(name, link, network)
            end.tc += [f"qdisc add dev {device} {discipline}" for discipline in words]
        layout.links.append({"name": name, "namespace": first.name, "device": device})
    add_routes(topology, list(network.links), routers)
    hosts = Hosts(layout, network, topology, routers)
    for index, name in enumerate(network.flows):
        hosts.add_class(index, name, controls[name])
    most = max(hosts.counts.values())
    if most > PER_NODE:
        raise InvalidInput("Network", "flows", f"at most {PER_NODE} hosts for Linux", most)
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


@dataclass
class Hosts:
    """Adds the hosts and flows of a network to a layout.

    Args:
        layout: what they are added to.
        network: the network.
        topology: nodes at the ends of the paths.
        routers: the router of each node.
        counts: number of hosts at each node so far.
    """

    layout: Layout
    network: Network
    topology: Topology
    routers: list[Namespace]
    counts: Counter[int] = field(default_factory=Counter)

    def add(self, name: str, node: int, route: str) -> tuple[Namespace, int]:
        """Add a host at a node; returns it and the number of its subnet.

        Args:
            name: its name, and that of the router's device to it.
            node: the node.
            route: attributes of its default route.
        """
        host, subnet = self.layout.add(name), node * PER_NODE + self.counts[node]
        self.counts[node] += 1
        ends = (host, self.routers[node])
        self.layout.join(Veth(ends, ("eth0", name), subnet, self.network.packet_bytes))
        host.ip.append(f"route add default via {address_of(subnet, 1)}{route}")
        return host, subnet

    def add_sender(self, label: str, node: int, name: str, rtt: float) -> Namespace:
        """Add a host that sends flows of class `name` with a base RTT (s), and return it.

        The host's `netem` delays its data, and the router's `netem` the ACKs to it.

        Args:
            label: name of the host.
            node: node of its router.
            name: name of the class.
            rtt: base RTT of its flows, s.
        """
        flows, size = self.network.flows[name], self.network.packet_bytes
        host, _ = self.add(label, node, sender_route(flows))
        delay, noise = one_way_delay(self.network, name, rtt), self.network.send_overhead(name)
        forward, backward = (
            delay_words(delay, random, flows.access, size) for random in (noise, 0.0)
        )
        host.tc.append(f"qdisc add dev eth0 root {forward}")
        self.routers[node].tc.append(f"qdisc add dev {label} root {backward}")
        return host

    def add_class(self, index: int, name: str, control: str) -> None:
        """Add the hosts and flows of one class.

        Without an access rate, flows of one base RTT share a host. All receivers are one host.

        Args:
            index: index of the class.
            name: its name.
            control: the kernel's name of its congestion control.
        """
        flows = self.network.flows[name]
        enter, leave = self.topology.routes[name]
        if flows.direction == "reverse":
            enter, leave = leave, enter
        receiver, subnet = self.add(f"d{index}", leave, receiver_route(flows))
        senders: dict[float, Namespace] = {}
        for number, rtt in enumerate(self.network.base_rtts(name)):
            key = rtt if flows.access is None else number
            if key not in senders:
                senders[key] = self.add_sender(f"h{index}-{len(senders)}", enter, name, rtt)
            self.layout.flows.append(
                {
                    "class": index,
                    "control": control,
                    "from": senders[key].name,
                    "to": receiver.name,
                    "address": address_of(subnet, 0),
                    "port": FIRST_PORT + number,
                    "start": start_of(self.network, name, number),
                    "window_bytes": window_bytes(flows, self.network.packet_bytes - HEADER_BYTES),
                }
            )


def one_way_delay(network: Network, name: str, rtt: float) -> float:
    """Delay of netem in each direction, s: half of a flow's base RTT.

    The transmission times of a packet and its ACK at the access rate are subtracted from the base
    RTT, as netem adds them itself.

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
