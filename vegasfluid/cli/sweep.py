"""`vegasfluid sweep`: run a grid of models, resumable."""

from __future__ import annotations

import math
import shlex
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vegasfluid import modelfile
from vegasfluid.cli.next_steps import show_written
from vegasfluid.cli.output import console, plain, print_json, progress
from vegasfluid.cli.sweep_progress import show_progress
from vegasfluid.cli.targets import PICTURES, check_target, save_picture
from vegasfluid.errors import InvalidInput, SolveFailed, Unsupported, Words
from vegasfluid.sweep import Progress, Sweep, open_sweep
from vegasfluid.sweep import run as run_sweep
from vegasfluid.sweep.axis_spec import numbers_from, size_from
from vegasfluid.sweep.cost_estimate import Estimate, estimate
from vegasfluid.sweep.file_formats import ENDINGS, save

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["Outputs", "run"]

MAX_POINTS = 10_000_000
"""Largest grid without --yes: more points are usually a typing error."""
BYTES = ("B", "kB", "MB", "GB", "TB")
"""Units of memory and disk, each 1000 times the one before."""


@dataclass(frozen=True)
class Outputs:
    """Output files of a sweep, and the processes that work on it.

    Args:
        out: Zarr store of the results; None only with `--dry-run`.
        to: netCDF or CSV file of the results; None: none.
        plot: file of a picture; None: none.
        metric: name of the metric in the picture.
        plot_over: names of up to two dimensions along the axes of the picture; empty: chosen.
        workers: number of processes of a local Dask cluster; None: one for each processor.
        scheduler: address of another Dask scheduler; None: a local one.
        multi_host: whether this is one of the processes of a JAX job.
        force: whether files that vegasfluid has not written are replaced; never a store.
    """

    out: Path | None
    to: Path | None
    plot: Path | None
    metric: str
    plot_over: tuple[str, ...]
    workers: int | None
    scheduler: str | None
    multi_host: bool
    force: bool = False


