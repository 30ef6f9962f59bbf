"""A Runge-Kutta method: its tableau and its dense output as polynomials.

Both are taken from a diffrax solver. The last stage has to be the first one of the next step (FSAL:
Bosh3, Tsit5, Dopri5, ...). Other explicit methods (Euler, Heun, Midpoint, Ralston) get it as one
more stage, which costs nothing, and the cubic Hermite polynomial as dense output.

The implicit methods are ESDIRK ones: their first stage is explicit, each later stage depends on its
own slope with the same weight, and the last one is the end of the step. Diffrax gives them all the
cubic Hermite polynomial, of order 3. That is enough for delayed values in methods up to order 4
(its error is integrated once); for Kvaerno5 a dense output of order 4 is computed here.

Sources: P. Bogacki and L. Shampine, Appl. Math. Lett. 2(4), 1989 (Bosh3); J. Dormand and P.
Prince, J. Comput. Appl. Math. 6(1), 1980 (Dopri5); C. Tsitouras, Comput. Math. Appl. 62(2), 2011
(Tsit5); A. Kvaerno, BIT 44, 2004 (Kvaerno3 to 5). The coefficients are those of diffrax.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import diffrax
import jax
import jax.numpy as jnp
import numpy as np

from vegasfluid.errors import InvalidInput, Unsupported

__all__ = ["Method", "Newton", "method_of"]

Weights = tuple[float, ...]
"""Weights of the slopes at the stages of a step, or the stages' times as fractions of the step."""

MAX_DEGREE = 8
"""Largest degree that is tried for the dense output (that of Dopri8 is 6)."""
DOPRI8_DENSE_ERROR = (
    0.000969173518, 0.0, 0.0, 0.0, 0.0, 0.014003155669, -0.003875800449,
    -0.009171640685, -0.014841961005, 0.014981446441, -0.00392142045,
    -0.020293202474, 0.022144263551, 0.000005985883,
)  # fmt: skip
"""Weights of the slopes in the difference, at the middle of a step, of two dense outputs of Dopri8:
the most accurate one that its stages allow, and that of diffrax. The latter is of order 5 only,
and the estimate of the state's error, of order 7, does not see it. The weights are the shortest
vector that is zero for all trees of order 5 and closest to the difference for those of order 6
(`tests/dde/adaptive/test_dense_error.py`)."""
FIT_TOLERANCE = 1e-11
"""Largest error of a polynomial fit to the dense output that counts as exact (chosen)."""
LARGEST_HERMITE_ORDER = 4
"""Implicit methods up to this order have the cubic Hermite polynomial as dense output."""


class Newton(NamedTuple):
    """The settings of the Newton iteration of an implicit method.

    Args:
        tolerances: rtol and atol of the states; None: those of the step-size controller.
        kappa: the iteration ends where its error is below this fraction of the tolerance.
        max_iterations: largest number of iterations; where more are needed, the step is repeated
            with a smaller length.
    """

    tolerances: tuple[float, float] | None
    kappa: float
    max_iterations: int


class Method(NamedTuple):
    """An embedded Runge-Kutta pair whose last stage is the slope at the end of the step.

    Args:
        stages: for each stage from the second on, the weights of the slopes before it.
        times: for each stage from the second on, its time as a fraction of the step.
        error: weights of the slopes in the error estimate, one for each stage; all zero for a
            method without one.
        dense: for each power u, u^2, ... of the fraction of the step that has passed, the weights
            of the slopes in its coefficient.
        order: order of the solution.
        dense_error: weights of the slopes in the error estimate of the dense output; empty where
            `error` covers it, because both are of one order.
        diagonal: weight of each stage's own slope, from the second stage on; 0: it is explicit.
        predictor: for each stage from the second on, the weights of the slopes before it in the
            first guess of the stage's slope; empty if the method is explicit.
        newton: the settings of the Newton iteration; None if the method is explicit.
    """

    stages: tuple[Weights, ...]
    times: Weights
    error: Weights
    dense: tuple[Weights, ...]
    order: int
    dense_error: Weights = ()
    diagonal: float = 0.0
    predictor: tuple[Weights, ...] = ()
    newton: Newton | None = None


