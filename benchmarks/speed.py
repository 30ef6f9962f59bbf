"""Speed of the fluid model, with and without its derivative (packets: `benchmarks.packets`).

    python -m benchmarks.speed [--json] [--full]

All times are CPU seconds of one core, on networks 2 and 4 of Weigle and Feng (200 s, alpha 134 and
89, gentle start). `--full` takes the median of five instead of the best of two.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import jax

from benchmarks.harness import Figures, run
from benchmarks.ns2_rows import NS2Row, model_of, ns2_rows
from vegasfluid.congestion.vegas import Vegas
from vegasfluid.fluid.model import build
from vegasfluid.tuning.fluid_gradients import make_spec, outputs_and_slopes
from vegasfluid.tuning.parameters import DEAD_BAND, tuned_parameters

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


def fluid_seconds(row: NS2Row, repeats: int) -> tuple[float, float]:
    """CPU seconds of a run of the fluid model, and of one with its derivative."""
    model = model_of(row)
    fluid = build(model.network)
    grid = fluid.time_grid(model.duration)
    plain = cpu_seconds(lambda: jax.block_until_ready(fluid.integrate(grid)), repeats)
    parameters = tuned_parameters(model.network, {"vegas": DEAD_BAND}, tune_queue=False)
    fluid, task = make_spec(model.network, parameters, model.duration, model.warmup)
    start = jax.numpy.asarray([4.0])
    derived = cpu_seconds(
        lambda: jax.block_until_ready(outputs_and_slopes(start, fluid, task)), repeats
    )
    return plain, derived


def gradient_seconds(row: NS2Row, repeats: int) -> list[float]:
    """CPU seconds of Jain's index, and of its gradient by alpha and beta: forward and reverse mode.

    As a user computes them, by the fluid model's public interface.
    """
    model = model_of(row)
    grid = build(model.network).time_grid(model.duration)
    vegas = model.network.flows["vegas"].law
    assert isinstance(vegas, Vegas)

    def fairness(numbers: tuple[Any, Any]) -> Any:
        """Jain's index for alpha and beta (packets)."""
        law = replace(vegas, alpha=numbers[0], beta=numbers[1])
        fluid = build(model.network.with_law("vegas", law))
        return fluid.jain_index(fluid.solve(model.duration, grid=grid))

    numbers = cast("float", vegas.alpha), cast("float", vegas.beta)
    functions = [jax.jit(each) for each in (fairness, jax.jacfwd(fairness), jax.grad(fairness))]
    return [
        cpu_seconds(lambda each=each: jax.block_until_ready(each(numbers)), repeats)
        for each in functions
    ]


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
    value, forward, reverse = gradient_seconds(row, repeats)
    slow_plain, slow_derived = fluid_seconds_kernel_by_kernel(row, repeats)
    name = f"fluid.network{row.network}"
    figures.add(f"{name}.run_cpu_s", plain)
    figures.add(f"{name}.with_derivative_over_run", derived / plain)
    figures.add(f"{name}.forward_for_two_over_run", forward / value, at_most=3)
    figures.add(f"{name}.reverse_for_two_over_run", reverse / value, at_most=5)
    figures.add(f"{name}.compiled_loops_times_faster", slow_plain / plain)
    figures.add(f"{name}.compiled_loops_times_faster_with_derivative", slow_derived / derived)


def measure(full: bool) -> Figures:
    """Both networks."""
    figures = Figures()
    repeats = 5 if full else 2
    rows = {row.name: row for row in ns2_rows()}
    for row in (rows[name] for name in ROWS):
        add_fluid(figures, row, repeats)
    return figures


if __name__ == "__main__":
    run(measure, __doc__ or "")
