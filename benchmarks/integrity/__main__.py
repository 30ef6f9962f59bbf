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

NETWORKS, QUICK = 1000, 60
FAR = 0.25
"""A ratio that is off by more is far off."""
EACH = 20
"""Networks that a process takes before another one is begun: compiled programs stay in memory.
(`ProcessPoolExecutor` can wait for ever once it should replace one, python/cpython issue 115634.)
"""


def measure(full: bool) -> Figures:
    """Check all networks, as many at a time as there are processors.

    The result of each is printed to standard error as a line of JSON.
    """
    found = []
    with get_context("spawn").Pool(processors(), maxtasksperchild=EACH) as pool:
        for of in pool.imap(look, range(NETWORKS if full else QUICK)):
            found.append(of)
            print(json.dumps(asdict(of)), file=sys.stderr, flush=True)
    return summary(found)


def summary(found: list[Found]) -> Figures:
    """Counts and shares, with what is wanted of them."""
    figures = Figures()
    figures.add("integrity.networks", len(found))
    figures.add("integrity.with_faults", sum(bool(of.faults) for of in found), at_most=0)
    whole = [of for of in found if np.isfinite(of.error)]
    figures.add("integrity.error.met", share(of.error <= TOLERANCE for of in whole))
    figures.add("integrity.halved.within", share(of.halved <= 0 for of in whole), at_least=0.99)
    figures.add("integrity.samples.largest", max(of.read for of in whole), at_most=1e-3)
    for red, law, wanted in ((True, "red", 0.06), (False, "droptail", 0.10)):
        several = [of for of in whole if of.red == red and np.isfinite(of.ratios[0])]
        add_packets(figures, f"integrity.{law}", several, wanted)
    return figures


def add_packets(figures: Figures, name: str, found: list[Found], wanted: float) -> None:
    """How far fluid and packets are apart, and whether a fluid that is far off says so."""
    off = np.array([abs(of.ratios[0] / of.ratios[1] - 1) for of in found])
    warned = np.array([bool(of.warnings) for of in found])
    if np.any(~warned):
        figures.add(f"{name}.unwarned.median", float(np.median(off[~warned])), at_most=wanted)
    figures.add(f"{name}.unwarned.number", int(np.sum(~warned)))
    if np.any(off > FAR):
        figures.add(f"{name}.far_off.warned", float(np.mean(warned[off > FAR])), at_least=0.9)
    figures.add(f"{name}.far_off.number", int(np.sum(off > FAR)))


def share(of: Iterable[bool]) -> float:
    """The part of them that are true."""
    return float(np.mean(list(of)))


if __name__ == "__main__":
    run(measure, "Hold random networks to what no run of the fluid may break.")
