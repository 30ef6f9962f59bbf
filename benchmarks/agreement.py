"""Both simulators against ns-2 on Weigle and Feng's networks 2-4, one way.

    python -m benchmarks.agreement [--json] [--full]

The figures are relative differences to ns-2; those of the packet simulator at worst are over all
rows where ns-2's ratio is from 0.2 to 2. `--full` takes more seeds.
"""

from __future__ import annotations

from benchmarks.harness import Figures, run
from benchmarks.ns2_rows import NS2Row, model_of, ns2_rows
from vegasfluid.caches import keep_compiled_equations
from vegasfluid.fluid import record_fluid
from vegasfluid.times import DEFAULT_SAMPLES
from vegasfluid.tuning.measurement import measure as measure_packets
from vegasfluid.tuning.measurement import summary

SEEDS = (1, 2, 3)
FULL_SEEDS = tuple(range(1, 11))
TUNED = "vegas"


def compare_packets(row: NS2Row, seeds: tuple[int, ...]) -> dict[str, float]:
    """Relative differences of the packet simulator's means to ns-2's run."""
    model = model_of(row)
    found = measure_packets(
        model.network, TUNED, seeds, until=model.duration, warmup=model.warmup
    ).means()
    return {
        "ratio": found["ratio"] / row.ratio - 1,
        "utilisation": found["utilisation"] / row.utilisation - 1,
        "queue": found["queue_packets"] / row.queue_packets - 1,
    }


def compare_fluid(row: NS2Row) -> float:
    """Relative difference of the fluid's ratio to ns-2's run."""
    model = model_of(row)
    recording = record_fluid(model.network, model.duration, DEFAULT_SAMPLES)
    return summary(recording, TUNED, model.warmup)["ratio"] / row.ratio - 1


def add_packets(figures: Figures, rows: list[NS2Row], seeds: tuple[int, ...]) -> None:
    """The packet simulator's figures, row by row and at worst."""
    found = {row.name: compare_packets(row, seeds) for row in rows}
    for name, of in found.items():
        figures.add(f"packets.{name}.ratio", of["ratio"])
    judged = [found[row.name]["ratio"] for row in rows if 0.2 <= row.ratio <= 2]
    figures.add("packets.worst_ratio", worst(judged), at_most=0.1)
    for key, bound in (("utilisation", 0.01), ("queue", 0.03)):
        figures.add(
            f"packets.worst_{key}", worst([of[key] for of in found.values()]), at_most=bound
        )


def worst(differences: list[float]) -> float:
    """The largest difference, either way."""
    return max(abs(difference) for difference in differences)


def measure(full: bool) -> Figures:
    """All rows."""
    keep_compiled_equations()
    figures = Figures()
    rows = ns2_rows()
    add_packets(figures, rows, FULL_SEEDS if full else SEEDS)
    gentle = [row for row in rows if row.gentle_start]
    fluid = {row.name: compare_fluid(row) for row in gentle}
    for name, difference in fluid.items():
        figures.add(f"fluid.{name}.ratio", difference)
    figures.add("fluid.gentle.worst_ratio", worst(list(fluid.values())), at_most=0.10)
    return figures


if __name__ == "__main__":
    run(measure, __doc__ or "")
