"""The common part of all benchmarks: figures, their targets, and how both are printed.

`python -m benchmarks.NAME --json > benchmarks/results/NAME.json` stores the results of a run with
date and machine; the documentation is generated from these files (`make benchmarks`).
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from scipy.optimize import brentq

__all__ = ["Figures", "child_seconds", "root", "run"]


@dataclass
class Figures:
    """What was measured, and what was wanted of it."""

    values: dict[str, float] = field(default_factory=dict)
    targets: dict[str, dict[str, float]] = field(default_factory=dict)

    def add(
        self,
        name: str,
        value: float,
        *,
        at_least: float | None = None,
        at_most: float | None = None,
    ) -> None:
        """Note a figure and its target, if it has one."""
        self.values[name] = float(value)
        wanted = {"at_least": at_least, "at_most": at_most}
        if target := {key: bound for key, bound in wanted.items() if bound is not None}:
            self.targets[name] = target

    def missed(self) -> list[str]:
        """The names of the figures that miss their targets; NaN misses every target."""
        return [
            name for name, target in self.targets.items() if not _met(self.values[name], target)
        ]


def _met(value: float, target: dict[str, float]) -> bool:
    low, high = target.get("at_least", -float("inf")), target.get("at_most", float("inf"))
    return low <= value <= high


def processor(described: Path = Path("/proc/cpuinfo")) -> str:
    """The processor's name, where the system tells it; else its architecture."""
    if described.is_file():
        for line in described.read_text().splitlines():
            key, _, name = line.partition(":")
            if key.strip() == "model name" and name.strip():
                return name.strip()
    return platform.processor() or platform.machine()


def machine() -> dict[str, Any]:
    """Where this runs."""
    return {
        "processor": processor(),
        "cores": os.cpu_count(),
        "system": platform.system(),
        "python": platform.python_version(),
    }


def root(of: Callable[[float], float], low: float, high: float) -> float:
    """Where a function of one number is zero, between two numbers at which its signs differ."""
    return cast(float, brentq(of, low, high))


def child_seconds() -> float:
    """Seconds of processors that ended processes begun here have used."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _wanted(target: dict[str, float]) -> str:
    words = {"at_least": "at least", "at_most": "at most"}
    return ", ".join(f"{words[key]} {bound:g}" for key, bound in target.items())


def _print_table(figures: Figures) -> None:
    missed = set(figures.missed())
    width = max(len(name) for name in figures.values)
    for name, value in figures.values.items():
        wanted = _wanted(figures.targets.get(name, {}))
        verdict = "MISSED" if name in missed else ("met" if wanted else "")
        print(f"{name:<{width}}  {value:>12.5g}  {wanted:<16}  {verdict}".rstrip())


def run(measure: Callable[[bool], Figures], description: str) -> None:
    """Measure and print: a table, or with --json one document.

    Args:
        measure: takes whether the full, long version is wanted.
        description: what is measured, for --help.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--full", action="store_true", help="the long version")
    options = parser.parse_args()
    begin = time.perf_counter()
    figures = measure(options.full)
    seconds = time.perf_counter() - begin
    if options.json:
        document = {
            "figures": figures.values,
            "targets": figures.targets,
            "missed": figures.missed(),
            "machine": machine(),
            "date": datetime.now(UTC).date().isoformat(),
            "full": options.full,
            "seconds": seconds,
        }
        print(json.dumps(document, indent=2))
    else:
        _print_table(figures)
        print(f"{seconds:.1f} s")
