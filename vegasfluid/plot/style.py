"""One style for all pictures, light or dark.

Colours are Okabe and Ito's, which colour-blind readers can tell apart (M. Okabe and K. Ito, "Color
universal design", 2008); on dark ground the bright ones of them come first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any, Literal, ParamSpec, TypeVar

from cycler import cycler
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from vegasfluid.errors import InvalidInput

__all__ = [
    "FAINT",
    "LINES",
    "colour",
    "figure_of",
    "ground",
    "new_axes",
    "settings",
    "styled",
    "theme",
]

Name = Literal["light", "dark"]
Arguments = ParamSpec("Arguments")
Drawn = TypeVar("Drawn")

LINES = ("-", "--", ":", "-.")
"""Line styles, one a run."""
FAINT = 0.3
"""How strong the grid is: said where it is drawn, for axes that others made in their own style."""
CYCLES = {
    "light": ("#0072B2", "#D55E00", "#009E73", "#000000", "#CC79A7", "#E69F00", "#56B4E9"),
    "dark": ("#56B4E9", "#E69F00", "#009E73", "#FFFFFF", "#CC79A7", "#D55E00", "#F0E442"),
}
GROUND = {"light": ("white", "black"), "dark": ("#161616", "#E6E6E6")}
PAINTED = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")

chosen: ContextVar[Name] = ContextVar("theme", default="light")


@contextmanager
def theme(name: Name) -> Iterator[None]:
    """Draw on light or dark ground inside a `with` block.

    Args:
        name: `light` (the default everywhere) or `dark`.

    Raises:
        InvalidInput: for another name.

    >>> with theme("dark"):
    ...     colour(0)
    '#56B4E9'
    """
    if name not in CYCLES:
        raise InvalidInput("theme", "name", "light or dark", name)
    before = chosen.set(name)
    try:
        yield
    finally:
        chosen.reset(before)


def colour(number: int) -> str:
    """One colour of the theme; they begin again after the last."""
    cycle = CYCLES[chosen.get()]
    return cycle[number % len(cycle)]


def ground() -> tuple[str, str]:
    """The colours of the theme: what lies below, and what is written on it."""
    return GROUND[chosen.get()]


def settings() -> dict[Any, Any]:
    """The theme as matplotlib's own settings."""
    below, above = ground()
    return {
        "text.parse_math": False,  # a dollar in a name is a dollar
        "axes.prop_cycle": cycler(color=CYCLES[chosen.get()]),
        "figure.facecolor": below,
        "axes.facecolor": below,
        "legend.frameon": False,
        "legend.fontsize": "small",
        "axes.titlesize": "medium",
        "axes.titlelocation": "left",
        **dict.fromkeys(PAINTED, above),
    }


def styled(draw: Callable[Arguments, Drawn]) -> Callable[Arguments, Drawn]:
    """A function that draws, in the style."""

    @wraps(draw)
    def drawn(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Drawn:
        with rc_context(settings()):
            return draw(*args, **kwargs)

    return drawn


def figure_of(axes: Axes) -> Figure:
    """The figure that axes are on, whole."""
    found = axes.get_figure(root=True)
    assert isinstance(found, Figure)
    return found


def new_axes(ax: Axes | None, size: tuple[float, float]) -> Axes:
    """The axes that are given, or those of a new figure of this size, inches."""
    if ax is not None:
        return ax
    return Figure(figsize=size, layout="constrained").subplots()
