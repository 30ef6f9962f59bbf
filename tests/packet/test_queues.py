"""Queues with closed forms, through the whole simulator.

Poisson traffic over `udp` into a link: packets are of one size, so that it is M/D/1. For M/M/1
customers come that are many small packets each, in exponentially distributed numbers.

Sources:
    L. Kleinrock, Queueing Systems I, 1975, section 5.6 (Pollaczek and Khinchine), 5.7 (the wait in
    M/M/1) and 5.3 (the embedded chain at departures, here for a finite buffer); PASTA for the share
    of losses.
    J. W. Roberts, U. Mocci and J. Virtamo, Broadband Network Teletraffic, 1996, section 15.2
    (N*D/D/1: periodic sources of random phase).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb, exp, factorial
from typing import Any, ClassVar

import numpy as np
import pytest

from vegasfluid.clock import picoseconds
from vegasfluid.congestion.unresponsive import Unresponsive
from vegasfluid.network import Flows, Link, Network, UniformStart
from vegasfluid.packet.simulate import record_packets
from vegasfluid.traffic.base import CONTINUED, SourceRules, TrafficSource
from vegasfluid.traffic.cbr import Cbr
from vegasfluid.traffic.poisson import Poisson
from vegasfluid.traffic.random_variates import exponential
from vegasfluid.trajectory import Recording

CAPACITY, SOURCES, BATCHES, BATCH, WARMUP = 1000.0, 40, 40, 50.0, 20.0
"""packets/s, flows, number and length of the batches in s, and what is left out before them."""


def on_application(flow: Any, now: int) -> int:
    """A customer, except at the start, and the next after an exponential time."""
    if now > flow.start:
        flow.offered += int(exponential(flow, flow.mean_packets)) + 1
    flow.app_at = now + picoseconds(exponential(flow, flow.interval)) + 1
    return CONTINUED


@dataclass(frozen=True)
class Customers(TrafficSource):
    """Customers at exponential intervals, whose packets come all at once."""

    name: ClassVar[str] = "customers"
    mean_interval: float
    mean_packets: float

    @property
    def rules(self) -> SourceRules:
        return SourceRules(on_application)

    def packet_parameters(self, packet_bytes: int) -> dict[str, float]:
        return {"interval": self.mean_interval, "mean_packets": self.mean_packets}


NAMES = ("first", "second")
"""Links of each network, in a row."""


def idle() -> dict[str, Flows]:
    """A class with each traffic that starts after the end, so that one kernel serves for all."""
    kinds = (Poisson(1.0), Customers(1.0, 1.0), Cbr(1.0))
    common: dict[str, Any] = {"base_rtt": 0.01, "start": 1e6, "path": NAMES}
    return {f"idle {kind.name}": Flows(1, Unresponsive(), traffic=kind, **common) for kind in kinds}


def network_of(crowd: Flows, buffer: float, capacity: float = CAPACITY) -> Network:
    """One class over the links that it crosses."""
    return Network({name: Link(capacity, buffer) for name in NAMES}, {**idle(), "crowd": crowd})


def poisson(load: float, buffer: float) -> Network:
    """Over two links; what comes out of the first never waits at the second."""
    traffic = Poisson(SOURCES / (load * CAPACITY))
    crowd = Flows(SOURCES, Unresponsive(), base_rtt=0.01, traffic=traffic, path=NAMES)
    return network_of(crowd, buffer)


def batches(network: Network, looks: int = 1) -> Recording:
    """A run, looked at so many times in each batch."""
    times = WARMUP + np.linspace(0, BATCHES * BATCH, BATCHES * looks + 1)
    return record_packets(network, times, seed=1)


def require_near(values: np.ndarray, expected: float) -> None:
    """The mean of batches is within four of its standard errors."""
    error = np.std(values, ddof=1) / np.sqrt(len(values))
    assert error < 0.1 * expected
    assert abs(np.mean(values) - expected) < 4 * error, (np.mean(values), expected, error)


@pytest.mark.parametrize("load", [0.3, 0.6, 0.8])
def test_the_mean_wait_is_that_of_m_d_1(load: float) -> None:
    run = batches(poisson(load, 10_000))
    waited, admitted = (np.diff(run.links[name][:, 0]) for name in ("waited", "admitted"))
    assert run.links["lost"][-1, 0] == 0
    require_near(waited / admitted, load / CAPACITY / (2 * (1 - load)))
    require_near(admitted / BATCH, load * CAPACITY)


def test_the_queue_that_is_seen_is_that_of_m_d_1() -> None:
    """Its mean is rho^2 / (2 (1 - rho)); the link is busy for a share rho of the time."""
    load, looks = 0.7, 500
    run = batches(poisson(load, 10_000), looks)
    seen = run.links["queue"][1:, 0].reshape(BATCHES, looks)
    busy = (run.links["backlog"][1:, 0] > 0).reshape(BATCHES, looks)
    require_near(seen.mean(axis=1), load**2 / (2 * (1 - load)))
    require_near(busy.mean(axis=1), load)


def test_the_wait_of_a_customer_is_that_of_m_m_1() -> None:
    """The work that is left is what a customer would wait: P(> x) = rho exp(-(mu - lambda) x)."""
    rate, service, packets, looks = 35.0, 50.0, 200, 500
    capacity = service * packets
    traffic = Customers(1 / rate, packets - 0.5)  # whole packets: half of one more in the mean
    crowd = Flows(1, Unresponsive(), base_rtt=0.01, traffic=traffic, path=NAMES[:1])
    run = batches(network_of(crowd, 1e6, capacity), looks)
    wait = (run.links["backlog"][1:, 0] / capacity).reshape(BATCHES, looks)
    require_near(wait.mean(axis=1), rate / service / (service - rate))
    for x in (0.01, 0.05, 0.1):
        longer = (wait > x).mean(axis=1)
        require_near(longer, rate / service * exp(-(service - rate) * x))


def test_a_second_link_of_the_same_rate_never_makes_packets_wait() -> None:
    run = batches(poisson(0.8, 10_000))
    first, second = run.links["waited"][-1]
    assert first > 0
    assert second == 0


def loss_of_m_d_1_k(load: float, size: int) -> float:
    """The fraction lost where `size` packets fit in, the one in service included."""
    arrivals = [exp(-load) * load**n / factorial(n) for n in range(size)]
    steps = np.zeros((size, size))
    for left in range(size):  # packets left behind by a departure
        for more in range(size - max(left, 1)):
            steps[left, max(left - 1, 0) + more] = arrivals[more]
        steps[left, -1] += 1 - steps[left].sum()
    values, vectors = np.linalg.eig(steps.T)
    stays = np.real(vectors[:, np.argmax(np.real(values))])
    return 1 - 1 / (stays[0] / stays.sum() + load)


@pytest.mark.parametrize(("load", "buffer"), [(0.8, 1), (0.9, 4), (1.2, 9)])
def test_the_share_lost_is_that_of_m_d_1_k(load: float, buffer: int) -> None:
    run = batches(poisson(load, buffer))
    dropped, admitted = (np.diff(run.links[name][:, 0]) for name in ("lost", "admitted"))
    require_near(dropped / (dropped + admitted), loss_of_m_d_1_k(load, buffer + 1))


def longer_than(waiting: int, sources: int, period: int) -> float:
    """P(unfinished work > `waiting` packets) of N*D/D/1, the period in packets."""
    return sum(
        comb(sources, n)
        * ((n - waiting) / period) ** n
        * (1 - (n - waiting) / period) ** (sources - n)
        * (period - sources + waiting)
        / (period - n + waiting)
        for n in range(waiting + 1, sources + 1)
    )


def test_periodic_sources_of_random_phase_queue_as_n_d_d_1() -> None:
    """Phases are drawn once a run: the runs are the batches."""
    sources, period = 24, 30
    flows = Flows(
        sources,
        Unresponsive(),
        base_rtt=0.01,
        traffic=Cbr(CAPACITY / period),
        start=UniformStart(period / CAPACITY),
        path=NAMES[:1],
    )
    network = network_of(flows, 1000)
    times = np.linspace(1, 1 + period / CAPACITY, 151)  # one period
    runs = [record_packets(network, times, seed).links["backlog"][:-1, 0] for seed in range(150)]
    for waiting in (0, 1, 2, 4):
        shares = np.array([np.mean(run > waiting) for run in runs])
        expected = longer_than(waiting, sources, period)
        error = max(np.std(shares, ddof=1) / np.sqrt(len(shares)), 1 / 150 / 12)
        assert abs(shares.mean() - expected) < 4 * error, (waiting, shares.mean(), expected)
