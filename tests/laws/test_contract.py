"""A law is told twice, as packet rules and as a fluid drift; here the two are held together.

The packet rules are driven as plain Python by a toy sender whose ACKs come at a steady pace.
"""

from __future__ import annotations

import math
from collections import deque
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vegasfluid.aqm.droptail import DropTail, overflow_prob
from vegasfluid.aqm.law import ADMIT, QueueState
from vegasfluid.aqm.red import Red
from vegasfluid.congestion.law import (
    RETRANSMIT,
    SEND,
    SEND_ONE,
    AbstractWindowLaw,
    Feedback,
    Window,
)
from vegasfluid.congestion.reno import Reno
from vegasfluid.congestion.vegas import Vegas
from vegasfluid.packet.bindings import bindings
from vegasfluid.packet.compiler import rebound
from vegasfluid.packet.features import Features
from vegasfluid.packet.link import REFUSED, admit
from vegasfluid.packet.records import FLOW, LINK, with_fields
from vegasfluid.packet.rules import Rules
from vegasfluid.traffic.bulk import Bulk

RTT = 10**11  # 0.1 s in ps
DIALECTS = ("brakmo", "ns2", "linux")
FAR = 1e5


def flow_record(law: AbstractWindowLaw, cwnd: float, ssthresh: float, base_rtt: float) -> Any:
    """The record of a sender that has seen `base_rtt` (ps) and sent nothing."""
    added = {**law.rules.state, **law.packet_parameters()}
    added |= {"recovery": law.rules.recovery, "window_limited": 1, "reordering": 3}
    flow = np.zeros(1, with_fields(FLOW, [added])).view(np.recarray)[0]
    for name, value in added.items():
        flow[name] = value
    if "base_rtt" in added:
        flow.base_rtt = base_rtt
    flow.cwnd, flow.ssthresh, flow.max_window = cwnd, ssthresh, 1e6
    flow.rto, flow.min_rto, flow.backoff = 10 * RTT, 2 * RTT, 1
    return flow


class Clock:
    """A sender whose packets are acknowledged one round trip after they were sent.

    Its first window goes out evenly over the first round trip.
    """

    def __init__(
        self, law: AbstractWindowLaw, cwnd: float, base_rtt: float, ssthresh: float = 2.0
    ) -> None:
        self.rules = law.rules
        self.flow = flow_record(law, cwnd, ssthresh, base_rtt)
        self.under_way: deque[tuple[float, float, int]] = deque()
        self.sent_at: dict[int, float] = {}
        self.received: set[int] = set()
        self.lost: set[int] = set()
        for place in range(int(cwnd)):
            self.send(self.flow.next_seq, place * RTT / int(cwnd))
            self.flow.next_seq += 1

    def send(self, seq: int, now: float) -> None:
        if seq not in self.lost:
            self.under_way.append((now + RTT, now, seq))
        self.lost.discard(seq)
        self.sent_at[seq] = now

    def take_ack(self) -> float:
        """Process the next ACK; when it came, ps."""
        flow = self.flow
        now, sent, seq = self.under_way.popleft()
        again = self.sent_at[seq] != sent
        self.received.add(seq)
        expected = int(flow.una)
        while expected in self.received:
            expected += 1
        acked, flow.una = expected - flow.una, expected
        self.report(expected)
        flow.acked_sent_at, flow.acked_transmissions = round(sent), 1 + again
        flow.oldest_sent_at = round(self.sent_at.get(expected, 0))
        flow.oldest_transmissions = 1
        if acked:
            self.obey(self.rules.on_ack(flow, round(now), acked), now)
        else:
            self.obey(self.rules.on_duplicate_ack(flow, round(now)), now)
        return now

    def report(self, expected: int) -> None:
        """What selective ACKs say: what came out of order, and so what is lost before it."""
        flow = self.flow
        beyond = [seq for seq in self.received if seq > expected]
        flow.sacked = len(beyond)
        flow.edge = max([expected, *(seq + 1 - flow.reordering for seq in beyond)])

    def obey(self, action: int, now: float) -> None:
        flow = self.flow
        flow.max_seq = max(flow.max_seq, flow.next_seq)
        if action & RETRANSMIT:
            self.send(int(flow.una), now)
        window = int(flow.cwnd) + flow.inflation
        if action & SEND_ONE:
            window = int(flow.cwnd) + flow.duplicates
        if action & (SEND | SEND_ONE):
            while flow.next_seq < flow.una + window:
                self.send(int(flow.next_seq), now)
                flow.next_seq += 1
        flow.max_seq = max(flow.max_seq, flow.next_seq)

    def run_until(self, time: float) -> float:
        """Process all ACKs before `time`; the window then."""
        while self.under_way[0][0] < time - 0.5:
            self.take_ack()
        return float(self.flow.cwnd)


