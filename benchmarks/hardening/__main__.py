"""Mutated model files and random networks through all commands: no traceback, hang or wrong value.

    python -m benchmarks.hardening [--json] [--full] [--progress FILE] [--cases PART=NUMBER ...]

Each mutated model file is checked. If it is valid and its runs are short, one other command is run
on it. Each random network is simulated by all engines; the networks come from 100 random structures
(classes, congestion controls, queue, marking), each with random numbers, because networks that
differ in numbers share compiled code. `--full` has 10 000 mutated files and 2000 networks instead
of 1000 and 20, which takes hours: with `--progress` it can be interrupted, and goes on where it
was. Other parts send signals to all commands at random moments (`signals`), kill sweeps (`kills`),
begin two copies of one (`pairs`), fill its disk (`full_disks`, which needs the right to mount one),
and damage its store (`damages`): its bytes must be those of an undisturbed one in the end. Files of
compiled code are damaged, too (`cache_damages`); commands are repeated with other numbers of
workers, threads and processors, hash seeds and an empty cache (`repeats`); and another user tries
to use what a sweep listens on (`ports`, which needs root).
`--cases networks=2000 files=0` chooses the numbers of cases. Files with a fault are kept in a
temporary folder, which standard error names.
"""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from random import Random
from statistics import median
from typing import Any, NamedTuple, TextIO, cast

from benchmarks.hardening.answers import Answer
from benchmarks.hardening.cases import Case, Place, Progress
from benchmarks.hardening.mutations import mutated, places
from benchmarks.hardening.networks import random_model
from benchmarks.hardening.processes import PROCESS_PARTS
from benchmarks.harness import Figures, run
from vegasfluid import modelfile
from vegasfluid.memory import allowed_memory
from vegasfluid.model import Model

__all__ = ["measure"]

ROOT = Path(__file__).resolve().parents[2]
LONGEST = 60.0
"""CPU time after which a command counts as hanging, s: other load on the machine does not count."""
LONGEST_WAIT = 600.0
"""Time by the clock after which it does so, too, s: it may wait for something without computing."""
POLL = 1.0
"""Time between two looks at the CPU time, s."""
MOST_PACKETS = 2e6
"""Packets above which a valid model is only checked, since its runs may take minutes (chosen)."""
ENGINES = ("packets", "fluid", "density")
COMMANDS: tuple[tuple[str, ...], ...] = (
    *(("export", "--format", system) for system in ("linux", "freebsd", "ns2", "ns3")),
    *(("simulate", "--json", "--engine", engine) for engine in ENGINES),
    ("analyse", "--json"),
    ("recommend", "--json", "--runs", "2"),
)
"""Commands with their options; one of them runs on each valid mutated file."""


RunCase = Callable[[int, "Worker", Place], Case]
"""Runs the case of a number, with the process for its commands, and its model file."""


class Part(NamedTuple):
    """A part of the benchmark.

    Args:
        run_case: function that runs one of its cases.
        short: number of cases in the short version.
        full: number of cases with `--full`.
    """

    run_case: RunCase
    short: int
    full: int


SEED = 38
"""Seed of all mutated files."""


class Worker:
    """A process that answers commands, replaced when it hangs or dies."""

    def __init__(self) -> None:
        self.process = self.started()

    def started(self) -> subprocess.Popen[str]:
        """A new process."""
        program = [sys.executable, "-m", "benchmarks.hardening.worker"]
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        return subprocess.Popen(program, cwd=ROOT, text=True, stderr=subprocess.DEVNULL, **pipes)

    def answer(self, *command: str) -> Answer:
        """The answer of a command; the process of one that hangs is ended."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(json.dumps(command), file=self.process.stdin, flush=True)
        in_time = self.answers_in_time()
        line = self.process.stdout.readline() if in_time else ""
        if line:
            return Answer(**{**json.loads(line), "command": command})
        self.close()
        status, self.process = self.process.returncode, self.started()
        return Answer(command, status, "", "", 0.0 if in_time else float("inf"))

    def answers_in_time(self) -> bool:
        """Wait for an answer; False if the command takes too much CPU time, or too long."""
        began, used = time.monotonic(), cpu_seconds(self.process.pid)
        with selectors.DefaultSelector() as ready:
            ready.register(cast(TextIO, self.process.stdout), selectors.EVENT_READ)
            while not ready.select(POLL):
                waited, computed = time.monotonic() - began, cpu_seconds(self.process.pid) - used
                if computed > LONGEST or waited > LONGEST_WAIT:
                    return False
        return True

    def close(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.wait()


def cpu_seconds(process: int) -> float:
    """CPU time of a running process with all its threads, s, by its number; Linux only."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


