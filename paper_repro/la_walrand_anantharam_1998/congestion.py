"""Statements of section 4 about its figures, measured on the runs."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from paper_repro.experiment import PACKETS, Evidence
from paper_repro.la_walrand_anantharam_1998.networks import LAWS, gateway, persistent
from paper_repro.la_walrand_anantharam_1998.recorded_run import (
    RecordedRun,
    jain_index,
    rank_correlation,
)
from paper_repro.la_walrand_anantharam_1998.shifts import note_means, note_series
from paper_repro.la_walrand_anantharam_1998.tables import DURATION, STARTS

__all__ = [
    "ALL_ON",
    "compared",
    "levels",
    "note_comparisons",
    "note_fairness",
    "note_figure_7",
    "note_gateway",
    "surge_over_quiet",
]

PERIOD = 10.0
"""Time after the last start in which the queue is compared with that of quiet periods, s."""
ALL_ON = 50.0
"""Time from which rates are compared, s: 10 s after the tenth connection starts."""
AVERAGING = 1.0
"""Time over which the queue is averaged before a start, and on each side of 50 s; s."""
LAST = 3
"""Number of last connections that the paper compares with the others."""
QUARTER = (DURATION - STARTS[-1]) / 4
"""A quarter of the time with all ten connections, s."""
LEVEL_TIMES = (*STARTS[1:], DURATION)
"""Ends of the intervals over which the queue is averaged, s."""
Runs = Mapping[str, list[RecordedRun]]
"""Runs by column of table 4."""


def levels(record: RecordedRun) -> np.ndarray:
    """Return the mean queue just before each next start, packets; (number of connections,)."""
    return np.array([record.mean_queue(time - AVERAGING, time) for time in LEVEL_TIMES])


def note_figure_7(evidence: Evidence, source: str, runs: list[RecordedRun]) -> None:
    """Record the queue of Vegas over drop-tail, and the connections' backlogs in it."""
    heights = [levels(run) for run in runs]
    jumps = [np.diff(run, prepend=0.0) for run in heights]
    note_series(evidence, "persistent.first_jumps", [run[:5] for run in jumps], source)
    note_series(evidence, "persistent.later_jumps", [run[4:] for run in jumps], source)
    note_series(evidence, "persistent.levels", heights, source)
    means = {
        "queue_at_50": [run.mean_queue(ALL_ON - AVERAGING, ALL_ON + AVERAGING) for run in runs],
        "later_is_higher_vegas": [rank_correlation(run.rates(ALL_ON, DURATION)) for run in runs],
        "rate_follows_backlog": [rate_follows_backlog(run) for run in runs],
        "rate_over_backlog": [rate_over_backlog(run) for run in runs],
        "backlog_of_last": [float(backlogs(run)[-1]) for run in runs],
        "queue_stays": [
            run.mean_queue(100, DURATION) / run.mean_queue(ALL_ON, 100) for run in runs
        ],
    }  # fmt: skip
    for name, values in means.items():
        note_means(evidence, f"persistent.{name}", values, source)


def backlogs(record: RecordedRun) -> np.ndarray:
    """Return the backlog (w - r d) of each connection from 50 s on, packets; (connection,)."""
    network = persistent(LAWS["vegas"], gateway(None))
    trips = np.array([network.base_rtts(name)[0] for name in network.flows])
    return record.backlogs(trips, ALL_ON, DURATION)


def rate_follows_backlog(record: RecordedRun) -> float:
    """Return the correlation of the connections' rates with their backlogs."""
    return float(np.corrcoef(record.rates(ALL_ON, DURATION), backlogs(record))[0, 1])


def rate_over_backlog(record: RecordedRun) -> float:
    """Return the largest deviation of a connection's rate over backlog from their mean, relative.

    It is zero where rates are in proportion to backlogs.
    """
    ratios = record.rates(ALL_ON, DURATION) / backlogs(record)
    return float(np.abs(ratios / ratios.mean() - 1).max())


def last_over_others(record: RecordedRun) -> float:
    """Return the mean rate of the last three connections over that of the others."""
    rates = record.rates(ALL_ON, DURATION)
    return float(rates[-LAST:].mean() / rates[:-LAST].mean())


def note_gateway(evidence: Evidence, source: str, runs: Runs) -> None:
    """Record queue, drops and rates for each column of table 4."""
    for scheme, scheme_runs in runs.items():
        measures = {
            "queue": [run.mean_queue(ALL_ON, DURATION) for run in scheme_runs],
            "drop_share": [run.drop_share for run in scheme_runs],
            "last_over_others": [last_over_others(run) for run in scheme_runs],
            "later_is_higher": [
                rank_correlation(run.rates(ALL_ON, DURATION)) for run in scheme_runs
            ],
        }
        for name, values in measures.items():
            note_means(evidence, f"persistent.{name}_{scheme}", values, source)
    if "red" in runs:
        note_drops(evidence, source, runs["red"])
    if "modified" in runs:
        after = [
            run.mean_queue(STARTS[-1], ALL_ON) / run.mean_queue(100, DURATION)
            for run in runs["modified"]
        ]
        note_means(evidence, "persistent.surge_after_a_start", after, source)
        above = [surge_over_quiet(run) for run in runs["modified"]]
        note_means(evidence, "persistent.surge_over_quiet", above, source)


