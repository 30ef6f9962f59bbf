"""The objectives that `benchmarks.search` minimises with the fluid model, and our searches."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy.optimize import brentq, minimize

import vegasfluid as vf
from benchmarks.peers import Enough, Score, Trace
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
"""Largest |log(ratio)| that reaches the goal with one parameter."""
FAIR = 0.006
"""Largest |log(ratio)| that is allowed with four parameters."""
CLOSE = 0.01
"""Largest distance from our delay that reaches the goal with four parameters, in logarithms."""
WEIGHT = 3.0
"""Penalty per violation (in logarithms) relative to log(delay).

Of 1, 3, 10, 30 and 100 it makes the first of the peers fastest.
"""
WORST = 1e3
"""Value in place of a logarithm that does not exist."""
LONGEST = 1.5
"""Longest step of Newton's method, in log(alpha)."""


def job_of(network: vf.Network, until: float, warmup: float | None) -> Evaluator:
    """Return the evaluator that `recommend` makes of a network; `until` and `warmup` in s."""
    return make_evaluator(
        network, tunable_class(network), 1.0, RunSettings(until=until, warmup=warmup)
    )


@dataclass
class OneParameter:
    """The squared log(ratio) of a network's rates as a function of log(alpha)."""

    job: Evaluator

    @property
    def bounds(self) -> list[tuple[float, float]]:
        """Bounds of log(alpha)."""
        low, high = self.job.alpha_bounds
        return [(math.log(low), math.log(high))]

    @property
    def start(self) -> np.ndarray:
        """The model's own log(alpha); (1,)."""
        return np.log([float(self.job.law.alpha or 1)])

    def near(self) -> np.ndarray:
        """Return our initial guess of log(alpha); (1,)."""
        return np.log([guess_alpha(self.job.network, self.job.tuned, 1.0).alpha])

    def distance(self, alpha: float) -> float:
        """Return log(ratio) at an alpha (packets), from a run without derivatives."""
        law = self.job.law_at(jnp.asarray(alpha))
        ratio = self.job.evaluate_fluid(self.job.with_law(law))["ratio"]
        return math.log(ratio) if ratio > 0 else -WORST

    def score(self, distance: float) -> Score:
        """Return the result for a log(ratio)."""
        return Score(distance**2, abs(distance) < NEAR)

    def evaluate(self, x: np.ndarray) -> Score:
        """Return the result at log(alpha)."""
        return self.score(self.distance(math.exp(x.item())))

    def by_ours(self, trace: Trace) -> None:
        """Search like `optimise.fluid_alpha`."""

        def ratio_at(alpha: float) -> float:
            distance = self.distance(alpha)
            trace.note(self.score(distance))
            return math.exp(distance)

        guess = guess_alpha(self.job.network, self.job.tuned, 1.0)
        find_root(ratio_at, target=1.0, guess=guess, bounds=self.job.alpha_bounds)

    def by_newton(self, trace: Trace) -> None:
        """Search by Newton's method from our initial guess, to our tolerance."""
        parameters = tuned_parameters(
            self.job.network, {self.job.tuned: self.job.dead_band}, tune_queue=False
        )
        goal = ShareRatio(1.0)
        program = make_program(self.job, goal, NO_CONSTRAINTS, parameters)
        x, distance = self.near(), math.inf
        while abs(distance) >= TOLERANCE:
            (distance,), (slope,) = program.function_of_rates(goal.distances, x)
            trace.note(self.score(distance))
            x = x - np.clip(distance / slope, -LONGEST, LONGEST)

    def by_root_finder(self, trace: Trace) -> None:
        """Search by SciPy's brentq over the whole range, to our tolerance."""

        def at(x: float) -> float:
            distance = self.distance(math.exp(x))
            trace.note(self.score(distance))
            if abs(distance) < TOLERANCE:
                raise Enough
            return distance

        brentq(at, *self.bounds[0])

    def by_wide_simplex(self, trace: Trace) -> None:
        """Search by Nelder-Mead from the model's alpha, with a first step of 1 in log(alpha)."""
        options = {"initial_simplex": np.array([self.start, self.start + 1.0])}
        minimize(trace, self.start, method="Nelder-Mead", bounds=self.bounds, options=options)


def small(rtt: float) -> vf.Network:
    """Return four Reno and four Vegas flows over RED at 10 Mbit/s; `rtt` in s."""
    flows = {
        "reno": vf.Flows(4, vf.Reno(), base_rtt=rtt),
        "vegas": vf.Flows(4, vf.Vegas(dialect="ns2"), base_rtt=rtt),
    }
    return vf.Network(vf.Link(vf.mbps(10), 150, vf.Red(min_thresh=40, max_thresh=120)), flows)


class RecordingFluid(DifferentiableFluid):
    """A fluid model that records its evaluations in the trace of a search."""

    objective: FourParameters
    trace: Trace

    def at(self, log_values: np.ndarray) -> tuple[Outputs, Outputs]:
        """Return values and derivatives at the parameters' logarithms; record new ones."""
        count = self.evaluations
        results = super().at(log_values)
        if self.evaluations > count:
            self.trace.note(self.objective.score(log_values, results[0]))
        return results


class FourParameters:
    """The smallest delay at a ratio of 1 and a utilisation of 98 %, over alpha and RED.

    Args:
        network: network with RED.
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
        """Logarithm of our delay (s), the goal of other minimisers."""
        self.fluid_parameters, task = make_spec(
            network, self.parameters, until, self.job.settings.warmup
        )
        self.plain = jax.jit(lambda x, fluid_parameters: outputs(x, fluid_parameters, task)[0])

    def near(self) -> np.ndarray:
        """Return our initial guess of the parameters' logarithms; (parameter,)."""
        alpha = guess_alpha(self.job.network, self.job.tuned, 1.0).alpha
        return np.append(math.log(alpha), self.start[1:])

    def over(self, x: np.ndarray, run: Outputs) -> float:
        """Return by how much the constraints are violated, in logarithms."""
        distance = float(self.goal.distances(self.problem.rates(run.goodput))[0])
        margins = [limit.margin(float(getattr(run, limit.field))) for limit in self.limits.each]
        margins.append(self.problem.buffer_margin(x)[0])
        return max(abs(distance) - FAIR, 0.0) + sum(
            max(-margin - FEASIBLE, 0.0) for margin in margins
        )

    def score(self, x: np.ndarray, run: Outputs) -> Score:
        """Return the result of a run: log(delay), with a penalty for violated constraints."""
        delay = float(run.queueing_delay)
        if not (np.isfinite(run.goodput).all() and np.min(run.goodput) > 0 and delay > 0):
            return Score(WORST, good=False, allowed=False)
        violation = self.over(x, run)
        near_delay = math.log(delay) <= self.delay + CLOSE
        return Score(
            math.log(delay) + WEIGHT * violation, near_delay and violation == 0, violation == 0
        )

    def evaluate(self, x: np.ndarray) -> Score:
        """Return the result at logarithms of parameters, from a run without derivatives."""
        run: Any = jax.tree.map(np.asarray, self.plain(jnp.asarray(x), self.fluid_parameters))
        return self.score(x, run)

    def solved(self, trace: Trace) -> np.ndarray:
        """Return the parameters' logarithms that `recommend --tune-queue` finds in the fluid."""
        evaluator = self.job
        fluid = RecordingFluid(
            evaluator.network,
            tuple(self.parameters),
            evaluator.settings.until,
            evaluator.settings.warmup,
        )
        fluid.objective, fluid.trace = self, trace
        program: NonlinearProgram = replace(self.problem, fluid=fluid)
        return solve_program(program, self.near())
