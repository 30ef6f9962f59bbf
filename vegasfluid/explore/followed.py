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
"""Time between two looks whether the page is still there, s."""

Found = TypeVar("Found")
"""Type of the result of a job."""
Report = Callable[[str], None]
"""Takes a line of progress."""


def followed(
    job: Callable[[Report], Found],
    as_json: Callable[[Found], dict[str, Any]],
    worker: Worker,
    ticket: Ticket,
    first: str,
) -> Iterator[dict[str, Any]]:
    """Compute a job, and answer with its progress and its result.

    Args:
        job: takes a function that reports a line of progress.
        as_json: returns the last part of the answer for the job's result.
        worker: computes it.
        ticket: of the request; once it is overtaken the job ends at its next line of progress.
        first: progress before the first line.

    Yields:
        Lines of `progress`; for a setting that was tried also its `step`: `engine`, `alpha`, `beta`
        (packets) and `ratio`. The last part is `as_json` of the result.

    Raises:
        Overtaken: if a newer request of the tab has come, or its page is gone.
        VegasfluidError: what the job raises.
    """
    lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
    ended = threading.Event()

    def report(line: str) -> None:
        """Pass on a line of progress; end the job if nobody waits for it any more."""
        if ended.is_set():
            raise Overtaken
        lines.put(line)

    def computed() -> Found:
        """The result; None in `lines` states that it is there, or that the job failed."""
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
    """A line of progress as JSON, with the numbers of a setting that was tried."""
    if not isinstance(line, Step):
        return {"progress": line}
    step = {name: getattr(line, name) for name in ("engine", "alpha", "beta", "ratio")}
    return {"progress": str(line), "step": step}