def feedback(rtt: float, base_rtt: float, ack_rate: float = 0.0, loss_rate: float = 0.0) -> Any:
    return Feedback(rtt * 1e-12, base_rtt * 1e-12, ack_rate, loss_rate, FAR)


def steady_change(law: AbstractWindowLaw, window: float, lag: float) -> tuple[float, float]:
    """The mean change of the window in a round trip: of the packet rules, of the drift."""
    clock, rounds = Clock(law, window, RTT / lag), 3
    before = clock.run_until(3 * RTT)
    after = clock.run_until((3 + rounds) * RTT)
    middle = (before + after) / 2
    seen = feedback(RTT, RTT / lag, ack_rate=middle / (RTT * 1e-12))
    return (after - before) / rounds, float(law.drift(Window(middle, 0.0), seen).cwnd) * RTT * 1e-12


@settings(max_examples=15, deadline=None, derandomize=True)
@given(window=st.floats(30, 150))
def test_reno_in_congestion_avoidance_grows_by_its_drift(window: float) -> None:
    packets, fluid = steady_change(Reno(), window, lag=1.5)
    assert fluid == pytest.approx(1.0)  # one packet a round trip
    assert packets == pytest.approx(fluid, abs=2 / window)  # part of a packet cannot be sent


@pytest.mark.parametrize("dialect", DIALECTS)
@settings(max_examples=15, deadline=None, derandomize=True)
@given(window=st.floats(30, 150), lag=st.floats(1.3, 3.0), place=st.sampled_from((-1, 0, 1)))
def test_vegas_in_congestion_avoidance_moves_by_its_drift(
    dialect: str, window: float, lag: float, place: int
) -> None:
    backlog = Vegas(dialect=dialect).backlog(Window(window, 0.0), feedback(RTT, RTT / lag))
    span = math.ceil(6 * lag)  # more than the estimate moves while we look
    alpha, beta = {
        -1: (math.ceil(backlog) + span, math.ceil(backlog) + span + 2),
        0: (1, math.ceil(backlog) + 2),
        1: (1, 1),
    }[place]
    if place == 1 and backlog < 1 + span:
        return
    law = Vegas(alpha=alpha, beta=beta, dialect=dialect)
    packets, fluid = steady_change(law, window, lag)
    assert fluid == pytest.approx(-place)
    assert packets == pytest.approx(fluid, abs=2 / window if place else 0.0)


@pytest.mark.parametrize(
    ("law", "rounds"),
    [(Reno(), 1)]
    + [(Vegas(gamma=1000, dialect=name), n) for name, n in zip(DIALECTS, (2, 2, 1), strict=True)],
    ids=("reno", *DIALECTS),
)
@pytest.mark.parametrize("window", [4, 10, 64])
def test_slow_start_doubles_at_the_pace_of_the_drift(
    law: AbstractWindowLaw, rounds: int, window: int
) -> None:
    clock = Clock(law, window, RTT / 1.5, ssthresh=FAR)
    after = clock.run_until((1 + rounds) * RTT)
    seen = feedback(RTT, RTT / 1.5, ack_rate=window / (RTT * 1e-12))
    drift = law.drift(Window(float(window), 1.0), seen)
    assert after == 2 * window  # Brakmo and Peterson: every other round trip
    assert float(drift.cwnd) * RTT * 1e-12 * rounds == pytest.approx(window)
    assert float(drift.slow_start) == 0.0


@pytest.mark.parametrize(
    ("law", "cut"),
    [(Reno(), 1 / 2)]
    + [
        (Vegas(alpha=1, beta=200, dialect=name), cut)
        for name, cut in zip(DIALECTS, (1 / 2, 1 / 4, 1 / 2), strict=True)
    ],
    ids=("reno", *DIALECTS),
)
@pytest.mark.parametrize("window", [20, 41, 120])
def test_one_loss_takes_the_share_that_the_drift_says(
    law: AbstractWindowLaw, cut: float, window: int
) -> None:
    clock = Clock(law, window + 0.5, RTT / 1.5)
    clock.run_until(3 * RTT)
    before, lost = float(clock.flow.cwnd), int(clock.flow.next_seq)
    clock.lost.add(lost)
    while clock.flow.una <= lost:
        clock.take_ack()
    after = float(clock.flow.cwnd)
    drift = law.drift(Window(before, 0.0), feedback(RTT, RTT / 1.5, loss_rate=1.0))
    assert float(drift.cwnd) == pytest.approx(-cut * before)
    grown = 1.0 if isinstance(law, Reno) else 0.0  # Reno grows until the loss is seen
    assert after - before == pytest.approx(-cut * (before + grown), abs=1.0 + 2 / window)


