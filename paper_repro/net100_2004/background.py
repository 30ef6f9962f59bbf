"""The page's second graph: the same path with 120 Mbit/s of UDP background traffic."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure

import vegasfluid as vf
from paper_repro.experiment import PACKETS, Evidence, Experiment, Job, Results
from paper_repro.net100_2004.other_readings import OF_HOSTS_AND_PATH
from paper_repro.net100_2004.path import (
    BACKGROUND_MBPS,
    LINE_MBPS,
    STANDARD,
    Flow,
    product,
    vegas,
    with_background,
)
from paper_repro.other_readings import with_readings
from paper_repro.style import COLOURS, PAPER_MARK, label, panels

__all__ = ["SECOND_GRAPH"]

SECONDS = 60.0
"""Simulated time of a test, s."""
AVAILABLE = product(vf.mbps(LINE_MBPS - BACKGROUND_MBPS))
"""Bandwidth-delay product of the capacity that UDP leaves free, packets."""
PAGE_MBPS = 300.0
"""Throughput in the page's graph, Mbit/s."""
SOURCES = {"60_80": PACKETS, "6_8": "packets, alpha/beta 6/8"}
"""Names of the evidence's sources by thresholds."""


def jobs() -> Mapping[str, Job]:
    """Return tests of standard TCP, and of Vegas with both pairs of thresholds."""
    return {
        "standard": with_background(STANDARD, SECONDS),
        "6_8": with_background(vegas(6, 8), SECONDS),
        "60_80": with_background(vegas(60, 80), SECONDS),
    }


def measure(results: Results) -> Evidence:
    """Record throughputs, and windows relative to the free bandwidth-delay product."""
    evidence = Evidence()
    standard: Flow = results["standard"][0]
    evidence.note(PACKETS, "background.standard", standard.mbps())
    loss = standard.first_loss()
    excess = float(standard.cwnd[: loss + 1].max()) / AVAILABLE
    evidence.note(PACKETS, "background.oversubscribes", excess)
    for name, source in SOURCES.items():
        flow: Flow = results[name][0]
        evidence.note(source, "background.vegas", flow.mbps())
        evidence.note(source, "background.same", flow.mbps() / standard.mbps())
        evidence.note(source, "background.vegas_window", float(flow.cwnd[-1]) / AVAILABLE)
    return evidence


def draw(results: Results) -> Figure:
    """Plot throughput, and the window with the free bandwidth-delay product."""
    figure, ((rate, window),) = panels(1, 2)
    colours = {"standard": "reno", "6_8": "vegas", "60_80": "fourth"}
    for name, colour in colours.items():
        run: Flow = results[name][0]
        edges = np.arange(0.0, SECONDS + 0.5, 1.0)
        mbps = np.diff(np.interp(edges, run.times, run.delivered)) * 0.012
        title = name.replace("_", "/")
        rate.plot(edges[1:], mbps, color=COLOURS[colour], label=title)
        window.plot(run.times, run.cwnd, color=COLOURS[colour], label=title, linewidth=1)
    rate.plot([SECONDS / 2], [PAGE_MBPS], **PAPER_MARK)
    window.axhline(AVAILABLE, color="grey", linestyle=":", label="what the path holds")
    label(rate, "Throughput beside 120 Mbit/s of UDP", "time (s)", "throughput (Mbit/s)")
    label(window, "Window", "time (s)", "cwnd (packets)")
    rate.set_ylim(0, 800)
    return figure


SECOND_GRAPH = [
    with_readings(
        Experiment(
            "background",
            "Second graph: beside 120 Mbit/s of UDP",
            measure,
            jobs,
            draw,
            quick=True,
        ),
        OF_HOSTS_AND_PATH,
    )
]
