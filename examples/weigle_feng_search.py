"""Weigle and Feng's search for alpha and beta, with a modern machine's patience.

    python examples/weigle_feng_search.py [--quick] [--engine packets|fluid] [--out FOLDER]

Their search (LA-UR-01-3420, section 3) is network x traffic x alpha x beta. Here it has their four
networks, their three kinds of traffic, 40 alphas and 3 gaps between alpha and beta, each run with
10 seeds on the packet simulator (14 400 runs), or with 10 times as many alphas on the fluid model
(14 400 points). Both are stopped by Ctrl-C and taken up by the same command, and are drawn when
they are done: the goodput of a Vegas flow over that of a Reno flow, a panel for each network and
kind of traffic. `--quick` has 4 alphas, one gap and 2 seeds, and a tenth of the simulated time.

Traffic (their tables 2 and 3): an infinite file; Pareto on and off times inside Pareto sessions
("Pareto"); the same sessions all at once ("NPS"). Sizes and rates are the lower ones of the table
on networks 1 and 2 and the higher ones on 3 and 4. Data go one way here, as in the model files.
A small part of the grid, computed, is `paper_repro/weigle_feng_2001/search.nc`.
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
GAPS = (2, 5, 20)
EVERY = 60.0
"""Seconds between two lines."""


def alphas(count: int) -> np.ndarray:
    """Whole numbers from 1 to the largest, about evenly spaced by ratio."""
    if count >= LARGEST_ALPHA:
        return np.arange(1.0, LARGEST_ALPHA + 1)
    tried = (np.unique(np.round(np.geomspace(1, LARGEST_ALPHA, n))) for n in range(count, 999))
    return next(found for found in tried if found.size == count)


def search(engine: str, *, quick: bool) -> Sweep:
    """The search as a sweep."""
    many = 40 if engine == "packets" else 400
    return plan(
        engine,
        alphas(4 if quick else many),
        GAPS[:1] if quick else GAPS,
        range(1, 3 if quick else 11),
        until=20.0 if quick else None,
        command=f"examples/weigle_feng_search.py --engine {engine}" + " --quick" * quick,
    )


def teller() -> Callable[[Progress], None]:
    """Says how far it is, once a minute."""
    told = [-EVERY]

    def tell(progress: Progress) -> None:
        if time.monotonic() - told[0] >= EVERY:
            told[0] = time.monotonic()
            print(f"{progress.done} of {progress.points} points", file=sys.stderr, flush=True)

    return tell


def main() -> None:
    """Search, and draw what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a small part of it")
    parser.add_argument("--engine", choices=("packets", "fluid"), default="packets")
    parser.add_argument("--out", type=Path, default=Path("."), help="the folder of the results")
    parser.add_argument("--workers", type=int, help="processes that simulate packets")
    options = parser.parse_args()
    if options.engine == "fluid":
        from vegasfluid.sweep.devices import use_every_core

        use_every_core()
    sweep = search(options.engine, quick=options.quick)
    store = options.out / f"weigle_feng_{options.engine}{'_quick' * options.quick}.zarr"
    begin = time.perf_counter()
    reached = run(sweep, store, workers=options.workers, report=teller())
    seconds = time.perf_counter() - begin
    print(f"{reached.points} points, {sweep.runs} runs, {reached.failed} failed: {seconds:.1f} s")
    data = open_sweep(store)
    over = ("gap", "alpha") if data.sizes["gap"] > 1 else ("alpha",)
    sweep_panels(data, "ratio", over).savefig(store.with_suffix(".png"), dpi=120)
    ratio = data["ratio"]
    fair = abs(ratio.copy(data=np.log(ratio))).mean("seed", skipna=False).isel(gap=0).load()
    best = fair.fillna(np.inf).argmin("alpha")
    print(data["alpha"].isel(alpha=best).to_pandas().to_string())


if __name__ == "__main__":
    main()
