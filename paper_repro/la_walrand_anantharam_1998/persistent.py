"""Section 4: ten connections that start one after the other; table 4, figures 7 to 12."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import vegasfluid as vf
from paper_repro.experiment import FLUID, NS2, PACKETS, Evidence, Experiment, Job, Results
from paper_repro.la_walrand_anantharam_1998.charts import draw_queue, draw_sequences
from paper_repro.la_walrand_anantharam_1998.congestion import (
    ALL_ON,
    note_comparisons,
    note_fairness,
    note_figure_7,
    note_gateway,
)
from paper_repro.la_walrand_anantharam_1998.networks import LAWS, NO_LIMIT, gateway, persistent
from paper_repro.la_walrand_anantharam_1998.recorded_run import (
    RecordedRun,
    rank_correlation,
    recorded_run,
)
from paper_repro.la_walrand_anantharam_1998.rerouting_in_order import InOrder
from paper_repro.la_walrand_anantharam_1998.shifts import (
    AS_PRINTED,
    jobs_for,
    note_means,
    note_range,
    records,
)
from paper_repro.la_walrand_anantharam_1998.tables import CAPACITY, DURATION, SCHEMES
from paper_repro.reference import ns2_flows_at
from paper_repro.style import panels

__all__ = ["EXPERIMENT", "MAX_DROP"]

SAMPLES = 1401
"""Samples of a trajectory, one every 0.1 s."""
MAX_DROP = 0.02
"""RED's largest drop probability, not given in the paper: the default of ns then (linterm = 50)."""
OTHER_DROPS = (0.1, 1.0)
"""Other values of that probability."""
RANDOM_OVERHEAD = 1 / CAPACITY
"""Largest random delay of a sender before each packet, s: a packet's time on the bottleneck."""
NS2_RUNS = {
    "reno": "persist_rtt_reno_win20_s{}",
    "vegas": "persist_rtt_vegas_s{}",
    "red": "persist_rtt_vegasred_mp0.02_s{}",
}
"""Names of ns-2's runs by column of table 4; the braces stand for the seed."""
PRINTED = {"vegas": [(50.0, 60.0)], "red": [(time, 45.0) for time in (60.0, 80.0, 100.0, 120.0)]}
"""Times (s) and queues (packets) that the text states about figures 7 and 9."""
TOP = 105.0
"""Upper end of the vertical axis of figures 7, 9 and 11, packets."""


def network_for(scheme: str, max_drop: float = MAX_DROP, **reading: Any) -> partial[vf.Network]:
    """Return a function from a shift of the starts to the network of a column of table 4."""
    link = gateway(max_drop if scheme in ("red", "modified") else None)
    return partial(persistent, reading.pop("law", LAWS[scheme]), link, **reading)


def readings() -> dict[str, dict[str, partial[vf.Network]]]:
    """Return the packet simulator's networks, by source of the evidence and column of table 4."""
    networks = {
        PACKETS: {scheme: network_for(scheme) for scheme in SCHEMES},
        "packets, delays one way": {scheme: network_for(scheme, ways=2) for scheme in SCHEMES},
        "packets, window not limited": {
            scheme: network_for(scheme, max_window=NO_LIMIT) for scheme in SCHEMES
        },
        "packets, RTO 1 s": {scheme: network_for(scheme, min_rto=1.0) for scheme in SCHEMES},
    }
    networks["packets, random sending times"] = {
        "reno": network_for("reno", overhead=RANDOM_OVERHEAD)
    }
    networks["packets, (1) with the new baseRTT"] = {
        "modified": network_for("modified", law=InOrder())
    }
    for max_drop in OTHER_DROPS:
        networks[f"packets, max_drop {max_drop:g}"] = {
            scheme: network_for(scheme, max_drop) for scheme in ("red", "modified")
        }
    return networks


def jobs() -> Mapping[str, Job]:
    """Return runs of every column under every reading, and of Vegas in the fluid model."""
    runs: dict[str, Job] = {}
    for source, columns in readings().items():
        for scheme, network in columns.items():
            runs |= jobs_for(f"{source}/{scheme}", network, DURATION, SAMPLES)
    fluid = Job(network_for("vegas")(0), DURATION, recorded_run, engine="fluid", samples=SAMPLES)
    return {**runs, "fluid/vegas": fluid}


