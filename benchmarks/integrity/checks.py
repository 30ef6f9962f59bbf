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
"""A class is looked at from this part of the run on."""
STANDS = 1e-9
"""Growth of a window, as a part of it, that is none."""
ROUNDING, BALANCE = 1e-6, 1e-3
"""By which part of them a window is at its limit, and the counters of packets may be apart."""


def faults(run: Recording) -> list[str]:
    """What is wrong with a run of the fluid, a line each."""
    return [*map(str, violations(run, BALANCE)), *frozen(run)]


def frozen(run: Recording) -> Iterator[str]:
    """Classes that answer losses only, lose and see nothing for a quarter of the run, and do not
    grow though nothing limits them.
    """
    late = int(LATE * (run.times.size - 1))
    marked = run.links["marked"][-1] - run.links["marked"][late] if "marked" in run.links else 0.0
    of = {name: class_means(run.network.counts, run.flows[name]) for name in ("cwnd", "dropped")}
    for number, (name, flows) in enumerate(run.network.flows.items()):
        if flows.law.name.startswith("vegas") or not flows.law.rules.reliable:
            continue
        begin, end = of["cwnd"][[late, -1], number]
        lost = of["dropped"][-1, number] - of["dropped"][late, number]
        limited = end >= flows.max_window * (1 - ROUNDING)
        if lost <= 0 and not np.any(marked) and not limited and end <= begin * (1 + STANDS):
            yield f"{name} stands still at {end:.6g} packets and loses nothing"
