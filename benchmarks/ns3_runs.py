"""Runs of ns-3 on the scenarios of `benchmarks.ns3_scenarios`: the data of the comparison.

    VEGASFLUID_NS3_PYTHON=/path/to/python python -m benchmarks.ns3_runs > ns3_queues.jsonl

Each line is a run: the scenario and its seed, the version of ns-3, the mean goodput of a flow of
each congestion control (Mbit/s of payload), and of the bottleneck the mean queue (packets), the
fractions of packets dropped and marked, and the utilisation with ns-3's 2 bytes of PPP. A run takes
about 20 s of CPU time, nearly all of it to load ns-3.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import subprocess
import sys
from typing import Any

from benchmarks.ns3_scenarios import DURATION, SCENARIOS, SEEDS, WARMUP, Scenario, model_of
from vegasfluid.crosscheck.averages import parse_averages
from vegasfluid.crosscheck.ns3 import PYTHON
from vegasfluid.crosscheck.programs import run_program, scenario_folder
from vegasfluid.export import export_model

__all__ = ["ns3_run"]

PAYLOAD_BYTES, PPP_BYTES = 1448, 2
"""Payload of a packet, and what ns-3's point-to-point devices add to it, bytes."""
MAIN = '''\
"""Runs the scenario, and prints marked and sent packets after the warm-up, too."""

import sys

import scenario

KEYS = ("nTotalMarkedPackets", "nTotalReceivedPackets", "nTotalSentPackets", "nTotalSentBytes")


class Queue(scenario.Queue):
    def counts(self):
        stats = self.discipline.GetStats()
        return [getattr(stats, key) for key in KEYS]

    def begin(self):
        super().begin()
        self.counts_before = self.counts()

    def line(self):
        counts = [now - then for now, then in zip(self.counts(), self.counts_before)]
        return f"{super().line()}\\ncounts " + " ".join(map(str, counts))


scenario.Queue = Queue
scenario.main(int(sys.argv[1]))
'''
"""Program that runs the exported scenario, which prints drops but no marks."""
COUNTS = re.compile(r"^counts (\d+) (\d+) (\d+) (\d+)$", re.MULTILINE)
"""Line with packets marked, received and sent, and bytes sent."""


def ns3_run(python: str, scenario: Scenario, seed: int) -> dict[str, Any]:
    """Run a scenario in ns-3 with a seed.

    Args:
        python: path of a Python with the package ns3.
        scenario: the scenario.
        seed: seed of the start times and of PIE.

    Returns:
        Goodputs by congestion control, Mbit/s, and the averages of the queue.
    """
    model = model_of(scenario, seed)
    files = {**export_model(model, "ns3", seed=seed).files, "main.py": MAIN}
    with scenario_folder(files) as folder:
        text = run_program([python, "main.py", str(seed)], folder)
    averages = parse_averages(text, model.network, "ns-3")
    ((marked, received, packets, sent),) = (map(int, found) for found in COUNTS.findall(text))
    bits = (sent + PPP_BYTES * packets) * 8
    goodputs = [rate * PAYLOAD_BYTES * 8e-6 for rate in averages.goodput]
    return {
        "goodput_mbps": dict(zip(scenario.flows, goodputs, strict=True)),
        "queue": {
            "mean_pkts": averages.queue[0],
            "drop_share": averages.drop_share[0],
            "mark_share": marked / received,
            "util": bits / (scenario.mbps * 1e6 * (DURATION - WARMUP)),
        },
    }


def version(python: str) -> str:
    """Version of the package ns3 that a Python has."""
    command = "import importlib.metadata as m; print(m.version('ns3'))"
    done = subprocess.run([python, "-c", command], capture_output=True, text=True, check=True)
    return f"ns3 {done.stdout.strip()} (PyPI)"


def main() -> None:
    """Run all scenarios with all seeds, and print a line of JSON for each."""
    python = os.environ[PYTHON]
    source = {
        "source": version(python),
        "export": f"vegasfluid {importlib.metadata.version('vegasfluid')}",
        "command": "python -m benchmarks.ns3_runs",
    }
    for scenario in SCENARIOS:
        for seed in SEEDS:
            print(f"{scenario.name}, seed {seed}", file=sys.stderr)
            row = {"scenario": scenario.name, "seed": seed, **ns3_run(python, scenario, seed)}
            print(json.dumps({**row, **source}), flush=True)


if __name__ == "__main__":
    main()
