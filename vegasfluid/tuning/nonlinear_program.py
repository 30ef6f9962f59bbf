"""The best setting of several parameters on the fluid model: a goal, within limits.

Sequential quadratic programming (SciPy's SLSQP) over the logarithms of the parameters, with the
exact derivatives of the delay equations. Where several parameters are tuned many settings are as
good, and the one with the smallest queueing delay is taken. Constraints that no setting satisfies
are relaxed as far as the setting needs that violates them least.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy.optimize import minimize

from vegasfluid.tuning.constraints import Constraint, Constraints
from vegasfluid.tuning.fluid_gradients import DifferentiableFluid, Outputs, broyden
from vegasfluid.tuning.objectives import Objective, Rates, ShareRatio

__all__ = ["NonlinearProgram", "SurrogateCorrection", "minimise_delay", "solve"]

Vector = np.ndarray
Margin = Callable[[Vector], float]
"""The gain margin of the rest at the logarithms of the parameters."""

REGION, REGIONS = 1.5, 4
"""A problem is solved within so much of its beginning, in logarithms; and from there again."""
NEAR = 0.005
"""Where several parameters are tuned, tolerance of the ratio, in logarithms."""
WEIGHT = 1000.0
"""Of a loss, where queueing delay (in logarithms) is minimised with it."""
BROKEN = 1e-3
"""A limit that is broken by less, in logarithms, is kept to."""
DIFFERENCE = 0.02
"""Step of the gain margin's derivative, which is by differences, in logarithms."""
STEPS = 25
"""Of a search."""
EXACT, EXACT_DELAY = 1e-6, 1e-4
"""Changes of a loss, and of one with the logarithm of the delay, at which the search ends."""
SMALLEST = 1e-12


class SurrogateCorrection(NamedTuple):
    """How the packets' outputs differ from the fluid's near a setting, in logarithms.

    Args:
        at: the setting; (parameters,).
        level: packets over fluid there; each output's shape.
        tilt: how that changes with the parameters; with a last axis of parameters.
    """

    at: Vector
    level: Outputs
    tilt: Outputs

    def correct(self, found: Outputs, slopes: Outputs, x: Vector) -> tuple[Outputs, Outputs]:
        """Outputs as the packets would have them, and their derivatives."""
        values, derived = [], []
        for of, slope, level, tilt in zip(found, slopes, self.level, self.tilt, strict=True):
            value = of * np.exp(level + tilt @ (x - self.at))
            relative = slope / np.maximum(of, SMALLEST)[..., np.newaxis] + tilt
            values.append(value)
            derived.append(value[..., np.newaxis] * relative)
        return Outputs(*values), Outputs(*derived)

    def with_values(self, at: Vector, level: Outputs) -> SurrogateCorrection:
        """The misfit as a further measurement has it (Broyden's update of the tilt)."""
        changes = Outputs(*(new - old for new, old in zip(level, self.level, strict=True)))
        return SurrogateCorrection(at, level, broyden(self.tilt, changes, at - self.at))


class Line(NamedTuple):
    """A linear function of the parameters' logarithms.

    Args:
        at: a setting; (parameters,).
        there: its value there.
        slope: (parameters,).
    """

    at: Vector
    there: float
    slope: Vector

    def value(self, x: Vector) -> float:
        """Its value at another setting."""
        return self.there + float(self.slope @ (x - self.at))


