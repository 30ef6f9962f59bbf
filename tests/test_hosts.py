"""Hosts: their values by their sources, the host of a class, and what the engines do with it."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

from vegasfluid.congestion.cubic import Cubic
from vegasfluid.congestion.highspeed import HighSpeed
from vegasfluid.congestion.newreno import NewReno
from vegasfluid.congestion.reno import Reno
from vegasfluid.congestion.scalable import Scalable
from vegasfluid.congestion.unresponsive import Unresponsive
from vegasfluid.congestion.vegas import Vegas
from vegasfluid.congestion.vegas_rerouting import VegasRerouting
from vegasfluid.errors import InvalidInput
from vegasfluid.fluid import build, simulate_fluid
from vegasfluid.fluid.parameters import build_parameters
from vegasfluid.network import HOSTS, Event, Flows, Link, Network
from vegasfluid.packet import simulate_packets
from vegasfluid.packet.initial_state import initial_state
from vegasfluid.traffic.poisson import Poisson

LINK = Link(1000.0, 200)
IP, TCP, TIMESTAMPS = 20, 20, 12
"""Bytes of headers without options (RFC 791, RFC 9293) and of the padded option of RFC 7323."""
MSS = 1500 - IP - TCP - TIMESTAMPS


def on(*laws: Any, **fields: Any) -> Network:
    """A network with a class for each congestion control, named by its place."""
    return Network(
        LINK, {f"{i}": Flows(1, law, base_rtt=0.1, **fields) for i, law in enumerate(laws)}
    )


def test_linux_has_the_values_of_its_headers() -> None:
    host = HOSTS["linux"]
    # Linux 6.1, include/net/tcp.h: TCP_INIT_CWND 10, TCP_INFINITE_SSTHRESH 0x7fffffff,
    # TCP_RTO_MIN HZ/5, TCP_TIMEOUT_INIT 1*HZ, TCP_ATO_MIN HZ/25, TCP_MAX_QUICKACKS 16.
    assert (host.initial_window, host.initial_ssthresh) == (10, 2**31 - 1)
    assert (host.min_rto, host.initial_rto) == (1 / 5, 1)
    assert (host.delayed_ack, host.quick_acks) == (1 / 25, 16)
    # net/ipv4/tcp_ipv4.c, tcp_sk_init: sysctl_tcp_sack = 1, sysctl_tcp_timestamps = 1.
    assert (host.recovery, host.ack_bytes) == ("rack", IP + TCP + TIMESTAMPS)
    # net/ipv4/tcp_cong.c: tcp_cong_avoid_ai adds `acked`, and only if tcp_is_cwnd_limited.
    assert host.byte_counting
    assert host.validates


def test_freebsd_has_the_values_of_its_headers() -> None:
    host = HOSTS["freebsd"]
    # FreeBSD 14, net.inet.tcp.initcwnd_segments: 10; sys/netinet/tcp.h: TCP_MAXWIN 65535,
    # TCP_MAX_WINSHIFT 14.
    assert host.initial_window == 10
    assert host.initial_ssthresh == pytest.approx(65535 * 2**14 / MSS, abs=1)
    # sys/netinet/tcp_timer.h: TCPTV_CPU_VAR hz/5 is part of each timer, TCPTV_MIN is hz/33.
    assert host.min_rto == max(1 / 5, 1 / 33)
    # The same: TCPTV_RTOBASE 1*hz, TCPTV_DELACK hz/25.
    assert (host.initial_rto, host.delayed_ack, host.quick_acks) == (1, 1 / 25, 0)
    # net.inet.tcp.sack.enable, rfc1323 and rfc3465: 1; cc_newreno.c: CCF_CWND_LIMITED.
    assert (host.recovery, host.ack_bytes) == ("sack", IP + TCP + TIMESTAMPS)
    assert host.byte_counting
    assert host.validates


def test_ns3_has_the_defaults_of_its_attributes() -> None:
    host = HOSTS["ns3"]
    # ns-3.37 and 3.44: TcpSocket::InitialCwnd 10, InitialSlowStartThreshold 4294967295 bytes,
    # DelAckTimeout 200 ms, DelAckCount 2; TcpSocketBase::MinRto 1 s, Sack and Timestamp true;
    # RttEstimator::InitialEstimation 1 s.
    assert host.initial_window == 10
    assert host.initial_ssthresh == pytest.approx((2**32 - 1) / MSS, abs=1)
    assert (host.delayed_ack, host.quick_acks) == (0.2, 0)
    assert (host.min_rto, host.initial_rto) == (1, 1)
    assert (host.recovery, host.ack_bytes) == ("sack", IP + TCP + TIMESTAMPS)
    # tcp-linux-reno.cc: m_cWndCnt += segmentsAcked.
    assert host.byte_counting


@pytest.mark.parametrize("name", ["ns2", "textbook"])
def test_ns2_and_textbook_acknowledge_every_packet(name: str) -> None:
    host = HOSTS[name]
    # ns-2.35, tcl/lib/ns-default.tcl: minrto_ 0.2, rtxcur_init_ 3.0 (RFC 2988, section 2.1);
    # Agent/TCPSink packetSize_ 40. The reference runs set windowInit_ 1.
    assert (host.initial_window, host.min_rto, host.initial_rto) == (1, 0.2, 3)
    # RFC 5681, section 3.1: the initial value of ssthresh SHOULD be set arbitrarily high.
    assert host.initial_ssthresh == Flows(1, Reno(), base_rtt=0.1).max_window == 1e5
    assert (host.delayed_ack, host.quick_acks, host.ack_bytes) == (0, 0, IP + TCP)
    assert not host.byte_counting
    assert not host.validates


@pytest.mark.parametrize(
    ("laws", "host"),
    [
        ([Reno(), Vegas()], "textbook"),
        ([Reno(), Vegas(dialect="ns2")], "ns2"),
        ([Vegas(dialect="ns3"), Cubic()], "ns3"),
        ([Vegas(dialect="linux"), Vegas(9, 11, dialect="linux"), Cubic()], "linux"),
        ([Vegas(dialect="linux"), Vegas(dialect="ns2")], "textbook"),
        ([Reno(), Cubic()], "textbook"),
        ([VegasRerouting(), Reno()], "ns2"),
    ],
)
def test_the_host_is_that_of_the_vegas_classes(laws: list[Any], host: str) -> None:
    network = on(*laws)
    assert network.default_host == host
    assert {flows.host for flows in network.resolved().flows.values()} == {host}


def test_another_congestion_control_may_change_the_host() -> None:
    network = on(Reno(), Vegas()).with_law("1", Vegas(dialect="linux"))
    assert network.resolved().flows["0"].initial_window == 10
    after = Network(network.links, network.flows, events=(Event(1.0, "access", 0.2),))
    assert [stage.resolved().flows["0"].host for stage in after.stages()] == ["linux"] * 2


def test_what_a_class_says_itself_counts_more_than_its_host() -> None:
    own: dict[str, Any] = {"initial_window": 3, "min_rto": 1, "delayed_ack": 0.0, "quick_acks": 2}
    network = on(Reno(recovery="newreno", byte_counting=False), Vegas(dialect="linux"), **own)
    flows = network.resolved().flows["0"]
    assert {name: getattr(flows, name) for name in own} == own
    assert {name: getattr(flows.settings, name) for name in own} == own
    assert (flows.initial_ssthresh, flows.initial_rto) == (2**31 - 1, 1)
    assert flows.law == Reno(recovery="newreno", byte_counting=False, validates=True)
    assert network.ack_bytes_of("0") == 52
    assert Network(LINK, network.flows, ack_bytes=60).ack_bytes_of("0") == 60


def test_a_complete_network_leaves_nothing_open_and_returns_itself() -> None:
    complete = on(Reno(), Cubic(), HighSpeed(), Scalable(), NewReno(), host="linux").resolved()
    assert complete.resolved() is complete
    assert [flows.law.rules.recovery for flows in complete.flows.values()] == [
        *["rack"] * 4, "newreno"
    ]  # fmt: skip
    expected = HOSTS["linux"].parameters()
    for flows in complete.flows.values():
        values = flows.settings.parameters()
        assert {**values, "recovery": "rack"} == expected


@pytest.mark.parametrize(
    ("law", "recovery"),
    [(Reno(), "reno"), (NewReno(), "newreno"), (Cubic(), "sack"), (Scalable(), "sack")],
)
def test_textbook_recovers_as_each_congestion_control_is_defined(law: Any, recovery: str) -> None:
    assert on(law).resolved().flows["0"].law.rules.recovery == recovery
    assert law.rules.recovery == recovery


def test_an_unknown_host_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"host must be one of linux, freebsd, .*'windows'"):
        Flows(1, Reno(), base_rtt=0.1, host="windows")  # pyright: ignore[reportArgumentType]


def test_each_class_sends_acks_of_its_own_size() -> None:
    """Of 52 or 40 bytes: the part of a data packet of 1500 bytes, which a link sends in 1 ms."""
    flows = {name: Flows(1, Reno(), base_rtt=0.1, host=name) for name in ("linux", "ns2")}
    network = Network(LINK, flows)
    for name, size in {"linux": 52, "ns2": 40}.items():
        assert network.base_rtts(name) == pytest.approx((0.1 + 1e-3 * (1 + size / 1500),))
        assert initial_state(network, 1).flows["return_delay"][list(flows).index(name)] == (
            pytest.approx((0.05 + 1e-3 * size / 1500) * 1e12, rel=1e-9)
        )


def run_on(link: Link, flows: dict[str, Flows], rounds: int) -> Any:
    """A packet run of some round trips of 100 ms, with samples every 10 ms."""
    network = Network(link, flows)
    return simulate_packets(network, until=0.1 * rounds, warmup=0.0, samples=10 * rounds + 1)


@pytest.mark.slow
def test_hosts_side_by_side_open_as_each_does() -> None:
    """In slow start windows double each round trip, from 10 packets or from one.

    The first packet stands for the handshake.
    """
    flows = {name: Flows(1, Reno(), base_rtt=0.1, host=name) for name in ("linux", "textbook")}
    sent = run_on(Link(1e5, 1000), flows, 5)["sent"].values
    assert sent[[15, 25, 35], 0].tolist() == [1 + 10, 1 + 10 + 20, 1 + 10 + 20 + 40]
    assert sent[[15, 25, 35], 1].tolist() == [1 + 1, 1 + 1 + 2, 1 + 1 + 2 + 4]


def after_acks(window: float, acks: int) -> float:
    """Window after a number of ACKs, each of which adds one packet over the window."""
    for _ in range(acks):
        window += 1 / window
    return window


@pytest.mark.slow
@pytest.mark.unoptimised
def test_a_linux_host_delays_acks_after_the_first_sixteen() -> None:
    """Where windows grow by ACKs, they show how many there were.

    The handshake is the first packet. Ten more are acknowledged at once. Of the next ten, five are,
    two pairs get an ACK each, and the last one waits for its timer of 40 ms.
    """
    law = Reno(byte_counting=False, validates=False)
    flows = Flows(1, law, base_rtt=0.1, host="linux", initial_ssthresh=2)
    cwnd = run_on(Link(1e5, 1000), {"linux": flows}, 4)["cwnd"].values[:, 0]
    assert cwnd[[15, 25]].tolist() == pytest.approx([10, after_acks(10, 10)], rel=1e-12)
    assert cwnd[[33, 36]] == pytest.approx([after_acks(10, 10 + 7), after_acks(10, 10 + 8)])


@pytest.mark.slow
def test_linux_counts_the_packets_of_delayed_acks() -> None:
    """Slow start then doubles all the same, and congestion avoidance adds a packet a round trip."""
    flows = Flows(1, Reno(), base_rtt=0.1, host="linux", quick_acks=0, initial_ssthresh=40)
    cwnd = run_on(Link(1e5, 1000), {"linux": flows}, 8)["cwnd"].values[:, 0]
    assert cwnd[[15, 28, 38]].tolist() == [10, 20, 40]
    # 40 and 41 packets more, of which an odd last one waits for its ACK for 40 ms
    assert cwnd[[50, 65]].tolist() == [41, 42]


def test_the_fluid_model_opens_as_the_host_does() -> None:
    flows = {name: Flows(1, Reno(), base_rtt=0.1, host=name) for name in HOSTS}
    groups = build_parameters(Network(LINK, flows))[0].groups
    assert dict(zip(HOSTS, groups.initial_window.tolist(), strict=True)) == {
        "linux": 10, "freebsd": 10, "ns2": 1, "ns3": 10, "textbook": 1
    }  # fmt: skip
    assert groups.ack_every.tolist() == [2, 2, 1, 2, 1]
    assert groups.min_rto.tolist() == [0.2, 0.2, 0.2, 1, 0.2]


def test_udp_may_be_on_any_host() -> None:
    assert on(Vegas(dialect="linux")).resolved().flows["0"].host == "linux"
    udp = Flows(1, Unresponsive(), base_rtt=0.1, traffic=Poisson(0.01))
    assert Network(LINK, {"udp": udp}).resolved().flows["udp"].host == "textbook"


def test_values_of_a_class_may_be_traced() -> None:
    def fluid(min_rto: Any) -> Any:
        flows = {"reno": Flows(1, Reno(), base_rtt=0.1, min_rto=min_rto, host="linux")}
        return build(Network(LINK, flows)).parameters.groups.min_rto[0]

    assert jax.grad(fluid)(0.5) == 1
    assert np.isfinite(simulate_fluid(on(Reno(), host="linux"), until=1.0)["cwnd"].values).all()
