"""A gallery of the plots of `vegasfluid.plot`, from runs made when the site is built.

Plots of a recommendation show network 2 of Weigle and Feng; the others a small network whose
simulation takes little time.
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

import vegasfluid as vf
from vegasfluid import sweep, tuning
from vegasfluid.analysis import Equilibrium, charts
from vegasfluid.model import Model
from vegasfluid.plot.style import figure_of
from vegasfluid.tuning.pareto import Front
from vegasfluid.tuning.result import Recommendation

__all__ = ["PLOTS", "setup"]

FOLDER = "_pictures"
"""Folder of the plots, below that of the pages."""


@cache
def papers() -> Model:
    """Model of network 2 of Weigle and Feng: 25 Reno and 25 Vegas flows."""
    return vf.read_model("weigle_feng_network2")


@cache
def recommended() -> Recommendation:
    """Recommended parameters for network 2 of Weigle and Feng, as `vegasfluid recommend` finds."""
    model = papers()
    return vf.recommend(model.network, until=model.duration, warmup=model.warmup)


@cache
def small() -> vf.Network:
    """Small network: five Vegas and five Reno flows over 20 Mbit/s, with a base RTT of 40 ms."""
    link = vf.Link(vf.mbps(20), 200, vf.Red(min_thresh=30, max_thresh=120, max_drop=0.1))
    gentle = {"base_rtt": vf.ms(40), "initial_ssthresh": 10}
    flows = {
        "vegas": vf.Flows(5, vf.Vegas(alpha=2, beta=4, dialect="ns2"), **gentle),
        "reno": vf.Flows(5, vf.Reno(), **gentle),
    }
    return vf.Network(link, flows)


@cache
def fluid() -> xr.Dataset:
    """Run of the fluid model on the small network over 30 s, with averages from 10 s on."""
    return vf.simulate_fluid(small(), until=30, warmup=10, samples=1501)


@cache
def packets() -> xr.Dataset:
    """Run of the packet simulator on the small network over 30 s, with averages from 10 s on."""
    return vf.simulate_packets(small(), until=30, warmup=10)


@cache
def swept() -> xr.Dataset:
    """Sweep of the small network over RED's lower threshold and alpha (packets), 60 s each."""
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
    """Pareto front of the small network with five settings: fairness against queueing delay."""
    return tuning.pareto_front(small(), size=5, runs=3, until=60, warmup=20)


@cache
def both_runs() -> tuple[xr.Dataset, xr.Dataset]:
    """Packet runs of network 2, with the defaults of ns-2 and with the recommended values."""
    model = papers()
    times = {"until": model.duration, "warmup": model.warmup}
    before = vf.simulate_packets(model.network, **times).assign_attrs(label="before")
    after = vf.simulate_packets(recommended().network, **times).assign_attrs(label="recommended")
    return before, after


@cache
def equilibrium() -> Equilibrium:
    """Equilibrium of the fluid model of the small network."""
    return vf.equilibrium(small())


@cache
def chart_points() -> dict[str, charts.RenoPoint | charts.VegasPoint]:
    """Points of the stability charts, by class: 20 Reno, or 20 Vegas flows on the small link."""
    points = {}
    for name in ("reno", "vegas"):
        alone = replace(small(), flows={name: replace(small().flows[name], count=20)})
        points |= charts.points_at(vf.equilibrium(alone))
    return points


def before_and_after() -> Figure:
    """Goodput over time in packet runs, with the defaults of ns-2 and the recommended values."""
    return figure_of(vf.plot.goodputs(*both_runs()))


def card() -> Figure:
    """A recommendation: the ratio before and after, and a table of other averages."""
    return figure_of(vf.plot.card(recommended()))


def compare() -> Figure:
    """Windows, queue, delays, drops and goodput over time, from the fluid model and on packets."""
    return vf.plot.compare(fluid(), packets())


def delay_distribution() -> Figure:
    """Distribution of the round-trip times, from the fluid model and packet simulator."""
    return figure_of(vf.plot.delay_distribution(fluid(), packets()))


def phase_plane() -> Figure:
    """The window of Vegas against the queue, approaching the equilibrium in a spiral."""
    return figure_of(
        vf.plot.phase_plane(fluid(), x="queue", y="cwnd:vegas", equilibrium=equilibrium())
    )


def fairness_map() -> Figure:
    """The ratio over alpha and RED's lower threshold, with a line where it is 1."""
    return figure_of(vf.plot.fairness_map(swept()))


def stability_charts() -> Figure:
    """Stable regions of Reno over RED and of Vegas without competitors, with networks as points."""
    return vf.plot.stability_charts(chart_points())


def pareto() -> Figure:
    """Fairness against queueing delay, from the fairest setting to the lowest delay."""
    return figure_of(vf.plot.front(front()))


PLOTS = {
    plot.__name__: plot
    for plot in (
        before_and_after,
        card,
        compare,
        delay_distribution,
        phase_plane,
        fairness_map,
        stability_charts,
        pareto,
    )
}


"""Functions that draw the plots of the gallery, by name."""


def draw(app: Sphinx) -> None:
    """Draw the plots into the site's folder if they are missing or older than the code."""
    logging.getLogger("jax").setLevel(logging.WARNING)  # Sphinx would print JAX's INFO messages
    light_and_dark.draw_outdated(PLOTS, Path(app.srcdir) / FOLDER, Path(__file__))


class Gallery(SphinxDirective):
    """Directive `gallery`: a plot with a caption."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the plot named by the argument for both backgrounds, with its caption."""
        name = self.arguments[0]
        alt = (PLOTS[name].__doc__ or "").strip().rstrip(".")
        caption = " ".join(self.content) or f"{alt}."
        return self.parse_text_to_nodes(light_and_dark.figures(f"/{FOLDER}/{name}", alt, caption))


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive and the drawing with Sphinx; pages may be read in parallel."""
    app.add_directive("gallery", Gallery)
    app.connect("builder-inited", draw)
    return {"parallel_read_safe": True}
