"""PI's packet rule and fluid against hand computations, and the fluid against packets."""

from __future__ import annotations

import cmath
import math

import numpy as np
import pytest

from tests.aqm.queue_records import PS, SERVICE, record
from vegasfluid import (
    Cubic,
    Flows,
    InvalidInput,
    Link,
    Network,
    Pi,
    Reno,
    Vegas,
    mbps,
    metrics,
    simulate_fluid,
    simulate_packets,
)
from vegasfluid.analysis import equilibrium
from vegasfluid.aqm.base import ADMIT, EARLY, MARK, QueueState
from vegasfluid.aqm.pi import PiState, update
from vegasfluid.fluid.options import MISRA_GONG_TOWSLEY

FAST = Pi(a=1.822e-4, b=1.75e-4, w=200, q_ref=40)
"""Gains for a small network: converges within seconds."""


def sampled(law: Pi, prob: float, waiting: int, old: float) -> float:
    """Drop probability after a sample of this many packets waiting, and this old queue."""
    queue = record(law, drop_prob=prob, old_queue=old, free=(waiting + 1) * SERVICE)
    update(queue, 0)
    assert queue.old_queue == waiting
    return queue.drop_prob


def state_of(queue: float, prob: float, old_queue: float) -> QueueState:
    return QueueState(queue, PiState(prob, old_queue), 1000.0, 1000.0, 1e6)


def test_the_defaults_are_those_of_ns2() -> None:
    """Queue/PI in tcl/lib/ns-default.tcl."""
    assert Pi().parameters() == {"a": 1.822e-5, "b": 1.816e-5, "w": 170, "q_ref": 50, "ecn": False}


def test_a_sample_is_the_published_difference_equation() -> None:
    """80 packets after 70 at a reference of 50: p + 30 a - 20 b, by hand 1.834e-4."""
    assert sampled(Pi(), 0.01, 80, 70) == pytest.approx(0.01 + 1.834e-4, rel=1e-12)
    assert sampled(Pi(), 0.01, 0, 0) == pytest.approx(0.01 - 50 * 6e-8, rel=1e-12)


def test_the_probability_stays_between_0_and_1() -> None:
    law = Pi(a=0.01, b=0.001)
    assert sampled(law, 0.2, 0, 100) == 0.0
    assert sampled(law, 0.8, 200, 50) == 1.0
    for prob, queue, sign in ((0.0, 0.0, 0), (1.0, 100.0, 0), (0.5, 100.0, 1), (0.5, 0.0, -1)):
        rate = law.derivative(state_of(queue, prob, queue))
        assert np.sign(float(rate.base_prob)) == sign


