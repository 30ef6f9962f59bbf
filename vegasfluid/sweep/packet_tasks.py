"""Packet sweeps: tasks of dask.distributed, on the cores of this machine or on any Dask cluster.

Local workers are processes with one thread each. The setup and the averages of a run are Python
code, which threads could not run in parallel. If a worker dies, the others continue; Dask replaces
it and computes its chunk again. Plain pools of processes (concurrent.futures) break as a whole if
one of them dies, and have no clusters; Dask's `processes` scheduler keeps no results until the end.

A Dask scheduler and its workers unpickle what they receive, so whoever can talk to them can run
code as this user. On one machine they therefore listen on the loopback interface only, with TLS
certificates that are made for the sweep, and serve no web pages.
"""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import islice
from multiprocessing import resource_tracker
from typing import Any

from vegasfluid.errors import InvalidInput
from vegasfluid.interruption import interrupts_blocked
from vegasfluid.memory import GIB, VARIABLE, allowed_memory
from vegasfluid.packet import record_packets
from vegasfluid.parallel import processors
from vegasfluid.run_options import DEFAULT_SAMPLES, sample_times
from vegasfluid.sweep.plan import Chunk, Point, Sweep
from vegasfluid.sweep.requirements import not_installed
from vegasfluid.sweep.results import Frame, Results, is_system_error
from vegasfluid.sweep.summary import run_averages

try:
    from dask import config
    from distributed import Client, LocalCluster, Worker, WorkerPlugin, as_completed
    from distributed.scheduler import KilledWorker
except ModuleNotFoundError as error:
    raise not_installed("dask[distributed]") from error

__all__ = ["compute", "compute_chunks", "connect", "results_from"]

QUEUED_CHUNKS = 2
"""Chunks that wait for each worker besides the one that it computes; chosen."""
ALLOWED_DEATHS = 5
"""Number of deaths of workers at a chunk that are allowed: the next one ends its tries; chosen."""
LOOPBACK = "127.0.0.1:0"
"""Address of the scheduler's HTTP server, which Dask always starts: local, any free port."""
NO_PAGES = {f"distributed.{role}.http.routes": [] for role in ("scheduler", "worker")}
"""Dask settings with which its HTTP servers serve no pages."""
TRACKER_WARNINGS = "ignore::UserWarning:multiprocessing.resource_tracker"
"""Warnings that Python's resource tracker does not print."""
CONNECT_TIMEOUT = 20
"""Time in which a scheduler must answer, s; chosen."""


def compute(
    points: Sequence[Point], seeds: Sequence[int], frame: Frame, tune: str | None
) -> Results:
    """Simulate points by packets with each seed, and return the metrics of each run.

    A point that fails is recorded with the reason; errors of the machine are raised.

    Args:
        points: points of a sweep.
        seeds: seeds of the runs at each point.
        frame: number of seeds, and names of classes and links in the results.
        tune: class in the numerator of the goodput ratio; None: the only Vegas class, else the
            first class.
    """
    results = Results(len(points), frame)
    for number, point in enumerate(points):
        try:
            model = point.model()
            times = sample_times(model.duration, model.warmup, DEFAULT_SAMPLES)
            for index, seed in enumerate(seeds):
                run = record_packets(model.network, times, seed)
                averages = run_averages(run, model.warmup, tune)
                results.note(number, index, model.network, averages)
        except Exception as error:  # a bug in a user's law must not stop the other points
            results.fail(number, error)
    return results


