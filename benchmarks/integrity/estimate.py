"""The error that a fluid run states, beside its change by half the tolerance, on random networks.

    python -m benchmarks.integrity.estimate [--json] [--full]

The part of `benchmarks.integrity` that needs no packet runs. `estimate.soak` is the fraction of the
networks of that soak in which no mean changes by more than the run states. `estimate.others` is the
same for networks that had no part in how the estimate was chosen.
"""

from __future__ import annotations

from multiprocessing import get_context

import numpy as np

from benchmarks.harness import Figures, run
from benchmarks.integrity.networks import drawn
from benchmarks.integrity.single_network import beyond_estimate, fluid
from vegasfluid.caches import keep_compiled_equations
from vegasfluid.errors import SolveFailed
from vegasfluid.parallel import processors

SOAK, OTHERS = 1000, 800
"""Numbers of networks with `--full`."""
QUICK = 20
"""Number of networks of each group in the quick version."""
EACH = 50
"""Networks per process, because compiled programs stay in memory."""


def within(number: int) -> bool:
    """Whether half the tolerance changes a network's run by at most the error that it states."""
    keep_compiled_equations()
    case = drawn(number)
    try:
        return beyond_estimate(case, fluid(case)) <= 0
    except SolveFailed:
        return False


def measure(full: bool) -> Figures:
    """Check all networks, as many at a time as there are processors."""
    soak, others = (SOAK, OTHERS) if full else (QUICK, QUICK)
    numbers = [*range(soak), *range(SOAK, SOAK + others)]
    with get_context("spawn").Pool(processors(), maxtasksperchild=EACH) as pool:
        results = np.array(pool.map(within, numbers, chunksize=1))
    figures = Figures()
    figures.add("estimate.networks", len(numbers))
    figures.add("estimate.within", float(np.mean(results)), at_least=0.99)
    figures.add("estimate.soak", float(np.mean(results[:soak])), at_least=0.99)
    figures.add("estimate.others", float(np.mean(results[soak:])), at_least=0.99)
    return figures


if __name__ == "__main__":
    run(measure, __doc__ or "")
