"""Packet runs of one network over independent seeds, and the confidence interval of the ratio."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float
from scipy.special import stdtrit

from vegasfluid.errors import SolveFailed
from vegasfluid.network import Network
from vegasfluid.packet import record_packets
from vegasfluid.packet.seeds import ONE_RUN
from vegasfluid.parallel import parallel_map
from vegasfluid.trajectory import Recording
from vegasfluid.tuning.objectives import SMALLEST_RATIO

__all__ = ["Measurement", "RatioSample", "RatioStatistics", "measure", "summary", "warnings_of"]

CONFIDENCE = 0.95
"""Level of all confidence intervals, a probability."""
SMALLEST_MEAN = 1e-12
"""Smaller means are raised to this where a half width is divided by one; in the mean's unit."""


def summary(
    run: Recording, tuned: str, warmup: float, others: Sequence[str] = ()
) -> dict[str, float]:
    """Goodput ratio, fairness, utilisation, queue, delay and losses of one run.

    Args:
        run: a run of the fluid model or the packet simulator.
        tuned: the class whose flows are in the numerator of the ratio.
        warmup: initial time that the means leave out, s.
        others: the classes in the denominator; empty: all other classes.

    Returns:
        Means after the warm-up: `ratio` (mean goodput of a tuned flow over that of a flow of
        `others`; infinite where those deliver nothing), `jain_index` (all flows),
        `retransmit_share` (retransmitted fraction of the packets that a class sends, mean over all
        flows), and on the tuned class's path `utilisation` (of its most used link),
        `queue_packets`, `queueing_delay_s` and `drop_share`.

    Raises:
        SolveFailed: if no flow delivers a packet after the warm-up, so that there is no ratio.
    """
    totals = run.totals_after(warmup)
    if not np.any(totals.delivered):
        raise SolveFailed(
            f"In a run of this network no flow delivers a packet after the warm-up ({warmup:g} s): "
            f"there is no ratio of goodputs."
        )
    index = list(run.network.flows).index
    path = totals.over_path(run.network.queue_indices(tuned)[0])
    return {
        "ratio": totals.goodput_ratio(index(tuned), [index(name) for name in others]),
        "jain_index": totals.jain_index,
        "utilisation": float(path.utilisation),
        "queue_packets": float(path.queue),
        "queueing_delay_s": float(path.queueing_delay),
        "drop_share": float(path.drop_share),
        "retransmit_share": float(np.average(totals.retransmit_share, weights=totals.count)),
    }


def half_width(values: Float[np.ndarray, " runs"]) -> float:
    """Half of the 95 % confidence interval of the mean of `values` (Student's t), in their unit.

    Infinite for a single value.
    """
    if len(values) < 2:
        return math.inf
    standard_error = float(values.std(ddof=1)) / math.sqrt(len(values))
    return float(stdtrit(len(values) - 1, (1 + CONFIDENCE) / 2)) * standard_error


class RatioStatistics(ABC):
    """Mean and confidence interval of a goodput ratio over several runs."""

    @property
    @abstractmethod
    def log_ratios(self) -> Float[np.ndarray, " runs"]:
        """Natural logarithm of the goodput ratio in each run."""

    @property
    def ratio(self) -> float:
        """Geometric mean of the goodput ratio over the runs."""
        return float(np.exp(self.log_ratios.mean()))

    @property
    def interval(self) -> tuple[float, float]:
        """95 % confidence interval of the goodput ratio (Student's t on its logarithm).

        From 0 to infinity for a single run.
        """
        mean, half = self.log_ratios.mean(), self.half_width
        low, high = np.exp([mean - half, mean + half])
        return float(low), float(high)

    @property
    def half_width(self) -> float:
        """Half of the 95 % confidence interval of log(ratio); infinite for a single run."""
        return half_width(self.log_ratios)

    def contains(self, ratio: float) -> bool:
        """Whether the 95 % confidence interval of the goodput ratio contains `ratio`."""
        low, high = self.interval
        return low <= ratio <= high


@dataclass(frozen=True)
class RatioSample(RatioStatistics):
    """A goodput ratio in each of several runs.

    Args:
        ratios: goodput ratio in each run; (runs,).
    """

    ratios: Float[np.ndarray, " runs"]

    @property
    def log_ratios(self) -> Float[np.ndarray, " runs"]:
        """Log of the goodput ratio, clipped to 1e-12 to 1e12, in each run; (runs,)."""
        return np.log(np.clip(self.ratios, SMALLEST_RATIO, 1 / SMALLEST_RATIO))


