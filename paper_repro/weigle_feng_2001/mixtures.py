"""Networks with Reno only, with Reno and Vegas, and with Vegas only."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from paper_repro.experiment import PACKETS, Evidence, Experiment, Job, Results
from paper_repro.other_readings import with_readings
from paper_repro.weigle_feng_2001.bars import RANDOM, against
from paper_repro.weigle_feng_2001.counts import Totals, lost, mean_of
from paper_repro.weigle_feng_2001.heuristics import less_two
from paper_repro.weigle_feng_2001.networks import Pair, both_ways, table_1, with_laws, with_pair
from paper_repro.weigle_feng_2001.other_readings import THERE_AND_BACK_ONCE
from paper_repro.weigle_feng_2001.pairs import run_of
from paper_repro.weigle_feng_2001.traffic import KINDS, carrying

__all__ = ["MIXTURES"]

DEFAULT: Pair = (1, 3)
"""Default alpha and beta, packets."""
JUDICIOUS: Mapping[int, Pair] = {1: less_two(5), 2: (100, 105), 3: (75, 80), 4: (89, 94)}
"""Alpha and beta with which the paper has Vegas compete, packets, by network: its heuristic of
section 4.2, and its numbers of sections 4.3 to 4.5."""
FLOWS = {1: 2, 2: 50, 3: 100, 4: 100}
"""Flows in one direction, by network."""
SEEDS = (1, 2)
"""Seeds of the runs."""
QUEUED_SEEDS = tuple(range(1, 11))
"""Seeds of the runs of network 4 that show what more queued packets bring."""
ONE_WAY = "packets, one way"
"""Source of the evidence from networks without reverse traffic."""
CBR = "packets, CBR traffic"
"""Source of the evidence from infinite files where a measure takes the other traffic."""


def of_one_law(
    number: int, kind: str, law: str, pair: Pair = DEFAULT, *, two_way: bool = True
) -> Job:
    """Return a run of a network whose flows all have one congestion control."""
    counts = {"reno": 0, "vegas": 0} | {law: FLOWS[number]}
    network = with_pair(with_laws(table_1(number), **counts), pair)
    network = carrying(network, kind)
    return run_of(both_ways(network) if two_way else network, SEEDS)


def mixture_jobs() -> Mapping[str, Job]:
    """Return runs of all networks with each traffic source, and of network 4 with more queued."""
    runs = {}
    for number, pair in JUDICIOUS.items():
        for kind in KINDS:
            runs[f"{number}_half_{kind}"] = replace(against(number, kind, pair), seeds=SEEDS)
            for law in ("reno", "vegas"):
                runs[f"{number}_{law}_{kind}"] = of_one_law(number, kind, law)
    for kind in KINDS:
        runs[f"one_way_{kind}"] = of_one_law(2, kind, "vegas", two_way=False)
    for name, pair in {"default": DEFAULT, "queued": JUDICIOUS[4]}.items():
        for kind in KINDS:
            run = replace(of_one_law(4, kind, "vegas", pair), seeds=QUEUED_SEEDS)
            runs[f"{name}_{kind}"] = run
    return runs


def acked(runs: Sequence[Totals]) -> float:
    """Return the packets acknowledged, mean over seeds."""
    return mean_of(runs, "all_acked")


def lost_part(runs: Sequence[Totals]) -> float:
    """Return the fraction of packets sent again, mean over seeds."""
    return float(np.mean([lost(run) for run in runs]))


def over(
    results: Results, read: Callable[[Sequence[Totals]], float], case: str, reference: str
) -> list[float]:
    """Return a number of some runs over that of others, by traffic source."""
    pairs = [(results[f"{case}_{kind}"], results[f"{reference}_{kind}"]) for kind in KINDS]
    return np.divide([read(a) for a, _ in pairs], [read(b) for _, b in pairs]).tolist()


def note_all_networks(evidence: Evidence, results: Results) -> None:
    """Record what half or only Vegas changes, on network 2 and on all networks."""
    for case, change in {"half": "adding_vegas", "vegas": "vegas_only"}.items():
        for name, read in {"acked": acked, "losses": lost_part}.items():
            ratios = {
                number: over(results, read, f"{number}_{case}", f"{number}_reno")
                for number in JUDICIOUS
            }
            everywhere = [ratio for by_kind in ratios.values() for ratio in by_kind]
            evidence.note(PACKETS, f"mixtures.{name}_by_{change}", ratios[2])
            evidence.note(PACKETS, f"mixtures.{name}_by_{change}_everywhere", everywhere)


def note_queued(evidence: Evidence, results: Results) -> None:
    """Record the gain by more queued packets on network 4 with Vegas only."""
    gains = dict(zip(KINDS, over(results, acked, "queued", "default"), strict=True))
    random = [gains[kind] for kind in RANDOM]
    evidence.note(PACKETS, "mixtures.network_4_queued_gain", random)
    evidence.note(CBR, "mixtures.network_4_queued_gain", gains["bulk"])


def measure_mixtures(results: Results) -> Evidence:
    """Record what more Vegas flows do to the whole network."""
    evidence = Evidence()
    note_all_networks(evidence, results)
    note_queued(evidence, results)
    used = [mean_of(results[f"2_vegas_{kind}"], "utilisation") for kind in KINDS]
    spreads = [mean_of(results[f"2_{case}_pareto"], "queue_spread") for case in ("vegas", "half")]
    measures = {
        "default_suffices": used[0],
        "default_suffices_always": used,
        "pareto_jain": mean_of(results["2_vegas_pareto"], "jain"),
        "queue_spread": spreads[0] / spreads[1],
        "network_4_gain": over(results, acked, "4_vegas", "4_half")[1:],
    }
    for name, value in measures.items():
        evidence.note(PACKETS, f"mixtures.{name}", value)
    one_way = [mean_of(results[f"one_way_{kind}"], "utilisation") for kind in KINDS]
    evidence.note(ONE_WAY, "mixtures.default_suffices_always", one_way)
    return evidence


MIXTURES = with_readings(
    Experiment("mixtures", "Reno only, half and half, Vegas only", measure_mixtures, mixture_jobs),
    [THERE_AND_BACK_ONCE],
)
