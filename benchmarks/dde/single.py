"""Time of one run at a given error, compared with JiTCDDE, ddeint and diffrax (without delay)."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import diffrax
import jax
import jax.numpy as jnp

from benchmarks.dde.problems import PROBLEMS, error_of, known, solver
from benchmarks.dde.timing import Tried, alternating, cpu_seconds, fastest_within, seconds
from benchmarks.harness import Figures
from vegasfluid import dde

__all__ = ["add_ddeint", "add_diffrax", "add_jitcdde", "add_single", "installed", "peer_best"]

METHODS = ("Bosh3", "Tsit5")  # Dopri5 is like Tsit5
"""Runge-Kutta methods that are tried."""
RTOLS = {
    "A": (1e-6, 1e-7, 3e-8, 1e-8, 3e-9, 1e-9),
    "C": (1e-5, 3e-6, 1e-6, 3e-7, 1e-7, 3e-8, 1e-8, 3e-9, 1e-9),
    "D": (1e-6, 3e-7, 1e-7, 3e-8, 1e-8, 3e-9),
}
"""Tolerances by problem, tried with both methods, atol = rtol, and the longest steps below."""
UNBOUNDED = 1e9
"""Longest step that has no effect, s."""
LONGEST = {"A": (UNBOUNDED,), "C": (UNBOUNDED, 0.2), "D": (0.135, 0.095)}
"""Longest steps by problem, s; D's are stable ones, as its averaging filter is stiff."""
WANTED: tuple[tuple[str, float, float | None], ...] = (
    ("C", 4e-4, 1.0),
    ("C", 1e-6, 1.0),
    ("D", 1e-3, 1.5),
    ("D", 1e-4, None),
    ("A", 2e-7, None),
)
"""Problem, largest error, and target of the speed relative to JiTCDDE."""


def installed(module: str) -> bool:
    """Return whether a module is installed."""
    return importlib.util.find_spec(module) is not None


def run_of(name: str, setting: tuple[str, float, float]) -> Callable[[], dde.Solution]:
    """Return a compiled run of our solver with method, tolerance and longest step."""
    method, rtol, longest = setting
    return lambda: solver(name, method)(rtol, rtol, longest)


@cache
def ours(name: str) -> tuple[Tried, ...]:
    """Return all settings of our solver with errors and times."""
    _, ys = known(PROBLEMS[name])
    trials = []
    settings = [
        (m, rtol, longest) for m in METHODS for rtol in RTOLS[name] for longest in LONGEST[name]
    ]
    for setting in settings:
        method, rtol, longest = setting
        task = run_of(name, setting)
        error = error_of(task().ys, ys)
        trials.append(Tried(setting, f"{method} {longest}", rtol, error, cpu_seconds(task, 3)))
    return tuple(trials)


@cache
def peer(name: str, smoothed: bool = False) -> Any:
    """Return JiTCDDE compiled: in its best form, or with smoothed bounds and its own flags."""
    from benchmarks.dde.peers import jitcdde_peer as module

    documented = replace(module.smoothed(name, 1e-4), flags=())
    return module.compile_problem(name, documented if smoothed else None)


@cache
def theirs(name: str, smoothed: bool = False) -> tuple[Tried, ...]:
    """Return all settings of JiTCDDE with errors and times."""
    from benchmarks.dde.peers import jitcdde_peer as module

    trials = module.try_all(peer(name, smoothed), *known(PROBLEMS[name]), repeats=3)
    return tuple(
        Tried(
            setting,
            f"{setting.max_step} {setting.atol / setting.rtol:.3g}",
            setting.rtol,
            error,
            result.cpu,
        )
        for setting, result, error in trials
    )


def peer_best(name: str, error: float) -> Callable[[], float]:
    """Return a function that gives the CPU seconds of JiTCDDE's fastest run within an error."""
    best = fastest_within(theirs(name), error)
    assert best is not None, name
    times = known(PROBLEMS[name]).times
    return lambda: peer(name).run(times, best.settings, repeats=1).cpu


