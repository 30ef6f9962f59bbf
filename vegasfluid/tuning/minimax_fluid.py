"""The alpha with the smallest worst-case regret on the fluid model, over several networks at once.

**Regret** of an alpha in a network: how much farther its log(ratio) is from the goal than that of
the alpha that is best there. Where an alpha that reaches the goal exists, that is the distance to
the goal itself; a network in which none does asks for its best, and does not dictate.

The smallest worst-case regret is a problem in two unknowns, x = log(alpha) and a bound t:
minimise t such that +d_s(x) - b_s <= t and -d_s(x) - b_s <= t for each network s, with d_s its
log(ratio / goal) and b_s the least |d_s|. The slopes d_s' are exact (`gradients`). All networks
are integrated side by side by one compiled function: their numbers are its arguments, and what of
the equations is structure (steps, the longest lag) is taken wide enough for all.

Sources:
    The form with a bound: S. Boyd and L. Vandenberghe, "Convex Optimization", 2004, section 4.1.3
    (title read). Solved by SciPy's SLSQP.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple, cast

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.optimize import minimize

from vegasfluid import dde
from vegasfluid.errors import SolveFailed
from vegasfluid.fluid.parameters import FluidParameters
from vegasfluid.parallel import parallel_map
from vegasfluid.tuning.fluid_gradients import FluidSpec, make_spec, outputs
from vegasfluid.tuning.objectives import Rates, ShareRatio
from vegasfluid.tuning.parameters import AlphaParameter
from vegasfluid.tuning.scenarios import Scenario

__all__ = ["MinimaxEvaluation", "MinimaxOptimum", "ScenarioFluids", "search_robust"]

WALK = 6
"""Points of the walk from the smallest to the largest log(alpha)."""
TIE_BREAK = 1e-3
"""Weight of log(alpha): of alphas with about the same regret, the smaller has the smaller queue."""
TOLERANCE = 1e-5
"""Of the regret, in log(ratio)."""
MOST_STEPS = 25
FLAT = 1e-3
"""A smaller slope is a plateau's."""
KNEE, FINE_STEP = 0.01, 0.05
"""There the smallest alpha within this of the least regret is taken; and how finely it is looked
for, in log(alpha)."""

Numbers = Float[np.ndarray, " networks"]


class MinimaxEvaluation(NamedTuple):
    """What the fluid model says at one alpha.

    Args:
        distances: log(ratio / goal) in each network; (networks,).
        slopes: their derivatives by log(alpha); (networks,).
    """

    distances: Numbers
    slopes: Numbers


class MinimaxOptimum(NamedTuple):
    """Where the worst-case regret is smallest.

    Args:
        alpha: packets.
        regret: the worst, in log(ratio).
        slope: of the middle between the worst above and the worst below, by log(alpha).
        floors: the least |log(ratio / goal)| of each network; (networks,).
        own: the alpha at which each network has that, packets; (networks,).
        outlook: what the fluid model says there.
        evaluations: how often all networks were integrated.
    """

    alpha: float
    regret: float
    slope: float
    floors: Numbers
    own: Numbers
    outlook: MinimaxEvaluation
    evaluations: int


@partial(jax.jit, static_argnames="task")
def _distances_and_slopes(
    log_alpha: Float[Array, ""], posed: FluidParameters, task: FluidSpec
) -> tuple[Array, Array, dde.Solution]:
    def all_at(x: Float[Array, ""]) -> tuple[Array, dde.Solution]:
        return jax.vmap(lambda one: _log_ratio(x, one, task))(posed)

    values, slopes, solutions = jax.jvp(
        all_at, (log_alpha,), (jnp.ones_like(log_alpha),), has_aux=True
    )
    return values, slopes, solutions


def _log_ratio(
    x: Float[Array, ""], posed: FluidParameters, task: FluidSpec
) -> tuple[Array, dde.Solution]:
    """The log of the ratio at a log(alpha), and the end of the solution."""
    found, solution = outputs(x[jnp.newaxis], posed, task)
    parameter = cast(AlphaParameter, task.parameters[0])
    own = np.zeros(sum(task.plan.groups))
    own[list(task.plan.classes)[parameter.number]] = 1.0
    count = jnp.asarray(posed.groups.count, float)
    rates = Rates(found.goodput, count, own, 1.0)
    return ShareRatio(1.0).distances(rates)[0], solution


