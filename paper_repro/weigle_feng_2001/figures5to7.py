"""Figures 5 to 7: networks 2, 3 and 4."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from matplotlib.figure import Figure

from paper_repro.experiment import NS2, PACKETS, Evidence, Experiment, Job, Results
from paper_repro.other_readings import with_readings
from paper_repro.reference import ns2_group
from paper_repro.weigle_feng_2001.bars import (
    RANDOM,
    READINGS,
    Bars,
    against,
    crossover,
    plain,
)
from paper_repro.weigle_feng_2001.counts import Totals, lost, mean_of
from paper_repro.weigle_feng_2001.networks import table_1, with_pair
from paper_repro.weigle_feng_2001.other_readings import THERE_AND_BACK_ONCE
from paper_repro.weigle_feng_2001.pairs import ns2_counts, ns2_ratio, run_of
from paper_repro.weigle_feng_2001.traffic import KINDS, NAMES, carrying
from vegasfluid.analysis import certify_alpha

__all__ = ["FIGURE_5", "FIGURE_6", "FIGURE_7"]

NETWORK_2 = Bars(
    number=5,
    network=2,
    pairs=[(1, 3), (50, 55), (100, 105), (120, 125), (134, 139), (1000, 1100)],
    seeds=(1, 2, 3),
    tried=[(100, 105), (1000, 1100)],
)
"""Runs of figure 5."""
NETWORK_3 = Bars(
    number=6,
    network=3,
    pairs=[(1, 3), (50, 55), (75, 80), (100, 105), (1000, 1100)],
    seeds=(1, 2),
    tried=[(50, 55), (75, 80), (1000, 1100)],
)
"""Runs of figure 6."""
NETWORK_4 = Bars(
    number=7,
    network=4,
    pairs=[(1, 3), (50, 55), (75, 80), (89, 94), (150, 155), (1000, 1100)],
    seeds=(1, 2),
    tried=[(1, 3), (50, 55), (75, 80), (89, 94), (1000, 1100)],
)
"""Runs of figure 7."""
OTHER_TRAFFIC = {kind: f"{PACKETS}, {NAMES[kind]} traffic" for kind in RANDOM}
"""Sources of evidence from other traffic than the infinite files of a measure."""
RENO_ALONE = "packets, Reno alone"
"""Source of the evidence on losses from those of Reno's flows only."""
WITH_CBR = "packets, with CBR traffic"
"""Source of the evidence on losses from CBR traffic as well."""
LARGE = (100, 1000)
"""Alphas on network 2 that the paper calls "sufficiently large", packets."""
ONE_WAY = "ns-2, one way"
"""Source of evidence from ns-2's runs with data in one direction."""
SETTLED = "ns-2, after 50 s"
"""Source of evidence from ns-2's runs without the first 50 s."""
NS2_OF_2 = {
    ("bulk", 1): "net2_twoway_a1_b3",
    ("bulk", 100): "net2_twoway_a100_b105",
    ("bulk", 134): "net2_twoway_a134_b139",
    ("nps", 1): "net2_twoway_nps_a1_b3",
    ("nps", 100): "net2_twoway_nps_a100_b105",
    ("pareto", 1): "net2_twoway_pareto_onoff_a1_b3",
    ("pareto", 100): "net2_twoway_pareto_onoff_a100_b105",
}
"""ns-2's runs that correspond to bars of figure 5, by traffic source and alpha."""


def note_ns2_of_figure_5(evidence: Evidence) -> None:
    """Record ns-2's ratios."""
    for (kind, alpha), name in NS2_OF_2.items():
        evidence.note(NS2, f"figure5.ratio_{kind}_{alpha}", ns2_ratio(name))
    for kind, alphas in {"bulk": (1, 100, 134), "nps": (1, 100)}.items():
        ratios = [ns2_ratio(NS2_OF_2[kind, alpha]) for alpha in alphas]
        evidence.note(NS2, f"figure5.shares_{kind}", [ratio / (1 + ratio) for ratio in ratios])
    defaults = [ns2_ratio(NS2_OF_2[kind, 1]) for kind in KINDS]
    evidence.note(NS2, "figure5.default", defaults)
    evidence.note(NS2, "figure5.pareto_at_most", ns2_ratio(NS2_OF_2["pareto", 100]))


