"""Time of `recommend` for every built-in model, once its code is compiled.

    python -m benchmarks.models [--json] [--full]

Each model is run twice, in separate processes that share a cache; the second run is timed,
including imports. Models without a class to compare with are counted, not timed; a run of more than
three minutes is stopped. `busy_processes` is the number of other processes that wanted the cores.
`--full` takes the best of three.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

from benchmarks.harness import Figures, child_seconds, run
from vegasfluid.cli.exit_status import BAD_INPUT, DONE, OUT_OF_REACH
from vegasfluid.modelfile import bundled_models

__all__ = ["measure"]

GOAL_S, LONGEST_S = 15, 180
COMMAND = (sys.executable, "-c", "from vegasfluid.cli import main; main()", "recommend", "--json")


class Answer(NamedTuple):
    """Result of one run: wall time and CPU time, s."""

    status: int
    reached: bool
    clock: float
    processors: float


def answer(model: str, cache: str) -> Answer | None:
    """Ask once; None where it takes too long."""
    environment = {**os.environ, "VEGASFLUID_CACHE_DIR": cache}
    clock, processors = time.perf_counter(), child_seconds()
    try:
        ended = subprocess.run(
            [*COMMAND, model], env=environment, capture_output=True, text=True, timeout=LONGEST_S
        )
    except subprocess.TimeoutExpired:
        return None
    clock, processors = time.perf_counter() - clock, child_seconds() - processors
    if ended.returncode == BAD_INPUT:
        return Answer(BAD_INPUT, False, clock, processors)
    if ended.returncode not in (DONE, OUT_OF_REACH):
        raise RuntimeError(f"{model}: {ended.stderr.strip()[-2000:]}")
    return Answer(ended.returncode, json.loads(ended.stdout)["reached"], clock, processors)


def measure(full: bool) -> Figures:
    """All of them, one after another."""
    figures, skipped = Figures(), 0
    with tempfile.TemporaryDirectory() as cache:
        for model in bundled_models():
            first = answer(model, cache)
            if first is not None and first.status == BAD_INPUT:
                skipped += 1
                continue
            asked = range(3 if full else 1) if first else ()
            warm = [again for _ in asked if (again := answer(model, cache))]
            best = min(warm, key=lambda x: x.clock, default=None)
            figures.add(f"{model}.warm_s", best.clock if best else math.nan, at_most=GOAL_S)
            if first and best:
                figures.add(f"{model}.cold_s", first.clock)
                figures.add(f"{model}.processor_s", best.processors)
                figures.add(f"{model}.reached", best.reached)
    figures.add("refused", skipped)
    figures.add("busy_processes", os.getloadavg()[0])
    return figures


if __name__ == "__main__":
    run(measure, __doc__ or "")