def method_of(solver: Any) -> Method:
    """The Runge-Kutta method of a diffrax solver: its tableau and its dense output as polynomials.

    Raises:
        Unsupported: where the solver is neither an explicit Runge-Kutta method nor one of
            Kvaerno3, Kvaerno4, Kvaerno5 and ImplicitEuler.

    >>> method_of(diffrax.Bosh3()).times, len(method_of(diffrax.Tsit5()).dense)
    ((0.5, 0.75, 1.0), 4)
    >>> method_of(diffrax.Heun()).stages
    ((1.0,), (0.5, 0.5))
    >>> method_of(diffrax.Kvaerno5()).diagonal
    0.26
    """
    implicit = (diffrax.AbstractESDIRK, diffrax.ImplicitEuler)
    return _implicit(solver) if isinstance(solver, implicit) else _explicit(solver)


@lru_cache
def _explicit(solver: Any) -> Method:
    """The Runge-Kutta method of an explicit diffrax solver.

    Raises:
        Unsupported: for another solver.
    """
    if isinstance(solver, diffrax.Euler):
        return _with_last_stage([], (), (1.0,), (0.0,), 1)
    if not isinstance(solver, diffrax.AbstractERK):
        reason = (
            "with delays, bounds or events the methods are explicit Runge-Kutta ones, such as "
            "Bosh3(), Tsit5() or Dopri8(), and, for stiff equations, Kvaerno3(), Kvaerno4(), "
            "Kvaerno5() and ImplicitEuler()"
        )
        raise Unsupported("dde.solve", f"solver {type(solver).__name__}", reason)
    tableau: Any = solver.tableau
    order: Any = solver.order(None)  # pyright: ignore[reportArgumentType]
    if not tableau.fsal:
        rows = [_floats(row) for row in tableau.a_lower]
        weights = (_floats(tableau.b_sol), _floats(tableau.b_error))
        return _with_last_stage(rows, _floats(tableau.c), *weights, order)
    return Method(
        stages=tuple(_floats(row) for row in tableau.a_lower),
        times=_floats(tableau.c),
        error=_floats(tableau.b_error),
        dense=_dense_weights(solver),
        order=order,
        dense_error=DOPRI8_DENSE_ERROR if isinstance(solver, diffrax.Dopri8) else (),
    )


def _implicit(solver: Any) -> Method:
    """The method of one of diffrax's Kvaerno methods or its implicit Euler method."""
    finder = solver.root_finder
    given = isinstance(finder.rtol, float | int) and isinstance(finder.atol, float | int)
    tolerances = (float(finder.rtol), float(finder.atol)) if given else None
    newton = Newton(tolerances, float(finder.kappa), int(solver.root_find_max_steps))
    if isinstance(solver, diffrax.ImplicitEuler):
        # The dense output is linear; its higher powers are zero.
        line = ((0.0, 1.0), (0.0, 0.0), (0.0, 0.0))
        stages, error = ((0.0,),), (-0.5, 0.5)
        return Method(stages, (1.0,), error, line, 1, (), 1.0, ((1.0,),), newton)
    tableau = solver.tableau
    order = solver.order(None)
    rows = tuple(_floats(row) for row in tableau.a_lower)
    if order <= LARGEST_HERMITE_ORDER:
        end = _floats(tableau.b_sol)
        dense = _with_last_stage([], (), end[:-1], (), order).dense
        # The end's own slope counts in the solution too.
        dense = tuple(
            (*row[:-1], row[-1] + factor * end[-1])
            for row, factor in zip(dense, (0.0, 3.0, -2.0), strict=True)
        )
    else:
        dense = _dense_of_order_4(tableau)
    return Method(
        stages=rows,
        times=_floats(tableau.c),
        error=_floats(tableau.b_error),
        dense=dense,
        order=order,
        diagonal=float(tableau.a_diagonal[-1]),
        predictor=tuple(_floats(row) for row in tableau.a_predictor),
        newton=newton,
    )