def test_samples_between_two_arrivals_are_made_up_for() -> None:
    """A queue of 60 packets drains for 0.1 s: a sample each 20 ms finds 20 packets less."""
    law = Pi(a=1e-3, b=5e-4, w=50)
    rare = record(law, drop_prob=0.5, old_queue=60, free=61 * SERVICE, update_at=0, now=PS // 10)
    law.rule.decide(rare, 0, 39.0)
    prob, old = 0.5, 60
    for waiting in (60, 40, 20, 0, 0, 0):
        prob, old = prob + 1e-3 * (waiting - 50) - 5e-4 * (old - 50), waiting
    assert rare.drop_prob == pytest.approx(prob, rel=1e-12)
    assert rare.update_at == 6 * PS // 50


def test_the_coin_is_tossed_at_the_probability() -> None:
    """No variate is used up where nothing can be dropped."""
    for prob, uniform, verdict in ((0.3, 0.299, EARLY), (0.3, 0.301, ADMIT), (0.0, 0.0, ADMIT)):
        queue = record(Pi(), drop_prob=prob, uniform=uniform)
        assert Pi().rule.decide(queue, 80, 0.0) == verdict
        assert queue.uniform_used == (prob > 0)
    for capable, verdict in ((1, MARK), (0, EARLY)):
        queue = record(Pi(ecn=True), drop_prob=0.9, uniform=0.5, ect=capable)
        assert Pi(ecn=True).rule.decide(queue, 80, 0.0) == verdict
    assert float(Pi(ecn=True).forced_prob(state_of(80.0, 0.3, 80.0))) == 0.0
    assert float(Pi().forced_prob(state_of(80.0, 0.3, 80.0))) == 0.3


@pytest.mark.parametrize("prob", [0.02, 0.4])
def test_the_fraction_dropped_in_a_long_run_is_the_probability(prob: float) -> None:
    """At the reference queue the probability stays; the fraction within four deviations.

    A sample between two arrivals finds 50 packets, too: the first has nearly left when one comes.
    """
    law, rng, packets = Pi(q_ref=50), np.random.default_rng(3), 20_000
    queue = record(law, drop_prob=prob, old_queue=50, update_at=0)
    dropped = 0
    for number in range(packets):
        queue.now = number * SERVICE
        queue.free, queue.uniform = queue.now + 50 * SERVICE + 1, rng.random()
        dropped += law.rule.decide(queue, 50, 0.0) == EARLY
    assert queue.drop_prob == pytest.approx(prob, rel=1e-9)
    deviation = math.sqrt(prob * (1 - prob) / packets)
    assert dropped / packets == pytest.approx(prob, abs=4 * deviation)
    assert float(law.drop_prob(state_of(50.0, prob, 50.0))) == prob


@pytest.mark.parametrize("omega", [0.5, 5.0, 50.0])
def test_the_fluid_responds_to_a_wave_as_samples_do(omega: float) -> None:
    """A wave of 1 packet around 90, sampled at 160 Hz, and the controller's transfer function.

    Samples: (a - b / z) / (1 - 1 / z) with z = exp(i omega T), held for T; the fluid, linearised by
    hand: (a - b / (1 + sT)) / (sT). They differ by (omega T)^2 / 2 of b.
    """
    law = Pi(w=160, q_ref=90)
    step, s = 1 / 160, 1j * omega
    late = cmath.exp(-s * step)
    held = (law.a - law.b * late) / (1 - late) * (1 - late) / (s * step)
    old = 1 / (1 + s * step)
    rate = law.derivative(state_of(90.0 + 1, 0.5, 90.0 + 2))
    by_queue = 160 * (law.a * 1 - law.b * 2)
    assert float(rate.base_prob) == pytest.approx(by_queue, rel=1e-9)
    assert float(rate.old_queue) == pytest.approx(160 * (1 - 2))
    fluid = 160 * (law.a - law.b * old) / s
    assert abs(fluid - held) <= law.b * (omega * step) ** 2 / 2 / abs(s * step)


def test_a_queue_that_grows_changes_the_fluid_as_samples() -> None:
    """A queue that has grown by 1 packet in each sample: the lag's old queue is one behind."""
    change = sampled(Pi(), 0.1, 80, 79) - 0.1
    rate = Pi().derivative(state_of(80.0, 0.1, 79.0))
    assert float(rate.base_prob) == pytest.approx(170 * change, rel=1e-9)
    assert float(rate.old_queue) == pytest.approx(170.0)


def test_gains_that_integrate_nothing_are_rejected() -> None:
    with pytest.raises(InvalidInput, match="b must be below a"):
        Pi(a=1e-5, b=1e-5)


def test_at_equilibrium_the_queue_is_the_reference() -> None:
    """20 flows, 2000 packets/s, 0.1 s: W = 10, and W^2 p = 2 (Misra, Gong and Towsley)."""
    base_rtt = 0.1 - (50 + 1 + 40 / 1500) / 2000
    flows = {"reno": Flows(20, Reno(), base_rtt=base_rtt, ecn=True)}
    point = equilibrium(Network(Link(2000.0, 500, Pi(ecn=True)), flows), MISRA_GONG_TOWSLEY)
    assert float(point.values.queue[0]) == pytest.approx(50.0, rel=1e-9)
    assert point.mean("reno", "cwnd") == pytest.approx(10.0, rel=1e-9)
    prob = float(point.solution.unknowns.aqm_states[0].base_prob)
    assert prob == pytest.approx(0.02, rel=1e-4)


@pytest.mark.slow
@pytest.mark.unoptimised
def test_a_queue_below_the_reference_is_an_equilibrium_without_drops() -> None:
    """Two flows with at most 20 packets each fill the path, and 10 packets of queue."""
    base_rtt = 0.03 - (1 + 40 / 1500) / 1000
    flows = {"reno": Flows(2, Reno(), base_rtt=base_rtt, max_window=20)}
    point = equilibrium(Network(Link(1000.0, 200, Pi()), flows), MISRA_GONG_TOWSLEY)
    assert float(point.values.queue[0]) == pytest.approx(10.0, rel=1e-6)
    assert float(point.values.drop_prob[0]) == pytest.approx(0.0, abs=1e-9)


NETWORKS = {
    "reno": {"reno": Flows(10, Reno(), base_rtt=0.05)},
    "reno and vegas": {
        "vegas": Flows(5, Vegas(alpha=6, beta=8), base_rtt=0.05),
        "reno": Flows(5, Reno(), base_rtt=0.05),
    },
    "cubic and reno": {
        "cubic": Flows(5, Cubic(), base_rtt=0.05),
        "reno": Flows(5, Reno(recovery="sack"), base_rtt=0.05),
    },
}


@pytest.mark.slow
@pytest.mark.parametrize("name", list(NETWORKS))
def test_the_fluid_is_what_packets_do(name: str) -> None:
    """The mean queue within 5 % of the reference in both, ratios within 15 % of each other."""
    network = Network(Link(mbps(20), 200, FAST), NETWORKS[name])
    runs = [simulate(network, 120, warmup=30) for simulate in (simulate_fluid, simulate_packets)]
    for run in runs:
        assert float(metrics.mean_queue(run)[0]) == pytest.approx(40, rel=0.05)
        assert float(metrics.utilisation(run)[0]) > 0.99
    fluid, packets = (metrics.goodput(run).values for run in runs)
    assert fluid[0] / fluid[-1] == pytest.approx(packets[0] / packets[-1], rel=0.15)
