"""Runs of one network with shifted start times, and the evidence that they give together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import vegasfluid as vf
from paper_repro.experiment import PACKETS, Evidence, Job, Results
from paper_repro.la_walrand_anantharam_1998.networks import SHIFTS
from paper_repro.la_walrand_anantharam_1998.recorded_run import RecordedRun, recorded_run

__all__ = ["AS_PRINTED", "jobs_for", "note_means", "note_range", "note_series", "records"]

AS_PRINTED = "packets, starts exactly as printed"
"""Source of the evidence from the one run whose starts are not shifted."""


def jobs_for(
    name: str,
    network: Callable[[int], vf.Network],
    until: float,
    samples: int,
    shifts: int = SHIFTS,
    keep: Callable[[Any], Any] = recorded_run,
) -> dict[str, Job]:
    """Return one job for each shift of the starts, with a seed of its number plus 1."""
    return {
        f"{name}/{shift}": Job(
            network(shift), until, keep, seeds=(shift + 1,), samples=samples
        )
        for shift in range(shifts)
    }  # fmt: skip


def records(results: Results, name: str) -> list[RecordedRun]:
    """Return the runs whose name starts with `name/`, in the order of their shifts."""
    return [kept for job, runs in results.items() if job.startswith(f"{name}/") for kept in runs]


def note_means(
    evidence: Evidence, measure: str, values: Sequence[float], source: str = PACKETS
) -> None:
    """Record the mean over the shifts with its standard error; NaN without values."""
    evidence.note_mean(source, measure, [float(value) for value in values] or [float("nan")])


def note_series(
    evidence: Evidence,
    measure: str,
    values: Sequence[Sequence[float] | np.ndarray],
    source: str = PACKETS,
) -> None:
    """Record a series whose values are means over the shifts, with their standard errors."""
    evidence.note_mean_series(source, measure, values)


def note_range(evidence: Evidence, measure: str, values: Sequence[float]) -> None:
    """Record the run with printed starts, and the smallest and largest value of all shifts."""
    evidence.note(AS_PRINTED, measure, float(values[0]))
    evidence.note("smallest of the runs", measure, float(min(values)))
    evidence.note("largest of the runs", measure, float(max(values)))
