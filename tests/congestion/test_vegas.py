"""Where a round trip of Vegas ends in each implementation, and what a timeout begins."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.congestion.sender import RTT, flow_record
from vegasfluid import Vegas
from vegasfluid.congestion.base import Signals
from vegasfluid.congestion.vegas import VegasWindow


def at_the_end_of_a_round(dialect: str, una: int) -> Any:
    """A sender with 20 packets in the queue, whose round ends at packet 100; `una` is acked."""
    law = Vegas(1, 2, dialect=dialect)
    flow = flow_record(law, 40.0, 2.0, RTT / 2)
    flow.una, flow.next_seq, flow.round_end = una, 140, 100
    for name, value in ("round_samples", 10), ("round_rtt", RTT), ("latest_rtt", RTT):
        if name in law.rules.state:
            setattr(flow, name, value)
    law.rules.increase_window(flow, 0, 1)
    return flow


@pytest.mark.parametrize(("dialect", "first"), [("linux", 101), ("ns3", 100), ("brakmo", 101)])
def test_a_round_ends_with_the_ack_of_its_last_packet(dialect: str, first: int) -> None:
    """Linux, tcp_vegas.c: after(ack, beg_snd_nxt); ns-3, tcp-vegas.cc: m_lastAckedSeq >= it.

    Packet 100 is the next one to be sent when the round begins: its ACK is number 101.
    """
    for una in (99, 100, 101):
        flow = at_the_end_of_a_round(dialect, una)
        assert flow.vegas_above_beta == (una >= first)
        assert flow.round_end == (140 if una >= first else 100)


@pytest.mark.parametrize(("cwnd", "grows"), [(7.0, True), (8.0, False), (9.0, False)])
def test_slow_start_of_ns2_ends_at_the_threshold(cwnd: float, grows: bool) -> None:
    law = Vegas(1, 2, dialect="ns2")
    flow = flow_record(law, cwnd, 8.0, RTT / 2)
    flow.increase, flow.next_seq = 1.0, int(cwnd)
    law.rules.increase_window(flow, 0, 1)
    assert (flow.increase, flow.cwnd) == (float(grows), cwnd + grows)


def test_after_a_timeout_slow_start_goes_on_every_other_round_trip() -> None:
    """Brakmo and Peterson, section IV.C: it doubles the window only in every second round trip.

    If the timer expires in a round that doubles, the round that begins now does so, too, and the
    next one keeps the window.
    """
    rules = Vegas().rules
    flow = flow_record(Vegas(), 200.0, 1e5, RTT)
    flow.increase, flow.doubling_round, flow.next_seq, flow.max_seq = 1.0, 1, 300, 300
    rules.on_timeout(flow, 0)
    assert (flow.cwnd, flow.ssthresh) == (2.0, 100.0)
    increases = [flow.increase]
    for _ in range(4):
        flow.una, flow.next_seq, flow.latest_rtt = flow.next_seq + 1, flow.next_seq + 2, float(RTT)
        rules.increase_window(flow, 0, 1)
        increases.append(flow.increase)
    assert increases == [1.0, 0.0, 1.0, 0.0, 1.0]


@pytest.mark.parametrize(("backlog", "ends"), [(3.9, False), (4.1, True)])
def test_slow_start_ends_above_gamma(backlog: float, ends: bool) -> None:
    """Of 1, 10 and 4 packets it is the last that counts: cwnd (rtt - base) / rtt."""
    law = Vegas(1, 10, 4)
    flow = flow_record(law, 40.0, 1e5, RTT * (1 - backlog / 40))
    flow.una, flow.next_seq, flow.latest_rtt = 50, 90, float(RTT)
    law.rules.increase_window(flow, 0, 1)
    assert (flow.ssthresh == 2.0) == ends
    assert flow.vegas_above_gamma == ends


@pytest.mark.parametrize("above", [2.0, 4.0, 12.0])
def test_losses_raise_the_threshold_of_ns3_for_the_windows_that_are_far_above_it(
    above: float,
) -> None:
    """Single windows exceed it by exponential variates; a loss leaves 3/4 of each, here drawn."""
    drawn = 20.0 + np.random.default_rng(1).exponential(above, 400_000)
    raised = np.maximum(0.75 * drawn - 20.0, 0.0)
    window = VegasWindow(20.0 + above, 0.0, 0.05, 20.0)
    with_losses, without = (
        Vegas(dialect="ns3").growth(window, Signals(0.1, 200.0, rate, 1e9)).threshold
        for rate in (0.3, 0.0)
    )
    error = 4 * raised.std() / raised.size**0.5
    assert with_losses - without == pytest.approx(0.3 * raised.mean(), abs=0.3 * error)


def test_after_a_timeout_brakmos_first_round_doubles_and_the_next_does_not() -> None:
    """Slow start doubles every other round (section IV-B); the first ACK is a retransmission's."""
    flow = flow_record(Vegas(), 20.0, 2.0, RTT)
    flow.una = flow.next_seq = flow.max_seq = 100
    flow.increase, flow.round_end, flow.latest_rtt = -1 / 20, 90, 3.0 * RTT
    rules = Vegas().rules
    rules.on_timeout(flow, 0)
    assert (flow.cwnd, flow.ssthresh) == (2.0, 10.0)
    windows = []
    for sent, times in ((102, 2), (104, 1), (106, 1), (107, 1), (108, 1)):  # before each ACK
        flow.una, flow.next_seq = flow.una + 1, sent
        flow.acked_transmissions, flow.acked_sent_at = times, 0
        rules.on_ack(flow, int(RTT), 1)
        windows.append(flow.cwnd)
    # rounds end after packets 100, 102 and 106
    assert windows == [3.0, 4.0, 4.0, 4.0, 4.0]


@pytest.mark.parametrize(
    ("dialect", "scheme"),
    [
        ("ns2", "fine"),
        ("linux", "rack"),
        ("ns3", "newreno"),  # a fit; its packets are sent again by SACK
    ],
)
def test_losses_time_out_as_with_the_recovery_of_the_dialect(dialect: str, scheme: str) -> None:
    assert Vegas(dialect=dialect).recovery_scheme == scheme
