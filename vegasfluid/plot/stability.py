"""Pictures of the stability charts: Reno over RED, and Vegas by itself."""

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
WINDOWS = np.geomspace(4.0, 1000.0, 160)
"""Packets."""
MARKERS = "osD^v<>"
EDGE = np.linspace(LOWEST_FREQUENCY, HIGHEST_FREQUENCY - 1e-6, 400)
"""Frequencies along the edge of the chart of Vegas, in units of 1/R."""
FOLD = np.linspace(STABLE_AT_ANY_GAIN, STABLE_AT_HIGH_GAIN, 100)
"""T/R where the edge comes back."""
LEAST_GAIN, LARGEST_GAIN = 0.4, 1000.0
"""Of that chart, 1/packets."""
ROOM = 1.6
"""So far beyond curves and points a logarithmic axis goes."""
BETWEEN, FEW = (2.0, 4.0, 6.0), 50.0
"""Labels between powers of ten, on an axis whose end is less than so many times its beginning."""

Points = Mapping[str, RenoPoint | VegasPoint]


@styled
def stability_charts(points: Points | None = None, ax: Sequence[Axes] | None = None) -> Figure:
    """Draw where Reno over RED, and Vegas by itself, are stable, and where networks stand.

    Args:
        points: of networks, by the names that they shall have in the picture. For each rate of
            averaging among them Reno's chart has a curve.
        ax: two axes, for Reno and for Vegas; None: those of a new figure.

    >>> points = {"ours": RenoPoint(12.0, 0.5, 0.25), "theirs": VegasPoint(0.9, 2, 0)}
    >>> [axes.get_xlabel() for axes in stability_charts(points).axes]
    ['window W, packets', 'T / R, base RTT over RTT']
    """
    given = dict(points or {})
    if ax is None:
        ax = list(Figure(figsize=SIZE, layout="constrained").subplots(1, 2))
    left, right = ax
    reno_chart({name: of for name, of in given.items() if isinstance(of, RenoPoint)}, left)
    vegas_chart({name: of for name, of in given.items() if isinstance(of, VegasPoint)}, right)
    return figure_of(left)


@styled
def reno_chart(points: Mapping[str, RenoPoint] | None = None, ax: Axes | None = None) -> Axes:
    """Draw where Reno over RED is stable, gain over window, and where networks stand.

    Args:
        points: see `stability_charts`.
        ax: the axes; None: those of a new figure.
    """
    axes = new_axes(ax, PANEL)
    draw_reno(axes, points or {})
    return finish(axes)


@styled
def vegas_chart(points: Mapping[str, VegasPoint] | None = None, ax: Axes | None = None) -> Axes:
    """Draw where Vegas by itself is stable, gain over base RTT / RTT, and where networks stand.

    Args:
        points: see `stability_charts`.
        ax: the axes; None: those of a new figure.
    """
    axes = new_axes(ax, PANEL)
    draw_vegas(axes, points or {})
    return finish(axes)


def finish(axes: Axes) -> Axes:
    """Gains by their logarithms, with enough labels; the legend below, where it hides nothing."""
    axes.set_yscale("log")
    axes.grid(True, alpha=FAINT)
    axes.yaxis.set_major_formatter("{x:g}")
    low, high = axes.get_ylim()
    axes.yaxis.set_minor_locator(LogLocator(subs=BETWEEN if high < FEW * low else ()))
    axes.yaxis.set_minor_formatter("{x:g}")
    if axes.get_legend_handles_labels()[0]:
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2)
    return axes


