"""The alpha with the smallest worst-case regret on the fluid model, over all scenarios at once.

**Regret** of an alpha in a scenario: how much farther its log(ratio) is from the target than that
of the alpha that is best there. Where an alpha that reaches the target exists, that is the distance
to the target itself; a scenario in which none does asks for its best, and does not dictate.

The smallest worst-case regret is a problem in two unknowns, x = log(alpha) and a bound t:
minimise t such that +d_s(x) - b_s <= t and -d_s(x) - b_s <= t for each scenario s, with d_s its
log(ratio / target) and b_s the least |d_s|. The slopes d_s' are exact (`fluid_gradients`). One
compiled function integrates all scenarios, with steps and a history that fit every one of them.

Sources:
    The form with a bound: S. Boyd and L. Vandenberghe, "Convex Optimization", 2004, section 4.1.3
    (title read). Solved by SciPy's SLSQP.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, cast

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.optimize import bisect, minimize

from vegasfluid import dde
from vegasfluid.errors import SolveFailed
from vegasfluid.fluid.model import FluidModel
from vegasfluid.fluid.structure import FluidStructure
from vegasfluid.parallel import parallel_map
from vegasfluid.tuning.fluid_gradients import FluidSpec, make_spec, outputs
from vegasfluid.tuning.objectives import Rates, ShareRatio
from vegasfluid.tuning.parameters import AlphaParameter
from vegasfluid.tuning.scalar_root import PLATEAU_TOLERANCE, plateau_onset
from vegasfluid.tuning.scenarios import Scenario

__all__ = ["MinimaxEvaluation", "MinimaxOptimum", "ScenarioFluids", "search_minimax"]

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

Vector = Float[np.ndarray, " scenarios"]
"""One number for each scenario."""


class MinimaxEvaluation(NamedTuple):
    """Distances of the fluid models' goodput ratios from the target at one alpha.

    Args:
        distances: log(ratio / target) in each scenario; (scenarios,).
        slopes: derivatives of the distances by log(alpha); (scenarios,).
    """

    distances: Vector
    slopes: Vector


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


@partial(jax.jit, static_argnames="spec")
def _log_ratios_and_slopes(
    log_alpha: Float[Array, ""], models: FluidModel, spec: FluidSpec
) -> tuple[Array, Array, dde.Solution]:
    """log(goodput ratio) of a batch of scenarios and its derivative by log(alpha).

    Returns both as (scenarios,) and the solutions of the delay equations. Alpha in packets, for the
    class of `spec.parameters[0]`.
    """

    def batch_at(x: Float[Array, ""]) -> tuple[Array, dde.Solution]:
        """log(goodput ratio) of each scenario at log(alpha) = x; and the solutions."""
        return jax.vmap(lambda one: _log_ratio(x, one, spec))(models)

    values, slopes, solutions = jax.jvp(
        batch_at, (log_alpha,), (jnp.ones_like(log_alpha),), has_aux=True
    )
    return values, slopes, solutions


def _log_ratio(
    log_alpha: Float[Array, ""], model: FluidModel, spec: FluidSpec
) -> tuple[Array, dde.Solution]:
    """Log of a tuned flow's mean goodput over that of the other classes' flows, after warm-up.

    Returns it for one scenario at log(alpha), alpha in packets, and the solution of its equations.
    """
    values, solution = outputs(log_alpha[jnp.newaxis], model, spec)
    parameter = cast(AlphaParameter, spec.parameters[0])
    tuned = np.zeros(model.structure.group_count)
    tuned[list(model.structure.class_slices)[parameter.index]] = 1.0
    count = jnp.asarray(model.parameters.groups.count, float)
    rates = Rates(values.goodput, count, tuned, 1.0)
    return ShareRatio(1.0).distances(rates)[0], solution


def alpha_parameter(scenario: Scenario, tuned: str) -> tuple[AlphaParameter]:
    """Alpha of class `tuned` as the only tuned parameter; its dead band is the scenario's."""
    network = scenario.network
    law: Any = network.flows[tuned].law
    return (AlphaParameter(tuned, list(network.flows).index(tuned), law.beta - law.alpha),)


class _Batch(NamedTuple):
    """Scenarios whose equations have one structure.

    Args:
        indices: of the scenarios.
        models: their fluid models as one, each number with a first axis for the scenarios.
        spec: the structure.
    """

    indices: list[int]
    models: FluidModel
    spec: FluidSpec


