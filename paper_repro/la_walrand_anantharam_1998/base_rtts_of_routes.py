"""Base RTTs of section 3: what connection 1 measures on each route."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

import numpy as np
import xarray as xr

from paper_repro.experiment import Evidence, Job, Results
from paper_repro.la_walrand_anantharam_1998.networks import LAWS, rerouted
from paper_repro.la_walrand_anantharam_1998.recorded_run import RecordedRun, recorded_run
from paper_repro.la_walrand_anantharam_1998.reported_base import (
    BASE_RTT,
    AveragingVegas,
    ReportingModified,
    ReportingVegas,
)
from paper_repro.la_walrand_anantharam_1998.rerouting import LONGER, SHORT_AGAIN, gains
from paper_repro.la_walrand_anantharam_1998.shifts import jobs_for, note_means, note_series
from paper_repro.other_readings import Change

__all__ = ["Routed", "note_rerouting", "rerouting_jobs"]

UNTIL = 72.0
"""Simulated time, s."""
SAMPLES = 1441
"""Samples of a trajectory, one every 0.05 s."""
SHIFTS = 12
"""Number of runs of each network."""
OVERTAKEN = 63.0
"""End of the time in which the overtaking at 60 s can make a timer go off, s: six round trips."""
USUAL_MS, SHORT_MS, LONG_MS = 134.0, 88.0, 484.0
"""Round-trip propagation delays of connection 1, ms: at first, from 15 s and from 36 s on."""


class Routed(NamedTuple):
    """A run of figure 1.

    Args:
        record: the other arrays of the run.
        base: base RTT of connection 1, s; (time,).
        timeouts: timeouts of connection 1 so far; (time,).
    """

    record: RecordedRun
    base: np.ndarray
    timeouts: np.ndarray

    def base_at(self, time: float) -> float:
        """Return the base RTT at the sample nearest to a time (s), s."""
        return float(self.base[int(np.argmin(abs(self.record.time - time)))])


def routed(run: xr.Dataset) -> Routed:
    """Return the record of a run."""
    first = run.isel(flow_class=0)
    return Routed(recorded_run(run), first[BASE_RTT].values, first["timeouts"].values)


def rerouting_jobs() -> Mapping[str, Job]:
    """Return runs of figure 1 with Vegas, modified Vegas, and an average of differences."""
    laws = {
        "route_vegas": ReportingVegas(alpha=1, beta=3, gamma=1, dialect="ns2"),
        "route_modified": ReportingModified(),
        "route_averaging": AveragingVegas(),
    }
    runs: dict[str, Job] = {}
    for name, law in laws.items():
        runs |= jobs_for(name, partial(rerouted, law), UNTIL, SAMPLES, SHIFTS, routed)
    return runs


def base_of(trip_ms: float, change: Change) -> float:
    """Return the round-trip time of connection 1 with an empty queue on a route, s.

    Args:
        trip_ms: the route's delay by the paper, ms.
        change: function that returns the network under the reading of the paper.
    """
    network = rerouted(LAWS["vegas"])
    base, other = (item.base_rtts("connection1")[0] for item in (network, change(network)))
    return other + (trip_ms - USUAL_MS) / 1e3 * round(other / base)


def first_change(run: Routed) -> float:
    """Return the base RTT after its first rise on the longer route, s; NaN without one."""
    after = (run.record.time > LONGER) & (run.record.time < SHORT_AGAIN)
    base = run.base[after]
    rises = np.flatnonzero(np.diff(base) > 0.1 * base[:-1])
    return float(base[rises[0] + 1]) if rises.size else float("nan")


def late_timeouts(runs: list[Routed], until: float = UNTIL) -> float:
    """Return the timeouts of connection 1 from 60 s until a time (s), mean over the runs."""
    ends = SHORT_AGAIN, until
    counts = [np.interp(ends, run.record.time, run.timeouts) for run in runs]
    return float(np.mean([late - early for early, late in counts]))


def note_rerouting(evidence: Evidence, results: Results, change: Change) -> None:
    """Record the base RTTs of connection 1 over the true ones."""
    by_law = {
        law: [kept for job, runs in results.items() if job.startswith(f"route_{law}/")
              for kept in runs]
        for law in ("vegas", "modified", "averaging")
    }  # fmt: skip
    vegas, modified = by_law["vegas"], by_law["modified"]
    short, long = (base_of(trip_ms, change) for trip_ms in (SHORT_MS, LONG_MS))
    changes = [value for run in modified if not np.isnan(value := first_change(run))]
    means = {
        "on_shorter_route": [run.base_at(16.0) / short for run in vegas],
        "on_shorter_route_over_before": [run.base_at(16.0) / run.base_at(14.9) for run in vegas],
        "vegas_on_longer_route": [run.base_at(59.0) / short for run in vegas],
        "kept_on_longer_route": [run.base_at(59.0) / run.base_at(35.0) for run in vegas],
        "on_longer_route": [value / long for value in changes],
        "modified_after_60": [run.base_at(62.0) / short for run in modified],
        "averaged_gain": [
            average / one
            for average, one in zip(
                gains([run.record for run in by_law["averaging"]]),
                gains([run.record for run in modified]),
                strict=True,
            )
        ],
    }
    for name, values in means.items():
        note_means(evidence, f"base_rtts.{name}", values)
    pair = [late_timeouts(vegas), late_timeouts(modified)]
    note_series(evidence, "base_rtts.timeouts_after_60", [pair])
    pair = [late_timeouts(runs, OVERTAKEN) for runs in (vegas, modified)]
    note_series(evidence, "base_rtts.timeouts_by_overtaking", [pair])
