"""Common style of all figures: colours of `vegasfluid.plot`, and markers for reference values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from vegasfluid.plot.style import colour

__all__ = ["COLOURS", "NS2_MARK", "PAPER_MARK", "label", "panels"]

DRAWN = ("vegas", "reno", "cubic", "theory", "other", "third", "fourth")
COLOURS = {name: colour(number) for number, name in enumerate(DRAWN)}
"""Colours by the name of what is plotted, the same in every figure."""
PAPER_MARK: dict[str, Any] = {
    "marker": "x", "color": "black", "linestyle": "none", "label": "the paper", "zorder": 5,
}  # fmt: skip
"""Marker of a value that is printed in the paper."""
NS2_MARK: dict[str, Any] = {
    "marker": "o", "markerfacecolor": "none", "color": "#555555", "linestyle": "none",
    "label": "ns-2.35",
}  # fmt: skip
"""Marker of a value of a reference run of ns-2."""
PANEL = (4.6, 3.2)
"""Size of a panel, inches."""


def panels(rows: int = 1, columns: int = 1) -> tuple[Figure, Sequence[Sequence[Axes]]]:
    """Figure with panels, and its axes by row and column."""
    figure = Figure(figsize=(PANEL[0] * columns, PANEL[1] * rows), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False).tolist()


def label(axes: Axes, title: str, x: str, y: str, *, legend: bool = True) -> None:
    """Set the title, the labels of the axes, a grid and the legend."""
    axes.set_title(title, loc="left", fontsize="medium")
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.grid(alpha=0.3)
    if legend:
        axes.legend(fontsize="small", frameon=False)
