"""The best setting of several parameters on the fluid model: an objective, within constraints.

Sequential quadratic programming (`trust_region`) over the logarithms of the parameters, with the
exact derivatives of the delay equations. Where RED is tuned many settings are equally good, and the
one with the smallest queueing delay is taken. Constraints that no setting satisfies are relaxed as
far as the setting needs that violates them least.
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
from jaxtyping import Float

from vegasfluid.tuning.constraints import FEASIBILITY_TOLERANCE, Constraint, Constraints
from vegasfluid.tuning.fluid_gradients import DifferentiableFluid, OutputCorrection, Outputs
from vegasfluid.tuning.objectives import Objective, Rates, ShareRatio
from vegasfluid.tuning.trust_region import Differentiable, Vector, minimise

__all__ = ["NonlinearProgram", "minimise_delay", "solve_program"]

RATIO_TOLERANCE = 0.005
"""Where RED is tuned, tolerance of each ratio, in logarithms."""
LOSS_WEIGHT = 1000.0
"""Weight of an objective's loss in its sum with log(queueing delay)."""
TOLERANCE = 1e-3
"""A constraint that is violated by less, in logarithms, counts as satisfied."""
DIFFERENCE = 0.02
"""Step of the finite differences of the gain margin, in logarithms."""
MAX_EVALUATIONS = 50
"""Largest number of points that one search looks at."""
FTOL = 1e-6
"""Predicted change of a loss of one parameter at which a search ends."""
FTOL_SEVERAL = 1e-4
"""Predicted change of the minimised function of several parameters at which a search ends."""
SMALLEST = 1e-12
"""Outputs and gain margins are raised to this before their logarithm is taken."""
SMALLEST_DELAY = 1e-9
"""Queueing delays are raised to this before their logarithm is taken, s."""
LARGEST_MARGIN = 1e3
"""Constraint margins are clipped to this and its negative, so that they are finite."""


class LinearFunction(NamedTuple):
    """A linear function of the logarithms of the tuned parameters.

    Args:
        at: logarithms of the parameters at a point; (parameters,).
        value: of the function at that point.
        slope: derivatives of the function by the logarithms; (parameters,).
    """

    at: Vector
    value: float
    slope: Vector

    def __call__(self, x: Vector) -> float:
        """Value of the function at logarithms x; (parameters,)."""
        return self.value + float(self.slope @ (x - self.at))


