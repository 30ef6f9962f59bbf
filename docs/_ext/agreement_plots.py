"""Pictures of agreement: other people's runs beside what benchmarks found, in light and in dark.

The reference runs are in the repository (tests/agreement); ours are the documents in
benchmarks/results. Nothing is simulated here. A picture whose document is absent is left out, and
its page says so.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import light_and_dark
from benchmark_tables import ROOT, document
from docutils import nodes
from matplotlib.figure import Figure
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from benchmarks.ns2_rows import NS2Row, ns2_rows
from vegasfluid.plot.style import colour, styled

__all__ = ["PICTURES", "setup"]

DRAWN = "_pictures"
"""Folder of the pictures, below that of the pages."""
Found = dict[str, Any]
JUDGED = 0.2
"""The smallest of ns-2's ratios whose differences are drawn."""


def new_figure(panels: int, height: float) -> tuple[Figure, Any]:
    """A figure with panels side by side."""
    figure = Figure(figsize=(9, height), layout="constrained")
    return figure, figure.subplots(1, panels, squeeze=False)[0]


@styled
def ns2(found: Found) -> Figure:
    """Ratio over alpha on networks 2 to 4, ns-2 and both simulators, and how far ours are off."""
    figure = Figure(figsize=(9, 5.2), layout="constrained")
    panels = figure.subplots(2, 3, sharex="col", sharey="row")
    for (above, below), number in zip(panels.T, (2, 3, 4), strict=True):
        rows = [row for row in ns2_rows() if row.network == number]
        for gentle, fill in ((False, "full"), (True, "none")):
            told = "ns-2, gentle start" if gentle else "ns-2"
            points = [(row.alpha, row.ratio) for row in rows if row.gentle_start is gentle]
            style = {"color": colour(3), "fillstyle": fill, "ms": 6, "label": told}
            above.plot(*zip(*points, strict=True), "o", **style)
        for engine, place, marker in (("packets", 0, "x"), ("fluid", 1, "+")):
            differences = off_by(found, engine, rows)
            points = [(row.alpha, row.ratio * (1 + off)) for row, off in differences]
            above.plot(*zip(*points, strict=True), marker, color=colour(place), label=engine)
            points = [(row.alpha, 100 * off) for row, off in differences if row.ratio >= JUDGED]
            below.plot(*zip(*points, strict=True), marker, color=colour(place))
        above.set(title=f"network {number}", xscale="log", yscale="log")
        below.set(xlabel="alpha, packets", ylim=(-15, 15))
        below.axhspan(-10, 10, color=colour(3), alpha=0.08, lw=0)
        for axes in (above, below):
            axes.grid(True)
    panels[0, 0].set_ylabel("goodput, Vegas over Reno")
    panels[1, 0].set_ylabel("off ns-2's ratio, %")
    panels[0, 0].legend()
    return figure


def off_by(found: Found, engine: str, rows: list[NS2Row]) -> list[tuple[NS2Row, float]]:
    """Rows that an engine was held to, and its relative differences."""
    named = [(row, f"{engine}.{row.name}.ratio") for row in rows]
    return [(row, found[name]) for row, name in named if name in found]


@styled
def linux(found: Found) -> Figure:
    """Goodput beside Reno, the window alone, and jitter: the kernel and ours."""
    figure, (beside, alone, jitter) = new_figure(3, 3.4)
    for flow, place in (("reno", 1), ("vegas", 0)):
        pairs(beside, found, "beside.alpha{}", f"{flow}.goodput_mbps", flow, colour(place))
    pairs(alone, found, "alone.alpha{}", "cwnd_packets", "cwnd", colour(0))
    pairs(alone, found, "alone.alpha{}", "queue_packets", "queue", colour(2))
    beside.set(title="beside Reno over drop-tail", xlabel="alpha", ylabel="goodput, Mbit/s")
    alone.set(title="Vegas alone", xlabel="alpha", ylabel="packets")
    kinds = ("none", "both_reorder", "both_ordered")
    for law, place in (("reno", 1), ("vegas", 0)):
        names = [f"jitter.{kind}.{law}.goodput_mbps" for kind in kinds]
        draw_pair(
            jitter,
            range(3),
            [found[f"{n}.linux"] for n in names],
            [found[f"{n}.packets"] for n in names],
            law,
            colour(place),
        )
    jitter.set_xticks(range(3), ["no jitter", "reorders", "in order"])
    jitter.set(title="one flow with jitter", ylabel="goodput, Mbit/s")
    for axes in (beside, alone, jitter):
        axes.set_ylim(bottom=0)
        axes.grid(True)
        axes.legend()
    return figure


