"""The base RTTs that connections measure, and what follows from them: sections 3 and 4."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
import xarray as xr

import vegasfluid as vf
from paper_repro.experiment import NS2, PACKETS, Evidence, Experiment, Job, Results
from paper_repro.la_walrand_anantharam_1998.base_rtts_of_routes import (
    note_rerouting,
    rerouting_jobs,
)
from paper_repro.la_walrand_anantharam_1998.networks import LAWS, gateway, persistent
from paper_repro.la_walrand_anantharam_1998.other_readings import SECTIONS_3_TO_5
from paper_repro.la_walrand_anantharam_1998.persistent import MAX_DROP
from paper_repro.la_walrand_anantharam_1998.recorded_run import (
    RecordedRun,
    rank_correlation,
    recorded_run,
)
from paper_repro.la_walrand_anantharam_1998.reported_base import (
    BASE_RTT,
    ReportingModified,
    ReportingVegas,
)
from paper_repro.la_walrand_anantharam_1998.shifts import jobs_for, note_means, note_series
from paper_repro.la_walrand_anantharam_1998.tables import DURATION, STARTS
from paper_repro.other_readings import Change, unchanged, with_readings
from paper_repro.reference import ns2_flows_at

__all__ = [
    "CONGESTED",
    "EXPERIMENT",
    "WithBase",
    "backing_off",
    "backing_off_more",
    "drops_after_starts",
    "shared_cuts",
    "with_few",
]

SAMPLES = 1401
"""Samples of a trajectory, one every 0.1 s."""
SHIFTS = 6
"""Number of runs of each network."""
ALL_ON = 60.0
"""Time from which all ten connections are active, s: 20 s after the tenth start."""
ALL_THERE = f"{PACKETS}, from 60 s on"
"""Source of the evidence in which only base RTTs that rise from then on count."""
EARLIER = 9
"""Number of connections before the last."""
AFTER_A_START = 5.0
"""Time after a start in which drops count as following it, s."""
ACCURATE = 0.1
"""Largest relative error of a base RTT that counts as accurate."""
FALL = 0.9
"""Fraction of a window below which it has fallen."""
PER_BIN = 10
"""Samples in a bin of 1 s; falls within it count as simultaneous."""
QUIET = (60.0, 80.0, 100.0, 120.0)
"""Starts of periods of 20 s in which no connection starts, s."""
CONGESTED = STARTS.index(15.0)
"""Number of starts before the network is congested: the average queue is below thresh till 15 s."""
UNCONGESTED = 2
"""Number of connections in the network that is not congested."""
LIGHT = 10.0
"""Time up to which at most four connections are active, s."""
DROP_TAIL = {"reno": "Reno", "modified": "modified Vegas"}
"""Names of the laws that also run over drop-tail, by column of table 4."""
DIALECTS = ("brakmo", "linux", "ns3")
"""Other rules of Vegas; all use a base RTT."""


class WithBase(NamedTuple):
    """A run with the base RTTs that the connections have measured.

    Args:
        record: the other arrays of the run.
        base: measured base RTTs, s; (time, connection), 0 before the first ACK.
        drops: packets dropped so far, of all connections; (time,).
    """

    record: RecordedRun
    base: np.ndarray
    drops: np.ndarray

    def at(self, time: float) -> np.ndarray:
        """Return the base RTTs at the sample nearest to a time (s), s; (connection,)."""
        return self.base[int(np.argmin(abs(self.record.time - time)))]


def with_base(run: xr.Dataset) -> WithBase:
    """Return the record of a run of one of the reporting laws."""
    drops = run["dropped"].values.sum(axis=1)
    return WithBase(recorded_run(run), run[BASE_RTT].values.astype(float), drops)


def with_few(shift: int) -> vf.Network:
    """Return figure 6 with modified Vegas, RED and only the first connections: no congestion."""
    network = persistent(ReportingModified(), gateway(MAX_DROP), shift)
    return replace(network, flows=dict(list(network.flows.items())[:UNCONGESTED]))


def networks() -> dict[str, partial[vf.Network]]:
    """Return functions from a shift to a network of figure 6, by the columns of table 4."""
    vegas = ReportingVegas(alpha=1, beta=3, gamma=1, dialect="ns2")
    red = gateway(MAX_DROP)
    return {
        "vegas": partial(persistent, vegas, gateway(None)),
        "red": partial(persistent, vegas, red),
        "modified": partial(persistent, ReportingModified(), red),
    }


def jobs() -> Mapping[str, Job]:
    """Return runs of figures 1 and 6 with reported base RTTs, and of three other dialects."""
    runs = dict(rerouting_jobs())
    for name, network in networks().items():
        runs |= jobs_for(name, network, DURATION, SAMPLES, SHIFTS, with_base)
    runs |= jobs_for("few", with_few, DURATION, SAMPLES, SHIFTS, with_base)
    for dialect in DIALECTS:
        law = vf.Vegas(alpha=1, beta=3, gamma=1, dialect=dialect)
        network = partial(persistent, law, gateway(None))
        runs |= jobs_for(dialect, network, DURATION, SAMPLES, SHIFTS)
    for scheme in DROP_TAIL:
        network = partial(persistent, LAWS[scheme], gateway(None))
        runs |= jobs_for(f"drop-tail {scheme}", network, DURATION, SAMPLES, SHIFTS)
    return runs


def runs_of(results: Results, name: str) -> list[WithBase]:
    """Return the runs whose name starts with `name/`, in the order of their shifts."""
    return [kept for job, runs in results.items() if job.startswith(f"{name}/") for kept in runs]


def true_base(change: Change) -> np.ndarray:
    """Return the round-trip times of the connections with an empty queue, s; (connection,)."""
    network = change(persistent(LAWS["vegas"], gateway(None)))
    return np.array([network.base_rtts(name)[0] for name in network.flows])


def believed(run: WithBase) -> np.ndarray:
    """Return w - r d from 60 s on with the measured base RTTs, packets; (connection,)."""
    return run.record.backlogs(run.at(DURATION), ALL_ON, DURATION)


def windows_of_existing(record: RecordedRun) -> list[float]:
    """Return the growth of the earlier connections' windows by each start but the first."""
    ends = (*STARTS[2:], STARTS[-1] + 10.0)
    ratios = []
    for number, (start, end) in enumerate(zip(STARTS[1:], ends, strict=True), 1):
        before, after = (
            record.mean_windows(time - 1.0, time)[:number].sum() for time in (start, end)
        )
        ratios.append(float(after / before))
    return ratios


