"""Sliders for alpha and beta: a fluid run for each of their places, beside the fairness map.

Needs ipywidgets, and a page that shows them, such as JupyterLab's.
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
from vegasfluid.plot.alpha_beta_plane import Plane, Reading, plane_of
from vegasfluid.plot.live_figures import LivePicture, PlaneMap, RunPanels
from vegasfluid.plot.style import styled
from vegasfluid.run_options import check_times

__all__ = ["Explorer", "explore"]

RUN, MAP, BOTH = (5.6, 4.4), (4.4, 4.4), (8.4, 4.2)
"""Inches."""
POINTS = 22
"""Of the map, along each axis: 253 runs, which is a batch of 256 that is nearly full."""
STEP = 0.5
"""Packets from one place of a slider to the next."""
BASIS, LARGEST = 70, 120
"""Pixels an inch below which the pictures go below each other, and at most."""
CAPTION = "font-size: 0.85em; line-height: 1.35; color: var(--jp-ui-font-color2, inherit)"
HINT = "Packets. Beta is never below alpha: a slider that meets the other takes it along."


class Explorer:
    """Sliders, pictures and a reading that belong together; shown where a cell ends with it.

    Args:
        plane: what the sliders move on.
        swept: the ratio over the whole plane.
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
        self._images = [image(*of) for of in zip(sizes, pictures, strict=True)]
        self._said = widgets.HTML(reading_as_html(self.reading, plane.tuned))
        self.widget = laid_out(self.alpha, self.beta, self._said, self._images)
        self._following = False
        for of in (self.alpha, self.beta):
            of.observe(self._moved, "value")

    @property
    def network(self) -> Network:
        """The network with the chosen alpha and beta."""
        return self._plane.network(self.alpha.value, self.beta.value)

    @styled
    def picture(self, alpha: float | None = None, beta: float | None = None) -> Figure:
        """Run, map and numbers as a figure of their own, for pages without sliders.

        Args:
            alpha: packets; None: where its slider stands.
            beta: packets; None: where its slider stands.

        Raises:
            InvalidInput: for a beta below alpha.
        """
        here = self._at
        at = here[0] if alpha is None else alpha, here[1] if beta is None else beta
        run = self._plane.run(*at)
        figure = Figure(figsize=BOTH, layout="constrained")
        figure.suptitle(str(self._plane.reading(run, *at)))
        left, right = figure.subfigures(1, 2, squeeze=False, width_ratios=(RUN[0], MAP[0]))[0]
        RunPanels(panels_on(left), run, self._plane.model.warmup)
        PlaneMap(right.subplots(), self.map, at, self._title)
        return figure

    @property
    def run(self) -> xr.Dataset:
        """The trajectory that is drawn, with the network's own step, as every point of the map."""
        until, warmup = self._plane.model.duration, self._plane.model.warmup
        return simulate_fluid(self.network, until, warmup=warmup, tolerance=None)

    @property
    def _title(self) -> str:
        return f"goodput of a {self._plane.tuned} flow over the others'"

    @property
    def _at(self) -> tuple[float, float]:
        return self.alpha.value, self.beta.value

    @styled
    def _draw_first(self) -> None:
        left, right = (Figure(figsize=size, layout="constrained") for size in (RUN, MAP))
        self._panels = RunPanels(panels_on(left), self._run, self._plane.model.warmup)
        self._marked = PlaneMap(right.subplots(), self.map, self._at, self._title)
        self._run_picture = LivePicture(left, self._panels.moving)
        self._map_picture = LivePicture(right, self._marked.moving)

    def _simulate(self) -> None:
        self._run = self._plane.run(*self._at)
        self.reading: Reading = self._plane.reading(self._run, *self._at)

    def _moved(self, change: Any) -> None:
        """One slider was moved: the other gives way, then all is drawn once."""
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
        """Run the fluid model where the sliders stand, and show what it says."""
        self._simulate()
        if self._panels.show(self._run):
            self._run_picture.redraw()
        self._marked.show(self._at)
        for shown, live in zip(self._images, (self._run_picture, self._map_picture), strict=True):
            shown.value = live.png()
        self._said.value = reading_as_html(self.reading, self._plane.tuned)  # the last to arrive

    def _repr_mimebundle_(self, **options: Any) -> dict[str, Any]:
        """The widget, for the page that shows it."""
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
    """Sliders for alpha and beta of a class of Vegas flows, for a notebook.

    Windows and queue of a fluid run are drawn anew wherever the sliders stand, beside a map of
    the ratio over the whole plane, which is computed first by one batch of runs.

    Args:
        network: Vegas flows beside others.
        until: simulated time of each run, s.
        packets: from the lowest alpha to the highest beta.
        tuned: the class of Vegas flows; None: the only one.
        warmup: time that the means leave out, s; a quarter of the run where it is None.
        points: of the map along each axis; about half of their square is run.

    Returns:
        What a cell that ends with it shows. Its `alpha` and `beta` are the sliders, `run` the
        trajectory that is drawn, `reading` what that comes to, `network` the network with the
        chosen numbers, `map` the results of the batch; `picture()` is a figure of it all, also of
        another point.

    Raises:
        InvalidInput: for times or packets that make no sense, or without a class to tune.
        VegasfluidError: where ipywidgets is not installed.
    """
    widgets_of_jupyter()
    check = check_times(until, warmup, 2)
    plane = plane_of(network, packets, until, check, tuned)
    return Explorer(plane, plane.swept(points))


