"""Plots of runs: windows, queues, delays, drops and goodput over time, of one run or several."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import cycle

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import StepPatch

from vegasfluid.errors import InvalidInput, Words
from vegasfluid.plot.run_lines import (
    draw_distribution,
    draw_drops,
    draw_goodput,
    draw_queue,
    draw_rtt,
    draw_windows,
)
from vegasfluid.plot.style import FAINT, LINES, figure_of, new_axes, styled
from vegasfluid.trajectory import ENGINES

__all__ = ["compare", "delay_distribution", "delays", "drops", "goodput_title", "goodputs"]
__all__ += ["queues", "run_label", "trajectory", "windows"]

SIZE = (9.0, 11.0)
"""Size of a new figure with all panels, inches."""
PANEL = (7.0, 3.2)
"""Size of a new figure with one panel, inches."""
CLIPPED = 1.6
"""Upper end of an axis over the largest value after the warm-up, if values before exceed it."""

DrawRun = Callable[[Axes, xr.Dataset, str, str], None]
"""Function that draws a run on axes, with a line style and a suffix for the legend."""


def trajectory(run: xr.Dataset, ax: Sequence[Axes] | None = None) -> Figure:
    """Plot windows, queues, round-trip times, drop probabilities and goodputs of one run over time.

    Args:
        run: trajectory of any engine.
        ax: five axes for these quantities; None: a new figure.

    Returns:
        The figure: windows and queues in packets, round-trip times in ms, goodputs in Mbit/s per
        flow, time in s.
    """
    return compare(run, ax=ax)


def compare(*runs: xr.Dataset, ax: Sequence[Axes] | None = None) -> Figure:
    """Plot windows, queues, round-trip times, drops and goodputs of several runs on the same axes.

    Args:
        runs: at least one trajectory, each plotted in its own line style. The legend names a run by
            its attribute `label` (`run.assign_attrs(label=...)`) or, without it, by its engine.
        ax: five axes for these quantities; None: a new figure.

    Returns:
        The figure: windows and queues in packets, round-trip times in ms, goodputs in Mbit/s per
        flow, time in s.

    Raises:
        InvalidInput: if there are no runs, or not five axes.
    """
    panels = new_panels(title_of(runs)) if ax is None else ax
    if len(panels) != len(PANELS):
        raise InvalidInput("compare", "the number of axes", str(len(PANELS)), len(panels))
    for draw, axes in zip(PANELS, panels, strict=True):
        draw(*runs, ax=axes)
        if axes is not panels[-1]:
            axes.set_xlabel("")
    return figure_of(panels[0])


@styled
def new_panels(title: str) -> Sequence[Axes]:
    """Five axes below each other in a new figure with a title, and with a common time axis."""
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
def delays(*runs: xr.Dataset, ax: Axes | None = None) -> Axes:
    """Plot the mean round-trip time of the flows of each class (ms) over time (s).

    Args:
        runs: at least one trajectory.
        ax: axes to draw on; None: a new figure.

    Returns:
        The axes.
    """
    return panel(draw_rtt, "round-trip time, ms", runs, ax)


@styled
def delay_distribution(*runs: xr.Dataset, ax: Axes | None = None) -> Axes:
    """Plot the cumulative distribution of the round-trip times of each class after the warm-up.

    Args:
        runs: at least one trajectory. All sample times have equal weights; at each, the mean over
            a class's flows is counted.
        ax: axes to draw on; None: a new figure.

    Returns:
        The axes: for each round-trip time (ms) the fraction of the sample times (0 to 1) at which
        the class's mean is at most this long.

    Raises:
        InvalidInput: if there are no runs.
    """
    axes = axes_with(draw_distribution, runs, ax)
    axes.set_title("round-trip times after the warm-up")
    axes.set_xlabel("round-trip time, ms")
    axes.set_ylabel("share of the time")
    axes.set_ylim(0, 1)
    return axes


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
    """Plot the goodput per flow of each class (Mbit/s) over time (s).

    Files that were written by version 0.1.0 or earlier do not have the packet size: if any run is
    from one, all are in packets/s.

    Args:
        runs: at least one trajectory.
        ax: axes to draw on; None: a new figure.

    Returns:
        The axes.
    """
    draw = partial(draw_goodput, in_megabits=has_packet_size(runs))
    return panel(draw, goodput_title(*runs), runs, ax)


def goodput_title(*runs: xr.Dataset) -> str:
    """Name and unit of the goodputs that `goodputs` plots of these runs."""
    return f"goodput per flow, {'Mbit/s' if has_packet_size(runs) else 'packets/s'}"


def has_packet_size(runs: Sequence[xr.Dataset]) -> bool:
    """Whether all runs have the size of their packets, so that Mbit/s can be computed."""
    return all("packet_bytes" in run.attrs for run in runs)


PANELS = (windows, queues, delays, drops, goodputs)
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
    axes = axes_with(draw, runs, ax)
    axes.set_title(title)
    axes.set_xlabel("time, s")
    axes.set_xlim(0, max(float(run["time"][-1]) for run in runs))
    axes.set_ylim(bottom=0)
    warmup = max(float(run.attrs.get("warmup", 0)) for run in runs)
    if warmup > 0:
        clip_warmup(axes, warmup)
        axes.axvspan(0, warmup, color="0.5", alpha=0.12, linewidth=0)
    return axes


def axes_with(draw: DrawRun, runs: Sequence[xr.Dataset], ax: Axes | None) -> Axes:
    """Axes on which all runs are drawn, each in its line style, with a legend at the right.

    Args:
        draw: draws one run.
        runs: at least one trajectory.
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
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1))
    axes.grid(True, alpha=FAINT)
    return axes


def clip_warmup(axes: Axes, warmup: float) -> None:
    """End the vertical axis at 1.6 times the largest value after the warm-up, if a peak is higher.

    Otherwise a peak in slow start would make all later values look flat. `warmup` is in s. Nothing
    changes if no value after the warm-up is above 0.
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
