"""Parallel work in threads: compiled code runs without Python's global interpreter lock."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

__all__ = ["parallel_map", "processors", "workers_limited"]

Item = TypeVar("Item")
Result = TypeVar("Result")


_limits: list[int] = []
"""Limits of the present contexts `workers_limited`, the outermost first."""


def processors() -> int:
    """Number of processors that this process may use, at most the limit of `workers_limited`."""
    affine = getattr(os, "sched_getaffinity", None)
    return min([len(affine(0)) if affine else os.cpu_count() or 1, *_limits])


@contextmanager
def workers_limited(count: int) -> Iterator[None]:
    """Context in which this process uses at most `count` processors, in all its threads.

    Of several such contexts the smallest limit applies. Numbers of workers that are given to
    `parallel_map` are not limited.

    >>> with workers_limited(1):
    ...     processors()
    1
    """
    _limits.append(count)
    try:
        yield
    finally:
        _limits.remove(count)


def parallel_map(
    task: Callable[[Item], Result], items: Iterable[Item], workers: int | None = None
) -> list[Result]:
    """Results of `task(item)` for each item, in the order of the items, computed in threads.

    If calls fail, the exception of the first of them, in the order of the items, is raised.

    Args:
        task: function of one item.
        items: arguments of the calls.
        workers: number of parallel calls; None: `processors()`.

    >>> parallel_map(abs, [-1, 2, -3])
    [1, 2, 3]
    """
    with ThreadPoolExecutor(workers or processors()) as pool:
        return list(pool.map(task, items))