def measure_figure_5(results: Results) -> Evidence:
    """Record the measures of section 4.3, network 2."""
    evidence = NETWORK_2.measure(results)
    ratios = {kind: NETWORK_2.ratios(results, kind) for kind in KINDS}
    measures = evidence.found[PACKETS]
    resent, losses = ([plain(measures[f"figure5.{name}_{kind}_100"]) for kind in KINDS]
                     for name in ("resent", "losses"))  # fmt: skip
    NETWORK_2.note(
        evidence,
        default=[ratios[kind][1] for kind in KINDS],
        large_bulk=[ratios["bulk"][alpha] for alpha in LARGE],
        large_nps=[ratios["nps"][alpha] for alpha in LARGE],
        pareto_at_most=max(ratios["pareto"].values()),
        resent=resent,
        losses=losses,
    )
    NETWORK_2.note(evidence, ratios_120=[ratios[kind][120] for kind in ("bulk", "nps")])
    for kind in RANDOM:
        evidence.note(OTHER_TRAFFIC[kind], "figure5.ratio_bulk_134", ratios[kind][134])
    counts = [ns2_group(NS2_OF_2[kind, 100], law)["retransmits"]
              for kind in KINDS for law in ("reno", "vegas")]  # fmt: skip
    evidence.note(SETTLED, "figure5.resent", [counts[n] / counts[n + 1] for n in (0, 2, 4)])
    note_ns2_of_figure_5(evidence)
    gentle = NETWORK_2.by_reading(results, "gentle", "pareto")[100]
    NETWORK_2.note(evidence, slow_start_benefit=gentle / ratios["pareto"][100])
    for prefix in READINGS:
        note_reading_of_figure_5(evidence, results, prefix, resent[0])
    return evidence


def note_reading_of_figure_5(
    evidence: Evidence, results: Results, prefix: str, resent_bulk: float
) -> None:
    """Record another reading: ratios at large alphas, and Reno's losses over Vegas's at 100/105."""
    source, _, kinds = READINGS[prefix]
    ratios = {kind: NETWORK_2.by_reading(results, prefix, kind) for kind in kinds}
    evidence.note(source, "figure5.large_nps", list(ratios["nps"].values()))
    evidence.note(source, "figure5.pareto_at_most", max(ratios["pareto"].values()))
    runs = {kind: results[f"{prefix}_{kind}_100"][0] for kind in kinds}
    loss_ratios = {
        kind: run.resent["reno"] / max(run.resent["vegas"], 1) for kind, run in runs.items()
    }
    resent = [loss_ratios.get(kind, resent_bulk) for kind in KINDS]
    evidence.note(source, "figure5.resent", resent)


def draw_figure_5(results: Results) -> Figure:
    """Plot the bars, with ns-2's runs."""
    return NETWORK_2.draw(results, NS2_OF_2)


def ns2_one_way(number: int) -> dict[int, float]:
    """Return Vegas over Reno by alpha, in ns-2's runs of networks 3 and 4."""
    pairs = ((1, 3), (75, 80), (89, 94), (150, 155), (300, 305))
    return {a: ns2_ratio(f"net{number}_oneway_a{a}_b{b}") for a, b in pairs}


def note_one_way(evidence: Evidence, bars: Bars) -> None:
    """Record the alpha at which Vegas reaches Reno's goodput, with one-way infinite files."""
    ratios = ns2_one_way(bars.network)
    alpha = crossover(list(ratios), list(ratios.values()))
    evidence.note(ONE_WAY, f"{bars.name}.crossover_bulk", alpha)
    shares = [ratio / (1 + ratio) for ratio in ratios.values()]
    evidence.note(ONE_WAY, f"{bars.name}.shares_bulk", shares)
    fair_alpha = float(certify_alpha(table_1(bars.network)).alpha)
    evidence.note("theory, one way", f"{bars.name}.crossover_bulk", fair_alpha)


