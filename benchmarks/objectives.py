"""The objectives that `benchmarks.search` minimises on the fluid model, and our searches."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy.optimize import brentq, minimize

import vegasfluid as vf
from benchmarks.peers import Enough, Judged, Trace
from vegasfluid.tuning.constraints import NO_CONSTRAINTS, Constraints
from vegasfluid.tuning.evaluate import Evaluator, make_evaluator
from vegasfluid.tuning.fluid_gradients import DifferentiableFluid, Outputs, make_spec, outputs
from vegasfluid.tuning.initial_guess import guess_alpha
from vegasfluid.tuning.nonlinear_program import TOLERANCE as FEASIBLE
from vegasfluid.tuning.nonlinear_program import NonlinearProgram, solve_program
from vegasfluid.tuning.objectives import ShareRatio
from vegasfluid.tuning.optimise import make_program
from vegasfluid.tuning.parameters import tunable_class, tuned_parameters
from vegasfluid.tuning.scalar_root import TOLERANCE, find_root
from vegasfluid.tuning.settings import RunSettings

__all__ = ["FourParameters", "OneParameter", "job_of", "small"]

NEAR = 1e-3
"""One parameter: the target, in log(ratio)."""
FAIR, CLOSE = 0.006, 0.01
"""Four parameters: how far off the ratio may be, and how far from our delay; in logarithms."""
WEIGHT = 3.0
"""Of what is broken, in logarithms, beside log(delay): of 1, 3, 10, 30 and 100 that with which the
first of the peers is there soonest."""
WORST = 1e3
"""The logarithm of what is no number."""
LONGEST = 1.5
"""A step of Newton's method, in log(alpha)."""


def job_of(network: vf.Network, until: float, warmup: float | None) -> Evaluator:
    """What `recommend` makes of a network."""
    return make_evaluator(
        network, tunable_class(network), 1.0, RunSettings(until=until, warmup=warmup)
    )


@dataclass
class OneParameter:
    """The squared distance of a network's ratio from 1, in logarithms, over log(alpha)."""

    job: Evaluator

    @property
    def bounds(self) -> list[tuple[float, float]]:
        """Of log(alpha)."""
        low, high = self.job.alpha_bounds
        return [(math.log(low), math.log(high))]

    @property
    def start(self) -> np.ndarray:
        """Where the model stands."""
        return np.log([float(self.job.law.alpha or 1)])

    def near(self) -> np.ndarray:
        """Where our search begins."""
        return np.log([guess_alpha(self.job.network, self.job.tuned, 1.0).alpha])

    def distance(self, alpha: float) -> float:
        """By a plain run, as `optimise.fluid_alpha` makes it."""
        law = self.job.law_at(jnp.asarray(alpha))
        ratio = self.job.evaluate_fluid(self.job.with_law(law))["ratio"]
        return math.log(ratio) if ratio > 0 else -WORST

    def judged(self, distance: float) -> Judged:
        """Objective to minimise, with whether the point reaches the goal and is allowed."""
        return Judged(distance**2, abs(distance) < NEAR)

    def judge(self, x: np.ndarray) -> Judged:
        """The same at log(alpha)."""
        return self.judged(self.distance(math.exp(x.item())))

    def by_ours(self, trace: Trace) -> None:
        """As `optimise.fluid_alpha` does it."""

        def ratio_at(alpha: float) -> float:
            distance = self.distance(alpha)
            trace.note(self.judged(distance))
            return math.exp(distance)

        guess = guess_alpha(self.job.network, self.job.tuned, 1.0)
        find_root(ratio_at, target=1.0, guess=guess, bounds=self.job.alpha_bounds)

    def by_newton(self, trace: Trace) -> None:
        """Newton's method from the same beginning, until our search would end."""
        parameters = tuned_parameters(
            self.job.network, {self.job.tuned: self.job.dead_band}, tune_queue=False
        )
        goal = ShareRatio(1.0)
        problem = make_program(self.job, goal, NO_CONSTRAINTS, parameters)
        x, distance = self.near(), math.inf
        while abs(distance) >= TOLERANCE:
            (distance,), (slope,) = problem.function_of_rates(goal.distances, x)
            trace.note(self.judged(distance))
            x = x - np.clip(distance / slope, -LONGEST, LONGEST)

    def by_root_finder(self, trace: Trace) -> None:
        """SciPy's brentq over the whole range, until our search would end."""

        def at(x: float) -> float:
            distance = self.distance(math.exp(x))
            trace.note(self.judged(distance))
            if abs(distance) < TOLERANCE:
                raise Enough
            return distance

        brentq(at, *self.bounds[0])

    def by_wide_simplex(self, trace: Trace) -> None:
        """Nelder-Mead from where the model stands, but with a first step of 1 in log(alpha)."""
        wide = {"initial_simplex": np.array([self.start, self.start + 1.0])}
        minimize(trace, self.start, method="Nelder-Mead", bounds=self.bounds, options=wide)


