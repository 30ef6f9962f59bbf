"""Errors of the delay solver against known solutions, and its orders of convergence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import diffrax
import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.dde import switched_systems, systems
from benchmarks.dde.problems import METHODS, error_of, known, options_of
from benchmarks.dde.systems import System
from benchmarks.harness import Figures
from vegasfluid import dde

__all__ = ["add_errors", "add_orders"]

RTOL = ATOL = 1e-8
"""Relative and absolute tolerance."""
BOUNDS: tuple[tuple[System, float], ...] = (
    (systems.LINEAR, 1e-6),
    (systems.TWO_LAGS, 1e-7),
    (systems.BY_STATE, 1e-7),
    (systems.PANTOGRAPH, 1e-6),
    (systems.DDETST_B1, 1e-7),
    (systems.DDETST_D1, 1e-7),
    (systems.FELDSTEIN_NEVES, 1e-6),
    (systems.MACKEY_GLASS, 1e-6),
    (switched_systems.DDETST_C1, 1e-4),
    (switched_systems.DDETST_C2, 1e-5),
    (switched_systems.DDETST_C3, 1e-6),
    (switched_systems.DDETST_C4, 1e-6),
    (switched_systems.WALLS, 1e-6),
    (switched_systems.RENO_RED, 1e-3),
)
"""Systems with the largest error allowed at this tolerance, relative."""
CHANGED: dict[str, dict[str, Any]] = {
    switched_systems.DDETST_C4.name: {
        "history_capacity": 4096
    },  # 1830 steps, and a lag of half of them
    switched_systems.WALLS.name: {"dtmax": 0.5},  # else a step passes a wall's end, and the next
}
"""Options by system: 1830 steps with a lag of half of them; steps no longer than a wall."""
HALVINGS = 0.1 * 2.0 ** -np.arange(4.0)
"""Steps on a smooth system, s."""
EVENTFUL = 0.04 * 2.0 ** (-np.arange(13) / 4)
"""Steps on C, s; more of them, as their place between events changes each error by a factor of
2."""
EVENTFUL_UNTIL = 9.8
"""End of C, s: after two events at the empty queue and four of RED's."""


def solve(system: System, method: str, times: np.ndarray, **options: Any) -> dde.Solution:
    """Return the solution of a system at some times, the last of which is the end."""
    return dde.solve(
        system.rhs,
        METHODS[method],
        system.t0,
        float(times[-1]),
        options.pop("step", None),
        jnp.asarray(system.y0),
        system.args,
        **options_of(system),
        saveat=diffrax.SaveAt(ts=jnp.asarray(times)),
        max_steps=100_000,
        throw=False,
        **options,
    )


def add_errors(figures: Figures) -> None:
    """Add the error of Tsit5 at a tolerance of 1e-8 on systems with known solutions."""
    for system, bound in BOUNDS:
        times, ys = known(system)
        options = dict(CHANGED.get(system.name, {}))
        longest = options.pop("dtmax", None)
        controller = diffrax.PIDController(rtol=RTOL, atol=ATOL, dtmax=longest)
        solution = solve(system, "Tsit5", times, stepsize_controller=controller, **options)
        name = system.name.replace(",", "").replace(" ", "_")
        figures.add(f"error.{name}", error_of(solution.ys, ys), at_most=bound)


def order(system: System, method: str, steps: Sequence[float] | np.ndarray, until: float) -> float:
    """Return the order of convergence: the least-squares slope of log error over log step."""
    times, ys = known(system, until, 101)
    constant = diffrax.ConstantStepSize()

    @jax.jit
    def solution(step: Any) -> Any:
        options = {"step": step, "stepsize_controller": constant, "history_capacity": 2048}
        return solve(system, method, times, **options).ys

    errors = [error_of(solution(step), ys) for step in steps]
    return float(np.polyfit(np.log(steps), np.log(errors), 1)[0])


def add_orders(figures: Figures) -> None:
    """Add measured orders, and their distances from those of the methods."""
    cases = (
        ("smooth", systems.TWO_LAGS, HALVINGS, 10.0),
        ("events", switched_systems.RENO_RED, EVENTFUL, EVENTFUL_UNTIL),
    )
    for kind, system, steps, until in cases:
        for method, nominal in (("Bosh3", 3), ("Tsit5", 5), ("Dopri5", 5)):
            measured = order(system, method, steps, until)
            figures.add(f"order.{kind}.{method}", measured)
            figures.add(f"order.{kind}.{method}.off", abs(measured - nominal), at_most=0.2)