def surge_over_quiet(run: RecordedRun) -> float:
    """Return the queue of the 10 s after the last start over the longest of later 10 s."""
    quiet = [run.mean_queue(begin, begin + PERIOD) for begin in np.arange(ALL_ON, DURATION, PERIOD)]
    return run.mean_queue(STARTS[-1], STARTS[-1] + PERIOD) / max(quiet)


def note_drops(evidence: Evidence, source: str, runs: list[RecordedRun]) -> None:
    """Record which connections RED drops packets of, and timeouts per drop."""
    correlations = [float(np.corrcoef(run.dropped, run.acked(DURATION))[0, 1]) for run in runs]
    note_means(evidence, "persistent.drops_follow_rates", correlations, source)
    dropped = [max(float(run.dropped.sum()), 1.0) for run in runs]
    timeouts = [run.timeouts / drops for run, drops in zip(runs, dropped, strict=True)]
    note_means(evidence, "persistent.timeouts_a_drop", timeouts, source)


def compared(
    ran: Runs, usual: Runs, first: str, second: str
) -> list[tuple[RecordedRun, RecordedRun]]:
    """Return pairs of runs of two columns of table 4; none if a reading ran neither of them.

    Args:
        ran: runs of the reading.
        usual: runs of every column under the usual reading, for a column that it did not run.
        first: the first column.
        second: the second column.
    """
    if first not in ran and second not in ran:
        return []
    runs = {**usual, **ran}
    return list(zip(runs[first], runs[second], strict=True))


def note_fairness(evidence: Evidence, source: str, ran: Runs, usual: Runs) -> None:
    """Record gains in Jain's index, in each quarter of the time with all ten connections."""
    quarters = [STARTS[-1] + QUARTER * place for place in range(4)]
    for other in ("vegas", "red"):
        gains = [
            [
                jain_index(ours.rates(begin, begin + QUARTER))
                - jain_index(theirs.rates(begin, begin + QUARTER))
                for begin in quarters
            ]
            for ours, theirs in compared(ran, usual, "modified", other)
        ]
        if gains:
            note_series(evidence, f"persistent.jain_gain_over_{other}_by_quarter", gains, source)


def queue_ratio(first: RecordedRun, second: RecordedRun) -> float:
    """Return the mean queue of a run over that of another, from 50 s on."""
    return first.mean_queue(ALL_ON, DURATION) / second.mean_queue(ALL_ON, DURATION)


def correlation_of_totals(first: RecordedRun, second: RecordedRun) -> float:
    """Return the correlation of what the connections of two runs have delivered."""
    return float(np.corrcoef(first.acked(DURATION), second.acked(DURATION))[0, 1])


def early_windows_ratio(first: RecordedRun, second: RecordedRun) -> float:
    """Return the windows of the first three connections of a run over those of another."""
    windows = [float(run.mean_windows(ALL_ON, DURATION)[:3].sum()) for run in (first, second)]
    return windows[0] / windows[1]


def difference_by_start(first: RecordedRun, second: RecordedRun) -> float:
    """Return how much more rates follow the order of the starts in a run than in another."""
    by_start = [rank_correlation(run.rates(ALL_ON, DURATION)) for run in (first, second)]
    return by_start[0] - by_start[1]


def total_difference(first: RecordedRun, second: RecordedRun) -> float:
    """Return how many packets more a run has delivered than another."""
    return float(first.acked(DURATION).sum() - second.acked(DURATION).sum())


COMPARISONS = {
    "red_queue_over_droptail": ("red", "vegas", queue_ratio),
    "red_as_droptail": ("red", "vegas", correlation_of_totals),
    "early_windows_over_red": ("modified", "red", early_windows_ratio),
    "vegas_minus_reno_by_start": ("vegas", "reno", difference_by_start),
    "vegas_above_reno": ("vegas", "reno", total_difference),
}
"""Two columns of table 4 and a function of a run of either, by measure."""


def note_comparisons(evidence: Evidence, source: str, ran: Runs, usual: Runs) -> None:
    """Record comparisons between columns of table 4, of which the reading ran one at least."""
    for name, (first, second, compare) in COMPARISONS.items():
        if pairs := compared(ran, usual, first, second):
            values = [compare(*pair) for pair in pairs]
            note_means(evidence, f"persistent.{name}", values, source)
    if pairs := compared(ran, usual, "red", "vegas"):
        ratios = [a.acked(DURATION) / b.acked(DURATION) for a, b in pairs]
        note_series(evidence, "persistent.red_over_droptail", ratios, source)
    if "modified" in ran:
        rates = [first_connection_rates(run) for run in ran["modified"]]
        note_series(evidence, "persistent.rates_of_the_first", rates, source)
    if source == PACKETS:
        highest = [float(run.queue.max()) for run in ran["vegas"]]
        note_means(evidence, "persistent.highest_queue_vegas", highest, source)


def first_connection_rates(record: RecordedRun) -> list[float]:
    """Return the first connection's rates with one, four, nine and ten connections, packets/s."""
    return [
        float(record.rates(begin, end)[0])
        for begin, end in ((1, 2), (8, 10), (30, 40), (ALL_ON, DURATION))
    ]
