"""Sweeps: points a minute, two workers beside one, the store's share of the time, memory.

    python -m benchmarks.sweep [--json] [--full]

The parts, each in a file of its own: `points` (plain fluid batches beside ns-2), `engines` (fluid
sweeps of network 2 on every core; packet sweeps with two workers and with one, which take turns in
the same run; what the store takes of it), and `memory` (the largest memory of a sweep of 1000
points and of one of 100 000). Without `--full` a part of the fluid points is run.
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
