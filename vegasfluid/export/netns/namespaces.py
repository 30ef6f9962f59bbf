"""Network namespaces for a network: a router for each node, and hosts, joined by veth pairs.

The device of a router that sends into a link has a token bucket of the link's rate (`tc tbf`), and
in it the link's queue discipline. The bucket releases a packet when the link would begin to send
it, and holds the next one back for as long as that takes. So the packets in the bucket are those
that wait, and the time of transmission is missing: the hosts' delay (`tc netem`, half of it in each
direction) is the base RTT, with all times of propagation and transmission. `tc` counts the Ethernet
header, so rates and thresholds are those of packets that are 14 bytes longer.

Sources:
    ip-netns(8), ip-link(8), tc-tbf(8), tc-netem(8). Linux, net/sched: sch_tbf.c, sch_netem.c (with
    a rate, packets stay in order).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from vegasfluid.aqm.codel import CoDel
from vegasfluid.aqm.droptail import DropTail
from vegasfluid.aqm.fq import Fq
from vegasfluid.aqm.fq_codel import FqCoDel
from vegasfluid.aqm.pie import Pie
from vegasfluid.aqm.red import Red
from vegasfluid.aqm.step import StepMarking
from vegasfluid.export.codel_elsewhere import codel_in_tc
from vegasfluid.export.flow_queues_elsewhere import flow_queues_in_tc
from vegasfluid.export.pie_elsewhere import tc_words
from vegasfluid.export.red_in_tc import rounded_red
from vegasfluid.export.step_elsewhere import reject_step_in_linux
from vegasfluid.export.unsupported import require_discipline
from vegasfluid.network import Link, Network
from vegasfluid.quantities import bits_per_second

__all__ = ["ETHERNET", "Namespace", "Veth", "address_of", "delay_words", "queue_words"]

ETHERNET = 14
"""Bytes that tc counts in addition to a packet: the header of Ethernet."""
BURST = 86
"""Bytes by which the token bucket is larger than a packet (chosen: tc rounds the bucket)."""
ENDLESS = 1_000_000
"""Limit of netem's queue, packets; the limit of the token bucket's queue, bytes, is 1000 times this
number (chosen: never full)."""
FAST = "100gbit"
"""Rate with which netem keeps packets in order where it delays them at random (chosen)."""


@dataclass
class Namespace:
    """A namespace, and what has to be done in it.

    Args:
        name: its name, without the prefix that all have.
        is_router: whether it forwards packets.
        ip: commands of `ip`.
        tc: commands of `tc`.
    """

    name: str
    is_router: bool = False
    ip: list[str] = field(default_factory=list)
    tc: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Veth:
    """A pair of devices that joins two namespaces.

    Args:
        ends: the two namespaces.
        devices: names of the devices.
        subnet: number of a subnet of four addresses.
        mtu: largest packet, bytes.
    """

    ends: tuple[Namespace, Namespace]
    devices: tuple[str, str]
    subnet: int
    mtu: int

    def command(self, prefix: str) -> str:
        """The command of `ip` that makes the pair; all names of namespaces start with `prefix`."""
        first, second = (
            f"{device} netns {prefix}{end.name} mtu {self.mtu} address {hardware(self.subnet, i)}"
            for i, (end, device) in enumerate(zip(self.ends, self.devices, strict=True))
        )
        return f"link add {first} type veth peer name {second}"

    def connect(self) -> None:
        """Add the commands that give the devices their addresses, and switch them on."""
        for i, (end, device) in enumerate(zip(self.ends, self.devices, strict=True)):
            end.ip += [
                f"link set {device} gso_max_segs 1",
                f"address add {address_of(self.subnet, i)}/30 dev {device}",
                f"link set {device} up",
                f"neighbour add {address_of(self.subnet, 1 - i)} "
                f"lladdr {hardware(self.subnet, 1 - i)} nud permanent dev {device}",
            ]


def address_of(subnet: int, end: int) -> str:
    """Address of an end of a veth pair.

    Args:
        subnet: number of its subnet, below 2^22.
        end: 0 for the first end, 1 for the second.

    >>> address_of(64, 1)
    '10.0.1.2'
    """
    number = 4 * subnet + end + 1
    return f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}"


def hardware(subnet: int, end: int) -> str:
    """Hardware address (MAC) of an end of a veth pair: `02:00`, and the bytes of its IP address."""
    return "02:00:" + ":".join(f"{int(byte):02x}" for byte in address_of(subnet, end).split("."))


def microseconds(seconds: float) -> str:
    """A time (s) as tc reads it, in microseconds with up to three digits after the point.

    >>> microseconds(0.0015)
    '1500us'
    """
    return f"{round(seconds * 1e6, 3):.12g}us"


def rate_of(capacity: float, packet_bytes: int) -> str:
    """A rate (packets/s) as tc reads it, with the Ethernet header of each packet.

    >>> rate_of(1000.0, 1500)
    '12112000bit'
    """
    return f"{round(bits_per_second(capacity, packet_bytes + ETHERNET))}bit"


def delay_words(delay: float, noise: float, access: float | None, packet_bytes: int) -> str:
    """The queue discipline netem that delays packets, as words of tc.

    Args:
        delay: smallest delay, s.
        noise: largest random delay in addition, s; packets stay in order.
        access: rate of the access link, packets/s; None: unlimited.
        packet_bytes: size of a packet, bytes.

    >>> delay_words(0.01, 0.0, None, 1500)
    'netem limit 1000000 delay 10000us'
    """
    words = f"netem limit {ENDLESS} delay {microseconds(delay + noise / 2)}"
    if noise:
        words += f" {microseconds(noise / 2)}"
    if access is not None:
        return f"{words} rate {rate_of(access, packet_bytes)}"
    return f"{words} rate {FAST}" if noise else words


def queue_words(name: str, link: Link, network: Network) -> list[str]:
    """Queue disciplines of a device that sends into a link, as words of tc, the outer one first.

    Args:
        name: name of the link, for error messages.
        link: the link.
        network: its network.

    Raises:
        InvalidInput: for a queue discipline that Linux does not support.
    """
    frame = network.packet_bytes + ETHERNET
    rate = rate_of(link.capacity, network.packet_bytes)
    bucket = f"root handle 1: tbf rate {rate} burst {frame + BURST} limit {1000 * ENDLESS}"
    if isinstance(link.aqm, StepMarking):
        reject_step_in_linux(name)
    law = require_discipline(name, link, "Linux", (CoDel, DropTail, Fq, FqCoDel, Pie, Red))
    if isinstance(law, Red):
        inner = red_words(law, link, frame, rate)
    elif isinstance(law, CoDel):
        inner = codel_in_tc(law, link.buffer)
    elif isinstance(law, Fq | FqCoDel):
        inner = flow_queues_in_tc(law, link.buffer, network.packet_bytes)
    elif isinstance(law, Pie):
        inner = tc_words(law, link.buffer)
    else:
        inner = f"pfifo limit {int(link.buffer)}"
    return [bucket, f"parent 1:1 handle 10: {inner}"]


def red_words(law: Red, link: Link, frame: int, rate: str) -> str:
    """RED as words of tc.

    Args:
        law: RED of the model.
        link: its link.
        frame: size of a packet with the Ethernet header, bytes.
        rate: rate of the link as tc reads it.
    """
    red = rounded_red(law, link.buffer, frame)
    words = (
        f"red limit {red.limit} min {red.low} max {red.high} avpkt {red.average_packet} "
        f"burst {red.burst} probability {red.probability:.6g} bandwidth {rate}"
    )
    words += " adaptive" if law.adaptive else ""
    words += " ecn" if law.ecn else ""
    return words + (" harddrop" if law.ecn and law.hard_drop else "")
