"""Options of the commands: type, unit, help text, help group and completion."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from vegasfluid.cli import completion
from vegasfluid.cli.option_callbacks import (
    be_quiet,
    limit_memory,
    limit_workers,
    seed_in_range,
    use_theme,
)

__all__ = [
    "Against",
    "AsJson",
    "BaseRtts",
    "BundledName",
    "Certificate",
    "CertifiedModel",
    "ClearCaches",
    "Engine",
    "EngineName",
    "Everything",
    "Explain",
    "Force",
    "Goal",
    "Kernel",
    "Last",
    "Latex",
    "LossProcess",
    "MaxDelay",
    "MaxDropShare",
    "MaxMemory",
    "MeasuredFiles",
    "MinGainMargin",
    "MinUtilisation",
    "ModelCopy",
    "ModelName",
    "ModelOrLast",
    "NewModel",
    "NoBrowser",
    "Pareto",
    "PlotOver",
    "Port",
    "ProcessName",
    "Proof",
    "Quiet",
    "Ratio",
    "ReferenceRuns",
    "RunUntil",
    "RunWarmup",
    "Runs",
    "SavedFiles",
    "Seed",
    "SweepMetric",
    "System",
    "SystemName",
    "Target",
    "Theme",
    "Tolerance",
    "Tune",
    "TuneGamma",
    "TuneOne",
    "TuneQueue",
    "Version",
    "With",
    "Workers",
    "picture",
    "written",
]

TUNED, GOAL = "Parameters to tune", "Goal and constraints"
SIMULATORS, ASSUMED = "Simulators", "Model assumptions"
RESULTS, GENERAL, COMPARED = "Results", "General", "Before and after a change"
"""Groups of options on the help pages."""

ThemeName = Literal["light", "dark"]
EngineName = Literal["fluid", "density", "packets"]
ProcessName = Literal["iid", "periodic", "meanfield"]
SystemName = Literal["linux", "freebsd", "openwrt", "sonic", "netns", "ns2", "ns3"]


def option(*names: str, panel: str, **more: Any) -> Any:
    """A Typer option with these names in group `panel` of the help page."""
    return typer.Option(*names, rich_help_panel=panel, **more)


def picture(what: str) -> Any:
    """A Typer option for the file to which a picture of `what` is written."""
    return option(panel=RESULTS, metavar="FILE", help=f"Plot {what} (PNG, SVG, PDF).")


def written(what: str) -> Any:
    """A Typer option for an output file, with the help text `what`."""
    return option(panel=RESULTS, metavar="FILE", help=what)


MODEL = typer.Argument(
    metavar="MODEL",
    show_default=False,
    help="A model file (TOML), or the name of a built-in model.",
    autocompletion=completion.models,
)
ModelName = Annotated[str, MODEL]
ModelOrLast = Annotated[str | None, MODEL]
Last = Annotated[
    bool, option("--last", panel=RESULTS, help="Write the last recommendation, with --out.")
]
BundledName = Annotated[
    str | None,
    typer.Argument(
        metavar="NAME", help="Built-in model to show or copy.", autocompletion=completion.bundled
    ),
]
SavedFiles = Annotated[
    list[Path],
    typer.Argument(metavar="FILE", help="Trajectories (.nc), or the store of a sweep (.zarr)."),
]
MeasuredFiles = Annotated[
    list[Path] | None,
    typer.Argument(metavar="FILE", help="Measurements: ss, iperf3, tc, tcp_probe, CSV, captures."),
]
Proof = Annotated[Path, typer.Argument(metavar="FILE", help="Certificate (JSON).")]
# General

Version = Annotated[bool, typer.Option("--version", help="Print the version.")]
AsJson = Annotated[
    bool, option("--json", panel=GENERAL, help="Print one JSON document and nothing else.")
]
Quiet = Annotated[
    bool,
    option(
        "--quiet",
        "-q",
        panel=GENERAL,
        help="Print the result only, without progress and next steps.",
        callback=be_quiet,
    ),
]
MaxMemory = Annotated[
    float | None,
    option(
        panel=GENERAL,
        metavar="GIB",
        help="Memory that all runs may use together, GiB; by default half of the machine's.",
        callback=limit_memory,
    ),
]
Workers = Annotated[
    int | None,
    option(
        panel=GENERAL,
        metavar="N",
        min=1,
        help="Runs in parallel. Default: one for each processor.",
        callback=limit_workers,
    ),
]
Seed = Annotated[
    int,
    option(panel=GENERAL, metavar="N", help="First random seed.", callback=seed_in_range),
]

Port = Annotated[
    int,
    option(
        panel=GENERAL,
        metavar="N",
        min=0,
        max=65535,
        help="Port on 127.0.0.1. Default: any free one.",
        show_default=False,
    ),
]
NoBrowser = Annotated[bool, option("--no-browser", panel=GENERAL, help="Print the address only.")]

# What is tuned, towards what

Tune = Annotated[
    list[str] | None,
    option(
        panel=TUNED,
        metavar="NAME",
        help="Vegas class to tune (default: all), or any parameter: OWNER.PARAMETER, or with a "
        "range OWNER.PARAMETER=LOW:HIGH, as bottleneck.buffer_packets=10:200; may be repeated.",
        autocompletion=completion.vegas_classes,
    ),
]
TuneOne = Annotated[
    str | None,
    option(
        panel=GOAL,
        metavar="CLASS",
        help="Class to tune, or whose ratio is reported.",
        autocompletion=completion.flow_classes,
    ),
]
TuneQueue = Annotated[
    bool, option("--tune-queue", panel=TUNED, help="Tune RED's thresholds and max_drop as well.")
]
TuneGamma = Annotated[
    bool,
    option(
        "--tune-gamma", panel=TUNED, help="Tune gamma as well, for a fair share from the start."
    ),
]
Ratio = Annotated[
    float,
    option(panel=GOAL, metavar="R", help="Target: goodput of a tuned flow / another flow."),
]
OptionalRatio = Annotated[
    float | None,
    option(
        panel=GOAL,
        metavar="R",
        help="Target: goodput of a tuned flow / another flow. Default: 1.",
    ),
]
Goal = Annotated[
    str,
    option(
        panel=GOAL,
        metavar="GOAL",
        help="ratio, jain, proportional, worst-flow, alpha-fair=A, delay, throughput, or "
        "ratio=CLASS/CLASS.",
        autocompletion=completion.goals,
    ),
]
MaxDelay = Annotated[
    float | None, option(panel=GOAL, metavar="MS", help="Largest mean queueing delay, ms.")
]
MaxDropShare = Annotated[
    float | None, option(panel=GOAL, metavar="SHARE", help="Largest fraction of packets dropped.")
]
MinUtilisation = Annotated[
    float | None,
    option(panel=GOAL, metavar="SHARE", help="Smallest link utilisation, from 0 to 1."),
]
MinGainMargin = Annotated[
    float | None,
    option(panel=GOAL, metavar="FACTOR", help="Smallest gain margin of the equilibrium."),
]
Runs = Annotated[int, option(panel=GENERAL, metavar="N", help="Packet runs per setting.")]

# Simulators

Engine = Annotated[EngineName, option(panel=SIMULATORS, help="Simulator.")]
Against = Annotated[
    EngineName | None, option(panel=SIMULATORS, help="Second simulator, for comparison.")
]
LossProcess = Annotated[
    ProcessName | None, option(panel=ASSUMED, help="Loss process of the fluid models.")
]
BaseRtts = Annotated[
    list[str] | None,
    option(
        panel=ASSUMED, metavar="CLASS=MS", help="Initial base RTT of a class, for the fluid models."
    ),
]

Tolerance = Annotated[
    float | None,
    option(
        panel=ASSUMED,
        metavar="X",
        help="Relative error of goodput, queue and drops: the fluid solver halves its step until "
        "they are this accurate. Default: 0.01.",
    ),
]

With = Annotated[
    list[str] | None,
    option(
        "--with",
        panel=SIMULATORS,
        metavar="NAME",
        help="ns2, ns3 or linux; may be repeated. Default: those that are installed.",
        autocompletion=completion.references,
    ),
]
Kernel = Annotated[
    Path | None,
    option(panel=SIMULATORS, metavar="PATH", help="User Mode Linux kernel for --with linux."),
]
ReferenceRuns = Annotated[
    int,
    option(
        "--runs",
        panel=GENERAL,
        metavar="N",
        help="Packet runs, and runs of each reference.",
        min=2,
        max=1000,
    ),
]
RunUntil = Annotated[
    float | None,
    option("--until", panel=GENERAL, metavar="S", help="Simulated time, s. Default: the model's."),
]
RunWarmup = Annotated[
    float | None,
    option(
        "--warmup",
        panel=GENERAL,
        metavar="S",
        help="Warm-up excluded from averages, s. Default: the model's.",
    ),
]

# Files and pictures

ModelCopy = Annotated[Path | None, written("Copy the model to a new file.")]
NewModel = Annotated[Path | None, written("The model file. Default: network.toml.")]
Force = Annotated[
    bool, option("--force", panel=RESULTS, help="Replace files that vegasfluid did not write.")
]
SweepMetric = Annotated[
    str | None,
    option(
        "--metric",
        panel=RESULTS,
        metavar="NAME",
        help="Metric of a sweep (default: ratio), or of a run.",
    ),
]
Theme = Annotated[
    ThemeName,
    option(panel=RESULTS, help="Background of pictures.", callback=use_theme),
]
PlotOver = Annotated[
    list[str] | None,
    option(panel=RESULTS, metavar="NAME", help="Dimension of a plot axis; up to two."),
]

# Results

Explain = Annotated[
    bool,
    option("--explain", panel=RESULTS, help="Explain the result and compare rules of thumb."),
]
Pareto = Annotated[
    bool,
    option(
        "--pareto", panel=RESULTS, help="Compute the Pareto front of fairness and queueing delay."
    ),
]
Everything = Annotated[
    bool, option("--all", panel=RESULTS, help="List parameters at their defaults, too.")
]
Latex = Annotated[bool, option("--latex", panel=RESULTS, help="Print the formulas as LaTeX.")]
Certificate = Annotated[Path | None, written("Write the proof of the fair alpha (JSON).")]
CertifiedModel = Annotated[
    str | None,
    option(
        "--model",
        panel=RESULTS,
        metavar="MODEL",
        help="Check that the certificate is about this model.",
        autocompletion=completion.models,
    ),
]
System = Annotated[SystemName, option("--format", panel=RESULTS, help="Target system.")]
ClearCaches = Annotated[
    bool, option("--clear-caches", panel=RESULTS, help="Delete compiled code first.")
]
Target = Path | None
"""Path of a file or folder to write; None: not requested."""
