"""Style of all plots, light or dark.

The colours are those of M. Okabe and K. Ito, "Color universal design", 2008, which colour-blind
readers can distinguish. In the dark theme the bright ones come first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
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
    "control_colours",
    "figure_of",
    "new_axes",
    "page_colours",
    "settings",
    "styled",
    "theme",
]

Name = Literal["light", "dark"]
"""Name of a theme."""
Arguments = ParamSpec("Arguments")
Drawn = TypeVar("Drawn")

LINES = ("-", "--", ":", "-.")
"""Line styles, one for each run."""
FAINT = 0.3
"""Opacity of the grid; passed with every grid, because axes given by users have another style."""
CYCLES = {
    "light": ("#0072B2", "#D55E00", "#009E73", "#000000", "#CC79A7", "#E69F00", "#56B4E9"),
    "dark": ("#56B4E9", "#E69F00", "#009E73", "#FFFFFF", "#CC79A7", "#D55E00", "#F0E442"),
}
"""Line colours (`#RRGGBB`) by theme, in order of use."""
CONTROLS = ("vegas", "reno", "cubic")
"""Congestion controls in the order of their colours."""
PAGE_COLOURS = {"light": ("white", "black"), "dark": ("#161616", "#E6E6E6")}
"""Background and foreground colours by theme."""
PAINTED = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")
"""Settings of matplotlib that take the foreground colour."""

current_theme: ContextVar[Name] = ContextVar("theme", default="light")
"""Name of the present theme, which `theme` sets."""


@contextmanager
def theme(name: Name) -> Iterator[None]:
    """Context in which plots have a light or dark background.

    Args:
        name: `light` (the default outside any context) or `dark`.

    Raises:
        InvalidInput: for any other name.

    >>> with theme("dark"):
    ...     colour(0)
    '#56B4E9'
    """
    if name not in CYCLES:
        raise InvalidInput("theme", "name", "light or dark", name)
    before = current_theme.set(name)
    try:
        yield
    finally:
        current_theme.reset(before)


def colour(number: int) -> str:
    """Colour of the present theme by number from 0, as `#RRGGBB`; after the last, they repeat."""
    cycle = CYCLES[current_theme.get()]
    return cycle[number % len(cycle)]


def control_colours(controls: Sequence[str]) -> list[str]:
    """Colours of flow classes by their congestion controls, the same in all plots of a theme.

    Vegas is blue, Reno orange, CUBIC green. Other congestion controls, and classes whose colour an
    earlier class has, get the first colour that no earlier class has.

    >>> control_colours(["reno", "vegas", "vegas"]) == [colour(1), colour(0), colour(2)]
    True
    """
    taken: list[int] = []
    for control in controls:
        own = CONTROLS.index(control) if control in CONTROLS else None
        free = (number for number in range(len(controls) + len(CONTROLS)) if number not in taken)
        taken.append(next(free) if own is None or own in taken else own)
    return [colour(number) for number in taken]


def page_colours() -> tuple[str, str]:
    """Background and foreground colour of the present theme, as matplotlib names or `#RRGGBB`."""
    return PAGE_COLOURS[current_theme.get()]


def settings() -> dict[Any, Any]:
    """The present theme as matplotlib settings (`rcParams`): colours, legend and titles."""
    background, foreground = page_colours()
    return {
        "text.parse_math": False,  # names may contain dollar signs
        "axes.prop_cycle": cycler(color=CYCLES[current_theme.get()]),
        "figure.facecolor": background,
        "axes.facecolor": background,
        "legend.frameon": False,
        "legend.fontsize": "small",
        "axes.titlesize": "medium",
        "axes.titlelocation": "left",
        **dict.fromkeys(PAINTED, foreground),
    }


def styled(draw: Callable[Arguments, Drawn]) -> Callable[Arguments, Drawn]:
    """Decorator: the returned function calls `draw` with the matplotlib settings of the theme."""

    @wraps(draw)
    def drawn(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Drawn:
        with rc_context(settings()):
            return draw(*args, **kwargs)

    return drawn


def figure_of(axes: Axes) -> Figure:
    """The figure that contains the axes, also if they are on a subfigure."""
    figure = axes.get_figure(root=True)
    assert isinstance(figure, Figure)
    return figure


def new_axes(ax: Axes | None, size: tuple[float, float]) -> Axes:
    """The given axes or, for None, those of a new figure of this width and height, inches."""
    if ax is not None:
        return ax
    return Figure(figsize=size, layout="constrained").subplots()
