"""Many different instances of C at once, against JiTCDDE, which solves one after the other."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import diffrax
import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.dde.problems import METHODS, MOST_STEPS, error_of, options_of
from benchmarks.dde.single import installed, peer_best
from benchmarks.dde.timing import alternating, seconds
from benchmarks.harness import Figures
from tests.dde.switched_systems import RENO_RED, Red
from vegasfluid import dde

__all__ = ["ROWS", "STATES", "add_batches", "add_settings", "add_varied", "instances", "solver"]

ERROR = 4e-4
STATES = len(RENO_RED.y0)
METHOD, RTOL, LONGEST_STEP = "Tsit5", 3e-7, 0.145
"""A step longer than its lag is made several times over, and then all instances wait for it."""
CHUNK, ROWS = 64, 256
"""Chunks of 8 to 256 and rows of 128 to 512 differ by less than the noise (`add_settings`)."""
SAMPLE = 8
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
    chunk: int = CHUNK,
    rows: int = ROWS,
    saves: int = 101,
    longest_step: float | None = LONGEST_STEP,
) -> Any:
    """A batch of C, compiled; of rtol, atol and the instances."""
    y0 = jnp.broadcast_to(jnp.asarray(RENO_RED.y0), (count, STATES))
    times = jnp.linspace(RENO_RED.t0, RENO_RED.t1, saves)

    def solve(rtol: Any, atol: Any, args: Red) -> dde.Solution:
        controller = diffrax.PIDController(rtol=rtol, atol=atol, dtmax=longest_step)
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
            rows=rows,
            max_steps=MOST_STEPS,
            chunk=chunk,
            throw=False,
        )

    return jax.jit(solve)


def tight(args: Red, count: int) -> np.ndarray:
    """Answers: another method at a tolerance of 1e-10, without a longest step."""
    solve = solver(count, method="Dopri5", chunk=count, rows=1024, saves=1001, longest_step=None)
    return np.asarray(solve(1e-10, 1e-10, args).ys)


def add_sample(figures: Figures) -> None:
    """The largest error of some instances of the batch, at 1001 times."""
    args = instances(SAMPLE)
    found = solver(SAMPLE, chunk=SAMPLE, saves=1001)(RTOL, RTOL, args).ys
    errors = [error_of(*pair) for pair in zip(found, tight(args, SAMPLE), strict=True)]
    figures.add("batch.sample_error", max(errors), at_most=ERROR)


def add_batches(figures: Figures) -> None:
    """1000 and 10 000 instances: time of one, and how many times as fast as JiTCDDE's."""
    add_sample(figures)
    peer = peer_best("C", ERROR) if installed("jitcdde") else None
    for count, at_least, repeats in ((1000, 10.0, 3), (10_000, 8.0, 1)):
        args = instances(count)
        solve = solver(count).lower(RTOL, RTOL, args).compile()
        walls: list[float] = []
        outcomes: list[Any] = []

        def task(solve: Any = solve, args: Red = args, outcomes: list[Any] = outcomes) -> Any:
            outcomes.append(solve(RTOL, RTOL, args).outcome)
            return outcomes[-1]

        def took(task: Any = task, walls: list[float] = walls) -> float:
            cpu, wall = seconds(task)
            walls.append(wall)
            return cpu

        def theirs() -> float:
            return min(peer() for _ in range(10)) if peer else float("nan")

        ours, other = alternating(took, theirs, repeats=repeats)
        figures.add(f"batch{count}.failed", int(np.count_nonzero(outcomes[0])), at_most=0)
        figures.add(f"batch{count}.ms_an_instance", 1e3 * ours / count)
        figures.add(f"batch{count}.wall_ms_an_instance", 1e3 * min(walls) / count)
        if peer:
            figures.add(f"batch{count}.times_jitcdde", other * count / ours, at_least=at_least)


def add_settings(figures: Figures, count: int = 256) -> None:
    """What the size of a chunk and the rows of the history make of it."""
    args = instances(count)
    for rows in (128, 256, 512):
        for chunk in (8, 16, 32, 64, 128, 256):
            solve = solver(count, chunk=chunk, rows=rows)
            solve(RTOL, RTOL, args)
            cpu = min(seconds(lambda solve=solve: solve(RTOL, RTOL, args))[0] for _ in range(2))
            figures.add(f"batch.rows{rows}.chunk{chunk}.ms_an_instance", 1e3 * cpu / count)


def add_varied(figures: Figures, count: int = 10) -> None:
    """JiTCDDE on some instances of the batch, each compiled and with its own best settings."""
    from benchmarks.dde.peers import jitcdde_peer as module

    args, times = instances(count), np.linspace(RENO_RED.t0, RENO_RED.t1, 1001)
    answers = tight(args, count)
    found: list[float] = []
    for number in range(count):
        own = {name: float(getattr(args, name)[number]) for name in ("flows", "max_prob")}
        delay = float(args.propagation[number])
        form = replace(module.FORMS["C"], **own, propagation=delay)
        tried = module.try_all(module.compile_problem("C", form), times, answers[number], repeats=3)
        found.append(1e3 * module.fastest_within(tried, ERROR).found.cpu)
    figures.add("batch.jitcdde_varied.least_ms", min(found))
    figures.add("batch.jitcdde_varied.mean_ms", float(np.mean(found)))