@dataclass
class NonlinearProgram:
    """An objective to optimise on the fluid model over parameters, within constraints.

    Args:
        fluid: the model, as a function of the logarithms of the parameters.
        objective: loss to be minimised, a function of the goodputs.
        constraints: bounds on delay, drops, utilisation and gain margin.
        tuned: number of the tuned class of each flow group, from 1; 0 for groups that these are
            compared with, -1 for all others; (groups,).
        fair: goodput of an equal part of the link, packets/s; of several links the smallest.
        bounds: smallest and largest logarithm of each parameter.
        gain_margin: function that computes it from the logarithms of the parameters, no unit; None
            only where it has no bound.
        buffer: of the link, packets, where RED is tuned (its three parameters are the last ones);
            None: RED's upper threshold has no bound.
        minimises_delay: whether of equally good settings that with the smallest delay is taken.
        log_gain_margin: log of the gain margin, linear near where a search begins; None where it
            has no bound, or before it is linearised.
        correction: log(packets / fluid) of the outputs; None: the fluid's are used as they are.
        trust_radius: largest change of a parameter from the start, in logarithms; None: no limit.
        feasibility_tolerance: log of the factor by which a measured mean may violate a bound.
    """

    fluid: DifferentiableFluid
    objective: Objective
    constraints: Constraints
    tuned: Float[np.ndarray, " groups"]
    fair: float
    bounds: list[tuple[float, float]]
    gain_margin: Callable[[Vector], float] | None = None
    buffer: float | None = None
    minimises_delay: bool = False
    log_gain_margin: LinearFunction | None = None
    correction: OutputCorrection | None = None
    trust_radius: float | None = None
    feasibility_tolerance: float = FEASIBILITY_TOLERANCE

    def outputs(self, x: Vector) -> tuple[Outputs, Outputs]:
        """Goodputs, delay, drops and utilisation at logarithms x, with any correction.

        In packets/s, s and fractions; and their derivatives by x (last axis).
        """
        values, slopes = self.fluid.at(x)
        return (
            (values, slopes)
            if self.correction is None
            else self.correction.apply(values, slopes, x)
        )

    def rates(self, goodput: Any) -> Rates:
        """Arguments of an objective, from the goodput of a flow of each group, packets/s."""
        return Rates(goodput, self.fluid.count, self.tuned, self.fair)

    def loss(self, objective: Objective, x: Vector) -> tuple[float, Vector]:
        """Loss of `objective` at logarithms x of the parameters, and its derivatives by x."""
        value, slope = self.function_of_rates(objective.loss, x)
        return float(value), slope

    def function_of_rates(self, function: Callable[[Rates], Any], x: Vector) -> tuple[Any, Any]:
        """A function of the goodputs at logarithms x, and its derivatives by x (last axis)."""
        values, slopes = self.outputs(x)
        numbers = tuple(map(float, self.fluid.count)), tuple(map(float, self.tuned)), self.fair
        value, slope = with_jacobian(function, *numbers)(jnp.asarray(values.goodput))
        return np.asarray(value), np.asarray(slope) @ slopes.goodput

    def log_delay(self, x: Vector) -> tuple[float, Vector]:
        """log(mean queueing delay in s) at logarithms x of the parameters, and derivatives."""
        values, slopes = self.outputs(x)
        delay = max(float(values.queueing_delay), SMALLEST_DELAY)
        return float(np.log(delay)), np.asarray(slopes.queueing_delay) / delay

    def constraint_margin(self, constraint: Constraint, x: Vector) -> tuple[float, Vector]:
        """Log margin of a constraint at logarithms x of the parameters, and its derivatives by x.

        It is the log of the factor between quantity and bound, negative where this is violated.
        """
        if constraint.quantity == "gain_margin":
            assert self.log_gain_margin is not None
            margin = constraint.margin(math.exp(self.log_gain_margin(x)))
            return margin, self.log_gain_margin.slope
        values, slopes = self.outputs(x)
        value = max(float(getattr(values, constraint.field)), SMALLEST)
        slope = np.asarray(getattr(slopes, constraint.field))
        return constraint.margin(value), constraint.margin_slope(value, slope)

    def with_linear_gain_margin(self, x: Vector) -> NonlinearProgram:
        """A copy with log(gain margin) linearised around logarithms x, if it is constrained."""
        if self.constraints.gain_margin is None:
            return self
        assert self.gain_margin is not None
        margins = [self.gain_margin(point) for point in (x, *(x + DIFFERENCE * np.eye(len(x))))]
        logs = np.log(np.clip(margins, SMALLEST, 1 / SMALLEST))
        slope = (logs[1:] - logs[0]) / DIFFERENCE
        return replace(self, log_gain_margin=LinearFunction(x, float(logs[0]), slope))

    def buffer_margin(self, x: Vector) -> tuple[float, Vector]:
        """log(buffer / RED's upper threshold) at logarithms x, and derivatives by x."""
        assert self.buffer is not None
        thresholds = np.zeros(len(x))
        thresholds[-3:-1] = np.exp(x[-3:-1])
        upper = float(thresholds.sum())
        return float(np.log(self.buffer / upper)), -thresholds / upper

    def constraint_values(self, x: Vector) -> tuple[np.ndarray, np.ndarray]:
        """Log margins of all constraints at x, negative if violated; and derivatives by x.

        Returns arrays (constraints,), clipped to -1000 to 1000, and (constraints, parameters). With
        a `buffer` its margin to RED's upper threshold is the last one.
        """
        margins = [self.constraint_margin(one, x) for one in self.constraints.each]
        if self.buffer is not None:
            margins.append(self.buffer_margin(x))
        values = np.array([np.clip(one, -LARGEST_MARGIN, LARGEST_MARGIN) for one, _ in margins])
        return values, np.array([slope for _, slope in margins]).reshape(len(margins), len(x))

    def violation(self, x: Vector) -> tuple[float, Vector]:
        """Sum of the squared log margins of violated constraints at x, and derivatives by x.

        A log margin is the logarithm of limit / value, or value / limit for a lower limit.
        """
        values, slopes = self.constraint_values(x)
        below = np.minimum(values, 0.0)
        return float(below @ below), 2 * below @ slopes


@cache
def with_jacobian(
    function: Callable[[Rates], Any],
    count: tuple[float, ...],
    tuned: tuple[float, ...],
    fair: float,
) -> Callable[[Any], tuple[Any, Any]]:
    """Compile a function of `Rates`, as one of the goodputs with its Jacobian.

    Args:
        function: takes `Rates`; its value may have any shape.
        count: number of flows of each group.
        tuned: number of the tuned class of each group, from 1; 0 for groups that these are compared
            with, -1 for all others.
        fair: goodput of an equal part of the link, packets/s.

    Returns:
        A function of goodputs (groups,), packets/s, that returns the value and its Jacobian by
        goodput (last axis).
    """

    def value(goodput: Any) -> Any:
        """The compiled function's value at goodputs (groups,), packets/s."""
        return function(Rates(goodput, np.array(count), np.array(tuned), fair))

    return jax.jit(lambda goodput: (value(goodput), jax.jacrev(value)(goodput)))


