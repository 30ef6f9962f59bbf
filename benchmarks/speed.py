"""How fast both simulators are, and ns-2 in the same run where it is installed.

    python -m benchmarks.speed [--json] [--full]

Everything in CPU seconds of one core, on networks 2 and 4 of Weigle and Feng (200 s, alpha 134
and 89, gentle start). `--full` takes the median of five instead of the best of two.
"""

from __future__ import annotations

import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import jax

from benchmarks.harness import Figures, run
from benchmarks.ns2_rows import NS2Row, model_of, ns2_rows
from vegasfluid.fluid.pose import pose
from vegasfluid.fluid.simulate import grid_for, integrate
from vegasfluid.packet import simulate_packets
from vegasfluid.tuning.fluid_search import log_ratio_and_slope, make_task

XLA_DEFAULT = "--xla_backend_extra_options=xla_cpu_small_while_loop_byte_threshold=1024"
ROWS = ("net2_oneway_a134_b139_gentle_start", "net4_oneway_a89_b94_gentle_start")


def cpu_seconds(task: Callable[[], object], repeats: int) -> float:
    """CPU seconds of a task in this process, after one run that is not counted."""
    task()
    found = []
    for _ in range(repeats):
        begin = time.process_time()
        task()
        found.append(time.process_time() - begin)
    return statistics.median(found) if repeats > 2 else min(found)


def add_packets(figures: Figures, row: NS2Row, repeats: int) -> float:
    """Packets through the bottleneck a CPU second; the CPU seconds of a run."""
    model = model_of(row)
    packets = model.network.link.capacity * model.duration

    def task() -> object:
        return simulate_packets(model.network, model.duration, warmup=model.warmup, samples=5)

    seconds = cpu_seconds(task, repeats)
    figures.add(f"packets.network{row.network}.per_cpu_s", packets / seconds)
    figures.add(f"packets.network{row.network}.run_cpu_s", seconds)
    return seconds


def fluid_seconds(row: NS2Row, repeats: int) -> tuple[float, float]:
    """CPU seconds of a run of the fluid model, and of one with its derivative."""
    model = model_of(row)
    posed, shape = pose(model.network)
    grid = grid_for(model.network, model.duration)
    plain = cpu_seconds(lambda: jax.block_until_ready(integrate(posed, shape, grid)), repeats)
    posed, task = make_task(model.network, "vegas", model.duration, model.warmup)
    start = jax.numpy.asarray(4.0)
    derived = cpu_seconds(
        lambda: jax.block_until_ready(log_ratio_and_slope(start, posed, task)), repeats
    )
    return plain, derived


def fluid_seconds_kernel_by_kernel(row: NS2Row, repeats: int) -> tuple[float, float]:
    """The same in a process whose XLA runs the loops' bodies kernel by kernel, its default."""
    program = (
        "from benchmarks.speed import ROWS, fluid_seconds, ns2_rows\n"
        f"row = next(row for row in ns2_rows() if row.name == {row.name!r})\n"
        f"print(*fluid_seconds(row, {repeats}))"
    )
    environment = {**os.environ, "XLA_FLAGS": XLA_DEFAULT}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, check=True, capture_output=True, text=True
    )
    plain, derived = done.stdout.split()
    return float(plain), float(derived)


def add_fluid(figures: Figures, row: NS2Row, repeats: int) -> None:
    """The fluid model, and what compiled loops save."""
    plain, derived = fluid_seconds(row, repeats)
    slow_plain, slow_derived = fluid_seconds_kernel_by_kernel(row, repeats)
    name = f"fluid.network{row.network}"
    figures.add(f"{name}.run_cpu_s", plain)
    figures.add(f"{name}.with_derivative_over_run", derived / plain)
    figures.add(f"{name}.compiled_loops_times_faster", slow_plain / plain)
    figures.add(f"{name}.compiled_loops_times_faster_with_derivative", slow_derived / derived)


def ns2_cpu_seconds(row: NS2Row) -> float:
    """CPU seconds of ns-2 on the same network, by the smallest script that makes the same load."""
    script = (Path(__file__).parent / "network.tcl").read_text()
    model = model_of(row)
    network = model.network
    flows, vegas = network.flows["reno"], network.flows["vegas"].law
    values = {
        "COUNT": flows.count,
        "ACCESS_MBPS": {2: 100, 4: 1000}[row.network],
        "ACCESS_MS": 1e3 * (flows.access_delay or 0),
        "LINK_MBPS": {2: 155, 4: 622}[row.network],
        "LINK_MS": 1e3 * network.link.delay,
        "BUFFER": int(network.link.buffer),
        "MIN": network.link.aqm.parameters()["min_thresh"],
        "MAX": network.link.aqm.parameters()["max_thresh"],
        "ALPHA": int(vegas.parameters()["alpha"]),
        "BETA": int(vegas.parameters()["beta"]),
        "SSTHRESH": int(row.initial_ssthresh),
        "UNTIL": model.duration,
    }
    for key, value in values.items():
        script = script.replace(f"@{key}@", str(value))
    with tempfile.NamedTemporaryFile("w", suffix=".tcl") as file:
        file.write(script)
        file.flush()
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        subprocess.run(["ns", file.name], check=True, capture_output=True)
        return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def measure(full: bool) -> Figures:
    """Both engines on both networks."""
    figures = Figures()
    repeats = 5 if full else 2
    rows = {row.name: row for row in ns2_rows()}
    for row in (rows[name] for name in ROWS):
        ours = add_packets(figures, row, repeats)
        add_fluid(figures, row, repeats)
        if shutil.which("ns"):
            theirs = ns2_cpu_seconds(row)
            figures.add(f"ns2.network{row.network}.run_cpu_s", theirs)
            figures.add(f"packets.network{row.network}.times_ns2", theirs / ours)
    return figures


if __name__ == "__main__":
    run(measure, __doc__ or "")
