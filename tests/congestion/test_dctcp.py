"""DCTCP: RFC 8257 by hand, the sawtooth of Alizadeh et al. 2010, and windows under random marks."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
import xarray as xr

from tests.congestion.sender import FAR, RTT, flow_record
from vegasfluid import (
    Dctcp,
    Flows,
    Link,
    Network,
    Red,
    Reno,
    StepMarking,
    metrics,
    simulate_fluid,
    simulate_packets,
)
from vegasfluid.analysis import equilibrium
from vegasfluid.congestion.base import Signals
from vegasfluid.fluid.options import DEFAULT_OPTIONS
from vegasfluid.trajectory import CLASS_VARIABLES

CAPACITY = 10e9 / (8 * 1500)
"""10 Gbit/s in packets of 1500 bytes."""
BASE_RTT = 100e-6
SENDING = 1 + 40 / 1500
"""Transmission times of a packet and its ACK, in packets; part of the round-trip time."""


def test_alpha_is_updated_once_per_window_of_data() -> None:
    """RFC 8257, section 3.3, steps 1 to 8: windows of 10, 10 and 20 packets, by hand."""
    rules = Dctcp().rules
    flow = flow_record(Dctcp(), cwnd=10.0, ssthresh=2.0, base_rtt=RTT)
    flow.una, flow.window_end, flow.max_seq = 0, 10, 20
    for acked, marked in ((2, 1), (3, 0), (5, 1)):  # up to 10, the end of the window
        rules.count_marks(flow, acked, marked)
        flow.una += acked
        assert flow.dctcp_alpha == 1.0
    rules.count_marks(flow, 2, 0)  # beyond it: 7 of 12 packets were marked
    alpha = 15 / 16 * 1.0 + 1 / 16 * 7 / 12
    assert flow.dctcp_alpha == pytest.approx(alpha)
    assert (flow.window_end, flow.acked_in_window, flow.marked_in_window) == (20, 0, 0)
    flow.una = 12
    rules.count_marks(flow, 9, 0)
    assert flow.dctcp_alpha == pytest.approx(15 / 16 * alpha)


def test_a_mark_takes_half_of_alpha_and_a_loss_half_of_the_window() -> None:
    """RFC 8257, section 3.3, step 9, and section 3.5."""
    rules = Dctcp().rules
    flow = flow_record(Dctcp(), cwnd=40.0, ssthresh=FAR, base_rtt=RTT)
    flow.mark_estimate = 0.25
    rules.on_ecn_echo(flow, 0)
    assert flow.cwnd == flow.ssthresh == 40 * (1 - 0.25 / 2)
    flow.cwnd = 40.0
    rules.on_timeout(flow, 0)
    assert (flow.cwnd, flow.ssthresh) == (1.0, 20.0)
    assert rules.window_after_loss(flow, 40.0) == 20.0


def test_linux_rounds_alpha_and_the_reduction_down() -> None:
    """tcp_dctcp.c: alpha -= alpha >> 4 or all of it; alpha += (marked << 6) / acked."""
    law = Dctcp(recovery="rack")
    flow = flow_record(law, cwnd=40.0, ssthresh=FAR, base_rtt=RTT)
    flow.una, flow.window_end, flow.max_seq = 0, 10, 20
    flow.mark_estimate = 1000 / 1024
    law.rules.count_marks(flow, 11, 0)
    assert flow.dctcp_alpha * 1024 == 1000 - (1000 >> 4)
    flow.una, flow.window_end, flow.mark_estimate = 11, 11, 15 / 1024
    flow.marked_in_window, flow.acked_in_window = 3, 6
    law.rules.count_marks(flow, 1, 0)
    assert flow.dctcp_alpha * 1024 == 15 - 15 + (3 << 6) // 7  # 15 >> 4 is 0
    for alpha, left in ((1024, 20.0), (200, 37.0), (51, 40.0)):  # 40 - (40 alpha >> 11)
        flow.mark_estimate = alpha / 1024
        assert law.rules.window_after_mark(flow, 40.0) == left
    flow.cwnd = 41.0
    law.rules.on_state(flow, 3)  # a loss while a mark is answered
    assert flow.ssthresh == 20.0


def test_the_fluid_has_the_same_cuts_and_the_same_estimate() -> None:
    law = Dctcp(gain=0.1, initial_alpha=0.4)
    state = law.init(40.0, 1e-4)._replace(slow_start=0.0)
    seen = Signals(1e-4, 4e5, 1000.0, FAR, mark_prob=0.3, marked=1.0)
    assert float(law.after_loss(state, seen).cwnd) == pytest.approx(40 * (1 - 0.4 / 2))
    assert float(law.after_loss(state, seen._replace(marked=0.0)).cwnd) == 20.0
    rates = law.drift(state, seen)
    assert float(rates.alpha) == pytest.approx(0.1 * (0.3 - 0.4) / 1e-4)
    # one packet per round trip, but not by ACKs that echo a mark; 1000 marks/s
    assert float(rates.cwnd) == pytest.approx((1 - 0.3) / 1e-4 - 1000 * 40 * 0.4 / 2)


def data_centre(count: int, threshold: float, **more: float) -> Network:
    rtt = BASE_RTT - SENDING / CAPACITY
    flows = Flows(count, Dctcp(), base_rtt=rtt, initial_ssthresh=20, **more)
    return Network(Link(CAPACITY, 1000, StepMarking(threshold)), {"dctcp": flows})


class Sawtooth:
    """Alizadeh et al., SIGCOMM 2010, section 3.3, equations 3 to 12, for synchronised flows."""

    def __init__(self, count: int, threshold: float) -> None:
        total = CAPACITY * BASE_RTT + threshold
        self.window = total / count
        low, high = 0.0, 1.0  # alpha^2 (1 - alpha / 4) = (2 W + 1) / (W + 1)^2
        for _ in range(60):
            middle = (low + high) / 2
            wanted = (2 * self.window + 1) / (self.window + 1) ** 2
            below = middle**2 * (1 - middle / 4) < wanted
            low, high = (middle, high) if below else (low, middle)
        self.alpha = low
        self.amplitude = math.sqrt(2 * count * total) / 2
        self.period = self.amplitude / count * total / CAPACITY  # s; a packet of each per RTT
        self.largest = threshold + count
        self.smallest = self.largest - self.amplitude


@cache
def packets(count: int, threshold: float = 40) -> xr.Dataset:
    return simulate_packets(data_centre(count, threshold), 0.05, warmup=0.02, samples=20001)


@cache
def fluid(count: int, threshold: float = 40) -> xr.Dataset:
    return simulate_fluid(data_centre(count, threshold), 0.05, warmup=0.02, samples=20001)


def late(run: xr.Dataset, name: str) -> np.ndarray:
    """A variable of the only class or link after the warm-up."""
    return run[name].values[len(run.time) * 2 // 5 :, 0]


def marked_fraction(run: xr.Dataset) -> float:
    marked, admitted = late(run, "marked"), late(run, "admitted")
    return float((marked[-1] - marked[0]) / (admitted[-1] - admitted[0]))


@pytest.mark.slow
@pytest.mark.unoptimised
@pytest.mark.parametrize("threshold", [40, 65])
def test_two_flows_have_the_sawtooth_of_the_paper(threshold: int) -> None:
    """The paper's queue includes the packet in transmission; a queue is whole packets."""
    theory, run = Sawtooth(2, threshold), packets(2, threshold)
    queue = late(run, "queue")
    assert queue.max() == pytest.approx(theory.largest, abs=1.5)
    assert queue.min() == pytest.approx(theory.smallest, abs=1.5)
    assert late(run, "dctcp_alpha").mean() == pytest.approx(theory.alpha, rel=0.06)
    assert marked_fraction(run) == pytest.approx(theory.alpha, rel=0.06)
    assert float(metrics.utilisation(run)[0]) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.slow
