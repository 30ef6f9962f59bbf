"""SciPy's `solve_ivp` on equations with constant lags, by the method of steps.

The span is divided at the multiples of the shortest lag, of which all other lags must be multiples.
So no part contains a breaking point, and the delayed values of a part come from the dense outputs
of earlier ones. Without lags it is one call of `solve_ivp`.

What makes it fast: one look-up of the dense output by bisection instead of `OdeSolution`'s call,
and each part begins with the last step of the part before it instead of a search for one.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy.integrate import solve_ivp

__all__ = ["Equation", "Measured", "solve"]


@dataclass(frozen=True)
class Equation:
    """An equation y' = rhs(t, y, history) with a constant initial history.

    Args:
        rhs: right-hand side in Python's numbers; `history(s)` is y at time s, shape (state,).
        lags: constant lags, multiples of the smallest one; none for ordinary equations.
        y0: state at and before the start.
        t0: start.
        t1: end.
    """

    rhs: Callable[[float, Any, Callable[[float], Any]], Any]
    lags: tuple[float, ...]
    y0: tuple[float, ...]
    t0: float
    t1: float


class Measured(NamedTuple):
    """States at the wanted times, shape (time, state), and the CPU seconds of the integration."""

    ys: np.ndarray
    cpu: float


@dataclass
class History:
    """The solution so far, a function of time.

    Args:
        before: state before the start, shape (state,).
        begins: times at which the steps begin.
        pieces: dense outputs of the steps.
    """

    before: np.ndarray
    begins: list[float] = field(default_factory=list)
    pieces: list[Any] = field(default_factory=list)

    def __call__(self, time: float) -> Any:
        """Return the state at a time, shape (state,)."""
        index = bisect_right(self.begins, time) - 1
        return self.pieces[index](time) if index >= 0 else self.before


def solve(equation: Equation, method: str, tolerance: float, times: np.ndarray) -> Measured:
    """Return the solution at some times; the time to read them from the dense output isn't counted.

    Args:
        equation: equation to solve.
        method: a Runge-Kutta method of `solve_ivp`, such as `DOP853`.
        tolerance: relative and absolute tolerance.
        times: times at which the states are returned, shape (time,).
    """
    begin = time.process_time()
    history = integrate(equation, method, tolerance)
    cpu = time.process_time() - begin
    return Measured(np.array([history(moment) for moment in times]), cpu)


def integrate(equation: Equation, method: str, tolerance: float) -> History:
    """Return the solution of an equation as a function of time."""
    history = History(np.asarray(equation.y0, dtype=float))
    length = min(equation.lags, default=equation.t1 - equation.t0)
    count = int(np.ceil((equation.t1 - equation.t0) / length - 1e-12))
    y, step = history.before, None
    for number in range(count):
        start = equation.t0 + number * length
        end = min(equation.t0 + (number + 1) * length, equation.t1)
        done = solve_ivp(
            lambda t, y: equation.rhs(t, y, history),
            (start, end),
            y,
            method=method,
            dense_output=True,
            first_step=min(step, end - start) if step else None,
            rtol=tolerance,
            atol=tolerance,
        )
        history.begins += done.t[:-1].tolist()
        history.pieces += done.sol.interpolants
        y, step = done.y[:, -1], float(np.diff(done.t).max())
    return history
