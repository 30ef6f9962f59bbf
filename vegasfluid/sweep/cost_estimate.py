"""What a sweep will take, before it is done: runs, time, memory and disk.

Time and memory are measured on a few of its own points; only compiling is told apart.
"""

from __future__ import annotations

import itertools
import math
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from vegasfluid.sweep.plan import Chunk, Sweep
from vegasfluid.sweep.results import Frame
from vegasfluid.sweep.summary import METRICS

__all__ = ["Estimate", "estimate"]

PROBES, LONGEST = 5, 5.0
"""So many points are tried, until so many seconds are spent on them."""
PART = 20.0
"""Of the simulated time of a fluid point only one part in so many is tried."""
BLOCK = 4096
"""Bytes that a file takes at least."""
STARTING = 3.0
"""Seconds in which a cluster of workers starts."""
A_WORKER = 250e6
"""Bytes of a worker before it runs anything: Python, NumPy, Numba and Dask."""


@dataclass(frozen=True)
class Estimate:
    """What a sweep will take.

    Args:
        points: of the grid.
        runs: simulations.
        chunks: blocks that are written at once.
        seconds: wall time, compiling included.
        memory_bytes: of all processes together.
        disk_bytes: of the store.
        workers: processes or devices that share the work.
    """

    points: int
    runs: int
    chunks: int
    seconds: float
    memory_bytes: float
    disk_bytes: float
    workers: int


def estimate(sweep: Sweep, workers: int | None = None) -> Estimate:
    """What a sweep will take, from a few seconds of it.

    Args:
        sweep: the plan.
        workers: processes that simulate packets; None: as many as there are processors.
    """
    chunks = sum(1 for _ in sweep.chunks())
    if sweep.engine == "packets":
        seconds, memory, sharing = of_packets(sweep, workers)
    else:
        seconds, memory, sharing = of_fluid(sweep)
    return Estimate(sweep.points, sweep.runs, chunks, seconds, memory, disk(sweep, chunks), sharing)


def spread(sweep: Sweep) -> Iterator[tuple[int, ...]]:
    """Some places of the grid, from its beginning to its end, each with other values."""
    for part in range(PROBES):
        yield tuple(round(part / (PROBES - 1) * (size - 1)) for size in sweep.shape)


def timed(task: Callable[[], Any]) -> float:
    """Seconds of a call."""
    begin = time.perf_counter()
    task()
    return time.perf_counter() - begin


def of_packets(sweep: Sweep, workers: int | None) -> tuple[float, float, int]:
    """Seconds, bytes, and the number of workers."""
    from vegasfluid.parallel import processors
    from vegasfluid.sweep.packet_tasks import compute

    frame = Frame(1, sweep.classes, sweep.links)
    places = list(dict.fromkeys(spread(sweep)))
    before = resident()
    runs = [lambda at=at: compute([sweep.point(at)], sweep.seeds[:1], frame, None) for at in places]
    compiling = timed(runs[0])
    spent: list[float] = []
    for run in itertools.islice(itertools.cycle(runs), PROBES):
        spent.append(timed(run))
        if sum(spent) > LONGEST:
            break
    sharing = workers or processors()
    a_run = sum(spent) / len(spent)
    seconds = STARTING + max(compiling - a_run, 0.0) + sweep.runs * a_run / sharing
    a_worker = A_WORKER + max(resident() - before, 0.0)
    return seconds, before + sharing * a_worker, sharing


def of_fluid(sweep: Sweep) -> tuple[float, float, int]:
    """Seconds, bytes, and the number of devices: the first chunk, a part of its time only.

    A fluid run's time goes with the simulated one, and hardly with anything else.
    """
    import jax

    from vegasfluid.sweep.fluid_batches import compute

    base = sweep.bases[0]
    short = replace(sweep, until=base.duration / PART, warmup=base.warmup / PART)
    first: Chunk = next(iter(sweep.chunks()))
    once = timed(lambda: compute(short, first))
    again = timed(lambda: compute(short, first))
    seconds = once - again + again * PART * sweep.points / sweep.size(first)
    return seconds, resident(), jax.local_device_count()


def disk(sweep: Sweep, chunks: int) -> float:
    """Bytes of the store: what it holds, and what files take beyond that."""
    frame = Frame(len(sweep.seeds), sweep.classes, sweep.links)
    a_chunk = math.prod(sweep.chunk_shape)
    sizes = [8 * a_chunk * math.prod(frame.shape(name)) for name in METRICS] + [a_chunk]
    return float(chunks * sum(BLOCK * math.ceil(size / BLOCK) for size in sizes))


def resident() -> float:
    """Bytes that this process has had in memory at most; 0 where the system does not tell."""
    try:
        import resource
    except ImportError:  # on Windows
        return 0.0
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return float(most if sys.platform == "darwin" else 1024 * most)
