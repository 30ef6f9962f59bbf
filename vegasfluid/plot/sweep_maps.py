"""Plots of sweeps: a metric over one or two dimensions, with panels for up to two more.

A ratio has colours from orange over white (at 1) to purple, any other metric those of cividis.
Colour-blind readers can distinguish both.
"""

from __future__ import annotations

import textwrap
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
"""Size of a panel, inches."""
MOST_PANELS = 36
"""Largest number of panels in a figure; chosen."""
WIDE = 20.0
"""Ratio of largest to smallest value above which an axis is logarithmic; chosen."""
MOST_POINTS = 900
"""Largest number of points of a map that are drawn as dots; chosen."""
SUFFIXES = {"Mbit/s": "mbps"}
"""Endings of parameter names by unit, where they differ from it."""
TITLE_WIDTH = 44
"""Characters in a line of the title, for each column of panels."""
LABEL_WIDTH = 38
"""Characters in a line of a colour bar's label."""
INNER = ("flow_class", "link")
"""Dimensions of a metric that are not axes of the sweep."""


@styled
def fairness_map(
    data: xr.Dataset, over: Sequence[str] = (), metric: str = "ratio", ax: Axes | None = None
) -> Axes:
    """Plot a metric of a sweep as a map over two of its dimensions, averaged over seeds.

    Points that are missing or failed stay empty. The colours of a ratio are logarithmic, centred on
    1; those of other metrics are linear.

    Args:
        data: results of a sweep, from `open_sweep`; the sweep may be incomplete.
        over: names of the vertical and the horizontal dimension; empty: the last two that have
            several values, numbers before names.
        metric: name of the metric; `ratio` gets a black line where it is 1.
        ax: axes to draw on; None: a new figure.

    Returns:
        The axes with the map, whose colour bar shows the metric's unit.

    Raises:
        InvalidInput: for an unknown metric or dimension, or if more than two dimensions have
            several values (select one of each with `data.isel` or `data.sel`).
    """
    values, along, panels = values_and_dims(data, metric, over)
    if len(along) != 2 or panels:
        allowed = "the only two dimensions with several values (use isel or sel for the others)"
        raise InvalidInput("fairness_map", "over", allowed, ", ".join([*panels, *along]))
    axes = new_axes(ax, (PANEL[0] + 1, PANEL[1]))
    if data.attrs.get("title"):
        axes.set_title(textwrap.fill(data.attrs["title"], TITLE_WIDTH))
    mesh = draw_panel(axes, values, along, scale_of(metric, values.values), data, "")
    bar = colour_bar(mesh, [axes], metric_label(data, metric))
    if metric == "ratio":
        x, y = (positions(values[dim]) for dim in along[::-1])
        ratio = np.ma.masked_invalid(values.transpose(*along).values)
        if ratio.count() and ratio.min() < 1 < ratio.max():
            line = axes.contour(x, y, ratio, levels=[1.0], colors=["black"], linewidths=1.2)
            bar.add_lines(line)
    return axes


