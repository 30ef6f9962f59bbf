"""Plot of a recommendation: the setting, the ratio before and after, and other averages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.axes import Axes
from matplotlib.ticker import NullFormatter
from matplotlib.transforms import Bbox

from vegasfluid.plot.style import colour, new_axes, page_colours, styled

if TYPE_CHECKING:
    from vegasfluid.tuning.result import Evaluation, Recommendation

__all__ = ["card"]

SIZE = (6.4, 4.4)
"""Size of a new figure, inches."""
ROWS = (
    ("Jain index", "jain_index", 1.0, "{:.3f}"),
    ("utilisation", "utilisation", 100.0, "{:.1f} %"),
    ("mean queue", "queue_packets", 1.0, "{:.4g} packets"),
    ("queueing delay", "queueing_delay_s", 1e3, "{:.1f} ms"),
    ("loss ratio", "drop_share", 100.0, "{:.2g} %"),
)
"""Rows of the table: label, key of the averages, factor to the shown unit, and number format."""
TABLE = Bbox.from_bounds(-0.18, 0.0, 1.18, 0.54)
"""Position of the table, in fractions of the axes: left, bottom, width, height."""
VERTICAL_RANGE = (-2.6, 1.5)
"""Limits of the vertical axis; the ratios are at 0 and 1, above the table."""
BOTTOM = (-0.5 - VERTICAL_RANGE[0]) / (VERTICAL_RANGE[1] - VERTICAL_RANGE[0])
"""Lower end of the vertical lines, in fractions of the axes: between the ratios and the table."""


@styled
def card(recommendation: Recommendation, ax: Axes | None = None) -> Axes:
    """Plot a recommendation: the measured ratio before and after, with 95 % intervals, and a table.

    A ratio is the goodput of a tuned flow divided by that of another flow; the axis is logarithmic,
    and a dotted line marks the goal. The table has other averages of the packet simulations: Jain's
    index, utilisation (%), mean queue (packets), queueing delay (ms) and loss (%).

    Args:
        recommendation: result of `recommend`; of a result for several classes, one of its `parts`.
        ax: axes to draw on; None: a new figure.

    Returns:
        The axes.
    """
    axes = new_axes(ax, SIZE)
    law = recommendation.after.law
    for row, evaluation in enumerate((recommendation.after, recommendation.before)):
        low, high = evaluation.packets.interval
        ratio = evaluation.packets.ratio
        bars = [[ratio - low], [high - ratio]]
        axes.errorbar([ratio], [row], xerr=bars, fmt="o", capsize=5, lw=2, ms=7, color=colour(row))
        axes.annotate(f"{ratio:.3f}", (ratio, row), xytext=(0, 7), textcoords="offset points",
                      ha="center", fontsize="small")  # fmt: skip
    axes.axvline(recommendation.ratio, BOTTOM, color="0.5", linestyle=":", linewidth=1)
    axes.set_yticks([0, 1], ["recommended", "before"])
    axes.set_ylim(*VERTICAL_RANGE)
    axes.set_xscale("log")
    axes.margins(x=0.15)
    axes.xaxis.set_major_formatter("{x:g}")
    low, high = axes.get_xlim()
    axes.xaxis.set_minor_formatter("{x:g}" if high < 10 * low else NullFormatter())
    axes.xaxis.set_ticks_position("top")
    axes.xaxis.set_label_position("top")
    axes.spines[["left", "right", "bottom"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel(
        f"goodput of a {recommendation.tuned} flow / goodput of another flow; "
        f"goal {recommendation.ratio:g}"
    )
    axes.set_title(
        f"{recommendation.tuned} ({law.dialect}): alpha = {law.alpha:.6g}, beta = {law.beta:.6g}, "
        f"gamma = {law.gamma:.6g} packets"
        + ("" if recommendation.reached else " (goal not reached)"),
        pad=14,
        fontweight="bold",
    )
    add_table(axes, recommendation.before, recommendation.after)
    return axes


def add_table(axes: Axes, before: Evaluation, after: Evaluation) -> None:
    """Draw a table of averages of the packet simulations before and after a recommendation.

    Its rows are Jain's index, utilisation (%), mean queue (packets), queueing delay (ms) and loss
    (%).
    """
    means = before.packets.means(), after.packets.means()
    background, foreground = page_colours()
    cells = [
        [title, *(form.format(scale * averages[name]) for averages in means)]
        for title, name, scale, form in ROWS
    ]
    columns = ["packet simulator", "before", "recommended"]
    table = axes.table(cells, colLabels=columns, bbox=TABLE, cellLoc="left")
    table.auto_set_font_size(False)
    table.set_fontsize(9)
    table.set_zorder(3)
    for cell in table.get_celld().values():
        cell.set(facecolor=background, edgecolor="0.6", linewidth=0.4)
        cell.get_text().set_color(foreground)
