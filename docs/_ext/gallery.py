"""A gallery: each kind of picture of `vegasfluid.plot`, of runs made when the site is built.

Two networks are drawn: network 2 of the papers, for what a recommendation does, and a small one
that takes little time for the rest.
"""

from __future__ import annotations

import logging
import tempfile
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import light_and_dark
import numpy as np
import xarray as xr
from docutils import nodes
from matplotlib.figure import Figure
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from up_to_date import is_up_to_date

import vegasfluid as vf
from vegasfluid import sweep, tuning
from vegasfluid.analysis import Equilibrium, charts
from vegasfluid.model import Model
from vegasfluid.plot.style import figure_of
from vegasfluid.tuning.pareto import Front
from vegasfluid.tuning.result import Recommendation

__all__ = ["PICTURES", "setup"]

DRAWN = "_pictures"
"""Folder of the pictures, below that of the pages."""


@cache
def papers() -> Model:
    """Network 2 of Weigle and Feng: 25 Reno and 25 Vegas flows."""
    return vf.read_model("weigle_feng_network2")


@cache
def recommended() -> Recommendation:
    """What `vegasfluid recommend weigle_feng_network2` finds."""
    model = papers()
    return vf.recommend(model.network, until=model.duration, warmup=model.warmup)


@cache
def small() -> vf.Network:
    """Five Vegas and five Reno flows over 20 Mbit/s."""
    link = vf.Link(vf.mbps(20), 200, vf.Red(min_thresh=30, max_thresh=120, max_drop=0.1))
    gentle = {"base_rtt": vf.ms(40), "initial_ssthresh": 10}
    flows = {
        "vegas": vf.Flows(5, vf.Vegas(alpha=2, beta=4, dialect="ns2"), **gentle),
        "reno": vf.Flows(5, vf.Reno(), **gentle),
    }
    return vf.Network(link, flows)


@cache
def fluid() -> xr.Dataset:
    """A run of its equations."""
    return vf.simulate_fluid(small(), until=30, warmup=10, samples=1501)


@cache
def packets() -> xr.Dataset:
    """The same, packet by packet."""
    return vf.simulate_packets(small(), until=30, warmup=10)


@cache
def swept() -> xr.Dataset:
    """The ratio over RED's lower threshold and alpha."""
    grid = [
        sweep.Numbers("bottleneck.min_thresh_packets", np.linspace(10, 100, 7)),
        sweep.Numbers("vegas.alpha_packets", np.arange(1, 15)),
    ]
    plan = sweep.Sweep(Model(small(), duration=60, warmup=20), grid)
    with tempfile.TemporaryDirectory() as folder:
        sweep.run(plan, Path(folder) / "gallery.zarr")
        return sweep.open_sweep(Path(folder) / "gallery.zarr").load()


@cache
def front() -> Front:
    """Fairness against queueing delay."""
    return tuning.pareto_front(small(), size=5, runs=3, until=60, warmup=20)


@cache
def both_runs() -> tuple[xr.Dataset, xr.Dataset]:
    """Network 2 on packets, with ns-2's defaults and with what `recommend` found."""
    model = papers()
    times = {"until": model.duration, "warmup": model.warmup}
    before = vf.simulate_packets(model.network, **times).assign_attrs(label="before")
    after = vf.simulate_packets(recommended().network, **times).assign_attrs(label="recommended")
    return before, after


@cache
def rest() -> Equilibrium:
    """Where the small network rests."""
    return vf.equilibrium(small())


@cache
def places() -> dict[str, charts.RenoPoint | charts.VegasPoint]:
    """Twenty flows of each of its laws, by themselves, as points of the charts."""
    points = {}
    for name in ("reno", "vegas"):
        alone = replace(small(), flows={name: replace(small().flows[name], count=20)})
        points |= charts.points_at(vf.equilibrium(alone))
    return points


def before_and_after() -> Figure:
    """Goodput over time on packets, with ns-2's defaults and with what `recommend` found."""
    return figure_of(vf.plot.goodputs(*both_runs()))


def card() -> Figure:
    """A recommendation as a card: the ratio before and after, and what else changes."""
    return figure_of(vf.plot.card(recommended()))


def compare() -> Figure:
    """Windows, queue, drops and goodput over time, of the equations and packet by packet."""
    return vf.plot.compare(fluid(), packets())


def phase_plane() -> Figure:
    """The window of Vegas over the queue, winding down to where the network rests."""
    return figure_of(vf.plot.phase_plane(fluid(), x="queue", y="cwnd:vegas", rest=rest()))


def fairness_map() -> Figure:
    """The ratio over alpha and RED's lower threshold, with the line where it is one."""
    return figure_of(vf.plot.fairness_map(swept()))


def stability_charts() -> Figure:
    """Where Reno over RED and Vegas by itself are stable, with networks as points."""
    return vf.plot.stability_charts(places())


def pareto() -> Figure:
    """Fairness over queueing delay: settings from the fairest to the one with the least delay."""
    return figure_of(vf.plot.front(front()))


PICTURES = {
    of.__name__: of
    for of in (
        before_and_after,
        card,
        compare,
        phase_plane,
        fairness_map,
        stability_charts,
        pareto,
    )
}


def draw(app: Sphinx) -> None:
    """Draw what is not there, or older than the code."""
    folder = Path(app.srcdir) / DRAWN
    made = [folder / f"{name}-{of}.svg" for name in PICTURES for of in light_and_dark.BACKGROUNDS]
    if is_up_to_date(made, Path(__file__), Path(light_and_dark.__file__)):
        return
    folder.mkdir(exist_ok=True)
    logging.getLogger("jax").setLevel(logging.WARNING)  # the theme's colours turn on all of INFO
    for name, picture in PICTURES.items():
        light_and_dark.draw(picture, folder, name)


class Gallery(SphinxDirective):
    """`gallery`: a picture, with the words below it."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        """The picture, light and dark."""
        name = self.arguments[0]
        seen = (PICTURES[name].__doc__ or "").strip().rstrip(".")
        said = " ".join(self.content) or f"{seen}."
        return self.parse_text_to_nodes(light_and_dark.figures(f"/{DRAWN}/{name}", seen, said))


def setup(app: Sphinx) -> dict[str, Any]:
    """Sphinx's entry point."""
    app.add_directive("gallery", Gallery)
    app.connect("builder-inited", draw)
    return {"parallel_read_safe": True}
