"""PI2's packet rule and fluid against RFC 9332, hand computations and a characteristic equation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import root

from tests.aqm.queue_records import PS, SERVICE, record
from vegasfluid import Flows, Link, Network, Pi2, Reno, mbps, metrics, simulate_packets
from vegasfluid.analysis import equilibrium, stability
from vegasfluid.aqm.base import ADMIT, EARLY, MARK, QueueState
from vegasfluid.aqm.delay_control import DelayControlState
from vegasfluid.aqm.pi2 import update
from vegasfluid.fluid.options import MISRA_GONG_TOWSLEY


def updated(law: Pi2, prob: float, waiting: int, old: float) -> float:
    """Output P after an update with this many packets waiting, and this old delay (s)."""
    queue = record(law, drop_prob=prob, old_delay=old, free=(waiting + 1) * SERVICE)
    update(queue, 0)
    assert queue.old_delay == pytest.approx(waiting / 1000)
    return queue.drop_prob


@pytest.mark.parametrize("prob", [0.001, 0.05, 0.5])
def test_an_update_is_the_same_at_any_probability(prob: float) -> None:
    """RFC 9332, figure 5: P + alpha (25 ms - 15 ms) + beta (25 ms - 20 ms), without any scaling."""
    assert updated(Pi2(), prob, 25, 0.020) == pytest.approx(prob + 0.16 * 0.010 + 3.2 * 0.005)


def test_the_output_stays_between_0_and_1() -> None:
    assert updated(Pi2(), 0.01, 0, 0.1) == 0.0
    assert updated(Pi2(), 0.99, 200, 0.1) == 1.0
    for prob, queue, sign in ((0.0, 0.0, 0), (1.0, 100.0, 0), (0.5, 100.0, 1), (0.5, 0.0, -1)):
        state = QueueState(queue, DelayControlState(prob, queue / 1000), 1.0, 1000.0, 1e6)
        assert np.sign(float(Pi2().derivative(state).base_prob)) == sign


def test_updates_between_two_arrivals_are_made_up_for() -> None:
    """A queue of 60 packets drains for 0.1 s: 7 updates, with 16 packets less in each."""
    law = Pi2()
    rare = record(law, drop_prob=0.9, old_delay=0.06, free=61 * SERVICE, update_at=0, now=PS // 10)
    law.rule.decide(rare, 0, 39.0)
    prob, old = 0.9, 0.06
    for waiting in (60, 44, 28, 12, 0, 0, 0):
        prob, old = updated(law, prob, waiting, old), waiting / 1000
    assert rare.drop_prob == pytest.approx(prob, rel=1e-12)
    assert rare.update_at == 7 * 16 * PS // 1000


def test_the_square_of_the_output_is_dropped() -> None:
    """0.3 squared is 0.09; in the fluid too. No variate is used up where nothing can be dropped."""
    for uniform, waiting, verdict in ((0.0899, 2, EARLY), (0.0901, 2, ADMIT), (0.0, 1, ADMIT)):
        queue = record(Pi2(), drop_prob=0.3, uniform=uniform)
        assert Pi2().rule.decide(queue, waiting, 0.0) == verdict
        assert queue.uniform_used == (waiting == 2)
    state = QueueState(100.0, DelayControlState(0.3, 0.1), 1000.0, 1000.0, 1e6)
    assert float(Pi2().drop_prob(state)) == pytest.approx(0.09)


def test_an_overloaded_queue_drops_what_it_would_mark() -> None:
    """Linux's sch_dualpi2: from an output of 1/2 on, a probability of 1/4."""
    law = Pi2(ecn=True)
    for prob, capable, verdict in ((0.49, 1, MARK), (0.52, 1, EARLY), (0.49, 0, EARLY)):
        queue = record(law, drop_prob=prob, ect=capable)
        assert law.rule.decide(queue, 50, 0.0) == verdict
        state = QueueState(100.0, DelayControlState(prob, 0.1), 1000.0, 1000.0, 1e6)
        dropped = float(law.forced_prob(state))
        assert dropped == (0.0 if prob < 0.5 else pytest.approx(prob**2))
        assert float(Pi2().forced_prob(state)) == pytest.approx(prob**2)


