"""The search of section 3, network x traffic x alpha x beta, as a labelled data set.

    python -m paper_repro.weigle_feng_2001.search

computes `search.nc` in this folder again: four networks, three traffic sources, one-way data,
twelve alphas, two gaps between alpha and beta, and two seeds, each for the paper's 200 s.
`examples/weigle_feng_search.py` does the same on a grid 25 times as large.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import xarray as xr

import vegasfluid as vf
from paper_repro.experiment import PACKETS, Evidence, Experiment, Job, Results
from paper_repro.weigle_feng_2001.bars import READINGS
from paper_repro.weigle_feng_2001.counts import ratio_of
from paper_repro.weigle_feng_2001.networks import MODELS, table_1, with_pair
from paper_repro.weigle_feng_2001.pairs import run_of
from paper_repro.weigle_feng_2001.traffic import KINDS, carrying
from vegasfluid.sweep import Choice, Numbers, Sweep, open_sweep, run
from vegasfluid.sweep.file_formats import save

__all__ = ["DATA", "SEARCH", "plan", "small"]

DATA = Path(__file__).parent / "search.nc"
"""File of the data set."""
NETWORKS = (1, 2, 3, 4)
"""Numbers of the networks of table 1."""
ALPHAS = (1, 3, 10, 30, 50, 75, 100, 125, 150, 200, 400, 1000)
"""Lower thresholds, packets."""
GAPS = (2, 20)
"""Differences of beta and alpha, packets."""
SEEDS = (1, 2)
"""Seeds of the runs."""
KEPT = (
    "ratio",
    "jain_index",
    "goodput_mbps",
    "cwnd_packets",
    "retransmit_share",
    "timeouts",
    "utilisation",
    "queue_packets",
    "drop_share",
)
"""Variables of a sweep that the data set contains."""


def with_traffic(kind: str) -> Callable[[vf.Model], vf.Model]:
    """Return a function that gives all flows of a model one traffic source."""
    return partial(offering, kind)


def offering(kind: str, model: vf.Model) -> vf.Model:
    """Return the model with one traffic source for all flows."""
    return replace(model, network=carrying(model.network, kind))


def plan(
    engine: str,
    alphas: Sequence[float] | np.ndarray,
    gaps: Sequence[int],
    seeds: Sequence[int],
    *,
    until: float | None = None,
    command: str = "",
) -> Sweep:
    """Return the search as a sweep over the model files in `models/`, with one-way data.

    Args:
        engine: `packets`, `fluid` or `density`.
        alphas: lower thresholds, packets.
        gaps: differences of beta and alpha, packets.
        seeds: seeds of the packet runs of each point.
        until: simulated time, s; None: the models' own, 200 s.
        command: command that is stored with the results.
    """
    models = {str(n): vf.modelfile.load(MODELS / f"weigle_feng_network{n}.toml") for n in NETWORKS}
    axes = [
        Choice("network", models),
        Choice("traffic", {kind: with_traffic(kind) for kind in KINDS}),
        Numbers("vegas.alpha_packets", alphas, dim="alpha"),
        Numbers("vegas.dead_band_packets", gaps, dim="gap"),
    ]
    return Sweep(
        models["2"],
        axes,
        engine,
        seeds=seeds if engine == "packets" else (1,),
        until=until,
        name="models/weigle_feng_network[1-4].toml",
        command=command,
    )


def small() -> Sweep:
    """Return the sweep of the bundled data set."""
    command = "python -m paper_repro.weigle_feng_2001.search"
    return plan("packets", ALPHAS, GAPS, SEEDS, command=command)


def kept(data: xr.Dataset) -> xr.Dataset:
    """Return the variables of the data set, in single precision.

    Raises:
        ValueError: if a run failed, as `status` and `reason` are left out.
    """
    if not bool((data["status"] == 1).all()):
        raise ValueError("some runs of the search failed")
    about = {"title": "the search with data one way", "source": "LA-UR-01-3420, section 3"}
    return data[list(KEPT)].astype(np.float32, keep_attrs=True).assign_attrs(about)


def main() -> None:
    """Compute the data set again."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=DATA, help="the netCDF file")
    parser.add_argument("--workers", type=int, help="processes that simulate")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "search.zarr"
        run(small(), store, workers=options.workers)
        save(kept(open_sweep(store)), options.out)


PLACES = {1: ((4, 9), (8, 18)), 2: ((150, 155), (1000, 1100)), 3: ((100, 105), (1000, 1100)),
          4: ((150, 155), (1000, 1100))}  # fmt: skip
"""Alpha and beta (packets) slightly above RED_min / N, and far above, by network."""


def jobs() -> Mapping[str, Job]:
    """Return one-way runs of each network and traffic source, at large alphas."""
    runs = {}
    for number, pairs in PLACES.items():
        for kind in KINDS:
            for pair in pairs:
                network, name = carrying(with_pair(table_1(number), pair), kind), f"{number}_{kind}"
                runs[f"plain:{name}:{pair[0]}"] = run_of(network)
                for prefix, reading in READINGS.items():
                    one = reading.change(network) if kind in reading.kinds else network
                    runs[f"{prefix}:{name}:{pair[0]}"] = run_of(one)
    return runs


def won(results: Results, prefix: str) -> float:
    """Return the fraction of networks and traffic sources in which Vegas wins at some setting."""
    best: dict[str, float] = {}
    for name, runs in results.items():
        reading, cell, _ = name.split(":")
        if reading == prefix:
            best[cell] = max(best.get(cell, 0.0), ratio_of(runs))
    return float(np.mean([ratio > 1 for ratio in best.values()]))


def measure(results: Results) -> Evidence:
    """Record the fraction of networks and traffic sources in which Vegas wins."""
    evidence = Evidence()
    evidence.note(PACKETS, "search.won", won(results, "plain"))
    for prefix, reading in READINGS.items():
        evidence.note(reading.source, "search.won", won(results, prefix))
    with xr.open_dataset(DATA) as data:
        largest = data["ratio"].mean("seed").max(("alpha", "gap"))
        evidence.note("the data set, after the warm-up", "search.won", float((largest > 1).mean()))
    return evidence


SEARCH = Experiment(
    "search", "Networks and traffic in which Vegas can win", measure, jobs
)  # fmt: skip


if __name__ == "__main__":
    main()
