"""The network of tables 1 to 4: two laboratories, the switch between them, and outside sources.

    LANL hosts - LANL router - ABQ switch - SNL router - SNL hosts
                                   |
                            outside sources

A router's queue towards the switch holds 33554 packets (44739 in the proposed network), a port of
the switch 2315 towards each site. Our links have the same buffer in both directions. So the line
between a router and the switch is two links in series: towards the switch the router's queue
fills, because the port behind it is as fast; away from it the port's queue fills. The
propagation delay is shorter by the sending time of the additional link.
"""

from __future__ import annotations

from dataclasses import dataclass

import vegasfluid as vf
from vegasfluid.aqm.base import QueueDiscipline
from vegasfluid.congestion.base import CongestionControl

__all__ = [
    "ACK_BYTES", "CURRENT", "DURATION", "MEASURED_ROUND_TRIP", "PACKET_BYTES", "PROPOSED",
    "ROUTERS", "SITES", "SWITCH_BUFFER", "SWITCH_PORTS", "Setting", "Topology",
    "law_named", "network_of", "theoretical_cov",
]  # fmt: skip

PACKET_BYTES = 1500
"""Size of a data packet, bytes (table 1)."""
ACK_BYTES = 40
"""Size of an ACK, bytes."""
DURATION = 200.0
"""Total test time of table 1, s."""
MEASURED_ROUND_TRIP = vf.ms(4.6)
"""Round-trip propagation delay of table 1, s: the bin width of the c.o.v."""
SWITCH_BUFFER = 2315
"""Buffer of a port of the switch, packets (tables 1 and 2)."""
MEAN_SESSION_GAP = 0.25
"""Mean time between two outside sessions, s (tables 3 and 4)."""
MEAN_SESSION_MB = 2.0
"""Mean size of an outside session, MB (tables 3 and 4)."""
SESSION_SHAPE = 1.5
"""Pareto shape of session sizes; tables 3 and 4 give it for on and off times only."""
SESSION_FLOWS = 150
"""Outside sources for each site. A source sends one session after the other; with so many, sessions
hardly wait."""
SITES = ("lanl", "snl")
"""The two laboratories, by the names of their flow classes."""
ROUTERS = ("lanl_router", "snl_router_reverse")
"""Queues, as named in a trajectory, at which data of LANL's and SNL's clients enter."""
SWITCH_PORTS = ("snl_port", "lanl_port_reverse")
"""Queues, as named in a trajectory, at which data leave the switch towards SNL and LANL."""


@dataclass(frozen=True)
class Topology:
    """Parameters of the current (tables 1 and 3) or the proposed network (tables 2 and 4)."""

    name: str
    lan_mbps: float
    """Capacity of the hosts' links, Mbit/s."""
    wan_mbps: float
    """Capacity of the lines between routers and switch, Mbit/s."""
    lanl_lan_ms: float
    """One-way delay of LANL's network with its FDDI to ATM interface, ms."""
    router_buffer: int
    """Buffer of a router, packets."""
    red_thresholds: tuple[int, int]
    """RED's lower and upper threshold in the routers, packets."""
    max_window: int
    """Largest window of a sender, packets."""
    packet_interval_ms: float
    """Mean time between two packets of a client, ms."""
    lanl_line_ms: float = 1.21
    """One-way delay between LANL's router and the switch, ms."""
    snl_line_ms: float = 0.13
    """One-way delay between SNL's router and the switch, ms."""
    snl_lan_ms: float = 0.287
    """One-way delay of SNL's network, ms."""
    outside_ms: float = 10.0
    """One-way delay between the switch and the outside sources, ms."""

    @property
    def propagation(self) -> float:
        """Round-trip propagation delay between a LANL and an SNL host, s."""
        one_way = self.lanl_lan_ms + self.lanl_line_ms + self.snl_line_ms + self.snl_lan_ms
        return vf.ms(2 * one_way)

    @property
    def client_rate(self) -> float:
        """Mean rate of a client, packets/s."""
        return 1 / vf.ms(self.packet_interval_ms)

    @property
    def bandwidth_delay(self) -> float:
        """Bandwidth-delay product of a line, packets."""
        return vf.mbps(self.wan_mbps) * MEASURED_ROUND_TRIP


CURRENT = Topology(
    "current", lan_mbps=100, wan_mbps=155, lanl_lan_ms=0.3385 + 0.3315, router_buffer=33554,
    red_thresholds=(6711, 26843), max_window=10_000, packet_interval_ms=4.0,
)  # fmt: skip
"""The current ESnet, tables 1 and 3."""
PROPOSED = Topology(
    "proposed", lan_mbps=1000, wan_mbps=622, lanl_lan_ms=0.67, router_buffer=44739,
    red_thresholds=(8948, 35791), max_window=100_000, packet_interval_ms=0.8,
)  # fmt: skip
"""The proposed ESnet, tables 2 and 4."""


