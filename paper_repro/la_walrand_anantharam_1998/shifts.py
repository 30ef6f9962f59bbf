"""Runs of one kind, a start shift each, and what they found together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import vegasfluid as vf
from paper_repro.experiment import PACKETS, Evidence, Job, Results
from paper_repro.la_walrand_anantharam_1998.networks import SHIFTS
from paper_repro.la_walrand_anantharam_1998.recorded_run import RecordedRun, recorded_run

__all__ = ["jobs_for", "note_means", "note_range", "note_series", "records"]


def jobs_for(
    name: str,
    network: Callable[[int], vf.Network],
    until: float,
    samples: int,
    shifts: int = SHIFTS,
    keep: Callable[[Any], Any] = recorded_run,
) -> dict[str, Job]:
    """One job for each shift of the starts; each has coins of its own, too."""
    return {
        f"{name}/{shift}": Job(
            network(shift), until, keep, seeds=(shift + 1,), samples=samples
        )
        for shift in range(shifts)
    }  # fmt: skip


def records(results: Results, name: str) -> list[RecordedRun]:
    """The runs of a kind, in the order of their shifts."""
    return [kept for job, runs in results.items() if job.startswith(f"{name}/") for kept in runs]


def note_means(
    evidence: Evidence, measure: str, values: Sequence[float], source: str = PACKETS
) -> None:
    """Note the mean over the shifts, with its standard error; NaN where there are none."""
    evidence.note_mean(source, measure, [float(value) for value in values] or [float("nan")])


def note_series(
    evidence: Evidence,
    measure: str,
    values: Sequence[Sequence[float] | np.ndarray],
    source: str = PACKETS,
) -> None:
    """Note a series whose values are means over the shifts."""
    evidence.note(source, measure, [float(of) for of in np.mean(np.array(values), axis=0)])


def note_range(evidence: Evidence, measure: str, values: Sequence[float]) -> None:
    """Note the starts exactly as printed, and the smallest and the largest of all shifts."""
    evidence.note("packets, starts exactly as printed", measure, float(values[0]))
    evidence.note("smallest of the runs", measure, float(min(values)))
    evidence.note("largest of the runs", measure, float(max(values)))
