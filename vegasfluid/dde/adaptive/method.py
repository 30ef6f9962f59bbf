"""An explicit Runge-Kutta method: its tableau, and its dense output as polynomials.

Both are read off a diffrax solver, so that every explicit solver there whose last stage is the
first of the next step (Bosh3, Tsit5, Dopri5, ...) integrates delay equations as well.

Sources: P. Bogacki and L. Shampine, Appl. Math. Lett. 2(4), 1989 (Bosh3); J. Dormand and P.
Prince, J. Comput. Appl. Math. 6(1), 1980 (Dopri5); C. Tsitouras, Comput. Math. Appl. 62(2), 2011
(Tsit5). The numbers are diffrax's.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import diffrax
import jax
import jax.numpy as jnp
import numpy as np

from vegasfluid.errors import InvalidInput

__all__ = ["Method", "method_of"]

StepRow = tuple[float, ...]

MAX_DEGREE = 8
FIT_TOLERANCE = 1e-11
"""Misfit of the dense output beyond which it is no polynomial of the degree tried."""


class Method(NamedTuple):
    """An embedded pair whose last stage is the slope at the end of the step.

    Args:
        stages: for the second stage on, its weights of the slopes before it.
        times: for the second stage on, when it is, as a share of the step.
        error: weights of the slopes in the error estimate, one a stage.
        dense: for each power u, u^2, ... of the share of the step that has passed, the weights
            of the slopes in its coefficient.
        order: of the solution.
    """

    stages: tuple[StepRow, ...]
    times: StepRow
    error: StepRow
    dense: tuple[StepRow, ...]
    order: int


@lru_cache
def method_of(solver: Any) -> Method:
    """The method of a diffrax solver.

    Raises:
        InvalidInput: where the solver is not explicit, has no error estimate, or its last stage
            is not the first of the next step.

    >>> method_of(diffrax.Bosh3()).times, len(method_of(diffrax.Tsit5()).dense)
    ((0.5, 0.75, 1.0), 4)
    """
    explicit = isinstance(solver, diffrax.AbstractERK)
    tableau: Any = getattr(solver, "tableau", None)
    if not explicit or not tableau.fsal or not np.any(tableau.b_error):
        allowed = "an explicit diffrax solver like Bosh3(), Tsit5() or Dopri5()"
        raise InvalidInput("dde.solve", "solver", allowed, type(solver).__name__)
    order: Any = solver.order(None)  # pyright: ignore[reportArgumentType]
    return Method(
        stages=tuple(_floats(row) for row in tableau.a_lower),
        times=_floats(tableau.c),
        error=_floats(tableau.b_error),
        dense=_dense_weights(solver),
        order=order,
    )


def _floats(row: np.ndarray) -> StepRow:
    return tuple(float(value) for value in row)


def _dense_weights(solver: Any) -> tuple[StepRow, ...]:
    """The dense output's weights: it is linear in the slopes, and a polynomial in the time."""
    stages = solver.tableau.num_stages
    with jax.ensure_compile_time_eval(), jax.enable_x64(True):
        unit = jnp.eye(stages, dtype=jnp.float64)
        end = jnp.asarray(solver.tableau.b_sol, jnp.float64) @ unit
        start = jnp.zeros(stages, jnp.float64)
        curve = solver.interpolation_cls(t0=0.0, t1=1.0, y0=start, y1=end, k=unit)
        u = np.linspace(0.0, 1.0, 2 * MAX_DEGREE + 1)
        values = np.stack([np.asarray(curve.evaluate(float(part))) for part in u])
    for degree in range(1, MAX_DEGREE + 1):
        powers = u[:, None] ** np.arange(1, degree + 1)
        weights = np.linalg.lstsq(powers, values, rcond=None)[0]
        if np.abs(powers @ weights - values).max() < FIT_TOLERANCE:
            return tuple(_floats(row) for row in _exact_ends(weights, solver.tableau.b_sol))
    raise InvalidInput("dde.solve", "solver", "one with polynomial dense output", solver)


def _exact_ends(weights: np.ndarray, end: np.ndarray) -> np.ndarray:
    """The weights with their rounding taken out of the slope at 0 and the value at 1."""
    weights[0] = np.eye(weights.shape[1])[0]
    weights[-1] += end - weights.sum(axis=0)
    return weights