@pytest.mark.unoptimised
def test_the_sawtooth_has_the_period_of_the_paper() -> None:
    theory, queue = Sawtooth(2, 40), late(packets(2), "queue")
    step = 0.05 / 20000
    power = np.abs(np.fft.rfft(queue - queue.mean())) ** 2
    measured_period = len(queue) * step / int(np.argmax(power))
    # And the round trip in which the window does not grow, as all ACKs echo marks.
    assert (
        theory.period
        <= measured_period
        <= theory.period + 1.5 * Sawtooth(2, 40).window * 2 / CAPACITY
    )


@pytest.mark.parametrize("count", [2, 10, 40])
def test_the_largest_queue_is_that_of_the_paper(count: int) -> None:
    """K + N, packets and fluid: each window grows by one packet until marks have come back."""
    theory = Sawtooth(count, 40)
    for run in (packets(count), fluid(count)):
        assert late(run, "queue").max() == pytest.approx(theory.largest, rel=0.05)


@pytest.mark.parametrize("count", [2, 10])
def test_the_fluid_has_the_sawtooth(count: int) -> None:
    """Packets of more than a few flows are not quite in step: more than the paper's amplitude."""
    theory, queue = Sawtooth(count, 40), late(fluid(count), "queue")
    measured = late(packets(count), "queue")
    peak_to_peak, theirs = queue.max() - queue.min(), measured.max() - measured.min()
    assert peak_to_peak >= 0.95 * theory.amplitude
    assert peak_to_peak == pytest.approx(theirs, rel=0.12)
    assert marked_fraction(fluid(count)) == pytest.approx(marked_fraction(packets(count)), rel=0.15)
    assert queue.mean() == pytest.approx(measured.mean(), rel=0.07)


