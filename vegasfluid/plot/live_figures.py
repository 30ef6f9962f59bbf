"""Plots that are updated many times a second.

matplotlib needs a tenth of a second or more for axes, labels and maps. A `LivePicture` draws them
once and keeps the pixels. An update restores the pixels, draws the few lines that change, and
encodes the result as PNG, which takes some ten milliseconds.
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

from vegasfluid.plot.style import FAINT, colour, control_colours, page_colours, settings
from vegasfluid.plot.sweep_maps import fairness_map
from vegasfluid.trajectory import Recording, class_means, link_names

__all__ = ["LivePicture", "PlaneMap", "RunPanels"]

DOTS = 120
"""Resolution, dots per inch; chosen: sharp in a notebook, and fast to encode."""
COMPRESSION = 1
"""Compression level of PNG, 0 to 9; low, because encoding time matters more than size here."""
MARGIN = 1.08
"""Upper end of an axis over the highest value on it; chosen."""


class LivePicture:
    """A figure some artists of which change, rendered as PNG repeatedly.

    Args:
        figure: the complete figure.
        moving: the artists that change, each on axes of the figure.
    """

    def __init__(self, figure: Figure, moving: Sequence[Any]) -> None:
        figure.set_dpi(DOTS)
        self._canvas, self._moving = FigureCanvasAgg(figure), moving
        self._settings = settings()
        for artist in moving:
            artist.set_animated(True)
        self.redraw()

    def redraw(self) -> None:
        """Draw the whole figure but its moving artists, and keep the pixels for `png`.

        Call it after fixed artists, such as axis limits, have changed.
        """
        with rc_context(self._settings):
            self._canvas.draw()
        self._still = self._canvas.copy_from_bbox(self._canvas.figure.bbox)

    def png(self) -> bytes:
        """The figure as PNG bytes: the moving artists in their present state on the kept pixels."""
        self._canvas.restore_region(self._still)
        for artist in self._moving:
            artist.axes.draw_artist(artist)
        file = io.BytesIO()
        pixels = Image.fromarray(np.asarray(self._canvas.buffer_rgba())).convert("RGB")
        pixels.save(file, "png", compress_level=COMPRESSION)
        return file.getvalue()


class RunPanels:
    """Windows and queues of a run on two axes, updated from run to run.

    Args:
        axes: axes for windows, and axes for queues.
        run: the first run; later ones have the same classes, links and times.
        warmup: initial time excluded from averages, s. It is shaded, and the axes end at the
            highest value after it, so that slow start does not dwarf the rest of the run.
    """

    def __init__(self, axes: Sequence[Axes], run: Recording, warmup: float) -> None:
        self._measured = run.times >= warmup
        windows, queues = axes
        classes, links = list(run.network.flows), link_names(run.network, columns(run))
        averages = [f"{link} (average)" for link in links]
        averaged = run.links["avg_queue"].max(axis=0) > 0
        hues = [colour(2 + i) for i in range(2 * len(links))]
        controls = [flows.law.name for flows in run.network.flows.values()]
        self._lines = {
            "cwnd": lines(windows, run, classes, control_colours(controls)),
            "queue": lines(queues, run, links, hues[::2]),
            "avg_queue": lines(queues, run, averages, hues[1::2], averaged),
        }
        for ax, title in zip(axes, ("window per flow, packets", "queue, packets"), strict=True):
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
        """The lines of windows and queues, whose data change from run to run."""
        return [line for row in self._lines.values() for line in row if line is not None]

    def show(self, run: Recording) -> bool:
        """Plot the windows and queues (packets) of a run in place of those of the previous run.

        Windows are means over the flows of a class. Returns whether a vertical axis had to be
        extended, after which the figure must be redrawn.
        """
        values = {"cwnd": class_means(run.network.counts, run.flows["cwnd"]), **run.links}
        extended = False
        for name, row in self._lines.items():
            for number, line in enumerate(row):
                if line is not None:
                    line.set_ydata(values[name][:, number])
                    extended |= self._extend(line)
        return extended

    def _extend(self, line: Any) -> bool:
        """Extend the vertical axis if a line exceeds it after the warm-up; return whether it did.

        An axis never shrinks, so that runs are comparable.
        """
        highest = float(np.max(line.get_ydata()[self._measured]))
        if highest <= self._tops[line.axes]:
            return False
        self._tops[line.axes] = highest
        line.axes.set_ylim(0, MARGIN * highest)
        return True


def columns(run: Recording) -> int:
    """Number of links in a run's arrays; with two-way traffic reverse directions count as well."""
    return run.links["queue"].shape[1]


def lines(
    axes: Axes, run: Recording, names: Sequence[str], colours: Sequence[str], wanted: Any = None
) -> list[Any]:
    """Add a line at zero with a legend entry to the axes for each name, and return the lines.

    Args:
        axes: axes to draw on.
        run: a run with the sample times.
        names: names for the legend, one for each line.
        colours: one for each line.
        wanted: for each name, whether its line is drawn, dashed; None: all are drawn, solid.

    Returns:
        The lines; None in place of those that are not wanted.
    """
    drawn: list[Any] = []
    for number, name in enumerate(names):
        style: dict[str, Any] = {"color": colours[number], "linewidth": 1.4}
        if wanted is not None:
            style |= {"linestyle": "--", "linewidth": 0.9}
        shown = wanted is None or wanted[number]
        zeros = np.zeros(run.times.size)
        drawn.append(axes.plot(run.times, zeros, label=name, **style)[0] if shown else None)
    return drawn


class PlaneMap:
    """Fairness map over alpha and beta, with a mark at one point.

    Args:
        axes: axes to draw on.
        data: results of a sweep over `beta` and `alpha`, NaN where beta is below alpha.
        at: alpha and beta of the mark, packets.
        title: title of the map.
    """

    def __init__(self, axes: Axes, data: xr.Dataset, at: tuple[float, float], title: str) -> None:
        fairness_map(data, over=["beta", "alpha"], ax=axes)
        background, foreground = page_colours()
        axes.set_title(title)
        for along in (axes.xaxis, axes.yaxis):
            along.set_major_locator(MaxNLocator(integer=True, nbins=6))
        lowest, highest = axes.get_xlim()
        axes.fill([lowest, highest, highest], [lowest, lowest, highest], facecolor="none",
                  edgecolor="0.6", hatch="///", linewidth=0, zorder=0)  # fmt: skip
        axes.text(0.96, 0.05, "beta below alpha", transform=axes.transAxes, ha="right",
                  va="bottom", fontsize="small", backgroundcolor=background)  # fmt: skip
        cross: dict[str, Any] = {"color": foreground, "linewidth": 0.8, "linestyle": ":"}
        self._right = axes.axvline(at[0], **cross)
        self._up = axes.axhline(at[1], **cross)
        mark = {"markersize": 10, "markerfacecolor": background, "markeredgecolor": foreground}
        (self._mark,) = axes.plot(*at, "o", markeredgewidth=2.0, **mark)

    @property
    def moving(self) -> list[Any]:
        """The artists that `show` moves: the mark, and the two lines through it."""
        return [self._right, self._up, self._mark]

    def show(self, at: tuple[float, float]) -> None:
        """Move the mark and its two lines to `at`: alpha and beta, packets."""
        alpha, beta = at
        self._right.set_xdata([alpha, alpha])
        self._up.set_ydata([beta, beta])
        self._mark.set_data([alpha], [beta])
