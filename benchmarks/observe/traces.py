"""Traces of the reference kernel for `observe`: run, kept in few bytes, and read again.

    python -m benchmarks.observe.traces REFERENCE [--numbers 1 60]

REFERENCE is a folder with `kernelref.py` and its User Mode Linux kernel, which ran the scenarios in
`tests/agreement` too. Each random network is run once, and added to those that are kept; a run that
takes more than a minute (a few do) is left out. What `ss` and `tc` would have shown of the measured
flows and of the queue is kept in `tests/agreement/linux_traces.npz.xz`: differences of samples,
which pack well.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import lzma
import sys
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from subprocess import TimeoutExpired
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

from benchmarks.ns2_rows import ROOT
from benchmarks.observe.networks import drawn

__all__ = ["TRACES", "Trace", "asked_for", "traces"]

TRACES: Path = ROOT / "tests" / "agreement" / "linux_traces.npz.xz"
FLOW = ("t", "cwnd", "ssthresh", "rtt_us", "minrtt_us", "unacked", "total_retrans")
FLOW += ("bytes_acked", "delivered", "sacked")
"""Columns of a flow's samples."""
QUEUE = ("t", "qlen", "backlog", "drops", "bytes", "packets")
"""Columns of the queue's samples."""
QUEUE_INTERVAL = 1.0
"""Time between samples of the queue that are kept, s."""
LONGEST = 60.0
"""Longest run of the kernel, s."""
MICROSECONDS = 1e6
LARGEST = 2**31 - 1
"""Largest threshold of slow start, which stands for none."""


class Trace(NamedTuple):
    """A network that the kernel ran, and what it would have shown of it.

    Args:
        number: of the random network.
        scenario: as `drawn` gives it.
        flows: samples of each measured flow by column; each (sample,).
        queue: samples of the queue by column; each (sample,).
        goodput: of each flow from a third of the run on, Mbit/s; (flow,).
    """

    number: int
    scenario: dict[str, Any]
    flows: tuple[dict[str, np.ndarray], ...]
    queue: dict[str, np.ndarray]
    goodput: np.ndarray


@cache
def traces() -> tuple[Trace, ...]:
    """All traces that are kept, by number."""
    packed = _kept()
    numbers = sorted(int(name.split("/")[0]) for name in packed if name.endswith("/queue"))
    return tuple(_unpacked(number, packed) for number in numbers)


def _kept() -> dict[str, np.ndarray]:
    """Packed arrays of all networks that are kept."""
    return dict(np.load(io.BytesIO(lzma.decompress(TRACES.read_bytes()))))


def _unpacked(number: int, packed: Mapping[str, np.ndarray]) -> Trace:
    """The trace of a network."""
    scenario = drawn(number)
    columns = [np.cumsum(packed[f"{number}/{flow}"], axis=1) for flow in scenario["measured"]]
    queue = np.cumsum(packed[f"{number}/queue"], axis=1)
    flows = tuple(_named(FLOW, each) for each in columns)
    found = _named(QUEUE, queue)
    for each in (*flows, found):
        each["t"] = each["t"] / MICROSECONDS
    return Trace(number, scenario, flows, found, packed[f"{number}/goodput"])


def _named(names: tuple[str, ...], columns: np.ndarray) -> dict[str, np.ndarray]:
    """Columns (column, sample) by name."""
    return dict(zip(names, columns.astype(float), strict=True))


def _packed(folder: Path, name: str, columns: tuple[str, ...], every: float) -> np.ndarray:
    """Differences of the samples in a CSV file, at least `every` s apart; (column, sample)."""
    kept, last = [], -np.inf
    with (folder / name).open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if float(row["t"]) >= last + every - 1e-3:
                last = float(row["t"])
                kept.append([round(last * MICROSECONDS), *(int(row[key]) for key in columns[1:])])
    return np.diff(np.array(kept, dtype=np.int64).T, axis=1, prepend=0)


def recorded(number: int, reference: Any) -> dict[str, np.ndarray]:
    """Run a network in the kernel; its packed trace, empty if the run takes too long."""
    scenario = drawn(number)
    measured = scenario.pop("measured")
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        try:
            result = reference.run(scenario, keep=folder, timeout=LONGEST)
        except TimeoutExpired:
            return {}
        goodput = [each["goodput_mbps"] for each in result["flows"]]
        found = {f"{number}/queue": _packed(Path(folder), "queue.csv", QUEUE, QUEUE_INTERVAL)}
        for flow in measured:
            found[f"{number}/{flow}"] = _packed(Path(folder), f"flow{flow}.csv", FLOW, 0.0)
    return {**found, f"{number}/goodput": np.array(goodput)}


def asked_for(description: str | None) -> tuple[Any, range]:
    """Module of the reference kernel, and numbers of networks, from the command line."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("reference", type=Path)
    parser.add_argument("--numbers", type=int, nargs=2, default=(1, 60))
    options = parser.parse_args()
    sys.path.insert(0, str(options.reference))
    first, last = options.numbers
    return import_module("kernelref"), range(first, last + 1)


def main() -> None:
    """Run the networks with the numbers that are asked for, and keep their traces."""
    reference, numbers = asked_for(__doc__)
    kept = _kept() if TRACES.exists() else {}
    for number in numbers:
        found = recorded(number, reference)
        print(json.dumps({"number": number, "kept": bool(found)}), flush=True)
        kept |= found
    file = io.BytesIO()
    np.savez(file, allow_pickle=False, **kept)
    TRACES.write_bytes(lzma.compress(file.getvalue(), preset=9))


if __name__ == "__main__":
    main()
