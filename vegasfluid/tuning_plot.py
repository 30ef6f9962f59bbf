"""A picture of the front of fairness against queueing delay, with matplotlib.

Colours are those of `plot`.
"""

from __future__ import annotations

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure

from vegasfluid.plot import COLOURS
from vegasfluid.tuning import Front

__all__ = ["draw_front"]

SIZE = (7.0, 4.8)
MILLISECONDS = 1e3


@rc_context({"text.parse_math": False})  # a dollar in a name is a dollar
def draw_front(front: Front) -> Figure:
    """Draw a front: the fluid model's line, and what packets say of the same settings.

    Args:
        front: at least one setting; the first knob's value stands beside each point.
    """
    figure = Figure(figsize=SIZE, layout="constrained")
    axes = figure.subplots()
    delays = [MILLISECONDS * point.queueing_delay for point in front.points]
    axes.plot(
        delays,
        [point.value for point in front.points],
        "o-",
        color=COLOURS[0],
        label="fluid model, corrected",
    )
    measured = [MILLISECONDS * of.packets.means()["queueing_delay_s"] for of in front.points]
    values = [of.packet_values.mean() for of in front.points]
    spread = [of.packet_values.std(ddof=1) for of in front.points]
    axes.errorbar(
        measured,
        values,
        yerr=spread,
        fmt="s",
        capsize=3,
        color=COLOURS[1],
        label="packets, mean and standard deviation of a run",
    )
    for x, y, point in zip(measured, values, front.points, strict=True):
        name, value = next(iter(point.setting.items()))
        label = f"{name.rsplit('.', 1)[-1].removesuffix('_packets')} {value:.4g}"
        axes.annotate(label, (x, y), xytext=(5, 5), textcoords="offset points", fontsize=8)
    if not isinstance(front.goal.wanted, str):
        axes.axhline(front.goal.wanted, color="0.6", linewidth=1, linestyle=":")
    axes.set_xlabel("queueing delay, ms")
    axes.set_ylabel(front.goal.unit)
    axes.margins(x=0.12, y=0.15)
    axes.set_ylim(bottom=max(0.0, float(np.min(axes.get_ylim()))))
    axes.legend(fontsize=8, frameon=False, loc="best")
    return figure
