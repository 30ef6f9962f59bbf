"""Cases with processes: signals at random moments, and sweeps that are disturbed.

Each takes the number of a case, and returns its `Case`; what is wrong is printed on standard error.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks.hardening.cases import Case
from benchmarks.hardening.ports import port_fault
from benchmarks.hardening.repeats import damaged_cache_fault, repeat_fault
from benchmarks.hardening.signals import died_at_random_moment
from benchmarks.hardening.sweeps import (
    damaged_fault,
    full_disk_fault,
    killed_fault,
    pair_fault,
)

__all__ = ["PROCESS_PARTS"]


def signal_case(index: int) -> Case:
    """A command that gets a signal at a random moment."""
    with tempfile.TemporaryDirectory() as folder:
        death = died_at_random_moment(index, Path(folder) / "work")
    kinds = reported("signals", index, death.fault, f"{death} ")
    return Case(0, 1, kinds, ends=(death.seconds,))


def fault_case(name: str, fault: Callable[[int, Path], str]) -> Callable[[int], Case]:
    """The case of a function that returns what is wrong, from its number and an empty folder.

    Args:
        name: name of the kind of case.
        fault: the function.
    """

    def case(index: int) -> Case:
        """The case of a number."""
        with tempfile.TemporaryDirectory() as folder:
            return Case(0, 1, reported(name, index, fault(index, Path(folder))))

    return case


def reported(name: str, index: int, why: str, more: str = "") -> dict[str, int]:
    """Faults by kind after one more case; prints what is wrong.

    Args:
        name: name of the kind of case.
        index: number of the case.
        why: what is wrong; empty if nothing is.
        more: what else to print.
    """
    if why:
        print(f"{name} {index}: {more}{why}", file=sys.stderr, flush=True)
    return {name: 1} if why else {}


PROCESS_PARTS: dict[str, tuple[Callable[[int], Case], int, int]] = {
    "signals": (signal_case, 18, 200),
    "kills": (fault_case("kills", killed_fault), 2, 25),
    "pairs": (fault_case("pairs", pair_fault), 2, 50),
    "full_disks": (fault_case("full_disks", full_disk_fault), 1, 1),
    "damages": (fault_case("damages", damaged_fault), 30, 305),
    "cache_damages": (fault_case("cache_damages", damaged_cache_fault), 5, 50),
    "repeats": (fault_case("repeats", repeat_fault), 6, 54),
    "ports": (fault_case("ports", port_fault), 1, 1),
}
"""For each kind of case its function, and its numbers of cases in the short and long version."""
