"""`vegasfluid simulate`: one run, printed, saved and plotted."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import xarray as xr

from vegasfluid import modelfile
from vegasfluid.cli.assumptions import Assumptions
from vegasfluid.cli.next_steps import show_written
from vegasfluid.cli.output import COMPILING, console, print_json, progress, table
from vegasfluid.cli.targets import PICTURES, check_target, save_picture
from vegasfluid.disagreement import compare, run_means
from vegasfluid.errors import printable
from vegasfluid.metrics import summarise
from vegasfluid.model import Model
from vegasfluid.output_files import write_bytes
from vegasfluid.trajectory import ENGINES

__all__ = ["run"]


def run(
    name: str,
    *,
    engines: tuple[str, ...],
    assumptions: Assumptions,
    out: Path | None,
    plot: Path | None,
    until: float | None,
    warmup: float | None,
    seed: int,
    as_json: bool,
    force: bool = False,
) -> None:
    """Run model `name` once with one or two engines; print, save and plot the results.

    Args:
        engines: one or two of `fluid`, `density` and `packets`; the first comes first.
        assumptions: what the fluid models assume.
        out: netCDF file for the first trajectory; None: none.
        plot: picture of the trajectories; None: none.
        until: simulated time, s; None: that of the model.
        warmup: warm-up, s; None: that of the model.
        seed: seed of a packet run.
        as_json: whether to print one JSON document instead of text.
        force: whether files that vegasfluid has not written are replaced.
        name: path of a model file, or name of a built-in model.
    """
    check_target("simulate", "--out", out, (".nc",), model=name, force=force)
    check_target("simulate", "--plot", plot, PICTURES, model=name, force=force)
    model = modelfile.read_model(name).with_times(until, warmup)
    runs, documents = [], []
    for number, engine in enumerate(engines):
        trajectory, document = simulate_timed(model, name, engine, assumptions, seed)
        if number == 0 and out is not None:
            write_bytes(out, trajectory.to_netcdf(engine="h5netcdf"))
        runs.append(trajectory)
        documents.append(document)
    if plot is not None:
        draw(runs, plot)
    differences = engine_differences(model, documents)
    if as_json:
        documents[0] |= {"disagreements": differences} if len(documents) > 1 else {}
        print_json(documents[0] | dict(zip(("against",), documents[1:], strict=False)))
        return
    console().print(model.title or "model", style="bold")
    for document in documents:
        show(model, document)
    for sentence in differences:
        console().print(f"Engines compared: {sentence}")
    show_written(out, plot)


def engine_differences(model: Model, documents: list[dict[str, Any]]) -> list[str]:
    """Sentences on how a fluid model and the packet simulator disagree; empty unless both ran.

    `documents` are the JSON results of the runs.
    """
    by_packets = [run for run in documents if run["engine"] == "packets"]
    by_fluid = [run for run in documents if run["engine"] != "packets"]
    if not (by_packets and by_fluid):
        return []
    return compare(model.network, run_means(by_fluid[0]), run_means(by_packets[0]))


def simulate_timed(
    model: Model, name: str, engine: str, assumptions: Assumptions, seed: int
) -> tuple[xr.Dataset, dict[str, Any]]:
    """Trajectory of a model by one engine, and its JSON document.

    The document has `engine`, `seed` (None except for packets), means after the warm-up by class
    and link, what was `assumed`, `warnings` and the wall time in `seconds`.
    """
    begin = time.perf_counter()
    with progress(f"simulate ({engine})", COMPILING):
        trajectory = simulate_model(model, engine, assumptions, seed)
    seconds = time.perf_counter() - begin
    trajectory.attrs |= {"model": printable(name), "title": printable(model.title, keep="\n")}
    warnings = trajectory.attrs.get("warnings", "").splitlines()
    return trajectory, {
        "engine": engine,
        "seed": seed if engine == "packets" else None,
        **summarise(trajectory, model.network),
        "assumed": trajectory.attrs.get("assumed", "").splitlines(),
        "warnings": [*model.network.warnings(), *warnings],
        "seconds": seconds,
    }


def simulate_model(model: Model, engine: str, assumptions: Assumptions, seed: int) -> xr.Dataset:
    """Trajectory of a model by `fluid`, `density` or `packets`, over its duration."""
    if engine == "packets":
        from vegasfluid.packet import simulate_packets

        return simulate_packets(model.network, model.duration, warmup=model.warmup, seed=seed)
    from vegasfluid.caches import keep_compiled_equations
    from vegasfluid.fluid import TOLERANCE, FluidOptions, simulate_density, simulate_fluid

    keep_compiled_equations()
    simulate = simulate_density if engine == "density" else simulate_fluid
    options = FluidOptions(loss_process=assumptions.loss_process)
    return simulate(
        model.network,
        model.duration,
        warmup=model.warmup,
        options=options,
        base_rtt=assumptions.base_rtt,
        tolerance=TOLERANCE if assumptions.tolerance is None else assumptions.tolerance,
    )


def draw(runs: list[xr.Dataset], target: Path) -> None:
    """Save a picture of one trajectory, or of two on the same axes, to the file `target`."""
    from vegasfluid import plot

    save_picture(plot.compare(*runs), target)


def show(model: Model, document: dict[str, Any]) -> None:
    """Print means after the warm-up from a run's JSON document as tables.

    Goodput in Mbit/s per flow, cwnd and queue in packets, RTT and delay in ms.
    """
    out = console()
    engine = ENGINES[document["engine"]].capitalize()
    out.print(f"{engine}, averages after {model.warmup:g} s of warm-up\n")
    classes = table(
        "class", "flows", "Mbit/s per flow", "cwnd", "RTT, ms", "retransmitted", "timeouts"
    )
    for name, flows in document["classes"].items():
        classes.add_row(
            name,
            str(flows["count"]),
            f"{flows['goodput_mbps']:.4g}",
            f"{flows['cwnd_packets']:.1f}",
            f"{flows['rtt_s'] * 1e3:.1f}",
            f"{flows['retransmit_share']:.2e}",
            f"{flows['timeouts']:.0f}",
        )
    links = table("link", "utilisation", "queue, packets", "queueing delay, ms", "loss ratio")
    for name, link in document["links"].items():
        links.add_row(
            name,
            f"{link['utilisation']:.1%}",
            f"{link['queue_packets']:.1f}",
            f"{link['queueing_delay_s'] * 1e3:.1f}",
            f"{link['drop_share']:.2e}",
        )
    out.print(classes)
    out.print()
    out.print(links)
    out.print(
        f"\nJain index {document['jain_index']:.4f}. Computed in {document['seconds']:.1f} s."
    )
    for assumption in document["assumed"]:
        out.print(f"Assumed: {assumption}")
    for warning in document["warnings"]:
        out.print(f"Warning: {warning}")
    out.print()
