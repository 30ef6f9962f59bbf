"""PIE's packet rule and fluid against RFC 8033, hand computations and a characteristic equation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import root

from tests.aqm.queue_records import PS, SERVICE, record
from vegasfluid import Flows, Link, Network, Pie, Reno
from vegasfluid.analysis import equilibrium, stability
from vegasfluid.aqm.base import ADMIT, EARLY, MARK, QueueState
from vegasfluid.aqm.delay_control import DelayControlState
from vegasfluid.aqm.pie.packets import update
from vegasfluid.fluid.options import MISRA_GONG_TOWSLEY

GAINS = ((1e-6, 2048), (1e-5, 512), (1e-4, 128), (1e-3, 32), (1e-2, 8), (1e-1, 2), (2.0, 1))
"""RFC 8033, section 4.2: alpha and beta are divided by this below this probability."""


def updated(law: Pie, prob: float, waiting: int, old: float) -> float:
    """Drop probability after an update with this many packets waiting, and this old delay (s)."""
    queue = record(law, drop_prob=prob, old_delay=old, free=(waiting + 1) * SERVICE)
    update(queue, 0)
    return queue.drop_prob


@pytest.mark.parametrize(
    "prob", [3e-7, 3e-6, 3e-5, 3e-4, 3e-3, 3e-2, 0.3, *(f * (1 + 1e-9) for f, _ in GAINS[:-1])]
)
def test_an_update_scales_both_gains_as_the_rfc_has_it(prob: float) -> None:
    """25 packets wait 25 ms, 10 ms above the target, and 5 ms more than at the last update."""
    divisor = next(divisor for below, divisor in GAINS if prob < below)
    change = (0.125 * 0.010 + 1.25 * 0.005) / divisor
    assert updated(Pie(), prob, 25, 0.020) == pytest.approx(prob + change, rel=1e-12)


def test_large_steps_and_long_delays_and_none() -> None:
    """RFC 8033, section 5.5; Linux 6.1: 2 % more above 250 ms, 1/64 less after no delay."""
    jump = 0.125 * 0.185 + 1.25 * 0.2
    assert updated(Pie(), 0.05, 200, 0.0) == pytest.approx(0.05 + jump / 2)
    assert updated(Pie(), 0.5, 200, 0.0) == pytest.approx(0.52)
    assert updated(Pie(), 0.5, 300, 0.3) == pytest.approx(0.52 + min(0.125 * 0.285, 0.02))
    assert updated(Pie(), 0.5, 0, 0.0) == pytest.approx((0.5 - 0.125 * 0.015) * 63 / 64)
    assert updated(Pie(), 1.0, 900, 0.0) == 1.0
    assert updated(Pie(), 1e-3, 0, 0.1) == 0.0


def test_updates_between_two_arrivals_are_made_up_for() -> None:
    """A queue of 60 packets drains for 0.1 s: 7 updates, with 15 packets less in each."""
    law = Pie()
    rare = record(law, drop_prob=0.2, old_delay=0.06, free=61 * SERVICE, update_at=0, now=PS // 10)
    law.rule.decide(rare, 0, 39.0)
    prob, old = 0.2, 0.06
    for waiting in (60, 45, 30, 15, 0, 0, 0):
        prob, old = updated(law, prob, waiting, old), waiting / 1000
    assert rare.drop_prob == pytest.approx(prob, rel=1e-12)
    assert rare.update_at == 7 * 15 * PS // 1000


def gaps(law: Pie, prob: float, drops: int) -> np.ndarray:
    """Gaps between drops, packets, at a constant probability in a long queue."""
    queue, rng = record(law, drop_prob=prob, old_delay=0.1), np.random.default_rng(5)
    found, packets = [], 0
    while len(found) < drops:
        queue.uniform, packets = rng.random(), packets + 1
        if law.rule.decide(queue, 100, 0.0) == EARLY:
            found.append(packets)
            packets = 0
    return np.array(found)


def mean_gap(prob: float) -> float:
    """Mean gap: packets until their sum reaches 0.85, then geometric, and at 8.5 at the latest."""
    quiet, last = math.ceil(0.85 / prob) - 1, math.ceil(8.5 / prob)
    return quiet + (1 - (1 - prob) ** (last - quiet)) / prob


@pytest.mark.parametrize("prob", [0.003, 0.0301, 0.26, 0.6, 0.99])
def test_drops_are_spaced_in_packets_and_fluid(prob: float) -> None:
    found, exact = gaps(Pie(), prob, 500), mean_gap(prob)
    assert found.min() >= math.ceil(0.85 / prob)
    assert found.max() <= math.ceil(8.5 / prob)
    assert found.mean() == pytest.approx(exact, rel=4 / math.sqrt(500))
    state = QueueState(100.0, DelayControlState(prob, 0.1), 1000.0, 1000.0, 1e6)
    assert abs(1 / float(Pie().drop_prob(state)) - exact) < 0.51


def test_a_burst_of_150_ms_is_let_through() -> None:
    """After an empty queue: 50 packets wait, an update each 15 ms, and 11 of them use it up."""
    law = Pie()
    queue = record(law, update_at=0, free=0, now=0)
    law.rule.decide(queue, 0, 0.0)
    seen = []
    for number in range(1, 12):
        queue.now = number * 15 * PS // 1000
        queue.free, queue.drop_prob, queue.count = queue.now + 51 * SERVICE, 0.5, 8.0
        queue.uniform = 0.0
        seen.append(law.rule.decide(queue, 50, 0.0))
    assert seen == [ADMIT] * 9 + [EARLY] * 2


@pytest.mark.parametrize(
    ("prob", "old_delay", "waiting", "verdict"),
    [
        (0.15, 0.007, 50, ADMIT),  # half the target is 7.5 ms
        (0.15, 0.008, 50, EARLY),
        (0.25, 0.007, 50, EARLY),
        (0.25, 0.1, 1, ADMIT),  # two packets wait at least
        (0.25, 0.1, 2, EARLY),
    ],
)
def test_safeguards(prob: float, old_delay: float, waiting: int, verdict: int) -> None:
    queue = record(Pie(), drop_prob=prob, old_delay=old_delay, count=8.5)
    assert Pie().rule.decide(queue, waiting, 0.0) == verdict
    state = QueueState(1000 * old_delay, DelayControlState(prob, old_delay), 1000.0, 1000.0, 1e6)
    if waiting == 50:
        assert (float(Pie().drop_prob(state)) > 0.05) == (verdict == EARLY)


def test_marks_up_to_the_threshold() -> None:
    law = Pie(ecn=True)
    for prob, capable, verdict in ((0.09, 1, MARK), (0.12, 1, EARLY), (0.09, 0, EARLY)):
        queue = record(law, drop_prob=prob, old_delay=0.1, count=8.5, ect=capable)
        assert law.rule.decide(queue, 50, 0.0) == verdict
        state = QueueState(100.0, DelayControlState(prob, 0.1), 1000.0, 1000.0, 1e6)
        dropped = float(law.forced_prob(state))
        assert dropped == (0.0 if prob < 0.1 else pytest.approx(float(law.drop_prob(state))))
        assert float(Pie().forced_prob(state)) == float(law.drop_prob(state))


@pytest.mark.parametrize("prob", [3e-5, 3e-3, 0.05, 0.3])
def test_the_fluid_moves_as_updates_do(prob: float) -> None:
    """A delay that has risen by 1 ms in each update: the lag's old delay is what it was before."""
    law, step = Pie(), updated(Pie(), prob, 25, 0.024) - prob
    rate = law.derivative(QueueState(25.0, DelayControlState(prob, 0.024), 1.0, 1000.0, 1e6))
    assert float(rate.base_prob) == pytest.approx(step / 0.015, rel=1e-9)
    assert float(rate.old_delay) == pytest.approx(0.001 / 0.015)


