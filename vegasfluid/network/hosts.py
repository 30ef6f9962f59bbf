"""What end hosts do besides their congestion control: windows, ACKs, timers, loss recovery.

A class of flows is on one kind of host, at both ends. A value that the class gives itself counts
more than its host's. Packets have the size of `Network.packet_bytes` on the wire on every host,
headers and options included.

Sources:
    Linux 6.1: include/net/tcp.h (TCP_INIT_CWND, TCP_INFINITE_SSTHRESH, TCP_RTO_MIN,
    TCP_TIMEOUT_INIT, TCP_ATO_MIN, TCP_MAX_QUICKACKS, TCPOLEN_TSTAMP_ALIGNED, tcp_is_cwnd_limited),
    net/ipv4/tcp_ipv4.c (tcp_sk_init: SACK, RACK, tail loss probes and timestamps are on),
    tcp_cong.c (tcp_slow_start and tcp_cong_avoid_ai count packets). Its delayed-ACK timer adapts
    from 40 to 200 ms; a bulk transfer keeps it at 40 ms.
    FreeBSD 14: sys/netinet/tcp_timer.h (TCPTV_MIN, TCPTV_CPU_VAR, TCPTV_RTOBASE, TCPTV_DELACK),
    cc_newreno.c (CCF_CWND_LIMITED); defaults of net.inet.tcp.initcwnd_segments, rfc3465 (byte
    counting), sack.enable and rfc1323 (timestamps).
    ns-2.35: tcl/lib/ns-default.tcl (minrto_, rtxcur_init_, packetSize_ of Agent/TCPSink, which
    acknowledges each packet). An initial window of 2 packets is its default since May 2001; the
    published experiments and the reference runs used one packet (windowInit_ 1).
    ns-3.44, unchanged since 3.37: defaults of the attributes of ns3::TcpSocket, ns3::TcpSocketBase
    and ns3::RttEstimator; tcp-linux-reno.cc (counts packets; 3.44 validates the window).
    Textbook: RFC 5681, section 3.1 (a high initial ssthresh); RFC 6298, section 2 (timer of 3 s
    before the first sample in RFC 2988). Headers of 20 bytes each: RFC 791, section 3.1, and RFC
    9293, section 3.1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Ge, Le

from vegasfluid.limits import Largest
from vegasfluid.quantities import Delay, Packets, Positive, Seconds, Value

__all__ = ["HEADER_BYTES", "HOSTS", "LARGEST_RTO", "TEXTBOOK", "Host", "HostName"]

HEADER_BYTES = 52
"""Headers of IPv4 and of TCP with the timestamps of RFC 7323, bytes."""
LARGEST_RTO = Largest(1e5, "a timer may grow to 64 times as much, on a clock of 64 bits")
"""Largest retransmission timeout before backoff, s (ns-2.35: `maxrto_`)."""

HostName = Literal["linux", "freebsd", "ns2", "ns3", "textbook"]
"""Name of a kind of host in model files."""


@dataclass(frozen=True)
class Host(Value):
    """What an end host does besides its congestion control.

    >>> HOSTS["linux"].initial_window, HOSTS["linux"].ack_bytes
    (10, 52)
    """

    name: HostName
    """Name in model files."""
    initial_window: Annotated[Packets, Ge(1)]
    """Initial congestion window, packets."""
    initial_ssthresh: Annotated[Packets, Ge(2)]
    """Window at which the first slow start ends (the initial ssthresh), packets."""
    min_rto: Annotated[Seconds, Positive, LARGEST_RTO]
    """Lower bound of the retransmission timeout, s."""
    initial_rto: Annotated[Seconds, Positive, LARGEST_RTO]
    """Retransmission timeout before the first round-trip sample, s."""
    delayed_ack: Delay
    """Delayed-ACK timer of the receiver, s; 0: every packet is acknowledged at once."""
    quick_acks: Annotated[int, Ge(0), Le(1_000_000_000)]
    """Packets at the start of a connection that are acknowledged at once."""
    ack_bytes: Annotated[int, Ge(1), Le(65535)]
    """Size of an acknowledgement on the wire, bytes; 52: with the timestamps of RFC 7323."""
    recovery: str | None
    """Loss recovery of congestion controls that have a choice, such as `sack`; None: each control
    has its own default (reno for Reno, sack for CUBIC, DCTCP, HighSpeed and Scalable)."""
    implementation: str | None
    """Implementation of congestion controls that have several (CUBIC); None: `rfc9438`."""
    byte_counting: bool
    """Whether windows grow by the number of packets acknowledged, not of ACKs (RFC 3465)."""
    validates: bool
    """Whether windows grow only while they limit the sender (RFC 7661)."""


TEXTBOOK = Host(
    name="textbook",
    initial_window=1,
    initial_ssthresh=1e5,
    min_rto=0.2,
    initial_rto=3,
    delayed_ack=0,
    quick_acks=0,
    ack_bytes=40,
    recovery=None,
    implementation=None,
    byte_counting=False,
    validates=False,
)
"""A host as papers describe it: it acknowledges each packet and has no options."""

NS2 = Host(
    name="ns2",
    initial_window=1,
    initial_ssthresh=1e5,
    min_rto=0.2,
    initial_rto=3,
    delayed_ack=0,
    quick_acks=0,
    ack_bytes=40,
    recovery=None,  # one agent for each scheme
    implementation="ns2",
    byte_counting=False,
    validates=False,
)
"""Agents of ns-2.35 with a sink that acknowledges each packet."""

LINUX = Host(
    name="linux",
    initial_window=10,
    initial_ssthresh=0x7FFFFFFF,
    min_rto=0.2,
    initial_rto=1,
    delayed_ack=0.04,
    quick_acks=16,
    ack_bytes=HEADER_BYTES,
    recovery="rack",
    implementation="linux",
    byte_counting=True,
    validates=True,
)
"""Linux 6.1 with its defaults."""

FREEBSD = Host(
    name="freebsd",
    initial_window=10,
    initial_ssthresh=(65535 << 14) // 1448,  # TCP_MAXWIN << TCP_MAX_WINSHIFT, in bytes
    min_rto=0.2,  # rexmit_slop, which every timeout includes; rexmit_min is 30 ms
    initial_rto=1,
    delayed_ack=0.04,
    quick_acks=0,
    ack_bytes=HEADER_BYTES,
    recovery="sack",
    implementation=None,
    byte_counting=True,
    validates=True,
)
"""FreeBSD 14 with its defaults."""

NS3 = Host(
    name="ns3",
    initial_window=10,
    initial_ssthresh=(2**32 - 1) // 1448,  # the largest number of 32 bits, in bytes
    min_rto=1,
    initial_rto=1,
    delayed_ack=0.2,
    quick_acks=0,
    ack_bytes=HEADER_BYTES,
    recovery="sack",
    implementation="ns3",
    byte_counting=True,
    validates=True,
)
"""Sockets of ns-3.37 to 3.44 with their defaults."""

HOSTS: Mapping[str, Host] = {host.name: host for host in (LINUX, FREEBSD, NS2, NS3, TEXTBOOK)}
"""The kinds of hosts, by their names in model files."""