class IgnoreInterrupts(WorkerPlugin):
    """Makes a worker ignore Ctrl-C, which the main process handles."""

    def setup(self, worker: Worker) -> None:
        """Make the worker process ignore SIGINT (Ctrl-C) from its start."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def start_resource_tracker() -> None:
    """Start Python's process that frees the semaphores of a process that ends early, silently.

    After Ctrl-C it would warn of each, although freeing them is its purpose.
    """
    before = os.environ.get("PYTHONWARNINGS", "")
    os.environ["PYTHONWARNINGS"] = ",".join(filter(None, (before, TRACKER_WARNINGS)))
    try:
        resource_tracker.ensure_running()
    finally:
        os.environ["PYTHONWARNINGS"] = before


@contextmanager
def connect(workers: int | None, scheduler: str | None) -> Iterator[Client]:
    """Context with the client of a Dask scheduler, or of a new cluster on this machine's cores.

    The new cluster communicates by TLS with its own certificates. A scheduler unpickles what it
    receives, so without TLS any user of the machine could run code as this user. The processes of
    a new cluster share the memory that this one may use.

    Args:
        workers: number of processes of a new cluster; None: one for each processor.
        scheduler: address of an existing scheduler; None: start a new cluster.

    Raises:
        InvalidInput: if no scheduler answers at the address.
    """
    with ExitStack() as stack:
        if scheduler is not None:
            try:
                client = stack.enter_context(Client(scheduler, timeout=CONNECT_TIMEOUT))
            except (OSError, ValueError, TypeError, RuntimeError) as error:  # the last two by TLS
                allowed = "the address of a Dask scheduler that answers"
                raise InvalidInput("sweep", "--scheduler", allowed, scheduler) from error
            yield client
            return
        settings = NO_PAGES | {"distributed.scheduler.allowed-failures": ALLOWED_DEATHS}
        stack.enter_context(config.set(settings))
        start_resource_tracker()
        count = workers or processors()
        with interrupts_blocked():  # for the thread that starts workers, and so for these
            cluster = LocalCluster(
                n_workers=count,
                env={VARIABLE: repr(allowed_memory() / GIB / count)},
                threads_per_worker=1,
                host="127.0.0.1",
                security=True,  # TLS with temporary certificates
                dashboard_address=LOOPBACK,
                scheduler_kwargs={"dashboard": False},
                silence_logs=logging.CRITICAL,
            )
        stack.enter_context(cluster)
        client = stack.enter_context(Client(cluster))
        client.register_plugin(IgnoreInterrupts(), name="vegasfluid-ignore-interrupts")
        yield client


def compute_chunks(
    sweep: Sweep, chunks: Iterable[Chunk], workers: int | None = None, scheduler: str | None = None
) -> Generator[tuple[Chunk, Results | Exception], None, None]:
    """Simulate chunks by packets on a Dask cluster; yield each with its metrics when it is done.

    A chunk that an error of the machine stops is yielded with the error.

    Args:
        sweep: the sweep.
        chunks: chunks to compute.
        workers: number of processes of a new cluster; None: one for each processor.
        scheduler: address of an existing scheduler; None: start a new cluster.

    Raises:
        InvalidInput: if no scheduler answers at the address.
    """
    with connect(workers, scheduler) as client:
        yield from results_from(client, sweep, chunks)


def results_from(
    client: Client, sweep: Sweep, chunks: Iterable[Chunk]
) -> Generator[tuple[Chunk, Results | Exception], None, None]:
    """Simulate chunks by packets on an existing cluster; yield each with its metrics when done.

    Only a few chunks are queued at the cluster at a time. A chunk that an error of the machine
    stops, or whose workers die again and again, is yielded with the error.
    """
    frame = Frame(len(sweep.seeds), sweep.classes, sweep.links)
    remaining = iter(chunks)

    def submit(points: Sequence[Point]) -> Any:
        """Start a task on the cluster that simulates these points; returns its future."""
        return client.submit(compute, points, sweep.seeds, frame, sweep.tune, pure=False)

    threads = max(1, sum(dict(client.nthreads()).values()))  # type: ignore[arg-type]
    first = islice(remaining, threads * (1 + QUEUED_CHUNKS))
    chunk_of = {submit(sweep.points_of(chunk)): chunk for chunk in first}
    futures = as_completed(chunk_of)
    for future in futures:
        chunk = chunk_of.pop(future)
        for following in islice(remaining, 1):
            task = submit(sweep.points_of(following))
            chunk_of[task] = following
            futures.add(task)
        error: Any = future.exception()
        if isinstance(error, KilledWorker):
            yield chunk, OSError(f"its worker died {ALLOWED_DEATHS + 1} times")
        elif error is not None and is_system_error(error):
            yield chunk, error
        else:
            yield chunk, future.result()