class ScenarioFluids:
    """The fluid models of all scenarios, integrated side by side and cached by log(alpha).

    Args:
        scenarios: the networks, in which the tuned class has the dead band to use.
        tuned: the class that is tuned.
        target_ratio: desired goodput of a tuned flow over that of a flow of the other classes.
        until: simulated time, s.
        warmup: initial time that means leave out, s.
    """

    def __init__(
        self,
        scenarios: Sequence[Scenario],
        tuned: str,
        *,
        target_ratio: float,
        until: float,
        warmup: float,
    ) -> None:
        self._scenarios, self._log_target = scenarios, math.log(target_ratio)
        equations = [
            make_spec(one.network, alpha_parameter(one, tuned), until, warmup) for one in scenarios
        ]
        self._batches = _batches(equations)
        self._known: dict[float, MinimaxEvaluation] = {}

    @property
    def known(self) -> dict[float, MinimaxEvaluation]:
        """All evaluations so far, by log(alpha), alpha in packets."""
        return self._known

    def at(self, log_alpha: float) -> MinimaxEvaluation:
        """log(ratio / target) of each scenario at a log(alpha), and derivatives by it; cached.

        Raises:
            SolveFailed: where a fluid model cannot be integrated; names the scenario.
        """
        if log_alpha not in self._known:
            self._known[log_alpha] = self._evaluate(log_alpha)
        return self._known[log_alpha]

    def explore(self, log_alphas: Sequence[float]) -> None:
        """Evaluate all scenarios at several log(alpha) and cache the results.

        In parallel, once the first evaluation has compiled the code.
        """
        if not self._known:
            self.at(log_alphas[0])
        parallel_map(self.at, log_alphas)

    def _evaluate(self, log_alpha: float) -> MinimaxEvaluation:
        """Integrate all scenarios: their log(ratio / target) and derivatives by log(alpha)."""
        distances, slopes = (np.zeros(len(self._scenarios)) for _ in range(2))
        for indices, models, spec in self._batches:
            x = jnp.asarray(log_alpha, float)
            values, derivatives, solutions = _log_ratios_and_slopes(x, models, spec)
            for row, index in enumerate(indices):
                self._check(jax.tree.map(lambda leaf, row=row: leaf[row], solutions), index)
            distances[indices] = np.asarray(values) - self._log_target
            slopes[indices] = np.asarray(derivatives)
        return MinimaxEvaluation(distances, slopes)

    def _check(self, solution: dde.Solution, index: int) -> None:
        """Raise SolveFailed, naming scenario number `index`, if its integration failed."""
        try:
            dde.check(solution)
        except SolveFailed as failed:
            raise SolveFailed(f"{self._scenarios[index].text}: {failed}") from failed


def _batches(equations: Sequence[tuple[FluidModel, FluidSpec]]) -> list[_Batch]:
    """Group scenarios' fluid models that one compiled function can integrate together."""
    alike: dict[Any, list[int]] = {}
    for index, (model, _) in enumerate(equations):
        structure = model.structure
        sizes = structure.groups_per_class, structure.hops
        key = (*sizes, jax.tree.structure(model.parameters))
        alike.setdefault(key, []).append(index)
    batches = []
    for indices in alike.values():
        specs = [equations[index][1] for index in indices]
        models = [equations[index][0] for index in indices]
        numbers = jax.tree.map(_stacked, *(model.parameters for model in models))
        structure = _common_structure([model.structure for model in models])
        merged = replace(models[0], parameters=numbers, structure=structure)
        batches.append(_Batch(indices, merged, _common(specs)))
    return batches


def _stacked(*leaves: Any) -> Array:
    """One array from equal arrays of several scenarios; the first axis is the scenario."""
    return jnp.asarray(np.stack([np.asarray(leaf, float) for leaf in leaves]))


def _common(specs: Sequence[FluidSpec]) -> FluidSpec:
    """One static specification for several scenarios: their longest delay and shortest step, s."""
    grids = [spec.grid for spec in specs]
    step, longest = min(one.step for one in grids), max(one.longest_lag for one in grids)
    grid = grids[0]._replace(step=step, longest_lag=longest)
    return specs[0]._replace(grid=grid)


def _common_structure(structures: Sequence[FluidStructure]) -> FluidStructure:
    """One structure for several scenarios: flow groups share an RTT only if they do in each."""
    rtts = list(zip(*(structure.rtt_index for structure in structures), strict=True))
    distinct = list(dict.fromkeys(rtts))
    return structures[0]._replace(rtt_index=tuple(distinct.index(rtt) for rtt in rtts))


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
    if abs(_slope(fluids.at(x), least)) < FLAT:
        x = _plateau_onset(fluids, least, x)
    evaluation = fluids.at(x)
    return MinimaxOptimum(
        alpha=math.exp(x),
        regret=_regret(evaluation, least),
        slope=_slope(evaluation, least),
        least=least,
        best_alphas=np.exp(best_logs),
        evaluation=evaluation,
        evaluations=len(fluids.known),
    )


def _regret(evaluation: MinimaxEvaluation, least: Vector) -> float:
    """Worst-case regret at one alpha: largest |log(ratio / target)| - `least` of a scenario."""
    return float(np.max(np.abs(evaluation.distances) - least))


def _slope(evaluation: MinimaxEvaluation, least: Vector) -> float:
    """Slope by log(alpha) of the middle between the highest and lowest scenario's log(ratio).

    The highest is found after subtracting the least possible distance from each log(ratio), the
    lowest after adding it.
    """
    above = int(np.argmax(evaluation.distances - least))
    below = int(np.argmin(evaluation.distances + least))
    return float(evaluation.slopes[above] + evaluation.slopes[below]) / 2


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
        by_x = fluids.at(float(point[0])).slopes
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