def note_droptail(evidence: Evidence, runs: Sequence[WithBase], base: np.ndarray) -> None:
    """Record the base RTTs of Vegas over drop-tail; `base` has the true ones, s."""
    errors = [float(run.at(ALL_ON)[-1] / base[-1]) for run in runs]
    note_means(evidence, "base_rtts.error_of_last", errors)
    series = {
        "excess_from_third_ms": [1e3 * (run.at(ALL_ON) - base)[2:] for run in runs],
        "believed": [believed(run)[-3:] for run in runs],
        "first_two": [run.at(STARTS[2])[:2] / base[:2] for run in runs],
        "windows_of_existing": [windows_of_existing(run.record) for run in runs],
    }
    for name, values in series.items():
        note_series(evidence, f"base_rtts.{name}", values)


def updated(run: WithBase, connections: int, begin: float = 0.0) -> float:
    """Return the fraction of the first connections whose base RTT rises by a tenth at once.

    Args:
        run: the run.
        connections: number of connections that count, from the first on.
        begin: time from which rises count, s.
    """
    base = run.base[run.record.time >= begin, :connections]
    rises = (base[1:] > 1.1 * base[:-1]) & (base[:-1] > 0)
    return float(rises.any(axis=0).mean())


def backing_off(record: RecordedRun, start: float = STARTS[-1]) -> float:
    """Return the fraction of the first nine windows that fall in the 20 s after a time (s)."""
    begin = record.mean_windows(start - 1.0, start)[:-1]
    lowest = record.cwnd[record.within(start, start + ALL_ON - STARTS[-1]), :-1].min(axis=0)
    return float((lowest < FALL * begin).mean())


def backing_off_more(record: RecordedRun) -> float:
    """Return how much larger that fraction is after the tenth start than in quiet periods."""
    return backing_off(record) - float(np.mean([backing_off(record, time) for time in QUIET]))


def shared_cuts(record: RecordedRun) -> float:
    """Return the mean correlation of two connections in whether their windows fall, by seconds.

    0 without two connections whose windows fall.
    """
    cwnd = record.cwnd[record.time >= STARTS[-1]]
    whole = len(cwnd) // PER_BIN * PER_BIN
    bins = cwnd[:whole].reshape(-1, PER_BIN, cwnd.shape[1])
    falls = (bins.min(axis=1) < FALL * bins[:, 0]).astype(float)
    falls = falls[:, falls.std(axis=0) > 0]
    count = falls.shape[1]
    if count < 2:
        return 0.0
    return float((np.corrcoef(falls.T).sum() - count) / (count * (count - 1)))


