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
    """Keep this process, and so all threads that it starts from here on, on one core."""
    with contextlib.suppress(AttributeError, OSError):  # not on all systems
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def seconds(task: Callable[[], Any]) -> tuple[float, float]:
    """CPU and wall seconds of a task, its arrays computed."""
    cpu, wall = time.process_time(), time.perf_counter()
    jax.block_until_ready(task())
    return time.process_time() - cpu, time.perf_counter() - wall


def cpu_seconds(task: Callable[[], Any], repeats: int = 5) -> float:
    """The least CPU seconds of some runs, after one that is not counted."""
    jax.block_until_ready(task())
    return min(seconds(task)[0] for _ in range(repeats))


def alternating(*tasks: Callable[[], float], repeats: int = 10) -> tuple[float, ...]:
    """Of each task, which measures itself, the least result; they take turns."""
    rounds = [[task() for task in tasks] for _ in range(repeats)]
    return tuple(map(min, zip(*rounds, strict=True)))


class Tried(NamedTuple):
    """One setting of a solver, and what it gave.

    Args:
        settings: to run it again.
        family: settings that differ by their tolerance only, or nearly.
        rtol: tolerance.
        error: against the reference.
        seconds: CPU time.
    """

    settings: Any
    family: str
    rtol: float
    error: float
    seconds: float


def fastest_within(tried: Iterable[Tried], error: float, *, reliably: bool = False) -> Tried | None:
    """The fastest setting within an error, or None.

    Args:
        tried: what there is.
        error: the largest one allowed.
        reliably: all settings of its family that are as tight or tighter are within it too, so
            that it is no luck.
    """
    tried = list(tried)
    missed = [each for each in tried if each.error > error]

    def allowed(one: Tried) -> bool:
        lucky = any(each.family == one.family and each.rtol <= one.rtol for each in missed)
        return one.error <= error and not (reliably and lucky)

    return min(filter(allowed, tried), key=lambda each: each.seconds, default=None)