def alpha_of(scenario: Scenario, tuned: str) -> tuple[AlphaParameter]:
    """The tuned parameter: alpha, with the dead zone of the network's law."""
    network = scenario.network
    law: Any = network.flows[tuned].law
    return (AlphaParameter(tuned, list(network.flows).index(tuned), law.beta - law.alpha),)


class _Batch(NamedTuple):
    """Networks whose equations have one structure.

    Args:
        places: their numbers in the order of the scenarios.
        posed: their numbers, each with an axis for the networks in front.
        task: the structure.
    """

    places: list[int]
    posed: FluidParameters
    task: FluidSpec


class ScenarioFluids:
    """The fluid models of several networks, evaluated together at an alpha.

    Args:
        scenarios: the networks, with the tuned class's law.
        tuned: the class that is tuned.
        goal: the ratio to reach.
        until: simulated time, s.
        warmup: time that the ratio leaves out, s.
    """

    def __init__(
        self,
        scenarios: Sequence[Scenario],
        tuned: str,
        *,
        goal: float,
        until: float,
        warmup: float,
    ) -> None:
        self._scenarios, self._log_goal = scenarios, math.log(goal)
        made = [make_spec(of.network, alpha_of(of, tuned), until, warmup) for of in scenarios]
        self._batches = _batched(made)
        self._known: dict[float, MinimaxEvaluation] = {}

    @property
    def known(self) -> dict[float, MinimaxEvaluation]:
        """What was evaluated so far, by log(alpha)."""
        return self._known

    def at(self, log_alpha: float) -> MinimaxEvaluation:
        """Distances and slopes of all networks, evaluated once an alpha.

        Raises:
            SolveFailed: where a fluid model cannot be integrated; with the numbers of its network.
        """
        if log_alpha not in self._known:
            self._known[log_alpha] = self._evaluate(log_alpha)
        return self._known[log_alpha]

    def explore(self, log_alphas: Sequence[float]) -> None:
        """Evaluate several alphas, some at a time once the first of all has compiled the code."""
        if not self._known:
            self.at(log_alphas[0])
        parallel_map(self.at, log_alphas)

    def _evaluate(self, log_alpha: float) -> MinimaxEvaluation:
        distances, slopes = (np.zeros(len(self._scenarios)) for _ in range(2))
        for places, posed, task in self._batches:
            x = jnp.asarray(log_alpha, float)
            values, derivatives, solutions = _distances_and_slopes(x, posed, task)
            for number, place in enumerate(places):
                self._check(jax.tree.map(lambda leaf, own=number: leaf[own], solutions), place)
            distances[places] = np.asarray(values) - self._log_goal
            slopes[places] = np.asarray(derivatives)
        return MinimaxEvaluation(distances, slopes)

    def _check(self, solution: dde.Solution, place: int) -> None:
        try:
            dde.check(solution)
        except SolveFailed as failed:
            raise SolveFailed(f"{self._scenarios[place].text}: {failed}") from failed


def _batched(made: Sequence[tuple[FluidParameters, FluidSpec]]) -> list[_Batch]:
    """The equations of several networks, together where their structure is the same.

    Numbers of flows below the number of parts into which random starts are told change it.
    """
    alike: dict[Any, list[int]] = {}
    for place, (posed, task) in enumerate(made):
        key = (task.plan.groups, task.plan.hops, jax.tree.structure(posed))
        alike.setdefault(key, []).append(place)
    found = []
    for places in alike.values():
        tasks = [made[place][1] for place in places]
        posed = jax.tree.map(_stacked, *(made[place][0] for place in places))
        found.append(_Batch(places, posed, _common(tasks)))
    return found


def _stacked(*leaves: Any) -> Array:
    return jnp.asarray(np.stack([np.asarray(leaf, float) for leaf in leaves]))


def _common(tasks: Sequence[FluidSpec]) -> FluidSpec:
    """The structure that serves all: the longest lag and the shortest step.

    Groups have one round-trip time in common only where they have in every network.
    """
    plans, grids = [task.plan for task in tasks], [task.grid for task in tasks]
    lags = list(zip(*(plan.lag for plan in plans), strict=True))
    distinct = list(dict.fromkeys(lags))
    plan = plans[0]._replace(lag=tuple(distinct.index(lag) for lag in lags))
    step, longest = min(of.step for of in grids), max(of.longest_lag for of in grids)
    grid = grids[0]._replace(step=step, longest_lag=longest)
    return tasks[0]._replace(plan=plan, grid=grid)


