"""The commands; their options are in `options`, and what they do is imported when it is needed."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from vegasfluid.cli import options as of
from vegasfluid.cli.examples import epilog
from vegasfluid.cli.exit_status import BAD_INPUT, DONE, OUT_OF_REACH, exit_status
from vegasfluid.cli.terminal import fancy, width_in_a_pipe
from vegasfluid.errors import InvalidInput

__all__ = ["main"]

SETTINGS = {"help_option_names": ["--help", "-h"]}


class Shown:
    """How options are shown: flags without a type, and --help in the last group."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The options, as Typer and Click ask for them."""
        params = super().get_params(ctx)  # type: ignore[misc]
        for param in params:
            if getattr(param, "is_flag", False):
                param.metavar = ""
            if param.name == "help" and isinstance(self, TyperCommand):
                param.rich_help_panel = of.GENERAL
        return params


class Command(Shown, TyperCommand):
    """A command."""


class Group(Shown, TyperGroup):
    """All commands."""


app = typer.Typer(
    name="vegasfluid",
    cls=Group,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings=SETTINGS,
)
MAIN, MORE, AROUND = "Begin here", "Go further", "Look things up"


def command(name: str, panel: str) -> Any:
    """Make a function the command of a name, with its examples."""
    return app.command(name, cls=Command, rich_help_panel=panel, epilog=epilog(name))


@app.callback(invoke_without_command=True)
def front(ctx: typer.Context, version: of.Version = False) -> None:
    """Fair TCP Vegas: find alpha and beta on a fluid model, judge them packet by packet."""
    if version:
        from vegasfluid.version import package_version

        typer.echo(f"vegasfluid {package_version()}")
        raise typer.Exit(DONE)
    if ctx.invoked_subcommand is None:
        from vegasfluid.cli.greeting import greet

        greet()


@command("check", MAIN)
def check(model: of.ModelName, as_json: of.AsJson = False) -> None:
    """Read and explain a model file; run nothing."""
    from vegasfluid.cli.check import run

    raise typer.Exit(DONE if run(model, as_json=as_json) else BAD_INPUT)


@command("recommend", MAIN)
def recommend(
    model: of.ModelName,
    tune: of.Tune = None,
    tune_queue: of.TuneQueue = False,
    tune_gamma: of.TuneGamma = False,
    ratio: of.Ratio = 1.0,
    goal: of.Goal = "ratio",
    max_delay_ms: of.MaxDelay = None,
    max_drop_share: of.MaxDropShare = None,
    min_utilisation: of.MinUtilisation = None,
    min_gain_margin: of.MinGainMargin = None,
    explain: of.Explain = False,
    out: Annotated[of.Target, of.written("Write the model with these numbers (TOML).")] = None,
    pareto: of.Pareto = False,
    plot: Annotated[of.Target, of.picture("it; with --pareto")] = None,
    runs: of.Runs = 10,
    seed: of.Seed = 1,
    as_json: of.AsJson = False,
) -> None:
    """Find the Vegas parameters at which a Vegas flow gets its fair share."""
    from vegasfluid.cli.request import asked_for

    asked = asked_for(
        goal, ratio, max_delay_ms, max_drop_share, min_utilisation, min_gain_margin
    ) | {"tune": tune or [], "tune_queue": tune_queue, "runs": runs, "seed": seed}
    if pareto:
        for name, given in {"--tune-gamma": tune_gamma, "--out": out is not None}.items():
            if given:
                raise InvalidInput("recommend", name, "left out with --pareto", "given")
        from vegasfluid.cli.pareto import run as run_front

        run_front(model, plot=plot, as_json=as_json, **asked)
        raise typer.Exit(DONE)
    if plot is not None:
        raise InvalidInput("recommend", "--plot", "given with --pareto", "given alone")
    from vegasfluid.cli.recommend import run

    asked |= {"tune_gamma": tune_gamma}
    reached = run(model, explained=explain, out=out, as_json=as_json, **asked)
    raise typer.Exit(DONE if reached else OUT_OF_REACH)


@command("simulate", MAIN)
def simulate(
    model: of.ModelName,
    engine: of.Engine = "fluid",
    against: of.Against = None,
    loss_process: of.LossProcess = None,
    base_rtt_ms: of.BaseRtts = None,
    tolerance: of.Tolerance = None,
    out: Annotated[of.Target, of.written("Write the trajectory (netCDF).")] = None,
    plot: Annotated[of.Target, of.picture("the trajectory")] = None,
    seed: of.Seed = 1,
    as_json: of.AsJson = False,
) -> None:
    """Run a model once."""
    from vegasfluid.cli.assumptions import assumed
    from vegasfluid.cli.simulate import run

    engines = (engine,) if against is None else (engine, against)
    taken = assumed(engines, loss_process, base_rtt_ms or [], tolerance)
    run(model, engines=engines, taken=taken, out=out, plot=plot, seed=seed, as_json=as_json)


