"""Differences of the simulators from ns-2 on Weigle and Feng's networks 2-4, data one way.

    python -m benchmarks.ns2 [--json] [--full]

Relative differences from ns-2.35's runs (`tests/agreement/ns2_one_way.csv`), for each row, and the
worst over the rows where ns-2's ratio is between 0.2 and 2 (the plateau: alpha of at least 150).
The fluid models are compared only where slow start ends gently, the density model only on network
4, which allows the longest steps. `--full` takes ten seeds instead of three, and the density model
on all of these rows.
"""

from __future__ import annotations

from benchmarks.design import ENGINES, Engine
from benchmarks.harness import Figures, run
from benchmarks.ns2_rows import NS2Row, model_of, ns2_rows
from vegasfluid.caches import keep_compiled_equations
from vegasfluid.fluid import record_fluid
from vegasfluid.run_options import DEFAULT_SAMPLES
from vegasfluid.tuning.measurement import measure as measure_packets
from vegasfluid.tuning.measurement import summary

SEEDS = (1, 2, 3)
FULL_SEEDS = tuple(range(1, 11))
TUNED = "vegas"
PLATEAU = 150.0
"""Packets: from such an alpha on, more of it changes little."""


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


def compare_fluid(row: NS2Row, record: Engine) -> float:
    """Relative difference of a fluid's ratio to ns-2's run."""
    model = model_of(row)
    recording = record(model.network, model.duration, DEFAULT_SAMPLES)
    return summary(recording, TUNED, model.warmup)["ratio"] / row.ratio - 1


def add_fluid(figures: Figures, engine: str, record: Engine, rows: list[NS2Row]) -> None:
    """A fluid's figures on rows with a gentle start, row by row and at worst."""
    found = {row.name: compare_fluid(row, record) for row in rows}
    for name, difference in found.items():
        figures.add(f"{engine}.{name}.ratio", difference)
    compared = [row for row in rows if 0.2 <= row.ratio <= 2]
    plateau = {row.name for row in compared if row.alpha >= PLATEAU}
    rising = [found[row.name] for row in compared if row.name not in plateau]
    figures.add(f"{engine}.gentle.worst_ratio", worst(rising), at_most=0.07)
    flat = [found[name] for name in plateau]
    figures.add(f"{engine}.gentle.worst_ratio_on_the_plateau", worst(flat), at_most=0.10)


def add_packets(figures: Figures, rows: list[NS2Row], seeds: tuple[int, ...]) -> None:
    """The packet simulator's figures, row by row and at worst."""
    found = {row.name: compare_packets(row, seeds) for row in rows}
    for name, item in found.items():
        figures.add(f"packets.{name}.ratio", item["ratio"])
    compared = [found[row.name]["ratio"] for row in rows if 0.2 <= row.ratio <= 2]
    figures.add("packets.worst_ratio", worst(compared), at_most=0.1)
    for key, bound in (("utilisation", 0.01), ("queue", 0.03)):
        figures.add(
            f"packets.worst_{key}", worst([item[key] for item in found.values()]), at_most=bound
        )


def worst(differences: list[float]) -> float:
    """Difference with the largest absolute value."""
    return max(abs(difference) for difference in differences)


def measure(full: bool) -> Figures:
    """All rows."""
    keep_compiled_equations()
    figures = Figures()
    rows = ns2_rows()
    add_packets(figures, rows, FULL_SEEDS if full else SEEDS)
    gentle = [row for row in rows if row.gentle_start]
    add_fluid(figures, "fluid", record_fluid, gentle)
    add_fluid(figures, "density", ENGINES["density"], gentle if full else quick(gentle))
    return figures


def quick(rows: list[NS2Row]) -> list[NS2Row]:
    """Those of network 4, whose steps are the longest."""
    return [row for row in rows if row.network == 4]


if __name__ == "__main__":
    run(measure, __doc__ or "")
