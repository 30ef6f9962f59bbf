"""The largest memory of a sweep: of the process that asks, and of the largest of its workers."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile

from benchmarks.harness import Figures

__all__ = ["add_memory"]

FEW, MANY = 1000, 100_000
PROGRAM = """
import json, resource, sys
from vegasfluid import Flows, Link, Model, Network, Reno, Vegas
from vegasfluid.sweep import Numbers, Sweep, run

if __name__ == "__main__":
    points, out = int(sys.argv[1]), sys.argv[2]
    flows = {name: Flows(1, law, base_rtt=0.02) for name, law in
             (("reno", Reno()), ("vegas", Vegas(1, 3)))}
    model = Model(Network(Link(500.0, 20), flows), duration=0.1)
    axes = [Numbers("bottleneck.capacity_mbps", [5 + n / 100 for n in range(points // 100)]),
            Numbers("vegas.alpha_packets", [1 + n / 10 for n in range(100)])]
    reached = run(Sweep(model, axes, "packets"), out, workers=2)
    kinds = {"own": resource.RUSAGE_SELF, "worker": resource.RUSAGE_CHILDREN}
    most = {name: resource.getrusage(of).ru_maxrss / 1024 for name, of in kinds.items()}
    print(json.dumps(most | {"done": reached.done - reached.failed}))
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
    """Few points beside many."""
    few, many = largest(FEW), largest(MANY)
    for name, of in (("own", "asking process"), ("worker", "largest worker")):
        key = of.replace(" ", "_")
        figures.add(f"sweep.megabytes_{key}", many[name])
        figures.add(f"sweep.growth_{key}", many[name] / few[name], at_most=1.25)
