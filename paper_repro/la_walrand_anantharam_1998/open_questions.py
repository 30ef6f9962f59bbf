"""Section 5: what the paper expects of other RED thresholds and other parameters of its scheme."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

import vegasfluid as vf
from paper_repro.experiment import PACKETS, Evidence, Experiment, Job, Results
from paper_repro.la_walrand_anantharam_1998.networks import LAWS, gateway, persistent, rerouted
from paper_repro.la_walrand_anantharam_1998.other_readings import SECTIONS_3_TO_5
from paper_repro.la_walrand_anantharam_1998.persistent import MAX_DROP
from paper_repro.la_walrand_anantharam_1998.recorded_run import RecordedRun
from paper_repro.la_walrand_anantharam_1998.rerouting import LONGER, SHORT_AGAIN, detected
from paper_repro.la_walrand_anantharam_1998.shifts import jobs_for, note_means, note_series, records
from paper_repro.la_walrand_anantharam_1998.tables import DURATION
from paper_repro.other_readings import with_readings

__all__ = ["EXPERIMENT"]

LOW = (5.0, 15.0)
"""Thresholds of RED, packets: the defaults of ns, low for ten connections."""
GROUPS = (4, 8, 16)
"""Values of the scheme's parameter L; a larger one updates the base RTT less often."""
OFTEN = vf.VegasRerouting(group=5, groups=1)
"""Modified Vegas that updates its base RTT often."""
BEGINNING = 50.0
"""Time from which windows count, s: 10 s after the last start."""
LATE = 95.0
"""Time from which windows that settle have settled, s: the second half of that period."""
DEPTH = 0.5
"""Depth of a reversal of a window, as a fraction of its mean (chosen)."""
OTHER_DEPTHS = {
    "packets, reversals by a quarter": 0.25,
    "packets, reversals by the whole mean": 1.0,
}
"""Other depths, by source of the evidence."""
SHIFTS = 24
"""Number of runs of each network."""


def jobs() -> Mapping[str, Job]:
    """Return runs of RED with low thresholds, and of more and less frequent base RTT updates."""
    modified = LAWS["modified"]
    gateways = {"usual": gateway(MAX_DROP), "low": gateway(MAX_DROP, LOW)}
    runs: dict[str, Job] = {}
    for name, link in gateways.items():
        runs |= jobs_for(name, partial(persistent, modified, link), DURATION, 1401, SHIFTS)
    frequent = partial(persistent, OFTEN, gateways["usual"])
    runs |= jobs_for("often", frequent, DURATION, 1401, SHIFTS)
    for groups in GROUPS:
        rare = partial(rerouted, vf.VegasRerouting(groups=groups))
        runs |= jobs_for(f"seldom/{groups}", rare, 72.0, 1441, SHIFTS)
    return runs


def window_deviation(record: RecordedRun) -> float:
    """Return the standard deviation of a window from 50 s on, mean over connections, packets."""
    period = record.within(BEGINNING, DURATION)
    return float(record.cwnd[period].std(axis=0).mean())


def reversals(values: np.ndarray, depth: float) -> int:
    """Return the number of falls and rises of a series by at least `depth`, from turn to turn.

    >>> reversals(np.array([0, 4, 3, 5, 1, 2, 0, 6]), 4.0)
    3
    """
    count, direction = 0, 0
    low = high = float(values[0])
    for value in map(float, values):
        low, high = min(low, value), max(high, value)
        if direction >= 0 and high - value >= depth:
            count, direction, low = count + 1, -1, value
        elif direction <= 0 and value - low >= depth:
            count, direction, high = count + 1, 1, value
    return count


def reversals_a_minute(record: RecordedRun, begin: float, depth: float) -> float:
    """Return the reversals of a window from a time (s) on, mean over connections, 1/min.

    Args:
        record: the run.
        begin: start of the period, s.
        depth: depth of a reversal, as a fraction of a window's mean in the period.
    """
    windows = record.cwnd[record.within(begin, DURATION)].T
    counts = [reversals(window, depth * float(window.mean())) for window in windows]
    return float(np.mean(counts)) / (DURATION - begin) * 60


def note_reversals(evidence: Evidence, results: Results) -> None:
    """Record how many more reversals there are than with the paper's values, 1/min."""
    usual, low, often = (records(results, name) for name in ("usual", "low", "often"))
    for source, depth in {PACKETS: DEPTH, **OTHER_DEPTHS}.items():
        for name, runs, begin in (
            ("more_reversals_often", often, BEGINNING),
            ("more_late_reversals_low", low, LATE),
        ):
            more = [
                reversals_a_minute(a, begin, depth) - reversals_a_minute(b, begin, depth)
                for a, b in zip(runs, usual, strict=True)
            ]
            note_means(evidence, f"open_questions.{name}", more, source)


def drops(record: RecordedRun) -> float:
    """Return the packets dropped in the whole run."""
    return float(record.dropped.sum())


def first_drops(record: RecordedRun) -> float:
    """Return the packets dropped before the connections settle: up to 10 s after the last start."""
    return float(np.interp(BEGINNING, record.time, record.dropped_so_far))


def time_to_detect(record: RecordedRun) -> float:
    """Return how long the first connection takes to accept the longer route, s (at most 24)."""
    return min(float(np.nan_to_num(detected(record), nan=SHORT_AGAIN)), SHORT_AGAIN) - LONGER


def measure(results: Results) -> Evidence:
    """Record ratios to the results with the paper's values."""
    evidence = Evidence()
    usual, low, often = (records(results, name) for name in ("usual", "low", "often"))
    drop_ratios = [drops(a) / drops(b) for a, b in zip(low, usual, strict=True)]
    note_means(evidence, "open_questions.drops_low_over_usual", drop_ratios, PACKETS)
    first = [first_drops(a) / first_drops(b) for a, b in zip(low, usual, strict=True)]
    note_means(evidence, "open_questions.first_drops_low_over_usual", first, PACKETS)
    unsettled = [window_deviation(a) / window_deviation(b) for a, b in zip(low, usual, strict=True)]
    note_means(evidence, "open_questions.swing_low_over_usual", unsettled, PACKETS)
    ratios = [window_deviation(a) / window_deviation(b) for a, b in zip(often, usual, strict=True)]
    note_means(evidence, "open_questions.swing_often_over_usual", ratios, PACKETS)
    note_reversals(evidence, results)
    delays = [
        [time_to_detect(delay) for delay in records(results, f"seldom/{groups}")]
        for groups in GROUPS
    ]
    by_run = [list(delay) for delay in np.array(delays).T]
    note_series(evidence, "open_questions.detected_after_by_groups", by_run, PACKETS)
    return evidence


EXPERIMENT = with_readings(
    Experiment("open_questions", "Other thresholds and parameters", measure, jobs), SECTIONS_3_TO_5
)
