"""A long job, followed by the page: its progress in words while it runs, then its result."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from vegasfluid.explore.latest import Overtaken, Ticket, Worker
from vegasfluid.tuning.settings import Step

__all__ = ["Report", "followed"]

POLL = 0.3
"""Time between two checks whether the page still waits, s."""

Found = TypeVar("Found")
"""Type of the result of a job."""
Report = Callable[[str], None]
"""Function that is called with each line of progress."""


def followed(
    job: Callable[[Report], Found],
    as_json: Callable[[Found], dict[str, Any]],
    worker: Worker,
    ticket: Ticket,
    first: str,
) -> Iterator[dict[str, Any]]:
    """Compute a job on a worker, and yield its progress and its result as JSON.

    Args:
        job: computes the result; its argument is a function to call with each line of progress.
        as_json: converts the job's result to the last part of the answer.
        worker: thread that computes the job, after those before it.
        ticket: ticket of the request; once it is overtaken the job ends at its next line.
        first: line of progress that is shown before those of the job.

    Yields:
        Objects with `progress`, one line; for a setting that was tried also its `step`: `engine`,
        `alpha`, `beta` (packets) and `ratio`. The last object is `as_json` of the result.

    Raises:
        Overtaken: if a newer request of the tab has come, or its page is gone.
        VegasfluidError: if the job raises it.
    """
    lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
    ended = threading.Event()

    def report(line: str) -> None:
        """Pass on a line of progress; raise Overtaken if nobody waits for the job any more."""
        if ended.is_set():
            raise Overtaken
        lines.put(line)

    def computed() -> Found:
        """The job's result; at its end, also if it fails, None is put into `lines`."""
        try:
            return job(report)
        finally:
            lines.put(None)

    found = worker.submit(ticket, computed)
    try:
        yield {"progress": first}
        while not found.done() or not lines.empty():
            ticket.check()
            try:
                line = lines.get(timeout=POLL)
            except queue.Empty:
                continue
            if line is not None:
                yield progress_of(line)
        yield as_json(found.result())
    finally:
        ended.set()


def progress_of(line: str) -> dict[str, Any]:
    """A line of progress as JSON: `progress`, and for a `Step` also its numbers as `step`."""
    if not isinstance(line, Step):
        return {"progress": line}
    step = {name: getattr(line, name) for name in ("engine", "alpha", "beta", "ratio")}
    return {"progress": str(line), "step": step}
