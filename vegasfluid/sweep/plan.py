"""The description of a sweep: its grid, the chunks of the grid, and its identity.

A chunk is a block of the grid that is computed and written together; an interrupted chunk is
computed again. The chunks follow from the description alone, so the results do not depend on when,
where and in how many attempts the sweep runs.
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

from vegasfluid.errors import InvalidInput, Words
from vegasfluid.model import Model
from vegasfluid.sweep.axes import (
    Axis,
    Choice,
    Numbers,
    is_whole,
    require_one_upper_threshold,
    with_numbers,
)
from vegasfluid.sweep.summary import METRICS, links_of
from vegasfluid.trajectory import ENGINES
from vegasfluid.version import package_version

__all__ = ["Chunk", "Point", "Sweep"]

NO_SEED = (0,)
"""Coordinates of the dimension `seed` for the fluid engines, which use no random numbers."""
CHUNK_RUNS = {"packets": 64, "fluid": 256, "density": 16}
"""Default number of runs in a chunk, by engine; chosen, some seconds of work."""
MOST_CHUNKS = 20_000
"""Number of chunks above which a chunk has more runs than by default, as each is a file for every
metric."""
RESERVED = ("seed", "flow_class", "link", "status", "reason", *METRICS)
"""Names that an axis must not have."""

Chunk = tuple[int, ...]
"""Index of a chunk along each axis."""


class Point(NamedTuple):
    """A point of the grid, in the form that is sent to workers.

    Args:
        base: the model that results from the point's choices.
        values: numbers to set in it, by parameter name.
    """

    base: Model
    values: dict[str, float]

    def model(self) -> Model:
        """The model of this grid point: `base` with the numbers in `values` set in its network.

        Raises:
            InvalidInput: if the numbers are invalid, alone or together.
        """
        return replace(self.base, network=with_numbers(self.base.network, self.values))


@dataclass(frozen=True)
class Sweep:
    """A grid of models and the engine that simulates them; `run` computes it.

    Args:
        model: the model that the axes change.
        axes: at least one axis; the first one varies slowest. Values of a parameter that accepts
            whole numbers only are rounded, and duplicates are left out.
        engine: `fluid`, `density` or `packets`.
        seeds: random seeds of the packet runs at each point; one seed for other engines.
        until: simulated time, s; None: that of each model.
        warmup: initial time excluded from averages, s; None: the model's warm-up, in proportion to
            the simulated time.
        tune: class in the numerator of the ratio; None: the only Vegas class, else the first class.
        name: name of the model for the attributes of the results, such as its file.
        command: command line for the attributes of the results.
        chunk: number of runs that are computed and saved together; None: chosen by the engine.
        fine: whether fluid runs take the steps of `simulate_fluid`'s second run (half those of
            its first) throughout, instead of longer ones once queues have formed.

    Raises:
        InvalidInput: for an unknown parameter, class or engine, or for repeated axes or seeds.

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
            raise InvalidInput("sweep", "axes", "one or more", Words("none"))
        self._check_seeds()
        object.__setattr__(self, "axes", tuple(map(self._fitting, self.axes)))
        labels = [axis.label for axis in self.axes]
        for label in labels:
            if labels.count(label) > 1 or label in RESERVED:
                allowed = "different from the others and from " + ", ".join(RESERVED)
                raise InvalidInput("sweep", "the name of a dimension", allowed, label)
        models = self.bases
        numbers = [axis.name for axis in self.axes if isinstance(axis, Numbers)]
        for base in models:
            require_one_upper_threshold(base.network, numbers)
        if self.tune is not None and not all(self.tune in base.network.flows for base in models):
            known = "one of " + ", ".join(models[0].network.flows)
            raise InvalidInput("sweep", "tune", known, self.tune)

    def _check_seeds(self) -> None:
        """Check the seeds and store them as a tuple; (0,) for engines without random numbers.

        Raises:
            InvalidInput: for no seeds, repeated ones, or several where the engine uses none.
        """
        seeds = tuple(self.seeds) if self.engine == "packets" else NO_SEED
        if not seeds or len(set(seeds)) < len(seeds):
            raise InvalidInput("sweep", "seeds", "one or more, all different", list(seeds))
        if self.engine != "packets" and len(self.seeds) > 1:
            given = Words(f"{len(self.seeds)} seeds")
            raise InvalidInput("sweep", "seeds", "one seed for this engine", given)
        object.__setattr__(self, "seeds", seeds)

    def _fitting(self, axis: Axis) -> Axis:
        """The axis, with values rounded to whole numbers if its parameter accepts no others."""
        if isinstance(axis, Choice):
            return axis
        whole = [is_whole(model.network, axis.name) for model in self.bases]
        return axis.rounded() if any(whole) else axis

    @cached_property
    def bases(self) -> tuple[Model, ...]:
        """Models of all combinations of options of the choices, without the numbers of other axes.

        They have the sweep's duration and warm-up; the last choice varies fastest.
        """
        choices = [axis for axis in self.axes if isinstance(axis, Choice)]
        return tuple(
            self._timed(self._chosen(choices, labels))
            for labels in product(*(axis.labels for axis in choices))
        )

    def _chosen(self, choices: Sequence[Choice], labels: tuple[str, ...]) -> Model:
        """The sweep's model after it was changed by one option (label) of each choice in turn."""
        model = self.model
        for choice, label in zip(choices, labels, strict=True):
            model = choice.changed(model, label)
        return model

    def _timed(self, model: Model) -> Model:
        """A copy of the model with the sweep's duration and warm-up, s.

        Without a warm-up in the sweep, that of the model, in proportion to the duration.
        """
        until = model.duration if self.until is None else self.until
        warmup = model.warmup * until / model.duration if self.warmup is None else self.warmup
        return replace(model, duration=until, warmup=warmup, ranges={})

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Number of values along each axis: the shape of the grid."""
        return tuple(len(axis.labels) for axis in self.axes)

    @property
    def points(self) -> int:
        """Number of points of the grid."""
        return math.prod(self.shape)

    @property
    def runs(self) -> int:
        """Number of simulations: points times seeds."""
        return self.points * len(self.seeds)

    @cached_property
    def classes(self) -> tuple[str, ...]:
        """Names of the flow classes of all models, each once."""
        return tuple(dict.fromkeys(name for base in self.bases for name in base.network.flows))

    @cached_property
    def links(self) -> tuple[str, ...]:
        """Names of the links of all models, each once, with reverse directions that have queues."""
        return tuple(dict.fromkeys(name for base in self.bases for name in links_of(base.network)))

    @cached_property
    def chunk_shape(self) -> tuple[int, ...]:
        """Number of points of a chunk along each axis; 1 along choices, whose equations differ.

        Chunks at the end of an axis may be smaller.
        """
        runs = self.chunk or max(CHUNK_RUNS[self.engine], self.runs // MOST_CHUNKS)
        points = max(1, runs // len(self.seeds))
        shape = []
        for axis, size in zip(reversed(self.axes), reversed(self.shape), strict=True):
            most = 1 if isinstance(axis, Choice) else min(size, points)
            shape.insert(0, math.ceil(size / math.ceil(size / most)))
            points = max(1, points // shape[0])
        return tuple(shape)

    def chunks(self) -> Iterator[Chunk]:
        """Iterate over all chunks, each its index along each axis; the last varies fastest."""
        sizes = zip(self.shape, self.chunk_shape, strict=True)
        return np.ndindex(*(math.ceil(size / step) for size, step in sizes))

    def region(self, chunk: Chunk) -> tuple[slice, ...]:
        """Slices of the grid that a chunk (its index along each axis) covers, one for each axis."""
        sizes = zip(chunk, self.shape, self.chunk_shape, strict=True)
        return tuple(slice(n * step, min((n + 1) * step, size)) for n, size, step in sizes)

    def size(self, chunk: Chunk) -> int:
        """Number of grid points in a chunk (its index along each axis); fewer at the grid's end."""
        return math.prod(part.stop - part.start for part in self.region(chunk))

    def points_of(self, chunk: Chunk) -> list[Point]:
        """The points in a chunk, each a model and numbers to set; the last axis varies fastest."""
        ranges = (range(part.start, part.stop) for part in self.region(chunk))
        return [self.point(index) for index in product(*ranges)]

    def point(self, index: tuple[int, ...]) -> Point:
        """The grid point with this index along each axis: a model, and numbers to set in it."""
        base, values = 0, {}
        for axis, number in zip(self.axes, index, strict=True):
            if isinstance(axis, Numbers):
                values[axis.name] = axis.values[number]
            else:
                base = base * len(axis.labels) + number
        return Point(self.bases[base], values)

    def identity(self) -> dict[str, Any]:
        """Everything that a sweep's results depend on, as a JSON object.

        A store may be resumed only by a sweep with the identity that it was created with.

        Keys: `version`, `engine`, `model` (a hash of all models), `axes`, `seeds`, `tune`, `chunk`
        (its shape) and `fine`.
        """
        return {
            "version": package_version(),
            "engine": self.engine,
            "model": hashlib.sha256(repr(self.bases).encode()).hexdigest()[:16],
            "axes": {axis.label: [axis.name, list(axis.labels)] for axis in self.axes},
            "seeds": list(self.seeds),
            "tune": self.tune,
            "chunk": list(self.chunk_shape),
            "fine": self.fine,
        }

    def fingerprint(self) -> str:
        """JSON text that is equal for two sweeps if and only if their `identity` is equal."""
        return json.dumps(self.identity())
