"""Recovery from losses by the RFCs' own steps, and the fine-grained timer of ns-2's Vegas."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.congestion.sender import flow_record
from tests.congestion.test_sources import sender
from vegasfluid import NewReno, Reno, Vegas
from vegasfluid.congestion.loss_recovery import (
    NEWRENO,
    PARTIAL,
    RESEND,
    RETRANSMIT,
    SACK,
    SEND,
    SEND_ONE,
    timeout_share,
)
from vegasfluid.congestion.vegas.ns2 import NS2, UNKNOWN
from vegasfluid.packet.retransmission_timer import sample_round_trip


def recovering(inflation: int, **fields: float) -> SimpleNamespace:
    """A sender in recovery with a window of 10 packets, whose last loss was found at packet 100."""
    state = {"cwnd": 10.0, "ssthresh": 10.0, "recover": 100, "in_recovery": 1, "duplicates": 5}
    return sender(**{**state, "recovery": NEWRENO, "inflation": inflation, **fields})


@pytest.mark.parametrize(("inflation", "acked"), [(9, 1), (9, 4), (9, 9), (4, 9), (12, 3)])
def test_a_partial_ack_deflates_by_what_it_acknowledges_and_adds_one_back(
    inflation: int, acked: int
) -> None:
    """RFC 6582, section 3.2, step 3: and it retransmits the first unacknowledged segment."""
    flow = recovering(inflation)
    assert NewReno().rules.on_ack(flow, 0, acked) == RESEND + SEND
    assert flow.cwnd + flow.inflation == 10 + inflation - acked + 1
    assert flow.in_recovery == PARTIAL


def test_a_full_ack_ends_recovery_at_ssthresh() -> None:
    """RFC 6582, section 3.2, step 3: also after partial ACKs; what is acknowledged adds nothing."""
    flow = recovering(7, una=100, in_recovery=PARTIAL)
    assert NewReno().rules.on_ack(flow, 0, 40) == SEND
    assert (flow.cwnd, flow.inflation, flow.in_recovery, flow.duplicates) == (10.0, 0, 0, 0)


def test_of_renos_recovery_the_first_new_ack_is_the_end() -> None:
    """RFC 5681, section 3.2, step 6: though packets sent before the loss are missing still."""
    flow = recovering(7, recovery=0)
    assert Reno().rules.on_ack(flow, 0, 3) == SEND
    assert (flow.inflation, flow.in_recovery, flow.duplicates) == (0, 0, 0)
    assert flow.cwnd == pytest.approx(10.1)


@pytest.mark.parametrize("recover", [50, 49])
def test_a_loss_is_answered_once_in_a_window_of_data(recover: int) -> None:
    """RFC 6582, section 3.2, step 2: the ACK must cover more than `recover`."""
    flow = sender(cwnd=20.0, recovery=NEWRENO, recover=recover)
    actions = [NewReno().rules.on_duplicate_ack(flow, 0) for _ in range(3)]
    assert actions[:2] == [SEND_ONE, SEND_ONE]
    assert actions[2] == (SEND if recover == 50 else RETRANSMIT + SEND)
    assert flow.cwnd == (20.0 if recover == 50 else 10.0)


@pytest.mark.parametrize(("after_ms", "spurious"), [(49, True), (50, False), (120, False)])
def test_an_ack_that_comes_too_soon_is_of_the_original_packet(
    after_ms: int, spurious: bool
) -> None:
    """RFC 3522: a retransmission cannot be acknowledged within less than a round trip, 50 ms."""
    ms = 10**9  # ps
    times = {"resent_at": 1000 * ms, "acked_at": (1000 + after_ms) * ms, "least_rtt": 50 * ms}
    undo = {"undo_cwnd": 20.0, "undo_ssthresh": 64.0}
    flow = recovering(0, recovery=SACK, una=60, **times, **undo)
    assert Reno(recovery="sack").rules.on_ack(flow, 0, 10) == SEND
    assert (flow.cwnd, flow.ssthresh) == ((20.0, 64.0) if spurious else (10.0, 10.0))
    assert bool(flow.in_recovery) != spurious
    assert (flow.recover < flow.una) == spurious  # so that the next loss counts


def test_after_many_timeouts_a_sample_replaces_the_estimate() -> None:
    """ns-2.35, tcp/tcp.cc, rtt_backoff(): where t_backoff_ exceeds 8, t_srtt_ is forgotten."""
    ms = 10**9  # ps
    for backoff, srtt in ((8, 100 + 700 // 8), (16, 800)):
        flow = SimpleNamespace(
            srtt=100 * ms, rttvar=10 * ms, rto=0, min_rto=200 * ms, backoff=backoff
        )
        sample_round_trip(flow, 800 * ms)
        assert flow.srtt // ms == srtt


@pytest.mark.parametrize(("scheme", "window"), [("newreno", 1.5), ("sack", 1.9), ("fine", 1.1)])
def test_a_window_that_is_twice_as_large_times_out_a_quarter_as_often(
    scheme: str, window: float
) -> None:
    """Where nothing else is lost; at the window that the table gives, every loss does."""
    at_once = 1 / 1.2  # a round trip, in timers, for which a window needs no factor
    shares = [timeout_share(scheme, times * window, 0.0, at_once) for times in (1, 2, 4)]
    assert shares == pytest.approx([1.0, 1 / 4, 1 / 16])
    slower = [timeout_share(scheme, 4 * window, 0.0, ratio * at_once) for ratio in (0.5, 1.5, 9.0)]
    assert slower == pytest.approx([0.5 / 16, 1.5 / 16, 1.6 / 16])
    assert timeout_share(scheme, 1e9, 0.03, at_once) == pytest.approx(0.03)


def vegas_of_ns2(cwnd: float, **fields: float) -> Any:
    """A sender of ns-2's Vegas after slow start, with packets 50 to 99 on their way."""
    flow = flow_record(Vegas(dialect="ns2"), cwnd, 2.0, UNKNOWN)
    places = {"una": 50, "next_seq": 100, "max_seq": 100, "offered": 1000, "recover": 40}
    for name, value in {**places, "oldest_transmissions": 1, **fields}.items():
        setattr(flow, name, value)
    return flow


