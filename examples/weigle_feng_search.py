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
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

import vegasfluid as vf
from vegasfluid.plot import sweep_panels
from vegasfluid.sweep import Choice, Numbers, Progress, Sweep, open_sweep, run
from vegasfluid.traffic import AbstractTraffic

__all__ = ["search"]

MODELS = Path(__file__).parents[1] / "models"
LARGEST_ALPHA = 400
GAPS = (2, 5, 20)
GAP_S, ON_S, OFF_S, SHAPE = 0.5, 0.03, 0.07, 1.5
EVERY = 60.0
"""Seconds between two lines."""

Offer = Callable[[float, float], AbstractTraffic]
"""What applications offer, of a session's size (MB) and a rate (packets/s)."""


def bulk(size: float, rate: float) -> AbstractTraffic:
    """An infinite file."""
    return vf.Bulk()


def pareto(size: float, rate: float) -> AbstractTraffic:
    """Pareto on and off times inside sessions."""
    return vf.OnOff(ON_S, OFF_S, rate, SHAPE, mean_gap=GAP_S, mean_size=size)


def nps(size: float, rate: float) -> AbstractTraffic:
    """Sessions whose packets are handed to TCP at once."""
    return vf.Sessions(mean_gap=GAP_S, mean_size=size, shape=SHAPE)


def offering(offer: Offer) -> Callable[[vf.Model], vf.Model]:
    """Changes a model so that all flows offer that."""

    def changed(model: vf.Model) -> vf.Model:
        large = model.network.link.capacity > vf.mbps(500)  # networks 3 and 4
        traffic = offer(100.0 if large else 10.0, vf.mbps(1000.0 if large else 100.0))
        flows = {name: replace(of, traffic=traffic) for name, of in model.network.flows.items()}
        return replace(model, network=replace(model.network, flows=flows))

    return changed


def alphas(count: int) -> np.ndarray:
    """Whole numbers from 1 to the largest, about evenly spaced by ratio."""
    if count >= LARGEST_ALPHA:
        return np.arange(1.0, LARGEST_ALPHA + 1)
    tried = (np.unique(np.round(np.geomspace(1, LARGEST_ALPHA, n))) for n in range(count, 999))
    return next(found for found in tried if found.size == count)


def search(engine: str, *, quick: bool) -> Sweep:
    """The search as a sweep."""
    models = {
        str(n): vf.modelfile.load(MODELS / f"weigle_feng_network{n}.toml") for n in range(1, 5)
    }
    many = 40 if engine == "packets" else 400
    axes = [
        Choice("network", models),
        Choice("traffic", {of.__name__: offering(of) for of in (bulk, pareto, nps)}),
        Numbers("vegas.alpha_packets", alphas(4 if quick else many), dim="alpha"),
        Numbers("vegas.dead_zone_packets", GAPS[:1] if quick else GAPS, dim="gap"),
    ]
    return Sweep(
        models["2"],
        axes,
        engine,
        seeds=range(1, 3 if quick else 11) if engine == "packets" else (1,),
        until=20.0 if quick else None,
        name="models/weigle_feng_network[1-4].toml",
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
    fair = abs(np.log(data["ratio"])).mean("seed", skipna=False).isel(gap=0).load()
    best = fair.fillna(np.inf).argmin("alpha")
    print(data["alpha"].isel(alpha=best).to_pandas().to_string())


if __name__ == "__main__":
    main()