FLOWS, CAPACITY = 20, 2000.0
SENDING = 1 + 40 / 1500
"""Transmission times of a packet and its ACK, in packets; part of the round-trip time."""


def marked() -> Network:
    """Reno flows over a PIE that marks; the round-trip time at equilibrium is 0.1 s."""
    flows = {"reno": Flows(FLOWS, Reno(), base_rtt=0.085 - SENDING / CAPACITY, ecn=True)}
    return Network(Link(CAPACITY, 2000, Pie(ecn=True)), flows)


def test_at_equilibrium_the_delay_is_the_target_and_the_window_as_many_marks_as_it_needs() -> None:
    """W = C R / N = 10 packets and W^2 p = 2, as in Misra, Gong and Towsley's equations."""
    point = equilibrium(marked(), MISRA_GONG_TOWSLEY)
    assert float(point.values.queue[0]) == pytest.approx(CAPACITY * 0.015, rel=1e-9)
    assert point.mean("reno", "cwnd") == pytest.approx(10.0, rel=1e-9)
    prob = float(point.solution.unknowns.aqm_states[0].base_prob)
    assert prob / (1.85 - prob / 2) == pytest.approx(0.02, rel=1e-4)


@pytest.mark.slow
@pytest.mark.unoptimised
def test_a_queue_below_the_target_is_an_equilibrium_without_marks() -> None:
    """Two flows with at most 20 packets each fill the path, and 10 ms of queue."""
    base_rtt = 0.03 - SENDING / 1000.0
    flows = {"reno": Flows(2, Reno(), base_rtt=base_rtt, max_window=20)}
    point = equilibrium(Network(Link(1000.0, 200, Pie()), flows), MISRA_GONG_TOWSLEY)
    assert float(point.values.queue[0]) == pytest.approx(10.0, rel=1e-6)
    assert float(point.values.drop_prob[0]) == pytest.approx(0.0, abs=1e-9)


def test_roots_of_the_linearised_loop() -> None:
    """With z = s R: Hollot's Reno, and PIE in place of RED: a sum and a difference of delays.

    A mark costs W/2, so that dp acts as R^2 C^2 / (2 N); the gains are halved, as P is below 10 %.
    """
    rtt, window, prob, interval = 0.1, 10.0, 0.02, 0.015
    base = 1.85 * prob / (1 + prob / 2)
    slope = 1.85 / (1.85 - base / 2) ** 2

    def characteristic(pair: np.ndarray) -> list[float]:
        s = complex(*pair)
        z, late = s * rtt, np.exp(-s * rtt)
        trend = 0.125 + 1.25 * s * interval / (1 + s * interval)
        pie = slope * trend / (2 * interval * s * CAPACITY)
        value = (z + (1 + late) / window) * (z + 1) + (1 - late) / window
        value += (rtt * CAPACITY) ** 2 / (2 * FLOWS) * pie * late
        return [value.real, value.imag]

    starts = [(x, y) for x in (-1.0, -4.0) for y in (0.5, 2.0, 4.0, 8.0)]
    found = [root(characteristic, start, tol=1e-12) for start in starts]
    rightmost = max(complex(*each.x).real for each in found if each.success)
    answer = stability(marked(), MISRA_GONG_TOWSLEY)
    assert answer.rightmost_root.real == pytest.approx(rightmost, rel=1e-6)
