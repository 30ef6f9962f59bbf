"""Sweeps: points per minute, speed-up by a second worker, cost of the store, memory.

    python -m benchmarks.sweep [--json] [--full]

The parts have a file each: `points` (fluid batches compared with ns-2), `engines` (fluid sweeps of
network 2 on all cores; packet sweeps with one and with two workers, which take turns; the fraction
of time that the store takes), and `memory` (the largest memory of sweeps of 1000 and of 100 000
points). Without `--full` a part of the fluid points is run.
"""

from __future__ import annotations

from benchmarks.harness import Figures, run
from benchmarks.sweep.engines import add_fluid, add_packets
from benchmarks.sweep.memory import add_memory
from benchmarks.sweep.points import add_points
from vegasfluid.caches import keep_compiled_equations
from vegasfluid.sweep.devices import use_every_core


def measure(full: bool) -> Figures:
    """Everything."""
    keep_compiled_equations()
    use_every_core()
    figures = Figures()
    add_packets(figures)
    add_memory(figures)
    add_fluid(figures, full)
    add_points(figures, full)
    return figures


if __name__ == "__main__":
    run(measure, __doc__ or "")
