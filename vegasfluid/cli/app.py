"""The command-line application; options are in `options`, and a command's code loads on use."""

from __future__ import annotations

import sys
import warnings
from typing import Annotated, Any

import typer

from vegasfluid.cli import options as opts
from vegasfluid.cli import terminal
from vegasfluid.cli.command_classes import Command, Group
from vegasfluid.cli.examples import epilog
from vegasfluid.cli.exit_status import BAD_INPUT, DONE, OUT_OF_REACH, exit_status
from vegasfluid.errors import Unsupported

__all__ = ["main"]

SETTINGS = {"help_option_names": ["--help", "-h"]}
"""Click settings of all commands: -h is short for --help."""
FRONT_ONLY = "a front has many settings, so none of them is tuned further or written"
"""Reason why --pareto has no --tune-gamma and no --out."""

app = typer.Typer(
    name="vegasfluid",
    cls=Group,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings=SETTINGS,
)
"""The command line, whose subcommands are the functions below."""
MAIN, MORE, REFERENCE = "Main commands", "More commands", "Reference and setup"
"""Groups of commands on the help page."""


def command(name: str, panel: str) -> Any:
    """Decorator that registers a function as a subcommand.

    `name` is typed on the command line; `panel` is the group on the help page, which ends with
    examples.
    """
    return app.command(name, cls=Command, rich_help_panel=panel, epilog=epilog(name))


@app.callback(invoke_without_command=True)
def root(ctx: typer.Context, version: opts.Version = False) -> None:
    """Find fair TCP Vegas parameters with a fluid model and confirm them by packet simulation."""
    if version:
        from vegasfluid.version import package_version

        typer.echo(f"vegasfluid {package_version()}")
        raise typer.Exit(DONE)
    if ctx.invoked_subcommand is None:
        from vegasfluid.cli.greeting import greet

        greet()


@command("check", MAIN)
def check(model: opts.ModelName, as_json: opts.AsJson = False) -> None:
    """Validate and explain a model file without running it."""
    from vegasfluid.cli.check import run

    raise typer.Exit(DONE if run(model, as_json=as_json) else BAD_INPUT)


@command("recommend", MAIN)
def recommend(
    context: typer.Context,
    model: opts.ModelName,
    tune: opts.Tune = None,
    tune_queue: opts.TuneQueue = False,
    tune_gamma: opts.TuneGamma = False,
    ratio: opts.Ratio = 1.0,
    goal: opts.Goal = "ratio",
    max_delay_ms: opts.MaxDelay = None,
    max_drop_share: opts.MaxDropShare = None,
    min_utilisation: opts.MinUtilisation = None,
    min_gain_margin: opts.MinGainMargin = None,
    explain: opts.Explain = False,
    out: Annotated[
        opts.Target, opts.written("Write the model with the recommended parameters (TOML).")
    ] = None,
    pareto: opts.Pareto = False,
    plot: Annotated[opts.Target, opts.picture("the result, or the Pareto front")] = None,
    force: opts.Force = False,
    runs: opts.Runs = 10,
    until: opts.RunUntil = None,
    warmup: opts.RunWarmup = None,
    seed: opts.Seed = 1,
    max_memory: opts.MaxMemory = None,
    as_json: opts.AsJson = False,
) -> None:
    """Find the Vegas parameters that give a Vegas flow its fair share."""
    from vegasfluid.cli.request import request_from_options

    request = request_from_options(
        goal, ratio, max_delay_ms, max_drop_share, min_utilisation, min_gain_margin
    ) | {"tune": tune or [], "tune_queue": tune_queue, "runs": runs, "seed": seed}
    request |= {"until": until, "warmup": warmup, "force": force}
    if pareto:
        for name, given in {"--tune-gamma": tune_gamma, "--out": out is not None}.items():
            if given:
                raise Unsupported("recommend", f"{name} with --pareto", FRONT_ONLY)
        from vegasfluid.cli.pareto import run as run_front

        run_front(model, plot=plot, as_json=as_json, **request)
        raise typer.Exit(DONE)
    from vegasfluid.cli.next_steps import repeated
    from vegasfluid.cli.recommend import run

    reached = run(
        model,
        explain_result=explain,
        tune_gamma=tune_gamma,
        out=out,
        plot=plot,
        as_json=as_json,
        command=repeated(context, leave_out=("out", "plot", "force", "explain", "as_json")),
        **request,
    )
    raise typer.Exit(DONE if reached else OUT_OF_REACH)


