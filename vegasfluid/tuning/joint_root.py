"""The alphas of several classes at which each has its ratio, on the fluid model or on packets.

As for one class (`fluid_search`, `correction`) the search is led on by plain runs, a few: Broyden's
method, from slopes as a share follows its backlog (SciPy's `broyden1`). It needs no derivative:
that of the fluid takes longer than all these runs, and says nothing where a network swings.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import NamedTuple

import numpy as np
from scipy.optimize import NoConvergence, root

from vegasfluid.tuning.initial_guess import PROPORTIONAL

__all__ = ["RatioSolution", "solve_ratios"]

Vector = np.ndarray

NEAR = 0.003
"""On the fluid model each ratio is met within this, in logarithms."""
RUNS = 8
"""From each beginning there."""
FLAT = 1e-6
"""Changes of the ratios, in logarithms, that are none."""


class RatioSolution(NamedTuple):
    """Where the search ended.

    Args:
        x: logarithms of the alphas.
        distances: of each ratio from its goal there, in logarithms.
        near: whether all ratios are met.
        evaluations: how often it was asked.
    """

    x: Vector
    distances: Vector
    near: bool
    evaluations: int


class Enough(Exception):
    """Raised inside the root finder: all is met, a step changed nothing, or runs are used up."""


def same(one: Vector, other: Vector) -> bool:
    """Whether a step changed nothing: a plateau, where no secant leads on."""
    return bool(np.max(np.abs(one - other)) < FLAT)


def solve_ratios(
    distances_at: Callable[[Vector], Vector],
    starts: Sequence[Vector],
    bounds: Sequence[tuple[float, float]],
    *,
    near: float = NEAR,
    most: int = RUNS,
) -> RatioSolution:
    """Meet one ratio for each alpha, or come as near as can be.

    Args:
        distances_at: of each ratio from its goal, in logarithms, at the logarithms of the alphas.
        starts: where to begin; the next one only where the one before led to no end.
        bounds: of each logarithm.
        near: each ratio is met within this, in logarithms.
        most: evaluations from each beginning.

    >>> def distances_at(x):
    ...     return np.array([x[0] - 0.2 * x[1] - 1.0, 0.8 * x[1] - 0.2 * x[0] - 1.0])
    >>> found = solve_ratios(distances_at, [np.zeros(2)], [(-5.0, 5.0)] * 2)
    >>> found.x.round(2), found.near, found.evaluations < 8
    (array([1.32, 1.58]), True, True)
    """
    low, high = np.array(bounds).T
    runs: list[RatioSolution] = []

    def distances(x: Vector) -> Vector:
        inside = np.clip(x, low, high)
        found = np.asarray(distances_at(inside))
        runs.append(RatioSolution(inside, found, bool(np.max(np.abs(found)) < near), 0))
        still = len(runs) > begun + 1 and same(runs[-1].distances, runs[-2].distances)
        if runs[-1].near or still or len(runs) == begun + most:
            raise Enough
        return runs[-1].distances

    options = {"line_search": None, "jac_options": {"alpha": -1 / PROPORTIONAL}}
    for start in starts:
        begun = len(runs)
        with suppress(Enough, NoConvergence):
            root(distances, np.clip(start, low, high), method="broyden1", options=options)
        if runs[-1].near:
            break
    best = min(runs, key=lambda of: float(of.distances @ of.distances))
    return best._replace(evaluations=len(runs))
