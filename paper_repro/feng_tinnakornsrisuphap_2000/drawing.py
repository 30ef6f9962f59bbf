"""Panels that figures 4 to 7 and 8 to 10 share: a quantity over the number of clients."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper_repro.feng_tinnakornsrisuphap_2000.esnet import Topology, theoretical_cov
from paper_repro.feng_tinnakornsrisuphap_2000.ns2 import ns2_rows
from paper_repro.feng_tinnakornsrisuphap_2000.summary import Summary
from paper_repro.feng_tinnakornsrisuphap_2000.sweep import LANL_ONLY, LAWS, Curve
from paper_repro.style import COLOURS, NS2_MARK, PAPER_MARK, label

__all__ = [
    "CLIENTS",
    "Curves",
    "Marks",
    "draw_cov",
    "draw_curves",
    "draw_loss",
    "draw_packets",
    "share_legend",
]

Curves = Callable[..., Curve]
"""Function that returns the curve of a congestion control, a queue discipline and a reading."""
Marks = Sequence[tuple[float, float]]
"""Values that the paper prints: numbers of clients, and the quantity there."""
CLIENTS = "number of clients"
"""Label of the horizontal axis."""
STYLES = {
    "fifo": {"linestyle": "-", "marker": "o", "markersize": 3},
    "red": {"linestyle": "none", "marker": "s", "markersize": 7, "markerfacecolor": "none"},
}
"""Plot style by queue discipline of the routers."""


def draw_curves(axes: Axes, curves: Curves, pick: Callable[[Summary], float]) -> None:
    """Plot a quantity over the number of clients for Reno and Vegas.

    Lines are drop-tail, open squares RED, dotted lines the reading in which only LANL's clients
    send. Bars reach from the smallest to the largest seed.
    """
    for law in LAWS:
        for queue, style in STYLES.items():
            curve = curves(law, queue)
            values = curve.each(pick)
            mean = values.mean(1)
            bars = np.array([mean - values.min(1), values.max(1) - mean])
            name = f"{law.capitalize()}{', RED' if queue == 'red' else ''}"
            axes.errorbar(curve.clients, mean, bars, color=COLOURS[law], label=name, lw=1, **style)
        other = curves(law, reading=LANL_ONLY)
        name = f"{law.capitalize()}, only LANL sends"
        axes.plot(other.clients, other.mean(pick), ":", color=COLOURS[law], lw=1.2, label=name)
    axes.set_xlim(0, 62)


def draw_cov(axes: Axes, topology: Topology, curves: Curves, title: str, marks: Marks) -> None:
    """Plot measured and theoretical c.o.v., with the values of the paper and of ns-2."""
    clients = np.arange(2, 61)
    theory = [theoretical_cov(topology, int(count)) for count in clients]
    axes.plot(clients, theory, color=COLOURS["theory"], lw=1, label="Poisson (equation 1)")
    draw_curves(axes, curves, lambda run: run.cov)
    axes.plot(*zip(*marks, strict=True), **PAPER_MARK)
    points = [(key[2], row["cov"]) for key, row in ns2_rows().items() if key[0] == topology.name]
    axes.plot(*zip(*points, strict=True), **NS2_MARK)
    axes.set_ylim(0)
    label(axes, title, CLIENTS, "c.o.v.", legend=False)


def share_legend(figure: Figure, axes: Axes) -> None:
    """Draw one legend below all panels, with the entries of `axes`."""
    handles, names = axes.get_legend_handles_labels()
    figure.legend(
        handles, names, loc="outside lower center", ncols=4, frameon=False, fontsize="small"
    )


def draw_packets(axes: Axes, curves: Curves, title: str) -> None:
    """Plot the clients' packets through both routers, in millions."""
    draw_curves(axes, curves, lambda run: run.packets / 1e6)
    axes.set_ylim(0)
    label(axes, title, CLIENTS, "packets transmitted (million)", legend=False)


def draw_loss(axes: Axes, curves: Curves, title: str) -> None:
    """Plot the packets lost, in per cent."""
    draw_curves(axes, curves, lambda run: run.loss)
    label(axes, title, CLIENTS, "packets lost (%)", legend=False)
