"""Time and result of `vegasfluid recommend` as a user runs it, with cold and warm caches.

    python -m benchmarks.main_job [--json] [--full]

`--full` repeats each timing five times and takes the median.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.harness import Figures, run

ROOT = Path(__file__).resolve().parent.parent
COMMAND = (sys.executable, "-c", "from vegasfluid.cli import main; main()")
NETWORK_2 = "models/weigle_feng_network2.toml"


def timed(arguments: list[str], cache: str) -> tuple[float, str]:
    """Seconds of one whole process, and its standard output."""
    environment = {**os.environ, "VEGASFLUID_CACHE_DIR": cache}
    begin = time.perf_counter()
    done = subprocess.run(
        [*COMMAND, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    seconds = time.perf_counter() - begin
    if done.returncode:
        raise RuntimeError(f"{' '.join(arguments)}: {done.stderr.strip()}")
    return seconds, done.stdout


def recommended(number: int, cache: str) -> tuple[float, dict[str, Any]]:
    """Time and result of the main job on one of the papers' networks."""
    path = f"models/weigle_feng_network{number}.toml"
    seconds, printed = timed(["recommend", path, "--json"], cache)
    return seconds, json.loads(printed)


def add_result(figures: Figures, number: int, found: dict[str, Any]) -> None:
    """The recommendation for one network, and what it was wanted to be."""
    bounds = {2: (125, 170), 3: (80, 115), 4: (85, 170)}
    name = f"network{number}"
    alpha = found["recommended"]["alpha_packets"]
    low, high = bounds.get(number, (None, None))
    figures.add(f"{name}.alpha_packets", alpha, at_least=low, at_most=high)
    figures.add(f"{name}.fluid_alpha_packets", found["fluid_alpha_packets"])
    ratio = found["packets"]["ratio"]
    figures.add(f"{name}.packets_ratio", ratio, at_least=0.95, at_most=1.05)
    limit = 0.05 if number == 2 else None
    figures.add(f"{name}.before_packets_ratio", found["before"]["packets"]["ratio"], at_most=limit)


def measure(full: bool) -> Figures:
    """Times first, then the results."""
    figures = Figures()
    repeats = 5 if full else 1
    first, warm = [], []
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as cache:
            first.append(recommended(2, cache)[0])
            warm.append(recommended(2, cache)[0])
    figures.add("network2.first_s", statistics.median(first), at_most=9)
    figures.add("network2.warm_s", statistics.median(warm), at_most=4)
    with tempfile.TemporaryDirectory() as cache:
        helped = [timed(["--help"], cache)[0] for _ in range(5)]
        figures.add("help_s", statistics.median(helped), at_most=0.5)
        for number in (1, 2, 3, 4):
            add_result(figures, number, recommended(number, cache)[1])
    return figures


if __name__ == "__main__":
    run(measure, __doc__ or "")
