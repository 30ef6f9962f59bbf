"""Measurements over seeds: the interval, and that only the seeds decide."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats

from vegasfluid import Flows, Link, Network, Red, Reno, Vegas, metrics, simulate_packets
from vegasfluid.errors import SolveFailed
from vegasfluid.network import UniformStart
from vegasfluid.packet import record_packets
from vegasfluid.quantities import mbps
from vegasfluid.tuning.measurement import Measurement, measure, summary

NETWORK = Network(
    Link(800.0, 100, Red(min_thresh=20, max_thresh=80)),
    {
        "reno": Flows(2, Reno(), base_rtt=0.02, start=UniformStart(0.1)),
        "vegas": Flows(2, Vegas(3, 5, dialect="ns2"), base_rtt=0.02, start=UniformStart(0.1)),
    },
)
SEEDS = [5, 1, 9]


def measured(seeds=SEEDS) -> Measurement:
    return measure(NETWORK, "vegas", seeds, until=10.0, warmup=3.0)


@pytest.mark.parametrize(
    "ratios", [[1.0, 1.1], [0.9, 1.2, 1.0, 0.7], list(np.linspace(0.5, 2, 30))]
)
def test_interval_is_students(ratios):
    result = Measurement(tuple({"ratio": ratio} for ratio in ratios))
    logs = np.log(ratios)
    expected = scipy.stats.t.interval(
        0.95, len(logs) - 1, loc=logs.mean(), scale=scipy.stats.sem(logs)
    )
    np.testing.assert_allclose(np.log(result.interval), expected)
    assert result.ratio == pytest.approx(scipy.stats.gmean(ratios))
    low, high = result.interval
    assert result.contains(low)
    assert result.contains(high)
    assert not result.contains(low * 0.999)
    assert not result.contains(high * 1.001)


def test_interval_covers_95_percent():
    """Of normal logarithms: 4000 measurements of 5 runs; three standard errors are 1.1 %."""
    logs = np.random.default_rng(7).normal(math.log(0.8), 0.2, (4000, 5))
    covers = [Measurement(tuple({"ratio": math.exp(x)} for x in row)).contains(0.8) for row in logs]
    assert np.mean(covers) == pytest.approx(0.95, abs=0.011)


def test_one_run_gives_no_interval():
    assert Measurement(({"ratio": 1.0},)).interval == (0.0, math.inf)


def test_means():
    result = Measurement(({"ratio": 1.0, "x": 1.0}, {"ratio": 4.0, "x": 2.0})).means()
    assert result == {"ratio": pytest.approx(2.0), "x": 1.5}


def test_each_seed_is_one_run_of_the_simulator():
    result = measured()
    for seed, numbers in zip(SEEDS, result.runs, strict=True):
        run = simulate_packets(NETWORK, 10.0, warmup=3.0, seed=seed)
        assert numbers["ratio"] == pytest.approx(metrics.goodput_ratio(run, "vegas"))
        assert numbers["jain_index"] == pytest.approx(metrics.jain_index(run))
        assert numbers["queue_packets"] == pytest.approx(float(metrics.mean_queue(run)[0]))
        assert numbers["utilisation"] == pytest.approx(float(metrics.utilisation(run)[0]))
        assert numbers["drop_share"] == pytest.approx(float(metrics.drop_share(run)[0]))
        delay = float(metrics.queueing_delay(run)[0])
        assert numbers["queueing_delay_s"] == pytest.approx(delay)
    assert len({numbers["ratio"] for numbers in result.runs}) == 3


def test_parallel_is_sequential_and_repeatable(monkeypatch):
    parallel = measured()
    assert measured() == parallel
    monkeypatch.setattr("vegasfluid.parallel.processors", lambda: 1)
    assert measured() == parallel
    assert measured(SEEDS[::-1]).runs == parallel.runs[::-1]


def test_retransmit_share_is_over_all_flows():
    """Weighted by flows: 3 of one class, 1 of another."""
    classes = {
        "reno": Flows(3, Reno(), base_rtt=0.02),
        "vegas": Flows(1, Vegas(3, 5, dialect="ns2"), base_rtt=0.02),
    }
    network = Network(NETWORK.link, classes)
    reno, vegas = metrics.retransmit_share(simulate_packets(network, 10.0, warmup=3.0)).values
    assert reno != vegas
    numbers = summary(record_packets(network, np.array([0.0, 3.0, 10.0]), 1), "vegas", 3.0)
    assert numbers["retransmit_share"] == pytest.approx((3 * reno + vegas) / 4)


@pytest.mark.slow
@pytest.mark.unoptimised
def test_runs_in_which_nothing_arrives_have_no_ratio() -> None:
    """RED stays shut after the first slow starts (see `tests/agreement/test_linux.py`)."""
    red = Red(20, 60, max_drop=0.2, weight=0.002)
    flows = {
        "reno": Flows(2, Reno(), base_rtt=0.02),
        "vegas": Flows(4, Vegas(alpha=2, beta=4, dialect="linux"), base_rtt=0.02),
    }
    shut = Network(Link(mbps(10.0), 200, red), flows)
    with pytest.raises(SolveFailed, match=r"no flow delivers a packet after the warm-up \(5 s\)"):
        measure(shut, "vegas", [1], until=10.0, warmup=5.0)