def note_table_4(evidence: Evidence, source: str, scheme: str, runs: list[RecordedRun]) -> None:
    """Record a column of table 4."""
    sent = np.array([run.acked(DURATION) for run in runs])
    for connection, packets in enumerate(sent.T, 1):
        measure = f"persistent.sent_{scheme}_{connection}"
        note_means(evidence, measure, list(packets), source)
        if source == PACKETS:
            note_range(evidence, measure, list(packets))
    note_means(evidence, f"persistent.total_{scheme}", list(sent.sum(axis=1)), source)


def note_ns2(evidence: Evidence) -> None:
    """Record ns-2's values of table 4, and its fractions of dropped packets."""
    for scheme, name in NS2_RUNS.items():
        runs = [ns2_flows_at(name.format(seed), DURATION) for seed in (1, 2, 3)]
        for connection in range(len(runs[0])):
            acked = [run[connection]["acked"] for run in runs]
            note_means(evidence, f"persistent.sent_{scheme}_{connection + 1}", acked, NS2)
        totals = [sum(flow["acked"] for flow in run) for run in runs]
        note_means(evidence, f"persistent.total_{scheme}", totals, NS2)
        drops = [sum(flow["drops"] for flow in run) for run in runs]
        shares = [lost / (lost + sent) for lost, sent in zip(drops, totals, strict=True)]
        note_means(evidence, f"persistent.drop_share_{scheme}", shares, NS2)
    pairs = zip(ns2_by_start("vegas"), ns2_by_start("reno"), strict=True)
    differences = [vegas - reno for vegas, reno in pairs]
    note_means(evidence, "persistent.vegas_minus_reno_by_start", differences, NS2)


def ns2_by_start(scheme: str) -> list[float]:
    """Return the rank correlation of rates with starting times from 50 s on, for ns-2's runs."""
    correlations = []
    for seed in (1, 2, 3):
        name = NS2_RUNS[scheme].format(seed)
        early, late = ns2_flows_at(name, ALL_ON), ns2_flows_at(name, DURATION)
        acked = [b["acked"] - a["acked"] for a, b in zip(early, late, strict=True)]
        correlations.append(rank_correlation(np.array(acked)))
    return correlations


def measure(results: Results) -> Evidence:
    """Record the evidence of every reading, of ns-2 and of the fluid model.

    Columns that a reading did not run are compared as they usually are.
    """
    evidence = Evidence()
    usual = {scheme: records(results, f"{PACKETS}/{scheme}") for scheme in SCHEMES}
    for source, columns in readings().items():
        runs = {scheme: records(results, f"{source}/{scheme}") for scheme in columns}
        for scheme, scheme_runs in runs.items():
            note_table_4(evidence, source, scheme, scheme_runs)
        note_gateway(evidence, source, runs)
        if "vegas" in runs:
            note_figure_7(evidence, source, runs["vegas"])
        note_fairness(evidence, source, runs, usual)
        note_comparisons(evidence, source, runs, usual)
    note_as_printed(evidence, {scheme: runs[:1] for scheme, runs in usual.items()})
    note_ns2(evidence)
    fluid = records(results, "fluid")
    note_table_4(evidence, FLUID, "vegas", fluid)
    note_figure_7(evidence, FLUID, fluid)
    return evidence


def note_as_printed(evidence: Evidence, runs: Mapping[str, list[RecordedRun]]) -> None:
    """Record the statements about the figures of the one run whose starts are not shifted."""
    note_gateway(evidence, AS_PRINTED, runs)
    note_figure_7(evidence, AS_PRINTED, runs["vegas"])
    note_fairness(evidence, AS_PRINTED, runs, runs)
    note_comparisons(evidence, AS_PRINTED, runs, runs)


def draw(results: Results) -> Figure:
    """Plot figures 7 to 12, from the runs with the printed start times."""
    figure, axes = panels(3, 2)
    titles = {
        "vegas": (7, 8, "Vegas, drop-tail"),
        "red": (9, 10, "Vegas, RED"),
        "modified": (11, 12, "modified Vegas, RED"),
    }
    for row, (scheme, (first, second, name)) in zip(axes, titles.items(), strict=True):
        record = records(results, f"{PACKETS}/{scheme}")[0]
        title = f"Figure {first}: queue sizes ({name})"
        draw_queue(row[0], record, title, TOP, PRINTED.get(scheme, ()))
        draw_sequences(row[1], record, f"Figure {second}: packet sequences ({name})")
    return figure


EXPERIMENT = Experiment(
    "persistent", "Persistent congestion: figures 7 to 12, table 4", measure, jobs, draw
)
