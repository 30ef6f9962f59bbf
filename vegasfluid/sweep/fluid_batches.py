"""Fluid sweeps: integrate the points of a chunk as batches, divided among the JAX devices.

A batch holds points whose equations have the same structure, which includes the time step and the
longest delay. So that few functions are compiled, both are rounded to a geometric grid that starts
at the values of the model: the step down, the longest delay up. They depend on the point alone, not
on its neighbours. If only laws are swept, they equal those of `simulate_fluid`.

Once queues have formed, longer steps are taken if the delays allow it. A point whose delays become
shorter than such a step is integrated again with short steps.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from functools import cache, partial
from typing import Any, NamedTuple, TypeVar

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from vegasfluid import dde
from vegasfluid.errors import SolveFailed
from vegasfluid.fluid.delays import DelayBounds
from vegasfluid.fluid.model import FluidModel, Resolution, build
from vegasfluid.fluid.output import to_recording
from vegasfluid.fluid.time_grid import TimeGrid, density_grid, mean_field_grid, with_longer_steps
from vegasfluid.model import Model
from vegasfluid.run_options import DEFAULT_SAMPLES
from vegasfluid.sweep.plan import Chunk, Point, Sweep
from vegasfluid.sweep.results import Frame, Results, is_system_error, reason_of
from vegasfluid.sweep.summary import run_averages

__all__ = ["compute", "compute_chunks", "compute_points", "empty_results"]

ROUNDING_RATIO = 2**0.25
"""Ratio of adjacent values of the geometric grids for steps and longest delays; chosen."""
POINTS = "points"
"""Name of the mesh axis along which JAX divides a batch."""
GRIDS = {"fluid": mean_field_grid, "density": density_grid}
"""Functions that choose the time grid, by engine."""
RESOLUTIONS: dict[str, Resolution] = {"fluid": "mean", "density": "distribution"}
"""Resolution of the fluid model, by engine."""

Answer = TypeVar("Answer")
"""What a function returns."""


class Equations(NamedTuple):
    """Equations of one point of a sweep.

    Args:
        number: index of the point in its chunk.
        model: model of the point.
        fluid: fluid model built from it.
        grid: sample times, step and longest delay, s.
    """

    number: int
    model: Model
    fluid: FluidModel
    grid: TimeGrid

    def fine(self) -> Equations:
        """A copy of these equations whose time grid has short steps only."""
        return self._replace(grid=self.grid._replace(longer_steps=None))

    @property
    def structure(self) -> Any:
        """What all points of a batch share: the time grid, and the structure of the model.

        The structure is that of the fluid model's pytree, with the shapes of its arrays. Points are
        compared by it.
        """
        leaves, tree = jax.tree.flatten(self.fluid)
        return self.grid, tree, tuple(map(np.shape, leaves))


def round_to_grid(value: float, base: float, *, up: bool = False) -> float:
    """Round a value down, or up, to the next value of a geometric grid that contains `base`.

    Neighbours on the grid differ by the factor 2^(1/4). Values have one unit, such as s.

    >>> round_to_grid(3.0, 3.0), round(round_to_grid(3.1, 3.0, up=True), 3)
    (3.0, 3.568)
    """
    exponent = math.log(value / base) / math.log(ROUNDING_RATIO)
    whole = math.ceil(exponent - 1e-9) if up else math.floor(exponent + 1e-9)
    return base * ROUNDING_RATIO**whole


def step_and_lag(
    model: Model, engine: str, bounds: DelayBounds | None = None
) -> tuple[float, float]:
    """Solver step and longest delay, s, that a model has in a single run of an engine.

    `engine` is `fluid` (`simulate_fluid`) or `density` (`simulate_density`); `bounds` are those of
    the model's delays, s (None: they are computed).
    """
    grid = GRIDS[engine](model.network, model.duration, DEFAULT_SAMPLES, bounds)
    return grid.step, grid.longest_lag


def equations_of(
    number: int, point: Point, engine: str, base: Sequence[float], *, fine: bool
) -> Equations:
    """The fluid model and the time grid of a point, with step and longest delay rounded to grids.

    Args:
        number: index of the point in its chunk.
        point: point of a sweep.
        engine: `fluid` or `density`.
        base: step and longest delay of the model without the point's numbers, s.
        fine: whether fluid runs take the steps of `simulate_fluid`'s second run throughout.

    Raises:
        InvalidInput: if the numbers of the point are invalid.
    """
    model = point.model()
    fluid = build(model.network, resolution=RESOLUTIONS[engine])
    step, longest = step_and_lag(model, engine, fluid.parameters.delay_bounds)
    rounded = round_to_grid(step, base[0]), round_to_grid(longest, base[1], up=True)
    grid = TimeGrid(model.duration, DEFAULT_SAMPLES, *rounded)
    if engine == "fluid":
        grid = grid.halved() if fine else with_longer_steps(grid, model.network)
    floats = jax.tree.map(lambda leaf: np.asarray(leaf, float), fluid)
    return Equations(number, model, floats, grid)


@cache
def devices() -> Mesh:
    """The JAX devices of this process as a mesh with the one axis `points`."""
    return Mesh(np.array(jax.local_devices()), (POINTS,))


@partial(jax.jit, static_argnames="grid")
def solutions(fluids: FluidModel, grid: TimeGrid) -> dde.Solution:
    """Solve the equations of a batch of points on one time grid, divided among the JAX devices.

    In `fluids` and in the result the first axis of every array is over the points.
    """
    batch = PartitionSpec(POINTS)
    integrate = jax.vmap(lambda fluid: fluid.integrate(grid))
    return jax.shard_map(integrate, mesh=devices(), in_specs=batch, out_specs=batch)(fluids)


def solve(batch: Sequence[Equations], largest: int) -> dde.Solution:
    """Solve the equations of a batch, padded by copies of its last point to one of a few sizes.

    Each size needs a compilation. The sizes are the number of devices times a power of two, or a
    full chunk.

    Args:
        batch: points with the same structure.
        largest: number of points of a full chunk.

    Returns:
        The solutions; the first axis of every array is over the points, then the padding.
    """
    size, sharding = devices().size, NamedSharding(devices(), PartitionSpec(POINTS))
    while size < len(batch):
        size *= 2
    size = min(size, devices().size * math.ceil(largest / devices().size))
    padded = [*batch, *[batch[-1]] * (size - len(batch))]
    fluids = jax.tree.map(lambda *leaves: np.stack(leaves), *(point.fluid for point in padded))
    return solutions(jax.device_put(fluids, sharding), batch[0].grid)


def batches(points: Sequence[Point], sweep: Sweep, results: Results) -> Iterator[list[Equations]]:
    """Yield the points of a chunk in batches whose equations have the same structure.

    Args:
        points: the points of the chunk.
        sweep: the sweep, with its engine.
        results: where invalid points are recorded as failed, with the reason.
    """
    by_structure: dict[Any, list[Equations]] = {}
    bases: dict[int, tuple[float, float]] = {}
    for number, point in enumerate(points):
        try:
            if id(point.base) not in bases:
                bases[id(point.base)] = step_and_lag(point.base, sweep.engine)
            base = bases[id(point.base)]
            equations = equations_of(number, point, sweep.engine, base, fine=sweep.fine)
            by_structure.setdefault(equations.structure, []).append(equations)
        except Exception as error:
            results.fail(number, error)
    yield from by_structure.values()


def record(batch: Sequence[Equations], solution: dde.Solution, results: Results, tune: Any) -> None:
    """Record the averages after the warm-up of each point of a solved batch.

    For a point whose solution failed, the reason is recorded instead.

    Args:
        batch: points with the same structure.
        solution: their solutions; the first axis of every array is over the points.
        results: where averages and failures are recorded.
        tune: class in the numerator of the goodput ratio; None: the only Vegas class, else the
            first class.
    """
    arrays = jax.tree.map(np.asarray, solution)
    vector_field = batch[0].fluid.vector_field
    for row, point in enumerate(batch):
        network, warmup = point.model.network, point.model.warmup
        try:
            part = jax.tree.map(lambda leaf, row=row: leaf[row], arrays)
            dde.check(part)
            field = vector_field._replace(parameters=point.fluid.parameters)
            run = to_recording(network, part, field)
            results.note(point.number, 0, network, run_averages(run, warmup, tune))
        except Exception as error:
            results.fail(point.number, error)


class Batch(NamedTuple):
    """Points whose equations have the same structure, while JAX solves them.

    Args:
        points: the points.
        solution: their solutions, the points first, or the error with which their solve began; its
            arrays are there once the solve has ended.
    """

    points: list[Equations]
    solution: dde.Solution | Exception


class Begun(NamedTuple):
    """A chunk whose points are being solved.

    Args:
        results: results of the chunk; points with invalid numbers are recorded as failed.
        batches: its other points.
    """

    results: Results
    batches: list[Batch]


def compute(sweep: Sweep, chunk: Chunk) -> Results:
    """Simulate the points of a chunk by a fluid engine, and return the metrics of each.

    A point that fails is recorded with the reason.

    Raises:
        SolveFailed: if a device fails, for example for lack of memory.
    """
    return finish_chunk(sweep, begin_chunk(sweep, chunk))


def begin_chunk(sweep: Sweep, chunk: Chunk) -> Begun:
    """Begin to simulate the points of a chunk, without waiting for the solutions."""
    points = sweep.points_of(chunk)
    results = empty_results(sweep, len(points))
    return Begun(results, list(begin(sweep, points, math.prod(sweep.chunk_shape), results)))


def finish_chunk(sweep: Sweep, begun: Begun) -> Results:
    """Wait for the solutions of a chunk, and return the metrics of each of its points.

    Raises:
        SolveFailed: if a device fails, for example for lack of memory.
    """
    for batch in begun.batches:
        finish(sweep, batch, math.prod(sweep.chunk_shape), begun.results)
    return begun.results


def empty_results(sweep: Sweep, points: int) -> Results:
    """Results of some points of a sweep, before any is computed."""
    return Results(points, Frame(len(sweep.seeds), sweep.classes, sweep.links))


def compute_points(
    sweep: Sweep, points: Sequence[Point], largest: int, results: Results
) -> Iterator[list[int]]:
    """Simulate any points of a sweep by its fluid engine, those of the same structure together.

    Args:
        sweep: the sweep.
        points: some of its points.
        largest: number of points up to which batches are padded; each size is compiled once.
        results: where their metrics, or the reason of a failure, are recorded.

    Yields:
        Indices in `points` of the points that have been computed together. Points with invalid
        numbers are recorded as failed and not yielded.

    Raises:
        SolveFailed: if a device fails, for example for lack of memory.
    """
    for batch in begin(sweep, points, largest, results):
        finish(sweep, batch, largest, results)
        yield [point.number for point in batch.points]


def begin(sweep: Sweep, points: Sequence[Point], largest: int, results: Results) -> Iterator[Batch]:
    """Begin to solve points of a sweep; yield them in batches as soon as their solve has begun.

    The arguments are those of `compute_points`.
    """
    for points_alike in batches(points, sweep, results):
        try:
            yield Batch(points_alike, solve(points_alike, largest))
        except Exception as error:
            yield Batch(points_alike, error)


def finish(sweep: Sweep, batch: Batch, largest: int, results: Results) -> None:
    """Wait for the solutions of a batch, and record the averages of its runs in `results`.

    Args:
        sweep: the sweep.
        batch: some of its points.
        largest: number of points up to which batches are padded.
        results: where their metrics, or the reason of a failure, are recorded.

    Raises:
        SolveFailed: if a device fails, for example for lack of memory.
    """
    try:
        if isinstance(batch.solution, Exception):
            raise batch.solution
        record_or_repeat(batch.points, batch.solution, largest, results, sweep.tune)
    except jax.errors.JaxRuntimeError as error:
        raise SolveFailed(f"sweep: the device failed: {reason_of(error)}") from error
    except Exception as error:
        for point in batch.points:
            results.fail(point.number, error)


def record_or_repeat(
    batch: list[Equations],
    solution: dde.Solution,
    largest: int,
    results: Results,
    tune: str | None,
) -> None:
    """Record the averages of the solved points of a batch in `results`.

    Points whose delays became shorter than the long steps are solved again with short ones.

    Args:
        batch: points with the same structure.
        solution: their solutions; the first axis of every array is over the points.
        largest: number of points of a full chunk.
        results: where averages and failures are recorded.
        tune: class in the numerator of the goodput ratio; None: the only Vegas class, else the
            first class.
    """
    solution = jax.tree.map(np.asarray, solution)
    too_long = solution.result[: len(batch)] == dde.Outcome.LAG_TOO_SHORT
    if batch[0].grid.longer_steps is not None and too_long.any():
        again = [point.fine() for point, wrong in zip(batch, too_long, strict=True) if wrong]
        record(again, solve(again, largest), results, tune)
        rows = np.flatnonzero(~too_long)
        batch = [batch[row] for row in rows]
        solution = jax.tree.map(lambda leaf: leaf[rows], solution)
    if batch:
        record(batch, solution, results, tune)


def compute_chunks(
    sweep: Sweep, chunks: Iterable[Chunk]
) -> Generator[tuple[Chunk, Results | Exception], None, None]:
    """Simulate chunks one after another; yield each chunk with the metrics of its points.

    The equations of a chunk are built while JAX solves those of the chunk before. A chunk that an
    error of the machine stops is yielded with the error.
    """
    before: tuple[Chunk, Begun | Exception] | None = None
    for chunk in chunks:
        begun = without_machine_errors(partial(begin_chunk, sweep, chunk))
        if before is not None:
            yield finished(sweep, *before)
        before = chunk, begun
    if before is not None:
        yield finished(sweep, *before)


def finished(
    sweep: Sweep, chunk: Chunk, begun: Begun | Exception
) -> tuple[Chunk, Results | Exception]:
    """A chunk with the metrics of its points, or with the error of the machine that stopped it."""
    if isinstance(begun, Exception):
        return chunk, begun
    return chunk, without_machine_errors(partial(finish_chunk, sweep, begun))


def without_machine_errors(function: Callable[[], Answer]) -> Answer | Exception:
    """The result of a function, or the error of the machine that stopped it, as a result."""
    try:
        return function()
    except Exception as error:
        if not is_system_error(error):
            raise
        return error
