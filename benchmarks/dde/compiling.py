"""Compile time of the delay solver, and its memory per instance of a batch."""

from __future__ import annotations

import time

import jax

from benchmarks.dde.batch import ROWS, STATES, instances, solver
from benchmarks.dde.problems import solver as single_solver
from benchmarks.harness import Figures

__all__ = ["add_compile_time", "add_memory"]

POWERS = {"Tsit5": 5}
"""Coefficients of the dense output per state, from the documentation of `solve_batch`."""
SLOTS = 32
"""Rows beyond the save times, since whole blocks are written."""


def add_compile_time(figures: Figures) -> None:
    """Add the CPU seconds to trace and to compile C, without earlier traces."""
    jax.clear_caches()
    for method in ("Tsit5", "Bosh3"):
        solve = single_solver("C", method)
        begin = time.process_time()
        traced = solve.lower(1e-6, 1e-6, 1.0)
        trace = time.process_time() - begin
        traced.compile()
        compiling = time.process_time() - begin - trace
        figures.add(f"compile.C.{method}.trace_s", trace)
        figures.add(f"compile.C.{method}.compile_s", compiling, at_most=4.0)


def add_memory(figures: Figures, batch: int = 64, saves: int = 101) -> None:
    """Add the bytes per instance of C, of the compiled program and over the documented formula."""
    for method, powers in POWERS.items():
        solve = solver(batch, method=method, chunk=batch, saves=saves)
        compiled = solve.lower(1e-6, 1e-6, instances(batch)).compile()
        used = compiled.memory_analysis().temp_size_in_bytes / batch
        ring, saved = ROWS * (4 + STATES * powers) * 8, (saves + SLOTS) * STATES * 8
        figures.add(f"memory.C.{method}.bytes_an_instance", used)
        figures.add(f"memory.C.{method}.over_formula", used / (ring + saved), at_most=1.25)
