"""Run a sweep: compute the points that its store lacks, and write them chunk by chunk."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from vegasfluid.errors import ComputationFailed
from vegasfluid.sweep.damage import warn_of_damage
from vegasfluid.sweep.plan import Chunk, Sweep
from vegasfluid.sweep.results import Results, reason_of
from vegasfluid.sweep.store import Store, open_store

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["Progress", "open_sweep", "run"]

TRIES = 2
"""Largest number of tries of a chunk that an error of the machine stops; chosen."""


@dataclass
class Progress:
    """Progress of a sweep.

    If several processes of a JAX job run the sweep, all but `points` count the points of this
    process's chunks only.

    Args:
        points: number of points of the whole sweep.
        found: points that the store contained when this run began.
        done: points that the store contains at present, failed ones included.
        failed: points that could not be simulated.
        began: start of this run on the clock `time.monotonic`, s.
    """

    points: int
    found: int = 0
    done: int = 0
    failed: int = 0
    began: float = 0.0

    @property
    def rate(self) -> float:
        """Points computed per second of wall time in this run; 0 before the first."""
        return (self.done - self.found) / max(time.monotonic() - self.began, 1e-9)

    @property
    def left(self) -> float:
        """Estimated remaining wall time, s, at this rate; infinite before the first point."""
        return (self.points - self.done) / self.rate if self.rate else float("inf")


Report = Callable[[Progress], None]
"""Function that is called with the progress."""


def run(
    sweep: Sweep,
    out: str | Path,
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    multi_host: bool = False,
    report: Report = lambda progress: None,
) -> Progress:
    """Run a sweep and write its results to a Zarr store; points already in the store are kept.

    Read the results with `open_sweep`. After an error or Ctrl-C, the same call computes only what
    is missing.

    Args:
        sweep: the sweep.
        out: path of the Zarr store: new, or with results of this sweep.
        workers: number of processes for packet runs; None: one for each processor.
        scheduler: address of a Dask scheduler for packet runs; None: start a local cluster.
        multi_host: whether this process is one of several of a JAX job (`jax.distributed`) that
            divide the chunks of a fluid sweep among them.
        report: called with the progress at the start and after each chunk.

    Returns:
        The progress at the end: all points are computed, except those that other processes of the
        job still compute. Some points may have failed.

    Raises:
        InvalidInput: if `out` holds anything else, or no scheduler answers.
        StoreFailed: if the store cannot be written, for example because the disk is full.
        ComputationFailed: if some points could not be computed for lack of memory or disk, or as
            their worker died, again and again. The store does not have them.
    """
    engine = engine_of(sweep, workers, scheduler)
    chunks: Iterable[Chunk] = sweep.chunks()
    if multi_host:
        from vegasfluid.sweep.multi_host import chunks_of_process, ensure_store

        chunks = chunks_of_process(chunks)
        ensure_store(Path(out), sweep)
    with open_store(Path(out), sweep, shared=multi_host) as store:
        progress = Progress(sweep.points, began=time.monotonic())
        missing = missing_chunks(store, chunks, sweep, progress)
        report(progress)
        for tries_left in reversed(range(TRIES)):
            if missing:
                missing, error = write_all(store, engine(missing), sweep, progress, report)
                if missing and not tries_left:
                    raise not_computed(sum(map(sweep.size, missing)), error, Path(out))
        return progress


def missing_chunks(
    store: Store, chunks: Iterable[Chunk], sweep: Sweep, progress: Progress
) -> list[Chunk]:
    """Chunks that are absent from a store or damaged, with a warning for each damaged one.

    The points of the other chunks are added to `found`, `done` and `failed` of `progress`.
    """
    missing = []
    for chunk in chunks:
        stored = store.read(chunk)
        if stored.complete:
            progress.done += sweep.size(chunk)
            progress.failed += stored.failed
            continue
        missing.append(chunk)
        if stored.damage:
            name = "/".join(map(str, chunk))
            warn_of_damage(store.path, f"chunk {name} ({stored.damage}) is", "computed")
    progress.found = progress.done
    return missing


def not_computed(points: int, error: Exception | None, out: Path) -> ComputationFailed:
    """The error that some points of a sweep could not be computed.

    Args:
        points: number of these points.
        error: what stopped the last of them.
        out: path of the store.
    """
    reason = "" if error is None else f": {reason_of(error)}"
    return ComputationFailed(
        f"sweep: {points} points could not be computed{reason}. The results of the others are in "
        f"{out}; run the same command again to resume."
    )


ChunkResults = Generator[tuple[Chunk, Results | Exception], None, None]
"""Chunks with their results, or an error of the machine, in the order of their computation."""
Engine = Callable[[list[Chunk]], ChunkResults]
"""Function that computes chunks."""


def engine_of(sweep: Sweep, workers: int | None, scheduler: str | None) -> Engine:
    """The function that simulates chunks of a sweep with the sweep's engine.

    It takes a list of chunks, and yields each with its results. `workers` (number of processes) and
    `scheduler` (address of a Dask scheduler) are for packet runs only. Engines are imported only
    here.
    """
    if sweep.engine == "packets":
        from vegasfluid.sweep import packet_tasks

        return lambda chunks: packet_tasks.compute_chunks(sweep, chunks, workers, scheduler)
    from vegasfluid.sweep import fluid_batches

    return lambda chunks: fluid_batches.compute_chunks(sweep, chunks)


def write_all(
    store: Store, results: ChunkResults, sweep: Sweep, progress: Progress, report: Report
) -> tuple[list[Chunk], Exception | None]:
    """Write each computed chunk to the store, and update and report the progress.

    `results` yields chunks with their results as the engine computes them. On return or error it is
    closed, which ends the engine's workers.

    Returns:
        Chunks that an error of the machine stopped, and the last such error.
    """
    stopped, last = [], None
    with closing(results):
        for chunk, values in results:
            if isinstance(values, Exception):
                stopped.append(chunk)
                last = values
                continue
            store.write(chunk, values)
            progress.done += sweep.size(chunk)
            progress.failed += values.failed
            report(progress)
    return stopped, last


def open_sweep(path: str | Path) -> xr.Dataset:
    """Results of a sweep; points that are not computed yet are NaN.

    Args:
        path: path of the Zarr store.

    Returns:
        Dataset with a dimension for each axis, and `seed`, `flow_class` and `link`. It has the
        metrics of each run, averages after the warm-up with their units in the attribute `units`,
        and `status` (0 not run, 1 done, 2 failed) and `reason` of each point.
    """
    import xarray as xr

    return xr.open_zarr(path, consolidated=True)
