"""Section 5: what the paper expects of other thresholds and of other parameters of its scheme."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

import vegasfluid as vf
from paper_repro.experiment import PACKETS, Evidence, Experiment, Job, Results
from paper_repro.la_walrand_anantharam_1998.networks import LAWS, gateway, persistent, rerouted
from paper_repro.la_walrand_anantharam_1998.persistent import MAX_DROP
from paper_repro.la_walrand_anantharam_1998.recorded_run import RecordedRun
from paper_repro.la_walrand_anantharam_1998.rerouting import LONGER, SHORT_AGAIN, detected
from paper_repro.la_walrand_anantharam_1998.shifts import jobs_for, note_means, note_series, records
from paper_repro.la_walrand_anantharam_1998.tables import DURATION

__all__ = ["EXPERIMENT"]

LOW = (5.0, 15.0)
"""Packets: thresholds of RED that are ns's defaults, and low for ten connections."""
GROUPS = (4, 8, 16)
"""L: ever more seldom."""
OFTEN = vf.VegasRerouting(group=5, groups=1)
BEGINNING = 50.0
"""s: before the connections have settled."""
SHIFTS = 24


def jobs() -> Mapping[str, Job]:
    """RED with low thresholds, and base RTTs that are updated more and less often."""
    modified = LAWS["modified"]
    gateways = {"usual": gateway(MAX_DROP), "low": gateway(MAX_DROP, LOW)}
    made: dict[str, Job] = {}
    for name, link in gateways.items():
        made |= jobs_for(name, partial(persistent, modified, link), DURATION, 1401, SHIFTS)
    often = partial(persistent, OFTEN, gateways["usual"])
    made |= jobs_for("often", often, DURATION, 1401, SHIFTS)
    for groups in GROUPS:
        seldom = partial(rerouted, vf.VegasRerouting(groups=groups))
        made |= jobs_for(f"seldom/{groups}", seldom, 72.0, 1441, SHIFTS)
    return made


def swing(record: RecordedRun) -> float:
    """Standard deviation of a window when all are on, mean of the connections, packets."""
    inside = record.within(BEGINNING, DURATION)
    return float(record.cwnd[inside].std(axis=0).mean())


def drops_at_first(record: RecordedRun) -> float:
    """Packets that are dropped in all."""
    return float(record.dropped.sum())


def time_to_detect(record: RecordedRun) -> float:
    """How long the first connection takes to believe in the longer route, s; at most its 24 s."""
    return min(float(np.nan_to_num(detected(record), nan=SHORT_AGAIN)), SHORT_AGAIN) - LONGER


def measure(results: Results) -> Evidence:
    """Ratios to the paper's own values."""
    evidence = Evidence()
    usual, low, often = (records(results, name) for name in ("usual", "low", "often"))
    dropped = [drops_at_first(a) / drops_at_first(b) for a, b in zip(low, usual, strict=True)]
    note_means(evidence, "open_questions.drops_low_over_usual", dropped, PACKETS)
    swings = [swing(a) / swing(b) for a, b in zip(often, usual, strict=True)]
    note_means(evidence, "open_questions.swing_often_over_usual", swings, PACKETS)
    delays = [
        [time_to_detect(of) for of in records(results, f"seldom/{groups}")] for groups in GROUPS
    ]
    by_run = [list(of) for of in np.array(delays).T]
    note_series(evidence, "open_questions.detected_after_by_groups", by_run, PACKETS)
    return evidence


EXPERIMENT = Experiment("open_questions", "Other thresholds and parameters", measure, jobs)
