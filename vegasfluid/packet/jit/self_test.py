"""Self-test of the Numba internals that `optimised` uses, on a small function."""

from __future__ import annotations

import hashlib
import platform
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from vegasfluid.caches import cache_folders
from vegasfluid.packet.state import Simulation, flow_of

__all__ = ["internals_work"]

FACTOR = 0
"""Replaced by `specialise` in the self-test."""

PROBE = np.dtype([("sent", np.int64), ("cwnd", np.float64)], align=True)
"""Record type of all arrays of the self-test."""


def doubled(flow: Any) -> int:
    """Count a packet of a flow, and return a multiple of the count."""
    flow.sent += 1
    return FACTOR * flow.sent


def probe(sim: Any) -> int:
    """The function that the self-test compiles: a sum over flows, which it also changes."""
    total = 0
    for f in range(sim.flow_count):
        total += doubled(flow_of(sim, f))
    return total


def marker() -> Path:
    """The file in the cache folder that records a passed self-test of these versions."""
    digest = hashlib.sha256(repr((platform.machine(), platform.python_version())).encode())
    for library in ("numba", "llvmlite", "numpy"):
        digest.update(version(library).encode())
    for file in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(file.read_bytes())
    return cache_folders()["numba"] / f"self-test-{digest.hexdigest()[:16]}"


@cache
def internals_work() -> bool:
    """Whether `optimised_kernel` compiles and computes correctly; tested once per installation."""
    passed = marker()
    if passed.exists():
        return True
    try:
        works = passes()
    except Exception:  # whatever another version of Numba raises
        return False
    if works:
        try:
            passed.parent.mkdir(parents=True, exist_ok=True)
            passed.touch()
        except OSError:  # tested again by the next process
            pass
    return works


def passes() -> bool:
    """Compile and run the self-test; errors of Numba's internals pass through."""
    from vegasfluid.packet.jit.optimised import optimised_kernel

    shapes = dict.fromkeys(Simulation._fields, (2,)) | {
        "hops": (2, 1),
        "packets": (2, 1, 1),
        "slots": (2, 1),
        "waiting": (2, 1),
        "flow_samples": (2, 2),
        "link_samples": (2, 2),
        "bins": (2, 2),
    }
    sim = Simulation(**{name: np.zeros(shape, PROBE) for name, shape in shapes.items()})
    sim.flows["sent"] = 3, 4
    run = optimised_kernel(probe, {"FACTOR": 2}, dict.fromkeys(Simulation._fields, PROBE))
    return run(sim) == 2 * (4 + 5) and sim.flows["sent"].tolist() == [4, 5]
