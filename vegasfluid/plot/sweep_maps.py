"""Pictures of sweeps: a metric over one dimension or two, panels for two more.

Colours are cividis where more is only more, and from orange over white to purple where 1 is the
middle (a ratio): both can be told apart by colour-blind readers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.colorbar import Colorbar
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

from vegasfluid.errors import InvalidInput
from vegasfluid.plot.style import FAINT, colour, new_axes, styled

__all__ = ["fairness_map", "sweep_panels"]

PANEL = (4.2, 3.4)
"""Inches."""
MOST_PANELS = 36
WIDE = 20.0
"""Values that are further apart than this are drawn by their logarithms."""
INNER = ("flow_class", "link")


@styled
def fairness_map(
    data: xr.Dataset, over: Sequence[str] = (), metric: str = "ratio", ax: Axes | None = None
) -> Axes:
    """Draw a metric of a sweep over two of its dimensions, and where flows are alike.

    Args:
        data: the results of a sweep, done or not; the mean over seeds is drawn, and what is
            missing stays empty.
        over: the two dimensions, upwards and to the right; empty: the last two.
        metric: `ratio` has a line where it is 1.
        ax: the axes; None: those of a new figure.

    Raises:
        InvalidInput: for an unknown metric or dimension, or where two are not what is left.
    """
    values, along, panels = sorted_out(data, metric, over)
    if len(along) != 2 or panels:
        allowed = "the two dimensions that have several values; choose of the others by isel or sel"
        raise InvalidInput("fairness_map", "over", allowed, ", ".join([*panels, *along]))
    axes = new_axes(ax, (PANEL[0] + 1, PANEL[1]))
    drawn = draw_panel(axes, values, along, scale_of(metric, values.values), data, "")
    bar = colour_bar(drawn, [axes], titled(data, metric))
    if metric == "ratio":
        x, y = (positions(values[dim]) for dim in along[::-1])
        found = np.ma.masked_invalid(values.transpose(*along).values)
        if found.count() and found.min() < 1 < found.max():
            line = axes.contour(x, y, found, levels=[1.0], colors=["black"], linewidths=1.2)
            bar.add_lines(line)
    return axes


@styled
def sweep_panels(data: xr.Dataset, metric: str = "ratio", over: Sequence[str] = ()) -> Figure:
    """Draw a metric, the mean over seeds; what is missing or failed stays empty.

    Args:
        data: the results of a sweep, done or not.
        metric: such as `ratio`; of those that classes or links have, each is a panel.
        over: one dimension or two that are drawn along the axes; empty: the last two with more
            than one value. What is left with more than one value makes panels: rows and columns.

    Raises:
        InvalidInput: for an unknown metric or dimension, or more dimensions than can be shown.
    """
    values, along, panels = sorted_out(data, metric, over)
    rows, columns = (values[dim] if dim else None for dim in (*panels, None, None)[:2])
    shape = tuple(1 if of is None else of.size for of in (rows, columns))
    if shape[0] * shape[1] > MOST_PANELS:
        raise InvalidInput(
            "sweep", "--plot-over", f"such that panels are {MOST_PANELS} or less", along
        )
    figure = Figure(figsize=(PANEL[0] * shape[1] + 1, PANEL[1] * shape[0]), layout="constrained")
    grid = figure.subplots(*shape, squeeze=False, sharex=True, sharey=True)
    scale = scale_of(metric, values.values)
    drawn = None
    for place, axes in np.ndenumerate(grid):
        chosen = dict(zip(panels, place, strict=False))
        panel = values.isel(chosen)
        drawn = draw_panel(axes, panel, along, scale, data, titled(data, metric))
        axes.set_title(
            " ".join(f"{dim} {label(values[dim].values[n])}" for dim, n in chosen.items())
        )
    if drawn is not None:
        colour_bar(drawn, grid.ravel().tolist(), titled(data, metric))
    return figure


def colour_bar(drawn: Any, axes: list[Axes], title: str) -> Colorbar:
    """What the colours mean, in plain numbers: 0.5 and 2, not powers of ten."""
    by_logarithm = isinstance(drawn.norm, LogNorm)
    ticks = LogLocator(subs=(1.0, 2.0, 5.0)) if by_logarithm else None
    bar = axes[0].figure.colorbar(drawn, ax=axes, label=title, ticks=ticks, format="{x:g}")
    bar.ax.minorticks_off()
    return bar


def sorted_out(
    data: xr.Dataset, metric: str, over: Sequence[str]
) -> tuple[xr.DataArray, list[str], list[str]]:
    """The values to draw, the dimensions along the axes (slow, fast), and those of panels."""
    known = [str(name) for name in data.data_vars if data[name].dtype.kind == "f"]
    if metric not in known:
        raise InvalidInput("sweep", "--metric", "one of " + ", ".join(known), metric)
    values = data[metric].load()
    if "seed" in values.dims:  # or it was chosen already
        with np.errstate(all="ignore"):
            values = values.mean("seed", skipna=True)
    values = values.squeeze([dim for dim in values.dims if values.sizes[dim] == 1], drop=True)
    dims = [str(dim) for dim in values.dims]
    for dim in over:
        if dim not in dims:
            known = "dimensions with several values: " + ", ".join(dims)
            raise InvalidInput("sweep", "--plot-over", known, dim)
    plain = [dim for dim in dims if dim not in INNER]
    numbers = [dim for dim in plain if values[dim].dtype.kind == "f"] or plain
    along = list(over) or numbers[-2:]
    panels = [dim for dim in dims if dim not in along]
    if not 1 <= len(along) <= 2 or len(panels) > 2:
        allowed = "one or two dimensions that leave two or less for panels"
        raise InvalidInput("sweep", "--plot-over", allowed, ", ".join(along))
    return values, along, panels


def scale_of(metric: str, values: np.ndarray) -> dict[str, Any]:
    """The colours of a map."""
    finite = values[np.isfinite(values) & (values > 0)] if metric == "ratio" else values
    finite = finite[np.isfinite(finite)]
    if not finite.size:
        return {"cmap": "cividis"}
    if metric == "ratio":
        most = float(np.clip(np.max(np.maximum(finite, 1 / finite)), 1.1, 100.0))
        return {"cmap": "PuOr", "norm": LogNorm(1 / most, most)}
    return {"cmap": "cividis", "norm": Normalize(float(finite.min()), float(finite.max()))}


def draw_panel(
    axes: Axes,
    values: xr.DataArray,
    along: list[str],
    scale: dict[str, Any],
    data: xr.Dataset,
    title: str,
) -> Any:
    """A map over two dimensions, or a line over one; the map."""
    dims = along[::-1]  # the slow one upwards
    for dim, which in zip(dims, "xy", strict=False):
        labelled(axes, which, values[dim], data[dim].attrs.get("units", "1"))
    if len(dims) == 1:
        axes.plot(positions(values[dims[0]]), values.values, "o-", color=colour(0), markersize=4)
        axes.set_ylabel(title)
        axes.grid(True, alpha=FAINT)
        return None
    image = np.ma.masked_invalid(values.transpose(*along).values)
    return axes.pcolormesh(*(edges(values[dim]) for dim in dims), image, **scale)


def positions(of: xr.DataArray) -> np.ndarray:
    """Where the values of a dimension stand: names side by side."""
    return of.values if of.dtype.kind == "f" else np.arange(of.size, dtype=float)


def by_ratio(of: xr.DataArray) -> bool:
    """Whether the values of a dimension are drawn by their logarithms."""
    return of.dtype.kind == "f" and of.values.min() > 0 and of.values.max() > WIDE * of.values.min()


def edges(of: xr.DataArray) -> np.ndarray:
    """Where the cells of a map begin and end: half-way between the values."""
    at = np.log(of.values) if by_ratio(of) else positions(of)
    steps = np.diff(at) if at.size > 1 else np.ones(1)
    middles = at[:-1] + steps[: at.size - 1] / 2
    found = np.concatenate([[at[0] - steps[0] / 2], middles, [at[-1] + steps[-1] / 2]])
    return np.exp(found) if by_ratio(of) else found


def labelled(axes: Axes, which: str, of: xr.DataArray, units: str) -> None:
    """The name, the unit and the scale of an axis."""
    name = str(of.name)
    said = units == "1" or name.endswith("_" + units)
    getattr(axes, f"set_{which}label")(name if said else f"{name}, {units}")
    if of.dtype.kind != "f":
        getattr(axes, f"set_{which}ticks")(positions(of), list(map(label, of.values)))
    elif by_ratio(of):
        getattr(axes, f"set_{which}scale")("log")
        getattr(axes, f"{which}axis").set_major_formatter("{x:g}")


def titled(data: xr.Dataset, metric: str) -> str:
    """A metric's name and unit."""
    units = data[metric].attrs.get("units", "1")
    return metric if units == "1" else f"{metric}, {units}"


def label(value: Any) -> str:
    """A label along a dimension."""
    return f"{value:g}" if isinstance(value, float) else str(value)
