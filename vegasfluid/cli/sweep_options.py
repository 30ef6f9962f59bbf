"""Options of `sweep` alone: type, unit, help text, help group and completion."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from vegasfluid.cli.options import RESULTS, option, written

__all__ = [
    "Chunk",
    "DryRun",
    "Fine",
    "Metric",
    "MultiHost",
    "Over",
    "Processes",
    "Scheduler",
    "Seeds",
    "ToFormat",
    "Until",
    "Warmup",
    "Yes",
]

GRID, WORK = "Grid", "Computation"
"""Groups of options on the help page."""

Over = Annotated[
    list[str],
    option(
        panel=GRID,
        metavar="NAME=SPEC",
        help="Parameter and values: vegas.alpha_packets=1:400:40, 1:400:40:log, or 1,2,4.",
    ),
]
Seeds = Annotated[int, option(panel=GRID, metavar="N", help="Packet runs per point.", min=1)]
Until = Annotated[float | None, option(panel=GRID, metavar="S", help="Simulated time, s.")]
Warmup = Annotated[
    float | None, option(panel=GRID, metavar="S", help="Warm-up excluded from averages, s.")
]
Chunk = Annotated[
    int | None, option(panel=WORK, metavar="N", help="Runs computed and saved together.", min=1)
]
Fine = Annotated[
    bool,
    option("--fine", panel=WORK, help="Fluid: use the shorter time steps of simulate throughout."),
]
Processes = Annotated[
    int | None,
    option("--workers", panel=WORK, metavar="N", help="Worker processes for packet runs.", min=1),
]
Scheduler = Annotated[
    str | None, option(panel=WORK, metavar="ADDRESS", help="Dask scheduler for packet runs.")
]
MultiHost = Annotated[
    bool, option("--multi-host", panel=WORK, help="This is one process of a multi-host JAX job.")
]
DryRun = Annotated[
    bool, option("--dry-run", panel=WORK, help="Estimate runs, time, memory and disk; run nothing.")
]
Yes = Annotated[bool, option("--yes", panel=WORK, help="Allow more than 10 million points.")]
ToFormat = Annotated[Path | None, written("Also write netCDF (.nc) or a table (.csv).")]
Metric = Annotated[str, option(panel=RESULTS, metavar="NAME", help="Metric to plot.")]
