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
    """Measured figures by name, and the targets of some of them."""

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
        """Add a figure, with a target if a bound is given."""
        self.values[name] = float(value)
        wanted = {"at_least": at_least, "at_most": at_most}
        if target := {key: bound for key, bound in wanted.items() if bound is not None}:
            self.targets[name] = target

    def missed(self) -> list[str]:
        """Names of the figures that miss their targets; NaN misses every target."""
        return [
            name for name, target in self.targets.items() if not _met(self.values[name], target)
        ]


def _met(value: float, target: dict[str, float]) -> bool:
    """Whether a figure meets its target."""
    low, high = target.get("at_least", -float("inf")), target.get("at_most", float("inf"))
    return low <= value <= high


def processor(file: Path = Path("/proc/cpuinfo")) -> str:
    """Name of the processor or, if the system does not report it, its architecture."""
    if file.is_file():
        for line in file.read_text().splitlines():
            key, _, name = line.partition(":")
            if key.strip() == "model name" and name.strip():
                return name.strip()
    return platform.processor() or platform.machine()


def machine() -> dict[str, Any]:
    """Processor, cores, system and Python version of this machine."""
    return {
        "processor": processor(),
        "cores": os.cpu_count(),
        "system": platform.system(),
        "python": platform.python_version(),
    }


def root(function: Callable[[float], float], low: float, high: float) -> float:
    """Zero of a function between two numbers at which its signs differ."""
    return cast(float, brentq(function, low, high))


def child_seconds() -> float:
    """CPU time of the ended child processes, s."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _target_text(target: dict[str, float]) -> str:
    """Target in words, such as "at most 0.05"."""
    words = {"at_least": "at least", "at_most": "at most"}
    return ", ".join(f"{words[key]} {bound:g}" for key, bound in target.items())


def _print_table(figures: Figures) -> None:
    """Print all figures with their targets."""
    missed = set(figures.missed())
    width = max(len(name) for name in figures.values)
    for name, value in figures.values.items():
        target = _target_text(figures.targets.get(name, {}))
        verdict = "MISSED" if name in missed else ("met" if target else "")
        print(f"{name:<{width}}  {value:>12.5g}  {target:<16}  {verdict}".rstrip())


def number_of_cases(text: str) -> tuple[str, int]:
    """A part of a benchmark and a number of its cases, from a text such as `files=100`.

    Raises:
        ValueError: for another text, which argparse reports.
    """
    part, number = text.split("=")
    return part, int(number)


def run(
    measure: Callable[..., Figures],
    description: str,
    resumable: bool = False,
    parts: tuple[str, ...] = (),
) -> None:
    """Run a benchmark from the command line and print a table, or with --json one document.

    Args:
        measure: function that measures; its argument is whether to run the long version.
        description: what is measured, for --help.
        resumable: whether `measure` has a second argument: a file that keeps what is done, or None.
        parts: names of parts whose numbers of cases `--cases` changes; `measure` then has another
            argument, a dictionary of the numbers that were given.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--full", action="store_true", help="the long version")
    if resumable:
        words = "file that keeps what is done; a run with this file goes on where the last one was"
        parser.add_argument("--progress", type=Path, help=words)
    if parts:
        words = f"numbers of cases of {', '.join(parts)}, in place of the usual ones"
        parser.add_argument("--cases", type=number_of_cases, nargs="*", default=[], help=words)
    options = parser.parse_args()
    more = ([options.progress] if resumable else []) + ([dict(options.cases)] if parts else [])
    begin = time.perf_counter()
    figures = measure(options.full, *more)
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
