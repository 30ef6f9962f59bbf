"""Sliders for alpha and beta, which update a fluid run and a mark on a fairness map.

They need ipywidgets and a notebook, for example in JupyterLab.
"""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from vegasfluid.errors import VegasfluidError
from vegasfluid.fluid import simulate_fluid
from vegasfluid.network import Network
from vegasfluid.plot.alpha_beta_plane import HALVED_ONCE, Plane, Reading, plane_of
from vegasfluid.plot.live_figures import LivePicture, PlaneMap, RunPanels
from vegasfluid.plot.style import styled
from vegasfluid.run_options import check_times

__all__ = ["Explorer", "explore"]

RUN, MAP, BOTH = (5.6, 4.4), (4.4, 4.4), (8.4, 4.2)
"""Sizes of the run's plot, of the map, and of both in one figure, inches."""
POINTS = 22
"""Default number of values of alpha and of beta on the map: 253 runs nearly fill a batch of 256."""
STEP = 0.5
"""Step of the sliders, packets; for dialects with whole thresholds it is 1."""
BASIS, LARGEST = 70, 120
"""Widths of the plots on a page, pixels per inch: below the first one plot is above the other; the
second is the largest width."""
CAPTION = "font-size: 0.85em; line-height: 1.35; color: var(--jp-ui-font-color2, inherit)"
"""CSS of small text."""
HINT = "Packets. Beta is never below alpha: dragging one slider past the other moves both."
"""Text below the sliders."""


