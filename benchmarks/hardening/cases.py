"""Cases of a run and what their commands answered, kept in a file so that a run can go on."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from benchmarks.hardening.answers import Answer, fault

__all__ = ["Case", "Place", "Progress"]


class Case(NamedTuple):
    """What the commands of one case, or of several together, answered.

    Args:
        valid: number of valid model files.
        commands: number of commands.
        faults: number of faults by kind.
        slowest: CPU time of the slowest command, s.
        peak: largest resident memory, bytes.
        ends: times from a signal to the end of the command, s.
    """

    valid: int = 0
    commands: int = 0
    faults: dict[str, int] = {}  # noqa: RUF012
    slowest: float = 0.0
    peak: float = 0.0
    ends: tuple[float, ...] = ()

    def and_also(self, other: Case) -> Case:
        """Both together."""
        return Case(
            self.valid + other.valid,
            self.commands + other.commands,
            dict(Counter(self.faults) + Counter(other.faults)),
            max(self.slowest, other.slowest),
            max(self.peak, other.peak),
            (*self.ends, *other.ends),
        )


class Place(NamedTuple):
    """The model file of a case, and the folder in which files with a fault are kept."""

    file: Path
    kept: Path

    def judged(self, case: Case, answer: Answer) -> Case:
        """A case with one more answer; the model file is kept if the answer has a fault."""
        why = fault(answer)
        if why:
            kept = self.kept / f"{len(list(self.kept.iterdir())) + 1:04}.toml"
            kept.write_bytes(self.file.read_bytes())
            command = " ".join(answer.command[:1] + answer.command[2:])
            last = answer.errors.strip().splitlines()[-1:]
            print(f"{kept}: {command}: {why} {last}", file=sys.stderr)
        found = {why: 1} if why else {}
        return case.and_also(Case(0, 1, found, answer.seconds, answer.peak))


class Progress:
    """The cases that are done, by name, each a line of a file.

    Args:
        file: the file; None: nothing is kept.
    """

    def __init__(self, file: Path | None) -> None:
        self.file = file
        self.done: dict[str, Case] = {}
        if file is not None and file.exists():
            for line in file.read_text(encoding="utf-8").splitlines():
                name, *values = json.loads(line)
                self.done[name] = Case(*values)

    def case(self, name: str, run: Callable[[], Case]) -> Case:
        """The case of this name: from the file or, if it is not there, run now."""
        if name not in self.done:
            self.done[name] = run()
            if self.file is not None:
                with self.file.open("a", encoding="utf-8") as lines:
                    print(json.dumps([name, *self.done[name]]), file=lines)
        return self.done[name]
