"""A recommendation for the page: progress in words, the settings tried, and the result."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from typing import Any

from vegasfluid.errors import printable
from vegasfluid.explore.latest import Overtaken, Ticket, Worker
from vegasfluid.model import Model
from vegasfluid.tuning import recommend
from vegasfluid.tuning.result import Recommendation
from vegasfluid.tuning.settings import RunSettings, Step

__all__ = ["recommendation"]

POLL = 0.3
"""Time between two looks whether the page is still there, s."""


def recommendation(
    model: Model, tuned: str | None, worker: Worker, ticket: Ticket
) -> Iterator[dict[str, Any]]:
    """Recommend alpha and beta of a Vegas class, as `vegasfluid recommend` does.

    Args:
        model: network and times.
        tuned: the Vegas class; None: the only one.
        worker: computes it.
        ticket: of the request; once it is overtaken the search ends at its next step.

    Yields:
        Lines of `progress`; for a setting that was tried also its `step`: `engine`, `alpha`, `beta`
        (packets) and `ratio`. The last part is `recommended`; see `as_json`.

    Raises:
        InvalidInput: if there is nothing to tune or to compare with.
        SolveFailed: if the fluid model cannot be integrated.
        Overtaken: if a newer request of the tab has come, or its page is gone.
    """
    lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
    ended = threading.Event()

    def report(line: str) -> None:
        """Pass on a line of progress; end the search if nobody waits for it any more."""
        if ended.is_set():
            raise Overtaken
        lines.put(line)

    def search() -> Recommendation:
        """The recommendation; None in `lines` states that it is there, or that it failed."""
        settings = RunSettings(until=model.duration, warmup=model.warmup, report=report)
        try:
            return recommend(model.network, tuned, **settings)
        finally:
            lines.put(None)

    found = worker.submit(ticket, search)
    try:
        yield {"progress": "Recommend: compiling the simulators (the first time only) …"}
        while not found.done() or not lines.empty():
            ticket.check()
            try:
                line = lines.get(timeout=POLL)
            except queue.Empty:
                continue
            if line is not None:
                yield progress_of(line)
        yield {"recommended": as_json(found.result())}
    finally:
        ended.set()


def progress_of(line: str) -> dict[str, Any]:
    """A line of progress as JSON, with the numbers of a setting that was tried."""
    if not isinstance(line, Step):
        return {"progress": line}
    step = {name: getattr(line, name) for name in ("engine", "alpha", "beta", "ratio")}
    return {"progress": str(line), "step": step}


def as_json(found: Recommendation) -> dict[str, Any]:
    """A recommendation as the page shows it.

    Returns:
        The class (`tuned`), `alpha` and `beta` (packets), whether the goal is `reached` and why
        not (`reason`), on packets `ratio`, its 95 % confidence `interval` and the number of `runs`,
        and `before`, the ratio on packets with the given parameters.
    """
    law: Any = found.after.law
    packets = found.after.packets
    return {
        "tuned": found.tuned,
        "alpha": float(law.alpha),
        "beta": float(law.beta),
        "reached": found.reached,
        "reason": printable(found.reason),
        "ratio": packets.ratio,
        "interval": packets.interval,
        "runs": len(packets.runs),
        "before": found.before.packets.ratio,
    }
