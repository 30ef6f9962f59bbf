"""Stability charts: Reno over RED, and Vegas without competitors."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

from vegasfluid.analysis.charts import (
    HIGHEST_FREQUENCY,
    LOWEST_FREQUENCY,
    STABLE_AT_ANY_GAIN,
    STABLE_AT_HIGH_GAIN,
    RenoPoint,
    VegasPoint,
    reno_critical_gain,
    vegas_boundary,
    vegas_unstable_gains,
)
from vegasfluid.plot.style import FAINT, colour, figure_of, new_axes, styled

__all__ = ["reno_chart", "stability_charts", "vegas_chart"]

SIZE, PANEL = (10.0, 4.8), (5.0, 4.8)
"""Sizes of new figures with both charts and with one, inches."""
WINDOWS = np.geomspace(4.0, 1000.0, 160)
"""Windows of Reno's chart, packets."""
MARKERS = "osD^v<>"
"""Marker shapes of the networks, repeated after the last."""
BOUNDARY_FREQUENCIES = np.linspace(LOWEST_FREQUENCY, HIGHEST_FREQUENCY - 1e-6, 400)
"""Frequencies along the stability boundary of Vegas, in units of 1/R."""
FOLD = np.linspace(STABLE_AT_ANY_GAIN, STABLE_AT_HIGH_GAIN, 100)
"""Values of T/R at which the stability boundary of Vegas has two gains."""
LEAST_GAIN, LARGEST_GAIN = 0.4, 1000.0
"""Range of gains that Vegas's chart always shows, packets per RTT per packet of backlog."""
MARGIN = 1.6
"""Factor by which a logarithmic axis extends beyond curves and points; chosen."""
MINOR_LABELS, NARROW = (2.0, 4.0, 6.0), 50.0
"""Labels between powers of ten, and the ratio of an axis's limits below which they are shown."""

Points = Mapping[str, RenoPoint | VegasPoint]
"""Coordinates of networks in the charts, by the name that the legend shows."""


@styled
def stability_charts(points: Points | None = None, ax: Sequence[Axes] | None = None) -> Figure:
    """Plot the stable regions of Reno over RED and of Vegas without competitors, with networks.

    Args:
        points: coordinates of networks, by the name for the legend (see
            `vegasfluid.analysis.charts.points_at`); None: no networks. Reno's chart has one
            stability boundary for each averaging constant among them.
        ax: two axes, for Reno and for Vegas; None: a new figure.

    Returns:
        The figure with both charts.

    >>> points = {"ours": RenoPoint(12.0, 0.5, 0.25), "theirs": VegasPoint(0.9, 2, 0)}
    >>> [axes.get_xlabel() for axes in stability_charts(points).axes]
    ['window W, packets', 'T / R, base RTT / RTT']
    """
    networks = dict(points or {})
    if ax is None:
        ax = list(Figure(figsize=SIZE, layout="constrained").subplots(1, 2))
    left, right = ax
    reno_chart({name: x for name, x in networks.items() if isinstance(x, RenoPoint)}, left)
    vegas_chart({name: x for name, x in networks.items() if isinstance(x, VegasPoint)}, right)
    return figure_of(left)


@styled
def reno_chart(points: Mapping[str, RenoPoint] | None = None, ax: Axes | None = None) -> Axes:
    """Plot the stable region of Reno over RED, gain against window, with networks as points.

    Args:
        points: coordinates of networks, by the name for the legend; None: no networks. There is
            one stability boundary for each averaging constant (and p W^2, if packets are dropped)
            among them; without networks, that of RED without averaging and drops.
        ax: axes to draw on; None: a new figure.

    Returns:
        The axes: window in packets; gain N p' / p (flows times slope of the drop probability over
        the queue, divided by this probability) without unit.
    """
    axes = new_axes(ax, PANEL)
    draw_reno(axes, points or {})
    return finish(axes)


@styled
def vegas_chart(points: Mapping[str, VegasPoint] | None = None, ax: Axes | None = None) -> Axes:
    """Plot the stable region of Vegas without competitors, gain against base RTT / RTT.

    Args:
        points: coordinates of networks, by the name for the legend; None: no networks.
        ax: axes to draw on; None: a new figure.

    Returns:
        The axes: base RTT / RTT without unit; gain, by how much less the window grows for each
        packet of backlog, in packets per RTT per packet.
    """
    axes = new_axes(ax, PANEL)
    draw_vegas(axes, points or {})
    return finish(axes)


def finish(axes: Axes) -> Axes:
    """Make a chart's gain axis logarithmic, and put the legend below; return the axes."""
    axes.set_yscale("log")
    axes.grid(True, alpha=FAINT)
    axes.yaxis.set_major_formatter("{x:g}")
    low, high = axes.get_ylim()
    axes.yaxis.set_minor_locator(LogLocator(subs=MINOR_LABELS if high < NARROW * low else ()))
    axes.yaxis.set_minor_formatter("{x:g}")
    if axes.get_legend_handles_labels()[0]:
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2)
    return axes


