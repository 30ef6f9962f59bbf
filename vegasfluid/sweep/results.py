"""Results of the points of a chunk, passed from an engine to the store."""

from __future__ import annotations

from dataclasses import dataclass
from pickle import UnpicklingError

import numpy as np

from vegasfluid.errors import VegasfluidError
from vegasfluid.network import Network
from vegasfluid.sweep.summary import METRICS, Summary, links_of

__all__ = ["DONE", "FAILED", "SYSTEM_ERRORS", "Frame", "Results", "is_system_error", "reason_of"]

DONE, FAILED = 1, 2
"""Status of a point in the store; a point that has not run yet has 0."""


SYSTEM_ERRORS = (OSError, MemoryError, EOFError, UnpicklingError)
"""Errors of the machine: a full disk, too little memory, a damaged file. Another attempt may
succeed."""
NO_THREAD = "can't start new thread"
"""Message of the RuntimeError that Python raises if the system allows no further thread."""


@dataclass(frozen=True)
class Frame:
    """Dimensions of the results of one point.

    Args:
        seeds: number of seeds.
        classes: names of the flow classes.
        links: names of the links.
    """

    seeds: int
    classes: tuple[str, ...]
    links: tuple[str, ...]

    def shape(self, metric: str) -> tuple[int, ...]:
        """Shape of a metric's values at one point: (seed,), (seed, flow class) or (seed, link)."""
        along = {None: (), "flow_class": (len(self.classes),), "link": (len(self.links),)}
        return (self.seeds, *along[METRICS[metric].along])


class Results:
    """Metrics of several points, NaN until they are recorded.

    The attribute `values` has for each metric an array of shape (points, seed), (points, seed, flow
    class) or (points, seed, link). `status` is DONE for each point unless a run of it has FAILED.
    `reasons` has the reason of each failure, and an empty text for the other points.

    Args:
        points: number of points.
        frame: dimensions of the results of one point.
    """

    def __init__(self, points: int, frame: Frame) -> None:
        self.frame = frame
        self.values = {name: np.full((points, *frame.shape(name)), np.nan) for name in METRICS}
        self.status = np.full(points, DONE, np.uint8)
        self.reasons = [""] * points

    def note(self, point: int, seed: int, network: Network, averages: Summary) -> None:
        """Record the averages of one run; classes and links missing in its network stay NaN.

        Args:
            point: index of the point.
            seed: index of the seed.
            network: network that was run.
            averages: averages of the run by name of the metric, in the units of METRICS.
        """
        indices = {
            "flow_class": [self.frame.classes.index(name) for name in network.flows],
            "link": [self.frame.links.index(name) for name in links_of(network)],
        }
        for name, value in averages.items():
            along = METRICS[name].along
            self.values[name][point, seed, ... if along is None else indices[along]] = value

    def fail(self, point: int, error: Exception) -> None:
        """Record in `status` that a run of a point failed; the reason of the first error is kept.

        An error of the machine is raised instead, as it is no property of the point: results must
        follow from the sweep alone.

        Args:
            point: index of the point.
            error: what its run raised.
        """
        if is_system_error(error):
            raise error
        self.status[point] = FAILED
        self.reasons[point] = self.reasons[point] or reason_of(error)

    @property
    def failed(self) -> int:
        """Number of points at which a run failed."""
        return int(np.sum(self.status == FAILED))


def reason_of(error: Exception) -> str:
    """Message of an error in one line; it starts with the type unless it is a VegasfluidError."""
    kind = "" if isinstance(error, VegasfluidError) else f"{type(error).__name__}: "
    return " ".join(f"{kind}{error}".split())


def is_system_error(error: BaseException) -> bool:
    """Whether an error comes from the machine, not the model, so that a retry may succeed."""
    return isinstance(error, SYSTEM_ERRORS) or NO_THREAD in str(error)
