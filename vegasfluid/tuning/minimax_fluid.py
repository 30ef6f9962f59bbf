"""The alpha with the smallest worst-case regret on the fluid model, over all scenarios at once.

**Regret** of an alpha in a scenario: how much farther its log(ratio) is from the target than that
of the alpha that is best there. Where an alpha that reaches the target exists, that is the distance
to the target itself; a scenario in which none does asks for its best, and does not dictate.

The smallest worst-case regret is a problem in two unknowns, x = log(alpha) and a bound t:
minimise t such that +d_s(x) - b_s <= t and -d_s(x) - b_s <= t for each scenario s, with d_s its
log(ratio / target) and b_s the least |d_s| (`scenario_fluids` has both and their slopes).

Sources:
    The form with a bound: S. Boyd and L. Vandenberghe, "Convex Optimization", 2004, section 4.1.3
    (title read). Solved by SciPy's SLSQP.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.optimize import bisect, minimize

from vegasfluid.tuning.scalar_root import PLATEAU_TOLERANCE, plateau_onset
from vegasfluid.tuning.scenario_fluids import MinimaxEvaluation, ScenarioFluids, Vector

__all__ = ["MinimaxOptimum", "search_minimax"]

GRID_POINTS = 6
"""Points from the smallest to the largest log(alpha) that are evaluated first."""
TIE_BREAK = 1e-3
"""Weight of log(alpha) beside the regret: of equally good alphas the smaller has less queue."""
FTOL = 1e-5
"""Change of the regret at which SLSQP ends, in log(ratio)."""
MAX_ITERATIONS = 25
"""Largest number of iterations of SLSQP."""
FLAT = 1e-3
"""A smaller slope d log(ratio) / d log(alpha) is that of a plateau."""
PLATEAU_XTOL = 0.05
"""Accuracy of the onset of a plateau, in log(alpha)."""


class MinimaxOptimum(NamedTuple):
    """The alpha with the smallest worst-case regret.

    Args:
        alpha: packets.
        regret: worst-case regret there, a difference of |log(ratio / target)|.
        slope: derivative by log(alpha) of the middle between highest and lowest log(ratio).
        least: the least |log(ratio / target)| that any alpha gives in each scenario; (scenarios,).
        best_alphas: the alpha that gives it, packets; (scenarios,).
        evaluation: distances from the target and slopes at the optimum.
        evaluations: how often all scenarios were integrated.
    """

    alpha: float
    regret: float
    slope: float
    least: Vector
    best_alphas: Vector
    evaluation: MinimaxEvaluation
    evaluations: int


def search_minimax(fluids: ScenarioFluids, start: float, low: float, high: float) -> MinimaxOptimum:
    """Find the alpha whose worst-case regret over all scenarios' fluid models is smallest.

    Args:
        fluids: the scenarios.
        start: first alpha, such as the best one of one scenario, packets.
        low: the smallest alpha, packets.
        high: the largest, packets.

    Returns:
        Alpha in packets, its regret, and each scenario's distance from the target.

    Raises:
        SolveFailed: where a fluid model cannot be integrated.
    """
    first, last = math.log(low), math.log(high)
    grid = np.linspace(first, last, GRID_POINTS).tolist()
    points = sorted({*grid, min(max(math.log(start), first), last)})
    fluids.explore(points)
    least, _ = _best_achievable(fluids)
    regrets = [_regret(fluids.at(x), least) for x in points]
    best = int(np.argmin(regrets))
    ends = points[max(best - 1, 0)], points[min(best + 1, len(points) - 1)]
    _run_slsqp(fluids, least, points[best], ends)
    least, best_logs = _best_achievable(fluids)
    x = min(fluids.known, key=lambda x: _regret(fluids.at(x), least) + TIE_BREAK * x)
    if abs(_slope(fluids, x, least)) < FLAT:
        x = _plateau_onset(fluids, least, x)
    evaluation = fluids.at(x)
    return MinimaxOptimum(
        alpha=math.exp(x),
        regret=_regret(evaluation, least),
        slope=_slope(fluids, x, least),
        least=least,
        best_alphas=np.exp(best_logs),
        evaluation=evaluation,
        evaluations=len(fluids.known),
    )


def _regret(evaluation: MinimaxEvaluation, least: Vector) -> float:
    """Worst-case regret at one alpha: largest |log(ratio / target)| - `least` of a scenario."""
    return float(np.max(np.abs(evaluation.distances) - least))


def _slope(fluids: ScenarioFluids, x: float, least: Vector) -> float:
    """Slope of the middle between the highest and lowest scenario's log(ratio), at log(alpha) = x.

    The highest is found after subtracting the least possible distance from each log(ratio), the
    lowest after adding it.
    """
    distances, slopes = fluids.at(x).distances, fluids.slopes_at(x)
    above, below = int(np.argmax(distances - least)), int(np.argmin(distances + least))
    return float(slopes[above] + slopes[below]) / 2


def _best_achievable(fluids: ScenarioFluids) -> tuple[Vector, Vector]:
    """Least |log(ratio / target)| of each scenario, and the log(alpha) that gives it; (scenarios,).

    From all evaluations so far. Where the ratio rises through the target between two alphas, the
    least is 0, at a log(alpha) that is interpolated.
    """
    xs = np.array(sorted(fluids.known))
    distances = np.array([fluids.at(float(x)).distances for x in xs])
    least, best_logs = [], []
    for column in distances.T:
        crossings = np.flatnonzero((column[:-1] <= 0) & (column[1:] >= 0))
        if crossings.size:
            left = crossings[0]
            before, after = column[left], column[left + 1]
            fraction = -before / (after - before) if after > before else 0.0
            least.append(0.0)
            best_logs.append(xs[left] + fraction * (xs[left + 1] - xs[left]))
        else:
            least.append(float(np.min(np.abs(column))))
            best_logs.append(xs[np.argmin(np.abs(column))])
    return np.array(least), np.array(best_logs)


def _plateau_onset(fluids: ScenarioFluids, least: Vector, best: float) -> float:
    """Smallest log(alpha) whose worst-case regret exceeds that at `best` by 0.01 at most.

    Args:
        fluids: fluid models of the scenarios.
        least: least |log(ratio / target)| of each scenario.
        best: a log(alpha) on the plateau.
    """
    largest = _regret(fluids.at(best), least) + PLATEAU_TOLERANCE

    def excess_at(x: float) -> float:
        """Largest regret that counts as equally good, minus the regret at log(alpha) = x."""
        excesses[x] = largest - _regret(fluids.at(x), least)
        return excesses[x]

    excesses: dict[float, float] = {}
    for x in list(fluids.known):
        excess_at(x)
    return plateau_onset(excess_at, excesses, best, best, PLATEAU_XTOL, bisect)


def _run_slsqp(
    fluids: ScenarioFluids, least: Vector, start: float, ends: tuple[float, float]
) -> None:
    """Minimise the worst-case regret over log(alpha) by SLSQP; results are in `fluids.known`.

    Args:
        fluids: fluid models of the scenarios.
        least: least |log(ratio / target)| of each scenario.
        start: first log(alpha), alpha in packets.
        ends: smallest and largest log(alpha).
    """

    def constraint_values(point: np.ndarray) -> np.ndarray:
        """Bound on the regret minus the regret of each scenario, above and below the target.

        At a point (log(alpha), bound); (2, scenarios).
        """
        distances = fluids.at(float(point[0])).distances
        return point[1] + least - np.concatenate([[distances], [-distances]]).reshape(2, -1)

    def constraint_slopes(point: np.ndarray) -> np.ndarray:
        """Derivatives of `constraint_values` by log(alpha) and the bound; (2 scenarios, 2)."""
        by_x = fluids.slopes_at(float(point[0]))
        return np.stack([np.concatenate([-by_x, by_x]), np.ones(2 * by_x.size)], axis=1)

    constraint = {
        "type": "ineq",
        "fun": lambda point: constraint_values(point).ravel(),
        "jac": constraint_slopes,
    }
    minimize(
        lambda point: point[1] + TIE_BREAK * point[0],
        [start, _regret(fluids.at(start), least)],
        jac=lambda point: np.array([TIE_BREAK, 1.0]),
        method="SLSQP",
        bounds=[ends, (0.0, None)],
        constraints=[constraint],
        options={"ftol": FTOL, "maxiter": MAX_ITERATIONS},
    )
