"""Pictures of runs: windows, queues, drops and goodput over time, of one run or several."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import cycle
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from vegasfluid.errors import InvalidInput
from vegasfluid.plot.style import FAINT, LINES, colour, figure_of, new_axes, styled
from vegasfluid.trajectory import ENGINES

__all__ = ["called", "compare", "drops", "goodputs", "queues", "trajectory", "windows"]

SIZE = (9.0, 9.0)
PANEL = (7.0, 3.2)
INTERVALS = 60
"""In so many parts of a run drops are counted: single ones are no probability."""

DrawRun = Callable[[Axes, xr.Dataset, str, str], None]
"""Draws one run, with a line style, and with something after the names of its lines."""


def trajectory(run: xr.Dataset, ax: Sequence[Axes] | None = None) -> Figure:
    """Draw one run: windows, queue, drops and goodput over time.

    Args:
        run: a trajectory.
        ax: four axes, one above the other; None: those of a new figure.
    """
    return compare(run, ax=ax)


def compare(*runs: xr.Dataset, ax: Sequence[Axes] | None = None) -> Figure:
    """Draw several runs of one network over each other, one line style a run.

    Args:
        runs: trajectories, such as the fluid's and the packets'; at least one. In legends a run is
            called by its engine, or as its attribute `label` says (`run.assign_attrs(label=...)`).
        ax: four axes, for windows, queues, drops and goodputs; None: those of a new figure.

    Raises:
        InvalidInput: for no run, or another number of axes.
    """
    given = four_axes(title_of(runs)) if ax is None else ax
    if len(given) != len(PANELS):
        raise InvalidInput("compare", "ax", f"{len(PANELS)} axes", f"{len(given)} axes")
    for draw, axes in zip(PANELS, given, strict=True):
        draw(*runs, ax=axes)
        if axes is not given[-1]:
            axes.set_xlabel("")
    return figure_of(given[0])


@styled
def four_axes(title: str) -> Sequence[Axes]:
    """One above the other, in a new figure."""
    figure = Figure(figsize=SIZE, layout="constrained")
    figure.suptitle(title)
    return list(figure.subplots(len(PANELS), 1, sharex=True))


@styled
def windows(*runs: xr.Dataset, ax: Axes | None = None) -> Axes:
    """Draw the mean window of each class over time, packets; of a density also its spread."""
    return panel(draw_windows, "window of a flow, packets", runs, ax)


@styled
def queues(*runs: xr.Dataset, ax: Axes | None = None) -> Axes:
    """Draw the queue of each link over time, packets, and its law's average where it has one."""
    return panel(draw_queue, "queue, packets", runs, ax)


@styled
def drops(*runs: xr.Dataset, ax: Axes | None = None) -> Axes:
    """Draw the share of each link's packets that was dropped or marked, over time."""
    return panel(draw_drops, "drop probability", runs, ax)


@styled
def goodputs(*runs: xr.Dataset, ax: Axes | None = None) -> Axes:
    """Draw what a flow of each class delivers over time, packets/s."""
    return panel(draw_goodput, "goodput of a flow, packets/s", runs, ax)


PANELS = (windows, queues, drops, goodputs)


def called(run: xr.Dataset) -> str:
    """What a run is called in a legend: its attribute `label`, or its engine."""
    return str(run.attrs.get("label") or run.attrs.get("engine", "run"))


def engine(run: xr.Dataset) -> str:
    """Which simulator a run is from."""
    return ENGINES.get(run.attrs.get("engine", ""), "run")


def title_of(runs: Sequence[xr.Dataset]) -> str:
    """The model's title and the engines."""
    engines = " and ".join(engine(run) for run in runs)
    title = runs[0].attrs.get("title") if runs else None
    return f"{title}: {engines}" if title else engines


def panel(draw: DrawRun, title: str, runs: Sequence[xr.Dataset], ax: Axes | None) -> Axes:
    """All runs on one pair of axes.

    Title above and legend beside them, where they hide nothing; the warm-up in grey.
    """
    if not runs:
        raise InvalidInput("plot", "runs", "one trajectory or more", "none")
    axes = new_axes(ax, PANEL)
    for run, line in zip(runs, cycle(LINES), strict=False):
        suffix = f" ({called(run)})" if len(runs) > 1 else ""
        draw(axes, run, line, suffix)
    axes.set_title(title)
    axes.set_xlabel("time, s")
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1))
    axes.set_xlim(0, max(float(run["time"][-1]) for run in runs))
    axes.set_ylim(bottom=0)
    axes.grid(True, alpha=FAINT)
    warmup = max(float(run.attrs.get("warmup", 0)) for run in runs)
    if warmup > 0:
        axes.axvspan(0, warmup, color="0.5", alpha=0.12, linewidth=0)
    return axes


def draw_windows(axes: Axes, run: xr.Dataset, line: str, suffix: str) -> None:
    """The mean window of each class; where windows are a distribution, its width, too."""
    for i, flow_class in enumerate(run["flow_class"].values):
        cwnd = run["cwnd"].isel(flow_class=i)
        axes.plot(run["time"], cwnd, line, label=f"{flow_class}{suffix}", **line_style(i))
        if run.attrs.get("engine") == "density":
            wide = run["cwnd_spread"].isel(flow_class=i)
            edges = np.maximum(cwnd - wide, 0), cwnd + wide
            axes.fill_between(run["time"], *edges, color=colour(i), alpha=0.15, linewidth=0)


def draw_queue(axes: Axes, run: xr.Dataset, line: str, suffix: str) -> None:
    """The queue of each link, and its law's average where it keeps one."""
    for i, link in enumerate(run["link"].values):
        queue, average = run["queue"].isel(link=i), run["avg_queue"].isel(link=i)
        axes.plot(run["time"], queue, line, label=f"{link}{suffix}", **line_style(2 * i + 2, 2.0))
        if float(average.max()) > 0:
            label = f"average{suffix}"
            axes.plot(run["time"], average, line, label=label, **line_style(2 * i + 3, 0.8))


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
            share[:, i], times, baseline=None, linestyle=line, label=label, **line_style(2 * i + 2)
        )


def draw_goodput(axes: Axes, run: xr.Dataset, line: str, suffix: str) -> None:
    """Packets delivered a second by a flow of each class, between samples."""
    times = run["time"].values
    middles = (times[1:] + times[:-1]) / 2
    for i, flow_class in enumerate(run["flow_class"].values):
        rate = np.diff(run["delivered"].isel(flow_class=i)) / np.diff(times)
        axes.plot(middles, rate, line, label=f"{flow_class}{suffix}", **line_style(i))


def line_style(number: int, width: float = 1.2) -> dict[str, Any]:
    """Colour and width of a line."""
    return {"color": colour(number), "linewidth": width}