def draw_reno(axes: Axes, points: Mapping[str, RenoPoint]) -> None:
    """Draw Reno's chart: gain N p' / p against window (packets), and networks as points.

    There is one stability boundary for each averaging constant among the points.
    """
    gains = [point.gain for point in points.values()]
    boundaries = sorted({boundary_of(point) for point in points.values()}) or [(math.inf, 0.0)]
    colours = {boundary: colour(number) for number, boundary in enumerate(boundaries)}
    for (averaging, losses), hue in colours.items():
        critical = [reno_critical_gain(cwnd, averaging, losses / cwnd**2) for cwnd in WINDOWS]
        gains += [gain for gain in critical if math.isfinite(gain)]
        name = (
            "no averaging" if math.isinf(averaging) else f"averaging constant K R = {averaging:g}"
        )
        axes.plot(WINDOWS, critical, color=hue, label=name + (", drops" if losses else ""))
        below = np.minimum(critical, 1e9)
        axes.fill_between(WINDOWS, below, 1e-9, color=hue, alpha=0.12, linewidth=0)
    for number, (name, point) in enumerate(points.items()):
        mark(axes, name, (point.cwnd, point.gain), number, colours[boundary_of(point)])
    axes.set_xscale("log")
    axes.set_xlim(WINDOWS[0], WINDOWS[-1])
    axes.set_ylim(min(gains) / MARGIN, max(gains) * MARGIN)
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_title("Reno over RED")
    axes.set_xlabel("window W, packets")
    axes.set_ylabel("gain A = N p' / p")
    write(axes, 0.03, 0.04, "stable below the curve", ha="left", va="bottom")
    write(axes, 0.97, 0.96, "oscillates above it", ha="right", va="top")


def boundary_of(point: RenoPoint) -> tuple[float, float]:
    """Numbers that select a network's stability boundary, rounded to three digits.

    They are K R (rate of the queue's average times RTT) and, if packets are dropped, p W^2, else 0.
    """
    return float(f"{point.averaging:.3g}"), float(f"{point.drop_prob * point.cwnd**2:.3g}")


def draw_vegas(axes: Axes, points: Mapping[str, VegasPoint]) -> None:
    """Draw Vegas's chart: gain (packets per RTT per packet of backlog) against base RTT / RTT.

    Networks are points; the stable region is shaded.
    """
    ratios = np.array([*np.linspace(0.0, 1.0, 200)[1:], *FOLD])
    ratios.sort()
    low, high = np.transpose([vegas_unstable_gains(ratio) for ratio in ratios])
    most = max([LARGEST_GAIN, *(point.gain * MARGIN for point in points.values())])
    least = min([LEAST_GAIN, *(point.gain / MARGIN for point in points.values())])
    hue = colour(0)
    shade = {"color": hue, "alpha": 0.12, "linewidth": 0}
    low, high = np.minimum(low, most), np.minimum(high, most)
    axes.fill_between(ratios, least, low, **shade)
    axes.fill_between(ratios, high, most, where=low < most, **shade)
    boundary = [vegas_boundary(omega) for omega in BOUNDARY_FREQUENCIES]
    axes.plot(*np.transpose(boundary), color=hue, label="stability boundary")
    for number, (name, point) in enumerate(points.items()):
        mark(axes, name, (point.rtt_ratio, point.gain), number, hue)
    lowest = min([0.5, *(point.rtt_ratio - 0.05 for point in points.values())])
    axes.set_xlim(max(lowest, 0.0), 1.0)
    axes.set_ylim(least, most)
    axes.set_title("Vegas without competitors and losses")
    axes.set_xlabel("T / R, base RTT / RTT")
    axes.set_ylabel("gain G, packets per RTT per packet of backlog")
    write(
        axes,
        0.03,
        0.5,
        f"stable for any gain\nbelow {STABLE_AT_ANY_GAIN:.4f}",
        ha="left",
        va="bottom",
    )
    write(axes, 0.97, 0.96, "oscillates", ha="right", va="top")
    write(axes, 0.97, 0.04, "stable below the boundary", ha="right", va="bottom")


def mark(axes: Axes, name: str, at: tuple[float, float], number: int, hue: str) -> None:
    """Mark a network at coordinates `at` of a chart, with its name for the legend.

    `number` selects the shape; later marks are smaller, so that they do not hide earlier ones.
    `hue` is the colour.
    """
    style: dict[str, Any] = {"color": hue, "markeredgecolor": colour(3), "linestyle": "none"}
    style |= {"marker": MARKERS[number % len(MARKERS)], "markersize": max(9.0 - 2 * number, 4.0)}
    axes.plot(*at, label=name, **style)


def write(axes: Axes, x: float, y: float, text: str, **alignment: Any) -> None:
    """Write small text on a chart at (x, y), fractions of the axes' width and height."""
    axes.text(x, y, text, transform=axes.transAxes, fontsize="small", **alignment)