@command("export", MORE)
def export(
    model: of.ModelName,
    system: of.System,
    out: Annotated[
        of.Target, of.written("Write the files: a folder, or a file for the first one.")
    ] = None,
    seed: of.Seed = 1,
    as_json: of.AsJson = False,
) -> None:
    """Write a model for Linux, FreeBSD, ns-2 or ns-3: its settings, or a scenario that runs."""
    from vegasfluid.cli.export import run

    run(model, system=system, out=out, seed=seed, as_json=as_json)


@command("sweep", MORE)
def sweep(
    model: of.ModelName,
    over: of.Over,
    engine: of.Engine = "fluid",
    seeds: of.Seeds = 1,
    until: of.Until = None,
    warmup: of.Warmup = None,
    tune: of.TuneOne = None,
    chunk: of.Chunk = None,
    fine: of.Fine = False,
    workers: of.Workers = None,
    scheduler: of.Scheduler = None,
    multi_host: of.MultiHost = False,
    dry_run: of.DryRun = False,
    yes: of.Yes = False,
    out: Annotated[of.Target, of.written("The Zarr store of the results.")] = None,
    to: of.ToFormat = None,
    plot: Annotated[of.Target, of.picture("a map")] = None,
    metric: of.Metric = "ratio",
    plot_over: of.PlotOver = None,
    seed: of.Seed = 1,
    as_json: of.AsJson = False,
) -> None:
    """Run a model over a grid of its numbers; the same command goes on where it was stopped."""
    from vegasfluid.cli.sweep import Where, run

    run(
        model,
        over,
        where=Where(out, to, plot, metric, tuple(plot_over or ()), workers, scheduler, multi_host),
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
    model: of.ModelName,
    tune: of.TuneOne = None,
    ratio: of.AskedRatio = None,
    latex: of.Latex = False,
    plot: Annotated[of.Target, of.picture("the stability charts")] = None,
    certificate: of.Certificate = None,
    as_json: of.AsJson = False,
) -> None:
    """Say what theory says: rest, fair alpha, stability, closed forms, a proof; beside packets."""
    from vegasfluid.cli.analyse import run

    reached = run(
        model,
        tune=tune,
        ratio=ratio,
        latex=latex,
        plot=plot,
        certificate=certificate,
        as_json=as_json,
    )
    raise typer.Exit(DONE if reached else OUT_OF_REACH)


@command("certify", MORE)
def certify(file: of.Proof, model: of.SpeaksOf = None, as_json: of.AsJson = False) -> None:
    """Prove a certificate of a fair alpha from scratch."""
    from vegasfluid.cli.certify import run

    raise typer.Exit(DONE if run(file, model=model, as_json=as_json) else BAD_INPUT)


@command("models", AROUND)
def models(
    name: of.Shipped = None,
    out: Annotated[of.Target, of.written("Copy it into a new file, to make it yours.")] = None,
    as_json: of.AsJson = False,
) -> None:
    """List the models that come along; show or copy one, to begin your own."""
    from vegasfluid.cli.models import run

    run(name, out=out, as_json=as_json)


@command("laws", AROUND)
def laws(as_json: of.AsJson = False) -> None:
    """List the laws with their parameters, units, defaults and sources."""
    from vegasfluid.cli.laws import run

    run(as_json=as_json)


@command("doctor", AROUND)
def doctor(clear_caches: of.ClearCaches = False, as_json: of.AsJson = False) -> None:
    """Say whether all is well here: versions, devices, caches, and runs that really run."""
    from vegasfluid.cli.doctor import run

    raise typer.Exit(DONE if run(clear=clear_caches, as_json=as_json) else OUT_OF_REACH)


def dress(fancily: bool) -> None:
    """Let help have groups in boxes; or else plain lines that are not broken, for pipes."""
    app.rich_markup_mode = "rich" if fancily else None
    width = None if fancily else width_in_a_pipe()
    app.info.context_settings = SETTINGS | {"terminal_width": width}  # of the commands, too
    for info in app.registered_commands:
        info.epilog = epilog(str(info.name), plain=not fancily)


def run_app(arguments: list[str] | None) -> int:
    """Run a command; its exit status. Without arguments the user is greeted."""
    dress(fancy())
    return exit_status(app, sys.argv[1:] if arguments is None else arguments, "vegasfluid")


def main(arguments: list[str] | None = None) -> None:
    """The entry point of the command `vegasfluid`."""
    sys.exit(run_app(arguments))
