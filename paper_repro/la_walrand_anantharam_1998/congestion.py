"""What the text of section 4 says of its figures, measured on the runs."""

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

__all__ = ["ALL_ON", "levels", "note_comparisons", "note_fairness", "note_figure_7", "note_gateway"]

ALL_ON = 50.0
"""s: the tenth connection has started 10 s ago; from here on rates are compared."""
LOOK = 1.0
"""s: how long the queue is averaged before a start, and around 50 s to each side."""
LAST = 3
"""The paper speaks of the last three connections."""
QUARTER = (DURATION - STARTS[-1]) / 4
"""s."""
WAITING_BEFORE_A_START = (*STARTS[1:], DURATION)
"""s: when the queue is looked at."""
Runs = Mapping[str, list[RecordedRun]]


def levels(record: RecordedRun) -> np.ndarray:
    """The mean queue just before each next start, packets: one for each number of connections."""
    return np.array([record.mean_queue(time - LOOK, time) for time in WAITING_BEFORE_A_START])


def note_figure_7(evidence: Evidence, source: str, runs: list[RecordedRun]) -> None:
    """The queue of Vegas over drop-tail, and who has which part of it."""
    heights = [levels(of) for of in runs]
    jumps = [np.diff(of, prepend=0.0) for of in heights]
    note_series(evidence, "persistent.first_jumps", [of[:5] for of in jumps], source)
    note_series(evidence, "persistent.later_jumps", [of[4:] for of in jumps], source)
    note_series(evidence, "persistent.levels", heights, source)
    means = {
        "queue_at_50": [of.mean_queue(ALL_ON - LOOK, ALL_ON + LOOK) for of in runs],
        "later_is_higher_vegas": [rank_correlation(of.rates(ALL_ON, DURATION)) for of in runs],
        "rate_follows_backlog": [rate_follows_backlog(of) for of in runs],
        "backlog_of_last": [float(backlogs(of)[-1]) for of in runs],
        "queue_stays": [
            of.mean_queue(100, DURATION) / of.mean_queue(ALL_ON, 100) for of in runs
        ],
    }  # fmt: skip
    for name, values in means.items():
        note_means(evidence, f"persistent.{name}", values, source)


def backlogs(record: RecordedRun) -> np.ndarray:
    """Backlog (w - r d) of each connection when all are on, packets; (connection,)."""
    network = persistent(LAWS["vegas"], gateway(None))
    trips = np.array([network.base_rtts(name)[0] for name in network.flows])
    return record.backlogs(trips, ALL_ON, DURATION)


def rate_follows_backlog(record: RecordedRun) -> float:
    """Correlation of the connections' rates with their parts of the queue."""
    return float(np.corrcoef(record.rates(ALL_ON, DURATION), backlogs(record))[0, 1])


def last_over_others(record: RecordedRun) -> float:
    """The mean rate of the last three connections over that of the others."""
    rates = record.rates(ALL_ON, DURATION)
    return float(rates[-LAST:].mean() / rates[:-LAST].mean())


def note_gateway(evidence: Evidence, source: str, runs: Runs) -> None:
    """What RED does, with Vegas and with the modified one."""
    for scheme, of_scheme in runs.items():
        of_all = {
            "queue": [of.mean_queue(ALL_ON, DURATION) for of in of_scheme],
            "drop_share": [of.drop_share for of in of_scheme],
            "last_over_others": [last_over_others(of) for of in of_scheme],
            "later_is_higher": [rank_correlation(of.rates(ALL_ON, DURATION)) for of in of_scheme],
        }
        for name, values in of_all.items():
            note_means(evidence, f"persistent.{name}_{scheme}", values, source)
    if "red" in runs:
        note_drops(evidence, source, runs["red"])
    if "modified" in runs:
        after = [
            of.mean_queue(STARTS[-1], ALL_ON) / of.mean_queue(100, DURATION)
            for of in runs["modified"]
        ]
        note_means(evidence, "persistent.surge_after_a_start", after, source)


def note_drops(evidence: Evidence, source: str, runs: list[RecordedRun]) -> None:
    """Whom RED hits, and how those recover."""
    hit = [float(np.corrcoef(of.dropped, of.acked(DURATION))[0, 1]) for of in runs]
    note_means(evidence, "persistent.drops_follow_rates", hit, source)
    dropped = [max(float(of.dropped.sum()), 1.0) for of in runs]
    slow = [of.timeouts / drops for of, drops in zip(runs, dropped, strict=True)]
    note_means(evidence, "persistent.timeouts_a_drop", slow, source)


def note_fairness(evidence: Evidence, source: str, runs: Runs) -> None:
    """How evenly bandwidth is shared, in each quarter of the time with all ten."""
    quarters = [STARTS[-1] + QUARTER * place for place in range(4)]
    gains = {"vegas": [], "red": []}
    for other, made in gains.items():
        for ours, theirs in zip(runs["modified"], runs[other], strict=True):
            made.append([
                jain_index(ours.rates(begin, begin + QUARTER))
                - jain_index(theirs.rates(begin, begin + QUARTER))
                for begin in quarters
            ])  # fmt: skip
        note_series(evidence, f"persistent.jain_gain_over_{other}_by_quarter", made, source)


def note_comparisons(evidence: Evidence, source: str, runs: Runs) -> None:
    """One column against another."""
    means = {
        "red_queue_over_droptail": [
            a.mean_queue(ALL_ON, DURATION) / b.mean_queue(ALL_ON, DURATION)
            for a, b in zip(runs["red"], runs["vegas"], strict=True)
        ],
        "red_as_droptail": [
            float(np.corrcoef(a.acked(DURATION), b.acked(DURATION))[0, 1])
            for a, b in zip(runs["red"], runs["vegas"], strict=True)
        ],
        "early_windows_over_red": [
            float(a.mean_windows(ALL_ON, DURATION)[:3].sum())
            / float(b.mean_windows(ALL_ON, DURATION)[:3].sum())
            for a, b in zip(runs["modified"], runs["red"], strict=True)
        ],
        "vegas_above_reno": [
            float(a.acked(DURATION).sum() - b.acked(DURATION).sum())
            for a, b in zip(runs["vegas"], runs["reno"], strict=True)
        ],
    }
    for name, values in means.items():
        note_means(evidence, f"persistent.{name}", values, source)
    lost = [loss_of_the_first(of) for of in runs["modified"]]
    note_series(evidence, "persistent.rates_of_the_first", lost, source)
    if source == PACKETS:
        highest = [float(of.queue.max()) for of in runs["vegas"]]
        note_means(evidence, "persistent.highest_queue_vegas", highest, source)


def loss_of_the_first(record: RecordedRun) -> list[float]:
    """Rates of the first connection with one, four, nine and ten connections, packets a second."""
    return [
        float(record.rates(begin, end)[0])
        for begin, end in ((1, 2), (8, 10), (30, 40), (ALL_ON, DURATION))
    ]