@styled
def sweep_panels(data: xr.Dataset, metric: str = "ratio", over: Sequence[str] = ()) -> Figure:
    """Plot a metric of a sweep as lines or maps in panels, averaged over seeds.

    Points that are missing or failed stay empty. A metric of flow classes or links has a panel for
    each of them.

    Args:
        data: results of a sweep, from `open_sweep`; the sweep may be incomplete.
        metric: name of the metric, such as `ratio`.
        over: names of one or two dimensions along the axes of each panel, the vertical one first;
            empty: the last two that have several values, numbers before names. Up to two other
            dimensions with several values become the rows and columns of panels.

    Returns:
        The figure; its labels have the units.

    Raises:
        InvalidInput: for an unknown metric or dimension, more than two dimensions for the axes or
            for the panels, or more than 36 panels.
    """
    values, along, panels = values_and_dims(data, metric, over)
    rows, columns = (values[dim] if dim else None for dim in (*panels, None, None)[:2])
    shape = tuple(1 if dim is None else dim.size for dim in (rows, columns))
    if shape[0] * shape[1] > MOST_PANELS:
        raise InvalidInput(
            "sweep", "--plot-over", f"dimensions that make at most {MOST_PANELS} panels", along
        )
    figure = Figure(figsize=(PANEL[0] * shape[1] + 1, PANEL[1] * shape[0]), layout="constrained")
    if data.attrs.get("title"):
        figure.suptitle(textwrap.fill(data.attrs["title"], TITLE_WIDTH * shape[1]))
    grid = figure.subplots(*shape, squeeze=False, sharex=True, sharey=True)
    scale = scale_of(metric, values.values)
    mesh = None
    for position, axes in np.ndenumerate(grid):
        indices = dict(zip(panels, position, strict=False))
        panel = values.isel(indices)
        mesh = draw_panel(axes, panel, along, scale, data, metric_label(data, metric))
        axes.set_title(
            " ".join(f"{dim} {label(values[dim].values[n])}" for dim, n in indices.items())
        )
    if mesh is not None:
        colour_bar(mesh, grid.ravel().tolist(), metric_label(data, metric))
    return figure


def colour_bar(mesh: Any, axes: list[Axes], title: str) -> Colorbar:
    """Add a colour bar for a map to the figure of some axes, and return it.

    Its labels are plain numbers, such as 0.5 and 2, instead of powers of ten.
    """
    ticks = LogLocator(subs=(1.0, 2.0, 5.0)) if isinstance(mesh.norm, LogNorm) else None
    bar = axes[0].figure.colorbar(mesh, ax=axes, label=title, ticks=ticks, format="{x:g}")
    bar.ax.minorticks_off()
    return bar


def values_and_dims(
    data: xr.Dataset, metric: str, over: Sequence[str]
) -> tuple[xr.DataArray, list[str], list[str]]:
    """A metric's values averaged over seeds, the dimensions of the axes, and those of the panels.

    Args:
        data: results of a sweep.
        metric: name of the metric.
        over: dimensions for the axes, vertical first; empty: the last one or two, those with
            numbers before others.

    Returns:
        The values without dimensions of size 1; one or two names of dimensions along the axes; up
        to two names of dimensions for rows and columns of panels.

    Raises:
        InvalidInput: for an unknown name, or more than two dimensions for the axes or the panels.
    """
    known = [str(name) for name in data.data_vars if data[name].dtype.kind == "f"]
    if metric not in known:
        raise InvalidInput("sweep", "--metric", "one of " + ", ".join(known), metric)
    values = data[metric].load()
    if "seed" in values.dims:  # not if the caller selected a seed
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
        allowed = "one or two dimensions that leave at most two for panels"
        raise InvalidInput("sweep", "--plot-over", allowed, ", ".join(along))
    return values, along, panels


def scale_of(metric: str, values: np.ndarray) -> dict[str, Any]:
    """Arguments `cmap` and `norm` of `pcolormesh` for the colours of a map of these values.

    A ratio has a logarithmic scale centred on 1, which ends at the farthest value, but between 1.1
    and 100. Any other metric has a linear one from lowest to highest. NaN, infinite values, and
    ratios that are not above 0 do not count; without any other value there is no `norm`.
    """
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
    """Draw values over two dimensions as a map, or over one as a line, with labelled axes.

    Args:
        axes: axes to draw on.
        values: the metric, with these dimensions only.
        along: one dimension, or the vertical and the horizontal one.
        scale: arguments of `pcolormesh` for the colours of a map.
        data: results of the sweep, with the units of the dimensions.
        title: label of the vertical axis of a line.

    Returns:
        The map, or None for a line.
    """
    dims = along[::-1]  # horizontal, vertical
    for dim, which in zip(dims, "xy", strict=False):
        set_up_axis(axes, which, values[dim], data[dim].attrs.get("units", "1"))
    if len(dims) == 1:
        if values.name == "ratio":
            axes.axhline(1.0, color="0.5", linewidth=0.8, linestyle="--")
        axes.plot(positions(values[dims[0]]), values.values, "o-", color=colour(0), markersize=4)
        axes.set_ylabel(title)
        axes.grid(True, alpha=FAINT)
        return None
    image = np.ma.masked_invalid(values.transpose(*along).values)
    if image.size <= MOST_POINTS:
        x, y = np.meshgrid(*(positions(values[dim]) for dim in dims))
        axes.plot(x[~image.mask], y[~image.mask], ".", color="0.35", markersize=1.5)
    return axes.pcolormesh(*(edges(values[dim]) for dim in dims), image, **scale)


