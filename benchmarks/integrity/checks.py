"""Faults that no run of the fluid model may have: frozen windows and impossible values.

The checks are stricter than those of the package (`vegasfluid.fluid.invariants`).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from vegasfluid.fluid.invariants import violations
from vegasfluid.trajectory import Recording, class_means

__all__ = ["faults", "frozen"]

LATE = 0.75
"""Fraction of the run after which growth is measured."""
STANDS = 1e-9
"""Relative growth of a window below which it is frozen."""
ROUNDING = 1e-6
"""Relative distance from the largest window below which a window is limited."""
BALANCE = 1e-3
"""Relative difference that packet counters may have."""


def faults(run: Recording) -> list[str]:
    """Return a line for each fault of a fluid run."""
    return [*map(str, violations(run, BALANCE)), *frozen(run)]


def frozen(run: Recording) -> Iterator[str]:
    """Return a line for each frozen class.

    Its congestion control responds to losses only. In the last quarter of the run it loses nothing,
    sees no mark and does not grow, although nothing limits it.
    """
    late = int(LATE * (run.times.size - 1))
    marked = run.links["marked"][-1] - run.links["marked"][late] if "marked" in run.links else 0.0
    means = {name: class_means(run.network.counts, run.flows[name]) for name in ("cwnd", "dropped")}
    for number, (name, flows) in enumerate(run.network.flows.items()):
        if flows.law.name.startswith("vegas") or not flows.law.rules.reliable:
            continue
        begin, end = means["cwnd"][[late, -1], number]
        lost = means["dropped"][-1, number] - means["dropped"][late, number]
        limited = end >= flows.max_window * (1 - ROUNDING)
        if lost <= 0 and not np.any(marked) and not limited and end <= begin * (1 + STANDS):
            yield f"{name} stands still at {end:.6g} packets and loses nothing"
