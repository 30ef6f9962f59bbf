"""Plots that compare reference runs of other programs with results of our benchmarks.

The reference runs are in tests/agreement, our results in benchmarks/results; nothing is simulated
here. If a benchmark has no results, its page states this instead of showing a plot. A chart without
points fails the build.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import light_and_dark
import numpy as np
from benchmark_tables import ROOT, document
from docutils import nodes
from matplotlib.figure import Figure
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

from benchmarks.ns2_rows import NS2Row, ns2_rows
from vegasfluid.plot.style import FAINT, colour, styled

__all__ = ["PLOTS", "plot", "setup"]

FOLDER = "_pictures"
"""Folder of the plots, below that of the pages."""
Figures = dict[str, Any]
"""Numbers of a benchmark by name."""
SMALLEST_RATIO = 0.2
"""Smallest ratio of ns-2 for which relative differences are plotted."""


def new_figure(panels: int, height: float) -> tuple[Figure, Any]:
    """Figure with `panels` axes side by side, 9 inches wide; `height` is in inches.

    Returns the figure and the array of its axes.
    """
    figure = Figure(figsize=(9, height), layout="constrained")
    return figure, figure.subplots(1, panels, squeeze=False)[0]


@styled
def ns2(figures: Figures) -> Figure:
    """Ratio against alpha on networks 2 to 4 for ns-2 and our simulators, and the differences."""
    figure = Figure(figsize=(9, 5.2), layout="constrained")
    panels = figure.subplots(2, 3, sharex="col", sharey="row")
    for (above, below), network in zip(panels.T, (2, 3, 4), strict=True):
        rows = [row for row in ns2_rows() if row.network == network]
        for gentle, fill in ((False, "full"), (True, "none")):
            label = "ns-2, no overshoot" if gentle else "ns-2"
            points = [(row.alpha, row.ratio) for row in rows if row.gentle_start is gentle]
            style = {"color": colour(3), "fillstyle": fill, "ms": 7, "label": label}
            above.plot(*columns(points), "o", **style)
        for engine, number, marker in (("packets", 0, "x"), ("fluid", 1, "+")):
            pairs = differences(figures, engine, rows)
            points = [(row.alpha, row.ratio * (1 + error)) for row, error in pairs]
            above.plot(*columns(points), marker, color=colour(number), label=engine)
            points = [(row.alpha, 100 * e) for row, e in pairs if row.ratio >= SMALLEST_RATIO]
            below.plot(*columns(points), marker, color=colour(number))
        above.set(title=f"network {network}", ylim=(0, 2))
        below.set(xlabel="alpha, packets", ylim=(-15, 15))
        below.axhspan(-10, 10, color=colour(3), alpha=0.08, lw=0)
        for axes in (above, below):
            axes.grid(True, alpha=FAINT)
    panels[0, 0].set_ylabel("goodput, Vegas / Reno")
    panels[1, 0].set_ylabel("difference to ns-2, %")
    panels[0, 0].legend()
    return figure


def columns(points: list[tuple[float, float]]) -> np.ndarray:
    """Abscissas and ordinates of points as an array of shape (2, points); also of no points."""
    return np.array(points).reshape(-1, 2).T


def differences(figures: Figures, engine: str, rows: list[NS2Row]) -> list[tuple[NS2Row, float]]:
    """Runs of ns-2 with the relative difference of an engine's Vegas-to-Reno ratio from theirs.

    Args:
        figures: results of the benchmark by name.
        engine: "packets" or "fluid".
        rows: runs of ns-2; those that the benchmark lacks are left out.
    """
    names = [(row, f"{engine}.{row.name}.ratio") for row in rows]
    return [(row, figures[name]) for row, name in names if name in figures]


@styled
def linux(figures: Figures) -> Figure:
    """Goodput against Reno, window and queue without competitors, and goodput with jitter."""
    figure, (competing, alone, jitter) = new_figure(3, 3.4)
    for flow, number in (("reno", 1), ("vegas", 0)):
        draw_over_alpha(
            competing, figures, "beside.alpha{}", f"{flow}.goodput_mbps", flow, colour(number)
        )
    draw_over_alpha(alone, figures, "alone.alpha{}", "cwnd_packets", "cwnd", colour(0))
    draw_over_alpha(alone, figures, "alone.alpha{}", "queue_packets", "queue", colour(2))
    competing.set(title="Vegas and Reno, drop-tail", xlabel="alpha", ylabel="goodput, Mbit/s")
    alone.set(title="Vegas alone", xlabel="alpha", ylabel="packets")
    cases = ("none", "both_reorder", "both_ordered")
    for law, number in (("reno", 1), ("vegas", 0)):
        names = [f"jitter.{case}.{law}.goodput_mbps" for case in cases]
        draw_pair(
            jitter,
            range(3),
            [figures[f"{name}.linux"] for name in names],
            [figures[f"{name}.packets"] for name in names],
            law,
            colour(number),
        )
    jitter.set_xticks(range(3), ["no jitter", "reorders", "in order"])
    jitter.set(title="one flow with jitter", ylabel="goodput, Mbit/s")
    for axes in (competing, alone, jitter):
        axes.set_ylim(bottom=0)
        axes.grid(True, alpha=FAINT)
        axes.legend()
    return figure


def draw_over_alpha(
    axes: Any, figures: Figures, row: str, quantity: str, name: str, hue: str
) -> None:
    """Plot a quantity of the Linux kernel and of the packet simulator against alpha (packets).

    Args:
        axes: axes to plot into.
        figures: results of the benchmark by name.
        row: names of the rows, with `{}` for alpha.
        quantity: name of the quantity in each row, such as `cwnd_packets`.
        name: name of the quantity or flow in the legend.
        hue: colour.
    """
    first, last = (part for part in row.split("{}"))
    ending = f"{last}.{quantity}.linux"
    alphas = sorted(
        int(key[len(first) : -len(ending)])
        for key in figures
        if key.startswith(first) and key.endswith(ending)
    )
    theirs = [figures[f"{row.format(alpha)}.{quantity}.linux"] for alpha in alphas]
    ours = [figures[f"{row.format(alpha)}.{quantity}.packets"] for alpha in alphas]
    draw_pair(axes, alphas, theirs, ours, name, hue)


def draw_pair(
    axes: Any, x: Any, theirs: list[float], ours: list[float], name: str, hue: str
) -> None:
    """Plot values of the kernel as circles and those of the packet simulator as crosses.

    Args:
        axes: axes to plot into.
        x: abscissas.
        theirs: values of the kernel, one for each abscissa.
        ours: values of the packet simulator, likewise.
        name: name in the legend.
        hue: colour.
    """
    axes.plot(x, theirs, "o", color=hue, fillstyle="none", ms=7, label=f"{name}, Linux 6.1")
    axes.plot(x, ours, "x", color=hue, ms=7, label=f"{name}, packets")


@styled
def formulas(figures: Figures) -> Figure:
    """Cumulative distribution of the differences of each engine to the closed forms."""
    figure, (axes,) = new_figure(1, 3.2)
    for number, engine in enumerate(("solver", "fluid", "packets")):
        ending = f".{engine}.difference"
        sizes = sorted(
            max(abs(value), 1e-16) for name, value in figures.items() if name.endswith(ending)
        )
        percentages = [100 * (rank + 1) / len(sizes) for rank in range(len(sizes))]
        axes.step(sizes, percentages, where="post", color=colour(number), label=engine)
    for number, bound in enumerate((1e-6, 1e-2, 1e-1)):
        axes.axvline(bound, color=colour(number), lw=0.8, ls=":")
    axes.set(
        xscale="log",
        xlabel="relative difference to the closed form",
        ylabel="rows with at most this difference, %",
    )
    axes.grid(True, alpha=FAINT)
    axes.legend()
    return figure


@styled
def queues(figures: Figures) -> Figure:
    """Share of CUBIC and mean queueing delay over PIE and CoDel in ns-3 and in our simulator."""
    figure, panels = new_figure(2, 3.4)
    labels = {"share": "share of CUBIC", "delay_ms": "mean queueing delay, ms"}
    for axes, (quantity, label) in zip(panels, labels.items(), strict=True):
        for number, kind in enumerate(("pie", "codel")):
            first, last = f"ns3.{kind}_", f".{quantity}.ns3"
            names = [key for key in figures if key.startswith(first) and key.endswith(last)]
            theirs = [figures[name] for name in names]
            ours = [figures[name.removesuffix("ns3") + "packets"] for name in names]
            axes.plot(theirs, ours, "o", color=colour(number), fillstyle="none", label=kind)
        low, high = axes.get_xlim()
        axes.plot([low, high], [low, high], color=colour(3), lw=0.8, ls=":", label="equal")
        axes.set(xlabel=f"{label}, ns-3", ylabel=f"{label}, packets")
        axes.grid(True, alpha=FAINT)
        axes.legend()
    return figure


PLOTS: dict[str, Callable[[Figures], Figure]] = {
    "ns2": ns2,
    "linux": linux,
    "queues": queues,
    "formulas": formulas,
}
"""Functions that plot the results of a benchmark, by its name."""


def plot(name: str, figures: Figures) -> Figure:
    """Plot of the results of the benchmark `name`; `figures` has its numbers by name.

    Raises:
        ExtensionError: if a line or marker has no points, for example after a renamed result.
    """
    figure = PLOTS[name](figures)
    for axes in figure.axes:
        if not axes.lines or not all(np.size(line.get_xdata()) for line in axes.lines):
            raise ExtensionError(
                f"agreement plot {name}: a chart or one of its lines has no points"
            )
    return figure


def draw(app: Sphinx) -> None:
    """Draw the plots of all benchmarks that have results into the site's folder."""
    folder = Path(app.srcdir) / "validation" / FOLDER
    folder.mkdir(exist_ok=True)
    for name in PLOTS:
        if (results := document(name)) is not None:
            light_and_dark.draw(partial(plot, name, results["figures"]), folder, name)


class Agreement(SphinxDirective):
    """Directive `agreement`: a plot with its caption."""

    required_arguments = 1
    has_content = True
    option_spec: ClassVar[dict[str, Any]] = {}

    def run(self) -> list[nodes.Node]:
        """Return the plot for both backgrounds, or a note that there are no results."""
        name = self.arguments[0]
        path = ROOT / "benchmarks" / "results" / f"{name}.json"
        self.env.note_dependency(str(path))
        if not path.is_file():
            return self.parse_text_to_nodes(f"(No results of `python -m benchmarks.{name}`.)")
        caption = " ".join(self.content)
        alt = (PLOTS[name].__doc__ or "").strip().rstrip(".")
        return self.parse_text_to_nodes(light_and_dark.figures(f"{FOLDER}/{name}", alt, caption))


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive and the drawing with Sphinx; pages may be read in parallel."""
    app.add_directive("agreement", Agreement)
    app.connect("builder-inited", draw)
    return {"parallel_read_safe": True}
