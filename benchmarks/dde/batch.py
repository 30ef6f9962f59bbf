"""Batches of different instances, compared with JiTCDDE, which solves them one by one.

Problem C has many events, problem A none.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import diffrax
import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.dde.problems import METHODS, MOST_STEPS, error_of, options_of
from benchmarks.dde.single import installed, peer_best
from benchmarks.dde.switched_systems import RENO_RED, Red
from benchmarks.dde.systems import MACKEY_GLASS
from benchmarks.dde.timing import alternating, seconds
from benchmarks.harness import Figures
from vegasfluid import dde

__all__ = [
    "ROWS",
    "STATES",
    "add_batches",
    "add_settings",
    "add_smooth_batch",
    "add_varied",
    "instances",
    "solver",
]

ERROR = 4e-4
"""Largest error of C, relative."""
SMOOTH_ERROR = 2e-7
"""Largest error of A, relative."""
SMOOTH_RTOL = 1e-9
"""Tolerance of A, which is chaotic: some instances amplify errors far more than JiTCDDE's one."""
STATES = len(RENO_RED.y0)
"""Number of states of C."""
METHOD = "Tsit5"
"""Runge-Kutta method."""
RTOL = 3e-6
"""Tolerance of C, relative and absolute."""
CHUNK = None
"""Instances that XLA solves together; None: lane kernels. `add_settings` tries others."""
ROWS = 256
"""History capacity, steps."""
SAMPLE = 64
"""Number of instances whose error is measured."""
SEED = 11
"""Seed of the instances."""


def instances(count: int) -> Red:
    """Return links that differ in flows, delay and RED's slope, as arrays (count,).

    The first ones are the same for any count.
    """
    random = np.random.default_rng(SEED)
    flows, delay, slope = random.uniform(size=(count, 3)).T
    changed = {
        "flows": 50 + 20 * flows,
        "propagation": 0.15 + 0.1 * delay,
        "max_prob": 0.08 + 0.04 * slope,
    }
    base: Red = RENO_RED.args
    return jax.tree.map(
        lambda value: jnp.broadcast_to(jnp.asarray(value, float), (count,)),
        base._replace(**changed),
    )


def solver(
    count: int,
    *,
    method: str = METHOD,
    chunk: int | None = CHUNK,
    rows: int = ROWS,
    saves: int = 101,
) -> Any:
    """Return a compiled batch of C, a function of rtol, atol and the instances."""
    y0 = jnp.broadcast_to(jnp.asarray(RENO_RED.y0), (count, STATES))
    times = jnp.linspace(RENO_RED.t0, RENO_RED.t1, saves)

    def solve(rtol: Any, atol: Any, args: Red) -> dde.Solution:
        controller = diffrax.PIDController(rtol=rtol, atol=atol)
        return dde.solve_batch(
            RENO_RED.rhs,
            METHODS[method],
            RENO_RED.t0,
            RENO_RED.t1,
            None,
            y0,
            args,
            **options_of(RENO_RED),
            saveat=diffrax.SaveAt(ts=times),
            stepsize_controller=controller,
            history_capacity=rows,
            max_steps=MOST_STEPS,
            chunk=chunk,
            throw=False,
        )

    return jax.jit(solve)


def tight(args: Red, count: int) -> np.ndarray:
    """Return reference solutions (count, time, state): another method at a tolerance of 1e-10."""
    solve = solver(count, method="Dopri5", rows=1024, saves=1001)
    return np.asarray(solve(1e-10, 1e-10, args).ys)


def add_sample(figures: Figures) -> None:
    """Add the largest error of some instances of the batch, at 1001 times."""
    args = instances(SAMPLE)
    solutions = solver(SAMPLE, saves=1001)(RTOL, RTOL, args).ys
    errors = [error_of(*pair) for pair in zip(solutions, tight(args, SAMPLE), strict=True)]
    figures.add("batch.sample_error", max(errors), at_most=ERROR)


def add_batches(figures: Figures) -> None:
    """Add 1000 and 10 000 instances of C: time per instance, and JiTCDDE's relative to it."""
    add_sample(figures)
    for count, at_least, repeats in ((1000, 10.0, 3), (10_000, 8.0, 1)):
        args = instances(count)
        solve = solver(count).lower(RTOL, RTOL, args).compile()
        task = partial(solve, RTOL, RTOL, args)
        add_batch(figures, f"batch{count}", task, count, ("C", ERROR), at_least, repeats)