def search_robust(fluids: ScenarioFluids, start: float, low: float, high: float) -> MinimaxOptimum:
    """Find the alpha whose worst regret over all networks is smallest.

    Args:
        fluids: the networks.
        start: where to begin, such as the alpha of one of them, packets.
        low: the smallest alpha, packets.
        high: the largest, packets.

    Raises:
        SolveFailed: where a fluid model cannot be integrated.
    """
    first, last = math.log(low), math.log(high)
    walked = sorted(
        {*np.linspace(first, last, WALK).tolist(), min(max(math.log(start), first), last)}
    )
    fluids.explore(walked)
    floors, _ = _least(fluids)
    worst = [_regret(fluids.at(x), floors) for x in walked]
    best = int(np.argmin(worst))
    ends = walked[max(best - 1, 0)], walked[min(best + 1, len(walked) - 1)]
    _minimise(fluids, floors, walked[best], ends)
    floors, own = _least(fluids)
    x = min(fluids.known, key=lambda x: _regret(fluids.at(x), floors) + TIE_BREAK * x)
    if abs(_slope(fluids.at(x), floors)) < FLAT:
        x = _knee(fluids, floors, x)
    outlook = fluids.at(x)
    return MinimaxOptimum(
        alpha=math.exp(x),
        regret=_regret(outlook, floors),
        slope=_slope(outlook, floors),
        floors=floors,
        own=np.exp(own),
        outlook=outlook,
        evaluations=len(fluids.known),
    )


def _regret(outlook: MinimaxEvaluation, floors: Numbers) -> float:
    return float(np.max(np.abs(outlook.distances) - floors))


def _slope(outlook: MinimaxEvaluation, floors: Numbers) -> float:
    """Of the middle between the network that is most above and the one that is most below."""
    above = int(np.argmax(outlook.distances - floors))
    below = int(np.argmin(outlook.distances + floors))
    return float(outlook.slopes[above] + outlook.slopes[below]) / 2


def _least(fluids: ScenarioFluids) -> tuple[Numbers, Numbers]:
    """The least |distance| of each network as far as is known, and the log(alpha) of it.

    Between two alphas on either side of the goal there is one that reaches it.
    """
    xs = np.array(sorted(fluids.known))
    distances = np.array([fluids.at(float(x)).distances for x in xs])
    floors, own = [], []
    for of in distances.T:
        passed = np.flatnonzero((of[:-1] <= 0) & (of[1:] >= 0))
        if passed.size:
            before, after = of[passed[0]], of[passed[0] + 1]
            part = -before / (after - before) if after > before else 0.0
            floors.append(0.0)
            own.append(xs[passed[0]] + part * (xs[passed[0] + 1] - xs[passed[0]]))
        else:
            floors.append(float(np.min(np.abs(of))))
            own.append(xs[np.argmin(np.abs(of))])
    return np.array(floors), np.array(own)


def _knee(fluids: ScenarioFluids, floors: Numbers, best: float) -> float:
    """The smallest log(alpha) that is nearly as good as `best`, where that lies on a plateau."""
    wanted = _regret(fluids.at(best), floors) + KNEE
    below = [x for x in fluids.known if x < best and _regret(fluids.at(x), floors) > wanted]
    low = max(below, default=best)
    while best - low > FINE_STEP:
        middle = (low + best) / 2
        if _regret(fluids.at(middle), floors) > wanted:
            low = middle
        else:
            best = middle
    return best


def _minimise(
    fluids: ScenarioFluids, floors: Numbers, start: float, ends: tuple[float, float]
) -> None:
    """Sequential quadratic programming for log(alpha) and the bound, between two alphas."""

    def room(of: np.ndarray) -> np.ndarray:
        distances = fluids.at(float(of[0])).distances
        return of[1] + floors - np.concatenate([[distances], [-distances]]).reshape(2, -1)

    def slopes(of: np.ndarray) -> np.ndarray:
        by_x = fluids.at(float(of[0])).slopes
        return np.stack([np.concatenate([-by_x, by_x]), np.ones(2 * by_x.size)], axis=1)

    minimize(
        lambda of: of[1] + TIE_BREAK * of[0],
        [start, _regret(fluids.at(start), floors)],
        jac=lambda of: np.array([TIE_BREAK, 1.0]),
        method="SLSQP",
        bounds=[ends, (0.0, None)],
        constraints=[{"type": "ineq", "fun": lambda of: room(of).ravel(), "jac": slopes}],
        options={"ftol": TOLERANCE, "maxiter": MOST_STEPS},
    )