def run(
    name: str,
    over: Sequence[str],
    *,
    outputs: Outputs,
    dry_run: bool,
    yes: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Run model `name` over a grid of parameter values, or estimate the cost.

    Args:
        over: parameters and their values, as NAME=SPEC.
        outputs: output files, and processes that work on the sweep.
        dry_run: whether to print an estimate only.
        yes: whether more than 10 million points are allowed.
        as_json: whether to print one JSON document instead of text.
        options: further arguments of `Sweep`: engine, seeds, until (s) and others.
        name: path of a model file, or name of a built-in model.

    Raises:
        InvalidInput: for invalid values, too large a grid, or an output that may not be written.
        SolveFailed: if every point failed; the outputs are written before.
    """
    check_outputs(name, outputs, dry_run, options["engine"])
    model = modelfile.read_model(name)
    points = math.prod(map(size_from, over))
    if points > MAX_POINTS and not yes:
        allowed = f"a grid of at most {MAX_POINTS} points without --yes"
        raise InvalidInput("sweep", "--over", allowed, Words(f"{points} points"))
    command = command_of(name, over, options)
    axes = [numbers_from(text) for text in over]
    sweep = Sweep(model, axes, name=name, command=command, **options)
    if sweep.engine != "packets":
        prepare_devices(outputs.multi_host)
    if dry_run:
        with progress("sweep: timing a few points"):
            cost = estimate(sweep, outputs.workers)
        show_estimate(cost, as_json)
        return
    assert outputs.out is not None
    begin = time.perf_counter()
    with show_progress(outputs.out) as report:
        reached = run_sweep(
            sweep,
            outputs.out,
            workers=outputs.workers,
            scheduler=outputs.scheduler,
            multi_host=outputs.multi_host,
            report=report,
        )
    write_outputs(outputs)
    show(outputs.out, reached, time.perf_counter() - begin, as_json)
    if not as_json:
        show_written(outputs.to, outputs.plot)
    if reached.failed == reached.points:
        raise all_failed(outputs.out)


def check_outputs(model: str, outputs: Outputs, dry_run: bool, engine: str) -> None:
    """Raise an error if an output file cannot be written, or an option does not apply.

    `model` is the one on the command line, whose file is not replaced. Without `dry_run` a store is
    required.

    Raises:
        InvalidInput: for a store that is missing, or an output that may not be written.
        Unsupported: for Dask options with a fluid engine, or `multi_host` with packets.
    """
    if outputs.out is None and not dry_run:
        raise InvalidInput(
            "sweep",
            "--out",
            "a new Zarr store, such as map.zarr, except with --dry-run",
            Words("missing"),
        )
    if outputs.out is not None and not outputs.out.resolve().parent.is_dir():
        raise InvalidInput("sweep", "--out", "in an existing folder", str(outputs.out))
    check_target("sweep", "--to", outputs.to, ENDINGS, model=model, force=outputs.force)
    check_target("sweep", "--plot", outputs.plot, PICTURES, model=model, force=outputs.force)
    if engine != "packets":
        for option in ("workers", "scheduler"):
            if getattr(outputs, option) is not None:
                raise Unsupported("sweep", f"--{option} with {engine}", "only packet runs use Dask")
    elif outputs.multi_host:
        raise Unsupported(
            "sweep", "--multi-host with packets", "use --scheduler to run packets on several hosts"
        )


def command_of(name: str, over: Sequence[str], options: dict[str, Any]) -> str:
    """Command line that computes the same sweep, without output files and workers.

    Args:
        name: the model.
        over: parameters and their values, as NAME=SPEC.
        options: engine, seeds, times and other arguments of `Sweep`.
    """
    seeds = options["seeds"]
    words = ["vegasfluid", "sweep", name]
    words += [word for text in over for word in ("--over", text)]
    words += ["--engine", options["engine"]]
    if options["engine"] == "packets":
        words += ["--seeds", str(len(seeds)), "--seed", str(seeds[0])]
    for name in ("until", "warmup", "tune", "chunk"):
        if options[name] is not None:
            words += [f"--{name}", str(options[name])]
    words += ["--fine"] * options["fine"]
    return shlex.join(words)


def prepare_devices(multi_host: bool) -> None:
    """Make every core a JAX device and keep compiled equations on disk.

    With `multi_host` also joins the processes of a JAX job.
    """
    import jax

    from vegasfluid.caches import keep_compiled_equations
    from vegasfluid.sweep.devices import use_every_core

    keep_compiled_equations()
    use_every_core()
    if multi_host:
        jax.distributed.initialize()


def write_outputs(outputs: Outputs) -> None:
    """Write the results of a finished sweep in other formats and as a picture, if asked for."""
    assert outputs.out is not None
    if outputs.to is not None:
        save(open_sweep(outputs.out), outputs.to)
    if outputs.plot is not None:
        from vegasfluid.plot import sweep_panels

        figure = sweep_panels(open_sweep(outputs.out), outputs.metric, outputs.plot_over)
        save_picture(figure, outputs.plot)


def show(out: Path, status: Progress, seconds: float, as_json: bool) -> None:
    """Print how many points of the sweep in `out` succeeded and failed, and the time (s).

    As text, the range of the ratios follows. `done` in JSON leaves failed points out.
    """
    done = status.done - status.failed
    if as_json:
        summary = {"out": str(out), "points": status.points, "done": done}
        print_json(summary | {"failed": status.failed, "seconds": seconds})
        return
    line = f"{out}: {done} of {status.points} points"
    if status.failed:
        line += f"; {status.failed} failed (the variable `reason` states why)"
    console().print(f"{line}; computed in {seconds:.1f} s.", soft_wrap=True)
    if found := ratios(open_sweep(out)):
        console().print(found, soft_wrap=True)


def ratios(data: xr.Dataset) -> str:
    """Sentence on the ratios in a sweep, averaged over seeds: their range, and that nearest to 1.

    Empty where no point has a ratio.
    """
    with np.errstate(all="ignore"):
        ratio = data["ratio"].load().mean("seed")
    known = ratio.values[ratio.values > 0]
    if not known.size:
        return ""
    distance = np.abs(np.log(np.where(ratio.values > 0, ratio.values, np.nan)))
    nearest = ratio[np.unravel_index(np.nanargmin(distance), ratio.shape)]
    where = ", ".join(f"{dim} = {plain(nearest[dim].item())}" for dim in ratio.dims)
    between = f"{known.min():.4g} to {known.max():.4g}"
    return f"Ratios {between}; nearest to 1: {nearest.item():.4g} at {where}."


def all_failed(out: Path) -> SolveFailed:
    """The error that every point of the sweep in `out` failed, with the reason of the first."""
    reason = str(open_sweep(out)["reason"].values.flat[0])
    return SolveFailed(f"sweep: every point failed; the error of the first: {reason}")


def show_estimate(cost: Estimate, as_json: bool) -> None:
    """Print a sweep's estimated points, runs, time, memory and disk, as text or JSON."""
    if as_json:
        print_json(vars(cost))
        return
    out = console()
    out.print(f"points   {cost.points}")
    out.print(f"runs     {cost.runs}")
    out.print(f"time     about {duration(cost.seconds)} with {cost.workers} workers")
    out.print(f"memory   about {size(cost.memory_bytes)}")
    out.print(f"disk     about {size(cost.disk_bytes)} in {cost.chunks} chunks")


def duration(seconds: float) -> str:
    """A time in s as text in days, hours or minutes if it is at least two of them, else seconds."""
    for unit, length in (("days", 86400.0), ("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= 2 * length:
            return f"{seconds / length:.3g} {unit}"
    return f"{seconds:.3g} seconds"


def size(count: float) -> str:
    """A number of bytes as text with three digits, in B, kB (1000 bytes), MB, GB or TB."""
    power = min(int(math.log(max(count, 1.0), 1000)), len(BYTES) - 1)
    return f"{count / 1000**power:.3g} {BYTES[power]}"
