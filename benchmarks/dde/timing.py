"""CPU seconds on one core, of runs that alternate because the machine's speed varies."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import jax

__all__ = ["Tried", "alternating", "cpu_seconds", "fastest_within", "one_core", "seconds"]


def one_core() -> None:
    """Bind this process, with all threads it starts from now on, to one core."""
    with contextlib.suppress(AttributeError, OSError):  # not on all systems
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def seconds(task: Callable[[], Any]) -> tuple[float, float]:
    """Return CPU and wall seconds of a task until its arrays are computed."""
    cpu, wall = time.process_time(), time.perf_counter()
    jax.block_until_ready(task())
    return time.process_time() - cpu, time.perf_counter() - wall


def cpu_seconds(task: Callable[[], Any], repeats: int = 5) -> float:
    """Return the smallest CPU seconds of some runs, after one that is not counted."""
    jax.block_until_ready(task())
    return min(seconds(task)[0] for _ in range(repeats))


def alternating(*tasks: Callable[[], float], repeats: int = 10) -> tuple[float, ...]:
    """Return the smallest result of each task; tasks measure themselves and alternate."""
    rounds = [[task() for task in tasks] for _ in range(repeats)]
    return tuple(map(min, zip(*rounds, strict=True)))


class Tried(NamedTuple):
    """Measurement of one setting of a solver.

    Args:
        settings: settings for another run.
        family: name of the settings that differ in tolerance only.
        rtol: relative tolerance.
        error: error against the reference, relative.
        seconds: CPU time, s.
    """

    settings: Any
    family: str
    rtol: float
    error: float
    seconds: float


def fastest_within(tried: Iterable[Tried], error: float, *, reliably: bool = False) -> Tried | None:
    """Return the fastest setting within an error, or None.

    Args:
        tried: measured settings.
        error: largest error allowed.
        reliably: whether all settings of its family with equal or smaller tolerances must be
            within the error too, so that the setting is not within it by chance.
    """
    tried = list(tried)
    missed = [each for each in tried if each.error > error]

    def allowed(one: Tried) -> bool:
        lucky = any(each.family == one.family and each.rtol <= one.rtol for each in missed)
        return one.error <= error and not (reliably and lucky)

    return min(filter(allowed, tried), key=lambda each: each.seconds, default=None)
