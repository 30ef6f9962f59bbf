"""Measure a network on the packet simulator over independent seeds, several at a time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.special import stdtrit

from vegasfluid.network import Network
from vegasfluid.packet import record_packets
from vegasfluid.parallel import parallel_map
from vegasfluid.trajectory import Recording

__all__ = ["Measurement", "measure", "summary"]

CONFIDENCE = 0.95


def summary(
    run: Recording, tuned: str, warmup: float, others: Sequence[str] = ()
) -> dict[str, float]:
    """The numbers by which a run is judged, by their names in the results.

    Args:
        run: what was run; links are those that the tuned class crosses.
        tuned: the class whose flows are in the numerator of the ratio.
        warmup: time that the means leave out, s.
        others: the classes in its denominator; none: all others.
    """
    gained = run.totals_after(warmup)
    number = list(run.network.flows).index
    path = gained.over_path(run.network.queue_indices(tuned)[0])
    return {
        "ratio": gained.goodput_ratio(number(tuned), [number(name) for name in others]),
        "jain_index": gained.jain_index,
        "utilisation": float(path.utilisation),
        "queue_packets": float(path.queue),
        "queueing_delay_s": float(path.queueing_delay),
        "drop_share": float(path.drop_share),
        "retransmit_share": float(np.average(gained.retransmit_share, weights=gained.count)),
    }


def half_width(values: np.ndarray) -> float:
    """Half of the 95 % confidence interval of a mean (Student's t); infinite of a single value."""
    if len(values) < 2:
        return math.inf
    error = float(values.std(ddof=1)) / math.sqrt(len(values))
    return float(stdtrit(len(values) - 1, (1 + CONFIDENCE) / 2)) * error


@dataclass(frozen=True)
class Measurement:
    """What the packet simulator says about one network.

    Args:
        runs: one summary a seed.
        flows: for each seed the goodput of every flow, packets/s; (flows,).
    """

    runs: tuple[dict[str, float], ...]
    flows: tuple[np.ndarray, ...] = field(default=(), compare=False, repr=False)

    def __add__(self, other: Measurement) -> Measurement:
        """The runs of both."""
        return Measurement(self.runs + other.runs, self.flows + other.flows)

    @property
    def is_one_run(self) -> bool:
        """Whether all seeds gave the same run, as they do where nothing is random."""
        return len(self.runs) > 1 and all(run == self.runs[0] for run in self.runs)

    @property
    def log_ratios(self) -> np.ndarray:
        """Log of the ratio of each run; (runs,)."""
        smallest = 1e-12
        return np.log(np.clip([run["ratio"] for run in self.runs], smallest, 1 / smallest))

    @property
    def ratio(self) -> float:
        """Geometric mean of the ratio over the runs."""
        return float(np.exp(self.log_ratios.mean()))

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % confidence interval of the ratio (Student's t on its logarithm)."""
        middle, half = self.log_ratios.mean(), self.half_width
        low, high = np.exp([middle - half, middle + half])
        return float(low), float(high)

    @property
    def half_width(self) -> float:
        """Half of that interval, in log(ratio); infinite for a single run."""
        return half_width(self.log_ratios)

    def unsure(self, name: str) -> float:
        """Half of the confidence interval of another number, relative to its mean."""
        values = np.array([run[name] for run in self.runs])
        return half_width(values) / max(abs(float(values.mean())), 1e-12)

    def holds(self, goal: float) -> bool:
        """Whether the confidence interval holds a ratio."""
        low, high = self.interval
        return low <= goal <= high

    def compared(self, network: Network, tuned: str, others: Sequence[str] = ()) -> Measurement:
        """The same runs, with the ratio of another class.

        Args:
            network: that was measured.
            tuned: the class in the numerator.
            others: the classes in the denominator; none: all others.
        """
        classes = np.repeat(list(network.flows), network.counts)
        own = classes == tuned
        beside = np.isin(classes, others) if others else ~own
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = [flows[own].mean() / flows[beside].mean() for flows in self.flows]
        pairs = zip(self.runs, map(float, ratios), strict=True)
        return Measurement(tuple(run | {"ratio": ratio} for run, ratio in pairs), self.flows)

    def means(self) -> dict[str, float]:
        """Every number of the summaries, mean over the runs; the ratio by its geometric mean."""
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
    """Run the packet simulator once for each seed.

    The same seeds give the same start times and random numbers whatever the parameters are, so
    that two measurements differ by the parameters and not by luck.

    Args:
        network: what to simulate.
        tuned: the class whose flows are in the numerator of the ratio.
        seeds: one run each.
        until: simulated time, s.
        warmup: time that the metrics leave out, s.
        others: the classes in its denominator; none: all others.
    """
    times = np.array([0.0, warmup, until]) if warmup else np.array([0.0, until])

    def one(seed: int) -> tuple[dict[str, float], np.ndarray]:
        run = record_packets(network, times, seed)
        gained = run.totals_after(warmup)
        return summary(run, tuned, warmup, others), gained.flow_delivered / gained.seconds

    runs, flows = zip(*parallel_map(one, seeds), strict=True)
    return Measurement(runs, flows)
