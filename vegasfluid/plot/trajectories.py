"""Plots of runs: windows, queues, drops and goodput over time, of one run or several."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import cycle
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import StepPatch

from vegasfluid.errors import InvalidInput, Words
from vegasfluid.plot.style import (
    FAINT,
    LINES,
    colour,
    control_colours,
    figure_of,
    new_axes,
    styled,
)
from vegasfluid.trajectory import ENGINES

__all__ = ["compare", "drops", "goodputs", "queues", "run_label", "trajectory", "windows"]

SIZE = (9.0, 9.0)
"""Size of a new figure with all panels, inches."""
PANEL = (7.0, 3.2)
"""Size of a new figure with one panel, inches."""
INTERVALS = 60
"""Number of intervals of a run over which drops are averaged to a probability; chosen."""
CLIPPED = 1.6
"""Height of an axis, relative to the largest value after the warm-up, if slow start is higher."""

DrawRun = Callable[[Axes, xr.Dataset, str, str], None]
"""Function that draws a run on axes, with a line style and a suffix for the legend."""


def trajectory(run: xr.Dataset, ax: Sequence[Axes] | None = None) -> Figure:
    """Plot windows, queues, drop probabilities and goodputs of one run over time.

    Args:
        run: trajectory of any engine.
        ax: four axes for these quantities; None: a new figure.

    Returns:
        The figure: windows and queues in packets, goodputs in packets/s per flow, time in s.
    """
    return compare(run, ax=ax)


def compare(*runs: xr.Dataset, ax: Sequence[Axes] | None = None) -> Figure:
    """Plot windows, queues, drop probabilities and goodputs of several runs on the same axes.

    Args:
        runs: at least one trajectory, each plotted in its own line style. The legend names a run by
            its attribute `label` (`run.assign_attrs(label=...)`) or, without it, by its engine.
        ax: four axes for these quantities; None: a new figure.

    Returns:
        The figure: windows and queues in packets, goodputs in packets/s per flow, time in s.

    Raises:
        InvalidInput: if there are no runs, or not four axes.
    """
    panels = four_axes(title_of(runs)) if ax is None else ax
    if len(panels) != len(PANELS):
        raise InvalidInput("compare", "the number of axes", str(len(PANELS)), len(panels))
    for draw, axes in zip(PANELS, panels, strict=True):
        draw(*runs, ax=axes)
        if axes is not panels[-1]:
            axes.set_xlabel("")
    return figure_of(panels[0])


@styled
def four_axes(title: str) -> Sequence[Axes]:
    """Four axes below each other in a new figure with a title, and with a common time axis."""
    figure = Figure(figsize=SIZE, layout="constrained")
    figure.suptitle(title)
    return list(figure.subplots(len(PANELS), 1, sharex=True))


@styled
def windows(*runs: xr.Dataset, ax: Axes | None = None) -> Axes:
    """Plot the mean window of a flow of each class (packets) over time (s).

    Runs of the density model also show the standard deviation, as a band.

    Args:
        runs: at least one trajectory.
        ax: axes to draw on; None: a new figure.

    Returns:
        The axes.
    """
    return panel(draw_windows, "window per flow, packets", runs, ax)


@styled
def queues(*runs: xr.Dataset, ax: Axes | None = None) -> Axes:
    """Plot the queue of each link and RED's average queue (packets) over time (s).

    Args:
        runs: at least one trajectory.
        ax: axes to draw on; None: a new figure.

    Returns:
        The axes.
    """
    return panel(draw_queue, "queue, packets", runs, ax)


@styled
def drops(*runs: xr.Dataset, ax: Axes | None = None) -> Axes:
    """Plot the fraction of arriving packets that each link drops or marks over time (s).

    It is averaged over about 60 intervals of a run.

    Args:
        runs: at least one trajectory.
        ax: axes to draw on; None: a new figure.

    Returns:
        The axes.
    """
    return panel(draw_drops, "drop probability", runs, ax)


@styled
def goodputs(*runs: xr.Dataset, ax: Axes | None = None) -> Axes:
    """Plot the goodput per flow of each class (packets/s) over time (s).

    Args:
        runs: at least one trajectory.
        ax: axes to draw on; None: a new figure.

    Returns:
        The axes.
    """
    return panel(draw_goodput, "goodput per flow, packets/s", runs, ax)


PANELS = (windows, queues, drops, goodputs)
"""Functions that draw the panels of a figure, from top to bottom."""


def run_label(run: xr.Dataset) -> str:
    """Name of a run in a legend: its attribute `label` or, without it, its engine."""
    return str(run.attrs.get("label") or run.attrs.get("engine", "run"))


def engine(run: xr.Dataset) -> str:
    """Name of the simulator that made a run, for titles; `run` if it is unknown."""
    return ENGINES.get(run.attrs.get("engine", ""), "run")


def title_of(runs: Sequence[xr.Dataset]) -> str:
    """Title of a figure for some runs: the model's title, and the simulators that made them."""
    engines = " and ".join(engine(run) for run in runs)
    title = runs[0].attrs.get("title") if runs else None
    return f"{title}: {engines}" if title else engines


