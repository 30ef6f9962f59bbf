"""Batches of different instances, compared with JiTCDDE, which solves one after the other.

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
SMOOTH_ERROR, SMOOTH_RTOL = 2e-7, 1e-9
"""Of A, which is chaotic: some instances magnify errors far more than JiTCDDE's one."""
STATES = len(RENO_RED.y0)
METHOD, RTOL = "Tsit5", 3e-6
CHUNK, ROWS = 1, 256
"""The default with events; `add_settings` tries others."""
SAMPLE = 64
SEED = 11


def instances(count: int) -> Red:
    """Links that differ in flows, delay and RED's slope; the first are the same for any count."""
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
    """A batch of C, compiled; of rtol, atol and the instances."""
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
    """Answers: another method at a tolerance of 1e-10."""
    solve = solver(count, method="Dopri5", rows=1024, saves=1001)
    return np.asarray(solve(1e-10, 1e-10, args).ys)


def add_sample(figures: Figures) -> None:
    """The largest error of some instances of the batch, at 1001 times."""
    args = instances(SAMPLE)
    found = solver(SAMPLE, saves=1001)(RTOL, RTOL, args).ys
    errors = [error_of(*pair) for pair in zip(found, tight(args, SAMPLE), strict=True)]
    figures.add("batch.sample_error", max(errors), at_most=ERROR)


def add_batches(figures: Figures) -> None:
    """C, 1000 and 10 000 instances: time of one, and how many times as fast as JiTCDDE's."""
    add_sample(figures)
    for count, at_least, repeats in ((1000, 10.0, 3), (10_000, 8.0, 1)):
        args = instances(count)
        solve = solver(count).lower(RTOL, RTOL, args).compile()
        task = partial(solve, RTOL, RTOL, args)
        add_batch(figures, f"batch{count}", task, count, ("C", ERROR), at_least, repeats)


def add_smooth_batch(figures: Figures, count: int = 1000, sample: int = 16) -> None:
    """A, likewise."""
    args = smooth_instances(sample)
    answers = smooth_solver(sample, 1e-12, 1001)(args).ys
    found = smooth_solver(sample, SMOOTH_RTOL, 1001)(args).ys
    errors = [error_of(*pair) for pair in zip(found, np.asarray(answers), strict=True)]
    figures.add("batch.A.sample_error", max(errors), at_most=SMOOTH_ERROR)
    args = smooth_instances(count)
    task = partial(smooth_solver(count, SMOOTH_RTOL, 101).lower(args).compile(), args)
    add_batch(figures, f"batch{count}.A", task, count, ("A", SMOOTH_ERROR), None, 3)


def smooth_instances(count: int) -> tuple[Any, ...]:
    """Mackey-Glass equations that differ in growth and decay."""
    growth, decay, lag = MACKEY_GLASS.args
    share = np.random.default_rng(SEED).uniform(0.95, 1.05, (2, count))
    return (growth * share[0], decay * share[1], np.full(count, lag))


def smooth_solver(count: int, rtol: float, saves: int) -> Any:
    """A batch of A, compiled; of the instances."""
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
    """The time of an instance, in turns with JiTCDDE's fastest run of a problem within an error."""
    peer = peer_best(*beside) if installed("jitcdde") else None
    walls: list[float] = []
    outcomes: list[Any] = []

    def run() -> Any:
        outcomes.append(task().outcome)
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
    """What the size of a chunk and the rows of the history make of it."""
    args = instances(count)
    for rows in (128, 256, 512):
        for chunk in (1, 8, 16, 32, 64, 128, 256):
            solve = solver(count, chunk=chunk, rows=rows)
            solve(RTOL, RTOL, args)
            cpu = min(seconds(partial(solve, RTOL, RTOL, args))[0] for _ in range(2))
            figures.add(f"batch.rows{rows}.chunk{chunk}.ms_an_instance", 1e3 * cpu / count)


def add_varied(figures: Figures, count: int = 10) -> None:
    """JiTCDDE on some instances of the batch, each compiled and with its own best settings."""
    from benchmarks.dde.peers import jitcdde_peer as module

    args, times = instances(count), np.linspace(RENO_RED.t0, RENO_RED.t1, 1001)
    answers = tight(args, count)
    found: list[float] = []
    for number in range(count):
        of: Any = jax.tree.map(lambda value, number=number: float(value[number]), args)
        own = {"flows": of.flows, "max_prob": of.max_prob, "propagation": of.propagation}
        form = replace(module.FORMS["C"], **own)
        tried = module.try_all(module.compile_problem("C", form), times, answers[number], repeats=3)
        found.append(1e3 * module.fastest_within(tried, ERROR).found.cpu)
    figures.add("batch.jitcdde_varied.least_ms", min(found))
    figures.add("batch.jitcdde_varied.mean_ms", float(np.mean(found)))
