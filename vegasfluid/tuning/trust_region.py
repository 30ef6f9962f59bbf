"""Minimum of a function within constraints: sequential quadratic programming in a trust region.

Each step minimises a quadratic model of the function and linear models of the constraints within a
box around the best point. Violated constraints enter the model with a penalty, so that a step
exists even where they contradict each other. A step is kept only if function and violations really
fall; else the box shrinks. A line search along a step that leads too far ends at its first bump:
means over a run of an oscillating network have many.

Sources:
    The S-l1-QP method and the choice of its penalty: J. Nocedal and S. Wright, "Numerical
    Optimization", 2nd ed., Springer 2006, sections 18.5 and 18.3 (damped BFGS).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.optimize import minimize, nnls

__all__ = ["minimise"]

Vector = Float[np.ndarray, " parameters"]
"""Coordinates of a point, or derivatives by these."""
Differentiable = Callable[[Vector], tuple[Any, Any]]
"""A function that returns its value and its derivatives (last axis)."""

FIRST_RADIUS = 0.5
"""Half width of the first box around the initial point."""
LARGEST_RADIUS = 1.5
"""Half width of the largest box."""
SMALLEST_RADIUS = 1e-3
"""A search ends where the box has shrunk to this half width."""
ACCEPTED = 0.05
"""A step is kept where the merit falls by at least this fraction of what the models predict."""
POOR, GOOD = 0.25, 0.75
"""Below the first fraction of the predicted decrease the box shrinks, above the second it grows."""
FIRST_PENALTY = 1.0
"""First weight of violations in the merit."""
LARGEST_PENALTY = 1e8
"""The weight of violations grows tenfold while that makes steps more feasible, up to this."""
DAMPING = 0.2
"""Smallest curvature along a step, as a fraction of the model's (Powell's damping)."""


class Evaluation(NamedTuple):
    """Function and constraints at a point.

    Args:
        x: the point; (parameters,).
        value: of the function.
        slope: its derivatives; (parameters,).
        margins: values of the constraints, negative where violated; (constraints,).
        jacobian: their derivatives; (constraints, parameters).
    """

    x: Vector
    value: float
    slope: Vector
    margins: Float[np.ndarray, " constraints"]
    jacobian: Float[np.ndarray, "constraints parameters"]

    @property
    def violation(self) -> float:
        """Sum of the violations of all constraints."""
        return violation(self.margins)

    def merit(self, penalty: float) -> float:
        """The objective function plus `penalty` times the sum of the constraints' violations."""
        return self.value + penalty * self.violation


class Step(NamedTuple):
    """A step that minimises the models.

    Args:
        move: change of the point; (parameters,).
        violation: sum of the violations of the linearised constraints after the step.
        decrease: how far the merit falls according to the models.
    """

    move: Vector
    violation: float
    decrease: float


def minimise(
    function: Differentiable,
    constraints: Differentiable | None,
    x: Vector,
    bounds: Sequence[tuple[float, float]],
    *,
    max_evaluations: int,
    ftol: float,
    tolerance: float,
) -> Vector:
    """Minimise a function within bounds and constraints, from an initial point.

    Args:
        function: value and derivatives at a point.
        constraints: values that must not be negative, and derivatives; None: no constraints.
        x: initial point; (parameters,).
        bounds: smallest and largest value of each coordinate; never left.
        max_evaluations: largest number of points at which the functions are evaluated.
        ftol: a predicted decrease at which the search ends.
        tolerance: a constraint that is violated by less counts as satisfied.

    Returns:
        Of the points that were reached the one with the least violation beyond `tolerance`, and
        of these that with the smallest value; (parameters,).

    >>> def distance(x):
    ...     return float(x @ x), 2 * x
    >>> def beyond_a_line(x):
    ...     return np.array([x.sum() - 2.0]), np.ones((1, 2))
    >>> limits = {"max_evaluations": 30, "ftol": 1e-9, "tolerance": 1e-6}
    >>> minimise(distance, beyond_a_line, np.array([3.0, 0.0]), [(-5, 5)] * 2, **limits).round(3)
    array([1., 1.])
    """
    low, high = np.array(bounds, float).T
    here = evaluate(function, constraints, np.clip(x, low, high))
    reached = [here]
    hessian, radius, penalty = np.eye(len(x)), FIRST_RADIUS, FIRST_PENALTY
    for _ in range(max_evaluations - 1):
        box = np.maximum(low - here.x, -radius), np.minimum(high - here.x, radius)
        penalty, step = steered_step(here, hessian, box, penalty)
        if step.decrease < ftol:
            break
        there = evaluate(function, constraints, np.clip(here.x + step.move, low, high))
        gain = (here.merit(penalty) - there.merit(penalty)) / step.decrease
        length = float(np.max(np.abs(step.move)))
        hessian = damped_bfgs(hessian, here, there)
        if gain < POOR:
            radius = length / 2
        elif gain > GOOD and length > 0.9 * radius:
            radius = min(2 * radius, LARGEST_RADIUS)
        if gain > ACCEPTED:
            here = there
            reached.append(here)
        if radius < SMALLEST_RADIUS:
            break
    return min(reached, key=lambda one: (violation(one.margins + tolerance), one.value)).x


