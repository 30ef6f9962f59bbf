"""Checks before a fluid run: its history fits in memory, and it ends within hours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from vegasfluid.dde.fixed.history import ring_rows
from vegasfluid.errors import TooLarge
from vegasfluid.fluid.time_grid import TimeGrid
from vegasfluid.fluid.vector_field import VectorField
from vegasfluid.limits import short_number
from vegasfluid.memory import reserved

__all__ = ["needed_bytes", "reserve"]

FLOAT_BYTES = 8
"""Size of a float, bytes."""
MOST_STEPS = 1e8
"""Most steps of a run (chosen: minutes for means, hours for distributions; the solver counts steps
in 32 bits)."""
REMEDY = "simulate smaller buffers, faster links or longer round trips"
"""What shortens the history of a run, or allows longer steps."""


def needed_bytes(vector_field: VectorField, grid: TimeGrid) -> float:
    """Memory of a run's history and of the states that it saves, bytes.

    The history has the delayed components and their slopes at each step of the longest delay, or in
    as many rows as runs share (see `TimeGrid.finest`).
    """
    rows = grid.shared_rows() or ring_rows(grid.longest_lag, grid.step)
    history = 2 * vector_field.history_size * rows
    saved = vector_field.saved.size * grid.samples
    return float(FLOAT_BYTES * (history + saved))


@contextmanager
def reserve(vector_field: VectorField, grid: TimeGrid) -> Iterator[None]:
    """Context of one fluid run; waits until runs in other threads leave enough memory.

    Args:
        vector_field: the equations.
        grid: sample times and steps, s.

    Raises:
        TooLarge: for more memory than all runs together may use, or more than 1e8 steps.
    """
    steps = grid.until / grid.step
    if steps > MOST_STEPS:
        raise TooLarge(
            f"the fluid run would take {short_number(steps)} steps of "
            f"{short_number(grid.step)} s, more than {MOST_STEPS:g}; "
            "simulate a shorter time, larger buffers, slower links or longer round trips."
        )
    with reserved(needed_bytes(vector_field, grid), "the fluid run", REMEDY):
        yield