def test_a_threshold_above_a_seventh_of_the_bandwidth_delay_product_avoids_underflow() -> None:
    """Alizadeh et al. 2010, section 3.4, equation 13: K > C RTT / 7. Below it the link idles."""
    product = CAPACITY * BASE_RTT
    above, below = (packets(2, round(product * share)) for share in (1 / 5, 1 / 40))
    assert late(above, "queue").min() > 0
    assert float(metrics.utilisation(above)[0]) == pytest.approx(1.0, abs=1e-6)
    assert late(below, "queue").min() == 0
    assert float(metrics.utilisation(below)[0]) < 0.99


RED = Red(20, 420, max_drop=0.5, weight=0.002, ecn=True, wait=False, implementation="ns2")


def answered_each_window(prob: float) -> float:
    """Marks x = p W in a round trip, of which one is answered in W - 1 + 1 / p packets.

    The packets in flight at a response, W with that of its mark, are not answered; the mark after
    them is 1 / p packets further on average. So 1 - p = x / (x + 1 - p) x / 2.
    """
    return (1 - prob) * (1 + math.sqrt(3))


def linux_window(prob: float) -> float:
    """Marks x in a round trip: 1 / (1 + x) = x / (1 + x) (x - 1) / 2.

    There is no growth for a round trip after a mark, and half a packet is lost to rounding.
    """
    return 2.0


@pytest.mark.slow
@pytest.mark.unoptimised
@pytest.mark.parametrize(
    ("host", "marks_per_window", "bound"),
    [("textbook", answered_each_window, 0.05), ("linux", linux_window, 0.08)],
)
def test_random_marks_give_a_window_in_proportion_to_one_over_p(
    host: Any, marks_per_window: Callable[[float], float], bound: float
) -> None:
    """The fluid has no count of packets that Linux begins anew after a mark: 7 % more marks."""
    flows = Flows(10, Dctcp(), base_rtt=0.04, host=host)
    network = Network(Link(5000.0, 2000, RED), {"dctcp": flows})
    measured, modelled = (
        run(network, 60.0, warmup=24.0, samples=501) for run in (simulate_packets, simulate_fluid)
    )
    prob, expected = marked_fraction(measured), marked_fraction(modelled)
    assert expected == pytest.approx(prob, rel=bound)
    assert late(measured, "dctcp_alpha").mean() == pytest.approx(prob, rel=0.03)
    for run in (measured, modelled):
        product = late(run, "cwnd").mean() * marked_fraction(run)
        assert product == pytest.approx(marks_per_window(prob), rel=0.08)
    point = equilibrium(network, DEFAULT_OPTIONS)
    assert point.mean("dctcp", "cwnd") == pytest.approx(late(modelled, "cwnd").mean(), rel=0.01)


@pytest.mark.slow
@pytest.mark.unoptimised
def test_dctcp_takes_more_than_reno_where_a_queue_marks_for_both() -> None:
    """Reno has 1.22 / sqrt(p), DCTCP (1 + sqrt(3)) / p: with p = 0.05 ten times as much."""
    classes = {
        "reno": Flows(5, Reno(), base_rtt=0.04),
        "dctcp": Flows(5, Dctcp(), base_rtt=0.04),
    }
    network = Network(Link(5000.0, 2000, RED), classes)
    runs = [
        run(network, 60.0, warmup=24.0, samples=501) for run in (simulate_packets, simulate_fluid)
    ]
    ratios = [float(np.divide(*metrics.goodput(run).values[::-1])) for run in runs]
    marked = marked_fraction(runs[0])
    assert ratios[0] == pytest.approx(answered_each_window(marked) / 1.22 / marked**0.5, rel=0.2)
    assert ratios[1] == pytest.approx(ratios[0], rel=0.1)


def test_trajectories_explain_the_estimate() -> None:
    assert set(Dctcp().rules.counters) <= set(CLASS_VARIABLES)
    assert packets(2)["dctcp_alpha"].attrs["units"] == "1"
