"""Discretisation error of a fluid run, estimated by a second run with half the step.

The right-hand side has kinks (a full buffer, the edge of a dead band), so no order of convergence
holds and no local error estimate is reliable. So the whole run is repeated with half the step.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from vegasfluid.errors import InvalidInput, SolveFailed
from vegasfluid.fluid.time_grid import TimeGrid
from vegasfluid.parallel import parallel_map
from vegasfluid.trajectory import Recording

__all__ = ["TOLERANCE", "Error", "check_tolerance", "difference", "estimated_error", "most_steps"]
__all__ += ["refined"]

TOLERANCE = 0.01
"""Default tolerance: relative error of goodput, queues and drops (chosen)."""
HALVINGS = 5
"""Largest number of times that the steps are halved (chosen)."""
MOST_STEPS = 400_000
"""Largest number of steps of a run to which a second or later halving leads (chosen, to limit
computing time); the first halving is always done."""
MOST_UPDATES = 1e8
"""The same limit for the number of steps times that of components of the state, which counts in the
density model: a run within it takes about 10 s (chosen)."""
SAFETY = 3.0
"""Estimated error over the change by the last halving; above 1 because convergence is irregular.
(With 2, one of 26 random networks changed by more when its steps were halved again.)"""
LEAST_PART = 0.5
"""Smallest estimated error of goodput, queues or drops, over the largest of the three (chosen)."""
LEAST_DECREASE = 0.25
"""Assumed change by a halving of the steps, at least, as a fraction of the change by the halving
before: kinks limit the order to 2. A smaller change is an accident, such as a phase of a limit
cycle."""
SMALL_SHARE = 0.01
"""Smallest goodput by which a difference is divided, as a fraction of a fair share (chosen)."""
SMALL_QUEUE = 1.0
"""Smallest mean queue by which a difference is divided, packets (chosen)."""
FEW_DROPS = 1e-3
"""Smallest number of drops by which a difference is divided, as a fraction of arrivals (chosen)."""


class Error(NamedTuple):
    """Relative differences of means, each the largest over all classes or links.

    Args:
        goodput: relative difference of a class's goodput.
        queue: relative difference of a link's mean queue.
        drops: relative difference of a link's drops.
    """

    goodput: float
    queue: float
    drops: float


def difference(one: Recording, other: Recording, warmup: float) -> Error:
    """Relative differences between the means of two runs of a network after the warm-up (s).

    Each is the largest over all classes or links, relative to the run `other`, without unit. Small
    values of `other` are replaced by `SMALL_SHARE`, `SMALL_QUEUE` and `FEW_DROPS` as divisors.
    """
    a, b = one.totals_after(warmup), other.totals_after(warmup)
    fair = b.capacity.min() / b.count.sum()
    return Error(
        goodput=largest(a.goodput, b.goodput, SMALL_SHARE * fair),
        queue=largest(a.mean_queue, b.mean_queue, SMALL_QUEUE),
        drops=largest(a.lost, b.lost, FEW_DROPS * (b.admitted + b.lost)),
    )


def largest(one: np.ndarray, other: np.ndarray, least: np.ndarray | float) -> float:
    """Largest relative difference of `one` from `other`, without unit.

    Each difference is divided by the larger of `other` and `least`, which have its unit and shape.
    """
    scale = np.maximum(np.abs(other), np.maximum(least, np.finfo(float).tiny))
    return float(np.max(np.abs(one - other) / scale))


def most_steps(components: int) -> float:
    """Largest number of steps to which a second or later halving leads.

    Args:
        components: number of components of the state.

    >>> most_steps(100), most_steps(5000)
    (400000, 20000.0)
    """
    return min(MOST_STEPS, MOST_UPDATES / components)


def refined(
    run: Callable[[TimeGrid], Recording],
    grid: TimeGrid,
    tolerance: float,
    warmup: float,
    most: float = MOST_STEPS,
) -> Recording:
    """Run, then halve the steps at least once, until the estimated error is within the tolerance.

    A run that fails is repeated with shorter steps too, as too long steps may have caused it.

    Args:
        run: makes a run with the steps of a grid.
        grid: grid of the first run.
        tolerance: largest relative error of goodput, queues and drops.
        warmup: time excluded from means, s.
        most: largest number of steps to which a second or later halving leads.

    Returns:
        The last run, with its `error` (see `estimated_error`); it is above the tolerance if the
        limits on halvings and steps ended the search.

    Raises:
        SolveFailed: if two consecutive runs fail, or either of the last two runs.
    """
    coarse, fine = parallel_map(partial(attempt, run), [grid, grid.halved()])
    before = Error(0.0, 0.0, 0.0)
    for halving in range(HALVINGS):
        grid = grid.halved()
        if halving:
            if grid.until / grid.step > most:
                break
            coarse, fine = fine, attempt(run, grid)
        if isinstance(coarse, Recording) and isinstance(fine, Recording):
            change = difference(coarse, fine, warmup)
            error, before = estimated_error(change, before), change
            fine = fine._replace(error=error)
            if max(error) <= tolerance:
                break
        elif isinstance(coarse, SolveFailed) and isinstance(fine, SolveFailed):
            break
    if isinstance(fine, SolveFailed):
        raise fine
    if isinstance(coarse, SolveFailed):
        raise coarse
    return fine


def attempt(run: Callable[[TimeGrid], Recording], grid: TimeGrid) -> Recording | SolveFailed:
    """The run `run(grid)`, or the error with which it failed, returned instead of raised."""
    try:
        return run(grid)
    except SolveFailed as failure:
        return failure


def estimated_error(change: Error, before: Error) -> Error:
    """Estimated relative errors of a run: three times its change by halving the steps.

    A quantity may have changed little by accident. So each change is taken to be at least a quarter
    of its change by the halving before, and at least half the largest of the three.

    Args:
        change: relative changes of goodput, queues and drops by the last halving, without unit.
        before: their changes by the halving before; 0 after the first halving.
    """
    likely = [max(part, LEAST_DECREASE * last) for part, last in zip(change, before, strict=True)]
    least = LEAST_PART * max(likely)
    return Error(*(SAFETY * max(part, least) for part in likely))


def check_tolerance(tolerance: float) -> float:
    """Return the tolerance, a relative error, if it is positive and finite.

    Raises:
        InvalidInput: if it is not.
    """
    if not 0 < tolerance < math.inf:
        raise InvalidInput("simulate", "tolerance", "above 0 and finite", tolerance)
    return tolerance
