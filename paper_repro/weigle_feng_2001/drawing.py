"""The paper's bars: Reno flows white, Vegas flows black, in pairs for each setting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper_repro.style import COLOURS, NS2_MARK, label, panels
from paper_repro.weigle_feng_2001.counts import Totals

__all__ = ["Panel", "draw_columns"]

WIDTH = 0.38
"""Width of a bar, in distances between settings."""
LAWS = ("reno", "vegas")
"""Congestion controls, from left to right."""
FILLS = {"reno": "white", "vegas": "black"}
"""Fill colours of the bars."""
ERROR = {"ecolor": "#888888", "capsize": 2, "elinewidth": 1}
"""Style of the error bars."""


def draw_counts(
    axes: Axes, places: Sequence[str], runs: Sequence[Sequence[Totals]], count: str
) -> None:
    """Plot a pair of bars for each setting: means over seeds, with the standard deviation.

    Args:
        axes: panel to draw in.
        places: labels of the settings.
        runs: runs by setting and seed.
        count: `acked` or `resent`.
    """
    for side, law in enumerate(LAWS):
        values = [[getattr(run, count)[law] for run in seeds] for seeds in runs]
        positions = np.arange(len(places)) + (side - 0.5) * WIDTH
        means = [float(np.mean(seeds)) for seeds in values]
        deviations = [float(np.std(seeds)) for seeds in values] if len(values[0]) > 1 else None
        axes.bar(
            positions, means, WIDTH, yerr=deviations, color=FILLS[law],
            edgecolor="black", label=f"TCP {law.title()}", error_kw=ERROR,
        )  # fmt: skip
    axes.set_xticks(range(len(places)), places)
    axes.set_axisbelow(True)


def draw_ns2(axes: Axes, pairs: Sequence[tuple[float, float] | None]) -> None:
    """Plot ns-2's values of Reno and Vegas at each setting; None where there is none."""
    points = [
        (place + (side - 0.5) * WIDTH, pair[side])
        for place, pair in enumerate(pairs)
        if pair is not None
        for side in range(2)
    ]
    if points:
        style = {**NS2_MARK, "color": COLOURS["third"], "markeredgewidth": 1.5}
        axes.plot(*zip(*points, strict=True), **style)


class Panel(NamedTuple):
    """A column of two panels: acknowledged packets above, retransmissions below.

    Args:
        title: title of both.
        below: label of the horizontal axis.
        places: labels of the settings.
        runs: runs by setting and seed.
        ns2: ns-2's acknowledged packets of Reno and Vegas by setting, None where it was not run.
    """

    title: str
    below: str
    places: Sequence[str]
    runs: Sequence[Sequence[Totals]]
    ns2: Sequence[tuple[float, float] | None]


def draw_column(column: Sequence[Axes], panel: Panel) -> None:
    """Plot packets acknowledged and retransmitted."""
    labels = {"acked": "data acknowledged (packets)", "resent": "data retransmitted (packets)"}
    for axes, (count, meaning) in zip(column, labels.items(), strict=True):
        draw_counts(axes, panel.places, panel.runs, count)
        label(axes, panel.title, panel.below, meaning, legend=False)
    draw_ns2(column[0], panel.ns2)


def draw_columns(columns: Sequence[Panel]) -> Figure:
    """Return a figure of columns, with one legend above all panels."""
    figure, rows = panels(2, len(columns))
    for place, panel in enumerate(columns):
        draw_column([row[place] for row in rows], panel)
    handles, names = rows[0][0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper center", ncols=len(names), frameon=False)
    return figure