def pairs(axes: Any, found: Found, row: str, what: str, name: str, ink: str) -> None:
    """A quantity over alpha, the kernel's and ours."""
    first, last = (part for part in row.split("{}"))
    ends = f"{last}.{what}.linux"
    alphas = sorted(
        int(key[len(first) : -len(ends)])
        for key in found
        if key.startswith(first) and key.endswith(ends)
    )
    theirs = [found[f"{row.format(alpha)}.{what}.linux"] for alpha in alphas]
    ours = [found[f"{row.format(alpha)}.{what}.packets"] for alpha in alphas]
    draw_pair(axes, alphas, theirs, ours, name, ink)


def draw_pair(
    axes: Any, at: Any, theirs: list[float], ours: list[float], name: str, ink: str
) -> None:
    """Circles for the kernel, crosses for ours."""
    axes.plot(at, theirs, "o", color=ink, fillstyle="none", ms=7, label=f"{name}, Linux 6.1")
    axes.plot(at, ours, "x", color=ink, ms=7, label=f"{name}, packets")


@styled
def formulas(found: Found) -> Figure:
    """Differences of solver, fluid and packets to the closed forms, as sorted shares."""
    figure, (axes,) = new_figure(1, 3.2)
    for place, engine in enumerate(("solver", "fluid", "packets")):
        ending = f".{engine}_difference"
        sizes = sorted(
            max(abs(value), 1e-16) for name, value in found.items() if name.endswith(ending)
        )
        shares = [100 * (rank + 1) / len(sizes) for rank in range(len(sizes))]
        axes.step(sizes, shares, where="post", color=colour(place), label=engine)
    for place, bound in enumerate((1e-6, 1e-2, 1e-1)):
        axes.axvline(bound, color=colour(place), lw=0.8, ls=":")
    axes.set(
        xscale="log",
        xlabel="relative difference to the closed form",
        ylabel="rows at most so far off, %",
    )
    axes.grid(True)
    axes.legend()
    return figure


PICTURES: dict[str, tuple[str, Callable[[Found], Figure]]] = {
    "ns2": ("ns2", ns2),
    "linux": ("linux", linux),
    "formulas": ("formulas", formulas),
}
"""Each picture's benchmark, and how it is drawn."""


def draw(app: Sphinx) -> None:
    """Draw every picture whose document is there."""
    folder = Path(app.srcdir) / "validation" / DRAWN
    folder.mkdir(exist_ok=True)
    for name, (benchmark, picture) in PICTURES.items():
        if (found := document(benchmark)) is None:
            continue
        light_and_dark.draw(partial(picture, found["figures"]), folder, name)


class Agreement(SphinxDirective):
    """A picture of agreement, with the words below it."""

    required_arguments = 1
    has_content = True
    option_spec: ClassVar[dict[str, Any]] = {}

    def run(self) -> list[nodes.Node]:
        """The picture, light and dark."""
        name = self.arguments[0]
        benchmark, picture = PICTURES[name]
        path = ROOT / "benchmarks" / "results" / f"{benchmark}.json"
        self.env.note_dependency(str(path))
        if not path.is_file():
            return self.parse_text_to_nodes(
                f"(Nothing of `python -m benchmarks.{benchmark}` is kept.)"
            )
        said = " ".join(self.content)
        words = (picture.__doc__ or "").strip().rstrip(".")
        return self.parse_text_to_nodes(light_and_dark.figures(f"{DRAWN}/{name}", words, said))


def setup(app: Sphinx) -> dict[str, bool]:
    """Sphinx's entry point."""
    app.add_directive("agreement", Agreement)
    app.connect("builder-inited", draw)
    return {"parallel_read_safe": True}
