"""PIE and CoDel of the packet simulator compared with ns-3's, for `benchmarks.queues`.

The runs of ns-3 are in `tests/agreement/ns3_queues.jsonl`, written by `benchmarks.ns3_runs`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import Figures
from benchmarks.ns2_rows import ROOT
from benchmarks.ns2_scenarios import reference_runs
from benchmarks.ns3_scenarios import SCENARIOS, SEEDS, Scenario, model_of
from vegasfluid import metrics, simulate_packets

__all__ = ["RUNS", "Averages", "add_ns3", "ns3_averages", "packet_averages"]

RUNS: Path = ROOT / "tests" / "agreement" / "ns3_queues.jsonl"
"""The runs of ns-3."""
Averages = dict[str, float]
"""Means over the runs of a scenario: `share` of CUBIC in the goodput of a flow of each congestion
control, `delay_ms`, `utilisation`, and `signals`, the fraction of packets dropped or marked."""


def averages(
    scenario: Scenario, goodputs: np.ndarray, queues: Sequence[Sequence[float]]
) -> Averages:
    """Averages of the runs of a scenario.

    Args:
        scenario: the scenario.
        goodputs: mean goodput of a flow of each congestion control in each run; (run, control).
        queues: mean queue (packets), utilisation and fraction dropped or marked in each run.
    """
    means, (queue, used, signals) = np.mean(goodputs, axis=0), np.mean(queues, axis=0)
    delay = queue * 1500 * 8 / (scenario.mbps * 1e3)
    found = {"delay_ms": float(delay), "utilisation": float(used), "signals": float(signals)}
    if len(means) == 1:
        return found
    return {"share": float(means[1] / np.sum(means)), **found}


def ns3_averages(scenario: Scenario) -> Averages:
    """Averages of ns-3's runs of a scenario."""
    rows: list[dict[str, Any]] = [
        row for row in reference_runs(RUNS) if row["scenario"] == scenario.name
    ]
    goodputs = np.array([[row["goodput_mbps"][name] for name in scenario.flows] for row in rows])
    queues = [row["queue"] for row in rows]
    values = [
        (each["mean_pkts"], each["util"], each["drop_share"] + each["mark_share"])
        for each in queues
    ]
    return averages(scenario, goodputs, values)


def packet_averages(scenario: Scenario, seeds: Sequence[int] = SEEDS) -> Averages:
    """Averages of the packet simulator's runs of a scenario with these seeds."""
    goodputs, values = [], []
    for seed in seeds:
        model = model_of(scenario, seed)
        data = simulate_packets(model.network, model.duration, warmup=model.warmup, seed=seed)
        goodputs.append(metrics.goodput(data).values)
        marked = data["marked"].isel(link=-1)
        marks = float(marked[-1] - marked.sel(time=model.warmup, method="nearest"))
        offered = float(data["admitted"][-1, -1] + data["lost"][-1, -1])
        offered -= float(
            (data["admitted"] + data["lost"]).sel(time=model.warmup, method="nearest")[-1]
        )
        signals = float(metrics.drop_share(data)[-1]) + marks / offered
        queue, used = metrics.mean_queue(data)[-1], metrics.utilisation(data)[-1]
        values.append((float(queue), float(used), signals))
    return averages(scenario, np.array(goodputs), values)


def add_ns3(figures: Figures) -> None:
    """Add all averages of ns-3 and of the packet simulator, and how many are close."""
    pairs = [(each, ns3_averages(each), packet_averages(each)) for each in SCENARIOS]
    for kind in ("pie", "codel"):
        chosen = [(ns3, ours) for scenario, ns3, ours in pairs if scenario.queue == kind]
        for what, within in (("share", 10), ("delay_ms", 15), ("signals", None)):
            off = np.abs([ours[what] / ns3[what] - 1 for ns3, ours in chosen if what in ns3])
            figures.add(f"ns3.{kind}.{what}.median", float(np.median(off)))
            if within:
                name, wanted = f"ns3.{kind}.{what}.within{within}", 0.8
                figures.add(name, float(np.mean(off < within / 100)), at_least=wanted)
        used = [abs(ours["utilisation"] - ns3["utilisation"]) for ns3, ours in chosen]
        figures.add(f"ns3.{kind}.utilisation.worst", max(used), at_most=0.02)
    for scenario, ns3, ours in pairs:
        for what in ns3:
            figures.add(f"ns3.{scenario.name}.{what}.ns3", ns3[what])
            figures.add(f"ns3.{scenario.name}.{what}.packets", ours[what])
