"""Ratio of a network in ns-2.35, run with the scenario of `vegasfluid export --format ns2`."""

from __future__ import annotations

import math
import re
import subprocess
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from os import cpu_count
from pathlib import Path
from statistics import fmean, stdev
from typing import NamedTuple

from benchmarks.tuning.networks import TUNED, Untuned
from vegasfluid.congestion.vegas import Vegas
from vegasfluid.errors import InvalidInput
from vegasfluid.export import export_model
from vegasfluid.model import Model

__all__ = ["OnNs2", "can_run", "ratio_on_ns2"]

LINE = re.compile(r"^class (\S+) count \d+ goodput_packets_per_s (\S+)$", re.MULTILINE)
LEAST = 1e-6
"""Of a ratio: where a class got nothing."""


class OnNs2(NamedTuple):
    """The goodput of a Vegas flow over that of a competitor on ns-2.

    Args:
        ratio: geometric mean over runs.
        error: standard error of its logarithm.
        runs: how many.
    """

    ratio: float
    error: float
    runs: int


def can_run(case: Untuned) -> bool:
    """Whether ns-2 supports everything in a network, such as its congestion controls."""
    try:
        export_model(Model(case.network, duration=case.until, warmup=case.warmup), "ns2")
    except InvalidInput:
        return False
    return True


def one_run(case: Untuned, law: Vegas, seed: int) -> float:
    """Log of the goodput of a Vegas flow over that of a competitor, in one run."""
    model = Model(case.network.with_law(TUNED, law), duration=case.until, warmup=case.warmup)
    (text,) = export_model(model, "ns2", seed=seed).files.values()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scenario.tcl"
        path.write_text(text)
        done = subprocess.run(
            ["ns", path.name], cwd=folder, check=True, capture_output=True, text=True
        )
    goodput = {name: float(value) for name, value in LINE.findall(done.stdout)}
    others = [value for name, value in goodput.items() if name != TUNED]
    return math.log(max(goodput[TUNED] / others[0], LEAST))


def ratio_on_ns2(case: Untuned, law: Vegas, seeds: Sequence[int]) -> OnNs2:
    """Run a network on ns-2, once for each of two seeds or more."""
    with ThreadPoolExecutor(cpu_count()) as workers:
        logs = list(workers.map(lambda seed: one_run(case, law, seed), seeds))
    error = stdev(logs) / math.sqrt(len(logs))
    return OnNs2(math.exp(fmean(logs)), error, len(logs))
