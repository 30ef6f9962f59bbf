"""A network as ns-2.35 runs it, by the scenario that `vegasfluid export --format ns2` writes."""

from __future__ import annotations

import math
import re
import subprocess
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from os import cpu_count
from pathlib import Path

from benchmarks.tuning.networks import TUNED, Untuned
from vegasfluid.congestion.vegas import Vegas
from vegasfluid.export import export_model
from vegasfluid.model import Model

__all__ = ["ratio_on_ns2"]

LINE = re.compile(r"^class (\S+) count \d+ goodput_packets_per_s (\S+)$", re.MULTILINE)
LEAST = 1e-6
"""Of a ratio: where a class got nothing."""


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


def ratio_on_ns2(case: Untuned, law: Vegas, seeds: Sequence[int]) -> float:
    """Goodput of a Vegas flow over that of a competitor: geometric mean over runs of ns-2."""
    with ThreadPoolExecutor(cpu_count()) as workers:
        logs = list(workers.map(lambda seed: one_run(case, law, seed), seeds))
    return math.exp(sum(logs) / len(logs))
