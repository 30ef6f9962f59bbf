"""Plot of a Pareto front of fairness and queueing delay."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes

from vegasfluid.plot.style import FAINT, colour, new_axes, styled

if TYPE_CHECKING:
    from vegasfluid.tuning import Front

__all__ = ["front"]

SIZE = (7.0, 4.8)
"""Size of a new figure, inches."""
MILLISECONDS = 1e3
"""Milliseconds in a second."""


@styled
def front(pareto_front: Front, ax: Axes | None = None) -> Axes:
    """Plot a Pareto front, as computed by the fluid model and as measured by packet simulation.

    The horizontal axis is the queueing delay, ms; the vertical one is the objective. A dotted line
    marks the target of a ratio. Means of packet runs have bars of one standard deviation of a run,
    and are labelled with the value of the first tuned parameter.

    Args:
        pareto_front: front with at least one point, from `pareto_front`.
        ax: axes to draw on; None: a new figure.

    Returns:
        The axes.
    """
    axes, points = new_axes(ax, SIZE), pareto_front.points
    delays = [MILLISECONDS * point.queueing_delay for point in points]
    axes.plot(
        delays,
        [point.value for point in points],
        "o-",
        color=colour(0),
        label="fluid model, corrected",
    )
    measured = [MILLISECONDS * point.packets.means()["queueing_delay_s"] for point in points]
    values = [point.packet_values.mean() for point in points]
    deviations = [point.packet_values.std(ddof=1) for point in points]
    axes.errorbar(
        measured,
        values,
        yerr=deviations,
        fmt="s",
        capsize=3,
        color=colour(1),
        label="packet simulator, mean and standard deviation of a run",
    )
    for x, y, point in zip(measured, values, points, strict=True):
        name, value = next(iter(point.setting.items()))
        label = f"{name.rsplit('.', 1)[-1].removesuffix('_packets')} {value:.4g}"
        axes.annotate(label, (x, y), xytext=(5, 5), textcoords="offset points", fontsize=8)
    objective = pareto_front.objective
    if not isinstance(objective.target, str):
        axes.axhline(objective.target, color="0.6", linewidth=1, linestyle=":")
    axes.set_xlabel("queueing delay, ms")
    axes.set_ylabel(objective.unit)
    axes.margins(x=0.12, y=0.15)
    axes.set_ylim(bottom=max(0.0, float(np.min(axes.get_ylim()))))
    axes.grid(True, alpha=FAINT)
    axes.legend(loc="best")
    return axes
