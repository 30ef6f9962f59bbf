"""How far a run of a fluid model is from the solution of its equations: what shorter steps change.

A window meets corners (a full buffer, the edge of a dead zone), so no order of convergence holds,
and no estimate within a step tells of them all. So the whole run is made again with half the step.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from vegasfluid.errors import InvalidInput, SolveFailed
from vegasfluid.fluid.time_grid import TimeGrid
from vegasfluid.trajectory import Recording

__all__ = ["TOLERANCE", "Error", "check_tolerance", "difference", "refined"]

TOLERANCE = 0.01
"""Of goodput, queue and drops, where nobody says another."""
HALVINGS, MOST_STEPS = 5, 400_000
"""Steps are halved at most so often, and after the first time only up to so many of them."""
SAFETY = 3.0
"""A run may be off by so many times what the last halving changed: convergence is uneven. (With
twice, one of 26 random networks moved by more when its steps were halved again.)"""
LEAST_PART = 0.25
"""A mean may be off by no less than this part of what another one may be."""
SMALL_SHARE, SMALL_QUEUE, FEW_DROPS = 0.01, 1.0, 1e-3
"""Differences are shares of no less than this part of a fair goodput, so many packets of queue, and
drops of this part of what arrives."""


class Error(NamedTuple):
    """By which part of themselves means differ; each the largest of all classes, or links.

    Args:
        goodput: of the classes.
        queue: mean ones, of the links.
        drops: of the links.
    """

    goodput: float
    queue: float
    drops: float


def difference(one: Recording, other: Recording, warmup: float) -> Error:
    """How far two runs of a network are apart after the warm-up (s)."""
    a, b = one.totals_after(warmup), other.totals_after(warmup)
    fair = b.capacity.min() / b.count.sum()
    of = [
        (a.goodput, b.goodput, SMALL_SHARE * fair),
        (a.mean_queue, b.mean_queue, SMALL_QUEUE),
        (a.lost, b.lost, FEW_DROPS * (b.admitted + b.lost)),
    ]
    return Error(*(largest(*each) for each in of))


def largest(one: np.ndarray, other: np.ndarray, least: np.ndarray | float) -> float:
    """The largest difference, as a part of the second values or of something small."""
    scale = np.maximum(np.abs(other), np.maximum(least, np.finfo(float).tiny))
    return float(np.max(np.abs(one - other) / scale))


def refined(
    run: Callable[[TimeGrid], Recording], grid: TimeGrid, tolerance: float, warmup: float
) -> Recording:
    """A run whose steps are halved until that changes no mean by more than the tolerance.

    A run that fails may have had too long steps: it is made again with shorter ones, too.

    Args:
        run: makes a run with steps of some length.
        grid: of the first run.
        tolerance: of goodput, queues and drops, as parts of them.
        warmup: time that means leave out, s.

    Returns:
        The last run; its `error` is three times what its last halving changed, above the tolerance
        where steps would have had to be shorter still.

    Raises:
        SolveFailed: where two runs in turn fail, or one of the last two.
    """
    grid = grid._replace(finest=grid.step / 4)
    coarse = found = attempt(run, grid)
    for halving in range(HALVINGS):
        if halving and 2 * grid.until / grid.step > MOST_STEPS:
            break
        grid = grid.halved()
        coarse, found = found, attempt(run, grid)
        if isinstance(coarse, Recording) and isinstance(found, Recording):
            error = estimated(difference(coarse, found, warmup))
            found = found._replace(error=error)
            if max(error) <= tolerance:
                break
        elif isinstance(coarse, SolveFailed) and isinstance(found, SolveFailed):
            break
    if isinstance(found, SolveFailed):
        raise found
    if isinstance(coarse, SolveFailed):
        raise coarse
    return found


def attempt(run: Callable[[TimeGrid], Recording], grid: TimeGrid) -> Recording | SolveFailed:
    """A run, or why there is none."""
    try:
        return run(grid)
    except SolveFailed as failed:
        return failed


def estimated(moved: Error) -> Error:
    """What a run may be off, by what halving its steps moved.

    One of the means may have come out nearly alike by accident: then the others tell more of it.
    """
    least = LEAST_PART * max(moved)
    return Error(*(SAFETY * max(part, least) for part in moved))


def check_tolerance(tolerance: float) -> float:
    """The tolerance, if it makes sense.

    Raises:
        InvalidInput: where it is none.
    """
    if not 0 < tolerance < math.inf:
        raise InvalidInput("simulate", "tolerance", "above 0 and finite", tolerance)
    return tolerance
