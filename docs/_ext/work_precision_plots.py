"""Work-precision plots of delay solvers, from the results of `benchmarks.work_precision`.

Nothing is solved here. A panel whose solver has no points fails the build.
"""

from __future__ import annotations

from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Any, ClassVar

import light_and_dark
from benchmark_tables import RESULTS, document, origin
from docutils import nodes
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import NullLocator
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

from benchmarks.work_precision.curves import (
    COMPARED,
    CURVES,
    ERRORS,
    ORDERS,
    PROBLEMS,
    curve,
    ratio_name,
)
from vegasfluid.plot.style import FAINT, colour, styled

__all__ = ["plot", "setup", "table"]

NAME = "work_precision"
"""Name of the benchmark and of the picture."""
FOLDER = "_pictures"
"""Folder of the picture, below that of the pages."""
SOLVERS = {
    "vegasfluid": {"number": 0, "marker": "o", "ms": 3.5},
    "JiTCDDE": {"number": 1, "marker": "s", "ms": 3.5},
    "SciPy": {"number": 2, "marker": "^", "ms": 4.0},
    "diffrax": {"number": 3, "marker": "o", "ms": 6.5, "fillstyle": "none"},
}
"""Number of the colour and marker of each solver."""
STYLES = {3: ":", 5: "-", 8: "--"}
"""Line styles by the order of the method."""
ALT = (
    "Six panels of CPU time against error, one for each problem, both axes logarithmic: "
    "the curves of vegasfluid are below those of JiTCDDE and SciPy, more so at small errors; "
    "without delay they coincide with those of diffrax"
)
"""Description of the picture for readers who do not see it."""


def style_of(solver: str) -> dict[str, Any]:
    """Return the colour and the marker of a solver as matplotlib's settings."""
    settings = dict(SOLVERS[solver])
    return {"color": colour(settings.pop("number")), **settings}


def draw_panel(axes: Axes, figures: dict[str, float], problem: str) -> None:
    """Plot time (ms) against error (relative) of all solvers that can solve a problem.

    Raises:
        ExtensionError: if the results lack a curve.
    """
    peers = [peer for peer, problems in COMPARED.items() if problem in problems]
    for solver in ("vegasfluid", *peers):
        for name in CURVES[solver]:
            points = curve(figures, problem, name)
            if not points:
                raise ExtensionError(f"work-precision plot: no points of {name}, {problem}")
            line = "none" if solver == "diffrax" else STYLES[ORDERS[name]]
            axes.plot(*zip(*points, strict=True), ls=line, lw=1.2, **style_of(solver))
    axes.set_title(f"{problem}\n{PROBLEMS[problem]}", fontsize="small")
    axes.grid(True, alpha=FAINT)


def legend_of(figure: Figure) -> None:
    """Add a legend above the panels: a row of solvers, and one of the orders of their methods.

    It is at the left, which is the part that a narrow window shows first.
    """
    solvers = [Line2D([], [], ls="none", label=name, **style_of(name)) for name in SOLVERS]
    orders = [
        Line2D([], [], ls=style, color="gray", label=f"order {order}")
        for order, style in STYLES.items()
    ]
    columns = zip_longest(solvers, orders)  # a legend is filled column by column
    handles = [handle for column in columns for handle in column if handle is not None]
    figure.legend(handles=handles, loc="outside upper left", ncols=len(solvers))


@styled
def plot(figures: dict[str, float]) -> Figure:
    """CPU time against error of all solvers, a panel for each problem."""
    figure = Figure(figsize=(9, 6), layout="constrained")
    panels = figure.subplots(2, 3, sharex=True, sharey=True)
    for axes, problem in zip(panels.flat, PROBLEMS, strict=True):
        draw_panel(axes, figures, problem)
    panels[0, 0].set(xscale="log", yscale="log")
    panels[0, 0].xaxis.set_major_formatter(lambda value, _: short(value))
    panels[0, 0].set_xticks([1e-9, 1e-6, 1e-3, 1])
    panels[0, 0].xaxis.set_minor_locator(NullLocator())
    panels[0, 0].yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    for axes in panels[-1]:
        axes.set_xlabel("error, relative")
    for axes in panels[:, 0]:
        axes.set_ylabel("CPU time, ms")
    legend_of(figure)
    return figure


def table(figures: dict[str, float]) -> str:
    """Return a Markdown table: times of other solvers over ours, by problem and error."""
    head = " | ".join(f"error {short(error)}" for error in ERRORS)
    rows = [f"| problem | solver | {head} |", "|---|---|" + "---:|" * len(ERRORS)]
    for problem in PROBLEMS:
        for peer, problems in COMPARED.items():
            if problem in problems:
                names = [ratio_name(problem, peer, error) for error in ERRORS]
                cells = [rounded(figures[name]) if name in figures else "" for name in names]
                rows.append(f"| {problem} | {peer} | " + " | ".join(cells) + " |")
    return "\n".join(rows)


def short(value: float) -> str:
    """Return a power of ten as text, such as 1e-3."""
    return "1" if value == 1 else f"{value:.0e}".replace("e-0", "e-")


def rounded(value: float) -> str:
    """Return a number with two digits, without an exponent."""
    return f"{float(f'{value:.2g}'):g}"


def draw(app: Sphinx) -> None:
    """Draw the picture into the site's folder, if there are results."""
    folder = Path(app.srcdir) / FOLDER
    folder.mkdir(exist_ok=True)
    if (results := document(NAME)) is not None:
        light_and_dark.draw(partial(plot, results["figures"]), folder, NAME)


class WorkPrecision(SphinxDirective):
    """Directive `work-precision`: the picture, how it was measured, and the comparison."""

    has_content = True
    option_spec: ClassVar[dict[str, Any]] = {}

    def run(self) -> list[nodes.Node]:
        """Return the picture for both backgrounds and the table, or a note without results."""
        self.env.note_dependency(str(RESULTS / f"{NAME}.json"))
        results = document(NAME)
        if results is None:
            return self.parse_text_to_nodes(f"(No results of `python -m benchmarks.{NAME}`.)")
        picture = light_and_dark.figures(f"../{FOLDER}/{NAME}", ALT, " ".join(self.content))
        parts = [picture, origin(NAME, results), TABLE, table(results["figures"])]
        return self.parse_text_to_nodes("\n\n".join(parts))


TABLE = (
    "The time of another solver divided by that of `dde.solve` at the same error, each with its "
    "fastest method. Above 1, `dde.solve` is faster."
)
"""Sentence before the table."""


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive and the drawing with Sphinx; pages may be read in parallel."""
    app.add_directive("work-precision", WorkPrecision)
    app.connect("builder-inited", draw)
    return {"parallel_read_safe": True}
