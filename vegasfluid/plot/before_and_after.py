"""Plot of a network before and with a recommendation: goodputs over time, and measurements."""

from __future__ import annotations

from typing import TYPE_CHECKING

import xarray as xr
from matplotlib.figure import Figure

from vegasfluid.plot.recommendation_cards import card
from vegasfluid.plot.style import styled
from vegasfluid.plot.trajectories import goodput_title, goodputs, run_label

if TYPE_CHECKING:
    from vegasfluid.tuning.result import Recommendation

__all__ = ["before_and_after"]

WIDTH, SERIES, CARD = 11.0, 3.2, 4.4
"""Width of a figure, and heights of the time series and of each card, inches."""


@styled
def before_and_after(
    before: xr.Dataset, after: xr.Dataset, *recommendations: Recommendation
) -> Figure:
    """Plot goodputs before and with a recommendation, and a card of each tuned class.

    Args:
        before: trajectory of the network as it was given.
        after: trajectory of the recommended network, by the same engine.
        recommendations: result of `recommend`; for several classes, the values of its `parts`.
            None at all: only goodputs are plotted.

    Returns:
        The figure: goodputs in Mbit/s per flow (packets/s for old files) over time in s, and for
        each class what `card` draws: the ratio that the packet simulator measured, and other
        averages.
    """
    count = len(recommendations)
    figure = Figure(figsize=(WIDTH, SERIES + CARD * count), layout="constrained")
    grid = figure.add_gridspec(1 + count, 2, height_ratios=[SERIES, *[CARD] * count])
    left = figure.add_subplot(grid[0, 0])
    right = figure.add_subplot(grid[0, 1])
    for axes, run, title in ((right, after, "recommended"), (left, before, "before")):
        goodputs(run, ax=axes)
        axes.set_title(f"{title} ({run_label(run)}): {goodput_title(run)}")
    legend = left.get_legend()
    assert legend is not None
    legend.remove()
    top = max(axes.get_ylim()[1] for axes in (left, right))
    for axes in (left, right):
        axes.set_ylim(top=top)
    for row, recommendation in enumerate(recommendations, start=1):
        card(recommendation, figure.add_subplot(grid[row, :]))
    return figure
