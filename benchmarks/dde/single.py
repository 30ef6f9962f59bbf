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
RTOLS = {
    "A": (1e-6, 1e-7, 3e-8, 1e-8, 3e-9, 1e-9),
    "C": (1e-5, 3e-6, 1e-6, 3e-7, 1e-7, 3e-8, 1e-8, 3e-9, 1e-9),
    "D": (1e-6, 3e-7, 1e-7, 3e-8, 1e-8, 3e-9),
}
"""Tried with both methods, atol = rtol, and the longest steps below."""
UNBOUNDED = 1e9
LONGEST = {"A": (UNBOUNDED,), "C": (UNBOUNDED, 0.2), "D": (0.135, 0.095)}
"""That of D is what is stable: its averaging filter is stiff."""
WANTED: tuple[tuple[str, float, float | None], ...] = (
    ("C", 4e-4, 1.0),
    ("C", 1e-6, 1.0),
    ("D", 1e-3, 1.5),
    ("D", 1e-4, None),
    ("A", 2e-7, None),
)
"""Problem, error, and how many times as fast as JiTCDDE."""


def installed(module: str) -> bool:
    """Whether a peer is there."""
    return importlib.util.find_spec(module) is not None


def run_of(name: str, setting: tuple[str, float, float]) -> Callable[[], dde.Solution]:
    """A run of ours, compiled."""
    method, rtol, longest = setting
    return lambda: solver(name, method)(rtol, rtol, longest)


@cache
def ours(name: str) -> tuple[Tried, ...]:
    """All that is tried of ours."""
    _, ys = known(PROBLEMS[name])
    tried = []
    settings = [
        (m, rtol, longest) for m in METHODS for rtol in RTOLS[name] for longest in LONGEST[name]
    ]
    for setting in settings:
        method, rtol, longest = setting
        task = run_of(name, setting)
        error = error_of(task().ys, ys)
        tried.append(Tried(setting, f"{method} {longest}", rtol, error, cpu_seconds(task, 3)))
    return tuple(tried)


@cache
def peer(name: str, smoothed: bool = False) -> Any:
    """JiTCDDE, compiled: in its best form, or with clamps smoothed and its own flags."""
    from benchmarks.dde.peers import jitcdde_peer as module

    documented = replace(module.smoothed(name, 1e-4), flags=())
    return module.compile_problem(name, documented if smoothed else None)


@cache
def theirs(name: str, smoothed: bool = False) -> tuple[Tried, ...]:
    """All that is tried of JiTCDDE."""
    from benchmarks.dde.peers import jitcdde_peer as module

    tried = module.try_all(peer(name, smoothed), *known(PROBLEMS[name]), repeats=3)
    return tuple(
        Tried(own, f"{own.max_step} {own.atol / own.rtol:.3g}", own.rtol, error, found.cpu)
        for own, found, error in tried
    )


def peer_best(name: str, error: float) -> Callable[[], float]:
    """CPU seconds of JiTCDDE's fastest run within an error."""
    best = fastest_within(theirs(name), error)
    assert best is not None, name
    times = known(PROBLEMS[name]).times
    return lambda: peer(name).run(times, best.settings, repeats=1).cpu


def add_single(figures: Figures, name: str, error: float) -> None:
    """Our fastest run within an error, as luck has it and reliably."""
    for how, reliably in (("best", False), ("reliable", True)):
        found = fastest_within(ours(name), error, reliably=reliably)
        if found is not None:
            figures.add(f"{name}.{error:.0e}.{how}.ms", 1e3 * found.seconds)
            figures.add(f"{name}.{error:.0e}.{how}.error", found.error, at_most=error)


def add_jitcdde(
    figures: Figures, name: str, error: float, at_least: float | None, *, smoothed: bool = False
) -> None:
    """Both at the same error, in turns; a figure is left out where a solver does not reach it."""
    times = known(PROBLEMS[name]).times
    prefix = f"{name}.{error:.0e}.smoothed" if smoothed else f"{name}.{error:.0e}"
    for how, reliably in (("best", False), ("reliable", True)):
        mine = fastest_within(ours(name), error, reliably=reliably)
        other = fastest_within(theirs(name, smoothed), error, reliably=reliably)
        if mine is None or other is None:
            continue
        task = run_of(name, mine.settings)
        took, peer_took = alternating(
            lambda task=task: seconds(task)[0],
            lambda other=other: peer(name, smoothed).run(times, other.settings, repeats=1).cpu,
        )
        figures.add(f"{prefix}.{how}.ms", 1e3 * took)
        figures.add(f"{prefix}.{how}.error", mine.error)
        figures.add(f"{prefix}.{how}.jitcdde_ms", 1e3 * peer_took)
        figures.add(f"{prefix}.{how}.jitcdde_error", other.error)
        figures.add(f"{prefix}.{how}.times_jitcdde", peer_took / took, at_least=at_least)


def add_ddeint(figures: Figures) -> None:
    """Mackey-Glass: our run at an error of 2e-7, and a run of ddeint."""
    from benchmarks.dde.peers import ddeint_peer

    found = ddeint_peer.run()
    mine = fastest_within(ours("A"), 2e-7)
    assert mine is not None
    figures.add("A.ddeint_error", error_of(found.ys, known(PROBLEMS["A"]).ys))
    figures.add("A.ddeint_ms", 1e3 * found.cpu)
    figures.add("A.times_ddeint", found.cpu / mine.seconds)


def lorenz(t: Any, y: Any, history: Any, args: Any) -> Any:
    """An equation without delay."""
    first, second, third = y
    return jnp.stack(
        [10 * (second - first), first * (28 - third) - second, first * second - 8 / 3 * third]
    )


def add_diffrax(figures: Figures) -> None:
    """Without a delay it is diffrax that solves: in the same time, with the same result."""
    controller = diffrax.PIDController(rtol=1e-8, atol=1e-8)
    y0, saveat = jnp.ones(3), diffrax.SaveAt(ts=jnp.linspace(0.0, 20.0, 201))
    common: dict[str, Any] = {"saveat": saveat, "stepsize_controller": controller}
    common |= {"max_steps": 16384, "throw": False}

    @jax.jit
    def mine(y0: Any) -> Any:
        return dde.solve(lorenz, diffrax.Tsit5(), 0.0, 20.0, 0.01, y0, **common).ys

    @jax.jit
    def other(y0: Any) -> Any:
        term = diffrax.ODETerm(lambda t, y, args: lorenz(t, y, None, args))
        return diffrax.diffeqsolve(term, diffrax.Tsit5(), 0.0, 20.0, 0.01, y0, **common).ys

    figures.add("no_delay.difference_from_diffrax", error_of(mine(y0), other(y0)), at_most=1e-9)
    took, peer_took = alternating(
        lambda: seconds(lambda: mine(y0))[0], lambda: seconds(lambda: other(y0))[0], repeats=20
    )
    figures.add("no_delay.times_diffrax", peer_took / took, at_least=0.8)
