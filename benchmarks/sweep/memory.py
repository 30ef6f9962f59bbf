"""The largest memory of a sweep: of the main process and of the largest worker."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile

from benchmarks.harness import Figures

__all__ = ["add_memory"]

FEW, MANY = 1000, 100_000
PROGRAM = """
import json, sys
import psutil
from vegasfluid import Flows, Link, Model, Network, Reno, Vegas
from vegasfluid.sweep import Numbers, Sweep, run



def most(process):
    # MB that its program has had in memory at most
    with open(f"/proc/{process.pid}/status") as file:
        return int(next(line for line in file if line.startswith("VmHWM")).split()[1]) / 1024


def look(progress):
    # once in a while: the largest worker so far
    if progress.done % 1000 == 0:
        try:
            workers = psutil.Process().children(recursive=True)
            found["worker"] = max([found["worker"], *map(most, workers)])
        except (OSError, StopIteration, psutil.Error):  # one that has just ended
            pass


if __name__ == "__main__":
    points, out, found = int(sys.argv[1]), sys.argv[2], {"worker": 0.0}
    flows = {name: Flows(1, law, base_rtt=0.02) for name, law in
             (("reno", Reno()), ("vegas", Vegas(1, 3)))}
    model = Model(Network(Link(500.0, 20), flows), duration=0.1)
    axes = [Numbers("bottleneck.capacity_mbps", [5 + n / 100 for n in range(points // 100)]),
            Numbers("vegas.alpha_packets", [1 + n / 10 for n in range(100)])]
    reached = run(Sweep(model, axes, "packets", chunk=50), out, workers=2, report=look)
    found["own"] = most(psutil.Process())
    print(json.dumps(found | {"done": reached.done - reached.failed}))
"""


def largest(points: int) -> dict[str, float]:
    """Megabytes of a sweep of so many points, each a fraction of a second of two flows."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, str(points), f"{folder}/sweep.zarr"],
            check=True,
            capture_output=True,
            text=True,
        )
    found = json.loads(done.stdout)
    assert found["done"] == points
    return found


def add_memory(figures: Figures) -> None:
    """Add the memory of sweeps with few and with many points."""
    few, many = largest(FEW), largest(MANY)
    for name, item in (("own", "asking process"), ("worker", "largest worker")):
        key = item.replace(" ", "_")
        figures.add(f"sweep.megabytes_{key}", many[name])
        figures.add(f"sweep.growth_{key}", many[name] / few[name], at_most=1.25)
