"""Parallel work in threads: compiled code runs without Python's global interpreter lock."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

__all__ = ["parallel_map", "processors"]

Item = TypeVar("Item")
Result = TypeVar("Result")


def processors() -> int:
    """Number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def parallel_map(
    task: Callable[[Item], Result], items: Iterable[Item], workers: int | None = None
) -> list[Result]:
    """Results of `task(item)` for each item, in the order of the items, computed in threads.

    Args:
        task: function of one item.
        items: arguments of the calls.
        workers: number of parallel calls; None: the number of processors.

    >>> parallel_map(abs, [-1, 2, -3])
    [1, 2, 3]
    """
    with ThreadPoolExecutor(workers or processors()) as pool:
        return list(pool.map(task, items))
