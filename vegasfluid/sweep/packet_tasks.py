"""Packet sweeps: tasks of dask.distributed, on a cluster of this machine's cores or on any other.

Workers are processes, each with one thread. A run's time is spent in compiled code without Python's
lock, but what is around it (setting up, summing up) is Python and takes its share of short runs;
and a worker that dies takes nothing else along. Dask replaces it and computes its chunk again.
"""

from __future__ import annotations

import logging
import signal
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import islice
from typing import Any

from dask import config
from distributed import Client, LocalCluster, Worker, WorkerPlugin, as_completed
from distributed.scheduler import KilledWorker

from vegasfluid.errors import InvalidInput
from vegasfluid.packet import record_packets
from vegasfluid.parallel import processors
from vegasfluid.run_options import DEFAULT_SAMPLES, sample_times
from vegasfluid.sweep.plan import Chunk, Point, Sweep
from vegasfluid.sweep.results import Frame, Results, joined, reason_of
from vegasfluid.sweep.summary import summed_up

__all__ = ["answers", "client_of", "compute", "computed"]

AHEAD = 2
"""Chunks for each worker that wait beside the one that it computes."""
DEATHS = 5
"""So often a chunk's worker may die before its points are tried one by one, and so often again."""
LOOPBACK = "127.0.0.1:0"
"""Address of the scheduler's HTTP server, at any port: Dask begins one in any case."""
NO_PAGES = {f"distributed.{of}.http.routes": [] for of in ("scheduler", "worker")}
"""And this server answers nothing."""
CONNECTING = 20
"""Seconds that a scheduler may take to answer."""


def compute(
    points: Sequence[Point], seeds: Sequence[int], frame: Frame, tune: str | None
) -> Results:
    """Run some points with each seed; what cannot be run is noted with its reason."""
    results = Results(len(points), frame)
    for number, point in enumerate(points):
        try:
            model = point.model()
            times = sample_times(model.duration, model.warmup, DEFAULT_SAMPLES)
            for place, seed in enumerate(seeds):
                run = record_packets(model.network, times, seed)
                found = summed_up(run, model.warmup, tune)
                results.note(number, place, model.network, found)
        except Exception as failed:  # a bug in a user's law shall not stop the rest either
            results.fail(number, reason_of(failed))
    return results


class Unbothered(WorkerPlugin):
    """A worker that leaves Ctrl-C to the process that asks for work."""

    def setup(self, worker: Worker) -> None:
        """Before its first task."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def client_of(workers: int | None, scheduler: str | None) -> Iterator[Client]:
    """A client of a cluster of this machine's cores, or of the scheduler at an address.

    The processes of this machine's cluster talk by TLS, with certificates made for it: a scheduler
    unpickles what it is sent, which would let any user of the machine run code as this one.

    Raises:
        InvalidInput: where no scheduler answers.
    """
    with ExitStack() as stack:
        if scheduler is not None:
            try:
                client = stack.enter_context(Client(scheduler, timeout=CONNECTING))
            except (OSError, ValueError) as failed:
                allowed = "the address of a Dask scheduler that answers"
                raise InvalidInput("sweep", "--scheduler", allowed, scheduler) from failed
            yield client
            return
        settings = NO_PAGES | {"distributed.scheduler.allowed-failures": DEATHS}
        stack.enter_context(config.set(settings))
        cluster = stack.enter_context(
            LocalCluster(
                n_workers=workers or processors(),
                threads_per_worker=1,
                host="127.0.0.1",
                security=True,  # certificates made for this cluster
                dashboard_address=LOOPBACK,
                scheduler_kwargs={"dashboard": False},
                silence_logs=logging.CRITICAL,
            )
        )
        client = stack.enter_context(Client(cluster))
        client.register_plugin(Unbothered(), name="vegasfluid-unbothered")
        yield client


def computed(
    sweep: Sweep, chunks: Iterable[Chunk], workers: int | None = None, scheduler: str | None = None
) -> Generator[tuple[Chunk, Results], None, None]:
    """The results of chunks as they come.

    Args:
        sweep: the plan.
        chunks: which of its chunks.
        workers: processes; None: as many as there are processors.
        scheduler: the address of a cluster that is there; None: one of this machine's cores.
    """
    with client_of(workers, scheduler) as client:
        yield from answers(client, sweep, chunks)


def answers(
    client: Client, sweep: Sweep, chunks: Iterable[Chunk]
) -> Generator[tuple[Chunk, Results], None, None]:
    """The results of chunks by a cluster that is there; few of them wait there at a time."""
    frame = Frame(len(sweep.seeds), sweep.classes, sweep.links)
    waiting = iter(chunks)

    def asked(points: Sequence[Point]) -> Any:
        return client.submit(compute, points, sweep.seeds, frame, sweep.tune, pure=False)

    threads = max(1, sum(dict(client.nthreads()).values()))  # type: ignore[arg-type]
    first = islice(waiting, threads * (1 + AHEAD))
    asked_for = {asked(sweep.points_of(chunk)): chunk for chunk in first}
    coming = as_completed(asked_for)
    for future in coming:
        chunk = asked_for.pop(future)
        for following in islice(waiting, 1):
            more = asked(sweep.points_of(following))
            asked_for[more] = following
            coming.add(more)
        if isinstance(future.exception(), KilledWorker):
            yield chunk, one_by_one(sweep.points_of(chunk), frame, asked)
        else:
            yield chunk, future.result()


def one_by_one(points: Sequence[Point], frame: Frame, asked: Any) -> Results:
    """The points of a chunk whose workers died, each for itself: one of them may be to blame."""
    parts = []
    for point in points:
        future = asked([point])
        if isinstance(future.exception(), KilledWorker):
            parts.append(Results(1, frame))
            parts[-1].fail(0, f"its worker died {DEATHS + 1} times")
        else:
            parts.append(future.result())
    return joined(parts)
