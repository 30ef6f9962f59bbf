"""Pictures that are drawn when the site is built, each on light and on dark ground.

A reader sees the one of their theme (furo's classes `only-light` and `only-dark`).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from matplotlib.figure import Figure

from vegasfluid.plot import theme

__all__ = ["GROUNDS", "draw", "figures"]

GROUNDS = ("light", "dark")


def draw(picture: Callable[[], Figure], folder: Path, name: str) -> None:
    """Draw a picture on both grounds."""
    for ground in GROUNDS:
        with theme(ground):
            options = {"transparent": True, "metadata": {"Date": None}}
            picture().savefig(folder / f"{name}-{ground}.svg", **options)


def figures(path: str, alt: str, words: str) -> str:
    """Both pictures as Markdown.

    Args:
        path: where they lie, as seen from the page, without `-light.svg`.
        alt: what is seen, for those who do not see it.
        words: the line below.
    """
    return "\n\n".join(
        f":::{{figure}} {path}-{ground}.svg\n"
        f":figclass: scrolls only-{ground}\n:alt: {alt}\n\n{words}\n:::"
        for ground in GROUNDS
    )
