"""The packet rules and the fluid drift of each congestion control agree.

The packet rules are driven as plain Python by a toy sender.
"""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.congestion.sender import FAR, RTT, Clock
from tests.packet.plain_records import plain_class
from vegasfluid.aqm.base import ADMIT, Average, QueueState
from vegasfluid.aqm.droptail import DropTail, overflow_prob
from vegasfluid.aqm.red import Red
from vegasfluid.congestion import congestion_controls
from vegasfluid.congestion.base import CongestionControl, Signals
from vegasfluid.congestion.highspeed import HighSpeed
from vegasfluid.congestion.newreno import NewReno
from vegasfluid.congestion.reno import Reno
from vegasfluid.congestion.scalable import Scalable
from vegasfluid.congestion.vegas import Vegas
from vegasfluid.packet.features import Features
from vegasfluid.packet.jit import open_names, specialise
from vegasfluid.packet.link import REFUSED, admit
from vegasfluid.packet.records import LINK, with_fields
from vegasfluid.packet.rules import Rules
from vegasfluid.traffic.bulk import Bulk

DIALECTS = ("brakmo", "ns2", "ns3", "linux")


def feedback(rtt: float, ack_rate: float = 0.0, loss_rate: float = 0.0) -> Any:
    return Signals(rtt * 1e-12, ack_rate, loss_rate, FAR)


def flow(law: CongestionControl, cwnd: Any, base_rtt: float, slow_start: float = 0.0) -> Any:
    """The state of a flow whose base RTT is so many ps."""
    return law.init(cwnd, base_rtt * 1e-12)._replace(slow_start=slow_start)


def steady_change(law: CongestionControl, window: float, lag: float) -> tuple[float, float]:
    """The mean change of the window in a round trip: of the packet rules, of the drift."""
    clock, rounds = Clock(law, window, RTT / lag), 3
    before = clock.run_until(3 * RTT)
    after = clock.run_until((3 + rounds) * RTT)
    middle = (before + after) / 2
    seen = feedback(RTT, ack_rate=middle / (RTT * 1e-12))
    growth = float(law.growth(flow(law, middle, RTT / lag), seen).cwnd)
    return (after - before) / rounds, growth * RTT * 1e-12


@pytest.mark.parametrize("law", [Reno(), NewReno()], ids=lambda law: law.name)
@settings(max_examples=15, deadline=None, derandomize=True)
@given(window=st.floats(30, 150))
def test_reno_in_congestion_avoidance_grows_by_its_drift(law: Reno, window: float) -> None:
    packets, fluid = steady_change(law, window, lag=1.5)
    assert fluid == pytest.approx(1.0)  # one packet a round trip
    assert packets == pytest.approx(fluid, abs=2 / window)  # part of a packet cannot be sent


@pytest.mark.parametrize(
    ("law", "windows"),
    [
        (HighSpeed(), (20.0, 39.9, 45.0, 118.5, 500.0, 1793.0)),
        (HighSpeed(low_window=20, high_window=1000, high_prob=1e-5), (15.0, 60.0, 400.0, 1500.0)),
        (Scalable(), (8.0, 30.0, 99.0, 300.5, 1000.0)),
        (Scalable(increase=0.05, legacy_window=0), (8.0, 30.0, 300.5)),
    ],
    ids=("highspeed", "highspeed-low", "scalable", "scalable-steep"),
)
def test_laws_for_large_windows_grow_by_their_drift(
    law: CongestionControl, windows: tuple[float, ...]
) -> None:
    for window in windows:
        packets, fluid = steady_change(law, window, lag=1.5)
        # The ACKs of a round trip are those of the window a round trip ago, in whole packets.
        late = (packets + 1) / window
        assert fluid * (1 - late) - 1e-9 <= packets <= fluid * (1 + 1 / window), window


