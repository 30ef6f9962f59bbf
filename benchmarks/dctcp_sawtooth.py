"""The sawtooth of DCTCP on step marking: SIGCOMM 2010, packets and the fluid model.

10 Gbit/s, 100 us and packets of 1500 bytes, as in the paper's figure 12.

Sources:
    M. Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010, section 3.3 (not checked against
    the original): flows in step have windows of W = (C R + K) / N when marks begin.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import xarray as xr
from scipy.optimize import brentq

from benchmarks.harness import Figures
from vegasfluid import Dctcp, Flows, Link, Network, StepMarking, mbps, simulate_fluid
from vegasfluid import simulate_packets as packets

__all__ = ["Sawtooth", "add_sawteeth", "published"]

RATE, ROUND_TRIP = mbps(10_000), 100e-6
"""Capacity, packets/s, and round-trip time without queueing, s."""
CASES = ((2, 40), (2, 65), (10, 40), (40, 40))
"""Numbers of flows, and thresholds K, packets."""
IN_STEP = 2
"""Largest number of flows that packets keep in step, as the paper's formulas have them."""
UNTIL, WARMUP, SAMPLES = 0.1, 0.05, 40_001
"""Simulated time and warm-up, s, and number of samples: a queue at every 2.5 us."""


class Sawtooth(NamedTuple):
    """A sawtooth of the queue.

    Args:
        largest: largest queue, packets.
        amplitude: largest minus smallest queue, packets.
        fraction: fraction of the packets that are marked.
    """

    largest: float
    amplitude: float
    fraction: float


def published(count: int, threshold: float) -> Sawtooth:
    """The sawtooth by the formulas of the paper, of `count` flows at a threshold (packets)."""
    total = RATE * ROUND_TRIP + threshold
    window = total / count
    marks = (2 * window + 1) / (window + 1) ** 2
    alpha: Any = brentq(lambda a: a**2 * (1 - a / 4) - marks, 0.0, 1.2)
    return Sawtooth(threshold + count, math.sqrt(2 * count * total) / 2, alpha)


def network_of(count: int, threshold: float) -> Network:
    """The network of the paper's section 3.3, with a buffer of 1000 packets."""
    sending = (1 + 40 / 1500) / RATE  # of a packet and its ACK, part of the round-trip time
    flows = Flows(count, Dctcp(), base_rtt=ROUND_TRIP - sending, initial_ssthresh=20)
    return Network(Link(RATE, 1000, StepMarking(threshold)), {"dctcp": flows})


def sawtooth_of(run: xr.Dataset) -> Sawtooth:
    """The sawtooth of the only queue of a run after its warm-up."""
    late = run.isel(link=0).sel(time=slice(WARMUP, None))
    queue, marked, admitted = (late[name].values for name in ("queue", "marked", "admitted"))
    fraction = (marked[-1] - marked[0]) / (admitted[-1] - admitted[0])
    return Sawtooth(float(queue.max()), float(queue.max() - queue.min()), float(fraction))


def add_sawteeth(figures: Figures) -> None:
    """Add the sawteeth of all `CASES`, and the largest relative differences from the formulas.

    Amplitude and fraction are compared with the formulas for flows in step, and the fluid's with
    those of packets.
    """
    differences: dict[str, list[float]] = {}
    for count, threshold in CASES:
        network, formula = network_of(count, threshold), published(count, threshold)
        both = [
            sawtooth_of(simulate(network, UNTIL, warmup=WARMUP, samples=SAMPLES))
            for simulate in (packets, simulate_fluid)
        ]
        for what, values in zip(("published", "packets", "fluid"), (formula, *both), strict=True):
            for name, value in values._asdict().items():
                figures.add(f"dctcp.{count}flows_k{threshold}.{name}.{what}", value)
        for name in Sawtooth._fields:
            here, theirs, fluid = (getattr(each, name) for each in (both[0], formula, both[1]))
            if name == "largest" or count <= IN_STEP:
                differences.setdefault(name, []).append(abs(here / theirs - 1))
            differences.setdefault(f"fluid_{name}", []).append(abs(fluid / here - 1))
    for name, values in differences.items():
        figures.add(f"dctcp.{name}.worst", max(values), at_most=0.15 if "fluid" in name else 0.1)
