"""A soak test of the fluid model on random networks: invariants, error estimates, packet runs.

    python -m benchmarks.integrity [--json] [--full]

On every network no state freezes, leaves its domain or creates packets; half the tolerance changes
no mean by more than the error that the run states; other samples change none by a thousandth.
Compared with the packet simulator (three seeds): without warnings the ratio is right, and where it
is far off the fluid model warns.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from dataclasses import asdict
from multiprocessing import get_context

import numpy as np

from benchmarks.harness import Figures, run
from benchmarks.integrity.single_network import Found, look
from vegasfluid.fluid import TOLERANCE
from vegasfluid.parallel import processors

NETWORKS = 1000
"""Number of networks with `--full`."""
QUICK = 60
"""Number of networks of the quick version."""
FAR = 0.25
"""Relative error of the ratio above which the fluid model must warn."""
EACH = 20
"""Networks per process, because compiled programs stay in memory.

`ProcessPoolExecutor` can wait for ever when it replaces a process (python/cpython issue 115634).
"""


def measure(full: bool) -> Figures:
    """Check all networks, as many at a time as there are processors.

    The result of each is printed to standard error as a line of JSON.
    """
    results = []
    with get_context("spawn").Pool(processors(), maxtasksperchild=EACH) as pool:
        for result in pool.imap(look, range(NETWORKS if full else QUICK)):
            results.append(result)
            print(json.dumps(asdict(result)), file=sys.stderr, flush=True)
    return summary(results)


def summary(results: list[Found]) -> Figures:
    """Return counts and fractions, with their targets."""
    figures = Figures()
    figures.add("integrity.networks", len(results))
    figures.add("integrity.with_faults", sum(bool(result.faults) for result in results), at_most=0)
    complete = [result for result in results if np.isfinite(result.error)]
    figures.add("integrity.error.met", share(result.error <= TOLERANCE for result in complete))
    figures.add(
        "integrity.halved.within", share(result.halved <= 0 for result in complete), at_least=0.99
    )
    figures.add("integrity.samples.largest", max(result.read for result in complete), at_most=1e-3)
    for with_red, law, wanted in ((True, "red", 0.06), (False, "droptail", 0.10)):
        group = [
            result
            for result in complete
            if result.red == with_red and np.isfinite(result.ratios[0])
        ]
        add_packets(figures, f"integrity.{law}", group, wanted)
    return figures


def add_packets(figures: Figures, name: str, results: list[Found], wanted: float) -> None:
    """Add the differences of fluid and packets, and how often large ones are warned of."""
    errors = np.array([abs(result.ratios[0] / result.ratios[1] - 1) for result in results])
    warned = np.array([bool(result.warnings) for result in results])
    if np.any(~warned):
        figures.add(f"{name}.unwarned.median", float(np.median(errors[~warned])), at_most=wanted)
    figures.add(f"{name}.unwarned.number", int(np.sum(~warned)))
    if np.any(errors > FAR):
        figures.add(f"{name}.far_off.warned", float(np.mean(warned[errors > FAR])), at_least=0.9)
    figures.add(f"{name}.far_off.number", int(np.sum(errors > FAR)))


def share(values: Iterable[bool]) -> float:
    """Return the fraction that is true."""
    return float(np.mean(list(values)))


if __name__ == "__main__":
    run(measure, "Check invariants of the fluid model on random networks.")
