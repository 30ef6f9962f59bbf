"""The adaptive delay solver: errors, orders, and its speed compared with other solvers.

    python -m benchmarks.dde [--json] [--full]

Times are CPU seconds of one core. Two solvers take turns, and the fastest run of each counts. The
error is the largest error of a component at the stored times, relative to its largest value. Each
solver is run with a grid of settings: "best" is its fastest run within the error, "reliable" the
fastest one for which all smaller tolerances are within it, too. `--full` adds chunk sizes, history
capacities, and more of JiTCDDE. Peers that are not installed are left out.
"""

from __future__ import annotations

import jax

from benchmarks.dde import batch, compiling, correctness, gradients, single
from benchmarks.dde.timing import one_core
from benchmarks.harness import Figures, run


def measure(full: bool) -> Figures:
    """Return all figures, in an order that reuses compiled programs."""
    jax.config.update("jax_enable_x64", True)
    one_core()
    figures = Figures()
    compiling.add_compile_time(figures)
    correctness.add_errors(figures)
    correctness.add_orders(figures)
    against_others(figures)
    batch.add_batches(figures)
    batch.add_smooth_batch(figures)
    compiling.add_memory(figures)
    gradients.add_forward(figures)
    gradients.add_reverse(figures)
    if full:
        batch.add_settings(figures)
        if single.installed("jitcdde"):
            batch.add_varied(figures)
    return figures


def against_others(figures: Figures) -> None:
    """Add single runs of our solver and of other solvers."""
    with_jitcdde = single.installed("jitcdde")
    for name, error, at_least in single.WANTED:
        if with_jitcdde:
            single.add_jitcdde(figures, name, error, at_least)
        else:
            single.add_single(figures, name, error)
    if with_jitcdde:
        single.add_jitcdde(figures, "C", 4e-4, 1.0, smoothed=True)
    if single.installed("ddeint"):
        single.add_ddeint(figures)
    single.add_diffrax(figures)


if __name__ == "__main__":
    run(measure, __doc__ or "")
