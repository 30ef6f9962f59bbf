"""Phase planes: one quantity of a run against another, with time along the curve."""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from vegasfluid.errors import InvalidInput, Words
from vegasfluid.plot.style import FAINT, LINES, colour, new_axes, styled
from vegasfluid.plot.trajectories import run_label

if TYPE_CHECKING:
    from vegasfluid.analysis import Equilibrium

__all__ = ["phase_plane"]

SIZE = (5.0, 4.6)
"""Size of a new figure, inches."""
OF_LINK, OF_CLASS = ("queue", "avg_queue"), ("cwnd", "rtt")
"""Variables of a link, and of a flow class, that can be plotted."""


@styled
def phase_plane(
    *runs: xr.Dataset,
    x: str | None = None,
    y: str | None = None,
    equilibrium: Equilibrium | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Plot two quantities of each run against each other; a ring marks the start, a dot the end.

    Args:
        runs: one trajectory or more. The legend names each by its attribute `label`, or its engine.
        x: quantity on the horizontal axis: `cwnd:CLASS` or `rtt:CLASS`, means over a class's flows;
            `queue` or `avg_queue` of the first link; `queue:LINK` or `avg_queue:LINK` of another.
            None: the window of the first class, or the first queue if there is only one class.
        y: quantity on the vertical axis, named alike; None: the window of the last class.
        equilibrium: equilibrium to mark by a star; it has no `avg_queue`. None: no star.
        ax: axes to draw on; None: a new figure.

    Returns:
        The axes, labelled with the units: packets, or s for `rtt`.

    Raises:
        InvalidInput: if there are no runs, for an unknown quantity, or for `avg_queue` with an
            equilibrium.
    """
    if not runs:
        raise InvalidInput("phase_plane", "runs", "one trajectory or more", Words("none"))
    classes = [str(name) for name in runs[0]["flow_class"].values]
    x = x or (f"cwnd:{classes[0]}" if len(classes) > 1 else "queue")
    y = y or f"cwnd:{classes[-1]}"
    axes = new_axes(ax, SIZE)
    for number, (run, line) in enumerate(zip(runs, cycle(LINES), strict=False)):
        right, up = quantity(run, x), quantity(run, y)
        hue = colour(number)
        axes.plot(right, up, line, color=hue, linewidth=1.0, label=run_label(run))
        axes.plot(right[0], up[0], "o", color=hue, markerfacecolor="none")
        axes.plot(right[-1], up[-1], "o", color=hue)
    if equilibrium is not None:
        at = equilibrium_value(equilibrium, x), equilibrium_value(equilibrium, y)
        axes.plot(*at, "*", color=colour(3), markersize=11, label="equilibrium", linestyle="none")
    axes.set_xlabel(axis_label(runs[0], x))
    axes.set_ylabel(axis_label(runs[0], y))
    axes.grid(True, alpha=FAINT)
    axes.legend(loc="best")
    return axes


def parts(name: str) -> tuple[str, str]:
    """Split the name of a quantity, such as `cwnd:vegas`, into variable and owner.

    The owner is a class or a link, and empty if the name has none.
    """
    variable, _, owner = name.partition(":")
    return variable, owner


def quantity(run: xr.Dataset, name: str) -> np.ndarray:
    """Values of a run's quantity, such as `cwnd:vegas`, over time, in the unit of the run; (time,).

    Windows and queues are in packets, round-trip times in s; windows and times are means over a
    class's flows. `queue` and `avg_queue` without a link are those of the first link.

    Raises:
        InvalidInput: if the run does not have this quantity.
    """
    variable, owner = parts(name)
    dim = "link" if variable in OF_LINK else "flow_class"
    known = [str(label) for label in run[dim].values]
    is_known = variable in (*OF_LINK, *OF_CLASS)
    if not is_known or (owner not in known and (owner or variable not in OF_LINK)):
        names = [f"{of_link}:{link}" for of_link in OF_LINK for link in run["link"].values]
        names += [
            f"{of_class}:{label}" for of_class in OF_CLASS for label in run["flow_class"].values
        ]
        raise InvalidInput("phase_plane", "a quantity", "one of " + ", ".join(names), name)
    return run[variable].sel({dim: owner or known[0]}).values


def axis_label(run: xr.Dataset, name: str) -> str:
    """Label of an axis for a quantity of a run: its name, class or link, and unit."""
    variable, owner = parts(name)
    return f"{variable}{f' of {owner}' if owner else ''}, {run[variable].attrs.get('units', '')}"


def equilibrium_value(equilibrium: Equilibrium, name: str) -> float:
    """Value of a quantity at an equilibrium: `queue` or `cwnd:CLASS`, packets, or `rtt:CLASS`, s.

    Values of a class are means over its flows. `queue` is that of the first link, `queue:LINK` that
    of another.

    Raises:
        InvalidInput: for `avg_queue`, which an equilibrium does not have.
    """
    variable, owner = parts(name)
    if variable in OF_CLASS:
        return equilibrium.mean(owner, variable)
    if variable == "queue":
        links = list(equilibrium.network.links)
        return float(equilibrium.values.queue[links.index(owner) if owner else 0])
    allowed = "queue, cwnd or rtt"
    raise InvalidInput("phase_plane", "a quantity of an equilibrium", allowed, name)
