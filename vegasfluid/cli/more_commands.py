"""Commands beside the main ones; the code of each loads on use."""

from __future__ import annotations

from typing import Annotated

import typer

from vegasfluid.cli import options as opts
from vegasfluid.cli import sweep_options as grid
from vegasfluid.cli.application import MORE, command
from vegasfluid.cli.exit_status import BAD_INPUT, DONE, OUT_OF_REACH

__all__ = ["analyse", "certify", "crosscheck", "export", "plot", "sweep"]


@command("export", MORE)
def export(
    model: opts.ModelName,
    system: opts.System,
    out: Annotated[
        opts.Target, opts.written("Write the files to a folder, or the first one to this file.")
    ] = None,
    force: opts.Force = False,
    seed: opts.Seed = 1,
    as_json: opts.AsJson = False,
    quiet: opts.Quiet = False,
) -> None:
    """Export a model as settings of hosts and queues, or as a test for Linux, ns-2 or ns-3."""
    from vegasfluid.cli.export import run

    run(model, system=system, out=out, seed=seed, as_json=as_json, force=force)


@command("crosscheck", MORE)
def crosscheck(
    model: opts.ModelName,
    against: opts.With = None,
    kernel: opts.Kernel = None,
    runs: opts.ReferenceRuns = 3,
    until: opts.RunUntil = None,
    warmup: opts.RunWarmup = None,
    seed: opts.Seed = 1,
    max_memory: opts.MaxMemory = None,
    as_json: opts.AsJson = False,
    quiet: opts.Quiet = False,
) -> None:
    """Compare a model with independent simulators or a real Linux kernel."""
    from vegasfluid.cli.crosscheck import run

    agrees = run(
        model,
        against=against or (),
        kernel=kernel,
        runs=runs,
        until=until,
        warmup=warmup,
        seed=seed,
        as_json=as_json,
    )
    raise typer.Exit(DONE if agrees else OUT_OF_REACH)


@command("sweep", MORE)
def sweep(
    model: opts.ModelName,
    over: grid.Over,
    engine: opts.Engine = "fluid",
    seeds: grid.Seeds = 1,
    until: grid.Until = None,
    warmup: grid.Warmup = None,
    tune: opts.TuneOne = None,
    chunk: grid.Chunk = None,
    fine: grid.Fine = False,
    workers: grid.Processes = None,
    scheduler: grid.Scheduler = None,
    multi_host: grid.MultiHost = False,
    dry_run: grid.DryRun = False,
    yes: grid.Yes = False,
    out: Annotated[opts.Target, opts.written("Zarr store for the results.")] = None,
    to: grid.ToFormat = None,
    plot: Annotated[opts.Target, opts.picture("a map of --metric")] = None,
    metric: grid.Metric = "ratio",
    plot_over: opts.PlotOver = None,
    theme: opts.Theme = "light",
    force: opts.Force = False,
    seed: opts.Seed = 1,
    max_memory: opts.MaxMemory = None,
    as_json: opts.AsJson = False,
    quiet: opts.Quiet = False,
) -> None:
    """Run a model over a grid of parameter values. Repeat the same command to resume."""
    from vegasfluid.cli.sweep import Outputs, run

    run(
        model,
        over,
        outputs=Outputs(
            out, to, plot, metric, tuple(plot_over or ()), workers, scheduler, multi_host, force
        ),
        dry_run=dry_run,
        yes=yes,
        as_json=as_json,
        engine=engine,
        seeds=range(seed, seed + seeds),
        until=until,
        warmup=warmup,
        tune=tune,
        chunk=chunk,
        fine=fine,
    )


@command("analyse", MORE)
def analyse(
    model: opts.ModelName,
    tune: opts.TuneOne = None,
    ratio: opts.OptionalRatio = None,
    latex: opts.Latex = False,
    plot: Annotated[opts.Target, opts.picture("the stability charts")] = None,
    theme: opts.Theme = "light",
    certificate: opts.Certificate = None,
    force: opts.Force = False,
    as_json: opts.AsJson = False,
    quiet: opts.Quiet = False,
) -> None:
    """Compute equilibrium, fair alpha, stability and closed forms, and compare with packets."""
    from vegasfluid.cli.analyse import run

    reached = run(
        model,
        tune=tune,
        ratio=ratio,
        latex=latex,
        plot=plot,
        certificate=certificate,
        as_json=as_json,
        force=force,
    )
    raise typer.Exit(DONE if reached else OUT_OF_REACH)


@command("plot", MORE)
def plot(
    files: opts.SavedFiles,
    out: Annotated[
        opts.Target, opts.written("The picture (PNG, SVG, PDF). Default: FILE with .png.")
    ] = None,
    metric: opts.SweepMetric = None,
    plot_over: opts.PlotOver = None,
    theme: opts.Theme = "light",
    force: opts.Force = False,
    as_json: opts.AsJson = False,
    quiet: opts.Quiet = False,
) -> None:
    """Draw a saved run, several on the same axes, or a saved sweep."""
    from vegasfluid.cli.plot import run

    run(
        files,
        out=out,
        metric=metric,
        plot_over=tuple(plot_over or ()),
        as_json=as_json,
        force=force,
    )


@command("certify", MORE)
def certify(
    file: opts.Proof, model: opts.CertifiedModel = None, as_json: opts.AsJson = False
) -> None:
    """Verify a certificate of a fair alpha from scratch."""
    from vegasfluid.cli.certify import run

    raise typer.Exit(DONE if run(file, model=model, as_json=as_json) else BAD_INPUT)