def positions(dim: xr.DataArray) -> np.ndarray:
    """Positions of a dimension's values along an axis: numbers as they are, names at 0, 1, ..."""
    return dim.values if dim.dtype.kind == "f" else np.arange(dim.size, dtype=float)


def is_logarithmic(dim: xr.DataArray) -> bool:
    """Whether a dimension gets a logarithmic axis: values above 0 that span over a factor of 20."""
    values = dim.values
    return dim.dtype.kind == "f" and values.min() > 0 and values.max() > WIDE * values.min()


def edges(dim: xr.DataArray) -> np.ndarray:
    """Edges of a map's cells along a dimension, half-way between its values; (values + 1,).

    They are in the unit of the dimension, or half-way between 0, 1, ... for names. On a logarithmic
    axis they are half-way in the logarithm. A single value has edges half a unit away.
    """
    centres = np.log(dim.values) if is_logarithmic(dim) else positions(dim)
    steps = np.diff(centres) if centres.size > 1 else np.ones(1)
    middles = centres[:-1] + steps[: centres.size - 1] / 2
    first, last = centres[0] - steps[0] / 2, centres[-1] + steps[-1] / 2
    all_edges = np.concatenate([[first], middles, [last]])
    return np.exp(all_edges) if is_logarithmic(dim) else all_edges


def set_up_axis(axes: Axes, which: str, dim: xr.DataArray, units: str) -> None:
    """Set label (with `units`), ticks and scale of axis `which` (`x` or `y`) for a dimension."""
    getattr(axes, f"set_{which}label")(name_in_words(str(dim.name), units))
    if dim.dtype.kind != "f":
        getattr(axes, f"set_{which}ticks")(positions(dim), list(map(label, dim.values)))
    elif is_logarithmic(dim):
        getattr(axes, f"set_{which}scale")("log")
        getattr(axes, f"{which}axis").set_major_formatter("{x:g}")


def name_in_words(name: str, units: str) -> str:
    """Label of a dimension: owner and parameter in words, and the unit.

    >>> name_in_words("vegas.alpha_packets", "packets")
    'vegas: alpha, packets'
    >>> name_in_words("bottleneck.capacity_mbps", "Mbit/s")
    'bottleneck: capacity, Mbit/s'
    """
    owner, _, key = name.rpartition(".")
    words = key.removesuffix(f"_{SUFFIXES.get(units, units)}").replace("_", " ")
    text = f"{owner}: {words}" if owner else words
    return text if units == "1" else f"{text}, {units}"


def metric_label(data: xr.Dataset, metric: str) -> str:
    """Label for a metric of a sweep: its meaning and, if it has one, its unit."""
    units = data[metric].attrs.get("units", "1")
    meaning = data[metric].attrs.get("long_name", metric.replace("_", " "))
    text = meaning if units == "1" else f"{meaning}, {units}"
    return textwrap.fill(text, LABEL_WIDTH)


def label(value: Any) -> str:
    """Text for one value of a dimension: a short number, or the name."""
    return f"{value:g}" if isinstance(value, float) else str(value)