class Explorer:
    """Sliders for alpha and beta, with plots of the fluid run, a fairness map and its averages.

    A notebook shows it as the result of a cell. Made by `explore`.

    Args:
        plane: network, and range of the sliders.
        swept: sweep of the ratio over the whole plane, from `Plane.swept`.
    """

    def __init__(self, plane: Plane, swept: xr.Dataset) -> None:
        self._plane, self.map = plane, swept
        law, widgets = plane.law, widgets_of_jupyter()
        start = np.clip(np.array([law.alpha, law.beta], float), plane.lowest, plane.highest)
        self.alpha = slider(plane, "alpha", float(start[0]))
        self.beta = slider(plane, "beta", float(start[1]))
        self._simulate()
        self._draw_first()
        sizes = RUN, MAP
        pictures = [self._run_picture, self._map_picture]
        self._images = [image(*pair) for pair in zip(sizes, pictures, strict=True)]
        self._text = widgets.HTML(reading_as_html(self.reading, plane.tuned))
        self.widget = layout(self.alpha, self.beta, self._text, self._images)
        self._following = False
        for control in (self.alpha, self.beta):
            control.observe(self._moved, "value")

    @property
    def network(self) -> Network:
        """The network with the sliders' alpha and beta (packets) for the tuned class."""
        return self._plane.network(self.alpha.value, self.beta.value)

    @styled
    def picture(self, alpha: float | None = None, beta: float | None = None) -> Figure:
        """Run, map and averages as a static figure, for any alpha and beta.

        Args:
            alpha: alpha, packets; None: the value of its slider.
            beta: beta, packets; None: the value of its slider.

        Returns:
            The figure: a new fluid run at the left, the map at the right, the averages in its
            title.

        Raises:
            InvalidInput: if beta is below alpha.
        """
        default = self._at
        at = default[0] if alpha is None else alpha, default[1] if beta is None else beta
        run = self._plane.run(*at)
        figure = Figure(figsize=BOTH, layout="constrained")
        figure.suptitle(str(self._plane.reading(run, *at)))
        left, right = figure.subfigures(1, 2, squeeze=False, width_ratios=(RUN[0], MAP[0]))[0]
        RunPanels(panels_on(left), run, self._plane.model.warmup)
        PlaneMap(right.subplots(), self.map, at, self._title)
        return figure

    @property
    def run(self) -> xr.Dataset:
        """Trajectory of a new fluid run with the sliders' alpha and beta, as it is plotted."""
        until, warmup = self._plane.model.duration, self._plane.model.warmup
        return simulate_fluid(self.network, until, warmup=warmup, tolerance=HALVED_ONCE)

    @property
    def _title(self) -> str:
        """Title of the map: the ratio that its colours show."""
        return f"goodput of a {self._plane.tuned} flow / goodput of another flow"

    @property
    def _at(self) -> tuple[float, float]:
        """Values of the two sliders: alpha and beta, packets."""
        return self.alpha.value, self.beta.value

    @styled
    def _draw_first(self) -> None:
        """Create the figures of the run and of the map for the sliders' alpha and beta."""
        left, right = (Figure(figsize=size, layout="constrained") for size in (RUN, MAP))
        self._panels = RunPanels(panels_on(left), self._run, self._plane.model.warmup)
        self._marked = PlaneMap(right.subplots(), self.map, self._at, self._title)
        self._run_picture = LivePicture(left, self._panels.moving)
        self._map_picture = LivePicture(right, self._marked.moving)

    def _simulate(self) -> None:
        """Run the fluid model for the sliders' alpha and beta; store the run and its averages."""
        self._run = self._plane.run(*self._at)
        self.reading: Reading = self._plane.reading(self._run, *self._at)

    def _moved(self, change: Any) -> None:
        """Respond to a moved slider: move the other one if beta < alpha, then redraw once.

        `change` is the event of ipywidgets, with the slider as `owner` and its value (packets) as
        `new`.
        """
        if self._following:
            return
        self._following = True
        try:
            if self.beta.value < self.alpha.value:
                other = self.beta if change["owner"] is self.alpha else self.alpha
                other.value = change["new"]
        finally:
            self._following = False
        self.redraw()

    def redraw(self) -> None:
        """Run the fluid model for the sliders' alpha and beta; update both plots and averages."""
        self._simulate()
        if self._panels.show(self._run):
            self._run_picture.redraw()
        self._marked.show(self._at)
        for shown, live in zip(self._images, (self._run_picture, self._map_picture), strict=True):
            shown.value = live.png()
        self._text.value = reading_as_html(
            self.reading, self._plane.tuned
        )  # last, tests wait for it

    def _repr_mimebundle_(self, **options: Any) -> dict[str, Any]:
        """What a notebook shows, by MIME type: the widget, and the averages as plain text."""
        shown = dict(self.widget._repr_mimebundle_(**options) or {})
        return {**shown, "text/plain": str(self.reading)}


def explore(
    network: Network,
    until: float,
    *,
    packets: tuple[float, float],
    tuned: str | None = None,
    warmup: float | None = None,
    points: int = POINTS,
) -> Explorer:
    """Show sliders for alpha and beta of a Vegas class in a notebook.

    Windows and queue of a fluid run are plotted for the sliders' values, next to a map of the ratio
    over the whole plane of alpha and beta. The map is computed first, as one batch of runs.

    Args:
        network: network with a Vegas class and other classes.
        until: simulated time of each run, s.
        packets: lowest and highest value of both alpha and beta, packets, above 0.
        tuned: name of the Vegas class; None: the only one, or the first class if it is one of
            several Vegas classes.
        warmup: initial time excluded from averages, s; None: a quarter of the run.
        points: number of values of alpha, and of beta, on the map; about points**2 / 2 runs.

    Returns:
        The explorer, which a notebook shows as the result of a cell. It has the sliders `alpha` and
        `beta`, the `network` with their values, its `run`, the averages `reading`, and the sweep
        `map`. `picture()` makes a static figure, also for other values.

    Raises:
        InvalidInput: if times or range are invalid, there is only one class, or the class is not
            Vegas.
        VegasfluidError: if ipywidgets is not installed.
    """
    widgets_of_jupyter()
    check = check_times(until, warmup, 2)
    plane = plane_of(network, packets, until, check, tuned)
    return Explorer(plane, plane.swept(points))


