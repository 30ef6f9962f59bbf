"""Weigle and Feng's search for alpha and beta, with the computing power of today.

    python examples/weigle_feng_search.py [--quick] [--engine packets|fluid] [--out FOLDER]

Their search (LA-UR-01-3420, section 3) is network x traffic x alpha x beta. This one has their four
networks, their three traffic sources, 40 alphas and 3 gaps between alpha and beta, each with 10
seeds of the packet simulator (14 400 runs), or with 400 alphas and the fluid model (14 400 points).
After Ctrl-C the same command resumes the search. At the end it plots the goodput of a Vegas flow
divided by that of a Reno flow, in a panel for each network and traffic source. `--quick` has 4
alphas, one gap, 2 seeds, and a tenth of the simulated time.

Traffic (their tables 2 and 3): an infinite file; Pareto on and off times inside Pareto sessions
("Pareto"); the same sessions without pauses ("NPS"). Networks 1 and 2 have the lower sizes and
rates of the tables, networks 3 and 4 the higher ones. All data go in one direction, as in the model
files. `paper_repro/weigle_feng_2001/search.nc` has the results of a small part of the grid.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from paper_repro.weigle_feng_2001.search import plan
from vegasfluid.plot import sweep_panels
from vegasfluid.sweep import Progress, Sweep, open_sweep, run

__all__ = ["search"]

LARGEST_ALPHA = 400
"""Largest alpha, packets."""
GAPS = (2, 5, 20)
"""Values of beta - alpha, packets."""
INTERVAL = 60.0
"""Time between two lines of progress, s."""


def alphas(count: int) -> np.ndarray:
    """Whole numbers from 1 to LARGEST_ALPHA, spaced about logarithmically."""
    if count >= LARGEST_ALPHA:
        return np.arange(1.0, LARGEST_ALPHA + 1)
    grids = (np.unique(np.round(np.geomspace(1, LARGEST_ALPHA, n))) for n in range(count, 999))
    return next(grid for grid in grids if grid.size == count)


def search(engine: str, *, quick: bool) -> Sweep:
    """The search as a sweep of the packet simulator or the fluid model."""
    many = 40 if engine == "packets" else 400
    return plan(
        engine,
        alphas(4 if quick else many),
        GAPS[:1] if quick else GAPS,
        range(1, 3 if quick else 11),
        until=20.0 if quick else None,
        command=f"examples/weigle_feng_search.py --engine {engine}" + " --quick" * quick,
    )


def progress_printer() -> Callable[[Progress], None]:
    """Function that prints the progress at most once per minute."""
    printed = [-INTERVAL]

    def report(progress: Progress) -> None:
        if time.monotonic() - printed[0] >= INTERVAL:
            printed[0] = time.monotonic()
            print(f"{progress.done} of {progress.points} points", file=sys.stderr, flush=True)

    return report


def main() -> None:
    """Run the search, plot the ratios and print the fairest alphas."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="run a small part of the search")
    parser.add_argument("--engine", choices=("packets", "fluid"), default="packets")
    parser.add_argument("--out", type=Path, default=Path("."), help="folder for the results")
    parser.add_argument("--workers", type=int, help="number of processes for packet runs")
    options = parser.parse_args()
    if options.engine == "fluid":
        from vegasfluid.sweep.devices import use_every_core

        use_every_core()
    sweep = search(options.engine, quick=options.quick)
    store = options.out / f"weigle_feng_{options.engine}{'_quick' * options.quick}.zarr"
    begin = time.perf_counter()
    status = run(sweep, store, workers=options.workers, report=progress_printer())
    seconds = time.perf_counter() - begin
    print(f"{status.points} points, {sweep.runs} runs, {status.failed} failed: {seconds:.1f} s")
    data = open_sweep(store)
    over = ("gap", "alpha") if data.sizes["gap"] > 1 else ("alpha",)
    sweep_panels(data, "ratio", over).savefig(store.with_suffix(".png"), dpi=120)
    ratio = data["ratio"]
    unfairness = abs(ratio.copy(data=np.log(ratio))).mean("seed", skipna=False).isel(gap=0).load()
    best = unfairness.fillna(np.inf).argmin("alpha")
    print(data["alpha"].isel(alpha=best).to_pandas().to_string())


if __name__ == "__main__":
    main()
