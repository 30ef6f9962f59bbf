"""The commands and their options; what they do is imported when it is needed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from vegasfluid.cli.exits import BAD_INPUT, DONE, OUT_OF_REACH, exit_status
from vegasfluid.errors import InvalidInput

__all__ = ["main"]

LARGEST_SEED = 2**32 - 1

app = typer.Typer(
    name="vegasfluid",
    add_completion=True,
    pretty_exceptions_enable=False,
    help="Fair TCP Vegas: find alpha and beta on a fluid model, judge them packet by packet.",
)

ModelPath = Annotated[Path, typer.Argument(metavar="MODEL", help="A model file (TOML).")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document, nothing else.")]
Seed = Annotated[
    int, typer.Option(help="First seed of the random numbers.", min=0, max=LARGEST_SEED)
]


Engine = Literal["fluid", "density", "packets"]
LossProcess = Literal["iid", "periodic", "meanfield"]
System = Literal["linux", "freebsd", "ns2", "ns3"]

Over = Annotated[
    list[str],
    typer.Option(
        metavar="NAME=SPEC",
        help="What is swept, such as vegas.alpha_packets=1:400:40 (or 1:400:40:log, or 1,2,4).",
    ),
]


@app.command()
def recommend(
    model: ModelPath,
    tune: Annotated[
        list[str] | None,
        typer.Option(help="A class of Vegas flows to tune; may be repeated. All, if none."),
    ] = None,
    ratio: Annotated[
        float, typer.Option(help="Goodput of a tuned flow over that of another flow.")
    ] = 1.0,
    goal: Annotated[
        str, typer.Option(help="ratio, jain, proportional, worst-flow, or alpha-fair=A.")
    ] = "ratio",
    max_delay_ms: Annotated[float | None, typer.Option(help="Limit: queueing delay.")] = None,
    max_drop_share: Annotated[float | None, typer.Option(help="Limit: packets dropped.")] = None,
    min_utilisation: Annotated[float | None, typer.Option(help="Limit: use of the link.")] = None,
    min_gain_margin: Annotated[float | None, typer.Option(help="Limit: stability.")] = None,
    tune_queue: Annotated[
        bool, typer.Option("--tune-queue", help="Tune RED's thresholds and max_drop, too.")
    ] = False,
    tune_gamma: Annotated[
        bool, typer.Option("--tune-gamma", help="Tune gamma, too: their share from the start.")
    ] = False,
    pareto: Annotated[
        bool, typer.Option("--pareto", help="Show fairness against queueing delay.")
    ] = False,
    plot: Annotated[
        Path | None, typer.Option(help="Draw it (PNG, SVG, PDF); with --pareto.")
    ] = None,
    runs: Annotated[int, typer.Option(help="Packet runs at each alpha.")] = 10,
    explain: Annotated[
        bool, typer.Option("--explain", help="Say why, and what rules of thumb would have done.")
    ] = False,
    seed: Seed = 1,
    as_json: AsJson = False,
) -> None:
    """Find the Vegas parameters at which a Vegas flow gets its fair share.

    Example: vegasfluid recommend models/weigle_feng_network2.toml --explain
    """
    from vegasfluid.cli.asked import asked_for

    asked = asked_for(
        goal, ratio, max_delay_ms, max_drop_share, min_utilisation, min_gain_margin
    ) | {"tune": tune or [], "tune_queue": tune_queue, "runs": runs, "seed": seed}
    if pareto:
        if tune_gamma:
            raise InvalidInput("recommend", "--tune-gamma", "left out with --pareto", "given")
        from vegasfluid.cli.pareto import run as run_front

        run_front(model, plot=plot, as_json=as_json, **asked)
        raise typer.Exit(DONE)
    if plot is not None:
        raise InvalidInput("recommend", "--plot", "given with --pareto", "given alone")
    from vegasfluid.cli.recommend import run

    reached = run(model, explained=explain, as_json=as_json, tune_gamma=tune_gamma, **asked)
    raise typer.Exit(DONE if reached else OUT_OF_REACH)


@app.command()
def simulate(
    model: ModelPath,
    engine: Annotated[Engine, typer.Option(help="Which simulator.")] = "fluid",
    against: Annotated[
        Engine | None, typer.Option(help="Another simulator, shown and drawn beside it.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write the trajectory (netCDF).")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the trajectory (PNG, SVG, PDF).")] = None,
    loss_process: Annotated[
        LossProcess | None, typer.Option(help="How losses come, to the fluid engines.")
    ] = None,
    base_rtt_ms: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CLASS=MS", help="The base RTT that senders begin with, to the fluid engines."
        ),
    ] = None,
    seed: Seed = 1,
    as_json: AsJson = False,
) -> None:
    """Run a model once.

    Example: vegasfluid simulate models/weigle_feng_network2.toml --against packets --plot run.png
    """
    from vegasfluid.cli.assumptions import assumed
    from vegasfluid.cli.simulate import run

    engines = (engine,) if against is None else (engine, against)
    taken = assumed(engines, loss_process, base_rtt_ms or [])
    run(model, engines=engines, taken=taken, out=out, plot=plot, seed=seed, as_json=as_json)


@app.command()
def sweep(
    model: ModelPath,
    over: Over,
    out: Annotated[Path | None, typer.Option(help="The Zarr store of the results.")] = None,
    engine: Annotated[Engine, typer.Option(help="Which simulator.")] = "fluid",
    seeds: Annotated[int, typer.Option(help="Packet runs of each point.", min=1)] = 1,
    seed: Seed = 1,
    until: Annotated[float | None, typer.Option(help="Simulated time, s.")] = None,
    warmup: Annotated[float | None, typer.Option(help="Time that means leave out, s.")] = None,
    tune: Annotated[str | None, typer.Option(help="The class whose ratio is told.")] = None,
    chunk: Annotated[
        int | None, typer.Option(help="Runs that are done and written at once.", min=1)
    ] = None,
    fine: Annotated[
        bool, typer.Option("--fine", help="Fluid: steps as short as those of simulate all along.")
    ] = False,
    workers: Annotated[
        int | None, typer.Option(help="Processes that simulate packets.", min=1)
    ] = None,
    scheduler: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="A Dask scheduler, for packets.")
    ] = None,
    multi_host: Annotated[
        bool, typer.Option("--multi-host", help="One of the processes of a JAX job.")
    ] = False,
    to: Annotated[
        Path | None, typer.Option(help="Write the results as netCDF (.nc) or a table (.csv), too.")
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw a map (PNG, SVG, PDF).")] = None,
    metric: Annotated[str, typer.Option(help="What is drawn.")] = "ratio",
    plot_over: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="A dimension to draw along, up to two.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say how many runs, how long, memory and disk.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Also more than 10 million points.")] = False,
    as_json: AsJson = False,
) -> None:
    """Run a model over a grid of its numbers; the same command goes on where it was stopped.

    Example: vegasfluid sweep MODEL --over vegas.alpha_packets=1:400:40 --out sweep.zarr
    """
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


@app.command()
def analyse(
    model: ModelPath,
    tune: Annotated[str | None, typer.Option(help="The class of Vegas flows to tune.")] = None,
    ratio: Annotated[
        float, typer.Option(help="Goodput of a tuned flow over that of another flow.")
    ] = 1.0,
    latex: Annotated[bool, typer.Option("--latex", help="Print the formulas as LaTeX.")] = False,
    plot: Annotated[
        Path | None, typer.Option(help="Draw the stability charts (PNG, SVG, PDF).")
    ] = None,
    certificate: Annotated[
        Path | None, typer.Option(help="Write the proof of the fair alpha (JSON).")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Say what can be said without a run: rest, fair alpha, stability, closed forms, a proof.

    Example: vegasfluid analyse models/weigle_feng_network2.toml --certificate alpha.json
    """
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