@dataclass(frozen=True)
class Setting:
    """A network of the paper, with a reading of what the paper leaves open."""

    topology: Topology
    law: str
    """Congestion control of the clients, as `law_named` takes it."""
    clients: int
    """Number of clients at each site."""
    queue: str = "fifo"
    """Queue discipline of the routers: `fifo` or `red`."""
    outside: str | None = None
    """Congestion control of the outside sources; None: the clients'; `none`: no outside sources."""
    session_gap: float = MEAN_SESSION_GAP
    """Mean time between two sessions to one site, s."""
    session_shape: float = SESSION_SHAPE
    """Pareto shape of session sizes."""
    both_send: bool = True
    """Whether SNL's clients send as well as LANL's."""
    traced: bool = False
    """Whether each LANL client is a separate flow class, so that its window is recorded."""


def law_named(name: str) -> CongestionControl:
    """Return Vegas as in table 1, Reno as in ns-2, or Reno with RFC 7661 (`reno_validated`)."""
    if name == "vegas":
        return vf.Vegas(alpha=1, beta=3, gamma=1, dialect="ns2")
    return vf.Reno(validates=name == "reno_validated")


def theoretical_cov(topology: Topology, clients: int) -> float:
    """Return the c.o.v. of the arrivals of Poisson sources in a round trip (equation 1).

    >>> round(theoretical_cov(CURRENT, 2), 3)
    0.659
    """
    return (topology.client_rate * clients * MEASURED_ROUND_TRIP) ** -0.5


def router_law(setting: Setting) -> QueueDiscipline:
    """Return the queue discipline of the routers."""
    if setting.queue == "fifo":
        return vf.DropTail()
    low, high = setting.topology.red_thresholds
    return vf.Red(min_thresh=low, max_thresh=high)


def links_of(setting: Setting) -> dict[str, vf.Link]:
    """Return the links by name; the line of a site is a router's and a port's link in series."""
    topology = setting.topology
    rate, router = vf.mbps(topology.wan_mbps), router_law(setting)
    links = {}
    for site, delay in zip(SITES, (topology.lanl_line_ms, topology.snl_line_ms), strict=True):
        links[f"{site}_router"] = vf.Link(rate, topology.router_buffer, aqm=router)
        links[f"{site}_port"] = vf.Link(rate, SWITCH_BUFFER, delay=vf.ms(delay))
    if setting.outside != "none":
        links["outside"] = vf.Link(rate, topology.router_buffer, delay=vf.ms(topology.outside_ms))
    return links


def excess_sending(setting: Setting) -> float:
    """Return the time that a packet and its ACK take on the two additional links, s."""
    return 2 * (1 + ACK_BYTES / PACKET_BYTES) / vf.mbps(setting.topology.wan_mbps)


def outside_flows(setting: Setting) -> dict[str, vf.Flows]:
    """Return the outside sessions to each site."""
    topology = setting.topology
    law = law_named(setting.outside or setting.law)
    gap = setting.session_gap * SESSION_FLOWS
    traffic = vf.Sessions(gap, MEAN_SESSION_MB, setting.session_shape, overlapping=True)
    paths = {
        "snl": ("outside", "snl_port", "snl_router"),
        "lanl": ("lanl_router", "lanl_port", "outside"),
    }
    round_trip = {
        "snl": vf.ms(2 * (topology.outside_ms + (topology.snl_line_ms + topology.snl_lan_ms))),
        "lanl": vf.ms(2 * (topology.outside_ms + (topology.lanl_line_ms + topology.lanl_lan_ms))),
    }
    return {
        f"outside_{site}": vf.Flows(
            SESSION_FLOWS, law, base_rtt=round_trip[site], traffic=traffic,
            path=paths[site], max_window=topology.max_window, send_overhead=0.0,
            direction="forward" if site == "snl" else "reverse",
        )
        for site in SITES
    }  # fmt: skip


def client_flows(setting: Setting) -> dict[str, vf.Flows]:
    """Return the clients of both sites; each sends to a host at the other site."""
    topology, path = setting.topology, ("lanl_router", "lanl_port", "snl_port", "snl_router")
    classes = {}
    for site in SITES if setting.both_send else SITES[:1]:
        one_by_one = setting.traced and site == "lanl"
        names = [f"lanl_{i}" for i in range(setting.clients)] if one_by_one else [site]
        for name in names:
            classes[name] = vf.Flows(
                1 if one_by_one else setting.clients,
                law_named(setting.law),
                base_rtt=topology.propagation - excess_sending(setting),
                access=vf.mbps(topology.lan_mbps),
                traffic=vf.Poisson(vf.ms(topology.packet_interval_ms)),
                path=path,
                max_window=topology.max_window,
                send_overhead=0.0,
                direction="forward" if site == "lanl" else "reverse",
            )
    return classes


def network_of(setting: Setting) -> vf.Network:
    """Return the network of a setting.

    The outside sources come first, so that a seed gives them the same sessions for any number of
    clients.
    """
    outside = {} if setting.outside == "none" else outside_flows(setting)
    return vf.Network(links_of(setting), outside | client_flows(setting), PACKET_BYTES, ACK_BYTES)