def evaluate(function: Differentiable, constraints: Differentiable | None, x: Vector) -> Evaluation:
    """Evaluate a function and constraints (or None) at a point x; (parameters,)."""
    nothing = np.zeros(0), np.zeros((0, len(x)))
    value, slope = function(x)
    margins, jacobian = nothing if constraints is None else constraints(x)
    return Evaluation(x, float(value), *map(np.asarray, (slope, margins, jacobian)))


def violation(margins: Float[np.ndarray, " constraints"]) -> float:
    """Sum of the violations: of the negative constraint values, with their sign changed."""
    return float(np.sum(np.maximum(-margins, 0.0)))


def steered_step(
    here: Evaluation, hessian: np.ndarray, box: tuple[Vector, Vector], penalty: float
) -> tuple[float, Step]:
    """The step within a box, with a weight of violations large enough to make it feasible.

    Returns the weight and the step. Where no larger weight makes the step more feasible, the weight
    is the given one.

    Args:
        here: where the step begins.
        hessian: of the model; (parameters, parameters).
        box: smallest and largest move of each coordinate.
        penalty: first weight of violations.
    """
    step = best_step(here, hessian, box, penalty)
    larger = penalty
    while step.violation > 0.01 * max(here.violation, SMALLEST_RADIUS) and larger < LARGEST_PENALTY:
        larger *= 10
        other = best_step(here, hessian, box, larger)
        if other.violation < 0.9 * step.violation:
            penalty, step = larger, other
    return penalty, step


def best_step(
    here: Evaluation, hessian: np.ndarray, box: tuple[Vector, Vector], penalty: float
) -> Step:
    """Minimise the quadratic model plus the weighted violations of the linear models in a box.

    A quadratic program of the move and of one violation for each constraint, which SciPy's SLSQP
    solves in a millisecond.

    Args:
        here: where the step begins.
        hessian: of the model; (parameters, parameters).
        box: smallest and largest move of each coordinate.
        penalty: weight of violations.
    """
    size, count = len(here.x), len(here.margins)
    scale = 1 / max(1.0, penalty, float(np.max(np.abs(here.slope))))

    def model(point: np.ndarray) -> tuple[float, np.ndarray]:
        """Scaled model of the merit at a move and violations, and its derivatives."""
        move = point[:size]
        bent = hessian @ move
        value = here.slope @ move + 0.5 * move @ bent + penalty * point[size:].sum()
        slope = np.concatenate([here.slope + bent, np.full(count, penalty)])
        return scale * float(value), scale * slope

    matrix = np.hstack([here.jacobian, np.eye(count)])
    linear = {
        "type": "ineq",
        "fun": lambda point: here.margins + matrix @ point,
        "jac": lambda point: matrix,
    }
    limits = [*zip(*box, strict=True), *[(0.0, None)] * count]
    start = np.concatenate([np.zeros(size), np.maximum(-here.margins, 0.0)])
    found = minimize(
        model,
        start,
        jac=True,
        method="SLSQP",
        bounds=limits,
        constraints=[linear] if count else [],
        options={"ftol": 1e-12, "maxiter": 200},
    )
    move = np.clip(found.x[:size], *box)
    left = violation(here.margins + here.jacobian @ move)
    change = here.slope @ move + 0.5 * move @ hessian @ move
    decrease = penalty * (here.violation - left) - float(change)
    return Step(move, left, decrease)


def damped_bfgs(hessian: np.ndarray, here: Evaluation, there: Evaluation) -> np.ndarray:
    """The Hessian of the Lagrangian after a step, kept positive definite by Powell's damping.

    Multipliers are those that explain the function's derivatives best by active constraints.
    """
    move = there.x - here.x
    bent = hessian @ move
    curvature = float(move @ bent)
    if curvature <= 0:
        return hessian
    active = here.margins + here.jacobian @ move < SMALLEST_RADIUS
    change = there.slope - here.slope
    if active.any():
        multipliers, _ = nnls(there.jacobian[active].T, there.slope)
        change = change - multipliers @ (there.jacobian[active] - here.jacobian[active])
    product = float(move @ change)
    if product < DAMPING * curvature:
        mixed = (1 - DAMPING) * curvature / (curvature - product)
        change = mixed * change + (1 - mixed) * bent
        product = float(move @ change)
    return hessian - np.outer(bent, bent) / curvature + np.outer(change, change) / product
