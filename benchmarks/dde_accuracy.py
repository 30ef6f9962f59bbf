"""Errors of `dde.solve` on a suite of delay equations, as multiples of the tolerance.

Most problems are from the DDETST collection and from the literature; the systems, with their
sources and closed forms or references, are in `benchmarks/dde/systems.py`, `switched_systems.py`
and `neutral_systems.py`.
`condition` states how many tolerances local errors of a tolerance can add up to
(`benchmarks/dde/conditioning.py`). An error is the largest one of a component at the stored times,
divided by atol + rtol x the component's largest size, with atol = rtol.
"""

from __future__ import annotations

import diffrax
import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.dde import neutral_systems, switched_systems, systems
from benchmarks.dde.conditioning import condition
from benchmarks.dde.problems import known, options_of
from benchmarks.dde.systems import System
from benchmarks.harness import Figures, run
from vegasfluid import dde

__all__ = ["METHODS", "SUITE", "TOLERANCES", "error_over_tolerance", "key", "table"]

METHODS = {"Bosh3": diffrax.Bosh3(), "Tsit5": diffrax.Tsit5(), "Dopri8": diffrax.Dopri8()}
"""Runge-Kutta methods by name."""
TOLERANCES = (1e-4, 1e-6, 1e-9)
"""Relative and absolute tolerances."""
WANTED = 10.0
"""Largest error, in tolerances, where a problem does not amplify errors."""
NETWORKS = (switched_systems.RENO_RED, switched_systems.RENO_VEGAS)
"""Systems left out: their errors are figures of `benchmarks.dde`."""
SYSTEMS = systems.SYSTEMS + switched_systems.SYSTEMS + neutral_systems.SYSTEMS
"""All systems with known solutions."""
SUITE = tuple(system for system in SYSTEMS if system not in NETWORKS)
"""The systems of the suite."""


def key(name: str) -> str:
    """Return a system's name as a part of a figure's name."""
    return name.replace(",", "").replace(" ", "_")


def error_over_tolerance(system: System, method: str, tolerance: float) -> float:
    """Return the error of a solve as a multiple of its tolerance; infinite if it fails."""
    times, ys = known(system)
    controller = diffrax.PIDController(rtol=jnp.asarray(tolerance), atol=jnp.asarray(tolerance))
    found = dde.solve(
        system.rhs,
        METHODS[method],
        system.t0,
        system.t1,
        None,
        jnp.asarray(system.y0),
        system.args,
        **options_of(system),
        saveat=diffrax.SaveAt(ts=jnp.asarray(times)),
        stepsize_controller=controller,
        max_steps=200_000,
        throw=False,
    )
    errors = np.abs(np.asarray(found.ys) - ys) / (tolerance * (1 + np.abs(ys).max(axis=0)))
    return float(errors.max()) if np.all(np.isfinite(errors)) else float("inf")


def measure(full: bool) -> Figures:
    """Return the condition of each system, and its errors by method and tolerance."""
    jax.config.update("jax_enable_x64", True)
    figures = Figures()
    for system in SUITE:
        amplified = condition(system)
        figures.add(f"condition.{key(system.name)}", amplified)
        for method in METHODS:
            for tolerance in TOLERANCES:
                name = f"error.{key(system.name)}.{method}.{tolerance:.0e}"
                error = error_over_tolerance(system, method, tolerance)
                figures.add(name, error, at_most=WANTED * amplified)
        jax.clear_caches()
    return figures


def table(values: dict[str, float]) -> list[str]:
    """Return the lines of a Markdown table of all errors, from the figures by name.

    Errors above ten times the condition are bold.
    """
    columns = [f"{method}, {tolerance:.0e}" for method in METHODS for tolerance in TOLERANCES]
    lines = ["| problem | condition | " + " | ".join(columns) + " |"]
    lines.append("|---" * (len(columns) + 2) + "|")
    for system in SUITE:
        name, cells = key(system.name), []
        amplified = values[f"condition.{name}"]
        for column in columns:
            error = values[f"error.{name}.{column.replace(', ', '.')}"]
            cells.append(f"**{error:.2g}**" if error > WANTED * amplified else f"{error:.2g}")
        lines.append(f"| {system.name} | {amplified:.2g} | " + " | ".join(cells) + " |")
    return lines


if __name__ == "__main__":
    run(measure, __doc__ or "")
