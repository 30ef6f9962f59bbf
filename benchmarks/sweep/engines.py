"""Sweeps of network 2: the fluid model on all cores, packets with one and with two workers."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, cast

import jax
import numpy as np
from distributed import Client

from benchmarks.harness import Figures
from benchmarks.sweep.points import base
from vegasfluid.sweep import Numbers, Sweep, open_sweep, run
from vegasfluid.sweep.packet_tasks import connect, results_from
from vegasfluid.sweep.store import Store

__all__ = ["add_fluid", "add_packets"]

TURNS, COUNT = 3, 60_000_000
"""Pairs of a run with one worker and one with two."""
ALPHA, BAND = "vegas.alpha_packets", "vegas.dead_band_packets"
QUICK, FULL = (8, 32), (100, 100)
"""Values of the dead band and of alpha on the fluid: 10 000 points in the full version."""
WANTED = 20_000.0


def packets() -> Sweep:
    """120 alphas, four seeds each, in chunks of four points: some 20 s of one core."""
    alphas = np.unique(np.round(np.linspace(1, 400, 120)))
    return Sweep(base(), [Numbers(ALPHA, alphas)], "packets", seeds=range(1, 5), chunk=16)


class Spent(NamedTuple):
    """What a sweep took.

    Args:
        wall: s.
        cpu: of all workers, s.
    """

    wall: float
    cpu: float


def cpu_of_workers(client: Client) -> float:
    """CPU seconds that all workers have taken so far."""
    taken: Any = client.run(time.process_time)
    return sum(taken.values())


def spent_by(client: Client, sweep: Sweep) -> Spent:
    """On a sweep by a cluster that is there, without a store."""
    before = cpu_of_workers(client)
    begin = time.perf_counter()
    found = sum(1 for _ in results_from(client, sweep, sweep.chunks()))
    wall = time.perf_counter() - begin
    assert found == sum(1 for _ in sweep.chunks())
    return Spent(wall, cpu_of_workers(client) - before)


def counting(processes: int) -> float:
    """Wall time in which this many processes count to the same number, s."""
    command = [sys.executable, "-c", f"for _ in range({COUNT}): pass"]
    begin = time.perf_counter()
    started = [subprocess.Popen(command) for _ in range(processes)]
    assert not any(process.wait() for process in started)
    return time.perf_counter() - begin


def control() -> float:
    """Speed-up by a second, independent process on this machine; 2 if it is idle."""
    return statistics.median(2 * counting(1) / counting(2) for _ in range(TURNS))


def add_packets(figures: Figures) -> None:
    """Add the speed-up by a second worker, alternating with one, and the cost of the store."""
    sweep = packets()
    with connect(1, None) as one, connect(2, None) as two:
        for client in (one, two):  # the kernel is compiled or loaded
            list(islice(results_from(client, sweep, sweep.chunks()), 4))
        figures.add("sweep.load_of_others", os.getloadavg()[0])
        pairs = [(spent_by(one, sweep), spent_by(two, sweep)) for _ in range(TURNS)]
    gains = [alone.wall / together.wall for alone, together in pairs]
    costs = [together.cpu / alone.cpu for alone, together in pairs]
    figures.add("sweep.two_workers_over_one", statistics.median(gains), at_least=1.8)
    figures.add("sweep.two_workers_over_one_worst", min(gains))
    figures.add("sweep.two_counting_processes_over_one", control())
    figures.add("sweep.two_workers_cpu_over_one", statistics.median(costs))
    figures.add("sweep.packet_runs_a_second", sweep.runs / min(pair.wall for _, pair in pairs))
    with writing() as spent, tempfile.TemporaryDirectory() as folder:
        begin = time.perf_counter()
        run(sweep, Path(folder) / "sweep.zarr", workers=2)
        whole = time.perf_counter() - begin
    figures.add("sweep.store_share_packets", sum(spent) / whole, at_most=0.05)


@contextmanager
def writing() -> Iterator[list[float]]:
    """Seconds of each writing of a chunk."""
    spent: list[float] = []
    kept = Store.write

    def write(*given: object) -> None:
        begin = time.perf_counter()
        kept(*given)  # type: ignore[arg-type]
        spent.append(time.perf_counter() - begin)

    Store.write = write  # type: ignore[method-assign]
    try:
        yield spent
    finally:
        Store.write = kept  # type: ignore[method-assign]


def add_fluid(figures: Figures, full: bool) -> None:
    """Points a minute of a whole sweep of network 2, 200 s each, its store included."""
    dead_bands, alphas = FULL if full else QUICK
    axes = [
        Numbers(BAND, range(dead_bands)),
        Numbers(ALPHA, np.round(np.linspace(5, 500, alphas))),
    ]
    sweep = Sweep(base(), axes)
    with writing() as spent, tempfile.TemporaryDirectory() as folder:
        warm = Sweep(base(), [axes[0], Numbers(ALPHA, axes[1].values[:2])], chunk=64)
        run(warm, Path(folder) / "warm.zarr")
        spent.clear()
        begin, before = time.perf_counter(), time.process_time()
        reached = run(sweep, Path(folder) / "sweep.zarr")
        whole, cpu = time.perf_counter() - begin, time.process_time() - before
        data = open_sweep(Path(folder) / "sweep.zarr")
        ratios = data["ratio"].values
    figures.add("sweep.fluid_devices", jax.local_device_count())
    figures.add("sweep.fluid_points", reached.points)
    figures.add("sweep.fluid_points_a_minute", 60 * reached.points / whole, at_least=WANTED)
    figures.add("sweep.fluid_cpu_ms_a_point", 1e3 * cpu / reached.points)
    figures.add("sweep.fluid_longer_steps_difference", difference(sweep))
    figures.add("sweep.fluid_failed", float(np.sum(~np.isfinite(ratios))), at_most=0)
    figures.add("sweep.store_share_fluid", sum(spent) / whole, at_most=0.05)


def difference(sweep: Sweep) -> float:
    """The largest of ratios, of a few points with short steps all along; relative."""
    axes = cast(Sequence[Numbers], sweep.axes)
    few = [replace(axis, values=axis.values[:: len(axis.values) // 2]) for axis in axes]
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        for fine in (True, False):
            path = Path(folder) / f"{fine}.zarr"
            run(replace(sweep, axes=few, fine=fine), path)
            ratios.append(open_sweep(path)["ratio"].values)
    return float(np.max(np.abs(ratios[1] / ratios[0] - 1)))
