"""An explicit Runge-Kutta method: its tableau and its dense output as polynomials.

Both are taken from a diffrax solver. The last stage has to be the first one of the next step (FSAL:
Bosh3, Tsit5, Dopri5, ...). Other methods (Euler, Heun, Midpoint, Ralston) get it as one more stage,
which costs nothing, and the cubic Hermite polynomial as dense output.

Sources: P. Bogacki and L. Shampine, Appl. Math. Lett. 2(4), 1989 (Bosh3); J. Dormand and P.
Prince, J. Comput. Appl. Math. 6(1), 1980 (Dopri5); C. Tsitouras, Comput. Math. Appl. 62(2), 2011
(Tsit5). The coefficients are those of diffrax.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import diffrax
import jax
import jax.numpy as jnp
import numpy as np

from vegasfluid.errors import InvalidInput, Unsupported

__all__ = ["Method", "method_of"]

Weights = tuple[float, ...]

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
    """

    stages: tuple[Weights, ...]
    times: Weights
    error: Weights
    dense: tuple[Weights, ...]
    order: int
    dense_error: Weights = ()


@lru_cache
def method_of(solver: Any) -> Method:
    """The Runge-Kutta method of a diffrax solver: its tableau and its dense output as polynomials.

    Raises:
        Unsupported: where the solver is not an explicit Runge-Kutta method.

    >>> method_of(diffrax.Bosh3()).times, len(method_of(diffrax.Tsit5()).dense)
    ((0.5, 0.75, 1.0), 4)
    >>> method_of(diffrax.Heun()).stages
    ((1.0,), (0.5, 0.5))
    """
    if isinstance(solver, diffrax.Euler):
        return _with_last_stage([], (), (1.0,), (0.0,), 1)
    if not isinstance(solver, diffrax.AbstractERK):
        reason = (
            "with delays, bounds or events the methods are explicit Runge-Kutta ones, such as "
            "Bosh3(), Tsit5() or Dopri8(); a stiff equation needs more max_steps"
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


def _with_last_stage(
    rows: list[Weights], times: Weights, weights: Weights, error: Weights, order: int
) -> Method:
    """A method with the slope at the end of the step as one more stage, and Hermite dense output.

    Args:
        rows: for each stage from the second on, the weights of the slopes before it.
        times: their times as fractions of the step.
        weights: the weights of the slopes in the solution.
        error: those in the error estimate.
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