@dataclass
class NonlinearProgram:
    """What is to be solved.

    Args:
        fluid: the model, as a function of the logarithms of the parameters.
        goal: what is wanted.
        limits: what must be kept to.
        tuned: of each group, as `goals.Rates` has it; (groups,).
        fair: an equal part of the link, packets/s.
        bounds: of each parameter, in logarithms.
        margin: the gain margin, where it is limited.
        room: the buffer, packets, where RED is tuned (the last three parameters); its thresholds
            must fit in.
        free: whether many settings are as good, so that the one with the smallest delay is taken.
        line: the logarithm of the gain margin near where a solution begins.
        misfit: how the packets differ from the fluid, if that is known.
        reach: how far a solution may be from where it begins, in logarithms; None: anywhere.
    """

    fluid: DifferentiableFluid
    goal: Objective
    limits: Constraints
    tuned: Vector
    fair: float
    bounds: list[tuple[float, float]]
    margin: Margin | None = None
    room: float | None = None
    free: bool = False
    line: Line | None = None
    misfit: SurrogateCorrection | None = None
    reach: float | None = None

    def outputs(self, x: Vector) -> tuple[Outputs, Outputs]:
        """Corrected outputs, and their derivatives by the parameters' logarithms."""
        found, slopes = self.fluid.at(x)
        return (found, slopes) if self.misfit is None else self.misfit.correct(found, slopes, x)

    def rates(self, goodput: Any) -> Rates:
        """What the goal judges by."""
        return Rates(goodput, self.fluid.count, self.tuned, self.fair)

    def loss(self, goal: Objective, x: Vector) -> tuple[float, Vector]:
        """A goal's loss, and its derivatives."""
        value, slope = self.derived(goal.loss, x)
        return float(value), slope

    def derived(self, of_rates: Callable[[Rates], Any], x: Vector) -> tuple[Vector, Vector]:
        """A function of the goodputs, of any shape, and its derivatives (last axis)."""
        found, slopes = self.outputs(x)
        numbers = tuple(map(float, self.fluid.count)), tuple(map(float, self.tuned)), self.fair
        value, slope = with_jacobian(of_rates, *numbers)(jnp.asarray(found.goodput))
        return np.asarray(value), np.asarray(slope) @ slopes.goodput

    def delay(self, x: Vector) -> tuple[float, Vector]:
        """The logarithm of the queueing delay, and its derivatives."""
        found, slopes = self.outputs(x)
        least = max(float(found.queueing_delay), 1e-9)
        return float(np.log(least)), np.asarray(slopes.queueing_delay) / least

    def room_of(self, limit: Constraint, x: Vector) -> tuple[float, Vector]:
        """How far a limit is, in logarithms, and its derivatives."""
        if limit.of == "gain_margin":
            return self.room_of_margin(limit, x)
        found, slopes = self.outputs(x)
        value = max(float(getattr(found, limit.field)), SMALLEST)
        return limit.room(value), limit.slope(value, np.asarray(getattr(slopes, limit.field)))

    def room_of_margin(self, limit: Constraint, x: Vector) -> tuple[float, Vector]:
        """The same of the gain margin, along the line that `linearised` drew."""
        assert self.line is not None
        return limit.room(math.exp(self.line.value(x))), self.line.slope

    def linearised(self, x: Vector) -> NonlinearProgram:
        """The problem with the gain margin as a straight line in logarithms near a setting.

        A margin takes a second: it is evaluated once, and once more for each parameter.
        """
        if self.limits.gain_margin is None:
            return self
        assert self.margin is not None
        margins = [self.margin(at) for at in (x, *(x + DIFFERENCE * np.eye(len(x))))]
        logs = np.log(np.clip(margins, SMALLEST, 1 / SMALLEST))
        return replace(self, line=Line(x, float(logs[0]), (logs[1:] - logs[0]) / DIFFERENCE))

    def fits(self, x: Vector) -> tuple[float, Vector]:
        """Whether RED's thresholds are within the buffer: above 0; and its derivatives."""
        assert self.room is not None
        thresholds = np.zeros(len(x))
        thresholds[-3:-1] = np.exp(x[-3:-1])
        total = float(thresholds.sum())
        return float(np.log(self.room / total)), -thresholds / total

    def kept(self, x: Vector) -> tuple[Vector, Vector]:
        """All that must not be below 0; (limits,), and derivatives; (limits, parameters)."""
        found = [self.room_of(limit, x) for limit in self.limits.each]
        if self.room is not None:
            found.append(self.fits(x))
        values = np.array([np.clip(value, -1e3, 1e3) for value, _ in found])
        return values, np.array([slope for _, slope in found]).reshape(len(found), len(x))

    def broken(self, x: Vector) -> tuple[float, Vector]:
        """By how much limits are broken: the sum of squares, and its derivatives."""
        values, slopes = self.kept(x)
        under = np.minimum(values, 0.0)
        return float(under @ under), 2 * under @ slopes


@cache
def with_jacobian(
    of_rates: Callable[[Rates], Any],
    count: tuple[float, ...],
    tuned: tuple[float, ...],
    fair: float,
) -> Callable[[Any], tuple[Any, Any]]:
    """Compiled: what follows from goodputs, and its Jacobian by them.

    Args:
        of_rates: what follows, of any shape.
        count: flows of each group.
        tuned: see `Rates`.
        fair: an equal part of the link, packets/s.
    """

    def value(goodput: Any) -> Any:
        return of_rates(Rates(goodput, np.array(count), np.array(tuned), fair))

    return jax.jit(lambda goodput: (value(goodput), jax.jacrev(value)(goodput)))


def solve(problem: NonlinearProgram, *starts: Vector) -> Vector:
    """The logarithms of the best setting: a search finds a local one, from each beginning.

    Of alphas alone the first that reaches the goal will do.

    Args:
        problem: what is to be solved.
        starts: where to begin, at least one.

    Raises:
        SolveFailed: where the fluid model cannot be integrated.
    """
    problem = problem.linearised(np.clip(starts[0], *np.array(problem.bounds).T))
    *_, goal = problem.goal.stages

    def rank(x: Vector) -> tuple[float, float]:
        delay = problem.delay(x)[0] if problem.free else 0.0
        broken = max(problem.broken(x)[0] - BROKEN**2, 0.0)
        return broken, WEIGHT * problem.loss(goal, x)[0] + delay

    found = []
    for start in starts:
        found.append(solved(problem, start))
        broken, loss = rank(found[-1])
        if not problem.free and broken == 0 and loss < WEIGHT * NEAR**2:
            break
    return min(found, key=rank)


