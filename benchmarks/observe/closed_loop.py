"""From a measurement to a setting, and back to the kernel: is the setting fair there?

    python -m benchmarks.observe.closed_loop REFERENCE [--numbers 1 60]

For each random network whose traces are kept, `vegasfluid observe` writes a model from its `ss` and
`tc`, `vegasfluid recommend` tunes Vegas on it, and the reference kernel (`kernelref.py` in the
folder REFERENCE) runs the network with the recommended alpha and beta: its Vegas flows, measured
or not, have them, or one that is added if it has none. A row has the ratio of the mean goodputs of
Vegas flows and others, in `tests/agreement/linux_observed.jsonl`. Left out are networks of Vegas
alone, those for which `observe` writes no model, and runs that take more than a minute (the kernel
hangs in a few).
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from subprocess import SubprocessError
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.linux_recommend import command
from benchmarks.ns2_rows import ROOT
from benchmarks.ns2_scenarios import reference_runs
from benchmarks.observe.forms import written
from benchmarks.observe.traces import Trace, asked_for, traces
from vegasfluid.tuning.robust_verdict import FAIR as FARTHEST

__all__ = ["FAIR", "OBSERVED", "PROMISED", "rows", "tuned_scenario"]

OBSERVED: Path = ROOT / "tests" / "agreement" / "linux_observed.jsonl"
FAIR = (0.85, 1.15)
"""Range of a fair ratio of goodputs."""
PROMISED = (math.exp(-FARTHEST), math.exp(FARTHEST))
"""Range of the ratio in which `recommend` reports that the goal is reached, for ranges."""
LONGEST = 60.0
"""Longest run of the kernel, s."""
DURATION = 120.0
"""Length of the kernel's run with the recommended numbers, s; the first third is left out."""


def rows() -> list[dict[str, Any]]:
    """The rows that are kept; none if the file is not there."""
    return list(reference_runs(OBSERVED)) if OBSERVED.exists() else []


def recommended(trace: Trace) -> dict[str, Any]:
    """What `recommend` prints for the model that `observe` writes."""
    with TemporaryDirectory() as folder:
        model = Path(folder, "measured.toml")
        files = written(trace, "tc", Path(folder))
        command("observe", *map(str, files), "--out", str(model))
        text = model.read_text(encoding="utf-8")
        return {**command("recommend", str(model)), "model": text}


def tuned_scenario(trace: Trace, alpha: float, beta: float) -> dict[str, Any]:
    """The network's scenario with Vegas's parameters, and a Vegas flow if it had none."""
    scenario = {key: value for key, value in trace.scenario.items() if key != "measured"}
    flows = list(scenario["flows"])
    if all(flow["algo"] != "vegas" for flow in flows):
        flows.append({"algo": "vegas", "start": 1.0, "rtt_ms": scenario["rtt_ms"]})
    vegas = {"alpha": round(alpha), "beta": max(round(beta), round(alpha)), "gamma": 1}
    length = {"duration": DURATION, "warmup": DURATION / 3}
    return {**scenario, **length, "flows": flows, "vegas": vegas}


def ratio_of(result: dict[str, Any]) -> float:
    """Mean goodput of the Vegas flows over that of the others, in a run of the kernel."""
    means = {
        is_vegas: np.mean(
            [f["goodput_mbps"] for f in result["flows"] if (f["algo"] == "vegas") == is_vegas]
        )
        for is_vegas in (True, False)
    }
    return float(means[True] / means[False])


def row_of(trace: Trace, reference: Any) -> dict[str, Any]:
    """The row of a network: what was recommended, what was promised, and the kernel's ratio."""
    found = recommended(trace)
    numbers = found["recommended"]
    scenario = tuned_scenario(trace, numbers["alpha_packets"], numbers["beta_packets"])
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        ratio = ratio_of(reference.run(scenario, keep=folder, timeout=LONGEST))
    return {
        "number": trace.number,
        "recommended": numbers,
        "reached": found["reached"],
        "reason": found["reason"],
        "packets": found["packets"]["ratio"],
        "kernel": ratio,
        "model": found["model"],
    }


def main() -> None:
    """Run the networks with the numbers that are asked for, and append their rows."""
    reference, numbers = asked_for(__doc__)
    known = {row["number"] for row in rows()}
    for trace in traces():
        rivals = {flow["algo"] for flow in trace.scenario["flows"]} - {"vegas"}
        if trace.number in known or trace.number not in numbers or not rivals:
            continue
        try:
            row = row_of(trace, reference)
        except (RuntimeError, KeyError, OSError, SubprocessError) as error:
            print(f"{trace.number}: {error!r}", file=sys.stderr)
            continue
        with OBSERVED.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
