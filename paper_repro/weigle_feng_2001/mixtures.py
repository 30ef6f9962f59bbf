"""Networks with Reno only, with Reno and Vegas, and with Vegas only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from paper_repro.experiment import PACKETS, Evidence, Experiment, Job, Results
from paper_repro.weigle_feng_2001.bars import against
from paper_repro.weigle_feng_2001.counts import lost, mean_of
from paper_repro.weigle_feng_2001.networks import both_ways, table_1, with_laws, with_pair
from paper_repro.weigle_feng_2001.pairs import run_of
from paper_repro.weigle_feng_2001.traffic import KINDS, carrying

__all__ = ["MIXTURES"]

DEFAULT = (1, 3)
"""Default alpha and beta, packets."""
LARGE = (100, 105)
"""Large alpha and beta, packets."""
SEEDS = (1, 2)
"""Seeds of the runs."""
HALVES = {2: 25, 4: 50}
"""Flows of each congestion control in one direction, by network."""


def of_one_law(number: int, kind: str, law: str) -> Job:
    """Return a run of a network whose flows all have one congestion control; Vegas has defaults."""
    flows = 2 * HALVES[number]
    counts = {"reno": 0, "vegas": 0} | {law: flows}
    network = both_ways(carrying(with_laws(table_1(number), **counts), kind))
    return run_of(network, SEEDS)


def mixture_jobs() -> Mapping[str, Job]:
    """Return runs of network 2 with each traffic source, and of network 4 with Vegas only."""
    runs = {}
    for kind in KINDS:
        runs[f"half_{kind}"] = replace(against(2, kind, LARGE), seeds=SEEDS)
        for law in ("reno", "vegas"):
            runs[f"{law}_{kind}"] = of_one_law(2, kind, law)
        runs[f"network_4_{kind}"] = replace(of_one_law(4, kind, "vegas"), seeds=(1,))
        runs[f"network_4_half_{kind}"] = against(4, kind, (89, 94))
    network = with_pair(with_laws(table_1(4), 0, 100), (89, 94))
    runs["network_4_held"] = run_of(both_ways(network))
    return runs


def measure_mixtures(results: Results) -> Evidence:
    """Record what more Vegas flows do to the whole network."""
    evidence = Evidence()

    def gain(name: str, case: str, reference: str) -> list[float]:
        pairs = [(results[f"{case}_{kind}"], results[f"{reference}_{kind}"]) for kind in KINDS]
        return [mean_of(a, name) / mean_of(b, name) for a, b in pairs]

    def losses(case: str) -> list[float]:
        return [float(np.mean([lost(run) for run in results[f"{case}_{kind}"]])) for kind in KINDS]

    loss_ratios = {case: np.divide(losses(case), losses("reno")) for case in ("half", "vegas")}
    measures = {
        "acked_by_adding_vegas": gain("all_acked", "half", "reno"),
        "losses_by_adding_vegas": list(loss_ratios["half"]),
        "acked_by_vegas_only": gain("all_acked", "vegas", "reno"),
        "losses_by_vegas_only": list(loss_ratios["vegas"]),
        "default_suffices": mean_of(results["vegas_bulk"], "utilisation"),
        "pareto_jain": mean_of(results["vegas_pareto"], "jain"),
        "queue_spread": gain("queue_spread", "vegas", "half")[1],
        "network_4_gain": gain("all_acked", "network_4", "network_4_half")[1:],
        "network_4_held_gain": mean_of(results["network_4_held"], "all_acked")
        / mean_of(results["network_4_bulk"], "all_acked"),
    }
    for name, value in measures.items():
        evidence.note(PACKETS, f"mixtures.{name}", value)
    return evidence


MIXTURES = Experiment(
    "mixtures", "Reno only, half and half, Vegas only", measure_mixtures, mixture_jobs
)  # fmt: skip
