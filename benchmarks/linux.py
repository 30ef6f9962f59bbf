"""The packet simulator compared with a real Linux 6.1 kernel in simulated time.

    python -m benchmarks.linux [--json] [--full]

The kernel's runs are in `tests/agreement/linux_runs.jsonl`. Goodput is in Mbit/s of payload, window
and queue are in packets; `.linux` is the kernel, `.packets` the packet simulator, and `.difference`
is relative.

- One Reno and one Vegas flow over drop-tail, by Vegas's alpha. Ours is the mean over start times
  of the second flow (5, with `--full` 21, as in the tests), because the order of a few packets
  decides which round-trip time Vegas takes for the smallest.
- Vegas alone, by alpha: window and queue.
- Reno and Vegas alone without jitter, with jitter that reorders packets, and with jitter that does
  not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.harness import Figures, run
from benchmarks.linux_scenarios import PAYLOAD_BYTES, network_of
from benchmarks.ns2_rows import ROOT
from benchmarks.ns2_scenarios import reference_runs
from vegasfluid import metrics, simulate_packets

__all__ = ["LATE", "RUNS", "Measured", "measured"]

RUNS: Path = ROOT / "tests" / "agreement" / "linux_runs.jsonl"
LATE = np.linspace(0.0, 0.2, 21)
"""Start times of the second flow, s, over which our results are averaged."""
EVERY = 5
"""Step between these start times in the quick version."""


class Measured(NamedTuple):
    """What a run gave.

    Args:
        goodput: Mbit/s of payload of each flow.
        cwnd: mean window of each flow, packets.
        queue: mean queue, packets.
    """

    goodput: np.ndarray
    cwnd: np.ndarray
    queue: float


def measured(reference: dict[str, Any], late: float = 0.0, seed: int = 1) -> Measured:
    """A run of the packet simulator on the network of a reference run.

    Args:
        reference: a row of the kernel's runs.
        late: how much later than there the second flow starts, s.
        seed: of the simulator; jitter is random.
    """
    scenario = reference["scenario"]
    data = simulate_packets(
        network_of(scenario, late),
        scenario["duration"],
        warmup=scenario["warmup"],
        samples=10 * int(scenario["duration"]) + 1,
        seed=seed,
    )
    goodput = metrics.goodput(data).values * PAYLOAD_BYTES * 8e-6
    cwnd = metrics.time_mean(data, "cwnd").values
    return Measured(goodput, cwnd, float(metrics.mean_queue(data)[-1]))


def beside_reno(rows: list[dict[str, Any]], late: np.ndarray) -> Iterator[tuple[str, float, float]]:
    """Yield name, Linux's goodput and ours (Mbit/s) of Vegas and Reno over drop-tail."""
    for row in rows:
        means = np.mean([measured(row, float(each)).goodput for each in late], axis=0)
        for flow, reference, goodput in zip(
            row["scenario"]["flows"], row["flows"], means, strict=True
        ):
            name = f"beside.alpha{row['meta']['a']}.{flow['algo']}.goodput_mbps"
            yield name, reference["goodput_mbps"], float(goodput)


def alone(rows: list[dict[str, Any]]) -> Iterator[tuple[str, float, float]]:
    """Yield name, Linux's value and ours of a single Vegas flow: window and queue, packets."""
    for row in rows:
        run, name = measured(row), f"alone.alpha{row['meta']['a']}"
        yield f"{name}.cwnd_packets", row["flows"][0]["cwnd"], float(run.cwnd[0])
        yield f"{name}.queue_packets", row["queue"]["mean_pkts"], run.queue


SEEDS = range(1, 9)
"""Seeds; with jitter that keeps the order, single runs of Vegas have 36 or 54 Mbit/s."""


def with_jitter(row: dict[str, Any]) -> float:
    """Return the goodput of the first flow, Mbit/s; with jitter the mean over the seeds."""
    seeds = SEEDS if row["scenario"]["jitter_ms"] else SEEDS[:1]
    return float(np.mean([measured(row, seed=seed).goodput[0] for seed in seeds]))


def jittered(rows: list[dict[str, Any]]) -> Iterator[tuple[str, float, float]]:
    """Yield name, Linux's goodput and ours (Mbit/s) of one flow with jitter."""
    for row in rows:
        name = f"jitter.{row['meta']['jit']}.{row['meta']['algo']}.goodput_mbps"
        yield name, row["flows"][0]["goodput_mbps"], with_jitter(row)


def measure(full: bool) -> Figures:
    """Return all three comparisons: the largest difference, and each value."""
    rows: dict[str, list[dict[str, Any]]] = {}
    for row in reference_runs(RUNS):
        rows.setdefault(row["tag"], []).append(row)
    late = LATE if full else LATE[::EVERY]
    figures = Figures()
    parts: tuple[tuple[str, Callable[[], Iterator[tuple[str, float, float]]], float], ...] = (
        ("beside", lambda: beside_reno(rows["e1"], late), 0.15),
        ("alone", lambda: alone(rows["nv"]), 0.05),
        ("jitter", lambda: jittered(rows["e3"]), 0.10),
    )
    for part, compared, bound in parts:
        values = list(compared())
        worst = max(abs(packets / linux - 1) for _, linux, packets in values)
        figures.add(f"{part}.worst", worst, at_most=bound)
        for name, linux, packets in values:
            figures.add(f"{name}.linux", linux)
            figures.add(f"{name}.packets", packets)
            figures.add(f"{name}.difference", packets / linux - 1)
    return figures


if __name__ == "__main__":
    run(measure, __doc__ or "")
