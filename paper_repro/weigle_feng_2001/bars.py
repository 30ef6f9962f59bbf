"""Networks 2 to 4: Reno competing with Vegas, for each traffic source of figures 5 to 7."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure

import vegasfluid as vf
from paper_repro.experiment import PACKETS, Evidence, Job, Results
from paper_repro.weigle_feng_2001.counts import Totals, lost, mean_of, ratio_of
from paper_repro.weigle_feng_2001.drawing import Panel, draw_columns
from paper_repro.weigle_feng_2001.networks import (
    Pair,
    both_ways,
    changed_flows,
    table_1,
    with_pair,
)
from paper_repro.weigle_feng_2001.pairs import ns2_counts, run_of
from paper_repro.weigle_feng_2001.persistent import over_one_connection
from paper_repro.weigle_feng_2001.traffic import KINDS, NAMES, carrying

__all__ = ["RANDOM", "READINGS", "Bars", "against", "crossover", "plain"]

RANDOM = ("pareto", "nps")
"""Traffic sources whose flows end."""
GENTLE_THRESHOLD = 64.0
"""Initial ssthresh of one of the readings, packets: slow start ends before it overshoots."""


def gently_started(network: vf.Network) -> vf.Network:
    """Return the network with early ends of slow start."""
    return changed_flows(network, lambda flows: replace(flows, initial_ssthresh=GENTLE_THRESHOLD))


class Reading(NamedTuple):
    """Another interpretation of what the paper leaves open."""

    source: str
    """Name of the evidence's source."""
    change: Callable[[vf.Network], vf.Network]
    """Function that changes a network accordingly."""
    kinds: Sequence[str]
    """Traffic sources for which it makes a difference."""


READINGS = {
    "kept": Reading("packets, one connection a source", over_one_connection, RANDOM),
    "gentle": Reading("packets, slow start to 64 packets", gently_started, tuple(KINDS)),
}
"""Readings by the prefix of their jobs."""


def against(number: int, kind: str, pair: Pair) -> Job:
    """Return a run of as many Reno as Vegas flows in both directions, for the paper's duration."""
    return run_of(both_ways(carrying(with_pair(table_1(number), pair), kind)))


def crossover(alphas: Sequence[float], ratios: Sequence[float]) -> float:
    """Return the smallest alpha at which Vegas reaches Reno's goodput; NaN where it never does.

    log(ratio) is interpolated linearly over log(alpha).

    >>> round(crossover([1, 100, 400], [0.1, 0.5, 2.0]))
    200
    """
    points = list(zip(np.log(alphas), np.log(ratios), strict=True))
    for (x, y), (x_next, y_next) in pairwise(points):
        if y < 0 <= y_next:
            return math.exp(x - y * (x_next - x) / (y_next - y))
    return math.nan


def plain(value: float | list[float]) -> float:
    """Return a measure that is one number."""
    assert isinstance(value, float)
    return value


