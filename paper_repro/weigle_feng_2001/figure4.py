"""Figure 4: network 1 with RED and different thresholds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
from matplotlib.figure import Figure

import vegasfluid as vf
from paper_repro.experiment import NS2, PACKETS, Evidence, Experiment, Job, Results
from paper_repro.other_readings import Change, unchanged, with_readings
from paper_repro.reference import ns2_names
from paper_repro.weigle_feng_2001.counts import Totals, lost, mean_of, ratio_of
from paper_repro.weigle_feng_2001.drawing import Panel, draw_columns
from paper_repro.weigle_feng_2001.figure3 import backlog
from paper_repro.weigle_feng_2001.heuristics import LOWS, QUEUES, less_two, third_of
from paper_repro.weigle_feng_2001.networks import Pair, table_1, with_drop_tail, with_red
from paper_repro.weigle_feng_2001.other_readings import THERE_AND_BACK
from paper_repro.weigle_feng_2001.pairs import (
    SEEDS,
    WAYS,
    ns2_counts,
    ns2_ratio,
    one_against_one,
    run_of,
)
from paper_repro.weigle_feng_2001.tables import propagation_ms

__all__ = ["FIGURE_4"]

QUEUE = 25
"""Size of the drop-tail queue without RED, packets."""
DEFAULT: Pair = (1, 3)
"""Default alpha and beta, packets."""
SHARES = (0.2, 0.3, 0.4, 0.5, 0.6)
"""Constants of the proportional heuristic."""
SPACED = "packets, drops at most 1/P apart"
"""Source of the evidence with RED without `wait`, as Floyd and Jacobson define it."""


def in_proportion(factor: float, low: int) -> Pair:
    """Return alpha and beta in proportion to RED's thresholds, rounded down.

    Section 4.2 ends with this heuristic.
    """
    return int(factor * low), int(factor * 2 * low)


def without_wait(network: vf.Network, low: int) -> vf.Network:
    """Return the network with RED whose drops are at most 1/P packets apart."""
    return with_red(network, low, 2 * low, wait=False)


def jobs() -> Mapping[str, Job]:
    """Return the runs by RED_min, direction and heuristic, and those of figure 3."""
    runs = {}
    for low in LOWS:
        red = partial(with_red, low=low, high=2 * low)
        for way in WAYS:
            heuristics = {"": less_two(low), "obvious_": (low, 2 * low)}
            for prefix, pair in heuristics.items():
                runs[f"{prefix}{way}_{low}"] = run_of(one_against_one(red, pair, way), SEEDS)
            spaced = one_against_one(partial(without_wait, low=low), less_two(low), way)
            runs[f"spaced_{way}_{low}"] = run_of(spaced, SEEDS)
        runs[f"default_{low}"] = run_of(one_against_one(red, DEFAULT, "one_way"), SEEDS)
        for factor in SHARES:
            network = one_against_one(red, in_proportion(factor, low), "one_way")
            runs[f"proportion_{factor:g}_{low}"] = run_of(network, SEEDS)
    tail = one_against_one(partial(with_drop_tail, queue=QUEUE), DEFAULT, "one_way")
    runs["drop_tail_default"] = run_of(tail, SEEDS)
    for queue in QUEUES:
        change = partial(with_drop_tail, queue=queue)
        runs[f"figure3_{queue}"] = run_of(
            one_against_one(change, third_of(queue), "one_way"), SEEDS
        )
    return runs


def each(results: Results, prefix: str) -> list[float]:
    """Return Vegas over Reno at each RED_min."""
    return [ratio_of(results[f"{prefix}{low}"]) for low in LOWS]


def unlike(one_way: Sequence[float], figure_3: Sequence[float]) -> float:
    """Return the number of bars, without the second, whose winner differs from figure 3's."""
    places = [place for place in range(len(LOWS)) if place != 1]
    return sum((one_way[place] > 1) != (figure_3[place] > 1) for place in places)


def farthest(ratios: Sequence[float]) -> float:
    """Return the largest deviation of a ratio from 1, in natural logarithms."""
    return float(np.max(np.abs(np.log(ratios))))


def note_heuristic(evidence: Evidence, results: Results, source: str, prefix: str) -> None:
    """Record measures of the heuristic of section 4.2."""
    one, two = (each(results, f"{prefix}{way}_") for way in WAYS)
    measures = {
        "one_way": one,
        "two_way": two,
        "second": one[1],
        "trend": float(np.corrcoef(LOWS, np.log(one))[0, 1]),
        "trend_two_way": float(np.corrcoef(LOWS, np.log(two))[0, 1]),
    }
    for name, value in measures.items():
        evidence.note(source, f"figure4.{name}", value)


