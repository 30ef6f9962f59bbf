"""CUBIC against the closed forms and the tables of RFC 9438, by ACKs at a steady pace."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from types import SimpleNamespace

import pytest

from vegasfluid.congestion.base import (
    Signals,
)
from vegasfluid.congestion.cubic import Cubic
from vegasfluid.congestion.epochs import AFTER_SLOW_START
from vegasfluid.congestion.loss_recovery import (
    RETRANSMIT,
    SACK,
)

MS = 10**9  # ps
FIELDS = ["una", "recover", "max_seq", "duplicates", "inflation", "in_recovery", "lost_below"]
FIELDS += ["acked_at", "resent_at", "least_rtt", "acked_transmissions"]


class Steady:
    """A sender whose window is acknowledged evenly once a round trip, packet by packet."""

    def __init__(self, law: Cubic, cwnd: float, rtt_ms: float, ssthresh: float = 2.0) -> None:
        self.rules, self.rtt, self.now, self.acks = law.rules, rtt_ms * MS, 0.0, 0
        state = {**dict.fromkeys(FIELDS, 0), **law.rules.state, **law.packet_parameters()}
        state |= {"cwnd": cwnd, "ssthresh": ssthresh, "max_window": 1e6, "srtt": int(self.rtt)}
        self.flow = SimpleNamespace(**state, recovery=SACK, window_limited=1)

    @property
    def seconds(self) -> float:
        return self.now * 1e-12

    def ack(self) -> None:
        self.now += self.rtt / self.flow.cwnd
        self.acks += 1
        self.flow.una += 1
        self.flow.lost_below = self.flow.max_seq = self.flow.una
        self.rules.on_ack(self.flow, round(self.now), 1)

    def lose(self) -> None:
        """One packet is lost and repaired in no time."""
        self.flow.una += 1
        self.flow.lost_below = self.flow.una + 1
        assert self.rules.on_duplicate_ack(self.flow, round(self.now)) & RETRANSMIT
        self.flow.una += 1
        self.rules.on_ack(self.flow, round(self.now), 2)
        assert self.flow.in_recovery == 0

    def run_until(self, seconds: float) -> float:
        while self.seconds < seconds:
            self.ack()
        return self.flow.cwnd

    def run_round_trips(self, count: int) -> float:
        return self.run_until(self.seconds + count * self.rtt * 1e-12)


def after_loss(law: Cubic, cwnd: float, rtt_ms: float) -> Steady:
    """A sender at the start of the stage that follows a loss at `cwnd`."""
    steady = Steady(law, cwnd, rtt_ms)
    steady.lose()
    steady.ack()
    return steady


@pytest.mark.parametrize("beta", [0.7, 0.8])
@pytest.mark.parametrize("system", ["linux", "ns3"])
def test_windows_of_whole_packets_follow_the_cubic(system: str, beta: float) -> None:
    """Linux and ns-3 count packets: they are behind by two round trips and a packet at most."""
    steady = after_loss(Cubic(beta=beta, friendly=False, implementation=system), 301.0, 50)
    begin, k = steady.seconds, ((1 - beta) * 301 / 0.4) ** (1 / 3)
    assert steady.flow.cwnd == int(beta * 301)
    for part in (0.25, 0.5, 0.75, 1.0, 1.25, 1.5):
        rise = 3 * 0.4 * (part * k - k) ** 2
        exact = 0.4 * (part * k - k) ** 3 + 301
        assert steady.run_until(begin + part * k) == pytest.approx(exact, abs=1 + 0.1 * rise)


@pytest.mark.parametrize(
    ("law", "cut"), [(Cubic(friendly=False), 0.3), (Cubic(beta=0.8, friendly=False), 0.2)]
)
def test_the_window_follows_the_cubic(law: Cubic, cut: float) -> None:
    """W(t) = 0.4 (t - K)^3 + W_max with K = cbrt(cut W_max / 0.4), concave and then convex.

    A window that moves by (W(t + R) - cwnd) / cwnd an ACK is the mean of W(t + R - s R) over
    an exponential s, which for a cubic is W(t) + 3 C (t - K) R^2 - 2 C R^3 (by hand).
    """
    steady, largest, rtt = after_loss(law, 300.0, 50), 300.0, 0.05
    begin, k = steady.seconds, (cut * 300.0 / 0.4) ** (1 / 3)
    assert k == pytest.approx({0.3: 6.0822, 0.2: 5.3133}[cut], rel=1e-5)
    seen = []
    for t in (0.25 * k, 0.5 * k, 0.75 * k, k, 1.25 * k, 1.5 * k):
        cwnd = steady.run_until(begin + t)
        exact = 0.4 * (t - k) ** 3 + largest + 1.2 * (t - k) * rtt**2 - 0.8 * rtt**3
        assert cwnd == pytest.approx(exact, rel=1e-4)
        seen.append(cwnd)
    assert seen[3] == pytest.approx(largest, abs=0.02)
    steps = [after - before for before, after in pairwise(seen)]
    assert steps[0] > steps[1] > steps[2]  # concave up to K
    assert steps[3] < steps[4]  # convex beyond


def test_a_round_trip_makes_of_a_window_at_most_half_more() -> None:
    """RFC 9438, section 4.2: the target is at most 1.5 cwnd; by hand, e^(1/2) a round trip."""
    steady = after_loss(Cubic(C=1e6), 1000.0, 100)
    steady.run_until(steady.seconds + 0.5)  # far beyond K = cbrt(300 / 10^6) = 0.07 s
    before = steady.flow.cwnd
    # (1.5 cwnd - cwnd) / cwnd an ACK: a packet for every two.
    steady.ack()
    assert steady.flow.cwnd - before == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("beta", "given", "step"), [(0.7, None, 9 / 17), (0.8, None, 1 / 3), (0.7, 0.6, 0.6)]
)
def test_the_reno_friendly_region_is_aimd(beta: float, given: float | None, step: float) -> None:
    """It has alpha = 3 (1 - beta) / (1 + beta) a round trip, and 1 from the last maximum on.

    A given `friendly_increase` takes the place of alpha.
    """
    law = Cubic(beta=beta, friendly_increase=given)
    steady = after_loss(law, 100.0, 5)  # RTT 5 ms: the cubic is far slower
    start = steady.flow.cwnd
    assert start == pytest.approx(100 * beta, abs=0.01)
    grown = steady.run_round_trips(30) - start
    assert grown == pytest.approx(30 * step, rel=1e-2)
    while steady.flow.cwnd < 100:
        steady.ack()
    before = steady.flow.cwnd
    assert steady.run_round_trips(30) - before == pytest.approx(30.0, rel=1e-2)


def test_without_friendliness_the_window_stays_on_the_cubic() -> None:
    steady = after_loss(Cubic(friendly=False), 100.0, 5)
    start = steady.flow.cwnd
    # In 0.15 s of K = 4.217 s: 0.4 ((0.15 - K)^3 + K^3) = 3.09 packets; Reno's would be 15.9.
    assert steady.run_round_trips(30) - start == pytest.approx(3.09, abs=0.05)


def sawtooth(law: Cubic, rtt_ms: float, prob: float, largest: float, cycles: int) -> float:
    """The mean window with a loss after every 1/p packets, over the last five cycles."""
    steady = Steady(law, largest, rtt_ms)
    steady.lose()
    for cycle in range(cycles):
        if cycle == cycles - 5:
            begin, acks = steady.now, steady.acks
        for _ in range(round(1 / prob)):
            steady.ack()
        steady.lose()
    return (steady.acks - acks) * steady.rtt / (steady.now - begin)


TABLE = pytest.mark.parametrize(
    ("scale", "rtt_ms", "prob", "window"),
    # RFC 9438, section 5.1, tables 1 and 2, where CUBIC has more than Reno.
    [
        (0.4, 100, 1e-4, 187),
        (4.0, 100, 1e-4, 333),
        (4.0, 100, 1e-3, 59),
        pytest.param(0.4, 100, 1e-5, 1054, marks=pytest.mark.slow),
        pytest.param(0.04, 100, 1e-5, 593, marks=pytest.mark.slow),
    ],
)


@TABLE
def test_a_cycle_up_to_the_last_maximum_takes_the_packets_of_the_rfcs_table(
    scale: float, rtt_ms: float, prob: float, window: int
) -> None:
    """The mean over (0, K) is W_max (3 + beta) / 4; with it go 1/p packets."""
    largest = window * 4 / 3.7
    steady = after_loss(Cubic(C=scale), largest, rtt_ms)
    steady.acks, begin = 0, steady.seconds
    k = (0.3 * largest / scale) ** (1 / 3)
    assert steady.run_until(begin + k) == pytest.approx(largest, rel=0.005)
    assert steady.acks == pytest.approx(1 / prob, rel=0.015)
    assert steady.acks * rtt_ms * 1e-3 / k == pytest.approx(window, rel=0.005)


@TABLE
def test_the_mean_window_stays_that_of_the_rfcs_table(
    scale: float, rtt_ms: float, prob: float, window: int
) -> None:
    """With losses after every 1/p packets; from elsewhere it would come near only as t^(-1/2)."""
    law = Cubic(C=scale, fast_convergence=False)
    assert sawtooth(law, rtt_ms, prob, window * 4 / 3.7, 8) == pytest.approx(window, rel=0.015)


def test_in_short_round_trips_the_mean_window_is_renos() -> None:
    """AVG_AIMD = sqrt(a (1 + b) / (2 (1 - b) p)), which is sqrt(3 / (2 p)) (section 4.3)."""
    mean = sawtooth(Cubic(fast_convergence=False), 10, 1e-4, 100, 20)
    assert mean == pytest.approx(122.5, rel=0.015)  # table 2 rounds it to 120


def test_fast_convergence_remembers_less() -> None:
    """Section 4.7: W_max = cwnd (1 + beta) / 2 where cwnd is below the last W_max."""
    for fast, remembered in ((True, 80 * 0.85), (False, 80.0)):
        steady = Steady(Cubic(fast_convergence=fast), 100.0, 50)
        steady.lose()
        assert steady.flow.w_max == 100.0
        assert steady.flow.cwnd == pytest.approx(70.0)
        steady.flow.cwnd = 80.0
        steady.lose()
        assert steady.flow.w_max == pytest.approx(remembered)
        assert steady.flow.cwnd == pytest.approx(56.0)


def test_after_a_timeout_the_cubic_begins_where_slow_start_ends() -> None:
    """Section 4.8: ssthresh by beta; then K = 0 and W_max is the window at the start."""
    steady = Steady(Cubic(friendly=False), 100.0, 50)
    steady.lose()
    steady.flow.cwnd = 80.0
    steady.rules.on_timeout(steady.flow, round(steady.now))
    assert (steady.flow.cwnd, steady.flow.ssthresh) == (1.0, 56.0)
    for _ in range(55):  # slow start: one packet an ACK
        steady.ack()
    assert steady.flow.cwnd == 56.0
    begin = steady.seconds
    cwnd = steady.run_until(begin + 3.0)
    assert cwnd == pytest.approx(56 + 0.4 * 27 + 1.2 * 3 * 0.05**2, abs=0.1)  # as above


def test_a_window_is_never_cut_below_two() -> None:
    """Section 4.6: the reduction on loss leaves at least two segments."""
    steady = Steady(Cubic(), 2.5, 50)
    steady.lose()
    assert (steady.flow.cwnd, steady.flow.ssthresh) == (2.0, 2.0)


def test_a_mark_takes_what_a_loss_takes() -> None:
    steady = Steady(Cubic(), 100.0, 50)
    steady.rules.on_ecn_echo(steady.flow, 0)
    assert steady.flow.cwnd == pytest.approx(70.0)
    assert steady.flow.w_max == 100.0


def test_the_epoch_time_stops_while_the_application_limits() -> None:
    """Section 5.8: no growth, and t does not count such a time."""

    def idle(steady: Steady) -> None:
        steady.flow.window_limited = 0
        for _ in range(20):
            steady.ack()
        steady.now += 100e12
        steady.flow.window_limited = 1

    def grown(pause: Callable[[Steady], None]) -> float:
        steady = after_loss(Cubic(friendly=False), 100.0, 50)
        steady.run_until(steady.seconds + 2.0)
        before = steady.flow.cwnd
        pause(steady)
        steady.ack()
        assert steady.flow.cwnd - before < 1.0
        return steady.run_until(steady.seconds + 2.0)

    assert grown(idle) == pytest.approx(grown(lambda _: None), abs=0.3)


def test_delayed_acks_change_nothing() -> None:
    """One ACK for two packets moves the window as two ACKs do."""
    windows = []
    for count in (1, 2):
        steady = after_loss(Cubic(), 1000.0, 50)
        for _ in range(6000 // count):
            steady.now += count * steady.rtt / steady.flow.cwnd
            steady.flow.una += count
            steady.rules.on_ack(steady.flow, round(steady.now), count)
        windows.append(steady.flow.cwnd)
    assert windows[1] == pytest.approx(windows[0], rel=1e-3)


AGES = (0.0, 0.3, 0.7, 1.0, 1.4, 2.0)
"""In units of K."""


@pytest.mark.parametrize(
    ("lost", "rtt_ms"), [(400.0, 50), (200.0, 100), (30.0, 100), (60.0, 10), (12.0, 40)]
)
@pytest.mark.parametrize("increase", [None, 0.3])
@pytest.mark.parametrize("kind", [0, 1])
def test_the_fluid_s_epochs_are_those_of_the_rules(
    kind: int, increase: float | None, lost: float, rtt_ms: float
) -> None:
    """From a loss on, also one below the plateau, and where standard TCP has more."""
    law, rtt = Cubic(friendly_increase=increase), rtt_ms * 1e-3
    steady = after_loss(law, lost * (1.2 if kind else 1.0), rtt_ms)
    if kind:  # lose again on the way up
        lost = steady.flow.cwnd
        steady.lose()
        steady.ack()
    begin, k = steady.seconds, float(law.plateau_time(kind, lost))
    assert steady.flow.k == pytest.approx(k, rel=1e-6)
    for part in AGES:
        cwnd = steady.run_until(begin + part * k)
        computed_window = float(law.epoch_state(k, lost, steady.seconds - begin, rtt).cwnd)
        assert computed_window == pytest.approx(cwnd, rel=0.01, abs=0.6)


@pytest.mark.parametrize(("cwnd", "rtt_ms"), [(100.0, 100), (10.0, 20)])
def test_a_fresh_epoch_is_that_after_slow_start(cwnd: float, rtt_ms: float) -> None:
    """Without a loss before it the cubic is convex at once (section 4.10)."""
    law, steady = Cubic(), Steady(Cubic(), cwnd, rtt_ms, ssthresh=cwnd)
    assert float(law.plateau_time(AFTER_SLOW_START, law.window_before_loss(cwnd))) == 0.0
    for seconds in (1.0, 3.0, 6.0):
        window = steady.run_until(seconds)
        before = law.window_before_loss(cwnd)
        computed_window = law.epoch_state(0.0, before, steady.seconds, rtt_ms * 1e-3).cwnd
        assert float(computed_window) == pytest.approx(window, rel=0.03, abs=0.6)


@pytest.mark.parametrize(("age", "gives_way"), [(0.8, True), (1.3, False)])
def test_whether_a_loss_gives_way(age: float, gives_way: bool) -> None:
    """In units of K: below the plateau the next one is lowered, also in the fluid."""
    law, lost = Cubic(friendly=False), 400.0
    steady = after_loss(law, lost, 20)
    k = steady.flow.k
    cwnd = steady.run_until(steady.seconds + age * k)
    state = law.epoch_state(k, lost, age * k, 0.02)
    assert float(law.applies_fast_convergence(state)) == float(gives_way)
    steady.lose()
    lowered = (1 + law.beta) / 2 if gives_way else 1.0
    assert steady.flow.w_max == pytest.approx(lowered * cwnd)


def test_in_slow_start_the_fluid_forgets_the_last_epoch_within_a_round_trip() -> None:
    law, rtt = Cubic(), 0.2
    window = law.epoch_state(3.0, 150.0, 1.0, rtt)._replace(slow_start=1.0)
    slope = law.growth(window, Signals(rtt, float(window.cwnd) / rtt, 0.0, 1e9))
    assert float(slope.k) == pytest.approx(-3.0 / rtt)
    assert float(slope.elapsed) == pytest.approx(-1.0 / rtt)


@pytest.mark.parametrize("part", [0.2, 0.6, 1.5, 1.9])
@pytest.mark.parametrize("lost", [150.0, 1000.0])
def test_the_slope_of_the_fluid_is_that_of_the_rules(part: float, lost: float) -> None:
    """Between losses, over a tenth of K, beyond the Reno-friendly region."""
    law, rtt = Cubic(), 0.2
    steady = after_loss(law, lost, 200)
    begin, k = steady.seconds, steady.flow.k
    before = steady.run_until(begin + (part - 0.05) * k)
    from_, middle = steady.seconds, law.epoch_state(k, lost, part * k, rtt)
    after = steady.run_until(begin + (part + 0.05) * k)
    slope = (after - before) / (steady.seconds - from_)
    seen = Signals(rtt, float(middle.cwnd) / rtt, 0.0, 1e9)
    assert float(law.growth(middle, seen).cwnd) == pytest.approx(slope, rel=0.1)
    assert float(law.growth(middle, seen).elapsed) == 1.0
