"""The problems as each solver takes them: functions that solve once and measure themselves."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import diffrax
import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.dde import switched_systems, systems
from benchmarks.dde.peers import scipy_peer
from benchmarks.dde.problems import known, options_of
from benchmarks.dde.systems import System, constant
from benchmarks.dde.timing import seconds
from vegasfluid import dde

__all__ = ["ORBIT", "SYSTEMS", "Solve", "solve_of"]

Solve = Callable[[], tuple[Any, float]]
"""A solve: states at the stored times, shape (time, state), and CPU seconds."""
METHODS = {"Bosh3": diffrax.Bosh3(), "Tsit5": diffrax.Tsit5(), "Dopri8": diffrax.Dopri8()}
"""Runge-Kutta methods by name."""
MOST_STEPS = 100_000
"""Largest number of steps."""
CAPACITY = {("Mackey-Glass", "Bosh3"): 4096, ("Kermack and McKendrick", "Bosh3"): 4096}
"""History capacity by problem and method, steps, where 1024 is too small at tight tolerances."""
ECCENTRICITY = 0.5
"""Eccentricity of the orbit."""


def orbit(t, y, history, args):
    """Return the time derivative of a body's position and velocity around a mass of 1; (4,)."""
    cubed = (y[0] * y[0] + y[1] * y[1]) ** 1.5
    return jnp.stack([y[2], y[3], -y[0] / cubed, -y[1] / cubed])


def kepler(t):
    """Return position and velocity on the orbit from Kepler's equation; (time, 4)."""
    t = np.asarray(t, dtype=float)
    angle = t + ECCENTRICITY * np.sin(t)
    for _ in range(50):  # Newton's method
        slope = 1 - ECCENTRICITY * np.cos(angle)
        angle = angle - (angle - ECCENTRICITY * np.sin(angle) - t) / slope
    width, slope = math.sqrt(1 - ECCENTRICITY**2), 1 - ECCENTRICITY * np.cos(angle)
    place = [np.cos(angle) - ECCENTRICITY, width * np.sin(angle)]
    velocity = [-np.sin(angle) / slope, width * np.cos(angle) / slope]
    return np.stack([*place, *velocity], axis=-1)


START = tuple(map(float, kepler(0.0)))
"""Position and velocity at time 0, where the body is closest."""
ORBIT = System(
    "orbit",
    "Kepler's problem with the eccentricity 0.5; closed form by Kepler's equation",
    orbit,
    y0=START,
    t0=0.0,
    t1=20.0,
    initial_history=constant(*START),
    longest_lag=0.0,
    exact=kepler,
    smooth_start=True,
)
SYSTEMS = {
    system.name: system
    for system in (
        systems.MACKEY_GLASS,
        systems.KERMACK,
        systems.BY_STATE,
        switched_systems.DDETST_C2,
        switched_systems.RENO_RED,
        ORBIT,
    )
}
"""The problems by name."""


@cache
def compiled(name: str, method: str, own: bool) -> Callable[[Any], Any]:
    """Return a problem's states at the stored times as a compiled function of the tolerance.

    Args:
        name: problem.
        method: Runge-Kutta method.
        own: whether our solver solves it, not diffrax.
    """
    system, times = SYSTEMS[name], jnp.asarray(known(SYSTEMS[name]).times)

    def solve(tolerance: Any) -> Any:
        common: dict[str, Any] = {
            "saveat": diffrax.SaveAt(ts=times),
            "stepsize_controller": diffrax.PIDController(rtol=tolerance, atol=tolerance),
            "max_steps": MOST_STEPS,
            "throw": False,
        }
        start = (METHODS[method], system.t0, system.t1, None, jnp.asarray(system.y0), system.args)
        if own:
            common |= {"history_capacity": CAPACITY.get((name, method), 1024)}
            return dde.solve(system.rhs, *start, **options_of(system), **common)
        term = diffrax.ODETerm(lambda t, y, args: system.rhs(t, y, None, args))
        return diffrax.diffeqsolve(term, *start, **common)

    return jax.jit(solve)


def by_jax(name: str, method: str, tolerance: float, own: bool) -> Solve:
    """Return a solve of our solver or of diffrax; after a failure, states are not finite."""
    solver = compiled(name, method, own)

    def solve() -> tuple[Any, float]:
        found: list[Any] = []
        cpu, _ = seconds(lambda: found.append(solver(tolerance)) or found[0].ys)
        return found[0].ys, cpu

    return solve


JITCDDE = {
    "Mackey-Glass": ("A", 1.0, 1e-2, 10.0),
    "Reno over RED": ("C", 10.0, 1e-3, 0.2),
    "Kermack and McKendrick": ("", 1.0, 1e-2, 10.0),
    "lag by state, smooth": ("", 1.0, 1e-2, 10.0),
    "DDETST C2": ("", 1.0, 1e-2, 10.0),
}
"""Problem's letter in `jitcdde_peer`, absolute over relative tolerance, first and longest step."""


@cache
def jitcdde(name: str) -> Any:
    """Return a problem compiled by JiTCDDE."""
    from benchmarks.dde.peers import jitcdde_peer, jitcdde_suite

    letter = JITCDDE[name][0]
    return jitcdde_peer.compile_problem(letter) if letter else jitcdde_suite.compile_system(name)


def by_jitcdde(name: str, tolerance: float) -> Solve:
    """Return a solve of a problem by JiTCDDE; its time is that of the integration alone."""
    from benchmarks.dde.peers import jitcdde_peer, jitcdde_suite

    _, ratio, first, longest = JITCDDE[name]
    start = jitcdde_suite.start_of(name)
    settings = jitcdde_peer.Settings(tolerance, ratio * tolerance, first, longest, start)
    times = known(SYSTEMS[name]).times

    def solve() -> tuple[Any, float]:
        found = jitcdde(name).run(times, settings, repeats=1)
        return found.ys, found.cpu

    return solve


def mackey_glass(t, y, history):
    late = float(history(t - 17.0)[0])
    return [0.2 * late / (1 + late**10) - 0.1 * y[0]]


def epidemic(t, y, history):
    susceptible, infected, _ = y.tolist()
    caught, waned = susceptible * history(t - 1.0)[1], history(t - 10.0)[1]
    return [waned - caught, caught - infected, infected - waned]


def plain_orbit(t, y, history):
    first, second, *velocity = y.tolist()
    cubed = (first * first + second * second) ** 1.5
    return [*velocity, -first / cubed, -second / cubed]


SCIPY = {
    "Mackey-Glass": (mackey_glass, (17.0,)),
    "Kermack and McKendrick": (epidemic, (1.0, 10.0)),
    "orbit": (plain_orbit, ()),
}
"""Right-hand sides in Python's numbers, and constant lags."""


def by_scipy(name: str, method: str, tolerance: float) -> Solve:
    """Return a solve of a problem by SciPy's `solve_ivp` and the method of steps."""
    system, (rhs, lags) = SYSTEMS[name], SCIPY[name]
    equation = scipy_peer.Equation(rhs, lags, system.y0, system.t0, system.t1)
    times = known(system).times
    return lambda: scipy_peer.solve(equation, method, tolerance, times)


def solve_of(problem: str, curve: str, tolerance: float) -> Solve:
    """Return a solve of a problem at a tolerance, by the name of the solver's curve."""
    solver, _, method = curve.rpartition("_")
    if curve == "JiTCDDE":
        return by_jitcdde(problem, tolerance)
    if solver == "SciPy":
        return by_scipy(problem, method, tolerance)
    return by_jax(problem, method, tolerance, own=not solver)
