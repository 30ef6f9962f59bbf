"""Networks 2 to 4: Reno against Vegas with every kind of traffic, as figures 5 to 7 show it."""

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
"""Kinds of traffic with flows that end."""
GENTLE_THRESHOLD = 64.0
"""Packets at which slow start ends in one of the readings, before it can overshoot."""


def gently_started(network: vf.Network) -> vf.Network:
    """With slow starts that end early."""
    return changed_flows(network, lambda of: replace(of, initial_ssthresh=GENTLE_THRESHOLD))


class Reading(NamedTuple):
    """Another way to read what the paper leaves out."""

    source: str
    change: Callable[[vf.Network], vf.Network]
    kinds: Sequence[str]
    """The kinds of traffic for which it makes a difference."""


READINGS = {
    "kept": Reading("packets, one connection a source", over_one_connection, RANDOM),
    "gentle": Reading("packets, slow start to 64 packets", gently_started, tuple(KINDS)),
}
"""By what the names of their jobs begin with."""


def against(number: int, kind: str, pair: Pair) -> Job:
    """As many Reno as Vegas flows in both directions of a network, for as long as the paper's."""
    return run_of(both_ways(carrying(with_pair(table_1(number), pair), kind)))


def crossover(alphas: Sequence[float], ratios: Sequence[float]) -> float:
    """The smallest alpha at which Vegas comes to have as much as Reno; NaN where it never does.

    Straight lines of log(ratio) over log(alpha) between those that were run.

    >>> round(crossover([1, 100, 400], [0.1, 0.5, 2.0]))
    200
    """
    points = list(zip(np.log(alphas), np.log(ratios), strict=True))
    for (x, y), (x_next, y_next) in pairwise(points):
        if y < 0 <= y_next:
            return math.exp(x - y * (x_next - x) / (y_next - y))
    return math.nan


def plain(found: float | list[float]) -> float:
    """A measure that is one number."""
    assert isinstance(found, float)
    return found


@dataclass(frozen=True)
class Bars:
    """A figure of bars."""

    number: int
    """Of the figure."""
    network: int
    pairs: Sequence[Pair]
    """Settings of alpha and beta, from left to right."""
    seeds: Sequence[int]
    tried: Sequence[Pair]
    """Settings that are also run by each of the other readings."""

    @property
    def name(self) -> str:
        """Of the experiment."""
        return f"figure{self.number}"

    @property
    def alphas(self) -> list[int]:
        """The settings by their alpha."""
        return [alpha for alpha, _ in self.pairs]

    def jobs(self) -> Mapping[str, Job]:
        """Every kind of traffic at every setting."""
        found = {
            f"{kind}_{pair[0]}": replace(against(self.network, kind, pair), seeds=self.seeds)
            for kind in KINDS
            for pair in self.pairs
        }
        for prefix, reading in READINGS.items():
            for kind in reading.kinds:
                for pair in self.tried:
                    job = against(self.network, kind, pair)
                    network = reading.change(job.network)
                    found[f"{prefix}_{kind}_{pair[0]}"] = replace(job, network=network)
        return found

    def runs(self, results: Results, kind: str) -> list[list[Totals]]:
        """Of each setting, a seed each."""
        return [results[f"{kind}_{alpha}"] for alpha in self.alphas]

    def ratios(self, results: Results, kind: str) -> dict[int, float]:
        """Vegas over Reno by alpha."""
        runs = self.runs(results, kind)
        return {alpha: ratio_of(of) for alpha, of in zip(self.alphas, runs, strict=True)}

    def note(self, evidence: Evidence, **found: float | Sequence[float]) -> None:
        """Note numbers of this figure."""
        for name, value in found.items():
            evidence.note(PACKETS, f"{self.name}.{name}", value)

    def measure(self, results: Results) -> Evidence:
        """What the figure shows of each kind of traffic."""
        evidence = Evidence()
        for kind in KINDS:
            self.note_kind(evidence, results, kind)
        for prefix in READINGS:
            self.note_reading(evidence, results, prefix)
        return evidence

    def note_reading(self, evidence: Evidence, results: Results, prefix: str) -> None:
        """The same by another reading."""
        source, _, kinds = READINGS[prefix]
        for kind in kinds:
            ratios = self.by_reading(results, prefix, kind)
            every = [run for alpha in ratios for run in results[f"{prefix}_{kind}_{alpha}"]]
            found = {f"ratio_{kind}_{alpha}": ratio for alpha, ratio in ratios.items()} | {
                f"crossover_{kind}": crossover(list(ratios), list(ratios.values())),
                f"utilisation_{kind}": mean_of(every, "utilisation"),
                f"reno_losses_{kind}": float(np.mean([run.loss_rate("reno") for run in every])),
            }
            for name, value in found.items():
                evidence.note(source, f"{self.name}.{name}", value)

    def by_reading(self, results: Results, prefix: str, kind: str) -> dict[int, float]:
        """Vegas over Reno by alpha, by another reading."""
        return {pair[0]: ratio_of(results[f"{prefix}_{kind}_{pair[0]}"]) for pair in self.tried}

    def note_kind(self, evidence: Evidence, results: Results, kind: str) -> None:
        """Ratios, use of the link and losses of a kind of traffic."""
        ratios, runs = self.ratios(results, kind), self.runs(results, kind)
        for alpha, of in zip(self.alphas, runs, strict=True):
            logs = [math.log(run.ratio) for run in of]
            evidence.note_mean(PACKETS, f"{self.name}.log_ratio_{kind}_{alpha}", logs)
            self.note(evidence, **{f"ratio_{kind}_{alpha}": ratios[alpha]})
            rates = [np.mean([run.loss_rate(law) for run in of]) for law in ("reno", "vegas")]
            more = float(rates[0] / rates[1]) if rates[1] else math.inf
            resent = [sum(run.resent[law] for run in of) for law in ("reno", "vegas")]
            many = resent[0] / resent[1] if resent[1] else math.inf
            self.note(evidence, **{f"losses_{kind}_{alpha}": more, f"resent_{kind}_{alpha}": many})
        used = [mean_of(of, "utilisation") for of in runs]
        losses = [run.loss_rate("reno") for of in runs for run in of]
        found = {
            "crossover": crossover(self.alphas, list(ratios.values())),
            "utilisation": float(np.mean(used)),
            "reno_losses": float(np.mean(losses)),
            "acked": float(np.mean([mean_of(of, "all_acked") for of in runs])),
            "losses": float(np.mean([lost(run) for of in runs for run in of])),
        }
        self.note(evidence, **{f"{name}_{kind}": value for name, value in found.items()})

    def draw(self, results: Results, ns2: Mapping[tuple[str, int], str]) -> Figure:
        """Packets acknowledged and retransmitted, a column for each kind of traffic.

        Args:
            results: of the jobs.
            ns2: names of ns-2's runs, by kind of traffic and alpha.
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
