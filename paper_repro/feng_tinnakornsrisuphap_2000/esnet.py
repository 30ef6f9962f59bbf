"""The network of tables 1 to 4: two laboratories, a switch between them, and the cloud behind it.

    LANL hosts - LANL router - ABQ switch - SNL router - SNL hosts
                                   |
                            outside sources

A router's queue towards the switch holds 33554 packets (44739 in the proposed network), a port of
the switch holds 2315 towards each site. A link of ours has the same queue both ways. So each
stretch of line between a router and the switch is two links in a row: on the way in the router's
queue fills, for the port behind it is as fast; on the way out the port's does. The time to send a
packet once more than the paper's network does is taken off the propagation.
"""

from __future__ import annotations

from dataclasses import dataclass

import vegasfluid as vf
from vegasfluid.aqm.base import QueueDiscipline
from vegasfluid.congestion.base import CongestionControl

__all__ = [
    "ACK_BYTES", "CURRENT", "DURATION", "MEASURED_ROUND_TRIP", "PACKET_BYTES", "PROPOSED",
    "ROUTERS", "SITES", "SWITCH_PORTS", "Setting", "Topology", "law_named", "network_of",
    "theoretical_cov",
]  # fmt: skip

PACKET_BYTES, ACK_BYTES = 1500, 40
DURATION = 200.0
"""s: table 1, total test time."""
MEASURED_ROUND_TRIP = vf.ms(4.6)
"""Table 1, round-trip propagation delay: the width of the bins of the c.o.v."""
SWITCH_BUFFER = 2315
MEAN_SESSION_GAP, MEAN_SESSION_MB = 0.25, 2.0
"""Tables 3 and 4: s between two outside sessions, and MB in one."""
SESSION_SHAPE = 1.5
"""Not given for sessions; the shape that tables 3 and 4 give for on and off times."""
SESSION_FLOWS = 150
"""Outside sources for each site. Each takes its sessions one after the other, so that with many
sources hardly a session waits for another."""
SITES = ("lanl", "snl")
ROUTERS = ("lanl_router", "snl_router_reverse")
"""Where the data of LANL's and of SNL's clients enter, as a trajectory names its queues."""
SWITCH_PORTS = ("snl_port", "lanl_port_reverse")
"""Where data leave the switch, towards SNL and towards LANL."""


@dataclass(frozen=True)
class Topology:
    """A column of tables 1 and 3, or of 2 and 4."""

    name: str
    lan_mbps: float
    wan_mbps: float
    lanl_lan_ms: float
    """LANL network delay, and that of its FDDI to ATM interface."""
    router_buffer: int
    red_thresholds: tuple[int, int]
    max_window: int
    packet_interval_ms: float
    """Mean time between two packets of a client."""
    lanl_line_ms: float = 1.21
    snl_line_ms: float = 0.13
    snl_lan_ms: float = 0.287
    outside_ms: float = 10.0

    @property
    def propagation(self) -> float:
        """There and back between a LANL and an SNL host, s: the sum of the table's delays."""
        one_way = self.lanl_lan_ms + self.lanl_line_ms + self.snl_line_ms + self.snl_lan_ms
        return vf.ms(2 * one_way)

    @property
    def client_rate(self) -> float:
        """Packets/s of a client."""
        return 1 / vf.ms(self.packet_interval_ms)

    @property
    def bandwidth_delay(self) -> float:
        """Packets that the line holds in a round trip."""
        return vf.mbps(self.wan_mbps) * MEASURED_ROUND_TRIP


CURRENT = Topology(
    "current", lan_mbps=100, wan_mbps=155, lanl_lan_ms=0.3385 + 0.3315, router_buffer=33554,
    red_thresholds=(6711, 26843), max_window=10_000, packet_interval_ms=4.0,
)  # fmt: skip
PROPOSED = Topology(
    "proposed", lan_mbps=1000, wan_mbps=622, lanl_lan_ms=0.67, router_buffer=44739,
    red_thresholds=(8948, 35791), max_window=100_000, packet_interval_ms=0.8,
)  # fmt: skip


@dataclass(frozen=True)
class Setting:
    """A network of the paper, and how we read what the paper leaves open."""

    topology: Topology
    law: str
    clients: int
    """At each site."""
    queue: str = "fifo"
    """Of the routers: fifo or red."""
    outside: str | None = None
    """The law of the outside sources; None: the clients'; "none": there are no such sources."""
    session_gap: float = MEAN_SESSION_GAP
    """Mean time between two sessions that go to one site, s."""
    session_shape: float = SESSION_SHAPE
    both_send: bool = True
    """Whether SNL's clients send, too."""
    traced: bool = False
    """Whether each LANL client is a class of its own, so that its window can be followed."""