def drops_after_starts(times: np.ndarray, drops: np.ndarray, skipped: int = 0) -> float:
    """Return the drops per second within 5 s of a start over those in the rest of the time.

    Args:
        times: times of samples, s; (time,).
        drops: packets dropped so far; (time,).
        skipped: number of starts that do not count, nor the time before the next.
    """
    middles, new, widths = (times[1:] + times[:-1]) / 2, np.diff(drops), np.diff(times)
    after = np.zeros(middles.size, bool)
    for start in STARTS[skipped:]:
        after |= (middles > start) & (middles < start + AFTER_A_START)
    rest = ~after & (middles > STARTS[skipped])
    rates = [new[part].sum() / widths[part].sum() for part in (after, rest)]
    return float(rates[0] / rates[1]) if rates[1] else float("inf")


def correct(run: WithBase, base: np.ndarray) -> float:
    """Return the fraction of the connections whose base RTT is accurate at the end."""
    errors = abs(run.at(DURATION) / base - 1)
    return float((errors < ACCURATE).mean())


def early_drops(run: WithBase) -> float:
    """Return the packets dropped in the first 10 s."""
    return float(np.interp(LIGHT, run.record.time, run.drops))


def note_modified(
    evidence: Evidence,
    runs: Sequence[WithBase],
    base: np.ndarray,
    source: str,
    *,
    all_measures: bool,
) -> None:
    """Record what base RTTs and windows do under RED; `base` has the true ones, s."""
    measures = {"correct_modified": [correct(run, base) for run in runs]}
    if all_measures:
        measures |= {
            "updated_modified": [updated(run, EARLIER) for run in runs],
            "backing_off": [backing_off(run.record) for run in runs],
            "backing_off_more": [backing_off_more(run.record) for run in runs],
            "shared_cuts": [shared_cuts(run.record) for run in runs],
            "drops_after_starts": [drops_after_starts(run.record.time, run.drops) for run in runs],
            "drops_after_congested_starts": [
                drops_after_starts(run.record.time, run.drops, CONGESTED) for run in runs
            ],
        }
    for name, values in measures.items():
        note_means(evidence, f"base_rtts.{name}", values, source)


def note_ns2(evidence: Evidence) -> None:
    """Record ns-2's drops of Vegas in the first 10 s with RED; it has no modified Vegas."""
    runs = [ns2_flows_at(f"persist_rtt_vegasred_mp0.02_s{seed}", LIGHT) for seed in (1, 2, 3)]
    drops = [sum(flow["drops"] for flow in run) for run in runs]
    evidence.note(f"{NS2}, Vegas only", "base_rtts.early_drops", [float(np.mean(drops))])


def measure(results: Results, change: Change = unchanged) -> Evidence:
    """Record the base RTTs of both networks, and what follows from them."""
    evidence, base = Evidence(), true_base(change)
    note_rerouting(evidence, results, change)
    droptail, red, modified = (runs_of(results, name) for name in networks())
    note_droptail(evidence, droptail, base)
    note_modified(evidence, modified, base, PACKETS, all_measures=True)
    note_modified(evidence, red, base, "packets, Vegas with RED", all_measures=False)
    for scheme, name in DROP_TAIL.items():
        cuts = [shared_cuts(run) for run in records_of(results, f"drop-tail {scheme}")]
        note_means(evidence, "base_rtts.shared_cuts", cuts, f"packets, {name} over drop-tail")
    pairs = list(zip(modified, runs_of(results, "few"), strict=True))
    for name, begin in {"updated_more": ALL_ON, "updated_congested": STARTS[CONGESTED]}.items():
        more = [updated(run, EARLIER, begin) - updated(few, UNCONGESTED, begin)
                for run, few in pairs]  # fmt: skip
        note_means(evidence, f"base_rtts.{name}", more)
        if begin == ALL_ON:
            note_means(evidence, "base_rtts.updated_congested", more, ALL_THERE)
    early = [[early_drops(a), early_drops(b)] for a, b in zip(red, modified, strict=True)]
    note_series(evidence, "base_rtts.early_drops", early)
    by_dialect = [
        [rank_correlation(run.rates(ALL_ON, DURATION)) for run in records_of(results, dialect)]
        for dialect in DIALECTS
    ]
    note_series(evidence, "base_rtts.later_is_higher_by_dialect", list(np.transpose(by_dialect)))
    note_ns2(evidence)
    return evidence


def records_of(results: Results, name: str) -> list[RecordedRun]:
    """Return the records of a dialect's runs."""
    return [kept for job, runs in results.items() if job.startswith(f"{name}/") for kept in runs]


EXPERIMENT = with_readings(
    Experiment("base_rtts", "The measured base RTTs, and what follows", measure, jobs),
    SECTIONS_3_TO_5,
    measure,
)
