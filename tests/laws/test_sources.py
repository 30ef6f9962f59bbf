"""Every default is the number that its source prints."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from vegasfluid.aqm.red import Red
from vegasfluid.congestion import recovery
from vegasfluid.congestion.law import RETRANSMIT, SEND, SEND_ONE
from vegasfluid.congestion.reno import Reno
from vegasfluid.congestion.vegas import DIALECTS, Vegas
from vegasfluid.network import Flows, Link, Network
from vegasfluid.packet.setup import INITIAL_RTO

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
    ],
)
def test_vegas_thresholds(dialect: str, thresholds: tuple[int, int, int]) -> None:
    law = Vegas(dialect=dialect)
    assert (law.alpha, law.beta, law.gamma) == thresholds


def test_every_dialect_has_a_source() -> None:
    assert set(DIALECTS) == {"brakmo", "ns2", "linux"}
    assert Vegas().dialect == "brakmo"
    assert all(dialect.sources for dialect in DIALECTS.values())


def test_red_defaults() -> None:
    law = Red(5, 15)
    # Floyd and Jacobson, ToN 1(4), 1993: the simulations use w_q = 0.002.
    assert law.weight == 0.002
    # The same: no "gentle" slope above max_thresh; it came later.
    assert law.gentle is False
    # ns-2.35, tcl/lib/ns-default.tcl: Queue/RED set linterm_ 10, set wait_ true.
    assert law.max_drop == 1 / 10
    assert law.wait is True


def test_sender_defaults() -> None:
    # ns-2.35, tcl/lib/ns-default.tcl: Agent/TCP set windowInit_ 1, set minrto_ 0.2.
    assert FLOWS.initial_window == 1
    assert FLOWS.min_rto == 0.2
    # RFC 2988, section 2.1: until a sample is taken, RTO SHOULD be set to three seconds.
    assert INITIAL_RTO == 3.0
    # RFC 5681, section 3.1: the initial value of ssthresh SHOULD be set arbitrarily high.
    assert FLOWS.initial_ssthresh == FLOWS.max_window == 1e5


def test_packets_are_those_of_ethernet_and_acks_are_bare_headers() -> None:
    network = Network(Link(1000.0, 10), {"one": FLOWS})
    # RFC 894: the maximum length of an IP datagram sent over Ethernet is 1500 octets.
    assert network.packet_bytes == 1500
    # RFC 791, section 3.1, and RFC 793, section 3.1: 20 octets each without options.
    assert network.ack_bytes == 20 + 20


def sender(cwnd: float, **fields: float) -> SimpleNamespace:
    zero = dict.fromkeys(["una", "recover", "duplicates", "inflation", "in_recovery"], 0)
    limits = {"max_window": 1e5, "ssthresh": 1e5, "max_seq": 100, "next_seq": 100}
    limits |= {"recovery": recovery.RENO, "byte_counting": 0, "validates": 0}
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
    recovery.leave_recovery(flow)
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
    recovery.sample_round_trip(flow, 100 * ms)
    assert (flow.srtt, flow.rttvar, flow.rto) == (100 * ms, 50 * ms, 300 * ms)
    # Section 2.3: RTTVAR = 3/4 50 + 1/4 |100 - 180|, SRTT = 7/8 100 + 1/8 180.
    recovery.sample_round_trip(flow, 180 * ms)
    assert (flow.srtt, flow.rttvar, flow.rto) == (110 * ms, 57.5 * ms, 340 * ms)
    # Section 5.7 with section 2: a new sample ends the backing off.
    assert flow.backoff == 1
    # Section 2.4: the RTO is rounded up to its minimum.
    for _ in range(100):
        recovery.sample_round_trip(flow, 10 * ms)
    assert flow.rto == 200 * ms


def test_backing_off_stops_at_sixty_four() -> None:
    # ns-2.35, tcp/tcp.cc: rtt_backoff() doubles t_backoff_ up to 64.
    assert recovery.LARGEST_BACKOFF == 64