def test_the_fine_grained_timer_is_that_of_ns2() -> None:
    """tcp-vegas.cc, rtt_timeout() and recv(): v_sa_ is 8 times the mean, v_sd_ 4 deviations.

    v_timeout_ = ((v_sa_ / 4) + v_sd_) / 2 and then v_timeout_ += v_timeout_ / 16.
    """
    rtts, step = [0.11, 0.09, 0.25, 0.1, 0.1], 1e12
    flow = vegas_of_ns2(10.0, acked_transmissions=1, round_end=1000, max_seq=2000)
    flow.acked_sent_at = 0
    on_ack = NS2.rules.on_ack
    on_ack(flow, round(0.1 * step), 1)  # the first one: v_sa_ = 8 v_rtt_, v_sd_ = v_rtt_
    sa, sd = 8 * 0.1, 0.1
    assert flow.fine_timeout / step == pytest.approx((sa / 4 + sd) / 2)
    for rtt in rtts:
        error = rtt - sa / 8
        sa, sd = sa + error, sd + abs(error) - sd / 4
        timeout = (sa / 4 + sd) / 2
        on_ack(flow, round(rtt * step), 1)
        assert flow.fine_timeout / step == pytest.approx(timeout + timeout / 16, rel=1e-9)


@pytest.mark.parametrize(
    ("cwnd", "sent", "left"), [(20.9, 1, 15.0), (20.9, 2, 10.0), (3.9, 1, 2.0), (7.0, 1, 6.0)]
)
def test_vegas_of_ns2_loses_a_quarter_or_a_half(cwnd: float, sent: int, left: float) -> None:
    """tcp-vegas.cc: win -= win >> 2, and win >>= 1 for a packet that was sent twice; 2 up to 3.

    At the first duplicate ACK, since the oldest packet's timer has expired; the timer is backed
    off by 1/8, or doubled.
    """
    flow = vegas_of_ns2(cwnd, fine_timeout=1e11, oldest_sent_at=5, oldest_transmissions=sent)
    on_duplicate_ack = NS2.rules.on_duplicate_ack
    assert on_duplicate_ack(flow, 5 + 10**11) & RETRANSMIT
    assert flow.cwnd_after_loss == left
    assert flow.fine_timeout == pytest.approx((2 if sent > 1 else 1.125) * 1e11)
    in_time = vegas_of_ns2(cwnd, fine_timeout=1e11, oldest_sent_at=5)
    actions = [on_duplicate_ack(in_time, 4 + 10**11) & RETRANSMIT for _ in range(3)]
    assert actions == [0, 0, RETRANSMIT]
