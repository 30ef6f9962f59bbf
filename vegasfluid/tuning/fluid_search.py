"""Gradient search for alpha on the fluid model.

The objective is (log(ratio) - log(goal))^2 with ratio the mean goodput of a tuned flow over that
of another flow: scale free, smooth, zero at the goal. Above saturation the ratio does not change
with alpha any more, so the search starts from below, and a small term in log(alpha) makes the
smallest alpha of the plateau (the smallest queue) the best.

The derivative is exact: the delay equations are differentiated in forward mode. SciPy's trust
region least squares drives, from Python: with a handful of evaluations of a compiled function
there is nothing to gain from compiling the optimiser too.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any, NamedTuple, cast

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.optimize import least_squares

from vegasfluid import dde
from vegasfluid.congestion.vegas import Vegas
from vegasfluid.fluid.pose import Posed, pose
from vegasfluid.fluid.recording import delivered
from vegasfluid.fluid.routes import Plan
from vegasfluid.fluid.simulate import Grid, grid_for, integrate
from vegasfluid.growth import place_in
from vegasfluid.network import Network
from vegasfluid.tuning.thresholds import largest_alpha, smallest_alpha, with_alpha

__all__ = ["FluidOptimum", "search"]

TIE_BREAK = 1e-3
"""Weight of log(alpha): moves the optimum by less than 1e-5, but gives the plateau a slope."""
TOLERANCE = 1e-4
"""Relative accuracy of alpha; the dialects take whole numbers."""
WALK = 13
"""Points of the walk up from below."""
FLAT = 1e-3
"""A slope d log(ratio) / d log(alpha) below this is a plateau's."""
KNEE = 0.01
"""On a plateau below the goal, the smallest alpha within this of the best log(ratio) is taken."""
FINE_STEP = 0.05
"""Steps of log(alpha) in which it is looked for."""
MARGIN = 0.1
"""How far the search may leave the interval that the walk found, in log(alpha)."""
REACHED = 0.01
"""How far from the goal the fluid's ratio may end and still count as there."""


class FluidOptimum(NamedTuple):
    """What the fluid model says.

    Args:
        alpha: packets.
        ratio: the fluid's ratio there.
        slope: d log(ratio) / d log(alpha) there.
        reached: whether the ratio is the goal's.
        evaluations: fluid runs with their derivative.
    """

    alpha: float
    ratio: float
    slope: float
    reached: bool
    evaluations: int


class Point(NamedTuple):
    """What was found at one alpha.

    Args:
        distance: log(ratio / goal).
        slope: d log(ratio) / d log(alpha).
    """

    distance: float
    slope: float


class Task(NamedTuple):
    """What stays the same during a search; hashable, so that it can be a static argument."""

    plan: Plan
    grid: Grid
    tuned: int
    warmup: float


def class_goodput(
    ys: Float[Array, "time n"], posed: Posed, task: Task
) -> tuple[Float[Array, " classes"], Float[Array, " classes"]]:
    """Packets that a flow of each class delivered after the warm-up, and the flows of each."""
    gained = delivered(ys, task.plan)
    times = np.linspace(0.0, task.grid.until, task.grid.samples)
    after, part = place_in(times, task.warmup)
    at_warmup = (1 - part) * gained[after - 1] + part * gained[after]
    total = (gained[-1] - at_warmup) * posed.groups.count
    parts = list(task.plan.classes)
    counts = jnp.stack([jnp.sum(posed.groups.count[part]) for part in parts])
    return jnp.stack([jnp.sum(total[part]) for part in parts]) / counts, counts


def log_ratio(log_alpha: Float[Array, ""], posed: Posed, task: Task) -> tuple[Array, dde.Solution]:
    """Log of the ratio at an alpha, and the solution that it comes from."""
    laws = list(posed.laws)
    tuned_law = laws[task.tuned]
    assert isinstance(tuned_law, Vegas)
    zone = cast(Any, tuned_law.beta) - cast(Any, tuned_law.alpha)
    laws[task.tuned] = with_alpha(tuned_law, jnp.exp(log_alpha), zone)
    solution = integrate(posed._replace(laws=tuple(laws)), task.plan, task.grid)
    rates, counts = class_goodput(solution.ys, posed, task)
    others = jnp.where(jnp.arange(len(laws)) == task.tuned, 0.0, counts)
    other = jnp.sum(rates * others) / jnp.sum(others)
    return jnp.log(rates[task.tuned] / other), solution


@partial(jax.jit, static_argnames="task")
def log_ratio_and_slope(
    log_alpha: Float[Array, ""], posed: Posed, task: Task
) -> tuple[Array, Array, dde.Solution]:
    """Log of the ratio, its derivative by log(alpha), and the solution."""
    (value, solution), (slope, _) = jax.jvp(
        lambda x: log_ratio(x, posed, task), (log_alpha,), (jnp.ones_like(log_alpha),)
    )
    return value, slope, solution._replace(ys=solution.ys[-1:])