@app.command()
def certify(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A certificate (JSON).")],
    model: Annotated[
        Path | None, typer.Option(help="A model file that the certificate has to speak of.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Prove a certificate of a fair alpha from scratch.

    Example: vegasfluid certify alpha.json --model models/weigle_feng_network2.toml
    """
    from vegasfluid.cli.certify import run

    raise typer.Exit(DONE if run(file, model=model, as_json=as_json) else BAD_INPUT)


@app.command()
def export(
    model: ModelPath,
    system: Annotated[System, typer.Option("--format", help="For which system.")],
    out: Annotated[
        Path | None, typer.Option(help="Write the files: a folder, or a file for the first one.")
    ] = None,
    seed: Seed = 1,
    as_json: AsJson = False,
) -> None:
    """Write a model for Linux, FreeBSD, ns-2 or ns-3: its settings, or a scenario that runs.

    Example: vegasfluid export models/weigle_feng_network2.toml --format ns2 --out scenario.tcl
    """
    from vegasfluid.cli.export import run

    run(model, system=system, out=out, seed=seed, as_json=as_json)


@app.command()
def check(model: ModelPath, as_json: AsJson = False) -> None:
    """Read and explain a model file; run nothing.

    Example: vegasfluid check models/weigle_feng_network2.toml
    """
    from vegasfluid.cli.check import run

    raise typer.Exit(DONE if run(model, as_json=as_json) else BAD_INPUT)


@app.command()
def laws(as_json: AsJson = False) -> None:
    """List the laws with their parameters, units, defaults and sources."""
    from vegasfluid.cli.laws import run

    run(as_json=as_json)


def run_app(arguments: list[str] | None) -> int:
    """Run a command; its exit status. Without arguments the help is shown."""
    given = sys.argv[1:] if arguments is None else arguments
    return exit_status(app, given or ["--help"], "vegasfluid")


def main(arguments: list[str] | None = None) -> None:
    """The entry point of the command `vegasfluid`."""
    sys.exit(run_app(arguments))
