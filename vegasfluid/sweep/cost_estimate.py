"""Estimate the cost of a sweep: runs, time, memory and disk.

Time and memory are measured on a few of its points, with compilation timed separately.
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

PROBES = 5
"""Number of packet runs that are timed."""
PROBE_SECONDS = 5.0
"""Computing time after which no further run is timed, s."""
SHORTENING = 20.0
"""Factor by which the simulated time of the timed fluid points is shortened."""
BLOCK = 4096
"""Disk block of common file systems, bytes: the smallest size of a file on disk."""
CHECKSUM = 4
"""Size of the checksum (CRC-32C) at the end of each file, bytes."""
CLUSTER_START = 3.0
"""Rough time in which a local cluster of workers starts, s."""
WORKER_BYTES = 250e6
"""Rough memory of an idle worker with Python, NumPy, Numba and Dask, bytes."""


@dataclass(frozen=True)
class Estimate:
    """Estimated cost of a sweep.

    Args:
        points: number of points of the grid.
        runs: number of simulations.
        chunks: number of blocks that are each computed and written together.
        seconds: wall time with compilation, s.
        memory_bytes: peak memory of all processes, bytes.
        disk_bytes: size of the store, bytes.
        workers: number of processes or devices that compute.
    """

    points: int
    runs: int
    chunks: int
    seconds: float
    memory_bytes: float
    disk_bytes: float
    workers: int


def estimate(sweep: Sweep, workers: int | None = None) -> Estimate:
    """Estimate the cost of a sweep by running a small part of it, which takes some seconds.

    Args:
        sweep: the sweep.
        workers: number of processes for packet runs; None: one for each processor. Fluid runs use
            all JAX devices, whatever it is.

    Returns:
        Numbers of points, runs and chunks; wall time, s; memory and disk space, bytes.
    """
    chunks = sum(1 for _ in sweep.chunks())
    if sweep.engine == "packets":
        seconds, memory, count = packet_cost(sweep, workers)
    else:
        seconds, memory, count = fluid_cost(sweep)
    size = disk_bytes(sweep, chunks)
    return Estimate(sweep.points, sweep.runs, chunks, seconds, memory, size, count)


def diagonal(sweep: Sweep) -> Iterator[tuple[int, ...]]:
    """Yield the indices (one for each axis) of five points on the diagonal of a sweep's grid.

    They go from its first to its last point; on a small grid some are equal.
    """
    for part in range(PROBES):
        yield tuple(round(part / (PROBES - 1) * (size - 1)) for size in sweep.shape)


def seconds_of(task: Callable[[], Any]) -> float:
    """Wall time of calling `task`, s."""
    begin = time.perf_counter()
    task()
    return time.perf_counter() - begin


def packet_cost(sweep: Sweep, workers: int | None) -> tuple[float, float, int]:
    """Wall time (s), peak memory (bytes) and number of workers of a sweep of packet runs.

    A few points of the grid's diagonal are simulated and timed here. `workers` is the number of
    processes; None: one for each processor.
    """
    from vegasfluid.parallel import processors
    from vegasfluid.sweep.packet_tasks import compute

    frame = Frame(1, sweep.classes, sweep.links)
    indices = list(dict.fromkeys(diagonal(sweep)))
    memory = peak_memory()
    runs = [lambda i=i: compute([sweep.point(i)], sweep.seeds[:1], frame, None) for i in indices]
    first = seconds_of(runs[0])
    times: list[float] = []
    for run in itertools.islice(itertools.cycle(runs), PROBES):
        times.append(seconds_of(run))
        if sum(times) > PROBE_SECONDS:
            break
    count = workers or processors()
    mean = sum(times) / len(times)
    seconds = CLUSTER_START + max(first - mean, 0.0) + sweep.runs * mean / count
    worker_memory = WORKER_BYTES + max(peak_memory() - memory, 0.0)
    return seconds, memory + count * worker_memory, count


def fluid_cost(sweep: Sweep) -> tuple[float, float, int]:
    """Wall time (s), peak memory (bytes) and number of devices of a sweep of fluid runs.

    The first chunk is run with a shortened simulated time, to which its wall time is proportional.
    """
    import jax

    from vegasfluid.sweep.fluid_batches import compute

    base = sweep.bases[0]
    short = replace(sweep, until=base.duration / SHORTENING, warmup=base.warmup / SHORTENING)
    chunk: Chunk = next(iter(sweep.chunks()))
    first = seconds_of(lambda: compute(short, chunk))
    second = seconds_of(lambda: compute(short, chunk))
    seconds = first - second + second * SHORTENING * sweep.points / sweep.size(chunk)
    return seconds, peak_memory(), jax.local_device_count()


def disk_bytes(sweep: Sweep, chunks: int) -> float:
    """Size of a sweep's store with this number of chunks, bytes.

    Every file takes whole disk blocks of 4096 bytes.
    """
    frame = Frame(len(sweep.seeds), sweep.classes, sweep.links)
    points = math.prod(sweep.chunk_shape)
    sizes = [8 * points * math.prod(frame.shape(name)) for name in METRICS] + [points]
    sizes.append(4 + 4 * points)  # `reason`: the number of texts, and the length of each
    return float(chunks * sum(BLOCK * math.ceil((size + CHECKSUM) / BLOCK) for size in sizes))


def peak_memory() -> float:
    """Peak memory of this process in bytes; 0 if the system does not report it."""
    try:
        import resource
    except ImportError:  # on Windows
        return 0.0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return float(peak if sys.platform == "darwin" else 1024 * peak)