def small(rtt: float) -> vf.Network:
    """Four Reno against four Vegas flows over RED at 10 Mbit/s."""
    flows = {
        "reno": vf.Flows(4, vf.Reno(), base_rtt=rtt),
        "vegas": vf.Flows(4, vf.Vegas(dialect="ns2"), base_rtt=rtt),
    }
    return vf.Network(vf.Link(vf.mbps(10), 150, vf.Red(min_thresh=40, max_thresh=120)), flows)


class Noted(DifferentiableFluid):
    """A fluid model that enters what it was asked for into the accounts of a search."""

    objective: FourParameters
    trace: Trace

    def at(self, log_values: np.ndarray) -> tuple[Outputs, Outputs]:
        """As it is."""
        before = self.evaluations
        found = super().at(log_values)
        if self.evaluations > before:
            self.trace.note(self.objective.judged(log_values, found[0]))
        return found


class FourParameters:
    """The least delay of a network at a ratio of 1 and a utilisation of 98 %: alpha and RED.

    Args:
        network: over RED.
        until: simulated time, s.
    """

    def __init__(self, network: vf.Network, until: float) -> None:
        self.job = job_of(network, until, None)
        self.goal, self.limits = ShareRatio(1.0), Constraints(utilisation=0.98)
        self.parameters = tuned_parameters(
            network, {self.job.tuned: self.job.dead_band}, tune_queue=True
        )
        self.start = np.log([float(parameter.value(network)) for parameter in self.parameters])
        self.problem = make_program(self.job, self.goal, self.limits, self.parameters)
        self.bounds = self.problem.bounds
        self.delay = -math.inf
        """The logarithm of the delay that is to be reached."""
        self.posed, task = make_spec(network, self.parameters, until, self.job.settings.warmup)
        self.plain = jax.jit(lambda x, posed: outputs(x, posed, task)[0])

    def near(self) -> np.ndarray:
        """Where our search begins."""
        alpha = guess_alpha(self.job.network, self.job.tuned, 1.0).alpha
        return np.append(math.log(alpha), self.start[1:])

    def over(self, x: np.ndarray, found: Outputs) -> float:
        """By how much what must be kept to is broken, in logarithms."""
        distance = float(self.goal.distances(self.problem.rates(found.goodput))[0])
        rooms = [limit.margin(float(getattr(found, limit.field))) for limit in self.limits.each]
        rooms.append(self.problem.buffer_margin(x)[0])
        return max(abs(distance) - FAIR, 0.0) + sum(max(-room - FEASIBLE, 0.0) for room in rooms)

    def judged(self, x: np.ndarray, found: Outputs) -> Judged:
        """log(delay), and a penalty for what is broken."""
        delay = float(found.queueing_delay)
        if not (np.isfinite(found.goodput).all() and np.min(found.goodput) > 0 and delay > 0):
            return Judged(WORST, good=False, allowed=False)
        over = self.over(x, found)
        close = math.log(delay) <= self.delay + CLOSE
        return Judged(math.log(delay) + WEIGHT * over, close and over == 0, over == 0)

    def judge(self, x: np.ndarray) -> Judged:
        """The same by a plain run."""
        found: Any = jax.tree.map(np.asarray, self.plain(jnp.asarray(x), self.posed))
        return self.judged(x, found)

    def solved(self, trace: Trace) -> np.ndarray:
        """The setting that `recommend --tune-queue` finds on the fluid model."""
        job = self.job
        fluid = Noted(job.network, tuple(self.parameters), job.settings.until, job.settings.warmup)
        fluid.objective, fluid.trace = self, trace
        problem: NonlinearProgram = replace(self.problem, fluid=fluid)
        return solve_program(problem, self.near())