def panel(draw: DrawRun, title: str, runs: Sequence[xr.Dataset], ax: Axes | None) -> Axes:
    """Draw one quantity of all runs on one pair of axes, and return the axes.

    Args:
        draw: draws the quantity of one run.
        title: name and unit of the quantity.
        runs: at least one trajectory; the warm-up (s) is shaded.
        ax: axes to draw on; None: a new figure.

    Raises:
        InvalidInput: if there are no runs.
    """
    if not runs:
        raise InvalidInput("plot", "runs", "one trajectory or more", Words("none"))
    axes = new_axes(ax, PANEL)
    for run, line in zip(runs, cycle(LINES), strict=False):
        suffix = f" ({run_label(run)})" if len(runs) > 1 else ""
        draw(axes, run, line, suffix)
    axes.set_title(title)
    axes.set_xlabel("time, s")
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1))
    axes.set_xlim(0, max(float(run["time"][-1]) for run in runs))
    axes.set_ylim(bottom=0)
    axes.grid(True, alpha=FAINT)
    warmup = max(float(run.attrs.get("warmup", 0)) for run in runs)
    if warmup > 0:
        clip_warmup(axes, warmup)
        axes.axvspan(0, warmup, color="0.5", alpha=0.12, linewidth=0)
    return axes


def clip_warmup(axes: Axes, warmup: float) -> None:
    """End the vertical axis near the largest value after the warm-up (s), if slow start is higher.

    Otherwise all that is measured would be a flat line below one peak.
    """
    curves = [(np.asarray(line.get_xdata()), np.asarray(line.get_ydata())) for line in axes.lines]
    for steps in axes.patches:
        if isinstance(steps, StepPatch):
            values, bounds, _ = steps.get_data()
            curves.append((np.asarray(bounds)[1:], np.asarray(values)))
    later = [values[times > warmup] for times, values in curves]
    highest = max((float(np.nanmax(values)) for values in later if values.size), default=0.0)
    peak = max((float(np.nanmax(values)) for _, values in curves if values.size), default=0.0)
    if highest > 0 and peak > CLIPPED * highest:
        axes.set_ylim(top=CLIPPED * highest)


def draw_windows(axes: Axes, run: xr.Dataset, line: str, suffix: str) -> None:
    """Draw the mean window of each class of a run, packets, with this line style on the axes.

    For the density model also its standard deviation, as a band. `suffix` ends names in the legend.
    """
    colours = class_colours(run)
    for i, flow_class in enumerate(run["flow_class"].values):
        cwnd = run["cwnd"].isel(flow_class=i)
        style = line_style(colours[i])
        axes.plot(run["time"], cwnd, line, label=f"{flow_class}{suffix}", **style)
        if run.attrs.get("engine") == "density":
            deviation = run["cwnd_spread"].isel(flow_class=i)
            edges = np.maximum(cwnd - deviation, 0), cwnd + deviation
            axes.fill_between(run["time"], *edges, color=colours[i], alpha=0.15, linewidth=0)


def draw_queue(axes: Axes, run: xr.Dataset, line: str, suffix: str) -> None:
    """Draw the queue of each link of a run, packets, and the average queue of links with RED.

    `line` is the line style; `suffix` ends names in the legend.
    """
    for i, link in enumerate(run["link"].values):
        queue, average = run["queue"].isel(link=i), run["avg_queue"].isel(link=i)
        axes.plot(
            run["time"], queue, line, label=f"{link}{suffix}", **line_style(colour(2 * i + 2), 2.0)
        )
        if float(average.max()) > 0:
            label = f"average{suffix}"
            axes.plot(run["time"], average, line, label=label, **line_style(colour(2 * i + 3), 0.8))


def draw_drops(axes: Axes, run: xr.Dataset, line: str, suffix: str) -> None:
    """Draw the fraction of arriving packets that each link drops or marks, over a run's time.

    It is averaged over about 60 intervals. `line` is the line style; `suffix` ends names in the
    legend.
    """
    step = max(1, (run.sizes["time"] - 1) // INTERVALS)
    samples = run.isel(time=slice(None, None, step))
    lost = samples["lost"] + samples.get("marked", 0)
    losses, arrivals = np.diff(lost, axis=0), np.diff(samples["lost"] + samples["admitted"], axis=0)
    times = samples["time"].values
    fraction = losses / np.maximum(arrivals, 1.0)
    for i, link in enumerate(run["link"].values):
        style: dict[str, Any] = {"linestyle": line, "label": f"{link}{suffix}"}
        axes.stairs(fraction[:, i], times, baseline=None, **style, **line_style(colour(2 * i + 2)))


def draw_goodput(axes: Axes, run: xr.Dataset, line: str, suffix: str) -> None:
    """Draw the goodput per flow of each class of a run, packets/s, averaged between samples.

    `line` is the line style; `suffix` ends names in the legend.
    """
    times, colours = run["time"].values, class_colours(run)
    middles = (times[1:] + times[:-1]) / 2
    for i, flow_class in enumerate(run["flow_class"].values):
        rate = np.diff(run["delivered"].isel(flow_class=i)) / np.diff(times)
        style = line_style(colours[i])
        axes.plot(middles, rate, line, label=f"{flow_class}{suffix}", **style)


def class_colours(run: xr.Dataset) -> list[str]:
    """Colour of each flow class of a run by its congestion control; by order in older files."""
    names = run["control"] if "control" in run.coords else run["flow_class"]
    return control_colours([str(name) for name in names.values])


def line_style(hue: str, width: float = 1.2) -> dict[str, Any]:
    """Arguments of matplotlib for a line: its colour, and the width in points."""
    return {"color": hue, "linewidth": width}
