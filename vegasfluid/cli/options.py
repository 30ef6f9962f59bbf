"""Options of the commands: their types, units, help, the group they are shown in, completions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from vegasfluid.cli import completion

__all__ = [
    "Against",
    "AsJson",
    "BaseRtts",
    "Certificate",
    "Chunk",
    "ClearCaches",
    "DryRun",
    "Engine",
    "EngineName",
    "Explain",
    "Fine",
    "Goal",
    "Latex",
    "LossProcess",
    "MaxDelay",
    "MaxDropShare",
    "Metric",
    "MinGainMargin",
    "MinUtilisation",
    "ModelName",
    "MultiHost",
    "Over",
    "Pareto",
    "PlotOver",
    "ProcessName",
    "Proof",
    "Ratio",
    "Runs",
    "Scheduler",
    "Seed",
    "Seeds",
    "Shipped",
    "SpeaksOf",
    "System",
    "SystemName",
    "Target",
    "ToFormat",
    "Tolerance",
    "Tune",
    "TuneGamma",
    "TuneOne",
    "TuneQueue",
    "Until",
    "Version",
    "Warmup",
    "Workers",
    "Yes",
    "picture",
    "written",
]

LARGEST_SEED = 2**32 - 1

TUNED, GOAL = "What is tuned", "Goal and limits"
SIMULATORS, ASSUMED, GRID, WORK = "Simulators", "What fluids assume", "The grid", "The work"
RESULTS, GENERAL = "Results", "General"

EngineName = Literal["fluid", "density", "packets"]
ProcessName = Literal["iid", "periodic", "meanfield"]
SystemName = Literal["linux", "freebsd", "ns2", "ns3"]


def seed_in_range(seed: int) -> int:
    """Refuse a seed that generators of random numbers do not take."""
    if not 0 <= seed <= LARGEST_SEED:
        raise typer.BadParameter(f"must be 0 to {LARGEST_SEED}, but is {seed}")
    return seed


def option(*names: str, panel: str, **more: Any) -> Any:
    """An option in a group of the help."""
    return typer.Option(*names, rich_help_panel=panel, **more)


def picture(what: str) -> Any:
    """An option for a picture of something."""
    return option(panel=RESULTS, metavar="FILE", help=f"Draw {what} (PNG, SVG, PDF).")


def written(what: str) -> Any:
    """An option for a file that is written."""
    return option(panel=RESULTS, metavar="FILE", help=what)


ModelName = Annotated[
    str,
    typer.Argument(
        metavar="MODEL",
        help="A model file (TOML), or the name of a shipped model.",
        autocompletion=completion.models,
    ),
]
Shipped = Annotated[
    str | None,
    typer.Argument(
        metavar="NAME", help="A shipped model, to show or copy.", autocompletion=completion.shipped
    ),
]
Proof = Annotated[Path, typer.Argument(metavar="FILE", help="A certificate (JSON).")]
Over = Annotated[
    list[str],
    option(
        panel=GRID,
        metavar="NAME=SPEC",
        help="What is swept: vegas.alpha_packets=1:400:40 (or 1:400:40:log, or 1,2,4).",
    ),
]

# General

Version = Annotated[bool, typer.Option("--version", help="Print the version and end.")]
AsJson = Annotated[
    bool, option("--json", panel=GENERAL, help="Print one JSON document, nothing else.")
]
Seed = Annotated[
    int,
    option(
        panel=GENERAL, metavar="N", help="First seed of the random numbers.", callback=seed_in_range
    ),
]

# What is tuned, towards what

Tune = Annotated[
    list[str] | None,
    option(
        panel=TUNED,
        metavar="CLASS",
        help="A class of Vegas flows to tune; may be repeated. All, if none.",
        autocompletion=completion.vegas_classes,
    ),
]
TuneOne = Annotated[
    str | None,
    option(
        panel=GOAL,
        metavar="CLASS",
        help="The class of Vegas flows to tune, or whose ratio is told.",
        autocompletion=completion.flow_classes,
    ),
]
TuneQueue = Annotated[
    bool, option("--tune-queue", panel=TUNED, help="Tune RED's thresholds and max_drop, too.")
]
TuneGamma = Annotated[
    bool, option("--tune-gamma", panel=TUNED, help="Tune gamma, too: their share from the start.")
]
Ratio = Annotated[
    float,
    option(panel=GOAL, metavar="R", help="Goodput of a tuned flow over that of another flow."),
]
AskedRatio = Annotated[
    float | None,
    option(
        panel=GOAL,
        metavar="R",
        help="Goodput of a tuned flow over that of another flow; 1 where none is asked for.",
    ),
]
Goal = Annotated[
    str,
    option(
        panel=GOAL,
        metavar="GOAL",
        help="ratio, jain, proportional, worst-flow, or alpha-fair=A.",
        autocompletion=completion.goals,
    ),
]
MaxDelay = Annotated[
    float | None, option(panel=GOAL, metavar="MS", help="At most this much queueing delay.")
]
MaxDropShare = Annotated[
    float | None, option(panel=GOAL, metavar="SHARE", help="At most this share of packets dropped.")
]
MinUtilisation = Annotated[
    float | None, option(panel=GOAL, metavar="SHARE", help="At least this use of the link.")
]
MinGainMargin = Annotated[
    float | None, option(panel=GOAL, metavar="FACTOR", help="At least this far from instability.")
]
Runs = Annotated[int, option(panel=GENERAL, metavar="N", help="Packet runs at each setting.")]

# Simulators

Engine = Annotated[EngineName, option(panel=SIMULATORS, help="Which simulator.")]
Against = Annotated[
    EngineName | None, option(panel=SIMULATORS, help="Another one, shown and drawn beside it.")
]
LossProcess = Annotated[
    ProcessName | None, option(panel=ASSUMED, help="How losses come, to the fluid engines.")
]
BaseRtts = Annotated[
    list[str] | None,
    option(panel=ASSUMED, metavar="CLASS=MS", help="The base RTT that a class begins with."),
]

Tolerance = Annotated[
    float | None,
    option(
        panel=ASSUMED,
        metavar="X",
        help="Of goodput, queue and drops, as a part of them: the solver's steps are halved until "
        "they are exact to that. 0.01 where none is given.",
    ),
]

# Sweeps

Seeds = Annotated[int, option(panel=GRID, metavar="N", help="Packet runs of each point.", min=1)]
Until = Annotated[float | None, option(panel=GRID, metavar="S", help="Simulated time.")]
Warmup = Annotated[float | None, option(panel=GRID, metavar="S", help="What means leave out.")]
Chunk = Annotated[
    int | None, option(panel=WORK, metavar="N", help="Runs that are done at once.", min=1)
]
Fine = Annotated[
    bool, option("--fine", panel=WORK, help="Fluid: steps as short as those of simulate all along.")
]
Workers = Annotated[
    int | None, option(panel=WORK, metavar="N", help="Processes that simulate packets.", min=1)
]
Scheduler = Annotated[
    str | None, option(panel=WORK, metavar="ADDRESS", help="A Dask scheduler, for packets.")
]
MultiHost = Annotated[
    bool, option("--multi-host", panel=WORK, help="One of the processes of a JAX job.")
]
DryRun = Annotated[
    bool, option("--dry-run", panel=WORK, help="Say how many runs, how long, memory and disk.")
]
Yes = Annotated[bool, option("--yes", panel=WORK, help="Also more than 10 million points.")]
ToFormat = Annotated[Path | None, written("Write a netCDF (.nc) or a table (.csv), too.")]
Metric = Annotated[str, option(panel=RESULTS, metavar="NAME", help="What is drawn.")]
PlotOver = Annotated[
    list[str] | None,
    option(panel=RESULTS, metavar="NAME", help="A dimension to draw along, up to two."),
]

# Results

Explain = Annotated[
    bool,
    option("--explain", panel=RESULTS, help="Say why, and what rules of thumb would have done."),
]
Pareto = Annotated[
    bool, option("--pareto", panel=RESULTS, help="Show fairness against queueing delay.")
]
Latex = Annotated[bool, option("--latex", panel=RESULTS, help="Print the formulas as LaTeX.")]
Certificate = Annotated[Path | None, written("Write the proof of the fair alpha (JSON).")]
SpeaksOf = Annotated[
    str | None,
    option(
        "--model",
        panel=RESULTS,
        metavar="MODEL",
        help="A model that the certificate has to speak of.",
        autocompletion=completion.models,
    ),
]
System = Annotated[SystemName, option("--format", panel=RESULTS, help="For which system.")]
ClearCaches = Annotated[
    bool, option("--clear-caches", panel=RESULTS, help="Remove compiled code first.")
]
Target = Path | None
"""A file or folder that may be written."""
