"""CUBIC's implementations against RFC 8312, traces of ns-2 and runs of ns-3."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from vegasfluid.analysis.closed_forms import equilibrium_window
from vegasfluid.congestion.base import aimd_loss_factor
from vegasfluid.congestion.counted_growth import packets_of_growth
from vegasfluid.congestion.cubic import Cubic
from vegasfluid.errors import InvalidInput
from vegasfluid.network import HOSTS

MS, SECOND = 10**9, 10**12
"""ps."""


def flow_of(law: Cubic, **values: Any) -> SimpleNamespace:
    """Record of a sender in congestion avoidance, as the rules see it."""
    fields = {**law.rules.state, **law.packet_parameters(), "window_limited": 1, "ssthresh": 2.0}
    fields |= {"una": 0, "next_seq": 0, "recover": 0, "in_recovery": 0, "max_window": 1e6}
    fields |= {"inflation": 0, "acked_at": 0, "srtt": 0}
    return SimpleNamespace(**(fields | values))


def run(law: Cubic, flow: Any, begin: int, seconds: float, rtt: int, every: int = 1) -> float:
    """The window after ACKs, each for `every` packets, that spread evenly over round trips."""
    now = float(begin)
    while now < begin + seconds * SECOND:
        now += rtt * every / flow.cwnd
        flow.una += every
        law.rules.increase_window(flow, round(now), every)
    return flow.cwnd


def test_rfc8312_friendly_window_is_a_function_of_time() -> None:
    """Section 4.2: W_est(t) = 0.7 W_max + 9/17 t / RTT, above W_max too; ACKs do not count."""
    law = Cubic(implementation="rfc8312")
    for every in (1, 2):
        flow = flow_of(law, srtt=20 * MS)
        flow.cwnd = law.rules.window_after_loss(flow, 20.0)
        assert flow.cwnd == 14.0
        result = run(law, flow, 0, 1.0, 20 * MS, every)
        assert result == pytest.approx(14 + 9 / 17 * 50, abs=0.6)


def test_rfc8312_waits_for_the_cubic_after_fast_convergence() -> None:
    """Losses at 100 and 80 packets leave W_max = 80 * 0.85 = 68, K = cbrt(68 * 0.3 / 0.4) s.

    That is 3.708 s.

    The window, 56, is reached by 0.4 (t + RTT - K)^3 + 68 at t = 3.708 - cbrt(30) - 0.1 = 0.501 s,
    and 68 at K. In RFC 9438 the cubic begins at the window: K = cbrt(12 / 0.4) = 3.107 s.
    """
    law = Cubic(friendly=False, implementation="rfc8312")
    flow = flow_of(law, srtt=100 * MS)
    law.rules.window_after_loss(flow, 100.0)
    flow.cwnd = law.rules.window_after_loss(flow, 80.0)
    assert (flow.cwnd, flow.w_max) == (pytest.approx(56), pytest.approx(68))
    assert run(law, flow, 0, 0.48, 100 * MS) == pytest.approx(56, abs=1e-9)
    assert run(law, flow, round(0.48 * SECOND), 0.1, 100 * MS) > 56
    assert run(law, flow, round(0.58 * SECOND), 3.708 - 0.58, 100 * MS) == pytest.approx(
        68, abs=0.1
    )


@pytest.mark.parametrize(("implementation", "w_max"), [("rfc8312", 75 * 0.85), ("rfc9438", 75.0)])
def test_what_fast_convergence_compares(implementation: str, w_max: float) -> None:
    """After losses at 100, 80 and 75: 8312 compares 75 with 80, 9438 with W_max = 68."""
    law = Cubic(implementation=implementation)
    flow = flow_of(law)
    for window in (100.0, 80.0, 75.0):
        law.rules.window_after_loss(flow, window)
    assert flow.w_max == pytest.approx(w_max)


def test_rfc8312_forgets_the_cubic_after_a_timeout() -> None:
    """Section 4.7: then W_max is the window at the start of congestion avoidance, and K is 0."""
    law = Cubic(friendly=False, implementation="rfc8312")
    flow = flow_of(law, srtt=100 * MS, cwnd=100.0, max_window=1e6)
    assert law.rules.window_after_timeout is not None
    assert law.rules.window_after_timeout(flow, 100.0) == pytest.approx(70)
    flow.cwnd = flow.ssthresh = 70.0
    result = run(law, flow, 0, 5.0, 100 * MS)
    assert result == pytest.approx(70 + 0.4 * 5.0**3, rel=0.03)


GROWTH = [25.55039, 25.58399, 25.62239, 25.66199, 25.75919, 25.85759, 25.95599, 26.05319, 26.18399]
GROWTH += [26.31359, 26.44319, 26.60519, 26.83199, 27.05759, 27.41159]
"""Times (s) at which the window of ns-2.35's CUBIC grows from 59 to 74 packets: one flow with
`Agent/TCP/Linux`, its own beta (819/1024), 10 Mbit/s, 20 ms one way, 40 packets, trace of `cwnd_`.
The loss before left 59 of 74 packets; from 25.55039 s on an ACK arrives each 1.2 ms."""


def test_ns2_window_by_window() -> None:
    """To the 31 ms after which ns-2 looks at the target again: its cube root, from a table, is off
    by up to 0.4 % (12 ms), so that it may see the next packet of the target one look earlier.
    """
    law = Cubic(beta=819 / 1024, implementation="ns2")
    delay_min = 8 * 41  # eighths of a millisecond
    flow = flow_of(law, delay_min=delay_min, ack_ratio=31, had_loss=1, last_max=74.0, cwnd=74.0)
    flow.cwnd = flow.ssthresh = law.rules.window_after_loss(flow, 74.0)
    assert flow.cwnd == 59.0
    times, before = [], flow.cwnd
    for ack in range(1600):
        now = round((GROWTH[0] + 0.0012 * ack) * SECOND)
        law.rules.increase_window(flow, now, 1)
        if flow.cwnd != before:
            times.append(now / SECOND)
            before = flow.cwnd
    assert times == pytest.approx(GROWTH, abs=0.031)


def test_ns2_friendly_window_does_not_depend_on_beta() -> None:
    """8/23 of a packet for a window of ACKs, from its own beta 819/1024, whatever the model's is.

    With 7 packets after a loss at 10, and round trips of 10 ms, the cubic grows by less than a
    packet in 0.3 s: the window grows by 30 * 8/23 = 10.4 packets, and one in slow start.
    """
    law = Cubic(implementation="ns2")
    flow = flow_of(law, delay_min=80, ack_ratio=31)
    flow.cwnd = flow.ssthresh = law.rules.window_after_loss(flow, 10.0)
    assert flow.cwnd == 7.0
    result = run(law, flow, 2 * SECOND, 0.3, 10 * MS)
    assert pytest.approx(result, abs=1.5) == 7 + 1 + 30 * 8 / 23


@pytest.mark.parametrize("implementation", ["linux", "ns2", "ns3"])
def test_counted_packets_have_a_given_increase_in_eighths(implementation: str) -> None:
    """A quarter of a packet per window: 4 windows per packet, and 0.26: 30/8 windows."""
    for increase, eighths in ((0.25, 32), (0.26, 30)):
        law = Cubic(implementation=implementation, friendly_increase=increase)
        assert packets_of_growth(100.0, law.packet_parameters()["alpha_cubic"]) == (
            100 * eighths // 8
        )
    assert Cubic(implementation=implementation).value_in_use("friendly_increase") == pytest.approx(
        {"ns2": 8 / 23}.get(implementation, 9 / 17)
    )


@pytest.mark.parametrize("implementation", ["linux", "ns3"])
def test_a_window_of_two_packets_grows_with_any_beta(implementation: str) -> None:
    """2 packets over 2.45 a round trip are less than one: one is acknowledged per packet."""
    law = Cubic(beta=0.1, implementation=implementation)
    flow = flow_of(law, cwnd=2.0, delay_min=10.0 * MS)
    assert run(law, flow, SECOND, 0.1, 10 * MS) > 4


def test_ns2_grows_by_one_packet_for_fifty_acks_before_a_loss() -> None:
    """50 ACKs, times 16/31 as it believes to get delayed ACKs: 25, and one that is not counted."""
    law = Cubic(implementation="ns2")
    flow = flow_of(law, cwnd=100.0, ssthresh=50.0, ack_ratio=31)
    for ack in range(26 * 4 + 1):
        law.rules.increase_window(flow, 5 * SECOND + ack * MS // 10, 1)
    assert flow.cwnd == 104.0


def test_ns3_ends_slow_start_when_the_rtt_has_doubled() -> None:
    """As ns-3.44 does (10 Mbit/s, 40 ms): not at RTTs up to twice the smallest, and at the ninth
    ACK of a round trip whose first eight are above.
    """
    law = Cubic(implementation="ns3")
    for rtt, acks in ((79, None), (81, 9)):
        flow = flow_of(law, cwnd=64.0, ssthresh=1e9, next_seq=1000, delay_min=40.0 * MS)
        law.rules.on_restart(flow, 0)
        flow.delay_min = 40.0 * MS
        ended = None
        for ack in range(1, 40):
            flow.acked_at = ack * 3 * MS  # farther apart than a train's
            assert law.rules.on_rtt_sample is not None
            law.rules.on_rtt_sample(flow, float(rtt * MS))
            if flow.ssthresh < 1e9 and ended is None:
                ended = ack
        assert ended == acks


def test_ns3_follows_the_target_and_the_friendly_window() -> None:
    """AIMD by one packet for 15/8 windows where the cubic is slower; at most one packet for two."""
    law = Cubic(implementation="ns3")
    flow = flow_of(law, delay_min=10.0 * MS)
    flow.cwnd = law.rules.window_after_loss(flow, 10.0)
    assert flow.cwnd == 7.0
    assert run(law, flow, 0, 0.3, 10 * MS) == pytest.approx(7 + 30 * 8 / 15, abs=1.5)
    flow = flow_of(law, epoch_start=0, origin=1000.0, last_max=1000.0, cwnd=10.0)
    for _ in range(10):
        law.rules.increase_window(flow, 20 * SECOND, 1)
    assert flow.cwnd == 15.0


@pytest.mark.parametrize(
    ("host", "implementation"),
    [("linux", "linux"), ("ns2", "ns2"), ("ns3", "ns3"), ("freebsd", "rfc9438"),
     ("textbook", "rfc9438")],
)  # fmt: skip
def test_hosts_have_their_own_cubic(host: str, implementation: str) -> None:
    assert Cubic().on_host(HOSTS[host]).implementation == implementation
    given = Cubic(implementation="rfc8312").on_host(HOSTS[host])
    assert given.implementation == "rfc8312"


def test_an_unknown_implementation_is_invalid() -> None:
    with pytest.raises(InvalidInput, match=r"one of rfc9438, rfc8312, linux, ns2, ns3.*bsd"):
        Cubic(implementation="bsd")


@pytest.mark.parametrize("process", ["meanfield", "periodic", "iid"])
def test_the_fluids_friendly_region_is_additive_but_for_rfc9438(process: str) -> None:
    """W = sqrt(a / (phi b p)): a packets per round trip, phi from the loss process."""
    for name, increase in (("rfc8312", 9 / 17), ("linux", 9 / 17), ("ns2", 8 / 23)):
        growth = Cubic(implementation=name).closure(process)[1]
        assert growth * aimd_loss_factor(process, 0.3) == pytest.approx(increase)
    window = equilibrium_window(Cubic(implementation="ns2"), process)(rtt=0.01, drop_prob=0.01)
    factor = aimd_loss_factor(process, 0.3)
    assert window == pytest.approx((8 / 23 / (factor * 0.3 * 0.01)) ** 0.5)
    expected = {"meanfield": 9 / 17, "periodic": 0.45, "iid": 0.592}[process]
    assert Cubic().closure(process)[1] == pytest.approx(expected)
