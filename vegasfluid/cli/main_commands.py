"""The main commands; the code of each loads on use."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vegasfluid.cli import options as opts
from vegasfluid.cli.application import MAIN, command
from vegasfluid.cli.exit_status import BAD_INPUT, DONE, OUT_OF_REACH

__all__ = ["check", "explore", "observe", "recommend", "simulate"]


@command("check", MAIN)
def check(
    model: opts.ModelName,
    everything: opts.Everything = False,
    as_json: opts.AsJson = False,
    quiet: opts.Quiet = False,
) -> None:
    """Validate and explain a model file without running it."""
    from vegasfluid.cli.check import run

    raise typer.Exit(DONE if run(model, everything=everything, as_json=as_json) else BAD_INPUT)


@command("recommend", MAIN)
def recommend(
    context: typer.Context,
    model: opts.ModelOrLast = None,
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
    last: opts.Last = False,
    pareto: opts.Pareto = False,
    plot: Annotated[opts.Target, opts.picture("the result, or the Pareto front")] = None,
    theme: opts.Theme = "light",
    force: opts.Force = False,
    runs: opts.Runs = 10,
    until: opts.RunUntil = None,
    warmup: opts.RunWarmup = None,
    seed: opts.Seed = 1,
    workers: opts.Workers = None,
    max_memory: opts.MaxMemory = None,
    as_json: opts.AsJson = False,
    quiet: opts.Quiet = False,
) -> None:
    """Find the Vegas parameters that give a Vegas flow its fair share."""
    if last:
        from vegasfluid.cli.last_recommendation import write_last

        return write_last(context, out, force=force, as_json=as_json)
    from vegasfluid.cli.request import request_from_options, required_model

    name = required_model(model)
    limits = (max_delay_ms, max_drop_share, min_utilisation, min_gain_margin)
    request = request_from_options(goal, ratio, *limits)
    request |= {"tune": tune or [], "tune_queue": tune_queue, "runs": runs, "seed": seed}
    request |= {"until": until, "warmup": warmup, "force": force, "as_json": as_json}
    request |= {"tune_gamma": tune_gamma, "out": out, "plot": plot}
    if pareto:
        from vegasfluid.cli.pareto import run as run_front

        return run_front(name, **request)
    from vegasfluid.cli.next_steps import repeated
    from vegasfluid.cli.recommend import run

    reached = run(
        name,
        explain_result=explain,
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
    theme: opts.Theme = "light",
    force: opts.Force = False,
    until: opts.RunUntil = None,
    warmup: opts.RunWarmup = None,
    seed: opts.Seed = 1,
    max_memory: opts.MaxMemory = None,
    as_json: opts.AsJson = False,
    quiet: opts.Quiet = False,
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
    out: Annotated[
        opts.Target,
        opts.written("Save the page with runs of the model (HTML) instead of serving it."),
    ] = None,
    force: opts.Force = False,
    max_memory: opts.MaxMemory = None,
    as_json: opts.AsJson = False,
) -> None:
    """Explore a model on a local page in the browser, until Ctrl-C, or save the page."""
    from vegasfluid.cli.explore import save, serve

    if out is None:
        serve(model, port=port, browser=not no_browser, as_json=as_json)
    else:
        save(model, out, as_json=as_json, force=force)


@command("observe", MAIN)
def observe(
    files: opts.MeasuredFiles = None,
    out: Annotated[
        opts.Target, opts.written("Write the estimated model, with ranges (TOML).")
    ] = None,
    plot: Annotated[opts.Target, opts.picture("measurement and model")] = None,
    theme: opts.Theme = "light",
    force: opts.Force = False,
    seed: opts.Seed = 1,
    before: Annotated[
        list[Path] | None,
        opts.option(panel=opts.COMPARED, metavar="FILE", help="Measurement before a change."),
    ] = None,
    after: Annotated[
        list[Path] | None,
        opts.option(panel=opts.COMPARED, metavar="FILE", help="Measurement after it."),
    ] = None,
    ratio: Annotated[
        float,
        opts.option(
            panel=opts.COMPARED,
            metavar="R",
            help="Goal of the change: goodput of a Vegas flow / another flow.",
        ),
    ] = 1.0,
    as_json: opts.AsJson = False,
    quiet: opts.Quiet = False,
) -> None:
    """Estimate a network from measurements (ss, iperf3, tc, captures) and write a model of it.

    With --before and --after: report whether a change of settings reached its goal.
    """
    if before or after:
        from vegasfluid.cli.before_after import run as compare

        others = {"FILE": files, "--out": out, "--plot": plot}
        reached = compare(before or [], after or [], others, goal=ratio, as_json=as_json)
        raise typer.Exit(DONE if reached else OUT_OF_REACH)
    from vegasfluid.cli.observe import run

    found = run(files or [], out=out, plot=plot, seed=seed, as_json=as_json, force=force)
    raise typer.Exit(DONE if found else OUT_OF_REACH)
