"""Packet runs that confirm a point of the plane, a few at a time so that they can be followed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from vegasfluid.errors import Unsupported
from vegasfluid.model import Model
from vegasfluid.packet.seeds import ONE_RUN
from vegasfluid.sweep.summary import tuned_class
from vegasfluid.tuning.measurement import Measurement, measure

__all__ = ["RUNS", "packet_runs"]

RUNS, TOGETHER = 5, 2
"""Packet runs of a point, with the seeds 1, 2, ..., and how many are made at a time; chosen."""


def packet_runs(model: Model, tuned: str | None) -> Iterator[dict[str, Any]]:
    """Simulate a model with packets, once for each of five seeds.

    Args:
        model: network and times.
        tuned: class in the numerator of the ratio; None: the only Vegas class, else the first.

    Yields:
        Objects with `progress`, one line, then one with `confirmed`: `ratio` and its 95 %
        confidence `interval` (null if all runs are equal, as the `note` then states), means over
        the runs, such as `queueing_delay_s` and `drop_share`, and the number of `runs`.

    Raises:
        Unsupported: for a network with one class.
        SolveFailed: if no flow delivers a packet.
    """
    name = tuned_class(model.network, tuned)
    if name is None:
        raise Unsupported("explore", "a network with one class", "a ratio compares two classes")
    measured = Measurement(())
    while len(measured.runs) < RUNS:
        done = len(measured.runs)
        yield {"progress": f"Packet simulator: {done} of {RUNS} runs …"}
        seeds = range(done + 1, min(done + TOGETHER, RUNS) + 1)
        measured += measure(model.network, name, seeds, until=model.duration, warmup=model.warmup)
    means = measured.means()
    equal = measured.is_one_run
    yield {
        "confirmed": {
            **means,
            "interval": None if equal else measured.interval,
            "runs": RUNS,
            "note": ONE_RUN.format(RUNS) if equal else "",
        }
    }