def measure_figure_6(results: Results) -> Evidence:
    """Record the measures of section 4.4, network 3."""
    evidence = NETWORK_3.measure(results)
    note_one_way(evidence, NETWORK_3)
    ratios = {kind: NETWORK_3.ratios(results, kind) for kind in KINDS}
    measures = evidence.found[PACKETS]
    NETWORK_3.note(
        evidence,
        default=[ratios[kind][1] for kind in KINDS],
        highest_crossover=highest([plain(measures[f"figure6.crossover_{kind}"]) for kind in KINDS]),
        nps_75_over_1000=vegas_acked(results["nps_75"]) / vegas_acked(results["nps_1000"]),
        losses_75=[plain(measures[f"figure6.losses_{kind}_75"]) for kind in KINDS],
        losses_with_gentle_start=losses_with_gentle_start(results),
    )
    for prefix, reading in READINGS.items():
        acked = [vegas_acked(results[f"{prefix}_nps_{alpha}"]) for alpha in (75, 1000)]
        evidence.note(reading.source, "figure6.nps_75_over_1000", acked[0] / acked[1])
        usual = plain(measures["figure6.crossover_bulk"])
        alphas = [
            first_reached(NETWORK_3.by_reading(results, prefix, kind))
            if kind in reading.kinds
            else usual
            for kind in KINDS
        ]
        evidence.note(reading.source, "figure6.highest_crossover", highest(alphas))
    return evidence


def first_reached(ratios: Mapping[int, float]) -> float:
    """Return the alpha at which Vegas reaches Reno's goodput; the smallest if it does there.

    >>> first_reached({50: 1.1, 75: 1.2}), round(first_reached({50: 0.5, 200: 2.0}))
    (50.0, 100)
    """
    first = min(ratios)
    return float(first) if ratios[first] >= 1 else crossover(list(ratios), list(ratios.values()))


def losses_with_gentle_start(results: Results) -> list[float]:
    """Return Reno's loss rate with early ends of slow start over that without, Pareto and NPS."""
    ratios = []
    for kind in RANDOM:
        alphas = [alpha for alpha, _ in NETWORK_3.tried]
        gentle, usual = (
            np.mean([run.loss_rate("reno") for alpha in alphas
                     for run in results[f"{prefix}{kind}_{alpha}"]])
            for prefix in ("gentle_", "")
        )  # fmt: skip
        ratios.append(float(gentle / usual))
    return ratios


def vegas_acked(runs: Sequence[Totals]) -> float:
    """Return the acknowledged packets of Vegas flows, mean over seeds."""
    return float(np.mean([run.acked["vegas"] for run in runs]))


def highest(alphas: Sequence[float]) -> float:
    """Return the largest of some crossovers; infinite where one is NaN."""
    return max(math.inf if math.isnan(alpha) else alpha for alpha in alphas)


def jobs_of_figure_7() -> Mapping[str, Job]:
    """Return the runs of the bars, and runs of network 3 to compare with."""
    network_3 = {
        f"beside_{kind}": replace(against(3, kind, (75, 80)), seeds=NETWORK_4.seeds)
        for kind in KINDS
    }
    one_way = {
        f"one_way_{kind}_{number}": run_of(carrying(with_pair(table_1(number), (75, 80)), kind))
        for kind in KINDS
        for number in (3, 4)
    }
    return {**NETWORK_4.jobs(), **network_3, **one_way}


