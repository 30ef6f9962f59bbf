"""A picture for the page of each congestion control: the window of one flow alone, on packets."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import light_and_dark
from matplotlib.figure import Figure
from sphinx.application import Sphinx

import vegasfluid as vf
from vegasfluid.congestion import congestion_controls
from vegasfluid.plot.style import styled

__all__ = ["has_picture", "picture", "setup"]

FOLDER = "_pictures"
"""Folder of the pictures, below that of the pages."""
DURATION, SAMPLES = 30.0, 1501
"""Length of the runs, s, and number of samples."""
LINK = vf.Link(vf.mbps(10), 50)
MARKING = vf.Link(vf.mbps(10), 50, vf.StepMarking(threshold=10))
"""The links of the pictures: drop-tail, and marking above a threshold for DCTCP; packets."""
SIZE = (5.0, 3.4)
"""Size of a picture, inches."""


def has_picture(kind: type[Any]) -> bool:
    """Whether a class is a congestion control with a window."""
    return kind in congestion_controls().values() and kind().rules.reliable


def picture(kind: type[Any]) -> str:
    """Markdown of the picture of a congestion control, for its page."""
    queue = "marks packets above a threshold of 10" if kind is vf.Dctcp else "is drop-tail"
    caption = (
        "One flow alone in the packet simulator, with the default parameters: 10 Mbit/s, a base "
        f"RTT of 40 ms (a bandwidth-delay product of 33 packets), and a buffer of 50 packets that "
        f"{queue}."
    )
    alt = f"Window and queue of one flow of {kind.name} over 30 s"
    path = f"../../{FOLDER}/window_{kind.name}"
    return light_and_dark.figures(path, alt, caption, scrolls=False)


@styled
def drawn(kind: type[Any]) -> Figure:
    """The window and the queue over time, of one flow alone with the default parameters."""
    link = MARKING if kind is vf.Dctcp else LINK
    network = vf.Network(link, {kind.name: vf.Flows(1, kind(), base_rtt=vf.ms(40))})
    run = vf.simulate_packets(network, DURATION, samples=SAMPLES)
    figure = Figure(figsize=SIZE, layout="constrained")
    panels = figure.subplots(2, 1, sharex=True)
    for draw, axes in zip((vf.plot.windows, vf.plot.queues), panels, strict=True):
        draw(run.assign_attrs(warmup=0.0), ax=axes)
        axes.get_legend().remove()
        axes.lines[0].set_linewidth(0.8)
    panels[0].set_xlabel("")
    return figure


def draw(app: Sphinx) -> None:
    """Draw the pictures of all congestion controls if they are missing or older than the code."""
    kinds = [kind for kind in congestion_controls().values() if has_picture(kind)]
    plots = {f"window_{kind.name}": partial(drawn, kind) for kind in kinds}
    light_and_dark.draw_outdated(plots, Path(app.srcdir) / FOLDER, Path(__file__))


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the drawing with Sphinx; pages may be read in parallel."""
    app.connect("builder-inited", draw)
    return {"parallel_read_safe": True}
