"""ddeint on problem A, the Mackey-Glass equation: a delay solver in plain Python.

V. Zulko's ddeint wraps `scipy.integrate.ode` and interpolates the past linearly. It builds its
interpolant again at every output, so its outputs are its grid: the error falls with the first power
of the spacing, and the time grows with its square once there are many.
"""

from __future__ import annotations

import time
import warnings
from typing import Any, NamedTuple

import numpy as np
from ddeint import ddeint

UNTIL = 500
POINTS_A_UNIT = 10  # 0.6 s at an error of 0.12; 1 takes 0.2 s at 0.4


class Measured(NamedTuple):
    """The outputs at each unit of time, and the seconds they took."""

    ys: np.ndarray
    wall: float
    cpu: float


def slope(initial_history: Any, now: float) -> Any:
    late = initial_history(now - 17.0)
    return 0.2 * late / (1 + late**10) - 0.1 * initial_history(now)


def run(points_a_unit: int = POINTS_A_UNIT) -> Measured:
    """Problem A once, to t = 500 from the constant past 1.2."""
    grid = np.linspace(0.0, UNTIL, UNTIL * points_a_unit + 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cpu, wall = time.process_time(), time.perf_counter()
        found = ddeint(slope, lambda _: 1.2, grid)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    ys = np.asarray(found).reshape(grid.size, 1)[::points_a_unit]
    return Measured(ys, wall, cpu)