@pytest.mark.parametrize(
    ("law", "window", "cut"),
    [
        (NewReno(), 120, 1 / 2),
        # RFC 3649, appendix B: b(w) at these windows, to two digits.
        (HighSpeed(), 20, 0.50),
        (HighSpeed(), 118, 0.44),
        (HighSpeed(), 347, 0.38),
        (HighSpeed(), 1058, 0.33),
        (Scalable(), 12, 1 / 2),
        (Scalable(), 41, 1 / 8),
        (Scalable(), 400, 1 / 8),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_one_loss_takes_the_fraction_of_the_window_that_is_in_the_drift(
    law: CongestionControl, window: int, cut: float
) -> None:
    clock = Clock(law, window, RTT / 1.5)
    clock.run_until(1.5 * RTT)
    lost = int(clock.flow.next_seq)
    clock.lost.add(lost)
    while not clock.flow.in_recovery:
        before = float(clock.flow.cwnd)
        clock.take_ack()
    after = float(clock.flow.cwnd)
    while clock.flow.una <= lost:
        clock.take_ack()
    assert clock.flow.in_recovery == 0
    assert clock.flow.cwnd == after  # nothing is gained while the loss is repaired
    drift = law.drift(flow(law, before, RTT / 1.5), feedback(RTT, loss_rate=1.0))
    assert -float(drift.cwnd) / before == pytest.approx(cut, abs=0.005)
    assert after - before == pytest.approx(float(drift.cwnd), rel=1e-9)


@pytest.mark.parametrize("dialect", DIALECTS)
@settings(max_examples=15, deadline=None, derandomize=True)
@given(window=st.floats(30, 150), lag=st.floats(1.3, 3.0), place=st.sampled_from((-1, 0, 1)))
def test_vegas_in_congestion_avoidance_moves_by_its_drift(
    dialect: str, window: float, lag: float, place: int
) -> None:
    plain = Vegas(dialect=dialect)
    backlog = plain.backlog(flow(plain, window, RTT / lag), feedback(RTT))
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
    [(Reno(), 1), (NewReno(), 1), (HighSpeed(), 1), (Scalable(), 1)]
    + [
        (Vegas(gamma=1000, dialect=name), n) for name, n in zip(DIALECTS, (2, 2, 1, 1), strict=True)
    ],
    ids=("reno", "newreno", "highspeed", "scalable", *DIALECTS),
)
@pytest.mark.parametrize("window", [4, 10, 64])
def test_slow_start_doubles_at_the_pace_of_the_drift(
    law: CongestionControl, rounds: int, window: int
) -> None:
    clock = Clock(law, window, RTT / 1.5, ssthresh=FAR)
    after = clock.run_until((1 + rounds) * RTT)
    seen = feedback(RTT, ack_rate=window / (RTT * 1e-12))
    drift = law.drift(flow(law, float(window), RTT / 1.5, slow_start=1.0), seen)
    assert after == 2 * window  # Brakmo and Peterson: every other round trip
    assert float(drift.cwnd) * RTT * 1e-12 * rounds == pytest.approx(window)
    assert float(drift.slow_start) == 0.0


@pytest.mark.parametrize(
    ("law", "cut"),
    [(Reno(), 1 / 2)]
    + [
        (Vegas(alpha=1, beta=200, dialect=name), cut)
        for name, cut in zip(DIALECTS, (1 / 2, 1 / 4, 1 / 4, 1 / 2), strict=True)
    ],
    ids=("reno", *DIALECTS),
)
@pytest.mark.parametrize("window", [20, 41, 120])
def test_one_loss_takes_the_fraction_that_is_in_the_drift(
    law: CongestionControl, cut: float, window: int
) -> None:
    clock = Clock(law, window + 0.5, RTT / 1.5)
    clock.run_until(3 * RTT)
    before, lost = float(clock.flow.cwnd), int(clock.flow.next_seq)
    clock.lost.add(lost)
    while clock.flow.una <= lost:
        clock.take_ack()
    after = float(clock.flow.cwnd)
    drift = law.drift(flow(law, before, RTT / 1.5), feedback(RTT, loss_rate=1.0))
    assert float(drift.cwnd) == pytest.approx(-cut * before)
    grown = 1.0 if isinstance(law, Reno) else 0.0  # Reno grows until the loss is seen
    assert after - before == pytest.approx(-cut * (before + grown), abs=1.0 + 2 / window)


@pytest.mark.parametrize("dialect", ["brakmo", "ns2"])
def test_the_end_of_slow_start_takes_the_fraction_that_is_in_the_drift(dialect: str) -> None:
    law, window = Vegas(dialect=dialect), 40.0
    clock = Clock(law, window, RTT / 1.5, ssthresh=FAR)
    while clock.flow.ssthresh == FAR:
        before = float(clock.flow.cwnd)
        clock.take_ack()
    after = float(clock.flow.cwnd)
    drift = law.drift(flow(law, window, RTT / 1.5, slow_start=1.0), feedback(RTT))
    leaving = -float(drift.slow_start)
    assert leaving > 0
    assert -float(drift.cwnd) / leaving == pytest.approx((before - after) / before * window)


def fluid_rest(law: Vegas, lag: float, windows: np.ndarray) -> float:
    """The backlog at the first of `windows` at which the drift stands still."""
    seen = feedback(RTT, ack_rate=1.0)
    still = law.growth(flow(law, windows, RTT / lag), seen).cwnd == 0
    assert still.any()
    return float(law.backlog(flow(law, windows[np.argmax(still)], RTT / lag), seen))


@pytest.mark.parametrize(
    ("dialect", "lag"), [("brakmo", 30.0), ("ns2", 30.0), ("ns3", 30.0), ("linux", 2.0)]
)
@pytest.mark.parametrize("direction", [1, -1])
def test_vegas_converges_to_the_equilibrium_of_the_drift(
    dialect: str, lag: float, direction: int
) -> None:
    """With a backlog that moves by about a packet for a packet of window."""
    beyond = []
    for alpha in range(20, 49):  # where whole packets fall is chance: take the mean
        law = Vegas(alpha=alpha, beta=alpha + 4, dialect=dialect)
        start = alpha - 5.0 if direction > 0 else alpha + 10.0
        clock = Clock(law, start + 0.618 * alpha % 1, RTT / lag)
        equilibrium = clock.run_until(12 * RTT)
        assert clock.run_until(14 * RTT) == equilibrium
        if dialect in ("ns2", "ns3"):  # they count whole packets
            equilibrium = float(int(equilibrium))
        backlog = float(law.backlog(flow(law, equilibrium, RTT / lag), feedback(RTT)))
        windows = np.linspace(start, equilibrium + 2 * direction, 4001)
        beyond.append(backlog - fluid_rest(law, lag, windows))
    assert np.mean(beyond) == pytest.approx(0.0, abs=0.1)


def red_queue(law: Red, average: float) -> SimpleNamespace:
    """A queue record whose average is what it will stay while `average` packets wait."""
    record = dict.fromkeys(LINK, 0) | dict(law.rule.state) | law.packet_parameters()
    return SimpleNamespace(**record | {"avg_queue": average})


def dropped_share(law: Red, average: float, drops: int, seed: int) -> float:
    """The share that the rule drops while `average` packets wait, over `drops` drops."""
    queue, rule = red_queue(law, average), law.rule.decide
    rng = np.random.default_rng(seed)
    queue.above = 1  # past the first packet above min_thresh
    packets = lost = 0
    while lost < drops:
        queue.uniform = rng.random()
        lost += rule(queue, average, 0.0) != ADMIT
        packets += 1
    assert queue.avg_queue == average
    return lost / packets


def state(average: float) -> QueueState:
    return QueueState(average, Average(average), 1000.0, 1000.0, 1e6)


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
def test_red_drops_the_fraction_drop_prob(
    wait: bool, gentle: bool, average: float, max_drop: float
) -> None:
    law = Red(32, 96, max_drop=max_drop, gentle=gentle, wait=wait)
    # For the fluid the jump at max_thresh takes one packet; the rule is at its end there.
    jump = 1 if average == 96 and not gentle else 0
    fluid = float(law.drop_prob(state(average + jump)))
    share = dropped_share(law, average, DROPS, seed=7)
    assert share == pytest.approx(fluid, rel=4 * SPREAD / math.sqrt(DROPS))


@pytest.mark.parametrize(
    ("average", "max_drop"),
    [(40, 0.125), (64, 0.125), (64, 0.5), (96, 0.125)],  # 1/p_b: 64, 16, 4 packets; everything
)
def test_linuxs_red_drops_the_fraction_drop_prob(average: float, max_drop: float) -> None:
    law = Red(32, 96, max_drop=max_drop, implementation="linux", in_bytes=False)
    jump = 1 if average == 96 else 0
    fluid = float(law.drop_prob(state(average + jump)))
    share = dropped_share(law, average, DROPS, seed=7)
    assert share == pytest.approx(fluid, rel=4 * SPREAD / math.sqrt(DROPS))


@pytest.mark.parametrize("average", [0, 10, 19])
def test_red_below_min_thresh_drops_nothing(average: int) -> None:
    law = Red(20, 100)
    queue = red_queue(law, average)
    queue.uniform = 0.0
    assert not any(law.rule.decide(queue, average, 0.0) for _ in range(1000))
    assert float(law.drop_prob(state(average))) == 0.0


@settings(max_examples=25, deadline=None, derandomize=True)
@given(weight=st.floats(1e-4, 0.1), waiting=st.integers(0, 500), packets=st.integers(1, 2000))
def test_reds_average_changes_at_the_rate_of_its_derivative(
    weight: float, waiting: int, packets: int
) -> None:
    law, capacity = Red(1000, 2000, weight=weight), 750.0
    queue = red_queue(law, 100.0)
    for _ in range(packets):
        law.rule.decide(queue, waiting, 0.0)
    rate = law.derivative(QueueState(1.0, Average(0.0), capacity, capacity, 1e6)).avg_queue
    expected = waiting + (100.0 - waiting) * math.exp(-float(rate) * packets / capacity)
    assert queue.avg_queue == pytest.approx(expected, rel=1e-9)


def test_reds_average_decays_on_an_idle_link_at_the_rate_of_its_derivative() -> None:
    law = Red(1000, 2000, weight=0.01)
    queue = red_queue(law, 100.0)
    law.rule.decide(queue, 0, 50.0)  # the link could have sent 50 packets, and one arrives
    rate = float(law.derivative(QueueState(0.0, Average(100.0), 1.0, 1.0, 1e6)).avg_queue) / 100.0
    assert queue.avg_queue == pytest.approx(100.0 * math.exp(rate * 51))


def queue_driver(law: DropTail, service: int, buffer: int) -> tuple[Any, Any]:
    """The engine's queue as plain Python, which states whether it takes a packet; its record."""
    dtype = with_fields(LINK, [])
    link = plain_class(dtype)()
    for name in dtype.names or ():
        setattr(link, name, 0)
    link.service, link.buffer = service, buffer
    bound = open_names(Rules((Reno(),), (law,), (Bulk(),), Features()))
    plain, sim = specialise(admit, bound, lambda f: f, {}), SimpleNamespace(links=[link])
    return lambda now: plain(sim, 0, 1.0, service, now) != REFUSED, link


@pytest.mark.parametrize("load", [1.1, 1.5, 2.0, 3.0])
def test_a_full_buffer_drops_the_fraction_overflow_prob(load: float) -> None:
    service = 10**9
    take, link = queue_driver(DropTail(), service, buffer=10)
    for packet in range(20):  # fill it
        take(packet)
    before, packets = int(link.full), 3000
    for packet in range(packets):
        take(20 + round(packet * service / load))
    share = (link.full - before) / packets
    fluid = overflow_prob(QueueState(10.0, Average(0.0), load * 1000.0, 1000.0, 10.0))
    assert share == pytest.approx(float(fluid), abs=11 / packets)  # the packets that wait


def test_drop_tail_drops_nothing_before_the_buffer_is_full() -> None:
    take, link = queue_driver(DropTail(), 10**9, buffer=10)
    taken = [take(0) for _ in range(13)]
    assert taken == [True] * 11 + [False] * 2  # one in transmission, ten wait
    assert link.early == 0
    assert float(DropTail().drop_prob(state(9.0))) == 0.0
    assert float(DropTail().derivative(state(9.0)).avg_queue) == 0.0


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


@pytest.mark.parametrize("kind", congestion_controls().values(), ids=lambda kind: kind.name)
def test_what_learns_the_base_rtt_has_it_in_its_state(kind: type[CongestionControl]) -> None:
    state = kind().init(np.ones(1), np.ones(1))
    assert kind.learns_base_rtt == ("base_rtt" in state._fields)
