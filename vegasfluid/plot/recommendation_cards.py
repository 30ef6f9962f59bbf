"""A recommendation as a card: the setting, the ratio before and after, and what else changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.axes import Axes
from matplotlib.transforms import Bbox

from vegasfluid.plot.style import colour, ground, new_axes, styled

if TYPE_CHECKING:
    from vegasfluid.tuning.result import Evaluation, Recommendation

__all__ = ["card"]

SIZE = (6.4, 4.4)
ROWS = (
    ("Jain index", "jain_index", 1.0, "{:.3f}"),
    ("utilisation", "utilisation", 100.0, "{:.1f} %"),
    ("mean queue", "queue_packets", 1.0, "{:.4g} packets"),
    ("queueing delay", "queueing_delay_s", 1e3, "{:.1f} ms"),
    ("drop share", "drop_share", 100.0, "{:.2g} %"),
)
"""Of the table: what is told, its name in the results, its scale and its form."""
TABLE = Bbox.from_bounds(0.0, 0.0, 1.0, 0.56)
"""Where the table stands, as parts of the axes: left, bottom, width, height."""
ROOM = (-2.9, 1.7)
"""Upwards, so that both ratios stand above it."""


@styled
def card(found: Recommendation, ax: Axes | None = None) -> Axes:
    """Draw a recommendation: the ratio on packets before and after, with 95 % intervals.

    Args:
        found: by `recommend`; with one of several classes the card is that class's.
        ax: the axes; None: those of a new figure. A table stands in their lower half.
    """
    axes = new_axes(ax, SIZE)
    law = found.after.law
    for row, judged in enumerate((found.after, found.before)):
        low, high = judged.packets.interval
        ratio = judged.packets.ratio
        bars = [[ratio - low], [high - ratio]]
        axes.errorbar([ratio], [row], xerr=bars, fmt="o", capsize=4, color=colour(row))
        axes.annotate(f"{ratio:.3f}", (ratio, row), xytext=(0, 7), textcoords="offset points",
                      ha="center", fontsize="small")  # fmt: skip
    axes.axvline(found.ratio, color="0.5", linestyle=":", linewidth=1)
    axes.set_yticks([0, 1], ["recommended", "before"])
    axes.set_ylim(*ROOM)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.margins(x=0.15)
    axes.xaxis.set_ticks_position("top")
    axes.xaxis.set_label_position("top")
    axes.set_xlabel(f"goodput of a flow of {found.tuned} over another's; goal {found.ratio:g}")
    axes.set_title(
        f"{found.tuned} ({law.dialect}): alpha = {law.alpha:.6g}, beta = {law.beta:.6g}, "
        f"gamma = {law.gamma:.6g} packets" + ("" if found.reached else " (goal not reached)")
    )
    add_table(axes, found.before, found.after)
    return axes


def add_table(axes: Axes, before: Evaluation, after: Evaluation) -> None:
    """What else is so on packets, before and with the recommendation."""
    means = before.packets.means(), after.packets.means()
    below, above = ground()
    cells = [
        [title, *(form.format(scale * of[name]) for of in means)]
        for title, name, scale, form in ROWS
    ]
    table = axes.table(
        cells, colLabels=["on packets", "before", "recommended"], bbox=TABLE, cellLoc="left"
    )
    table.auto_set_font_size(False)
    table.set_fontsize(9)
    table.set_zorder(3)
    for cell in table.get_celld().values():
        cell.set(facecolor=below, edgecolor="0.6", linewidth=0.4)
        cell.get_text().set_color(above)
