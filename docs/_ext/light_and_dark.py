"""Plots drawn when the site is built, each for a light and a dark background.

The reader sees the one that fits their theme (furo's classes `only-light` and `only-dark`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from matplotlib.figure import Figure
from up_to_date import is_up_to_date

from vegasfluid.plot import theme

__all__ = ["BACKGROUNDS", "draw", "draw_outdated", "figures"]

BACKGROUNDS = ("light", "dark")
"""Backgrounds for which every plot is drawn; they end the names of the files."""


def draw(plot: Callable[[], Figure], folder: Path, name: str) -> None:
    """Draw a plot for both backgrounds into `folder`, as SVG files without a date."""
    for background in BACKGROUNDS:
        with theme(background):
            options = {"transparent": True, "metadata": {"Date": None}}
            plot().savefig(folder / f"{name}-{background}.svg", **options)


def draw_outdated(plots: Mapping[str, Callable[[], Figure]], folder: Path, script: Path) -> None:
    """Draw all plots, by name, into a folder if any is missing or older than the code."""
    files = [folder / f"{name}-{background}.svg" for name in plots for background in BACKGROUNDS]
    if is_up_to_date(files, script, Path(__file__)):
        return
    folder.mkdir(exist_ok=True)
    for name, plot in plots.items():
        draw(plot, folder, name)


def figures(path: str, alt: str, caption: str, scrolls: bool = True) -> str:
    """Return Markdown that shows a plot for both backgrounds.

    Args:
        path: path of the files relative to the page, without `-light.svg`.
        alt: description for readers who do not see the plot.
        caption: text below the plot.
        scrolls: whether a narrow window shows a part of it at full size; otherwise it gets smaller.
    """
    return "\n\n".join(
        f":::{{figure}} {path}-{background}.svg\n"
        f":figclass: {'scrolls ' * scrolls}only-{background}\n:alt: {alt}\n\n{caption}\n:::"
        for background in BACKGROUNDS
    )
