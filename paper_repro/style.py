"""One look for all figures: colours of `vegasfluid.plot`, and marks for what papers print."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from vegasfluid.plot.style import colour

__all__ = ["COLOURS", "NS2_MARK", "PAPER_MARK", "label", "panels"]

DRAWN = ("vegas", "reno", "cubic", "theory", "other", "third", "fourth")
COLOURS = {name: colour(number) for number, name in enumerate(DRAWN)}
"""By what is drawn; the same in every figure."""
PAPER_MARK: dict[str, Any] = {
    "marker": "x", "color": "black", "linestyle": "none", "label": "the paper", "zorder": 5,
}  # fmt: skip
"""How a value that the paper prints is drawn."""
NS2_MARK: dict[str, Any] = {
    "marker": "o", "markerfacecolor": "none", "color": "#555555", "linestyle": "none",
    "label": "ns-2.35",
}  # fmt: skip
"""How a value of a reference run is drawn."""
PANEL = (4.6, 3.2)
"""Inches of one panel."""


def panels(rows: int = 1, columns: int = 1) -> tuple[Figure, Sequence[Sequence[Axes]]]:
    """A figure and its axes, a row after the other."""
    figure = Figure(figsize=(PANEL[0] * columns, PANEL[1] * rows), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False).tolist()


def label(axes: Axes, title: str, x: str, y: str, *, legend: bool = True) -> None:
    """Title and axes in the paper's words, with units; the legend where it hides least."""
    axes.set_title(title, loc="left", fontsize="medium")
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.grid(alpha=0.3)
    if legend:
        axes.legend(fontsize="small", frameon=False)