@dataclass(frozen=True)
class Measurement(RatioStatistics):
    """Results of packet runs of one network, one run for each of several seeds.

    Args:
        runs: summary of each run: `ratio`, `queueing_delay_s` and other means after the warm-up.
        flows: goodput of every flow after the warm-up, packets/s; (flows,) for each run.
    """

    runs: tuple[dict[str, float], ...]
    flows: tuple[np.ndarray, ...] = field(default=(), compare=False, repr=False)

    def __add__(self, other: Measurement) -> Measurement:
        """A measurement with the runs of both, this one's first."""
        return Measurement(self.runs + other.runs, self.flows + other.flows)

    @property
    def is_one_run(self) -> bool:
        """Whether two or more seeds all gave the same run, as they do where nothing is random."""
        return len(self.runs) > 1 and all(run == self.runs[0] for run in self.runs)

    @property
    def log_ratios(self) -> Float[np.ndarray, " runs"]:
        """Log of the goodput ratio, clipped to 1e-12 to 1e12, in each run; (runs,)."""
        return RatioSample(np.array([run["ratio"] for run in self.runs])).log_ratios

    def relative_half_width(self, name: str) -> float:
        """Half of the 95 % confidence interval of a mean over the runs, divided by the mean.

        Args:
            name: key of the summaries, such as `queueing_delay_s`.
        """
        values = np.array([run[name] for run in self.runs])
        return half_width(values) / max(abs(float(values.mean())), SMALLEST_MEAN)

    def compared(self, network: Network, tuned: str, others: Sequence[str] = ()) -> Measurement:
        """The same runs, with `ratio` computed anew for another tuned class.

        Args:
            network: the network that was measured, with its classes and numbers of flows.
            tuned: the class in the numerator.
            others: the classes in the denominator; empty: all other classes.

        Returns:
            A measurement whose summaries differ in `ratio` only.
        """
        classes = np.repeat(list(network.flows), network.counts)
        is_tuned = classes == tuned
        is_other = np.isin(classes, others) if others else ~is_tuned
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = [flows[is_tuned].mean() / flows[is_other].mean() for flows in self.flows]
        pairs = zip(self.runs, map(float, ratios), strict=True)
        return Measurement(tuple(run | {"ratio": ratio} for run, ratio in pairs), self.flows)

    def means(self) -> dict[str, float]:
        """Mean over the runs of each number of their summaries, by its name and in its unit.

        Arithmetic means, but the geometric mean of `ratio`.

        >>> runs = {"ratio": 1.0, "jain_index": 0.8}, {"ratio": 4.0, "jain_index": 0.8}
        >>> Measurement(runs).means()
        {'ratio': 2.0, 'jain_index': 0.8}
        """
        names = self.runs[0]
        return {name: float(np.mean([run[name] for run in self.runs])) for name in names} | {
            "ratio": self.ratio
        }


def measure(
    network: Network,
    tuned: str,
    seeds: Sequence[int],
    *,
    until: float,
    warmup: float,
    others: Sequence[str] = (),
) -> Measurement:
    """Run the packet simulator once for each seed, several runs at a time.

    With the same seeds, start times and random drops are the same whatever the parameters are
    (common random numbers). So two measurements differ by the parameters and not by chance.

    Args:
        network: the network to simulate.
        tuned: the class whose flows are in the numerator of the ratio.
        seeds: one run each.
        until: simulated time, s.
        warmup: initial time that the means leave out, s.
        others: the classes in the denominator; empty: all other classes.

    Returns:
        One summary of means after the warm-up for each seed, and each flow's goodput, packets/s.

    Raises:
        SolveFailed: if no flow delivers a packet after the warm-up in some run.
    """
    times = np.array([0.0, warmup, until]) if warmup else np.array([0.0, until])

    def run_seed(seed: int) -> tuple[dict[str, float], np.ndarray]:
        """Summary of one run, and the goodput of every flow, packets/s."""
        run = record_packets(network, times, seed)
        totals = run.totals_after(warmup)
        return summary(run, tuned, warmup, others), totals.flow_delivered / totals.seconds

    runs, flows = zip(*parallel_map(run_seed, seeds), strict=True)
    return Measurement(runs, flows)


def warnings_of(network: Network, packets: Measurement) -> list[str]:
    """Sentences on unusual parts of a network, and on its packet runs if they are all equal."""
    identical = [ONE_RUN.format(len(packets.runs))] if packets.is_one_run else []
    return [*network.warnings(), *identical]