def measure_figure_7(results: Results) -> Evidence:
    """Record the measures of section 4.5, network 4."""
    evidence = NETWORK_4.measure(results)
    note_one_way(evidence, NETWORK_4)
    runs = {kind: results[f"{kind}_75"] for kind in KINDS}
    network_3 = {kind: results[f"beside_{kind}"] for kind in KINDS}
    acked = {kind: mean_of(runs[kind], "all_acked") / mean_of(network_3[kind], "all_acked")
             for kind in KINDS}  # fmt: skip
    above_50 = [
        NETWORK_4.ratios(results, kind)[alpha]
        for kind in RANDOM
        for alpha in NETWORK_4.alphas
        if alpha > 50
    ]
    note_losses_over_network_3(evidence, results)
    measures = evidence.found[PACKETS]
    lossy = [plain(measures[f"figure7.losses_{kind}"]) for kind in ("nps", "pareto")]
    NETWORK_4.note(
        evidence,
        acked_over_network_3=[acked[kind] for kind in KINDS],
        acked_over_network_3_bulk=acked["bulk"],
        acked_over_network_3_random=[acked["pareto"], acked["nps"]],
        above_50=above_50,
        nps_over_pareto_losses=lossy[0] / lossy[1],
        default=[NETWORK_4.ratios(results, kind)[1] for kind in KINDS],
    )
    for kind in RANDOM:
        alpha = highest([plain(measures[f"figure7.crossover_{kind}"])])
        evidence.note(OTHER_TRAFFIC[kind], "figure7.crossover_bulk", alpha)
    one_way = [
        mean_of(results[f"one_way_{kind}_4"], "all_acked")
        / mean_of(results[f"one_way_{kind}_3"], "all_acked")
        for kind in KINDS
    ]
    evidence.note("packets, one way", "figure7.acked_over_network_3", one_way)
    evidence.note("packets, one way", "figure7.acked_over_network_3_bulk", one_way[0])
    evidence.note("packets, one way", "figure7.acked_over_network_3_random", one_way[1:])
    counts = [sum(ns2_counts(f"net{number}_oneway_a75_b80") or ()) for number in (4, 3)]
    evidence.note(ONE_WAY, "figure7.acked_over_network_3_bulk", counts[0] / counts[1])
    for prefix, reading in READINGS.items():
        by_kind = [NETWORK_4.by_reading(results, prefix, kind) for kind in RANDOM]
        other = [ratio for item in by_kind for alpha, ratio in item.items() if alpha > 50]
        evidence.note(reading.source, "figure7.above_50", other)
    return evidence


def note_losses_over_network_3(evidence: Evidence, results: Results) -> None:
    """Record the loss rates of network 4 over those of network 3, at 75 and 80."""

    def rises(rate: Callable[[Totals], float]) -> dict[str, float]:
        pairs = {kind: (results[f"{kind}_75"], results[f"beside_{kind}"]) for kind in KINDS}
        return {
            kind: float(np.mean([rate(run) for run in far]) / np.mean([rate(run) for run in near]))
            for kind, (far, near) in pairs.items()
        }

    all_flows, reno = rises(lost), rises(lambda run: run.loss_rate("reno"))
    name = "figure7.all_losses_over_network_3"
    evidence.note(PACKETS, name, [all_flows[kind] for kind in RANDOM])
    evidence.note(WITH_CBR, name, list(all_flows.values()))
    evidence.note(RENO_ALONE, name, [reno[kind] for kind in RANDOM])
    evidence.note(PACKETS, "figure7.losses_over_network_3", [reno[kind] for kind in RANDOM])


FIGURE_5 = with_readings(
    Experiment("figure5", "Figure 5: network 2", measure_figure_5, NETWORK_2.jobs, draw_figure_5),
    [THERE_AND_BACK_ONCE],
)
FIGURE_6 = with_readings(
    Experiment(
        "figure6",
        "Figure 6: network 3",
        measure_figure_6,
        NETWORK_3.jobs,
        lambda results: NETWORK_3.draw(results, {}),
    ),
    [THERE_AND_BACK_ONCE],
)
FIGURE_7 = with_readings(
    Experiment(
        "figure7",
        "Figure 7: network 4, high delay",
        measure_figure_7,
        jobs_of_figure_7,
        lambda results: NETWORK_4.draw(results, {}),
    ),
    [THERE_AND_BACK_ONCE],
)