def solve_program(program: NonlinearProgram, *starts: Vector) -> Vector:
    """Find the best setting on the fluid model, from one or several initial points.

    The starts are used in turn. If the delay is not minimised, the first local solution that
    reaches the objective within the constraints is taken; else the best one of all.

    Args:
        program: what is optimised.
        starts: initial points, at least one; logarithms of the parameters, (parameters,).

    Returns:
        Logarithms of the parameters of the best solution; (parameters,).

    Raises:
        SolveFailed: where the fluid model cannot be integrated.
    """
    start = np.clip(starts[0], *np.array(program.bounds).T)
    program = program.with_linear_gain_margin(start)
    *_, objective = program.objective.continuation

    def rank(x: Vector) -> tuple[float, float]:
        """How bad x is: squared violation, which counts more, then loss and log(delay)."""
        delay = program.log_delay(x)[0] if program.minimises_delay else 0.0
        violation = max(program.violation(x)[0] - TOLERANCE**2, 0.0)
        return violation, LOSS_WEIGHT * program.loss(objective, x)[0] + delay

    solutions = []
    for start in starts:
        solutions.append(local_solution(program, start))
        violation, loss = rank(solutions[-1])
        good = violation == 0 and loss < LOSS_WEIGHT * RATIO_TOLERANCE**2
        if good and not program.minimises_delay:
            break
    return min(solutions, key=rank)


def local_solution(program: NonlinearProgram, start: Vector) -> Vector:
    """Logarithms of the parameters at a local optimum near `start`; (parameters,).

    Where constraints cannot all be met, they are relaxed, and the point that violates them less is
    taken.
    """
    low, high = np.array(program.bounds).T
    x = np.clip(start, low, high)
    if program.trust_radius is not None:
        low, high = (
            np.maximum(low, x - program.trust_radius),
            np.minimum(high, x + program.trust_radius),
        )
        program = replace(program, bounds=list(zip(low, high, strict=True)))
    solution = solve_continuation(program, x)
    if program.violation(solution)[0] <= TOLERANCE**2:
        return solution
    least = search(program, program.violation, None, x)
    relaxed = replace(program, constraints=relaxed_constraints(program, least))
    other = solve_continuation(relaxed, least)
    return min((solution, other), key=lambda point: program.violation(point)[0])


def minimise_delay(program: NonlinearProgram, start: Vector) -> Vector:
    """Logarithms of the parameters with the smallest queueing delay within the constraints.

    The search begins at the logarithms `start`.
    """
    return search(program, program.log_delay, program.constraint_values, start)


def solve_continuation(program: NonlinearProgram, x: Vector) -> Vector:
    """Optimise the program's smooth objectives one after the other, each from the last solution.

    Takes and returns logarithms of the parameters; (parameters,).
    """
    for objective in program.objective.continuation:
        x = solve_smooth(program, objective, x)
    return x


def relaxed_constraints(program: NonlinearProgram, least: Vector) -> Constraints:
    """The constraints, relaxed just so far that the logarithms `least` satisfy them."""
    margins = program.constraint_values(least)[0]
    bounds = {}
    for constraint, margin in zip(program.constraints.each, margins, strict=False):  # buffer last
        if margin < 0:
            factor = math.exp(TOLERANCE - margin)
            bound = constraint.bound
            bounds[constraint.field] = bound * factor if constraint.is_upper else bound / factor
    return replace(program.constraints, **bounds)


def solve_smooth(program: NonlinearProgram, objective: Objective, x: Vector) -> Vector:
    """Optimise one smooth objective from logarithms x; returns logarithms, (parameters,).

    The loss is minimised, or if the program minimises the delay: for ratios log(delay), with the
    ratios as constraints, and for other objectives the weighted loss plus log(delay).
    """
    if not program.minimises_delay:
        return search(
            program, lambda point: program.loss(objective, point), program.constraint_values, x
        )
    if isinstance(objective, ShareRatio):

        def with_ratios(point: Vector) -> tuple[np.ndarray, np.ndarray]:
            """Constraint margins at a point with those of log(ratio / target), and derivatives."""
            distances, by_x = program.function_of_rates(objective.distances, point)
            values, slopes = program.constraint_values(point)
            sides = [RATIO_TOLERANCE - distances, RATIO_TOLERANCE + distances]
            return np.concatenate([values, *sides]), np.vstack([slopes, -by_x, by_x])

        return search(program, program.log_delay, with_ratios, x)

    def loss_and_delay(point: Vector) -> tuple[float, Vector]:
        """LOSS_WEIGHT times the loss plus log(delay in s) at a point, and derivatives."""
        loss, loss_slope = program.loss(objective, point)
        delay, delay_slope = program.log_delay(point)
        return LOSS_WEIGHT * loss + delay, LOSS_WEIGHT * loss_slope + delay_slope

    return search(program, loss_and_delay, program.constraint_values, x)


def search(
    program: NonlinearProgram,
    function: Differentiable,
    constraint_values: Differentiable | None,
    x: Vector,
) -> Vector:
    """Minimise a function from an initial point within the program's bounds.

    Args:
        program: whose bounds hold.
        function: value and derivatives at logarithms of the parameters.
        constraint_values: values that must not be negative, and derivatives; None: no constraints.
        x: initial point, logarithms; (parameters,). The result has the same form.
    """
    return minimise(
        function,
        constraint_values,
        x,
        program.bounds,
        max_evaluations=MAX_EVALUATIONS,
        ftol=FTOL if len(x) == 1 else FTOL_SEVERAL,
        tolerance=TOLERANCE,
    )
