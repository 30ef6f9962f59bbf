"""What a chunk's points come to, on its way from an engine to the store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vegasfluid.errors import VegasfluidError
from vegasfluid.network import Network
from vegasfluid.sweep.summary import METRICS, Summary, links_of

__all__ = ["DONE", "FAILED", "Frame", "Results", "joined", "reason_of"]

DONE, FAILED = 1, 2
"""The status of a point; 0 where it was not run yet."""


@dataclass(frozen=True)
class Frame:
    """Which dimensions the results of a sweep have besides its axes.

    Args:
        seeds: their number.
        classes: the names of the classes of flows.
        links: the names of the links.
    """

    seeds: int
    classes: tuple[str, ...]
    links: tuple[str, ...]

    def shape(self, metric: str) -> tuple[int, ...]:
        """The shape of a metric at a point."""
        along = {None: (), "flow_class": (len(self.classes),), "link": (len(self.links),)}
        return (self.seeds, *along[METRICS[metric].along])


class Results:
    """The metrics of some points, NaN until they are noted.

    Args:
        points: their number.
        frame: the other dimensions.
    """

    def __init__(self, points: int, frame: Frame) -> None:
        self.frame = frame
        self.values = {name: np.full((points, *frame.shape(name)), np.nan) for name in METRICS}
        self.status = np.full(points, DONE, np.uint8)
        self.reasons = [""] * points

    def note(self, point: int, seed: int, network: Network, found: Summary) -> None:
        """The numbers of one run; classes and links that its network has not stay NaN."""
        at = {
            "flow_class": [self.frame.classes.index(name) for name in network.flows],
            "link": [self.frame.links.index(name) for name in links_of(network)],
        }
        for name, value in found.items():
            along = METRICS[name].along
            self.values[name][point, seed, ... if along is None else at[along]] = value

    def fail(self, point: int, reason: str) -> None:
        """A point of which a run at least cannot be made; its first reason counts."""
        self.status[point] = FAILED
        self.reasons[point] = self.reasons[point] or reason

    @property
    def failed(self) -> int:
        """How many points have failed."""
        return int(np.sum(self.status == FAILED))


def reason_of(failed: Exception) -> str:
    """Why, in a line."""
    kind = "" if isinstance(failed, VegasfluidError) else f"{type(failed).__name__}: "
    return " ".join(f"{kind}{failed}".split())


def joined(parts: Sequence[Results]) -> Results:
    """The results of points that were computed apart."""
    whole = Results(len(parts), parts[0].frame)
    for name in whole.values:
        whole.values[name] = np.concatenate([part.values[name] for part in parts])
    whole.status = np.concatenate([part.status for part in parts])
    whole.reasons = [reason for part in parts for reason in part.reasons]
    return whole