@command("simulate", MAIN)
def simulate(
    model: opts.ModelName,
    engine: opts.Engine = "fluid",
    against: opts.Against = None,
    loss_process: opts.LossProcess = None,
    base_rtt_ms: opts.BaseRtts = None,
    tolerance: opts.Tolerance = None,
    out: Annotated[opts.Target, opts.written("Write the trajectory (netCDF).")] = None,
    plot: Annotated[opts.Target, opts.picture("the trajectory")] = None,
    force: opts.Force = False,
    until: opts.RunUntil = None,
    warmup: opts.RunWarmup = None,
    seed: opts.Seed = 1,
    max_memory: opts.MaxMemory = None,
    as_json: opts.AsJson = False,
) -> None:
    """Simulate a model once."""
    from vegasfluid.cli.assumptions import assumptions_from_options
    from vegasfluid.cli.simulate import run

    engines = (engine,) if against is None else (engine, against)
    assumptions = assumptions_from_options(engines, loss_process, base_rtt_ms or [], tolerance)
    run(
        model,
        engines=engines,
        assumptions=assumptions,
        out=out,
        plot=plot,
        until=until,
        warmup=warmup,
        seed=seed,
        as_json=as_json,
        force=force,
    )


@command("explore", MAIN)
def explore(
    model: opts.ModelName = "weigle_feng_network2",
    port: opts.Port = 0,
    no_browser: opts.NoBrowser = False,
    max_memory: opts.MaxMemory = None,
    as_json: opts.AsJson = False,
) -> None:
    """Explore a model on a local page in the browser, until Ctrl-C."""
    from vegasfluid.cli.explore import run

    run(model, port=port, browser=not no_browser, as_json=as_json)


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
) -> None:
    """Export a model as settings for Linux or FreeBSD, or as a test for Linux, ns-2 or ns-3."""
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
    over: opts.Over,
    engine: opts.Engine = "fluid",
    seeds: opts.Seeds = 1,
    until: opts.Until = None,
    warmup: opts.Warmup = None,
    tune: opts.TuneOne = None,
    chunk: opts.Chunk = None,
    fine: opts.Fine = False,
    workers: opts.Workers = None,
    scheduler: opts.Scheduler = None,
    multi_host: opts.MultiHost = False,
    dry_run: opts.DryRun = False,
    yes: opts.Yes = False,
    out: Annotated[opts.Target, opts.written("Zarr store for the results.")] = None,
    to: opts.ToFormat = None,
    plot: Annotated[opts.Target, opts.picture("a map of --metric")] = None,
    metric: opts.Metric = "ratio",
    plot_over: opts.PlotOver = None,
    force: opts.Force = False,
    seed: opts.Seed = 1,
    max_memory: opts.MaxMemory = None,
    as_json: opts.AsJson = False,
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
    certificate: opts.Certificate = None,
    force: opts.Force = False,
    as_json: opts.AsJson = False,
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
    force: opts.Force = False,
    as_json: opts.AsJson = False,
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


@command("models", REFERENCE)
def models(
    name: opts.BundledName = None, out: opts.ModelCopy = None, as_json: opts.AsJson = False
) -> None:
    """List the built-in models, show one, or copy one as a start for your own."""
    from vegasfluid.cli.models import run

    run(name, out=out, as_json=as_json)


@command("init", REFERENCE)
def init(
    out: opts.NewModel = None, as_json: opts.AsJson = False, force: opts.Force = False
) -> None:
    """Ask six questions about your network and write a model file."""
    from vegasfluid.cli.init import run

    run(out, as_json=as_json, force=force)


@command("notebooks", REFERENCE)
def notebooks(
    out: Annotated[opts.Target, opts.written("Copy the notebooks into a folder.")] = None,
    as_json: opts.AsJson = False,
    force: opts.Force = False,
) -> None:
    """List the Jupyter notebooks, or copy them into a folder to run and change them."""
    from vegasfluid.cli.notebooks import run

    run(out, as_json=as_json, force=force)


@command("laws", REFERENCE)
def laws(as_json: opts.AsJson = False) -> None:
    """List congestion controls, queue disciplines and traffic sources with their parameters."""
    from vegasfluid.cli.laws import run

    run(as_json=as_json)


@command("doctor", REFERENCE)
def doctor(clear_caches: opts.ClearCaches = False, as_json: opts.AsJson = False) -> None:
    """Check the installation: versions, devices, caches, and a short run of each engine."""
    from vegasfluid.cli.doctor import run

    raise typer.Exit(DONE if run(clear=clear_caches, as_json=as_json) else OUT_OF_REACH)


def set_help_style(rich: bool) -> None:
    """Show help in coloured boxes if `rich`, or as plain unbroken lines for a pipe."""
    app.rich_markup_mode = "rich" if rich else None
    width = None if rich else terminal.pipe_width()
    app.info.context_settings = SETTINGS | {"terminal_width": width}
    for info in app.registered_commands:
        info.epilog = epilog(str(info.name), plain=not rich)


def run_app(arguments: list[str] | None) -> int:
    """Run the command line `arguments` (None: those of the process); returns the exit status."""
    terminal.escape_unknown_characters()
    set_help_style(terminal.supports_rich_output())
    return exit_status(app, sys.argv[1:] if arguments is None else arguments, "vegasfluid")


def main(arguments: list[str] | None = None) -> None:
    """Run the command line `arguments` (None: those of the process), exit with its status."""
    warnings.showwarning = terminal.show_warning
    sys.exit(run_app(arguments))
