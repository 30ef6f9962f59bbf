"""The runs behind figures 4 to 10: by congestion control, queue discipline, reading and clients."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from paper_repro.experiment import PACKETS, Evidence, Job
from paper_repro.feng_tinnakornsrisuphap_2000.esnet import (
    DURATION,
    MEASURED_ROUND_TRIP,
    Setting,
    Topology,
    network_of,
    theoretical_cov,
)
from paper_repro.feng_tinnakornsrisuphap_2000.summary import Summary, summary_of

__all__ = ["LANL_ONLY", "LAWS", "READINGS", "Curve", "Sweep", "job_of", "note_each_seed"]

LAWS = ("reno", "vegas")
"""Congestion controls of the clients."""
LANL_ONLY = "packets, only LANL's clients send"
"""Source of the evidence from runs in which SNL's clients do not send."""
READINGS: Mapping[str, Mapping[str, Any]] = {
    PACKETS: {},
    "packets, 64 Mb/s to both sites together": {"session_gap": 0.5},
    LANL_ONLY: {"both_send": False},
    "packets, Reno outside": {"outside": "reno"},
    "packets, Reno's window only grows in use": {"law": "reno_validated"},
}
"""Changed fields of `Setting`, by the name of the source; the first decides the claims."""
SAMPLES = 2001
"""Samples of a trajectory, one every 0.1 s."""


def job_of(setting: Setting, seeds: Sequence[int]) -> Job:
    """Return the run of a setting for figures 4 to 10."""
    keep = partial(summary_of, red_min=setting.topology.red_thresholds[0])
    return Job(
        network_of(setting),
        DURATION,
        keep=keep,
        seeds=seeds,
        samples=SAMPLES,
        bin_width=MEASURED_ROUND_TRIP,
    )


@dataclass(frozen=True)
class Sweep:
    """Definition of the runs of one topology."""

    topology: Topology
    clients: Sequence[int]
    """Numbers of clients at each site."""
    red_clients: Sequence[int]
    """Numbers of clients with RED in the routers, first seed only."""
    reading_clients: Sequence[int]
    """Numbers of clients for the other readings, first seed only; `LANL_ONLY` uses `clients`."""
    seeds: Sequence[int]

    def jobs(self) -> Mapping[str, Job]:
        """Return all runs, named by reading, congestion control, queue discipline and clients."""
        jobs = {}
        for law in LAWS:
            for count in self.clients:
                base = Setting(self.topology, law, count)
                jobs[name_of(PACKETS, law, "fifo", count)] = job_of(base, self.seeds)
                if count in self.red_clients:
                    red = replace(base, queue="red")
                    jobs[name_of(PACKETS, law, "red", count)] = job_of(red, self.seeds[:1])
                jobs |= self.other_readings(base)
        return jobs

    def other_readings(self, base: Setting) -> Mapping[str, Job]:
        """Return the runs of the other readings that apply to a setting."""
        jobs = {}
        for reading in tuple(READINGS)[1:]:
            laws = {"law": "reno", "outside": "vegas"}
            applies = all(base.law == laws.get(key, base.law) for key in READINGS[reading])
            if applies and (reading == LANL_ONLY or base.clients in self.reading_clients):
                changed = job_of(replace(base, **READINGS[reading]), self.seeds[:1])
                jobs[name_of(reading, base.law, "fifo", base.clients)] = changed
        return jobs

    def curve(
        self, results: Mapping[str, list[Summary]], law: str, queue: str = "fifo",
        reading: str = PACKETS,
    ) -> Curve:  # fmt: skip
        """Return the runs of one congestion control, queue discipline and reading."""
        points = {
            count: results[name]
            for count in self.clients
            if (name := name_of(reading, law, queue, count)) in results
        }
        return Curve(self.topology, points)


def name_of(reading: str, law: str, queue: str, clients: int) -> str:
    """Return the name of a run."""
    return f"{reading} | {law} | {queue} | {clients}"


Pick = Callable[[Summary], float]
"""Function that selects one number of a run."""


@dataclass(frozen=True)
class Curve:
    """Runs by the number of clients."""

    topology: Topology
    points: Mapping[int, Sequence[Summary]]
    """Summaries by the number of clients, one for each seed."""

    @property
    def clients(self) -> list[int]:
        """Return the numbers of clients."""
        return list(self.points)

    @property
    def seeds(self) -> int:
        """Return the number of seeds that every point has."""
        return min(len(runs) for runs in self.points.values())

    def each(self, pick: Pick, *clients: int) -> np.ndarray:
        """Return a number of all runs; (clients, seed). Without `clients`, all of them."""
        rows = [self.points[count][: self.seeds] for count in clients or self.clients]
        return np.array([[pick(run) for run in row] for row in rows])

    def mean(self, pick: Pick, *clients: int) -> np.ndarray:
        """Return the mean over the seeds; (clients,)."""
        return self.each(pick, *clients).mean(1)

    def excess(self, *clients: int) -> np.ndarray:
        """Return the fraction by which the c.o.v. exceeds theory; (clients, seed)."""
        chosen = clients or tuple(self.clients)
        theory = np.array([theoretical_cov(self.topology, count) for count in chosen])
        return self.each(lambda run: run.cov, *chosen) / theory[:, np.newaxis] - 1


def note_each_seed(evidence: Evidence, source: str, measure: str, values: np.ndarray) -> None:
    """Record the mean of a number over seeds, or of a series (place, seed) for each place."""
    if values.ndim == 1:
        evidence.note_mean(source, measure, values.tolist())
    else:
        evidence.note_mean_series(source, measure, values.T)