def widgets_of_jupyter() -> Any:
    """The optional module ipywidgets.

    Raises:
        VegasfluidError: if it is not installed.
    """
    try:
        import ipywidgets
    except ImportError as error:
        raise VegasfluidError(
            "explore: ipywidgets is not installed; run pip install 'vegasfluid[notebooks]'."
        ) from error
    return ipywidgets


def slider(plane: Plane, name: str, value: float) -> Any:
    """A slider widget for alpha or beta (`name`) over the plane's whole range, packets.

    It starts at `value`; its step is 0.5 packets, or 1 for dialects with whole thresholds.
    """
    widgets = widgets_of_jupyter()
    return widgets.FloatSlider(
        value,
        min=plane.lowest,
        max=plane.highest,
        step=1.0 if plane.law.implementation.whole_packets else STEP,
        description=name,
        readout_format=".1f",
        style={"description_width": "3em"},
        layout={"width": "auto"},
    )


def image(size: tuple[float, float], picture: LivePicture) -> Any:
    """A widget with the picture as PNG, which shrinks and grows with the page.

    `size` is the figure's width and height in inches. The widget is at most 120 pixels wide per
    inch of the width.
    """
    style = {"flex": f"{size[0]} 1 {BASIS * size[0]:.0f}px", "min_width": "0"}
    style["max_width"] = f"{LARGEST * size[0]:.0f}px"
    return widgets_of_jupyter().Image(value=picture.png(), format="png", layout=style)


def layout(alpha: Any, beta: Any, text: Any, images: list[Any]) -> Any:
    """One widget: sliders and averages (`text`) above the plots, in one row on a wide page."""
    widgets = widgets_of_jupyter()
    wrapped = {"display": "flex", "flex_flow": "row wrap", "align_items": "flex-start"}
    hint = widgets.HTML(f'<div style="{CAPTION}">{HINT}</div>')
    sliders = widgets.VBox([alpha, beta, hint], layout={"flex": "1 1 300px", "min_width": "0"})
    text.layout = {"flex": "1 1 380px", "min_width": "0"}
    above = widgets.Box([sliders, text], layout=wrapped)
    return widgets.VBox([above, widgets.Box(images, layout=wrapped)])


def panels_on(figure: Any) -> list[Axes]:
    """Two axes on a figure, with a common time axis: for windows, and below them for queues."""
    return list(figure.subplots(2, 1, height_ratios=(3, 2), sharex=True))


def reading_as_html(reading: Reading, tuned: str) -> str:
    """Averages of a run as HTML: ratio, queueing delay (ms), utilisation (%), goodputs (Mbit/s).

    Reasons why the fluid model may not be valid follow. `tuned` is the name of the Vegas class.
    """
    rates = ", ".join(f"{escape(name)} {rate:.2f}" for name, rate in reading.goodput.items())
    numbers = [
        (f"{reading.ratio:.3f}", f"goodput of a {escape(tuned)} flow / goodput of another flow"),
        (f"{1e3 * reading.queueing_delay:.1f} ms", "queueing delay"),
        (f"{100 * reading.utilisation:.1f} %", "utilisation"),
    ]
    cells = "".join(
        f'<div><div style="font-size: 1.5em">{number}</div>'
        f'<div style="{CAPTION}">{caption}</div></div>'
        for number, caption in numbers
    )
    warnings = "".join(f"<div>Warning: {escape(warning)}</div>" for warning in reading.warnings)
    return (
        f'<div role="status" data-alpha="{reading.alpha:g}" data-beta="{reading.beta:g}"'
        f' data-ratio="{reading.ratio!r}" style="line-height: 1.35">'
        f'<div style="display: flex; flex-wrap: wrap; gap: 0.2em 2em">{cells}</div>'
        f'<div style="{CAPTION}">goodput per flow, Mbit/s: {rates}{warnings}</div></div>'
    )
