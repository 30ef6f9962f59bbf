"""An experiment: the runs that it needs, what they show, and the figure that it draws."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from vegasfluid.network import Network
from vegasfluid.run_options import DEFAULT_SAMPLES

__all__ = ["ARITHMETIC", "FLUID", "LINUX", "NS2", "PACKETS", "Evidence", "Experiment", "Job"]

ARITHMETIC, PACKETS, FLUID = "arithmetic", "packets", "fluid"
NS2, LINUX = "ns-2", "Linux"


@dataclass(frozen=True)
class Job:
    """One network, simulated once for each seed."""

    network: Network
    until: float
    """Simulated time, s."""
    keep: Callable[[xr.Dataset], Any]
    """What of a trajectory is kept; takes it, with its attributes `seed` and `engine`."""
    warmup: float = 0.0
    """Time that the metrics leave out, s."""
    seeds: Sequence[int] = (1,)
    """One run each; the fluid has no dice, and takes the first."""
    engine: Literal["packets", "fluid"] = "packets"
    samples: int = DEFAULT_SAMPLES
    bin_width: float | None = None
    """Count arrivals in bins of so many seconds."""


@dataclass
class Evidence:
    """What an experiment found: by source, and there by measure.

    A source is an engine of ours, another simulator, or one of them under another reading of the
    paper, such as "packets, delays one way".
    """

    found: dict[str, dict[str, float | list[float]]] = field(default_factory=dict)
    spread: dict[str, dict[str, float]] = field(default_factory=dict)
    """Standard errors of means over seeds."""

    def note(self, source: str, measure: str, value: float | Sequence[float]) -> None:
        """Note a number, or a series of them."""
        plain = [float(v) for v in value] if isinstance(value, Sequence | np.ndarray) else value
        self.found.setdefault(source, {})[measure] = (
            plain if isinstance(plain, list) else float(plain)
        )

    def note_mean(self, source: str, measure: str, values: Sequence[float]) -> None:
        """Note the mean of independent runs, and its standard error."""
        self.note(source, measure, float(np.mean(values)))
        if len(values) > 1:
            error = float(np.std(values, ddof=1) / np.sqrt(len(values)))
            self.spread.setdefault(source, {})[measure] = error

    def add(self, other: Evidence) -> None:
        """Take over what another experiment found."""
        for mine, theirs in ((self.found, other.found), (self.spread, other.spread)):
            for source, measures in theirs.items():
                mine.setdefault(source, {}).update(measures)  # type: ignore[arg-type]


Results = Mapping[str, list[Any]]
"""What was kept of each job, a seed each, by the job's name."""


def no_jobs() -> Mapping[str, Job]:
    """Of an experiment that only computes."""
    return {}


@dataclass(frozen=True)
class Experiment:
    """A figure, a table or a group of sentences of a paper."""

    name: str
    """The first part of its measures, such as `figure3`."""
    title: str
    """What it shows."""
    measure: Callable[[Results], Evidence]
    """Turns results into evidence; its measures begin with the experiment's name and a dot."""
    jobs: Callable[[], Mapping[str, Job]] = no_jobs
    """The runs that it needs, by name."""
    draw: Callable[[Results], Figure] | None = None
    """Draws the paper's figure from our results, in the paper's axes."""
    quick: bool = False
    """Whether it takes seconds and belongs to `--quick`."""
