"""Experiments: the runs that they need, the measures computed from these, and the figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from vegasfluid.network import Network
from vegasfluid.run_options import DEFAULT_SAMPLES

__all__ = [
    "ARITHMETIC",
    "FLUID",
    "LINUX",
    "NS2",
    "PACKETS",
    "ROUNDING",
    "Evidence",
    "Experiment",
    "Job",
]

ARITHMETIC, PACKETS, FLUID = "arithmetic", "packets", "fluid"
"""Sources of evidence that are engines of ours."""
NS2, LINUX = "ns-2", "Linux"
"""Sources of evidence that are reference runs of other programs."""


@dataclass(frozen=True)
class Job:
    """A network that is simulated once for each seed."""

    network: Network
    until: float
    """Simulated time, s."""
    keep: Callable[[xr.Dataset], Any]
    """Function of a trajectory (with attributes `seed` and `engine`) that returns the result."""
    warmup: float = 0.0
    """Initial time excluded from the metrics, s."""
    seeds: Sequence[int] = (1,)
    """Seeds of the packet runs; the fluid model uses none and runs once."""
    engine: Literal["packets", "fluid"] = "packets"
    samples: int = DEFAULT_SAMPLES
    """Number of samples of the trajectory."""
    bin_width: float | None = None
    """Width of the bins in which arrivals are counted, s; None: not counted."""


ROUNDING = 1e-12
"""Relative error that is only that of the floating-point numbers; chosen."""


def standard_error(values: np.ndarray) -> np.ndarray:
    """Standard error of the mean over the first axis, the independent runs (at least two)."""
    error = values.std(axis=0, ddof=1) / np.sqrt(len(values))
    return np.where(error > ROUNDING * abs(values.mean(axis=0)), error, 0.0)


@dataclass
class Evidence:
    """Values of measures, by source.

    A source is one of our engines or another simulator, with the reading of the paper if that
    differs from the usual one, such as "packets, delays one way".
    """

    found: dict[str, dict[str, float | list[float]]] = field(default_factory=dict)
    """Values by source and measure: a number, or a series."""
    spread: dict[str, dict[str, float | list[float]]] = field(default_factory=dict)
    """Standard errors of values from several seeds, by source and measure: of a number, or of each
    value of a series."""
    runs: dict[str, dict[str, int]] = field(default_factory=dict)
    """Numbers of independent runs behind these errors, by source and measure."""
    pairs: set[tuple[str, str]] = field(default_factory=set)
    """Sources and measures without an error by the jackknife (see `note_pair`)."""

    def note(self, source: str, measure: str, value: float | Sequence[float]) -> None:
        """Record a number or a series."""
        plain = [float(v) for v in value] if isinstance(value, Sequence | np.ndarray) else value
        self.found.setdefault(source, {})[measure] = (
            plain if isinstance(plain, list) else float(plain)
        )

    def note_mean(self, source: str, measure: str, values: Sequence[float]) -> None:
        """Record the mean of independent runs and its standard error."""
        self.note(source, measure, float(np.mean(values)))
        if len(values) > 1:
            self.spread.setdefault(source, {})[measure] = float(standard_error(np.array(values)))
            self.runs.setdefault(source, {})[measure] = len(values)

    def note_mean_series(
        self, source: str, measure: str, values: Sequence[Sequence[float] | np.ndarray] | np.ndarray
    ) -> None:
        """Record the mean of a series over independent runs, (run, place), and standard errors."""
        rows = np.array(values, float)
        self.note(source, measure, rows.mean(axis=0))
        if len(rows) > 1:
            self.spread.setdefault(source, {})[measure] = standard_error(rows).tolist()
            self.runs.setdefault(source, {})[measure] = len(rows)

    def note_pair(self, source: str, measure: str, value: float) -> None:
        """Record a number from runs that share a seed, of which others have more seeds.

        Without that seed they are no pair, so that the jackknife has no error for it.
        """
        self.note(source, measure, value)
        self.pairs.add((source, measure))

    def add(self, other: Evidence) -> None:
        """Add the values of another experiment."""
        tables = (self.found, other.found), (self.spread, other.spread), (self.runs, other.runs)
        for values, others in tables:
            for source, measures in others.items():
                values.setdefault(source, {}).update(measures)  # type: ignore[arg-type]


Results = Mapping[str, list[Any]]
"""Results of the runs by job, in the order of the seeds."""


def no_jobs() -> Mapping[str, Job]:
    """No jobs, for experiments that only calculate."""
    return {}


@dataclass(frozen=True)
class Experiment:
    """Reproduction of a figure, a table or a group of sentences of a paper."""

    name: str
    """First part of the names of its measures, such as `figure3`."""
    title: str
    """What it shows, for the report."""
    measure: Callable[[Results], Evidence]
    """Function that computes evidence from the results."""
    jobs: Callable[[], Mapping[str, Job]] = no_jobs
    """Function that returns the jobs by name."""
    draw: Callable[[Results], Figure] | None = None
    """Function that plots the results like the paper's figure; None: no figure."""
    quick: bool = False
    """Whether it takes seconds only and is part of `--quick`."""
    single_rules: bool = False
    """Whether it only exercises single rules of an algorithm, so that a claim with an exact value
    is a definition."""
    own_sources: bool = False
    """Whether its runs measure nothing but our own traffic sources, so that a claim on them is a
    definition."""