@cache
def documents() -> list[dict[str, Any]]:
    """The valid model files of the project as nested dictionaries."""
    files = sorted((ROOT / "models").glob("*.toml"))
    return [tomllib.loads(path.read_text(encoding="utf-8")) for path in files]


@cache
def known_keys() -> tuple[str, ...]:
    """All keys of the project's model files."""
    found = {key for model in documents() for _, key in places(model) if isinstance(key, str)}
    return tuple(sorted(found))


def is_short(model: Model) -> bool:
    """Whether runs of a model have few enough packets."""
    rates = sum(link.capacity for link in model.network.links.values())
    return rates * model.duration < MOST_PACKETS


def file_case(index: int, worker: Worker, place: Place) -> Case:
    """Check a mutated model file, and run a command on it if it is valid."""
    random = Random(f"{SEED}-{index}")
    place.file.write_bytes(mutated(random.choice(documents()), random, known_keys()))
    checked = worker.answer("check", str(place.file), "--json")
    case = place.judged(Case(), checked)
    if checked.status != 0:
        return case
    case = case._replace(valid=1)
    if is_short(modelfile.read_model(place.file)):
        name, *options = random.choice(COMMANDS)
        case = place.judged(case, worker.answer(name, str(place.file), *options))
    return case


def network_case(index: int, worker: Worker, place: Place) -> Case:
    """Simulate a random network with all engines."""
    case = Case()
    place.file.write_text(modelfile.dumps(random_model(index)), encoding="utf-8")
    for engine in ENGINES:
        answer = worker.answer("simulate", str(place.file), "--json", "--engine", engine)
        case = place.judged(case, answer)
    return case


def process_case(run_case: Callable[[int], Case], index: int, worker: Worker, place: Place) -> Case:
    """The case of a number of a part that starts processes itself."""
    return run_case(index)


PARTS = {
    "files": Part(file_case, 1000, 10_000),
    "networks": Part(network_case, 20, 2000),
    **{
        name: Part(partial(process_case, run_case), short, full)
        for name, (run_case, short, full) in PROCESS_PARTS.items()
    },
}
"""The parts of the benchmark by name."""


def measure(full: bool, progress: Path | None, cases: Mapping[str, int]) -> Figures:
    """Figures of a run: cases, faults by kind, the slowest command, the largest memory.

    Args:
        full: whether to run the long version.
        progress: file with the cases that are done, to which others are added; None: no file.
        cases: numbers of cases of parts, in place of the usual ones.
    """
    worker, totals = Worker(), {}
    numbers = {name: part.full if full else part.short for name, part in PARTS.items()} | dict(
        cases
    )
    try:
        with tempfile.TemporaryDirectory() as folder:
            place = Place(
                Path(folder) / "network.toml", Path(tempfile.mkdtemp(prefix="hardening-"))
            )
            done = Progress(progress)
            for name, part in PARTS.items():
                totals[name] = Case()
                for index in range(numbers[name]):
                    run_case = partial(part.run_case, index, worker, place)
                    totals[name] = totals[name].and_also(done.case(f"{name} {index}", run_case))
    finally:
        worker.close()
    return figures_of(totals, numbers)


def figures_of(totals: dict[str, Case], numbers: Mapping[str, int]) -> Figures:
    """The figures of all cases together.

    Args:
        totals: cases by part.
        numbers: numbers of these cases.
    """
    figures, every = Figures(), Case()
    for name, case in totals.items():
        figures.add(name, numbers[name])
        every = every.and_also(case)
    figures.add("files.valid", totals["files"].valid)
    figures.add("commands", every.commands)
    figures.add("faults", sum(every.faults.values()), at_most=0)
    for kind, count in sorted(every.faults.items()):
        figures.add(f"faults.{kind.replace(' ', '_')}", count)
    if every.ends:
        figures.add("signals.median_end_s", median(every.ends), at_most=0.5)
        figures.add("signals.longest_end_s", max(every.ends))
    figures.add("slowest_cpu_s", every.slowest, at_most=LONGEST)
    figures.add("memory_of_limit", every.peak / allowed_memory(), at_most=2)
    return figures


if __name__ == "__main__":
    words = "Run mutated model files and random networks through all commands."
    run(measure, words, resumable=True, parts=tuple(PARTS))
