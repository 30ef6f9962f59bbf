"""Every default is the number that its source prints."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest

from tests.congestion.sender import RTT, flow_record
from vegasfluid.aqm.red import Red
from vegasfluid.congestion import highspeed, loss_recovery
from vegasfluid.congestion.base import CongestionControl, Signals, Window
from vegasfluid.congestion.cubic import Cubic
from vegasfluid.congestion.dctcp import Dctcp
from vegasfluid.congestion.highspeed import HighSpeed
from vegasfluid.congestion.loss_recovery import (
    RETRANSMIT,
    SEND,
    SEND_ONE,
)
from vegasfluid.congestion.newreno import NewReno
from vegasfluid.congestion.reno import Reno
from vegasfluid.congestion.scalable import Scalable
from vegasfluid.congestion.vegas import DIALECTS, Vegas
from vegasfluid.congestion.vegas_rerouting import VegasRerouting
from vegasfluid.errors import InvalidInput
from vegasfluid.network import Flows, Link, Network
from vegasfluid.packet.retransmission_timer import sample_round_trip

FLOWS = Flows(1, Reno(), base_rtt=0.04)


@pytest.mark.parametrize(
    ("dialect", "thresholds"),
    [
        # Brakmo and Peterson, JSAC 13(8), 1995: "Vegas-1,3"; slow start ends at gamma = 1.
        ("brakmo", (1, 3, 1)),
        # ns-2.35, tcl/lib/ns-default.tcl: Agent/TCP/Vegas set v_alpha_ 1, v_beta_ 3, v_gamma_ 1.
        ("ns2", (1, 3, 1)),
        # Linux, net/ipv4/tcp_vegas.c: static int alpha = 2, beta = 4, gamma = 1.
        ("linux", (2, 4, 1)),
        # ns-3, src/internet/model/tcp-vegas.cc: Alpha 2, Beta 4, Gamma 1.
        ("ns3", (2, 4, 1)),
    ],
)
def test_vegas_thresholds(dialect: str, thresholds: tuple[int, int, int]) -> None:
    law = Vegas(dialect=dialect)
    assert (law.alpha, law.beta, law.gamma) == thresholds


def test_every_dialect_has_a_source() -> None:
    assert set(DIALECTS) == {"brakmo", "ns2", "ns3", "linux"}
    assert Vegas().dialect == "brakmo"
    assert all(dialect.sources for dialect in DIALECTS.values())


def test_cubic_defaults() -> None:
    law = Cubic()
    # RFC 9438, section 5.1: C SHOULD be set to 0.4; section 4.6: beta_cubic SHOULD be set to 0.7.
    assert (law.C, law.beta) == (0.4, 0.7)
    # Section 4.7: fast convergence SHOULD be implemented; section 4.3: so should Reno's region.
    assert law.fast_convergence
    assert law.friendly
    # Section 4.3: alpha_cubic = 3 (1 - beta) / (1 + beta); 0.9 / 1.7.
    assert law.packet_parameters()["alpha_cubic"] == pytest.approx(9 / 17)
    # Marrone et al. 2013, section 2.2: 3 b / (2 - b) with b = 0.2.
    assert Cubic(beta=0.8).packet_parameters()["alpha_cubic"] == pytest.approx(3 * 0.2 / 1.8)


def test_highspeed_defaults() -> None:
    law = HighSpeed()
    # RFC 3649, section 5: Low_Window 38, High_Window 83000, High_P 10^-7, High_Decrease 0.1, and
    # the loss of 10^-3 at which standard TCP has the lower window.
    assert (law.low_window, law.high_window) == (38, 83000)
    assert (law.low_prob, law.high_prob, law.high_decrease) == (1e-3, 1e-7, 0.1)


@pytest.mark.parametrize(
    ("window", "increase", "decrease"),
    # RFC 3649, appendix B, as in Linux, net/ipv4/tcp_highspeed.c: a(w) in whole packets, cut off.
    [
        (38, 1, 0.50),
        (118, 2, 0.44),
        (221, 3, 0.41),
        (347, 4, 0.38),
        (495, 5, 0.37),
        (663, 6, 0.35),
        (1058, 8, 0.33),
        (1793, 11, 0.30),
        (5036, 20, 0.25),
        (10661, 30, 0.21),
        (18955, 40, 0.18),
    ],
)
def test_highspeed_has_the_steps_and_cuts_of_the_table(
    window: int, increase: int, decrease: float
) -> None:
    flow = SimpleNamespace(**HighSpeed().packet_parameters())
    assert int(highspeed.increase(flow, float(window))) == increase
    assert highspeed.decrease(flow, float(window)) == pytest.approx(decrease, abs=0.0051)


@pytest.mark.parametrize(
    ("prob", "window"), [(1e-4, 263), (1e-5, 1795), (1e-6, 12280), (1e-7, 83981)]
)
def test_highspeed_has_the_windows_of_the_table(prob: float, window: int) -> None:
    # RFC 9438, table 1, HSTCP ("from RFC 3649", which rounds the curve to 0.12 / p^0.835).
    flow = SimpleNamespace(**HighSpeed().packet_parameters())
    step, cut = (rule(flow, float(window)) for rule in (highspeed.increase, highspeed.decrease))
    mean = math.sqrt(
        step * (2 - cut) / (2 * cut * prob)
    )  # of AIMD(a, 1 - b), RFC 9438, section 4.3
    assert mean == pytest.approx(window, rel=0.01)


def test_highspeed_is_standard_tcp_up_to_the_low_window() -> None:
    # RFC 3649, section 5: a(w) = 1 and b(w) = 0.5.
    flow = SimpleNamespace(**HighSpeed().packet_parameters())
    for window in (1.0, 20.0, 38.0):
        assert highspeed.increase(flow, window) == 1.0
        assert highspeed.decrease(flow, window) == 0.5
    # At High_Window: High_Decrease, and a(w) = w^2 p 2 b / (2 - b) = 83000^2 10^-7 0.2 / 1.9.
    assert highspeed.decrease(flow, 83000.0) == pytest.approx(0.1)
    assert highspeed.increase(flow, 83000.0) == pytest.approx(72.5158, rel=1e-5)


def test_scalable_defaults() -> None:
    law = Scalable()
    # Kelly, CCR 33(2), 2003; Linux, net/ipv4/tcp_scalable.c: "recommended values .01 and 7/8".
    assert (law.increase, 1 - law.decrease) == (0.01, 7 / 8)
    # Kelly: the legacy window of 16 (as quoted by others).
    assert law.legacy_window == 16


@pytest.mark.parametrize(("byte_counting", "growth"), [(True, 2 * 0.01), (False, 0.01)])
def test_scalable_of_linux_counts_the_packets_of_delayed_acks(
    byte_counting: bool, growth: float
) -> None:
    # Linux, net/ipv4/tcp_scalable.c: tcp_cong_avoid_ai(tp, min(cwnd, 100), acked).
    law = Scalable(byte_counting=byte_counting)
    flow = sender(50.0, ssthresh=2.0, acked_sent_at=0, **law.packet_parameters())
    law.rules.on_ack(flow, 10**11, 2)
    assert flow.cwnd == pytest.approx(50 + growth)
    seen = Signals(rtt=0.1, ack_rate=500.0, loss_rate=0.0, initial_ssthresh=2.0, ack_every=2)
    assert law.growth(Window(50.0, 0.0), seen).cwnd == pytest.approx(growth * 500 / 2)
    assert law.counts_acks is not byte_counting


@pytest.mark.parametrize(
    ("law", "fewest"),
    [
        (Reno(byte_counting=True), 20.0),
        (NewReno(byte_counting=True), 20.0),
        (Dctcp(byte_counting=True), 20.0),
        (Scalable(byte_counting=True), 20.0),
        (Cubic(implementation="linux"), 2.0),
    ],
)
def test_slow_start_ends_at_ssthresh_however_many_packets_an_ack_covers(
    law: CongestionControl, fewest: float
) -> None:
    """Linux, net/ipv4/tcp_cong.c, tcp_slow_start: the window is at most ssthresh.

    The packets that are left grow it by one for a window of them, or with tcp_cubic.c for two. An
    ACK covers hundreds of packets after a recovery. (In ns-3, TcpCubic's slow start has no bound.)
    """
    reaches, exceeds = (flow_record(law, 7.0, 20.0, base_rtt=RTT) for _ in range(2))
    law.rules.on_ack(reaches, RTT, 13)
    assert reaches.cwnd == 20.0
    law.rules.on_ack(exceeds, RTT, 13 + 287)
    assert 20.0 < exceeds.cwnd <= 20.0 + 287 / fewest


def test_rerouting_defaults() -> None:
    law = VegasRerouting()
    # La, Walrand and Anantharam, section 3: K = 100, N = 20, delta = 0.2, L = 4, gamma = 100 ms.
    assert (law.learning, law.group, law.delta, law.groups) == (100, 20, 0.2, 4)
    assert law.margin == 0.1
    # Section 4: "beta, which is usually three"; ns-default.tcl: 1, 3, 1.
    assert (law.alpha, law.beta, law.gamma) == (1, 3, 1)


def test_recoveries() -> None:
    # RFC 6582 is NewReno's; ns-3's TcpSocketBase has Sack true, Linux net.ipv4.tcp_sack 1 and
    # net.ipv4.tcp_recovery 1 (TCP_RACK_LOSS_DETECTION).
    assert (Reno().rules.recovery, NewReno().recovery) == ("reno", "newreno")
    for law in (Cubic, HighSpeed, Scalable):
        assert law().rules.recovery == "sack"
        with pytest.raises(InvalidInput, match=f"{law.__name__}: recovery must be one of reno, "):
            law(recovery="tahoe")
    assert DIALECTS["ns3"].rules.recovery == "sack"
    assert DIALECTS["linux"].rules.recovery == "rack"


def test_ns3_returns_to_ssthresh_after_a_loss() -> None:
    # ns-3, tcp-vegas.cc, GetSsThresh: max (min (ssthresh, cwnd - 1), 2), in segments.
    duplicate = DIALECTS["ns3"].rules.on_duplicate_ack
    for cwnd, ssthresh, left in ((40.0, 30.0, 30.0), (30.0, 30.0, 29.0), (2.0, 1e5, 2.0)):
        flow = sender(cwnd, ssthresh=ssthresh, recovery=loss_recovery.SACK, lost_below=51)
        assert duplicate(flow, 0) == RETRANSMIT + SEND
        assert (flow.cwnd, flow.ssthresh) == (left, left)


def test_red_defaults() -> None:
    law = Red(5, 15)
    # Floyd and Jacobson, ToN 1(4), 1993: the simulations use w_q = 0.002.
    assert law.average_weight == 0.002
    # The same: no "gentle" slope above max_thresh; it came later.
    assert law.gentle is False
    # ns-2.35, tcl/lib/ns-default.tcl: Queue/RED set linterm_ 10, set wait_ true.
    assert law.max_drop == 1 / 10
    assert law.waits


def test_packets_are_those_of_ethernet() -> None:
    # RFC 894: the maximum length of an IP datagram sent over Ethernet is 1500 octets.
    assert Network(Link(1000.0, 10), {"one": FLOWS}).packet_bytes == 1500


def sender(cwnd: float, **fields: float) -> SimpleNamespace:
    names = "una recover duplicates inflation in_recovery acked_transmissions"
    zero = dict.fromkeys(names.split(), 0)
    limits = {"max_window": 1e5, "ssthresh": 1e5, "max_seq": 100, "next_seq": 100}
    limits |= {"recovery": loss_recovery.RENO, "byte_counting": 0, "validates": 0}
    return SimpleNamespace(**{**zero, **limits, "una": 50, "cwnd": cwnd, **fields})


def test_the_third_duplicate_ack_halves_the_window_and_resends() -> None:
    flow = sender(cwnd=20.0)
    # RFC 5681, section 3.2, step 1; RFC 3042: on the first two a new segment each.
    duplicate = Reno().rules.on_duplicate_ack
    assert [duplicate(flow, 0) for _ in range(2)] == [SEND_ONE, SEND_ONE]
    assert flow.cwnd == 20.0
    # RFC 5681, section 3.2, step 2: ssthresh as in equation (4), half of what is in flight.
    assert duplicate(flow, 0) == RETRANSMIT + SEND
    assert (flow.ssthresh, flow.cwnd) == (10.0, 10.0)
    # Step 3: cwnd is inflated by the three segments that have left the network.
    assert flow.inflation == 3
    # Step 4: and by one for each further duplicate ACK.
    duplicate(flow, 0)
    assert flow.inflation == 4
    # Step 6: the next new ACK deflates the window.
    loss_recovery.leave_recovery(flow)
    assert (flow.cwnd, flow.inflation) == (10.0, 0)


def test_ssthresh_is_at_least_two_segments() -> None:
    # RFC 5681, section 3.1, equation (4): max(FlightSize / 2, 2 SMSS).
    flow = sender(cwnd=2.0)
    for _ in range(3):
        Reno().rules.on_duplicate_ack(flow, 0)
    assert flow.ssthresh == 2.0
    flow = sender(cwnd=3.0)
    Reno().rules.on_timeout(flow, 0)
    assert flow.ssthresh == 2.0


def test_a_timeout_leaves_the_loss_window() -> None:
    # RFC 5681, section 3.1: the loss window LW is one full-sized segment.
    flow = sender(cwnd=20.0)
    Reno().rules.on_timeout(flow, 0)
    assert (flow.cwnd, flow.ssthresh) == (1.0, 10.0)


def test_reno_grows_by_one_segment_an_ack_and_then_by_one_a_round_trip() -> None:
    # RFC 5681, section 3.1, equation (2): cwnd += min(N, SMSS).
    flow = sender(cwnd=10.0, ssthresh=11.0)
    Reno().rules.on_ack(flow, 0, 1)
    assert flow.cwnd == 11.0
    # Equation (3): cwnd += SMSS * SMSS / cwnd.
    Reno().rules.on_ack(flow, 0, 1)
    assert flow.cwnd == 11.0 + 1 / 11


def test_the_retransmission_timer_follows_rfc_6298() -> None:
    ms = 10**9  # ps
    flow = SimpleNamespace(srtt=0, rttvar=0, rto=0, min_rto=200 * ms, backoff=4)
    # Section 2.2: SRTT = R, RTTVAR = R / 2, RTO = SRTT + 4 RTTVAR.
    sample_round_trip(flow, 100 * ms)
    assert (flow.srtt, flow.rttvar, flow.rto) == (100 * ms, 50 * ms, 300 * ms)
    # Section 2.3: RTTVAR = 3/4 50 + 1/4 |100 - 180|, SRTT = 7/8 100 + 1/8 180.
    sample_round_trip(flow, 180 * ms)
    assert (flow.srtt, flow.rttvar, flow.rto) == (110 * ms, 57.5 * ms, 340 * ms)
    # Section 5.7 with section 2: a new sample ends the backing off.
    assert flow.backoff == 1
    # Section 2.4: the RTO is rounded up to its minimum.
    for _ in range(100):
        sample_round_trip(flow, 10 * ms)
    assert flow.rto == 200 * ms


def test_backing_off_stops_at_sixty_four() -> None:
    # ns-2.35, tcp/tcp.cc: rtt_backoff() doubles t_backoff_ up to 64.
    assert loss_recovery.LARGEST_BACKOFF == 64