def widgets_of_jupyter() -> Any:
    """The module ipywidgets, an optional part."""
    try:
        import ipywidgets
    except ImportError as missing:
        raise VegasfluidError(
            "explore: ipywidgets is not installed; pip install 'vegasfluid[notebooks]' brings it."
        ) from missing
    return ipywidgets


def slider(plane: Plane, name: str, value: float) -> Any:
    """A slider over the whole range, packets."""
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
    """A picture on the page, as wide as there is room for it."""
    layout = {"flex": f"{size[0]} 1 {BASIS * size[0]:.0f}px", "min_width": "0"}
    layout["max_width"] = f"{LARGEST * size[0]:.0f}px"
    return widgets_of_jupyter().Image(value=picture.png(), format="png", layout=layout)


def laid_out(alpha: Any, beta: Any, said: Any, images: list[Any]) -> Any:
    """Sliders and reading above the pictures; side by side where there is room."""
    widgets = widgets_of_jupyter()
    wrapped = {"display": "flex", "flex_flow": "row wrap", "align_items": "flex-start"}
    hint = widgets.HTML(f'<div style="{CAPTION}">{HINT}</div>')
    sliders = widgets.VBox([alpha, beta, hint], layout={"flex": "1 1 300px", "min_width": "0"})
    said.layout = {"flex": "1 1 380px", "min_width": "0"}
    above = widgets.Box([sliders, said], layout=wrapped)
    return widgets.VBox([above, widgets.Box(images, layout=wrapped)])


def panels_on(figure: Any) -> list[Axes]:
    """Axes for windows and, lower, for queues."""
    return list(figure.subplots(2, 1, height_ratios=(3, 2), sharex=True))


def reading_as_html(reading: Reading, tuned: str) -> str:
    """The numbers of a run, and why the model may not hold there."""
    rates = ", ".join(f"{escape(name)} {rate:.2f}" for name, rate in reading.goodput.items())
    numbers = [
        (f"{reading.ratio:.3f}", f"goodput of a {escape(tuned)} flow over the others'"),
        (f"{1e3 * reading.queueing_delay:.1f} ms", "queueing delay"),
        (f"{100 * reading.utilisation:.1f} %", "utilisation"),
    ]
    cells = "".join(
        f'<div><div style="font-size: 1.5em">{number}</div>'
        f'<div style="{CAPTION}">{caption}</div></div>'
        for number, caption in numbers
    )
    doubts = "".join(f"<div>May be off: {escape(doubt)}</div>" for doubt in reading.doubts)
    return (
        f'<div role="status" data-alpha="{reading.alpha:g}" data-beta="{reading.beta:g}"'
        f' data-ratio="{reading.ratio!r}" style="line-height: 1.35">'
        f'<div style="display: flex; flex-wrap: wrap; gap: 0.2em 2em">{cells}</div>'
        f'<div style="{CAPTION}">goodput of a flow, Mbit/s: {rates}{doubts}</div></div>'
    )