def law_named(name: str) -> CongestionControl:
    """Reno as ns-2 has it, or as RFC 7661 mends it, or Vegas as in table 1."""
    if name == "vegas":
        return vf.Vegas(alpha=1, beta=3, gamma=1, dialect="ns2")
    return vf.Reno(validates=name == "reno_validated")


def theoretical_cov(topology: Topology, clients: int) -> float:
    """Equation 1: of so many Poisson sources, in a round trip.

    >>> round(theoretical_cov(CURRENT, 2), 3)
    0.659
    """
    return (topology.client_rate * clients * MEASURED_ROUND_TRIP) ** -0.5


def router_law(setting: Setting) -> QueueDiscipline:
    """What the routers do with their queues."""
    if setting.queue == "fifo":
        return vf.DropTail()
    low, high = setting.topology.red_thresholds
    return vf.Red(min_thresh=low, max_thresh=high)


def links_of(setting: Setting) -> dict[str, vf.Link]:
    """The lines; a site's line is a router's and a port's link in a row."""
    of = setting.topology
    rate, router = vf.mbps(of.wan_mbps), router_law(setting)
    links = {}
    for site, delay in zip(SITES, (of.lanl_line_ms, of.snl_line_ms), strict=True):
        links[f"{site}_router"] = vf.Link(rate, of.router_buffer, aqm=router)
        links[f"{site}_port"] = vf.Link(rate, SWITCH_BUFFER, delay=vf.ms(delay))
    if setting.outside != "none":
        links["outside"] = vf.Link(rate, of.router_buffer, delay=vf.ms(of.outside_ms))
    return links


def excess_sending(setting: Setting) -> float:
    """The time to send a packet and its ACK over the two links that ours has too many, s."""
    return 2 * (1 + ACK_BYTES / PACKET_BYTES) / vf.mbps(setting.topology.wan_mbps)


def outside_flows(setting: Setting) -> dict[str, vf.Flows]:
    """Sessions to each site, over the outside link."""
    of = setting.topology
    law = law_named(setting.outside or setting.law)
    gap = setting.session_gap * SESSION_FLOWS
    traffic = vf.Sessions(gap, MEAN_SESSION_MB, setting.session_shape, overlapping=True)
    paths = {
        "snl": ("outside", "snl_port", "snl_router"),
        "lanl": ("lanl_router", "lanl_port", "outside"),
    }
    own = {"snl": of.snl_line_ms + of.snl_lan_ms, "lanl": of.lanl_line_ms + of.lanl_lan_ms}
    return {
        f"outside_{site}": vf.Flows(
            SESSION_FLOWS, law, base_rtt=vf.ms(2 * (of.outside_ms + own[site])), traffic=traffic,
            path=paths[site], max_window=of.max_window, send_overhead=0.0,
            direction="forward" if site == "snl" else "reverse",
        )
        for site in SITES
    }  # fmt: skip


def client_flows(setting: Setting) -> dict[str, vf.Flows]:
    """The clients of both sites, each with its host at the other one."""
    of, path = setting.topology, ("lanl_router", "lanl_port", "snl_port", "snl_router")
    classes = {}
    for site in SITES if setting.both_send else SITES[:1]:
        one_by_one = setting.traced and site == "lanl"
        names = [f"lanl_{i}" for i in range(setting.clients)] if one_by_one else [site]
        for name in names:
            classes[name] = vf.Flows(
                1 if one_by_one else setting.clients,
                law_named(setting.law),
                base_rtt=of.propagation - excess_sending(setting),
                access=vf.mbps(of.lan_mbps),
                traffic=vf.Poisson(vf.ms(of.packet_interval_ms)),
                path=path,
                max_window=of.max_window,
                send_overhead=0.0,
                direction="forward" if site == "lanl" else "reverse",
            )
    return classes


def network_of(setting: Setting) -> vf.Network:
    """A setting as a network.

    The outside sources come first, so that a seed gives them the same sessions for any number of
    clients.
    """
    outside = {} if setting.outside == "none" else outside_flows(setting)
    return vf.Network(links_of(setting), outside | client_flows(setting), PACKET_BYTES, ACK_BYTES)
