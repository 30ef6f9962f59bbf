"""Lines of one run on a pair of axes: each function draws one quantity of all classes or links."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from vegasfluid.plot.style import colour, control_colours
from vegasfluid.quantities import mbps

__all__ = ["draw_distribution", "draw_drops", "draw_goodput", "draw_queue", "draw_rtt"]
__all__ += ["draw_windows"]

INTERVALS = 60
"""Number of intervals of a run over which drops are averaged to a probability; chosen."""


def draw_windows(axes: Axes, run: xr.Dataset, line: str, suffix: str) -> None:
    """Draw the mean window of each class of a run, packets, with this line style on the axes.

    For the density model also a band of one standard deviation around it. `suffix` ends names in
    the legend.
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
    """Draw the queue of each link of a run, packets, and its moving average where RED computes it.

    `line` is the line style; `suffix` ends names in the legend.
    """
    links = run["link"].values
    for i, link in enumerate(links):
        queue, average = run["queue"].isel(link=i), run["avg_queue"].isel(link=i)
        axes.plot(
            run["time"], queue, line, label=f"{link}{suffix}", **line_style(colour(2 * i + 2), 2.0)
        )
        if float(average.max()) > 0:
            label = f"average{suffix}" if len(links) == 1 else f"{link} (average){suffix}"
            axes.plot(run["time"], average, line, label=label, **line_style(colour(2 * i + 3), 0.8))


def draw_rtt(axes: Axes, run: xr.Dataset, line: str, suffix: str) -> None:
    """Draw the mean round-trip time of each class's flows, ms, with this line style on the axes.

    `suffix` ends names in the legend.
    """
    colours = class_colours(run)
    for i, flow_class in enumerate(run["flow_class"].values):
        rtt = 1e3 * run["rtt"].isel(flow_class=i)
        axes.plot(run["time"], rtt, line, label=f"{flow_class}{suffix}", **line_style(colours[i]))


def draw_distribution(axes: Axes, run: xr.Dataset, line: str, suffix: str) -> None:
    """Draw the cumulative distribution of each class's round-trip times (ms) after the warm-up.

    Each sample time counts once, with the mean over the class's flows; NaN is left out. `line` is
    the line style; `suffix` ends names in the legend.
    """
    later = run["time"].values >= float(run.attrs.get("warmup", 0))
    colours = class_colours(run)
    for i, flow_class in enumerate(run["flow_class"].values):
        rtt = 1e3 * run["rtt"].isel(flow_class=i).values[later]
        style = {"linestyle": line, "label": f"{flow_class}{suffix}", **line_style(colours[i])}
        axes.ecdf(rtt[np.isfinite(rtt)], **style)


def draw_drops(axes: Axes, run: xr.Dataset, line: str, suffix: str) -> None:
    """Draw the fraction of arriving packets that each link drops or marks, over a run's time.

    It is averaged over about 60 intervals; 0 in an interval without arrivals. `line` is the line
    style; `suffix` ends names in the legend.
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


def draw_goodput(axes: Axes, run: xr.Dataset, line: str, suffix: str, *, in_megabits: bool) -> None:
    """Draw the goodput per flow of each class of a run, averaged between samples.

    Args:
        axes: axes to draw on.
        run: trajectory.
        line: line style.
        suffix: end of names in the legend.
        in_megabits: whether in Mbit/s; else in packets/s.
    """
    unit = 1 / mbps(1.0, run.attrs["packet_bytes"]) if in_megabits else 1.0
    run, colours = without_short_intervals(run), class_colours(run)
    times = run["time"].values
    middles = (times[1:] + times[:-1]) / 2
    for i, flow_class in enumerate(run["flow_class"].values):
        rate = unit * np.diff(run["delivered"].isel(flow_class=i)) / np.diff(times)
        style = line_style(colours[i])
        axes.plot(middles, rate, line, label=f"{flow_class}{suffix}", **style)


def without_short_intervals(run: xr.Dataset) -> xr.Dataset:
    """The run without samples too soon after the one before: less than half the median interval.

    The end of the warm-up is an additional sample, which can be close to another one. The rate over
    such a short interval would be that of a few packets.
    """
    times = run["time"].values
    shortest, kept = np.median(np.diff(times)) / 2, [0]
    for number in range(1, len(times)):
        if times[number] - times[kept[-1]] >= shortest:
            kept.append(number)
    return run.isel(time=kept)


def class_colours(run: xr.Dataset) -> list[str]:
    """Colour of each flow class of a run, `#RRGGBB`, by its congestion control.

    In older files, which do not have the control, by the name and order of the classes.
    """
    names = run["control"] if "control" in run.coords else run["flow_class"]
    return control_colours([str(name) for name in names.values])


def line_style(hue: str, width: float = 1.2) -> dict[str, Any]:
    """Arguments of matplotlib for a line: its colour, and the width in points."""
    return {"color": hue, "linewidth": width}