def _dense_of_order_4(tableau: Any) -> tuple[Weights, ...]:
    """A dense output of order 4 of an ESDIRK method of order 5 and stage order 2.

    It is a polynomial of degree 4 with the state and the slope of the step at both ends. Where this
    leaves a choice, the weights are the smallest ones.

    Returns:
        For each power u to u^4 of the fraction of the step that has passed, the weight of each
        stage's slope in its coefficient.
    """
    count = tableau.num_stages
    matrix = np.diag(tableau.a_diagonal)
    for number, row in enumerate(tableau.a_lower, 1):
        matrix[number, :number] = row
    c = np.concatenate([[0.0], tableau.c])
    # With stage order 2 these are all conditions of order 4 (E. Hairer, S. Norsett and G. Wanner,
    # Solving Ordinary Differential Equations I, section II.6; not checked against the book).
    trees = np.stack([np.ones(count), c, c**2, c**3, matrix @ c**2])
    values = np.array([[1, 0, 0, 0], [0, 1 / 2, 0, 0], [0, 0, 1 / 3, 0], [0, 0, 0, 1 / 4]])
    values = np.concatenate([values, [[0, 0, 0, 1 / 12]]])
    powers, unit = np.arange(1, 5), np.eye(count)
    conditions = [np.kron(np.eye(4), trees), np.kron(np.ones(4), unit), np.kron(powers, unit)]
    first = np.kron(np.eye(4)[0], unit)
    right = [values.T.ravel(), tableau.b_sol, unit[-1], unit[0]]
    weights = np.linalg.lstsq(np.concatenate([*conditions, first]), np.concatenate(right))[0]
    return tuple(_floats(row) for row in _exact_ends(weights.reshape(4, count), tableau.b_sol))


def _with_last_stage(
    rows: list[Weights], times: Weights, weights: Weights, error: Weights, order: int
) -> Method:
    """A method with the slope at the end of the step as one more stage, and Hermite dense output.

    Args:
        rows: for each stage from the second on, the weights of the slopes before it.
        times: times of these stages as fractions of the step.
        weights: weights of the slopes in the solution.
        error: weights of the slopes in the error estimate; empty or zeros for none.
        order: order of the solution.
    """
    solution, start, end = np.zeros((3, len(weights) + 1))
    solution[:-1], start[0], end[-1] = weights, 1.0, 1.0
    dense = (start, 3 * solution - 2 * start - end, start + end - 2 * solution)
    return Method(
        stages=(*rows, weights),
        times=(*times, 1.0),
        error=(*error, 0.0),
        dense=tuple(_floats(row) for row in dense),
        order=order,
    )


def _floats(row: np.ndarray) -> Weights:
    """A row of a tableau as a tuple of floats."""
    return tuple(float(value) for value in row)


def _dense_weights(solver: Any) -> tuple[Weights, ...]:
    """The weights of a diffrax solver's dense output, fitted exactly by polynomials in time.

    For each power u, u^2, ... of the fraction u of the step that has passed: the weight of each
    stage's slope in its coefficient.

    Raises:
        InvalidInput: if the dense output is not a polynomial of degree 8 or less.
    """
    stages = solver.tableau.num_stages
    with jax.ensure_compile_time_eval(), jax.enable_x64(True):
        unit = jnp.eye(stages, dtype=jnp.float64)
        end = jnp.asarray(solver.tableau.b_sol, jnp.float64) @ unit
        start = jnp.zeros(stages, jnp.float64)
        curve = solver.interpolation_cls(t0=0.0, t1=1.0, y0=start, y1=end, k=unit)
        u = np.linspace(0.0, 1.0, 2 * MAX_DEGREE + 1)
        values = np.stack([np.asarray(curve.evaluate(float(time))) for time in u])
    for degree in range(1, MAX_DEGREE + 1):
        powers = u[:, None] ** np.arange(1, degree + 1)
        weights = np.linalg.lstsq(powers, values, rcond=None)[0]
        if np.abs(powers @ weights - values).max() < FIT_TOLERANCE:
            return tuple(_floats(row) for row in _exact_ends(weights, solver.tableau.b_sol))
    raise InvalidInput("dde.solve", "solver", "one with polynomial dense output", solver)


def _exact_ends(weights: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Fitted weights of the dense output, with the slope at 0 and the value at 1 made exact.

    Args:
        weights: for each power u, u^2, ... the weights of the slopes, shape (powers, stages).
        end: weights of the slopes in the state at the step's end, shape (stages,).
    """
    weights[0] = np.eye(weights.shape[1])[0]
    weights[-1] += end - weights.sum(axis=0)
    return weights
