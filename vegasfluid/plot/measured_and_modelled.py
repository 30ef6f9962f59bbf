"""A measurement and the model of it on the same axes: windows, RTTs and goodputs."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from vegasfluid.observe import Measurement, NetworkEstimate, time_grid
from vegasfluid.observe.time_grid import binned_rates
from vegasfluid.plot.style import FAINT, control_colours, styled
from vegasfluid.quantities import mbps

__all__ = ["measured_and_modelled"]

SIZE = (9.0, 8.0)
"""Size of the figure, inches."""
LABELS = ("window, packets", "RTT, ms", "goodput, Mbit/s")
"""Labels of the axes."""
INTERVALS = 60
"""Number of equal intervals of each curve's time over which goodputs are averaged."""


@styled
def measured_and_modelled(
    found: NetworkEstimate, measurement: Measurement, run: xr.Dataset
) -> Figure:
    """Plot mean windows, RTTs and goodputs of each class, measured and in the model.

    Args:
        found: estimates from the measurement.
        measurement: the measurement from which they are.
        run: trajectory of the model of `found`, from `vegasfluid.observe.repeat`, with the packet
            size as attribute `packet_bytes`.

    Returns:
        The figure: windows in packets, RTTs in ms, goodputs in Mbit/s, each the mean of a
        class's flows over time in s. The measurement is drawn solid, the model dashed.
    """
    figure = Figure(figsize=SIZE, layout="constrained")
    panels = [figure.add_subplot(3, 1, k + 1) for k in range(3)]
    colours = control_colours([each.control for each in found.classes])
    grid = time_grid(measurement)
    time = grid.time - grid.time[0]
    names = [str(name) for name in run["flow_class"].values]
    megabits = 1 / mbps(1.0, run.attrs["packet_bytes"])
    for each, colour in zip(found.classes, colours, strict=True):
        flows = list(each.flows)
        delivered = megabits * grid.delivered[flows]
        measured = (time, grid.window[flows], grid.rtt[flows], delivered)
        _draw(panels, measured, {"color": colour, "label": f"{each.name}, measured"})
        mine = run.isel(flow_class=names.index(each.name))
        values = (mine[name].values[None] for name in ("cwnd", "rtt", "delivered"))
        window, rtt, delivered = values
        modelled = (run["time"].values, window, rtt, megabits * delivered)
        style = {"color": colour, "linestyle": "--", "label": f"{each.name}, model"}
        _draw(panels, modelled, style)
    for axes, label in zip(panels, LABELS, strict=True):
        axes.set_ylabel(label)
        axes.set_ylim(bottom=0)
        axes.grid(alpha=FAINT)
    panels[0].legend(ncols=2)
    panels[-1].set_xlabel("time, s")
    return figure


def _draw(panels: list[Axes], series: tuple[np.ndarray, ...], style: dict[str, Any]) -> None:
    """Draw means over flows of windows, RTTs (ms) and goodputs (Mbit/s) on three axes.

    Args:
        panels: axes for windows, RTTs and goodputs.
        series: times (s) (time,), and windows (packets), RTTs (s) and data delivered since the
            start (Mbit) (flow, time); NaN where a flow is not there.
        style: arguments of matplotlib for the lines.
    """
    time, window, rtt, delivered = series
    style = {**style, "linewidth": 1}
    panels[0].plot(time, _mean(window), **style)
    panels[1].plot(time, 1e3 * _mean(rtt), **style)
    edges, rates = binned_rates(time, delivered, float(time[-1] - time[0]) / INTERVALS)
    panels[2].plot([(a + b) / 2 for a, b in edges], rates.mean(axis=0), **style)


def _mean(values: np.ndarray) -> np.ndarray:
    """Mean of `values` (flow, time) over flows that are not NaN; NaN where all are; (time,)."""
    there = np.isfinite(values)
    total = np.where(there, values, 0.0).sum(axis=0)
    return np.where(there.any(axis=0), total / np.maximum(there.sum(axis=0), 1), np.nan)
