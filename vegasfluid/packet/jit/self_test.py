"""Self-test of the Numba internals that `optimised` uses: they compile a small function."""

from __future__ import annotations

import contextlib
import hashlib
import platform
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from vegasfluid.caches import usable_cache
from vegasfluid.packet.state import Simulation, flow_of, packet_of

__all__ = ["internals_work"]

FACTOR = 0
"""A global constant that `specialise` replaces in the self-test."""

PROBE = np.dtype([("sent", np.int64), ("cwnd", np.float64)], align=True)
"""Record type of all arrays of the self-test."""


def doubled(flow: Any) -> int:
    """Increase `flow.sent` by one, and return FACTOR times it; a test function that is inlined."""
    flow.sent += 1
    return FACTOR * flow.sent


def last_packet(sim: Any, f: int) -> int:
    """Field `sent` of the packet at position 3 of a ring of flow `f`; a test function, called."""
    return packet_of(sim, f, 0, 3).sent


def probe(sim: Any) -> int:
    """Sum of the results of two test functions over all flows: what the self-test compiles."""
    total = 0
    for f in range(sim.flow_count):
        total += doubled(flow_of(sim, f)) + last_packet(sim, f)
    return total


def marker() -> Path | None:
    """File whose existence records that these versions of Python and Numba passed the self-test.

    None if there is no folder for it that only the user can write to.
    """
    folder = usable_cache("numba")
    if folder is None:
        return None
    digest = hashlib.sha256(repr((platform.machine(), platform.python_version())).encode())
    for library in ("numba", "llvmlite", "numpy"):
        digest.update(version(library).encode())
    for file in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(file.read_bytes())
    return folder / f"self-test-{digest.hexdigest()[:16]}"


@cache
def internals_work() -> bool:
    """Whether `optimised_kernel` works with the installed Numba; tested once for each version.

    A marker file on disk records success.
    """
    passed = marker()
    if passed is not None and passed.exists():
        return True
    try:
        works = passes()
    except Exception:  # whatever another version of Numba raises
        return False
    if works and passed is not None:
        with contextlib.suppress(OSError):  # tested again by the next process
            passed.touch()
    return works


def passes() -> bool:
    """Whether the compiled `probe` computes the right sum; whatever Numba raises is not caught."""
    from vegasfluid.packet.jit.optimised import optimised_kernel

    shapes = dict.fromkeys(Simulation._fields, (2,)) | {
        "hops": (2, 1),
        "packets": (2, 1, 2),
        "slots": (2, 2),
        "waiting": (2, 1),
        "flow_samples": (2, 2),
        "link_samples": (2, 2),
        "bins": (2, 2),
    }
    sim = Simulation(**{name: np.zeros(shape, PROBE) for name, shape in shapes.items()})
    sim.flows["sent"] = 3, 4
    sim.packets["sent"][:, 0, 1] = 10, 20
    layout = dict.fromkeys(Simulation._fields, PROBE)
    run = optimised_kernel(probe, {"FACTOR": 2}, layout, called=("last_packet",))
    return run(sim) == 2 * (4 + 5) + 10 + 20 and sim.flows["sent"].tolist() == [4, 5]
