"""`vegasfluid simulate`: one run, shown, saved, drawn."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import xarray as xr

from vegasfluid import modelfile
from vegasfluid.cli.assumptions import Assumptions
from vegasfluid.cli.output import PICTURES, check_target, console, print_json, progress, table
from vegasfluid.disagreement import compare, run_means
from vegasfluid.metrics import summarise
from vegasfluid.model import Model
from vegasfluid.trajectory import ENGINES

__all__ = ["run"]


def run(
    name: str,
    *,
    engines: tuple[str, ...],
    taken: Assumptions,
    out: Path | None,
    plot: Path | None,
    seed: int,
    as_json: bool,
) -> None:
    """Run a model file once, by one simulator or by two; print, save and draw what came out."""
    check_target("simulate", "--out", out)
    check_target("simulate", "--plot", plot, PICTURES)
    model = modelfile.read_model(name)
    runs, documents = [], []
    for number, engine in enumerate(engines):
        trajectory, document = timed(model, name, engine, taken, seed)
        if number == 0 and out is not None:
            trajectory.to_netcdf(out, engine="h5netcdf")
        runs.append(trajectory)
        documents.append(document)
    if plot is not None:
        draw(runs, plot)
    told = engine_differences(model, documents)
    if as_json:
        documents[0] |= {"disagreements": told} if len(documents) > 1 else {}
        print_json(documents[0] | dict(zip(("against",), documents[1:], strict=False)))
        return
    console().print(model.title or "model", style="bold")
    for document in documents:
        show(model, document)
    for sentence in told:
        console().print(f"Fluid and packets: {sentence}")


def engine_differences(model: Model, documents: list[dict[str, Any]]) -> list[str]:
    """Where a fluid model and packets disagree, if both ran."""
    by_packets = [of for of in documents if of["engine"] == "packets"]
    by_fluid = [of for of in documents if of["engine"] != "packets"]
    if not (by_packets and by_fluid):
        return []
    return compare(model.network, run_means(by_fluid[0]), run_means(by_packets[0]))


def timed(
    model: Model, name: str, engine: str, taken: Assumptions, seed: int
) -> tuple[xr.Dataset, dict[str, Any]]:
    """The trajectory of a model by one of the simulators, and its document."""
    begin = time.perf_counter()
    with progress(f"simulate ({engine})"):
        trajectory = simulated(model, engine, taken, seed)
    seconds = time.perf_counter() - begin
    trajectory.attrs |= {"model": name, "title": model.title}
    doubts = trajectory.attrs.get("warnings", "").splitlines()
    return trajectory, {
        "engine": engine,
        "seed": seed if engine == "packets" else None,
        **summarise(trajectory, model.network),
        "assumed": trajectory.attrs.get("assumed", "").splitlines(),
        "warnings": [*model.network.warnings(), *doubts],
        "seconds": seconds,
    }


def simulated(model: Model, engine: str, taken: Assumptions, seed: int) -> xr.Dataset:
    """The trajectory of a model by one of the simulators."""
    if engine == "packets":
        from vegasfluid.packet import simulate_packets

        return simulate_packets(model.network, model.duration, warmup=model.warmup, seed=seed)
    from vegasfluid.caches import keep_compiled_equations
    from vegasfluid.fluid import TOLERANCE, FluidOptions, simulate_density, simulate_fluid

    keep_compiled_equations()
    simulate = simulate_density if engine == "density" else simulate_fluid
    options = FluidOptions(loss_process=taken.loss_process)
    return simulate(
        model.network,
        model.duration,
        warmup=model.warmup,
        options=options,
        base_rtt=taken.base_rtt,
        tolerance=TOLERANCE if taken.tolerance is None else taken.tolerance,
    )


def draw(runs: list[xr.Dataset], target: Path) -> None:
    """Save a picture of one trajectory, or of two over each other."""
    from vegasfluid import plot

    plot.compare(*runs).savefig(target, dpi=150)


def show(model: Model, document: dict[str, Any]) -> None:
    """The means after the warm-up, as tables."""
    out = console()
    engine = ENGINES[document["engine"]].capitalize()
    out.print(f"{engine}, means after {model.warmup:g} s of warm-up\n")
    classes = table("class", "flows", "Mbit/s a flow", "cwnd", "rtt, ms", "resent", "timeouts")
    for name, of in document["classes"].items():
        classes.add_row(
            name,
            str(of["count"]),
            f"{of['goodput_mbps']:.4g}",
            f"{of['cwnd_packets']:.1f}",
            f"{of['rtt_s'] * 1e3:.1f}",
            f"{of['retransmit_share']:.2e}",
            f"{of['timeouts']:.0f}",
        )
    links = table("link", "utilisation", "queue, packets", "delay, ms", "dropped")
    for name, of in document["links"].items():
        links.add_row(
            name,
            f"{of['utilisation']:.1%}",
            f"{of['queue_packets']:.1f}",
            f"{of['queueing_delay_s'] * 1e3:.1f}",
            f"{of['drop_share']:.2e}",
        )
    out.print(classes)
    out.print()
    out.print(links)
    out.print(f"\nJain index {document['jain_index']:.4f}; {document['seconds']:.1f} s.")
    for assumption in document["assumed"]:
        out.print(f"Assumed: {assumption}")
    for warning in document["warnings"]:
        out.print(f"Warning: {warning}")
    out.print()