def add_smooth_batch(figures: Figures, count: int = 1000, sample: int = 16) -> None:
    """Add 1000 instances of A: error, time per instance, and JiTCDDE's relative to it."""
    args = smooth_instances(sample)
    references = smooth_solver(sample, 1e-12, 1001)(args).ys
    solutions = smooth_solver(sample, SMOOTH_RTOL, 1001)(args).ys
    errors = [error_of(*pair) for pair in zip(solutions, np.asarray(references), strict=True)]
    figures.add("batch.A.sample_error", max(errors), at_most=SMOOTH_ERROR)
    args = smooth_instances(count)
    task = partial(smooth_solver(count, SMOOTH_RTOL, 101).lower(args).compile(), args)
    add_batch(figures, f"batch{count}.A", task, count, ("A", SMOOTH_ERROR), None, 3)


def smooth_instances(count: int) -> tuple[Any, ...]:
    """Return Mackey-Glass equations that differ in growth and decay, as arrays (count,)."""
    growth, decay, lag = MACKEY_GLASS.args
    factors = np.random.default_rng(SEED).uniform(0.95, 1.05, (2, count))
    return (growth * factors[0], decay * factors[1], np.full(count, lag))


def smooth_solver(count: int, rtol: float, saves: int) -> Any:
    """Return a compiled batch of A, a function of the instances."""
    y0 = jnp.broadcast_to(jnp.asarray(MACKEY_GLASS.y0), (count, 1))
    times = jnp.linspace(MACKEY_GLASS.t0, MACKEY_GLASS.t1, saves)

    def solve(args: Any) -> dde.Solution:
        return dde.solve_batch(
            MACKEY_GLASS.rhs,
            METHODS[METHOD],
            MACKEY_GLASS.t0,
            MACKEY_GLASS.t1,
            None,
            y0,
            args,
            initial_history=MACKEY_GLASS.initial_history,
            saveat=diffrax.SaveAt(ts=times),
            stepsize_controller=diffrax.PIDController(rtol=rtol, atol=rtol),
            max_steps=MOST_STEPS,
            throw=False,
        )

    return jax.jit(solve)


def add_batch(
    figures: Figures,
    prefix: str,
    task: Callable[[], dde.Solution],
    count: int,
    beside: tuple[str, float],
    at_least: float | None,
    repeats: int,
) -> None:
    """Add the CPU time per instance, alternating with JiTCDDE's fastest run of a problem.

    Args:
        figures: figures to add to.
        prefix: start of their names.
        task: function that solves the batch.
        count: number of instances.
        beside: problem and largest error of JiTCDDE's run.
        at_least: target of the speed relative to JiTCDDE.
        repeats: number of runs, of which the fastest counts.
    """
    peer = peer_best(*beside) if installed("jitcdde") else None
    walls: list[float] = []
    outcomes: list[Any] = []

    def run() -> Any:
        outcomes.append(task().result)
        return outcomes[-1]

    def took() -> float:
        cpu, wall = seconds(run)
        walls.append(wall)
        return cpu

    def theirs() -> float:
        return min(peer() for _ in range(10)) if peer else float("nan")

    ours, other = alternating(took, theirs, repeats=repeats)
    figures.add(f"{prefix}.failed", int(np.count_nonzero(outcomes[0])), at_most=0)
    figures.add(f"{prefix}.ms_an_instance", 1e3 * ours / count)
    figures.add(f"{prefix}.wall_ms_an_instance", 1e3 * min(walls) / count)
    if peer:
        figures.add(f"{prefix}.times_jitcdde", other * count / ours, at_least=at_least)


def add_settings(figures: Figures, count: int = 256) -> None:
    """Add times per instance by chunk size and history capacity."""
    args = instances(count)
    for rows in (128, 256, 512):
        for chunk in (1, 8, 16, 32, 64, 128, 256):
            solve = solver(count, chunk=chunk, rows=rows)
            solve(RTOL, RTOL, args)
            cpu = min(seconds(partial(solve, RTOL, RTOL, args))[0] for _ in range(2))
            figures.add(f"batch.rows{rows}.chunk{chunk}.ms_an_instance", 1e3 * cpu / count)


def add_varied(figures: Figures, count: int = 10) -> None:
    """Add JiTCDDE's times for some instances, each compiled with its best settings."""
    from benchmarks.dde.peers import jitcdde_peer as module

    args, times = instances(count), np.linspace(RENO_RED.t0, RENO_RED.t1, 1001)
    references = tight(args, count)
    times_ms: list[float] = []
    for number in range(count):
        parameters: Any = jax.tree.map(lambda value, number=number: float(value[number]), args)
        changes = {
            "flows": parameters.flows,
            "max_prob": parameters.max_prob,
            "propagation": parameters.propagation,
        }
        form = replace(module.FORMS["C"], **changes)
        trials = module.try_all(
            module.compile_problem("C", form), times, references[number], repeats=3
        )
        times_ms.append(1e3 * module.fastest_within(trials, ERROR).found.cpu)
    figures.add("batch.jitcdde_varied.least_ms", min(times_ms))
    figures.add("batch.jitcdde_varied.mean_ms", float(np.mean(times_ms)))
