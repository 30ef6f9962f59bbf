"""Pictures of trajectories, with matplotlib.

Each function returns the figure it drew. Colours are Okabe and Ito's, which colour-blind readers
can tell apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from typing import Any

import numpy as np
import xarray as xr
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from vegasfluid.trajectory import ENGINES

__all__ = ["compare", "trajectory"]

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#000000", "#CC79A7", "#E69F00", "#56B4E9")
LINES = ("-", "--", ":", "-.")
SIZE = (9.0, 9.0)
INTERVALS = 60
"""In so many parts of a run drops are counted: single ones are no probability."""
TITLES = (
    "window of a flow, packets",
    "queue, packets",
    "drop probability",
    "goodput of a flow, packets/s",
)


def trajectory(run: xr.Dataset) -> Figure:
    """Draw one run: windows, queue and goodput over time.

    Args:
        run: a trajectory.
    """
    return compare(run)


@rc_context({"text.parse_math": False})  # a dollar in a title is a dollar
def compare(*runs: xr.Dataset) -> Figure:
    """Draw several runs of one network over each other, one line style a run.

    Args:
        runs: trajectories, such as the fluid's and the packets'; at least one.
    """
    figure = Figure(figsize=SIZE, layout="constrained")
    panels = figure.subplots(4, 1, sharex=True)
    for run, line in zip(runs, cycle(LINES)):
        suffix = f" ({run.attrs.get('engine', 'run')})" if len(runs) > 1 else ""
        for draw, axes in zip(DRAWN, panels, strict=True):
            draw(axes, run, line, suffix)
    for axes, title in zip(panels, TITLES, strict=True):
        finish(axes, title, runs)
    panels[-1].set_xlabel("time, s")
    figure.suptitle(title_of(runs))
    return figure


def engine(run: xr.Dataset) -> str:
    """Which simulator a run is from."""
    return ENGINES.get(run.attrs.get("engine", ""), "run")


def title_of(runs: Sequence[xr.Dataset]) -> str:
    """The model's title and the engines."""
    engines = " and ".join(engine(run) for run in runs)
    title = runs[0].attrs.get("title") if runs else None
    return f"{title}: {engines}" if title else engines


def finish(axes: Axes, title: str, runs: Sequence[xr.Dataset]) -> None:
    """Title above and legend beside the axes, where they hide nothing; the warm-up in grey."""
    axes.set_title(title, loc="left", fontsize="medium")
    axes.legend(fontsize="small", loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
    axes.set_xlim(0, max(float(run["time"][-1]) for run in runs))
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    warmup = max(float(run.attrs.get("warmup", 0)) for run in runs)
    if warmup > 0:
        axes.axvspan(0, warmup, color="0.5", alpha=0.12, linewidth=0)


def draw_windows(axes: Axes, run: xr.Dataset, line: str, suffix: str) -> None:
    """The mean window of each class; where windows are a distribution, its width, too."""
    for i, flow_class in enumerate(run["flow_class"].values):
        cwnd = run["cwnd"].isel(flow_class=i)
        axes.plot(run["time"], cwnd, line, label=f"{flow_class}{suffix}", **style(i))
        if run.attrs.get("engine") == "density":
            wide = run["cwnd_spread"].isel(flow_class=i)
            edges = np.maximum(cwnd - wide, 0), cwnd + wide
            axes.fill_between(run["time"], *edges, color=style(i)["color"], alpha=0.15, linewidth=0)


def draw_queue(axes: Axes, run: xr.Dataset, line: str, suffix: str) -> None:
    """The queue of each link, and its law's average where it keeps one."""
    for i, link in enumerate(run["link"].values):
        queue, average = run["queue"].isel(link=i), run["avg_queue"].isel(link=i)
        axes.plot(run["time"], queue, line, label=f"{link}{suffix}", **style(2 * i + 2, 2.0))
        if float(average.max()) > 0:
            label = f"average{suffix}"
            axes.plot(run["time"], average, line, label=label, **style(2 * i + 3, 0.8))


def draw_drops(axes: Axes, run: xr.Dataset, line: str, suffix: str) -> None:
    """The share of the packets of each link that was dropped or marked, counted in intervals."""
    step = max(1, (run.sizes["time"] - 1) // INTERVALS)
    at = run.isel(time=slice(None, None, step))
    lost = at["lost"] + at.get("marked", 0)
    gained, came = np.diff(lost, axis=0), np.diff(at["lost"] + at["admitted"], axis=0)
    times = at["time"].values
    share = gained / np.maximum(came, 1.0)
    for i, link in enumerate(run["link"].values):
        label = f"{link}{suffix}"
        axes.stairs(
            share[:, i], times, baseline=None, linestyle=line, label=label, **style(2 * i + 2)
        )


def draw_goodput(axes: Axes, run: xr.Dataset, line: str, suffix: str) -> None:
    """Packets delivered a second by a flow of each class, between samples."""
    times = run["time"].values
    middles = (times[1:] + times[:-1]) / 2
    for i, flow_class in enumerate(run["flow_class"].values):
        rate = np.diff(run["delivered"].isel(flow_class=i)) / np.diff(times)
        axes.plot(middles, rate, line, label=f"{flow_class}{suffix}", **style(i))


def style(number: int, width: float = 1.2) -> dict[str, Any]:
    """Colour and width of a line."""
    return {"color": COLOURS[number % len(COLOURS)], "linewidth": width}


DRAWN = (draw_windows, draw_queue, draw_drops, draw_goodput)
