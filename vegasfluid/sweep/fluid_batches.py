"""Fluid sweeps: the points of a chunk side by side in one compiled function, on every device.

Points whose equations have the same structure are integrated together, and the batch is cut over
the devices (`jax.sharding`); nothing passes between them. A step and the bounds on lags are
structure, too. They are those of the point, made a little finer: the next of a ladder that stands
on the model's own, so that few functions are compiled, and a point's numbers do not depend on its
neighbours. Where only laws change, they are exactly those of `simulate_fluid`, until queues stand:
then steps are longer, if lags allow it at all later times. A point of which they do not is
integrated again with short ones.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterable, Iterator, Sequence
from functools import cache, partial
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as Cut

from vegasfluid import dde
from vegasfluid.errors import SolveFailed
from vegasfluid.fluid.model import FluidModel, Resolution, build
from vegasfluid.fluid.output import to_recording
from vegasfluid.fluid.time_grid import TimeGrid, density_grid, mean_field_grid, with_longer_steps
from vegasfluid.model import Model
from vegasfluid.run_options import DEFAULT_SAMPLES
from vegasfluid.sweep.plan import Chunk, Point, Sweep
from vegasfluid.sweep.results import Frame, Results, reason_of
from vegasfluid.sweep.summary import summed_up

__all__ = ["compute", "computed"]

RUNG = 2**0.25
"""From one step or lag of the ladder to the next."""
POINTS = "points"
GRIDS = {"fluid": mean_field_grid, "density": density_grid}
RESOLUTIONS: dict[str, Resolution] = {"fluid": "mean", "density": "distribution"}


class Equations(NamedTuple):
    """A point as its equations.

    Args:
        number: of the point in its chunk.
        model: to integrate.
        fluid: its fluid model.
        grid: sample times and step.
    """

    number: int
    model: Model
    fluid: FluidModel
    grid: TimeGrid

    def fine(self) -> Equations:
        """The same with short steps all along."""
        return self._replace(grid=self.grid._replace(longer_steps=None))

    @property
    def kind(self) -> Any:
        """What the points of a batch have in common."""
        leaves, tree = jax.tree.flatten(self.fluid)
        return self.grid, tree, tuple(map(np.shape, leaves))


def on_ladder(value: float, base: float, *, up: bool = False) -> float:
    """The rung at `value`, or else the next one below it, or above it.

    >>> on_ladder(3.0, 3.0), round(on_ladder(3.1, 3.0, up=True), 3)
    (3.0, 3.568)
    """
    rungs = math.log(value / base) / math.log(RUNG)
    whole = math.ceil(rungs - 1e-9) if up else math.floor(rungs + 1e-9)
    return base * RUNG**whole


def lengths(model: Model, engine: str) -> tuple[float, float]:
    """Step and longest lag of a model, s."""
    grid = GRIDS[engine](model.network, model.duration, DEFAULT_SAMPLES)
    return grid.step, grid.longest_lag


def equations_of(
    number: int, point: Point, engine: str, base: Sequence[float], *, fine: bool
) -> Equations:
    """The equations of a point.

    Args:
        number: of the point in its chunk.
        point: of a sweep.
        engine: fluid or density.
        base: on what the ladders of step and longest lag stand, s.
        fine: whether steps stay short all along.

    Raises:
        InvalidInput: where its numbers make no sense.
    """
    model = point.model()
    step, longest = lengths(model, engine)
    fluid = build(model.network, resolution=RESOLUTIONS[engine])
    rungs = on_ladder(step, base[0]), on_ladder(longest, base[1], up=True)
    grid = TimeGrid(model.duration, DEFAULT_SAMPLES, *rungs)
    if engine == "fluid" and not fine:
        grid = with_longer_steps(grid, model.network)
    floats = jax.tree.map(lambda leaf: np.asarray(leaf, float), fluid)
    return Equations(number, model, floats, grid)


@cache
def devices() -> Mesh:
    """The devices of this process, in a row."""
    return Mesh(np.array(jax.local_devices()), (POINTS,))


@partial(jax.jit, static_argnames="grid")
def solutions(fluids: FluidModel, grid: TimeGrid) -> dde.Solution:
    """The solutions of a batch; every leaf has the points in front, cut over the devices."""

    def one(fluid: FluidModel) -> dde.Solution:
        return fluid.integrate(grid)

    along = Cut(POINTS)
    together = jax.vmap(one)
    return jax.shard_map(together, mesh=devices(), in_specs=along, out_specs=along)(fluids)


def solved(batch: Sequence[Equations], room: int) -> dde.Solution:
    """The solutions of points of one structure.

    Args:
        batch: the points.
        room: points of a full chunk; so many, or half as many and so on, are integrated at a time,
            of which the last ones may be the last point again, so that few functions are compiled.
    """
    size, cut = devices().size, NamedSharding(devices(), Cut(POINTS))
    while size < len(batch):
        size *= 2
    size = min(size, devices().size * math.ceil(room / devices().size))
    padded = [*batch, *[batch[-1]] * (size - len(batch))]
    fluids = jax.tree.map(lambda *leaves: np.stack(leaves), *(of.fluid for of in padded))
    return solutions(jax.device_put(fluids, cut), batch[0].grid)


def batches(points: Sequence[Point], sweep: Sweep, results: Results) -> Iterator[list[Equations]]:
    """The points that have equations, by structure; of others it is noted why they have none."""
    alike: dict[Any, list[Equations]] = {}
    stands_on: dict[int, tuple[float, float]] = {}
    for number, point in enumerate(points):
        try:
            if id(point.base) not in stands_on:
                stands_on[id(point.base)] = lengths(point.base, sweep.engine)
            stand = stands_on[id(point.base)]
            made = equations_of(number, point, sweep.engine, stand, fine=sweep.fine)
            alike.setdefault(made.kind, []).append(made)
        except Exception as failed:
            results.fail(number, reason_of(failed))
    yield from alike.values()


def finish(batch: Sequence[Equations], found: dde.Solution, results: Results, tune: Any) -> None:
    """Note the numbers of a batch."""
    arrays = jax.tree.map(np.asarray, found)
    vector_field = batch[0].fluid.vector_field
    for row, of in enumerate(batch):
        try:
            solution = jax.tree.map(lambda leaf, row=row: leaf[row], arrays)
            dde.check(solution)
            own = vector_field._replace(parameters=of.fluid.parameters)
            run = to_recording(of.model.network, solution, own)
            results.note(of.number, 0, of.model.network, summed_up(run, of.model.warmup, tune))
        except Exception as failed:
            results.fail(of.number, reason_of(failed))


def compute(sweep: Sweep, chunk: Chunk) -> Results:
    """Integrate the points of a chunk; what cannot be integrated is noted with its reason."""
    points = sweep.points_of(chunk)
    results = Results(len(points), Frame(len(sweep.seeds), sweep.classes, sweep.links))
    room = math.prod(sweep.chunk_shape)
    for batch in batches(points, sweep, results):
        try:
            integrated(batch, room, results, sweep.tune)
        except jax.errors.JaxRuntimeError as failed:  # the device's fault, such as its memory
            raise SolveFailed(f"sweep: the device failed: {reason_of(failed)}") from failed
        except Exception as failed:
            for of in batch:
                results.fail(of.number, reason_of(failed))
    return results


def integrated(batch: list[Equations], room: int, results: Results, tune: str | None) -> None:
    """Integrate a batch and note its numbers; where steps were too long, with shorter ones."""
    found = jax.tree.map(np.asarray, solved(batch, room))
    short = found.outcome[: len(batch)] == dde.Outcome.LAG_TOO_SHORT
    if batch[0].grid.longer_steps is not None and short.any():
        again = [of.fine() for of, wrong in zip(batch, short, strict=True) if wrong]
        finish(again, solved(again, room), results, tune)
        right = np.flatnonzero(~short)
        batch = [batch[row] for row in right]
        found = jax.tree.map(lambda leaf: leaf[right], found)
    if batch:
        finish(batch, found, results, tune)


def computed(sweep: Sweep, chunks: Iterable[Chunk]) -> Generator[tuple[Chunk, Results], None, None]:
    """The results of chunks, one after another."""
    for chunk in chunks:
        yield chunk, compute(sweep, chunk)