@dataclass(frozen=True)
class Bars:
    """One of figures 5 to 7, which consist of bars."""

    number: int
    """Number of the figure."""
    network: int
    """Number of the network in table 1."""
    pairs: Sequence[Pair]
    """Alpha and beta of each setting, packets, from left to right."""
    seeds: Sequence[int]
    """Seeds of the runs."""
    tried: Sequence[Pair]
    """Alpha and beta of the settings for the other readings, packets."""

    @property
    def name(self) -> str:
        """Name of the experiment."""
        return f"figure{self.number}"

    @property
    def alphas(self) -> list[int]:
        """Alphas of the settings, packets."""
        return [alpha for alpha, _ in self.pairs]

    def jobs(self) -> Mapping[str, Job]:
        """Return the runs of every traffic source at every setting."""
        runs = {
            f"{kind}_{pair[0]}": replace(against(self.network, kind, pair), seeds=self.seeds)
            for kind in KINDS
            for pair in self.pairs
        }
        for prefix, reading in READINGS.items():
            for kind in reading.kinds:
                for pair in self.tried:
                    job = against(self.network, kind, pair)
                    network = reading.change(job.network)
                    runs[f"{prefix}_{kind}_{pair[0]}"] = replace(job, network=network)
        return runs

    def runs(self, results: Results, kind: str) -> list[list[Totals]]:
        """Return the runs of a traffic source; (setting, seed)."""
        return [results[f"{kind}_{alpha}"] for alpha in self.alphas]

    def ratios(self, results: Results, kind: str) -> dict[int, float]:
        """Return Vegas's goodput over Reno's, by alpha."""
        runs = self.runs(results, kind)
        return {alpha: ratio_of(seeds) for alpha, seeds in zip(self.alphas, runs, strict=True)}

    def note(self, evidence: Evidence, **measures: float | Sequence[float]) -> None:
        """Record numbers of this figure."""
        for name, value in measures.items():
            evidence.note(PACKETS, f"{self.name}.{name}", value)

    def measure(self, results: Results) -> Evidence:
        """Record what the figure shows of each traffic source."""
        evidence = Evidence()
        for kind in KINDS:
            self.note_kind(evidence, results, kind)
        for prefix in READINGS:
            self.note_reading(evidence, results, prefix)
        return evidence

    def note_reading(self, evidence: Evidence, results: Results, prefix: str) -> None:
        """Record the measures of another reading."""
        source, _, kinds = READINGS[prefix]
        for kind in kinds:
            ratios = self.by_reading(results, prefix, kind)
            runs = [run for alpha in ratios for run in results[f"{prefix}_{kind}_{alpha}"]]
            measures = {f"ratio_{kind}_{alpha}": ratio for alpha, ratio in ratios.items()} | {
                f"crossover_{kind}": crossover(list(ratios), list(ratios.values())),
                f"utilisation_{kind}": mean_of(runs, "utilisation"),
                f"reno_losses_{kind}": float(np.mean([run.loss_rate("reno") for run in runs])),
            }
            for name, value in measures.items():
                evidence.note(source, f"{self.name}.{name}", value)

    def by_reading(self, results: Results, prefix: str, kind: str) -> dict[int, float]:
        """Return Vegas's goodput over Reno's by alpha, under another reading."""
        return {pair[0]: ratio_of(results[f"{prefix}_{kind}_{pair[0]}"]) for pair in self.tried}

    def note_kind(self, evidence: Evidence, results: Results, kind: str) -> None:
        """Record ratios, utilisation and losses of a traffic source."""
        ratios, runs = self.ratios(results, kind), self.runs(results, kind)
        for alpha, seeds in zip(self.alphas, runs, strict=True):
            logs = [math.log(run.ratio) for run in seeds]
            evidence.note_mean(PACKETS, f"{self.name}.log_ratio_{kind}_{alpha}", logs)
            self.note(evidence, **{f"ratio_{kind}_{alpha}": ratios[alpha]})
            rates = [np.mean([run.loss_rate(law) for run in seeds]) for law in ("reno", "vegas")]
            loss_ratio = float(rates[0] / rates[1]) if rates[1] else math.inf
            resent = [sum(run.resent[law] for run in seeds) for law in ("reno", "vegas")]
            resent_ratio = resent[0] / resent[1] if resent[1] else math.inf
            self.note(
                evidence,
                **{f"losses_{kind}_{alpha}": loss_ratio, f"resent_{kind}_{alpha}": resent_ratio},
            )
        used = [mean_of(seeds, "utilisation") for seeds in runs]
        losses = [run.loss_rate("reno") for seeds in runs for run in seeds]
        measures = {
            "crossover": crossover(self.alphas, list(ratios.values())),
            "utilisation": float(np.mean(used)),
            "reno_losses": float(np.mean(losses)),
            "acked": float(np.mean([mean_of(seeds, "all_acked") for seeds in runs])),
            "losses": float(np.mean([lost(run) for seeds in runs for run in seeds])),
            "shares": [share / (1 + share) for share in ratios.values()],
        }
        self.note(evidence, **{f"{name}_{kind}": value for name, value in measures.items()})

    def draw(self, results: Results, ns2: Mapping[tuple[str, int], str]) -> Figure:
        """Plot packets acknowledged and retransmitted, a column for each traffic source.

        Args:
            results: results of the jobs.
            ns2: names of ns-2's runs, by traffic source and alpha.
        """
        columns = []
        for kind in KINDS:
            names = [ns2.get((kind, alpha)) for alpha in self.alphas]
            panel = Panel(
                f"Figure {self.number}: {NAMES[kind]} traffic",
                "alpha, beta (packets)",
                [f"{alpha},\n{beta}" for alpha, beta in self.pairs],
                self.runs(results, kind),
                [ns2_counts(name) if name else None for name in names],
            )
            columns.append(panel)
        return draw_columns(columns)
