"""Runs that complement theory: averages over a limit cycle, and ratios by packet simulation.

Theory describes equilibria. Where a network has no stable one, a fluid run gives its averages. And
an alpha that is proven to be fair is proven for the mean-field equations, not for packets.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

import numpy as np

from vegasfluid.analysis.equilibria.fair_alpha import network_with_alpha
from vegasfluid.congestion.vegas import Vegas
from vegasfluid.fluid import record_fluid
from vegasfluid.fluid.validity import FEW_FLOWS, FEW_PACKETS
from vegasfluid.network import Network
from vegasfluid.packet import record_packets
from vegasfluid.run_options import sample_times
from vegasfluid.trajectory import Recording, class_means, link_names

__all__ = ["LimitCycle", "PacketRatio", "caveats", "limit_cycle", "measure_ratio"]

PERIODS = 12
"""Number of sawtooth periods of a Reno flow with a fair window in one run."""
SHORTEST, LONGEST = 30.0, 200.0
"""Bounds on the duration of a run, s."""
MAX_PACKETS = 1e6
"""Bound on the packets of a run at full capacity, unless the run is the shortest one."""
WARMUP = 0.25
"""Fraction of a run that averages exclude."""
SAMPLES = 2001
"""Number of sample times of a fluid run, ends included."""
SEEDS = (1, 2, 3)
"""Seeds of the packet runs."""
SMALLEST_OSCILLATION = 0.05
"""Standard deviation of a queue relative to its mean (at least 1 packet) above which it counts as
oscillating."""


@dataclass(frozen=True)
class LimitCycle:
    """Averages of a fluid run that may oscillate, without its first quarter.

    Args:
        until: duration of the run, its first quarter included, s.
        period: period of the first queue's oscillation, s; None if the queue hardly oscillates or
            the run is too short for three upward crossings of its mean.
        cwnd: mean window of each class, packets.
        rtt: mean round-trip time of each class, s.
        goodput: mean goodput of a flow of each class, packets/s.
        queue: mean, smallest and largest queue of each link, packets; the suffix `_reverse` marks
            its queue in the reverse direction, if packets wait there.
    """

    until: float
    period: float | None
    cwnd: dict[str, float]
    rtt: dict[str, float]
    goodput: dict[str, float]
    queue: dict[str, tuple[float, float, float]]


@dataclass(frozen=True)
class PacketRatio:
    """Goodput ratio of a tuned flow and a flow of the other classes, by packet simulation.

    Args:
        alpha: alpha of the runs, packets; a whole number if the dialect takes no others.
        ratio: geometric mean of the ratios of the runs.
        lowest: smallest ratio of a run.
        highest: largest ratio of a run.
        runs: number of runs.
        until: duration of each run, s; its first quarter does not count.
    """

    alpha: float
    ratio: float
    lowest: float
    highest: float
    runs: int
    until: float


def duration(network: Network) -> float:
    """Duration of a run of a network that gives meaningful averages, s.

    It is 12 sawtooth periods of a Reno flow with a fair window at the slowest link, at least 30 s
    and at most 200 s. It is shorter, but not below 30 s, if a million packets pass sooner.
    """
    link = min(network.links.values(), key=lambda link: float(link.capacity))
    capacity = float(link.capacity)
    in_flight = network.bandwidth_delay() + float(link.buffer) / 2
    window, rtt = in_flight / sum(network.counts), in_flight / capacity
    wanted = max(PERIODS * window / 2 * rtt, SHORTEST)
    return float(min(wanted, LONGEST, max(MAX_PACKETS / capacity, SHORTEST)))


def limit_cycle(network: Network) -> LimitCycle:
    """Averages of a fluid run of a network over the last three quarters of the run.

    The run has the default `FluidOptions`, and a duration of 30 to 200 s (`duration`).

    Args:
        network: links, and classes of flows.

    Returns:
        Mean window (packets) and round-trip time (s) of each class, mean goodput of one of its
        flows (packets/s), each queue's mean, minimum and maximum (packets), and the period of the
        first queue's oscillation (s), or None if it hardly oscillates.

    Raises:
        InvalidInput: if the fluid model does not support the network.
        SolveFailed: if the solution does not stay finite.
    """
    until = duration(network)
    warmup = WARMUP * until
    run = record_fluid(network, until, SAMPLES, warmup=warmup)
    measured, names = run.times >= warmup, list(network.flows)

    def means(name: str) -> dict[str, float]:
        """Mean over time after the warm-up of a flow variable, in its unit, by class name."""
        values = class_means(network.counts, run.flows[name][measured]).mean(axis=0)
        return dict(zip(names, map(float, values), strict=True))

    goodput = np.asarray(run.totals_after(warmup).goodput)
    queues = run.links["queue"][measured]
    return LimitCycle(
        until,
        period_of(run.times[measured], queues[:, 0]),
        means("cwnd"),
        means("rtt"),
        dict(zip(names, map(float, goodput), strict=True)),
        {
            name: (float(queue.mean()), float(queue.min()), float(queue.max()))
            for name, queue in zip(link_names(network, len(queues.T)), queues.T, strict=True)
        },
    )


def period_of(times: np.ndarray, queue: np.ndarray) -> float | None:
    """Period of an oscillating queue, s: mean time between upward crossings of its mean.

    `times` (s) and `queue` (packets) have shape (samples,). None if there are fewer than three such
    crossings, or if the queue's standard deviation is at most 5 % of its mean (of at least 1).

    >>> times = np.linspace(0.0, 10.0, 1001)
    >>> round(period_of(times, 5.0 + np.sin(2 * np.pi * times / 2.5)), 3)
    2.5
    """
    above = queue > queue.mean()
    if queue.std() <= SMALLEST_OSCILLATION * max(float(queue.mean()), 1.0):
        return None
    crossings = times[1:][above[1:] & ~above[:-1]]
    return None if crossings.size < 3 else float(np.mean(np.diff(crossings)))


def measure_ratio(network: Network, tuned: str, alpha: float) -> PacketRatio:
    """The goodput ratio that the packet simulator gives with an alpha.

    Args:
        network: links, and classes of flows.
        tuned: the Vegas class whose alpha is set.
        alpha: packets; rounded, to at least 1, if the dialect takes whole numbers only. Beta is
            two packets larger.

    Returns:
        The alpha used, and the geometric mean, smallest and largest ratio of runs with three seeds:
        goodput of a tuned flow divided by that of a flow of the other classes, without the first
        quarter of the run. In the geometric mean ratios are at least 1e-12.
    """
    law = cast(Vegas, network.flows[tuned].law)
    if law.implementation.whole_packets:
        alpha = max(float(round(alpha)), 1.0)
    changed = network_with_alpha(network, tuned, alpha)
    until = duration(network)
    times = sample_times(until, WARMUP * until, 2)
    ratios = [ratio_of(record_packets(changed, times, seed), tuned) for seed in SEEDS]
    mean = float(np.exp(np.mean(np.log(np.maximum(ratios, 1e-12)))))
    return PacketRatio(alpha, mean, min(ratios), max(ratios), len(ratios), until)


def ratio_of(run: Recording, tuned: str) -> float:
    """Goodput of a flow of class `tuned` divided by that of a flow of the other classes.

    The first quarter of the run is left out. Infinite if the other flows delivered nothing, NaN if
    no flow did.
    """
    totals = run.totals_after(WARMUP * float(run.times[-1]))
    return totals.goodput_ratio(list(run.network.flows).index(tuned))


def caveats(network: Network, windows: dict[str, float]) -> Iterator[str]:
    """Yield the reasons why theory and packet simulation may differ on a network, each as a clause.

    They are windows below 5 packets, fewer than 10 flows on a link, and drop-tail links.

    Args:
        network: links, and classes of flows.
        windows: the mean window of each class by name, packets; empty: windows are not checked.
    """
    small = [name for name, cwnd in windows.items() if cwnd < FEW_PACKETS]
    if small:
        yield (
            f"windows of {' and '.join(small)} are below {FEW_PACKETS:g} packets, where timeouts "
            "and rounding to whole packets matter; theory ignores both"
        )
    few = min(network.flow_count(name) for name in network.links)
    if few < FEW_FLOWS:
        yield f"theory has only mean windows, but with {few} flows every loss matters"
    for name, link in network.links.items():
        if link.aqm.shares_full_buffer:
            yield (
                f"at the full buffer of {name} a few flows lose at a time, but theory spreads the "
                "losses evenly"
            )
