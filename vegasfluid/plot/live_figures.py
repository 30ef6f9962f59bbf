"""Pictures that change many times a second: what stays is drawn once, what moves on top of it.

matplotlib needs a tenth of a second and more for axes, labels and maps. A `LivePicture` keeps them
as pixels; a new one restores these, draws a few lines and packs them as PNG, in some ten
milliseconds.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from PIL import Image

from vegasfluid.plot.style import FAINT, colour, ground, settings
from vegasfluid.plot.sweep_maps import fairness_map
from vegasfluid.trajectory import Recording, class_means, link_names

__all__ = ["LivePicture", "PlaneMap", "RunPanels"]

DOTS = 120
"""Dots an inch: in a notebook's column they are finer than the screen's. Time goes with them."""
COMPRESSION = 1
"""Of PNG, 0 to 9: the picture goes no further than to a page, and time counts."""
ROOM = 1.08
"""So far above the highest value an axis goes."""


class LivePicture:
    """A figure of which some artists move, as PNG again and again.

    Args:
        figure: complete.
        moving: its artists that change; all on axes.
    """

    def __init__(self, figure: Figure, moving: Sequence[Any]) -> None:
        figure.set_dpi(DOTS)
        self._canvas, self._moving = FigureCanvasAgg(figure), moving
        self._settings = settings()
        for artist in moving:
            artist.set_animated(True)
        self.redraw()

    def redraw(self) -> None:
        """Draw what stays, after it has changed."""
        with rc_context(self._settings):
            self._canvas.draw()
        self._still = self._canvas.copy_from_bbox(self._canvas.figure.bbox)

    def png(self) -> bytes:
        """The picture with its artists where they are now."""
        self._canvas.restore_region(self._still)
        for artist in self._moving:
            artist.axes.draw_artist(artist)
        packed = io.BytesIO()
        pixels = Image.fromarray(np.asarray(self._canvas.buffer_rgba())).convert("RGB")
        pixels.save(packed, "png", compress_level=COMPRESSION)
        return packed.getvalue()


class RunPanels:
    """Windows and queues of one run after another, on two axes.

    Args:
        axes: for windows and for queues.
        run: the first one; the others have its classes, links and times.
        warmup: time that the means leave out, s. It is grey, and axes are as high as what comes
            after it, so that a slow start does not make all else small.
    """

    def __init__(self, axes: Sequence[Axes], run: Recording, warmup: float) -> None:
        self._late = run.times >= warmup
        windows, queues = axes
        classes, links = list(run.network.flows), link_names(run.network, columns(run))
        averaged = run.links["avg_queue"].max(axis=0) > 0
        self._lines = {
            "cwnd": lines(windows, run, classes, 0),
            "queue": lines(queues, run, links, 2),
            "avg_queue": lines(queues, run, [f"{of} (average)" for of in links], 3, averaged),
        }
        for ax, title in zip(axes, ("window of a flow, packets", "queue, packets"), strict=True):
            ax.set_title(title)
            ax.set_xlim(0, run.times[-1])
            ax.axvspan(0, warmup, color="0.5", alpha=0.12, linewidth=0)
            ax.grid(True, alpha=FAINT)
            ax.legend(loc="lower right", bbox_to_anchor=(1, 0.98), ncols=4, borderaxespad=0.2)
        windows.tick_params(labelbottom=False)
        queues.set_xlabel("time, s")
        self._tops = dict.fromkeys(axes, 0.0)
        self.show(run)

    @property
    def moving(self) -> list[Any]:
        """The lines."""
        return [line for of in self._lines.values() for line in of if line is not None]

    def show(self, run: Recording) -> bool:
        """Move the lines to a run; whether axes had to be made higher for it."""
        values = {"cwnd": class_means(run.network.counts, run.flows["cwnd"]), **run.links}
        grown = False
        for name, of in self._lines.items():
            for number, line in enumerate(of):
                if line is not None:
                    line.set_ydata(values[name][:, number])
                    grown |= self._reach(line)
        return grown

    def _reach(self, line: Any) -> bool:
        """Make room for a line; an axis never becomes lower, so that runs compare."""
        highest = float(np.max(line.get_ydata()[self._late]))
        if highest <= self._tops[line.axes]:
            return False
        self._tops[line.axes] = highest
        line.axes.set_ylim(0, ROOM * highest)
        return True


def columns(run: Recording) -> int:
    """Links of a run, their other directions among them."""
    return run.links["queue"].shape[1]


def lines(
    axes: Axes, run: Recording, names: Sequence[str], first: int, wanted: Any = None
) -> list[Any]:
    """A line for each name, at zero; None where it is not wanted.

    Args:
        axes: to draw on.
        run: whose times count.
        names: for the legend.
        first: number of the first one's colour.
        wanted: one truth value a name; None: all are.
    """
    found: list[Any] = []
    for number, name in enumerate(names):
        style: dict[str, Any] = {"color": colour(first + number), "linewidth": 1.4}
        if wanted is not None:
            style |= {"linestyle": "--", "linewidth": 0.9}
        here = wanted is None or wanted[number]
        zeros = np.zeros(run.times.size)
        found.append(axes.plot(run.times, zeros, label=name, **style)[0] if here else None)
    return found


class PlaneMap:
    """The fairness map over alpha and beta, with a mark at one point of it.

    Args:
        axes: to draw on.
        data: the ratio over `beta` and `alpha`, missing where beta is below alpha.
        at: alpha and beta of the mark, packets.
        title: of the map.
    """

    def __init__(self, axes: Axes, data: xr.Dataset, at: tuple[float, float], title: str) -> None:
        fairness_map(data, over=["beta", "alpha"], ax=axes)
        below, above = ground()
        axes.set_title(title)
        for along in (axes.xaxis, axes.yaxis):
            along.set_major_locator(MaxNLocator(integer=True, nbins=6))
        lowest, highest = axes.get_xlim()
        axes.fill([lowest, highest, highest], [lowest, lowest, highest], facecolor="none",
                  edgecolor="0.6", hatch="///", linewidth=0, zorder=0)  # fmt: skip
        axes.text(0.96, 0.05, "beta below alpha", transform=axes.transAxes, ha="right",
                  va="bottom", fontsize="small", backgroundcolor=below)  # fmt: skip
        cross: dict[str, Any] = {"color": above, "linewidth": 0.8, "linestyle": ":"}
        self._right = axes.axvline(at[0], **cross)
        self._up = axes.axhline(at[1], **cross)
        mark = {"markersize": 10, "markerfacecolor": below, "markeredgecolor": above}
        (self._mark,) = axes.plot(*at, "o", markeredgewidth=2.0, **mark)

    @property
    def moving(self) -> list[Any]:
        """The mark and the lines through it."""
        return [self._right, self._up, self._mark]

    def show(self, at: tuple[float, float]) -> None:
        """Move the mark to alpha and beta, packets."""
        alpha, beta = at
        self._right.set_xdata([alpha, alpha])
        self._up.set_ydata([beta, beta])
        self._mark.set_data([alpha], [beta])