@pytest.mark.parametrize("dialect", ["brakmo", "ns2"])
def test_the_end_of_slow_start_gives_up_the_share_that_the_drift_says(dialect: str) -> None:
    law, window = Vegas(dialect=dialect), 40.0
    clock = Clock(law, window, RTT / 1.5, ssthresh=FAR)
    while clock.flow.ssthresh == FAR:
        before = float(clock.flow.cwnd)
        clock.take_ack()
    after = float(clock.flow.cwnd)
    drift = law.drift(Window(window, 1.0), feedback(RTT, RTT / 1.5))
    leaving = -float(drift.slow_start)
    assert leaving > 0
    assert -float(drift.cwnd) / leaving == pytest.approx((before - after) / before * window)


def fluid_rest(law: Vegas, lag: float, windows: np.ndarray) -> float:
    """The backlog at the first of `windows` at which the drift stands still."""
    seen = feedback(RTT, RTT / lag, ack_rate=1.0)
    still = law.drift(Window(windows, 0.0), seen).cwnd == 0
    assert still.any()
    return float(law.backlog(Window(windows[np.argmax(still)], 0.0), seen))


@pytest.mark.parametrize(("dialect", "lag"), [("brakmo", 30.0), ("ns2", 30.0), ("linux", 2.0)])
@pytest.mark.parametrize("direction", [1, -1])
def test_vegas_comes_to_rest_where_the_drift_does(dialect: str, lag: float, direction: int) -> None:
    """With a backlog that moves by about a packet for a packet of window."""
    beyond = []
    for alpha in range(20, 49):  # where whole packets fall is chance: take the mean
        law = Vegas(alpha=alpha, beta=alpha + 4, dialect=dialect)
        start = alpha - 5.0 if direction > 0 else alpha + 10.0
        clock = Clock(law, start + 0.618 * alpha % 1, RTT / lag)
        rest = clock.run_until(12 * RTT)
        assert clock.run_until(14 * RTT) == rest
        if dialect == "ns2":  # it sees packets in flight
            rest = float(int(rest))
        backlog = float(law.backlog(Window(rest, 0.0), feedback(RTT, RTT / lag)))
        windows = np.linspace(start, rest + 2 * direction, 4001)
        beyond.append(backlog - fluid_rest(law, lag, windows))
    assert np.mean(beyond) == pytest.approx(0.0, abs=0.1)


def red_queue(law: Red, average: float) -> SimpleNamespace:
    """A queue record whose average is what it will stay while `average` packets wait."""
    record = dict.fromkeys(LINK, 0) | dict(law.rule.state) | law.packet_parameters()
    return SimpleNamespace(**record | {"avg_queue": average})


def dropped_share(law: Red, average: float, drops: int, seed: int) -> float:
    """The share that the rule drops while `average` packets wait, over `drops` drops."""
    queue, rule = red_queue(law, average), law.rule.drops
    rng = np.random.default_rng(seed)
    queue.above = 1  # past the first packet above min_thresh
    packets = lost = 0
    while lost < drops:
        queue.coin = rng.random()
        lost += rule(queue, average, 0.0) != ADMIT
        packets += 1
    assert queue.avg_queue == average
    return lost / packets


def state(average: float) -> QueueState:
    return QueueState(average, average, 1000.0, 1000.0, 1e6)


DROPS = 2500
SPREAD = 1 / math.sqrt(3)
"""Standard deviation over mean of a gap that is uniform from 0; the largest that can occur."""


@pytest.mark.parametrize("wait", [True, False])
@pytest.mark.parametrize(
    ("gentle", "average", "max_drop"),
    # 1/p_b is a whole number: the mean gap is then exact
    [
        (False, 40, 0.125),  # p_b = 1/64
        (False, 64, 0.125),  # 1/16
        (False, 64, 0.5),  # 1/4
        (False, 96, 0.125),  # everything
        (True, 64, 0.5),  # 1/4
        (True, 105.6001, 1 / 9),  # gentle: 1/9 + 8/9 * 1/10 = 1/5, and a little, for rounding
        (True, 192, 0.125),  # everything
    ],
)
def test_red_drops_the_share_that_drop_prob_says(
    wait: bool, gentle: bool, average: float, max_drop: float
) -> None:
    law = Red(32, 96, max_drop=max_drop, gentle=gentle, wait=wait)
    # For the fluid the jump at max_thresh takes one packet; the rule is at its end there.
    jump = 1 if average == 96 and not gentle else 0
    fluid = float(law.drop_prob(state(average + jump)))
    share = dropped_share(law, average, DROPS, seed=7)
    assert share == pytest.approx(fluid, rel=4 * SPREAD / math.sqrt(DROPS))