def add_single(figures: Figures, name: str, error: float) -> None:
    """Add our fastest run within an error: the best one, and the reliable one."""
    for how, reliably in (("best", False), ("reliable", True)):
        trial = fastest_within(ours(name), error, reliably=reliably)
        if trial is not None:
            figures.add(f"{name}.{error:.0e}.{how}.ms", 1e3 * trial.seconds)
            figures.add(f"{name}.{error:.0e}.{how}.error", trial.error, at_most=error)


def add_jitcdde(
    figures: Figures, name: str, error: float, at_least: float | None, *, smoothed: bool = False
) -> None:
    """Add both solvers at the same error, alternating; without figures if one misses the error."""
    times = known(PROBLEMS[name]).times
    prefix = f"{name}.{error:.0e}.smoothed" if smoothed else f"{name}.{error:.0e}"
    for how, reliably in (("best", False), ("reliable", True)):
        our_trial = fastest_within(ours(name), error, reliably=reliably)
        peer_trial = fastest_within(theirs(name, smoothed), error, reliably=reliably)
        if our_trial is None or peer_trial is None:
            continue
        task = run_of(name, our_trial.settings)
        time, peer_time = alternating(
            lambda task=task: seconds(task)[0],
            lambda peer_trial=peer_trial: (
                peer(name, smoothed).run(times, peer_trial.settings, repeats=1).cpu
            ),
        )
        figures.add(f"{prefix}.{how}.ms", 1e3 * time)
        figures.add(f"{prefix}.{how}.error", our_trial.error)
        figures.add(f"{prefix}.{how}.jitcdde_ms", 1e3 * peer_time)
        figures.add(f"{prefix}.{how}.jitcdde_error", peer_trial.error)
        figures.add(f"{prefix}.{how}.times_jitcdde", peer_time / time, at_least=at_least)


def add_ddeint(figures: Figures) -> None:
    """Add Mackey-Glass: our run at an error of 2e-7, and a run of ddeint."""
    from benchmarks.dde.peers import ddeint_peer

    result = ddeint_peer.run()
    our_trial = fastest_within(ours("A"), 2e-7)
    assert our_trial is not None
    figures.add("A.ddeint_error", error_of(result.ys, known(PROBLEMS["A"]).ys))
    figures.add("A.ddeint_ms", 1e3 * result.cpu)
    figures.add("A.times_ddeint", result.cpu / our_trial.seconds)


def lorenz(t: Any, y: Any, history: Any, args: Any) -> Any:
    """Return the time derivative of the Lorenz system, which has no delay; (3,)."""
    first, second, third = y
    return jnp.stack(
        [10 * (second - first), first * (28 - third) - second, first * second - 8 / 3 * third]
    )


def add_diffrax(figures: Figures) -> None:
    """Add an equation without delay, which diffrax solves: same result, same time."""
    controller = diffrax.PIDController(rtol=1e-8, atol=1e-8)
    y0, saveat = jnp.ones(3), diffrax.SaveAt(ts=jnp.linspace(0.0, 20.0, 201))
    common: dict[str, Any] = {"saveat": saveat, "stepsize_controller": controller}
    common |= {"max_steps": 16384, "throw": False}

    @jax.jit
    def by_dde(y0: Any) -> Any:
        return dde.solve(lorenz, diffrax.Tsit5(), 0.0, 20.0, 0.01, y0, **common).ys

    @jax.jit
    def by_diffrax(y0: Any) -> Any:
        term = diffrax.ODETerm(lambda t, y, args: lorenz(t, y, None, args))
        return diffrax.diffeqsolve(term, diffrax.Tsit5(), 0.0, 20.0, 0.01, y0, **common).ys

    figures.add(
        "no_delay.difference_from_diffrax", error_of(by_dde(y0), by_diffrax(y0)), at_most=1e-9
    )
    time, peer_time = alternating(
        lambda: seconds(lambda: by_dde(y0))[0],
        lambda: seconds(lambda: by_diffrax(y0))[0],
        repeats=20,
    )
    figures.add("no_delay.times_diffrax", peer_time / time, at_least=0.8)
