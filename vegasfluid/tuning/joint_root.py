"""The alphas of several classes at which each has its goodput ratio, by Broyden's method.

Plain runs, a few, on the fluid model or on packets: from slopes as a share follows its backlog,
each run corrects the Jacobian (SciPy's `BroydenFirst`). No derivative is needed: that of the
fluid takes longer than all these runs, and is useless where a network oscillates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.optimize import BroydenFirst

from vegasfluid.tuning.initial_guess import PROPORTIONAL

__all__ = ["RatioSolution", "solve_ratios"]

Vector = Float[np.ndarray, " classes"]
"""One number for each tuned class: log(alpha), or log(ratio / target)."""

FTOL = 0.003
"""Tolerance of each ratio on the fluid model, in logarithms."""
MAX_EVALUATIONS = 8
"""Fluid runs from each initial point, at most."""
STALLED = 1e-6
"""A step that changes all ratios by less, in logarithms, is on a plateau and ends the search."""


class RatioSolution(NamedTuple):
    """The best alphas found for several ratios.

    Args:
        x: logarithms of the alphas (packets); (classes,).
        distances: log(goodput ratio / target) of each class there; (classes,).
        converged: whether all ratios are within the tolerance.
        evaluations: number of points that were evaluated, from all initial points together.
    """

    x: Vector
    distances: Vector
    converged: bool
    evaluations: int


def solve_ratios(
    distances_at: Callable[[Vector], Vector],
    starts: Sequence[Vector],
    bounds: Sequence[tuple[float, float]],
    *,
    ftol: float = FTOL,
    max_evaluations: int = MAX_EVALUATIONS,
) -> RatioSolution:
    """Find the alphas of several classes at which every class has its goodput ratio.

    Args:
        distances_at: takes logarithms of the alphas (packets), returns log(ratio / target) of each
            class; both (classes,).
        starts: initial points, logarithms of the alphas; the next one is used only where the one
            before did not converge.
        bounds: smallest and largest logarithm of each alpha.
        ftol: tolerance of each log(ratio / target).
        max_evaluations: calls of `distances_at` from each initial point, at most.

    Returns:
        The evaluated point with the least sum of squared distances, and whether it converged.

    >>> def distances_at(x):
    ...     return np.array([x[0] - 0.2 * x[1] - 1.0, 0.8 * x[1] - 0.2 * x[0] - 1.0])
    >>> solution = solve_ratios(distances_at, [np.zeros(2)], [(-5.0, 5.0)] * 2)
    >>> solution.x.round(2), solution.converged, solution.evaluations < 8
    (array([1.32, 1.58]), True, True)
    """
    low, high = np.array(bounds).T
    points: list[RatioSolution] = []

    def evaluate(x: Vector) -> Vector:
        """log(ratio / target) of each class at x clipped to the bounds; also recorded."""
        clipped = np.clip(x, low, high)
        distances = np.asarray(distances_at(clipped))
        converged = bool(np.max(np.abs(distances)) < ftol)
        points.append(RatioSolution(clipped, distances, converged, len(points) + 1))
        return distances

    for start in starts:
        _broyden(evaluate, np.clip(start, low, high), ftol, max_evaluations)
        if points[-1].converged:
            break
    best = min(points, key=lambda point: float(point.distances @ point.distances))
    return best._replace(evaluations=len(points))


def _broyden(
    function: Callable[[Vector], Vector], x: Vector, ftol: float, max_evaluations: int
) -> None:
    """Broyden's method, until all |values| are below `ftol` or a step no longer changes them.

    Returns nothing: `function` records its evaluations.

    Args:
        function: whose root is searched, such as log(ratio / target) of each class; (classes,) to
            (classes,).
        x: initial point, logarithms of the alphas.
        ftol: tolerance of each value.
        max_evaluations: calls of the function, at most.
    """
    values = function(x)
    jacobian = BroydenFirst(alpha=-1 / PROPORTIONAL)
    jacobian.setup(x.copy(), values, function)
    for _ in range(max_evaluations - 1):
        if np.max(np.abs(values)) < ftol:
            return
        previous = values
        x = x - jacobian.solve(values)
        values = function(x)
        if np.max(np.abs(values - previous)) < STALLED:
            return
        jacobian.update(x.copy(), values)