class Objective:
    """The residuals of the least squares problem over x = log(alpha / start).

    Args:
        posed: the numbers of the equations.
        task: what is searched.
        goal: the ratio to reach.
    """

    def __init__(self, posed: Posed, task: Task, goal: float) -> None:
        self._posed, self._task, self._log_goal = posed, task, math.log(goal)
        self._known: dict[float, Point] = {}
        self.start = 0.0

    @property
    def evaluations(self) -> int:
        """How many points were evaluated."""
        return len(self._known)

    @property
    def nearest(self) -> float:
        """The evaluated log(alpha) nearest to the goal; of several as near, the smallest."""
        return min(self._known, key=lambda x: (abs(self._known[x].distance), x))

    def at(self, log_alpha: float) -> Point:
        """Distance to the goal and its slope, evaluated once a point."""
        if log_alpha not in self._known:
            self._known[log_alpha] = self.evaluate(log_alpha)
        return self._known[log_alpha]

    def evaluate(self, log_alpha: float) -> Point:
        """Distance to the goal and its slope, by a run of the fluid model with its derivative."""
        x = jnp.asarray(log_alpha, float)
        value, slope, solution = log_ratio_and_slope(x, self._posed, self._task)
        dde.check(solution)
        return Point(float(value) - self._log_goal, float(slope))

    def residuals(self, x: np.ndarray) -> np.ndarray:
        """Distance to the goal, and the tie-break."""
        return np.array([self.at(self.start + float(x[0])).distance, TIE_BREAK * x[0]])

    def jacobian(self, x: np.ndarray) -> np.ndarray:
        """The derivative of the residuals by x."""
        return np.array([[self.at(self.start + float(x[0])).slope], [TIE_BREAK]])


def make_task(
    network: Network, tune: str, until: float, warmup: float, samples: int = 201
) -> tuple[Posed, Task]:
    """The equations of a network, and what of them is searched."""
    posed, plan = pose(network)
    grid = grid_for(network, until, samples)
    return posed, Task(plan, grid, list(network.flows).index(tune), warmup)


def approach(objective: Objective, low: float, high: float) -> tuple[float, float]:
    """Walk up from below, in equal steps of log(alpha), to the goal or along the plateau.

    Returns:
        The last point below the goal that has a slope, and the first point at or above the goal
        (or the upper end): the gradient search runs between them.
    """
    walked = np.linspace(low, high, WALK)
    start = low
    for x in walked:
        point = objective.at(float(x))
        if point.distance >= 0:
            return start, float(x)
        if point.slope > FLAT:
            start = float(x)
    return start, high


def descend(objective: Objective, start: float, end: float) -> None:
    """Trust-region least squares from `start` up to `end`, in log(alpha)."""
    objective.start = start
    least_squares(
        objective.residuals,
        [0.0],
        objective.jacobian,  # type: ignore[arg-type]
        bounds=([-MARGIN], [end - start + MARGIN]),
        xtol=TOLERANCE,
        ftol=TOLERANCE,
        gtol=TOLERANCE**2,
    )


def knee(objective: Objective, low: float, best: float) -> float:
    """The first log(alpha) that is nearly as good as `best`, where that lies on a plateau."""
    wanted = objective.at(best).distance - KNEE
    coarse = [x for x in np.linspace(low, best, WALK) if objective.at(float(x)).distance < wanted]
    begin = float(max(coarse, default=low))
    finer = np.arange(begin, best, FINE_STEP)
    return next((float(x) for x in finer if objective.at(float(x)).distance >= wanted), best)


def search(
    network: Network, tune: str, *, goal: float, until: float, warmup: float
) -> FluidOptimum:
    """Find the alpha at which the fluid model gives the wanted ratio.

    Args:
        network: one link, with a Vegas class to tune and another class.
        tune: the name of the class to tune; its dead zone, beta - alpha, is kept.
        goal: goodput of a tuned flow over that of another flow.
        until: simulated time, s.
        warmup: time that the ratio leaves out, s.

    Returns:
        The best alpha; `reached` says whether the ratio is the goal's.

    Raises:
        SolveFailed: where the fluid model cannot be integrated.
    """
    posed, task = make_task(network, tune, until, warmup)
    objective = Objective(posed, task, goal)
    law: Any = network.flows[tune].law
    low, high = math.log(smallest_alpha(law)), math.log(largest_alpha(network))
    start, end = approach(objective, low, high)
    if end > start:
        descend(objective, start, end)
    best = objective.nearest
    distance, slope = objective.at(best)
    if distance < -REACHED and abs(slope) < FLAT:
        best = knee(objective, low, best)
        distance, slope = objective.at(best)
    return FluidOptimum(
        alpha=math.exp(best),
        ratio=goal * math.exp(distance),
        slope=slope,
        reached=abs(distance) < REACHED,
        evaluations=objective.evaluations,
    )
