"""Mean queueing delay of CoDel with 1, 10 and 50 flows, beside its target (RFC 8289).

Reno flows with SACK and round-trip times of 100 ms without queueing, in the packet simulator; the
target is 5 ms, the interval 100 ms. CoDel drops one packet in an interval at first, to which flows
with long round trips or many of them respond late: the delay is a multiple of the target then. With
one flow the link is often idle.
"""

from __future__ import annotations

import numpy as np

from benchmarks.harness import Figures
from vegasfluid import CoDel, Flows, FqCoDel, Link, Network, Reno, mbps, metrics, simulate_packets
from vegasfluid.aqm.base import QueueDiscipline

__all__ = ["add_delays"]

COUNTS, RATES = (1, 10, 50), (10, 45, 100)
"""Numbers of flows, and rates of the link, Mbit/s."""
UNTIL, WARMUP, SEEDS = 60.0, 20.0, 3
"""Simulated time and warm-up, s, and number of runs."""
PACKET_BYTES = 1500


def mean_delay(aqm: QueueDiscipline, rate: float, count: int) -> float:
    """Mean queueing delay, s, at a link of `rate` Mbit/s that `count` flows share."""
    flows = Flows(count, Reno(recovery="sack"), base_rtt=0.1, start=0.0)
    network = Network(Link(mbps(rate, PACKET_BYTES), 10_000, aqm), {"reno": flows})
    runs = [
        simulate_packets(network, UNTIL, warmup=WARMUP, seed=seed, samples=3)
        for seed in range(1, SEEDS + 1)
    ]
    return float(np.mean([metrics.queueing_delay(run).item() for run in runs]))


def add_delays(figures: Figures) -> None:
    """Add the mean delays, ms, with CoDel and with FQ-CoDel."""
    for aqm in (CoDel(), FqCoDel()):
        for rate in RATES:
            for count in COUNTS:
                delay = 1e3 * mean_delay(aqm, rate, count)
                figures.add(f"delay_ms.{aqm.name}.{rate}mbps.{count}flows", delay)
