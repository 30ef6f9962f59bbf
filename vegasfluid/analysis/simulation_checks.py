"""Runs beside theory: the means of a limit cycle, and the ratio that an alpha gives on packets.

Theory describes equilibria. Where a network has no stable one, its means are those of a run. And an
alpha that is proven to be fair is proven for theory's equations, not for packets.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

import numpy as np

from vegasfluid.analysis.equilibria.fair_alpha import with_alpha
from vegasfluid.congestion.vegas import Vegas
from vegasfluid.fluid import record_fluid
from vegasfluid.fluid.validity import FEW_FLOWS, FEW_PACKETS
from vegasfluid.network import Network
from vegasfluid.packet import record_packets
from vegasfluid.run_options import sample_times
from vegasfluid.trajectory import Recording, class_means

__all__ = ["LimitCycle", "PacketRatio", "caveats", "limit_cycle", "measure_ratio"]

EPOCHS, SHORTEST, LONGEST, MOST_PACKETS = 12, 30.0, 200.0, 1e6
"""A run takes so many sawtooth periods of a fair Reno window; bounds on it in s, and in packets."""
WARMUP = 0.25
"""Part of a run that means leave out."""
SAMPLES = 2001
SEEDS = (1, 2, 3)
SWING = 0.05
"""Standard deviation of a queue over its mean, below which it does not oscillate."""


@dataclass(frozen=True)
class LimitCycle:
    """The means of a run of the fluid model that may oscillate.

    Args:
        until: duration of the run, s, of which the first quarter is left out.
        period: of the first queue's oscillation, s; None where it hardly oscillates.
        cwnd: by classes, packets.
        rtt: by classes, s.
        goodput: of a flow, by classes, packets/s.
        queue: by links, packets: mean, lowest and highest.
    """

    until: float
    period: float | None
    cwnd: dict[str, float]
    rtt: dict[str, float]
    goodput: dict[str, float]
    queue: dict[str, tuple[float, float, float]]


@dataclass(frozen=True)
class PacketRatio:
    """What the packet simulator gives with an alpha.

    Args:
        alpha: packets; whole where the dialect takes whole numbers only.
        ratio: goodput of a tuned flow over that of a flow of the others, geometric mean of the
            runs.
        lowest: of the runs.
        highest: of the runs.
        runs: their number.
        until: their duration, s.
    """

    alpha: float
    ratio: float
    lowest: float
    highest: float
    runs: int
    until: float


def duration(network: Network) -> float:
    """The duration of a run whose means are meaningful, s: a dozen sawtooth periods of Reno."""
    link = min(network.links.values(), key=lambda link: float(link.capacity))
    capacity = float(link.capacity)
    held = network.bandwidth_delay() + float(link.buffer) / 2
    window, trip = held / sum(network.counts), held / capacity
    wanted = max(EPOCHS * window / 2 * trip, SHORTEST)
    return float(min(wanted, LONGEST, max(MOST_PACKETS / capacity, SHORTEST)))


def limit_cycle(network: Network) -> LimitCycle:
    """The long-run means of the fluid model.

    Raises:
        InvalidInput, SolveFailed: where it cannot be run.
    """
    until = duration(network)
    warmup = WARMUP * until
    run = record_fluid(network, until, SAMPLES, warmup=warmup)
    late, names = run.times >= warmup, list(network.flows)

    def means(name: str) -> dict[str, float]:
        values = class_means(network.counts, run.flows[name][late]).mean(axis=0)
        return dict(zip(names, map(float, values), strict=True))

    grown = run.totals_after(warmup)
    queues = run.links["queue"][late]
    return LimitCycle(
        until,
        period_of(run.times[late], queues[:, 0]),
        means("cwnd"),
        means("rtt"),
        dict(zip(names, map(float, np.asarray(grown.goodput)), strict=True)),
        {
            name: (float(queue.mean()), float(queue.min()), float(queue.max()))
            for name, queue in zip(network.links, queues.T, strict=False)
        },
    )


def period_of(times: np.ndarray, queue: np.ndarray) -> float | None:
    """The mean time between upward crossings of the mean.

    >>> times = np.linspace(0.0, 10.0, 1001)
    >>> round(period_of(times, 5.0 + np.sin(2 * np.pi * times / 2.5)), 3)
    2.5
    """
    above = queue > queue.mean()
    if queue.std() <= SWING * max(float(queue.mean()), 1.0):
        return None
    up = times[1:][above[1:] & ~above[:-1]]
    return None if up.size < 3 else float(np.mean(np.diff(up)))


def measure_ratio(network: Network, tuned: str, alpha: float) -> PacketRatio:
    """The ratio that packets give with an alpha.

    Args:
        network: links, and classes of flows.
        tuned: the Vegas class.
        alpha: packets.
    """
    law = cast(Vegas, network.flows[tuned].law)
    if law.implementation.whole_packets:
        alpha = max(float(round(alpha)), 1.0)
    tried = with_alpha(network, tuned, alpha)
    until = duration(network)
    times = sample_times(until, WARMUP * until, 2)
    ratios = [ratio_of(record_packets(tried, times, seed), tuned) for seed in SEEDS]
    mean = float(np.exp(np.mean(np.log(np.maximum(ratios, 1e-12)))))
    return PacketRatio(alpha, mean, min(ratios), max(ratios), len(ratios), until)


def ratio_of(run: Recording, tuned: str) -> float:
    """Goodput of a tuned flow over that of a flow of the others."""
    grown = run.totals_after(WARMUP * float(run.times[-1]))
    return grown.goodput_ratio(list(run.network.flows).index(tuned))


def caveats(network: Network, windows: dict[str, float]) -> Iterator[str]:
    """Why theory and packets may differ on a network, a sentence each.

    Args:
        network: to look at.
        windows: the mean window of each class, packets.
    """
    small = [name for name, cwnd in windows.items() if cwnd < FEW_PACKETS]
    if small:
        yield (
            f"windows of {' and '.join(small)} are below {FEW_PACKETS:g} packets, where whole "
            "packets and timeouts decide: theory has neither"
        )
    few = min(network.flow_count(name) for name in network.links)
    if few < FEW_FLOWS:
        yield f"theory knows mean windows only, and of {few} flows each feels every loss"
    for name, link in network.links.items():
        if not link.aqm.drops_by_chance:
            yield (
                f"at the full buffer of {name} a few flows lose at a time, in turn or in step: "
                "theory spreads the losses evenly"
            )