@pytest.mark.parametrize("prob", [0.01, 0.3])
def test_the_fluid_moves_as_updates_do(prob: float) -> None:
    """A delay that has risen by 1 ms in each update: the lag's old delay is what it was before."""
    step = updated(Pi2(), prob, 25, 0.024) - prob
    state = QueueState(25.0, DelayControlState(prob, 0.024), 1.0, 1000.0, 1e6)
    rate = Pi2().derivative(state)
    assert float(rate.base_prob) == pytest.approx(step / 0.016, rel=1e-9)
    assert float(rate.old_delay) == pytest.approx(0.001 / 0.016)


CAPACITY = 2000.0
SENDING = 1 + 40 / 1500
"""Transmission times of a packet and its ACK, in packets; part of the round-trip time."""


def marked(flows: int) -> Network:
    """Reno flows over a PI2 that marks; the round-trip time at equilibrium is 0.1 s."""
    reno = Flows(flows, Reno(), base_rtt=0.085 - SENDING / CAPACITY, ecn=True)
    return Network(Link(CAPACITY, 2000, Pi2(ecn=True)), {"reno": reno})


def test_at_equilibrium_the_delay_is_the_target_and_the_square_is_what_the_window_needs() -> None:
    """W = C R / N = 10 packets and W^2 p = 2, as in Misra, Gong and Towsley's equations."""
    point = equilibrium(marked(20), MISRA_GONG_TOWSLEY)
    assert float(point.values.queue[0]) == pytest.approx(CAPACITY * 0.015, rel=1e-9)
    assert point.mean("reno", "cwnd") == pytest.approx(10.0, rel=1e-9)
    output = float(point.solution.unknowns.aqm_states[0].base_prob)
    assert output == pytest.approx(math.sqrt(0.02), rel=1e-4)


@pytest.mark.parametrize("flows", [20, 2])
def test_roots_of_the_linearised_loop(flows: int) -> None:
    """With z = s R: Hollot's Reno, and in place of RED the controller times 2 P, the slope of P^2.

    A mark costs W/2, so that dp acts as R^2 C^2 / (2 N).
    """
    rtt, interval = 0.1, 0.016
    window = CAPACITY * rtt / flows
    slope = 2 * math.sqrt(2) / window

    def characteristic(pair: np.ndarray) -> list[float]:
        s = complex(*pair)
        z, late = s * rtt, np.exp(-s * rtt)
        trend = 0.16 + 3.2 * s * interval / (1 + s * interval)
        controller = slope * trend / (interval * s * CAPACITY)
        value = (z + (1 + late) / window) * (z + 1) + (1 - late) / window
        value += (rtt * CAPACITY) ** 2 / (2 * flows) * controller * late
        return [value.real, value.imag]

    starts = [(x, y) for x in (-0.1, -1.0, -4.0) for y in (0.5, 2.0, 5.0, 8.0)]
    found = [root(characteristic, start, tol=1e-12) for start in starts]
    rightmost = max(complex(*each.x).real for each in found if each.success)
    answer = stability(marked(flows), MISRA_GONG_TOWSLEY)
    assert answer.rightmost_root.real == pytest.approx(rightmost, rel=1e-6)


@pytest.mark.slow
def test_packets_wait_for_the_target() -> None:
    """Thirty flows keep the queue from running empty, so that its mean delay is the target."""
    flows = {"reno": Flows(30, Reno(), base_rtt=0.05)}
    run = simulate_packets(Network(Link(mbps(50), 1000, Pi2()), flows), until=40, warmup=15)
    assert float(metrics.queueing_delay(run)[0]) == pytest.approx(0.015, rel=0.03)
    assert float(metrics.utilisation(run)[0]) > 0.995
