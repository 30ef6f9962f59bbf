"""Problems A, C and D and the other systems, in the form that `dde.solve` takes."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import diffrax
import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.dde import switched_systems, systems
from vegasfluid import dde
from vegasfluid.dde.solution import Solution

__all__ = ["METHODS", "PROBLEMS", "Known", "error_of", "known", "options_of", "solver"]

DATA = Path(__file__).parents[2] / "tests" / "dde" / "data"
"""Folder with stored references."""
METHODS = {"Bosh3": diffrax.Bosh3(), "Tsit5": diffrax.Tsit5(), "Dopri5": diffrax.Dopri5()}
"""Runge-Kutta methods by name."""
PROBLEMS = {
    "A": systems.MACKEY_GLASS,
    "C": switched_systems.RENO_RED,
    "D": switched_systems.RENO_VEGAS,
}
"""Systems by problem."""
ROWS = {"D": 1024}
"""History capacity by problem where it isn't 512, steps."""
MOST_STEPS = 100_000
"""Largest number of steps."""


class Known(NamedTuple):
    """Times (time,) and the solution there (time, state)."""

    times: np.ndarray
    ys: np.ndarray


def known(system: systems.System, until: float | None = None, count: int = 201) -> Known:
    """Return a system's solution: at `count` even times if it is a closed form, else as stored."""
    end = system.t1 if until is None else until
    if system.exact is not None:
        times = np.linspace(system.t0, end, count)
        return Known(times, system.exact(times))
    assert system.reference is not None
    with np.load(DATA / system.reference) as stored:
        within = stored["ts"] <= end
        return Known(stored["ts"][within], stored["ys"][within])


def error_of(ys: Any, reference: np.ndarray) -> float:
    """Return the largest error of a component over all times, relative to its largest value."""
    errors = np.max(np.abs(np.asarray(ys) - reference), axis=0) / np.max(np.abs(reference), axis=0)
    return float(np.max(errors)) if np.all(np.isfinite(errors)) else float("inf")


def options_of(system: systems.System) -> dict[str, Any]:
    """Return the options of `solve` for a system: history before t0, bounds and guards."""
    bounds = tuple(dde.Bound(*bound) for bound in system.bounds)
    return {"initial_history": system.initial_history, "bounds": bounds, "guards": system.guards}


@cache
def solver(name: str, method: str) -> Callable[..., Solution]:
    """Return problem A, C or D at the stored times, compiled: of rtol, atol and dtmax."""
    system = PROBLEMS[name]
    times, y0 = jnp.asarray(known(system).times), jnp.asarray(system.y0)

    def solve(rtol: Any, atol: Any, longest: Any) -> Solution:
        return dde.solve(
            system.rhs,
            METHODS[method],
            system.t0,
            system.t1,
            None,
            y0,
            system.args,
            **options_of(system),
            saveat=diffrax.SaveAt(ts=times),
            stepsize_controller=diffrax.PIDController(rtol=rtol, atol=atol, dtmax=longest),
            history_capacity=ROWS.get(name, 512),
            max_steps=MOST_STEPS,
            throw=False,
        )

    return jax.jit(solve)
