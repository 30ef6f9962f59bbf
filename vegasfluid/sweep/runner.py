"""Doing a sweep: what the store has not is computed and written, until it is whole."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from vegasfluid.sweep.plan import Chunk, Sweep
from vegasfluid.sweep.results import Results
from vegasfluid.sweep.store import Store, opened

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["Progress", "open_sweep", "run"]


@dataclass
class Progress:
    """How far a sweep is.

    Args:
        points: of the whole sweep.
        found: points that were there when it was taken up.
        done: points that are there now, failed ones included.
        failed: points that could not be run.
        began: when it was taken up, by `time.monotonic`.
    """

    points: int
    found: int = 0
    done: int = 0
    failed: int = 0
    began: float = 0.0

    @property
    def rate(self) -> float:
        """Points a second since it was taken up; 0 before the first."""
        return (self.done - self.found) / max(time.monotonic() - self.began, 1e-9)

    @property
    def left(self) -> float:
        """Seconds that the rest will take at this rate."""
        return (self.points - self.done) / self.rate if self.rate else float("inf")


Report = Callable[[Progress], None]


def run(
    sweep: Sweep,
    out: str | Path,
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    multi_host: bool = False,
    report: Report = lambda progress: None,
) -> Progress:
    """Do a sweep, or what is missing of it.

    Args:
        sweep: the plan.
        out: the Zarr store: new, or of this sweep.
        workers: processes that simulate packets; None: as many as there are processors.
        scheduler: the address of a Dask scheduler, for packets; None: a cluster of its own.
        multi_host: whether this is one of the processes of a JAX job (`jax.distributed`) that do
            a fluid sweep together, each a part of the chunks.
        report: called with how far it is, at first and after each chunk.

    Returns:
        How far it is: all points are there (of other processes perhaps not yet), and some of them
        may have failed.

    Raises:
        InvalidInput: where `out` is something else, or a scheduler does not answer.
        StoreFailed: where the store cannot be written, as on a full disk; what it holds is whole,
            and another call goes on from there. The same is so after `KeyboardInterrupt`.
    """
    engine = engine_of(sweep, workers, scheduler)
    mine: Iterable[Chunk] = sweep.chunks()
    if multi_host:
        from vegasfluid.sweep.multi_host import share_of, store_is_there

        mine = share_of(mine)
        store_is_there(Path(out), sweep)
    with opened(Path(out), sweep, shared=multi_host) as store:
        progress = Progress(sweep.points, began=time.monotonic())
        missing = []
        for chunk in mine:
            if store.has(chunk):
                progress.done += sweep.size(chunk)
                progress.failed += store.failed_in(chunk)
            else:
                missing.append(chunk)
        progress.found = progress.done
        report(progress)
        if missing:
            write_all(store, engine(missing), sweep, progress, report)
        return progress


Found = Generator[tuple[Chunk, Results], None, None]
Engine = Callable[[list[Chunk]], Found]


def engine_of(sweep: Sweep, workers: int | None, scheduler: str | None) -> Engine:
    """What computes chunks; imported here, as each brings its own compiler along."""
    if sweep.engine == "packets":
        from vegasfluid.sweep import packet_tasks

        return lambda chunks: packet_tasks.computed(sweep, chunks, workers, scheduler)
    from vegasfluid.sweep import fluid_batches

    return lambda chunks: fluid_batches.computed(sweep, chunks)


def write_all(
    store: Store,
    results: Found,
    sweep: Sweep,
    progress: Progress,
    report: Report,
) -> None:
    """Write chunks as they come; whoever computes them is let go however this ends."""
    with closing(results):
        for chunk, found in results:
            store.write(chunk, found)
            progress.done += sweep.size(chunk)
            progress.failed += found.failed
            report(progress)


def open_sweep(path: str | Path) -> xr.Dataset:
    """The results of a sweep, also of one that is not done yet: what is missing is NaN.

    Args:
        path: the Zarr store.
    """
    import xarray as xr

    return xr.open_zarr(path, consolidated=True)
