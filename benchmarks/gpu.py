"""The same code on a GPU and on the CPU: differences of the results, and the speed-up.

    python -m benchmarks.gpu [--json] [--full]

Each job runs on each device in a separate process, because JAX chooses its device once. On the
CPU a job runs for a few instances, one after the other as is the default there; on the GPU for
these, and then for the number of instances of the quick version or of `--full`, all at once. The
figures are the largest difference between the devices, wall seconds per instance on both, their
ratio, and the compile time on the GPU. If JAX finds no GPU, the benchmark ends with a message.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.dde import batch
from benchmarks.harness import Figures, run
from benchmarks.stability import NS2, over_red
from benchmarks.sweep import base, points, ratios, task_for, together
from vegasfluid.analysis import stability_map

__all__ = ["JOBS", "Job", "measure", "spent_on"]

PLATFORMS = {"cpu": "cpu", "gpu": "cuda"}
REPEATS = 1
LONGEST = 560
"""Seconds of one process."""


class Job(NamedTuple):
    """Something that is done for many instances at once.

    Args:
        prepare: makes, for a number of instances, the function that does it; what that returns
            has the instances in front.
        common: instances that both devices do and that are compared.
        quick: instances on the GPU.
        full: the same in the full version.
        at_most: how far the devices may differ, relative to the largest value.
    """

    prepare: Callable[[int], Callable[[], Any]]
    common: int
    quick: int
    full: int
    at_most: float


def spread(count: int) -> list[Any]:
    """Points of the sweep, evenly spread over it."""
    every = points()
    return [every[n] for n in np.linspace(0, len(every) - 1, count).astype(int)]


def sweep(count: int) -> Callable[[], Any]:
    """200 s of networks like network 2."""
    model = base()
    task, stacked = task_for(model), together(spread(count), model)
    compiled = jax.jit(lambda given: ratios(given, task))
    return lambda: compiled(stacked)


def derivative(count: int) -> Callable[[], Any]:
    """Result of a run and its derivative with respect to all parameters of Vegas together."""
    model = base()
    task, stacked = task_for(model), together(spread(count), model)

    @jax.jit
    def both(given: Any) -> jax.Array:
        push = jax.tree.map(jnp.zeros_like, given)
        reno, vegas = push.parameters.laws
        laws = (reno, jax.tree.map(jnp.ones_like, vegas))
        push = replace(push, parameters=push.parameters._replace(laws=laws))
        value, slope = jax.jvp(lambda x: ratios(x, task), (given,), (push,))
        return jnp.stack([value, slope], axis=1)

    return lambda: both(stacked)


def switched(count: int) -> Callable[[], Any]:
    """The adaptive solver on Reno and RED with the queue's switches; the first state."""
    solve, args = batch.solver(count, chunk=None), batch.instances(count)
    return lambda: solve(batch.RTOL, batch.RTOL, args).ys[..., 0]


def smooth(count: int) -> Callable[[], Any]:
    """The adaptive solver on Mackey-Glass equations, over their first five lags."""
    solve, args = batch.smooth_solver(count, 1e-9, 101), batch.smooth_instances(count)
    return lambda: solve(args).ys[:, :20, 0]


def stability(count: int) -> Callable[[], Any]:
    """A map of Reno and Vegas over RED, of rows of ten."""
    rows = -(-count // 10)

    def network_of(max_drop: float, capacity: float) -> Any:
        return over_red(NS2, capacity=capacity, weight=0.05)(max_drop)

    def task() -> np.ndarray:
        found = stability_map(network_of, np.geomspace(0.05, 0.9, rows), np.linspace(1e3, 3e3, 10))
        return found.rightmost.reshape(-1)

    return task


JOBS = {
    "fluid": Job(sweep, 20, 2500, 10_000, 1e-6),
    "fluid_derivative": Job(derivative, 10, 1000, 10_000, 1e-5),
    "dde_switched": Job(switched, 100, 2000, 10_000, batch.ERROR),
    "dde_smooth": Job(smooth, 1000, 10_000, 100_000, 1e-6),
    "stability_map": Job(stability, 60, 600, 10_000, 1e-6),
}


def timed(task: Callable[[], Any]) -> tuple[Any, float, float]:
    """What a task finds, wall seconds of its first run, and the least of more runs."""
    walls = []
    for _ in range(1 + REPEATS):
        begin = time.perf_counter()
        found = jax.block_until_ready(task())
        walls.append(time.perf_counter() - begin)
    return found, walls[0], min(walls[1:])


def do(job: Job, count: int, path: Path) -> None:
    """Do a job on JAX's device, and leave what was found in a file."""
    found, first, best = timed(job.prepare(count))
    name = jax.devices()[0].device_kind
    np.savez(path, found=np.asarray(found), first=first, best=best, device=name)


def spent_on(name: str, count: int, device: str) -> dict[str, Any]:
    """What `do` leaves behind, by a process that has one device."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "found.npz"
        program = (
            "from pathlib import Path\nfrom benchmarks.gpu import JOBS, do\n"
            f"do(JOBS[{name!r}], {count}, Path({str(path)!r}))"
        )
        environment = {**os.environ, "JAX_PLATFORMS": PLATFORMS[device], "JAX_ENABLE_X64": "1"}
        subprocess.run(
            [sys.executable, "-c", program], env=environment, check=True, timeout=LONGEST
        )
        with np.load(path) as found:
            return dict(found)


def add(figures: Figures, name: str, full: bool) -> None:
    """A job on both devices."""
    job = JOBS[name]
    cpu, gpu = (spent_on(name, job.common, device) for device in PLATFORMS)
    count = job.full if full else job.quick
    many = spent_on(name, count, "gpu")
    off = np.max(np.abs(cpu["found"] - gpu["found"])) / np.max(np.abs(cpu["found"]))
    figures.add(f"gpu.{name}.difference", off, at_most=job.at_most)
    figures.add(f"gpu.{name}.failed", float(np.sum(~np.isfinite(many["found"]))), at_most=0)
    each = {"cpu": cpu["best"] / job.common, "gpu": many["best"] / count}
    figures.add(f"gpu.{name}.instances", count)
    figures.add(f"gpu.{name}.cpu_wall_ms_an_instance", 1e3 * each["cpu"])
    figures.add(f"gpu.{name}.wall_ms_an_instance", 1e3 * each["gpu"])
    figures.add(f"gpu.{name}.times_cpu", each["cpu"] / each["gpu"])
    figures.add(f"gpu.{name}.few_times_cpu", float(cpu["best"] / gpu["best"]))
    figures.add(f"gpu.{name}.first_run_s", float(many["first"]))
    print(f"{name}: {gpu['device']}, beside {os.cpu_count()} cores", file=sys.stderr, flush=True)


def measure(full: bool) -> Figures:
    """All jobs."""
    if jax.default_backend() != "gpu":
        sys.exit(f"benchmarks.gpu needs a GPU, but JAX has {jax.devices()}")
    figures = Figures()
    for name in JOBS:
        add(figures, name, full)
    return figures


if __name__ == "__main__":
    run(measure, __doc__ or "")