def draw_reno(axes: Axes, points: Mapping[str, RenoPoint]) -> None:
    """Reno over RED: gain over window, and a curve for each rate of averaging."""
    gains = [of.gain for of in points.values()]
    kinds = sorted({kind(of) for of in points.values()}) or [(math.inf, 0.0)]
    colours = {of: colour(number) for number, of in enumerate(kinds)}
    for (averaging, lost), own in colours.items():
        critical = [reno_critical_gain(of, averaging, lost / of**2) for of in WINDOWS]
        gains += [gain for gain in critical if math.isfinite(gain)]
        told = "no averaging" if math.isinf(averaging) else f"K R = {averaging:g}"
        axes.plot(WINDOWS, critical, color=own, label=told + (", drops" if lost else ""))
        below = np.minimum(critical, 1e9)
        axes.fill_between(WINDOWS, below, 1e-9, color=own, alpha=0.12, linewidth=0)
    for number, (name, of) in enumerate(points.items()):
        mark(axes, name, (of.cwnd, of.gain), number, colours[kind(of)])
    axes.set_xscale("log")
    axes.set_xlim(WINDOWS[0], WINDOWS[-1])
    axes.set_ylim(min(gains) / ROOM, max(gains) * ROOM)
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_title("Reno over RED")
    axes.set_xlabel("window W, packets")
    axes.set_ylabel("gain A = N p' / p")
    say(axes, 0.03, 0.04, "stable below the curve", ha="left", va="bottom")
    say(axes, 0.97, 0.96, "oscillates above it", ha="right", va="top")


def kind(point: RenoPoint) -> tuple[float, float]:
    """What a curve is of: K R and, where packets are dropped, p W^2, as many digits as are told."""
    return float(f"{point.averaging:.3g}"), float(f"{point.drop_prob * point.cwnd**2:.3g}")


def draw_vegas(axes: Axes, points: Mapping[str, VegasPoint]) -> None:
    """Vegas: gain over the part of the round-trip time that is no queue."""
    ratios = np.array([*np.linspace(0.0, 1.0, 200)[1:], *FOLD])
    ratios.sort()
    low, high = np.transpose([vegas_unstable_gains(ratio) for ratio in ratios])
    most = max([LARGEST_GAIN, *(of.gain * ROOM for of in points.values())])
    least = min([LEAST_GAIN, *(of.gain / ROOM for of in points.values())])
    own = colour(0)
    shade = {"color": own, "alpha": 0.12, "linewidth": 0}
    low, high = np.minimum(low, most), np.minimum(high, most)
    axes.fill_between(ratios, least, low, **shade)
    axes.fill_between(ratios, high, most, where=low < most, **shade)
    edge = [vegas_boundary(omega) for omega in EDGE]
    axes.plot(*np.transpose(edge), color=own, label="edge")
    for number, (name, of) in enumerate(points.items()):
        mark(axes, name, (of.rtt_ratio, of.gain), number, own)
    axes.set_xlim(max(min([0.5, *(of.rtt_ratio - 0.05 for of in points.values())]), 0.0), 1.0)
    axes.set_ylim(least, most)
    axes.set_title("Vegas by itself, no losses")
    axes.set_xlabel("T / R, base RTT over RTT")
    axes.set_ylabel("gain G, packets a round trip for each of backlog")
    say(
        axes,
        0.03,
        0.5,
        f"stable for any gain\nbelow {STABLE_AT_ANY_GAIN:.4f}",
        ha="left",
        va="bottom",
    )
    say(axes, 0.97, 0.96, "oscillates", ha="right", va="top")
    say(axes, 0.97, 0.04, "stable below the edge", ha="right", va="bottom")


def mark(axes: Axes, name: str, at: tuple[float, float], number: int, own: str) -> None:
    """Mark a network; later ones smaller, so that they do not hide earlier ones."""
    style: dict[str, Any] = {"color": own, "markeredgecolor": colour(3), "linestyle": "none"}
    style |= {"marker": MARKERS[number % len(MARKERS)], "markersize": max(9.0 - 2 * number, 4.0)}
    axes.plot(*at, label=name, **style)


def say(axes: Axes, x: float, y: float, text: str, **where: Any) -> None:
    """Write into a chart, at a part of its width and height."""
    axes.text(x, y, text, transform=axes.transAxes, fontsize="small", **where)
