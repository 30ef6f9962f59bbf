"""The paper's bars: all Reno flows white, all Vegas flows black, side by side for each setting."""

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
LAWS = ("reno", "vegas")
FILLS = {"reno": "white", "vegas": "black"}
ERROR = {"ecolor": "#888888", "capsize": 2, "elinewidth": 1}


def draw_counts(
    axes: Axes, places: Sequence[str], runs: Sequence[Sequence[Totals]], count: str
) -> None:
    """A pair of bars for each setting: means over seeds, and how far seeds are apart (deviation).

    Args:
        axes: where.
        places: what the settings are called.
        runs: of each setting, a seed each.
        count: `acked` or `resent`.
    """
    for side, law in enumerate(LAWS):
        values = [[getattr(run, count)[law] for run in of] for of in runs]
        at = np.arange(len(places)) + (side - 0.5) * WIDTH
        spread = [float(np.std(of)) for of in values] if len(values[0]) > 1 else None
        axes.bar(
            at, [float(np.mean(of)) for of in values], WIDTH, yerr=spread, color=FILLS[law],
            edgecolor="black", label=f"TCP {law.title()}", error_kw=ERROR,
        )  # fmt: skip
    axes.set_xticks(range(len(places)), places)
    axes.set_axisbelow(True)


def draw_ns2(axes: Axes, pairs: Sequence[tuple[float, float] | None]) -> None:
    """What runs of ns-2 have for Reno and Vegas at each setting; None where there is none."""
    points = [
        (place + (side - 0.5) * WIDTH, pair[side])
        for place, pair in enumerate(pairs)
        if pair is not None
        for side in range(2)
    ]
    if points:
        seen_on_black = {**NS2_MARK, "color": COLOURS["third"], "markeredgewidth": 1.5}
        axes.plot(*zip(*points, strict=True), **seen_on_black)


class Panel(NamedTuple):
    """A column of two panels: acknowledged above, retransmitted below.

    Args:
        title: of both.
        below: what the settings are.
        places: what each setting is called.
        runs: of each setting, a seed each.
        ns2: what ns-2 has acknowledged of Reno and Vegas at each setting, where it was run.
    """

    title: str
    below: str
    places: Sequence[str]
    runs: Sequence[Sequence[Totals]]
    ns2: Sequence[tuple[float, float] | None]


def draw_column(column: Sequence[Axes], panel: Panel) -> None:
    """Draw packets acknowledged and retransmitted."""
    words = {"acked": "data acknowledged (packets)", "resent": "data retransmitted (packets)"}
    for axes, (count, meaning) in zip(column, words.items(), strict=True):
        draw_counts(axes, panel.places, panel.runs, count)
        label(axes, panel.title, panel.below, meaning, legend=False)
    draw_ns2(column[0], panel.ns2)


def draw_columns(columns: Sequence[Panel]) -> Figure:
    """A figure of columns, with one legend above all panels, where it hides nothing."""
    figure, rows = panels(2, len(columns))
    for place, panel in enumerate(columns):
        draw_column([row[place] for row in rows], panel)
    handles, names = rows[0][0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper center", ncols=len(names), frameon=False)
    return figure