@pytest.mark.parametrize("average", [0, 10, 19])
def test_red_below_min_thresh_drops_nothing(average: int) -> None:
    law = Red(20, 100)
    queue = red_queue(law, average)
    queue.coin = 0.0
    assert not any(law.rule.drops(queue, average, 0.0) for _ in range(1000))
    assert float(law.drop_prob(state(average))) == 0.0


@settings(max_examples=25, deadline=None, derandomize=True)
@given(weight=st.floats(1e-4, 0.1), waiting=st.integers(0, 500), packets=st.integers(1, 2000))
def test_reds_average_relaxes_at_the_rate_that_averaging_says(
    weight: float, waiting: int, packets: int
) -> None:
    law, capacity = Red(1000, 2000, weight=weight), 750.0
    queue = red_queue(law, 100.0)
    for _ in range(packets):
        law.rule.drops(queue, waiting, 0.0)
    rate = law.averaging(QueueState(1.0, 0.0, capacity, capacity, 1e6))
    expected = waiting + (100.0 - waiting) * math.exp(-float(rate) * packets / capacity)
    assert queue.avg_queue == pytest.approx(expected, rel=1e-9)


def test_reds_average_decays_while_the_link_is_idle_as_averaging_says() -> None:
    law = Red(1000, 2000, weight=0.01)
    queue = red_queue(law, 100.0)
    law.rule.drops(queue, 0, 50.0)  # the link could have sent 50 packets, and one arrives
    rate = float(law.averaging(QueueState(0.0, 100.0, 1.0, 1.0, 1e6))) / 100.0
    assert queue.avg_queue == pytest.approx(100.0 * math.exp(rate * 51))


def queue_driver(law: DropTail, service: int, buffer: int) -> tuple[Any, Any]:
    """The engine's queue as plain Python, which says whether it takes a packet; its record."""
    links = np.zeros(1, with_fields(LINK, [])).view(np.recarray)
    links.service, links.buffer, links.tossed = service, buffer, 0
    bound = bindings(Rules((Reno(),), (law,), (Bulk(),), Features()))
    plain, sim = rebound(admit, bound, lambda f: f, {}), SimpleNamespace(links=links)
    return lambda now: plain(sim, 0, 1.0, service, now) != REFUSED, links[0]


@pytest.mark.parametrize("load", [1.1, 1.5, 2.0, 3.0])
def test_a_full_buffer_loses_what_overflow_prob_says(load: float) -> None:
    service = 10**9
    take, link = queue_driver(DropTail(), service, buffer=10)
    for packet in range(20):  # fill it
        take(packet)
    before, packets = int(link.full), 3000
    for packet in range(packets):
        take(20 + round(packet * service / load))
    share = (link.full - before) / packets
    fluid = overflow_prob(QueueState(10.0, 0.0, load * 1000.0, 1000.0, 10.0))
    assert share == pytest.approx(float(fluid), abs=11 / packets)  # the packets that wait


def test_drop_tail_drops_nothing_before_the_buffer_is_full() -> None:
    take, link = queue_driver(DropTail(), 10**9, buffer=10)
    taken = [take(0) for _ in range(13)]
    assert taken == [True] * 11 + [False] * 2  # one in transmission, ten wait
    assert link.early == 0
    assert float(DropTail().drop_prob(state(9.0))) == 0.0
    assert float(DropTail().averaging(state(9.0))) == 0.0


def test_the_queue_of_an_md1_system_waits_as_pollaczek_and_khinchine_say() -> None:
    """Poisson arrivals at load 1/2: the mean wait is rho s / (2 (1 - rho)) = s / 2."""
    service, packets, batches = 10**9, 40_000, 20
    take, link = queue_driver(DropTail(), service, buffer=10**6)
    gaps = np.random.default_rng(5).exponential(2 * service, packets)
    waits = []
    for batch in np.split(np.cumsum(gaps).round().astype(np.int64), batches):
        before = float(link.waited)
        for now in batch:
            take(now)
        waits.append((link.waited - before) / len(batch))
    error = np.std(waits, ddof=1) / math.sqrt(batches)
    assert np.mean(waits) == pytest.approx(service / 2, abs=4 * error)
    assert error < 0.02 * service
