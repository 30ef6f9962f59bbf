"""Few and many Vegas flows among Reno on network 2, what losses block, and how windows grow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import xarray as xr

import vegasfluid as vf
from paper_repro.experiment import PACKETS, Evidence, Experiment, Job, Results
from paper_repro.other_readings import with_readings
from paper_repro.weigle_feng_2001.counts import Totals
from paper_repro.weigle_feng_2001.formulas import SECONDS
from paper_repro.weigle_feng_2001.networks import both_ways, table_1, with_laws, with_pair
from paper_repro.weigle_feng_2001.other_readings import THERE_AND_BACK_ONCE
from paper_repro.weigle_feng_2001.pairs import run_of

__all__ = ["ADOPTION", "fair_part", "flow_ratio", "longest_pause"]

FLOWS = 50
"""Flows on network 2."""
VEGAS = (5, 25, 45)
"""Numbers of Vegas flows among them."""
PAIRS = {"default": (1, 3), "large": (100, 105)}
"""Alpha and beta of the tests, packets."""
FAST = (75, 80)
"""Alpha and beta on networks 3 and 4, packets."""
SEEDS = (1, 2, 3)
"""Seeds of all runs."""
REVERSE = "packets, with reverse traffic"
"""Source of the evidence from data in both directions, as in figure 5."""
SAMPLES = 4001
"""Samples of a trajectory, one every 50 ms."""


def longest_pause(times: np.ndarray, delivered: np.ndarray) -> np.ndarray:
    """Return the longest time in which each flow's counter stays constant, s; (flow,).

    Args:
        times: times of samples, s; (time,).
        delivered: counter of each flow; (time, flow). The time before its first increase does not
            count.

    >>> float(longest_pause(np.arange(5.0), np.array([[0], [1], [1], [1], [2]]))[0])
    3.0
    """
    pauses = []
    for counter in delivered.T:
        moves = times[1:][np.diff(counter) > 0]
        pauses.append(float(np.diff(moves).max()) if moves.size > 1 else 0.0)
    return np.array(pauses)


def pauses_by_law(run: xr.Dataset) -> dict[str, float]:
    """Return the longest pause of a flow, mean over the flows of each congestion control, s."""
    pauses = longest_pause(run["time"].values, run["flow_delivered"].values)
    laws = np.array([str(name) for name in run["class_of_flow"].values])
    return {law: float(pauses[laws == law].mean()) for law in ("reno", "vegas")}


def by_half(run: xr.Dataset) -> tuple[float, float]:
    """Return the packets acknowledged in the second half of a run, and in all of it."""
    total = (run["delivered"] * run["count"]).sum("flow_class")
    end = float(run["time"][-1])
    half = float(np.interp(end / 2, run["time"].values, total.values))
    return float(total[-1]) - half, float(total[-1])


def mixed(vegas: int, pair: str) -> vf.Network:
    """Return network 2 with some number of Vegas flows among its 50, data one way."""
    return with_pair(with_laws(table_1(2), FLOWS - vegas, vegas), PAIRS[pair])


def jobs() -> Mapping[str, Job]:
    """Return runs of each number of Vegas flows, of pauses, and of networks 3 and 4."""
    runs = {
        f"{pair}_{count}": run_of(mixed(count, pair), SEEDS) for pair in PAIRS for count in VEGAS
    }
    few = mixed(VEGAS[0], "large")
    runs["large_two_way"] = run_of(both_ways(few), SEEDS)
    half = runs["large_25"]
    runs["pauses"] = replace(half, keep=pauses_by_law, samples=SAMPLES)
    for number in (3, 4):
        network = with_pair(table_1(number), FAST)
        runs[f"late_{number}"] = Job(network, float(SECONDS), keep=by_half, seeds=SEEDS)
    return runs


def flow_ratio(run: Totals, vegas: int) -> float:
    """Return the goodput of a Vegas flow over that of a Reno flow."""
    return run.ratio * (FLOWS - vegas) / vegas


def mean_ratio(runs: Sequence[Totals], vegas: int) -> float:
    """Return the mean over seeds of that ratio."""
    return float(np.mean([flow_ratio(run, vegas) for run in runs]))


def fair_part(run: Totals, vegas: int) -> float:
    """Return the goodput of a Vegas flow over a fair share of all goodput."""
    return run.acked["vegas"] / vegas / (run.all_acked / FLOWS)


def mean_part(runs: Sequence[Totals], vegas: int) -> float:
    """Return the mean over seeds of that part."""
    return float(np.mean([fair_part(run, vegas) for run in runs]))


def measure(results: Results) -> Evidence:
    """Record goodputs by the number of Vegas flows, pauses, and late goodputs."""
    evidence = Evidence()
    few = VEGAS[0]
    effects = [
        mean_part(results[f"large_{count}"], count) - mean_part(results[f"default_{count}"], count)
        for count in VEGAS
    ]
    pauses = {
        law: np.mean([run[law] for run in results["pauses"]]) for law in ("reno", "vegas")
    }  # fmt: skip
    acked = {number: np.mean(results[f"late_{number}"], axis=0) for number in (3, 4)}
    late, whole = acked[4] / acked[3]
    measures = {
        "few_with_default": mean_ratio(results[f"default_{few}"], few),
        "few_with_large": mean_ratio(results[f"large_{few}"], few),
        "effect_of_parameters": effects,
        "blocked": float(pauses["reno"] / pauses["vegas"]),
        "late_minus_whole": float(late - whole),
    }
    for name, value in measures.items():
        evidence.note(PACKETS, f"adoption.{name}", value)
    two_way = mean_ratio(results["large_two_way"], few)
    evidence.note(REVERSE, "adoption.few_with_large", two_way)
    return evidence


ADOPTION = with_readings(
    Experiment("adoption", "Few and many Vegas flows, pauses, and growing windows", measure, jobs),
    [THERE_AND_BACK_ONCE],
)