def note_others(evidence: Evidence, results: Results, change: Change) -> None:
    """Record the obvious heuristic, the proportional one, and the default thresholds."""
    figure_3 = [ratio_of(results[f"figure3_{queue}"]) for queue in QUEUES]
    obvious = [each(results, f"obvious_{way}_") for way in WAYS]
    best = min(farthest(each(results, f"proportion_{factor:g}_")) for factor in SHARES)
    default, tail = results["default_5"], results["drop_tail_default"]
    runs = [results[f"default_{low}"] for low in LOWS]
    base_rtt = propagation_ms(change(table_1(1))) / 1e3
    measures = {
        "apparent_queue": [mean_of(seeds, "queue") for seeds in runs],
        "reno_backlog": [backlog(seeds, "reno", base_rtt) for seeds in runs],
        "vegas_backlog": [backlog(seeds, "vegas", base_rtt) for seeds in runs],
        "unlike_figure_3": unlike(each(results, "one_way_"), figure_3),
        "figure_3_second": figure_3[1],
        "default": each(results, "default_"),
        "obvious": obvious[0] + obvious[1],
        "obvious_losses": changed_by(results, lost),
        "obvious_utilisation": changed_by(results, used),
        "proportion": best - farthest(each(results, "one_way_")),
        "fairer_by_red": mean_of(default, "jain") - mean_of(tail, "jain"),
    }
    for name, value in measures.items():
        evidence.note(PACKETS, f"figure4.{name}", value)


def used(run: Totals) -> float:
    """Return the link's utilisation."""
    return run.utilisation


def changed_by(results: Results, read: Callable[[Totals], float]) -> float:
    """Return the mean change of a number by the obvious heuristic, over RED_min and directions."""

    def mean(prefix: str) -> float:
        return float(
            np.mean([read(run) for way in WAYS for low in LOWS
                     for run in results[f"{prefix}{way}_{low}"]])
        )  # fmt: skip

    return mean("obvious_") - mean("")


def ns2_runs(way: str) -> list[str]:
    """Return the prefixes of ns-2's runs, by RED_min."""
    return [f"fig4_min{low}_max{2 * low}_{way.replace('_', '')}_" for low in LOWS]


def note_ns2(evidence: Evidence) -> None:
    """Record the measures of ns-2's runs."""
    one, two = ([ns2_ratio(name) for name in ns2_runs(way)] for way in WAYS)
    figure_3 = [ns2_ratio(f"fig3_q{queue}_oneway_") for queue in QUEUES]
    lows = [low for low in LOWS if ns2_names(f"fig4sens_default13_min{low}_")]
    measures = {
        "one_way": one,
        "two_way": two,
        "second": one[1],
        "trend": float(np.corrcoef(LOWS, np.log(one))[0, 1]),
        "trend_two_way": float(np.corrcoef(LOWS, np.log(two))[0, 1]),
        "unlike_figure_3": unlike(one, figure_3),
        "figure_3_second": figure_3[1],
        "default": [ns2_ratio(f"fig4sens_default13_min{low}_") for low in lows],
    }
    for name, value in measures.items():
        evidence.note(NS2, f"figure4.{name}", value)


def measure(results: Results, change: Change = unchanged) -> Evidence:
    """Record the measures of section 4.2."""
    evidence = Evidence()
    note_heuristic(evidence, results, PACKETS, "")
    note_heuristic(evidence, results, SPACED, "spaced_")
    note_others(evidence, results, change)
    note_ns2(evidence)
    return evidence


def draw(results: Results) -> Figure:
    """Plot packets acknowledged and retransmitted, one-way and two-way."""
    columns = [
        Panel(
            f"Figure 4: {way.replace('_', '-')} traffic",
            "RED_min, RED_max (packets)",
            [f"{low}, {2 * low}" for low in LOWS],
            [results[f"{way}_{low}"] for low in LOWS],
            [ns2_counts(name) for name in ns2_runs(way)],
        )
        for way in WAYS
    ]
    return draw_columns(columns)


FIGURE_4 = with_readings(
    Experiment(
        "figure4", "Figure 4: network 1, RED thresholds of different sizes", measure, jobs, draw
    ),
    [THERE_AND_BACK],
    measure,
)
