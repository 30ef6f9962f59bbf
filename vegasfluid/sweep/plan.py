"""The plan of a sweep: its grid, how it is cut into chunks, and what makes it this sweep.

A chunk is a block of the grid: it is computed together, written once, and lost together where the
work is cut off. Chunks follow from the plan alone, so that what a chunk holds never depends on
when, where or how often the sweep ran.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from vegasfluid.errors import InvalidInput
from vegasfluid.model import Model
from vegasfluid.sweep.axes import Axis, Choice, Numbers, is_whole, with_numbers
from vegasfluid.sweep.summary import METRICS, links_of
from vegasfluid.trajectory import ENGINES
from vegasfluid.version import package_version

__all__ = ["Chunk", "Point", "Sweep"]

NO_SEED = (0,)
"""The fluid engines draw nothing: their dimension `seed` has one place."""
A_CHUNK = {"packets": 64, "fluid": 64, "density": 16}
"""Runs of a chunk: some seconds of work."""
MOST_CHUNKS = 20_000
"""Each is a file of every metric."""
TAKEN = ("seed", "flow_class", "link", "status", "reason", *METRICS)
"""Names that no dimension may have."""

Chunk = tuple[int, ...]
"""The number of a chunk along each axis."""


class Point(NamedTuple):
    """A point of the grid, as it is sent to whoever computes it.

    Args:
        base: the model that its choices make.
        values: the numbers that change in it.
    """

    base: Model
    values: dict[str, float]

    def model(self) -> Model:
        """The model to run.

        Raises:
            InvalidInput: where the numbers make no sense together.
        """
        return replace(self.base, network=with_numbers(self.base.network, self.values))


@dataclass(frozen=True)
class Sweep:
    """A grid of models, and by what engine they are run.

    Args:
        model: what is the same everywhere.
        axes: what is swept, the slowest first; at least one.
        engine: fluid, density or packets.
        seeds: of the packet runs of each point.
        until: simulated time, s; None: each model's own.
        warmup: time that the means leave out, s; None: the model's, in proportion to `until`.
        tune: the class in the numerator of the ratio; None: the only Vegas, else the first one.
        name: what the results say that the model is, such as its file.
        command: what the results say that made them.
        chunk: runs of a chunk; None: as usual.
        fine: whether fluid runs have steps as short as those of `simulate_fluid` all along, and
            not longer ones once queues stand.

    Raises:
        InvalidInput: for an unknown number, class or engine, or what comes twice.

    >>> from vegasfluid import Flows, Link, Network, Vegas
    >>> network = Network(Link(1000.0, 100), {"vegas": Flows(2, Vegas(2, 4), base_rtt=0.04)})
    >>> sweep = Sweep(Model(network, 10.0), [Numbers("vegas.alpha_packets", [1, 2, 3])])
    >>> sweep.points, sweep.point((2,)).model().network.flows["vegas"].law.beta
    (3, 5.0)
    """

    model: Model
    axes: Sequence[Axis]
    engine: str = "fluid"
    seeds: Sequence[int] = (1,)
    until: float | None = None
    warmup: float | None = None
    tune: str | None = None
    name: str = ""
    command: str = ""
    chunk: int | None = None
    fine: bool = False

    def __post_init__(self) -> None:
        if self.engine not in ENGINES:
            raise InvalidInput("sweep", "engine", "one of " + ", ".join(ENGINES), self.engine)
        if not self.axes:
            raise InvalidInput("sweep", "axes", "one or more", "none")
        self._check_seeds()
        object.__setattr__(self, "axes", tuple(map(self._fitting, self.axes)))
        labels = [axis.label for axis in self.axes]
        for label in labels:
            if labels.count(label) > 1 or label in TAKEN:
                raise InvalidInput("sweep", label, "the name of one dimension only", "taken")
        if self.tune is not None and not all(self.tune in of.network.flows for of in self.bases):
            known = "one of " + ", ".join(self.bases[0].network.flows)
            raise InvalidInput("sweep", "tune", known, self.tune)

    def _check_seeds(self) -> None:
        seeds = tuple(self.seeds) if self.engine == "packets" else NO_SEED
        if not seeds or len(set(seeds)) < len(seeds):
            raise InvalidInput("sweep", "seeds", "one or more, all different", list(seeds))
        if self.engine != "packets" and len(self.seeds) > 1:
            raise InvalidInput("sweep", "seeds", "one where nothing is drawn", len(self.seeds))
        object.__setattr__(self, "seeds", seeds)

    def _fitting(self, axis: Axis) -> Axis:
        """The axis with whole numbers where only these make sense."""
        if isinstance(axis, Choice):
            return axis
        whole = [is_whole(model.network, axis.name) for model in self.bases]
        return axis.rounded() if any(whole) else axis

    @cached_property
    def bases(self) -> tuple[Model, ...]:
        """The model of each combination of choices, the last one fastest."""
        choices = [axis for axis in self.axes if isinstance(axis, Choice)]
        return tuple(
            self._timed(self._chosen(choices, labels))
            for labels in product(*(axis.labels for axis in choices))
        )

    def _chosen(self, choices: Sequence[Choice], labels: tuple[str, ...]) -> Model:
        model = self.model
        for choice, label in zip(choices, labels, strict=True):
            model = choice.changed(model, label)
        return model

    def _timed(self, model: Model) -> Model:
        until = model.duration if self.until is None else self.until
        warmup = model.warmup * until / model.duration if self.warmup is None else self.warmup
        return replace(model, duration=until, warmup=warmup, ranges={})

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The number of values along each axis."""
        return tuple(len(axis.labels) for axis in self.axes)

    @property
    def points(self) -> int:
        """How many there are."""
        return math.prod(self.shape)

    @property
    def runs(self) -> int:
        """How many simulations."""
        return self.points * len(self.seeds)

    @cached_property
    def classes(self) -> tuple[str, ...]:
        """The classes of flows of all models."""
        return tuple(dict.fromkeys(name for of in self.bases for name in of.network.flows))

    @cached_property
    def links(self) -> tuple[str, ...]:
        """The links of all models, and their other directions where packets wait there."""
        return tuple(dict.fromkeys(name for of in self.bases for name in links_of(of.network)))

    @cached_property
    def chunk_shape(self) -> tuple[int, ...]:
        """The size of a chunk along each axis; of choices one, as they differ most."""
        usual = max(A_CHUNK[self.engine], self.runs // MOST_CHUNKS)
        left = max(1, (self.chunk or usual) // len(self.seeds))
        found = []
        for axis, size in zip(reversed(self.axes), reversed(self.shape), strict=True):
            most = 1 if isinstance(axis, Choice) else min(size, left)
            found.insert(0, math.ceil(size / math.ceil(size / most)))
            left = max(1, left // found[0])
        return tuple(found)

    def chunks(self) -> Iterator[Chunk]:
        """All of them, in order."""
        sizes = zip(self.shape, self.chunk_shape, strict=True)
        return np.ndindex(*(math.ceil(size / step) for size, step in sizes))

    def region(self, chunk: Chunk) -> tuple[slice, ...]:
        """Where a chunk lies in the grid."""
        sizes = zip(chunk, self.shape, self.chunk_shape, strict=True)
        return tuple(slice(n * step, min((n + 1) * step, size)) for n, size, step in sizes)

    def size(self, chunk: Chunk) -> int:
        """The number of points of a chunk."""
        return math.prod(part.stop - part.start for part in self.region(chunk))

    def points_of(self, chunk: Chunk) -> list[Point]:
        """The points of a chunk, the last axis fastest."""
        ranges = (range(part.start, part.stop) for part in self.region(chunk))
        return [self.point(index) for index in product(*ranges)]

    def point(self, index: tuple[int, ...]) -> Point:
        """The point at these places along the axes."""
        base, values = 0, {}
        for axis, place in zip(self.axes, index, strict=True):
            if isinstance(axis, Numbers):
                values[axis.name] = axis.values[place]
            else:
                base = base * len(axis.labels) + place
        return Point(self.bases[base], values)

    def identity(self) -> dict[str, Any]:
        """What makes it this sweep and no other, as JSON can hold it."""
        return {
            "version": package_version(),
            "engine": self.engine,
            "model": hashlib.sha256(repr(self.bases).encode()).hexdigest()[:16],
            "axes": {of.label: [of.name, list(of.labels)] for of in self.axes},
            "seeds": list(self.seeds),
            "tune": self.tune,
            "chunk": list(self.chunk_shape),
            "fine": self.fine,
        }

    def fingerprint(self) -> str:
        """The identity as text."""
        return json.dumps(self.identity())
