"""Time from `pip install` to the first answer, in a fresh environment with empty caches.

    python -m benchmarks.first_use [--json] [--full]

The wheel is built from the source distribution and installed into a new environment, with the
newest libraries that it allows. Then the first `vegasfluid recommend` of a built-in model is timed
in an empty folder. `pip` compiles what it installs to bytecode; uv leaves that to the first run,
which is timed as well. `--full` repeats both three times and takes the median.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from benchmarks.harness import Figures, child_seconds, run

ROOT = Path(__file__).resolve().parent.parent
MODEL = "weigle_feng_network2"


class Used(NamedTuple):
    """Seconds: by the clock, and of processors."""

    clock: float
    processors: float


def uv() -> str:
    """Path of uv: next to this Python, or on the search path."""
    places = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    found = shutil.which("uv", path=places)
    if found is None:
        raise RuntimeError("uv is not here; `make` installs it, and so does `pip install uv`")
    return found


def done(*command: str | Path, cwd: Path = ROOT, **environment: str) -> str:
    """The output of a command that has to succeed."""
    inherited = {key: item for key, item in os.environ.items() if key != "PYTHONPATH"}
    ended = subprocess.run(
        list(map(str, command)),
        cwd=cwd,
        env={**inherited, **environment},
        capture_output=True,
        text=True,
    )
    if ended.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))}: {ended.stderr.strip()[-2000:]}")
    return ended.stdout


def built(folder: Path) -> Path:
    """The wheel, made from the source distribution."""
    done(uv(), "build", "--quiet", "--out-dir", folder, ROOT)
    return next(folder.glob("*.whl"))


def installed(wheel: Path, folder: Path, *options: str) -> Path:
    """The programs of a new environment with the wheel in it."""
    done(uv(), "venv", "--quiet", "--python", sys.executable, folder)
    python = folder / "bin" / "python"
    done(uv(), "pip", "install", "--quiet", "--python", python, *options, wheel)
    return folder / "bin"


def first_answer(programs: Path, folder: Path) -> Used:
    """What the first recommendation takes; it has to reach its goal."""
    folder.mkdir()
    clock, processors = time.perf_counter(), child_seconds()
    answer = done(
        programs / "vegasfluid",
        "recommend",
        MODEL,
        "--json",
        cwd=folder,
        VEGASFLUID_CACHE_DIR=str(folder / "cache"),
    )
    used = Used(time.perf_counter() - clock, child_seconds() - processors)
    if not json.loads(answer)["reached"]:
        raise RuntimeError(f"{MODEL}: the goal was not reached")
    return used


def measure(full: bool) -> Figures:
    """The first answer after an installation by pip, and after one by uv."""
    figures = Figures()
    ways = {"pip": ("--compile-bytecode",), "uv": ()}
    taken: dict[str, list[Used]] = {name: [] for name in ways}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wheel = built(folder / "dist")
        for number in range(3 if full else 1):
            for way, options in ways.items():
                programs = installed(wheel, folder / f"{way}{number}", *options)
                taken[way].append(first_answer(programs, folder / f"{way}{number}-used"))
    for way, used in taken.items():
        figures.add(f"{way}.first_s", statistics.median(item.clock for item in used), at_most=30)
        figures.add(f"{way}.processor_s", statistics.median(item.processors for item in used))
    figures.add("busy_processes", os.getloadavg()[0])
    return figures


if __name__ == "__main__":
    run(measure, __doc__ or "")
