"""Pictures of runs in the plane of two of their quantities, time left out."""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from vegasfluid.errors import InvalidInput
from vegasfluid.plot.style import FAINT, LINES, colour, new_axes, styled
from vegasfluid.plot.trajectories import called

if TYPE_CHECKING:
    from vegasfluid.analysis import Equilibrium

__all__ = ["phase_plane"]

SIZE = (5.0, 4.6)
OF_LINK, OF_CLASS = ("queue", "avg_queue"), ("cwnd", "rtt")


@styled
def phase_plane(
    *runs: xr.Dataset,
    x: str | None = None,
    y: str | None = None,
    rest: Equilibrium | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw runs as curves in a plane, each with a ring where it begins and a dot where it ends.

    Args:
        runs: trajectories; one line style and colour each. Each is called as in `compare`.
        x: what is drawn to the right: `queue` or `avg_queue` (of the first link, or as
            `queue:NAME`), `cwnd:CLASS` or `rtt:CLASS`. None: the window of the first class, or the
            queue where there is one class only.
        y: what is drawn upwards; None: the window of the last class.
        rest: is marked by a star, where it has both quantities (the queue and windows).
        ax: the axes; None: those of a new figure.

    Raises:
        InvalidInput: for no runs, or a quantity that they do not have.
    """
    if not runs:
        raise InvalidInput("phase_plane", "runs", "one trajectory or more", "none")
    classes = [str(name) for name in runs[0]["flow_class"].values]
    x = x or (f"cwnd:{classes[0]}" if len(classes) > 1 else "queue")
    y = y or f"cwnd:{classes[-1]}"
    axes = new_axes(ax, SIZE)
    for number, (run, line) in enumerate(zip(runs, cycle(LINES), strict=False)):
        right, up = quantity(run, x), quantity(run, y)
        own = colour(number)
        axes.plot(right, up, line, color=own, linewidth=1.0, label=called(run))
        axes.plot(right[0], up[0], "o", color=own, markerfacecolor="none")
        axes.plot(right[-1], up[-1], "o", color=own)
    if rest is not None:
        at = place(rest, x), place(rest, y)
        axes.plot(*at, "*", color=colour(3), markersize=11, label="rest", linestyle="none")
    axes.set_xlabel(titled(runs[0], x))
    axes.set_ylabel(titled(runs[0], y))
    axes.grid(True, alpha=FAINT)
    axes.legend(loc="best")
    return axes


def parts(name: str) -> tuple[str, str]:
    """The variable and the class or link of a quantity's name."""
    of, _, whose = name.partition(":")
    return of, whose


def quantity(run: xr.Dataset, name: str) -> np.ndarray:
    """A quantity over time; (time,).

    Raises:
        InvalidInput: for one that the run does not have.
    """
    of, whose = parts(name)
    dim = "link" if of in OF_LINK else "flow_class"
    known = [str(known) for known in run[dim].values]
    if of not in (*OF_LINK, *OF_CLASS) or (whose not in known and (whose or of not in OF_LINK)):
        links = [str(link) for link in run["link"].values]
        names = [f"{of}:{link}" for of in OF_LINK for link in links]
        names += [f"{of}:{name}" for of in OF_CLASS for name in run["flow_class"].values]
        raise InvalidInput("phase_plane", "a quantity", "one of " + ", ".join(names), name)
    return run[of].sel({dim: whose or known[0]}).values


def titled(run: xr.Dataset, name: str) -> str:
    """A quantity's name and unit."""
    of, whose = parts(name)
    return f"{of}{f' of {whose}' if whose else ''}, {run[of].attrs.get('units', '')}"


def place(rest: Equilibrium, name: str) -> float:
    """Where a quantity rests.

    Raises:
        InvalidInput: for one of which rest says nothing.
    """
    of, whose = parts(name)
    if of in OF_CLASS:
        return rest.mean(whose, of)
    if of == "queue":
        links = list(rest.network.links)
        return float(rest.values.queue[links.index(whose) if whose else 0])
    raise InvalidInput("phase_plane", "a quantity beside rest", "queue, cwnd or rtt", name)