def solved(problem: NonlinearProgram, start: Vector) -> Vector:
    """A local solution; where limits are broken, the one that breaks them less."""
    low, high = np.array(problem.bounds).T
    x = np.clip(start, low, high)
    if problem.reach is not None:
        low, high = np.maximum(low, x - problem.reach), np.minimum(high, x + problem.reach)
        problem = replace(problem, bounds=list(zip(low, high, strict=True)))
    found = staged(problem, x)
    if problem.broken(found)[0] <= BROKEN**2:
        return found
    least = within_regions(problem, problem.broken, None, x)
    other = staged(replace(problem, limits=relaxed(problem, least)), least)
    return min((found, other), key=lambda at: problem.broken(at)[0])


def minimise_delay(problem: NonlinearProgram, start: Vector) -> Vector:
    """The logarithms of the setting with the smallest queueing delay within the limits."""
    return within_regions(problem, problem.delay, problem.kept, start)


def staged(problem: NonlinearProgram, x: Vector) -> Vector:
    """Solve for the goal's stages in turn."""
    for goal in problem.goal.stages:
        x = solve_stage(problem, goal, x)
    return x


def relaxed(problem: NonlinearProgram, least: Vector) -> Constraints:
    """The limits as wide as they must be for a setting that breaks them least."""
    rooms = problem.kept(least)[0]
    bounds = {}
    for limit, room in zip(problem.limits.each, rooms, strict=False):  # the buffer comes last
        if room < 0:
            wider = math.exp(BROKEN - room)
            bounds[limit.field] = limit.bound * wider if limit.largest else limit.bound / wider
    return replace(problem.limits, **bounds)


def solve_stage(problem: NonlinearProgram, goal: Objective, x: Vector) -> Vector:
    """Solve for one smooth goal.

    Of alphas alone the loss is minimised. With RED's numbers many settings are as good: then the
    queueing delay is minimised, with the ratios as constraints, or with the loss as a part of what
    is minimised.
    """
    if not problem.free:
        return within_regions(problem, lambda at: problem.loss(goal, at), problem.kept, x)
    if isinstance(goal, ShareRatio):

        def kept(at: Vector) -> tuple[Vector, Vector]:
            distances, along = problem.derived(goal.distances, at)
            values, slopes = problem.kept(at)
            sides = [NEAR - distances, NEAR + distances]
            return np.concatenate([values, *sides]), np.vstack([slopes, -along, along])

        return within_regions(problem, problem.delay, kept, x)

    def both(at: Vector) -> tuple[float, Vector]:
        loss, slope = problem.loss(goal, at)
        delay, along = problem.delay(at)
        return WEIGHT * loss + delay, WEIGHT * slope + along

    return within_regions(problem, both, problem.kept, x)


def within_regions(
    problem: NonlinearProgram,
    objective: Callable[[Vector], tuple[float, Vector]],
    kept: Callable[[Vector], tuple[Vector, Vector]] | None,
    x: Vector,
) -> Vector:
    """Minimise, region by region, until the best is inside one."""
    for _ in range(REGIONS):
        low, high = np.array(problem.bounds).T
        near, far = np.maximum(low, x - REGION), np.minimum(high, x + REGION)
        found = minimised(objective, kept, x, list(zip(near, far, strict=True)))
        moved = np.abs(found - x) > REGION - 1e-6
        x = found
        if not moved.any():
            break
    return x


def minimised(
    objective: Callable[[Vector], tuple[float, Vector]],
    kept: Callable[[Vector], tuple[Vector, Vector]] | None,
    x: Vector,
    bounds: list[tuple[float, float]],
) -> Vector:
    """One run of SLSQP; where it ends worse than it began, the beginning."""
    limited = kept is not None and len(kept(x)[0]) > 0
    found = minimize(
        objective,
        x,
        jac=True,
        method="SLSQP",
        bounds=bounds,
        constraints=[{"type": "ineq", "fun": lambda at: kept(at)[0], "jac": lambda at: kept(at)[1]}]
        if kept is not None and limited
        else [],
        options={"maxiter": STEPS, "ftol": EXACT if len(x) == 1 else EXACT_DELAY},
    )
    at = np.clip(found.x, *np.array(bounds).T)

    def merit(x: Vector) -> tuple[float, float]:
        worst = -float(np.min(kept(x)[0])) if kept is not None and limited else 0.0
        return max(worst - BROKEN, 0.0), objective(x)[0]

    return min((at, x), key=merit)
