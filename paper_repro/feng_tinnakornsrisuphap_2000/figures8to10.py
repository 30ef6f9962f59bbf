"""Figures 8 to 10: the proposed ESnet."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from matplotlib.figure import Figure

from paper_repro.experiment import PACKETS, Evidence, Experiment, Job, Results
from paper_repro.feng_tinnakornsrisuphap_2000.drawing import (
    draw_cov,
    draw_loss,
    draw_packets,
    share_legend,
)
from paper_repro.feng_tinnakornsrisuphap_2000.esnet import CURRENT, PROPOSED, Setting
from paper_repro.feng_tinnakornsrisuphap_2000.measures import WHOLE, Found, note_few, note_shared
from paper_repro.feng_tinnakornsrisuphap_2000.ns2 import note_ns2, note_ns2_ratios
from paper_repro.feng_tinnakornsrisuphap_2000.sweep import LAWS, Curve, Sweep, job_of
from paper_repro.style import panels

__all__ = ["FIGURES8TO10", "SWEEP"]

NAME = "figures8to10"
SWEEP = Sweep(
    PROPOSED,
    clients=(2, 4, 6, 8, 12, 20, 30, 34, 38, 60),
    red_clients=(20, 60),
    reading_clients=(60,),
    seeds=(1, 2),
)
"""Runs of the proposed network."""
MOST = 60
"""Largest number of clients."""
CONGESTED = 38
"""Clients from which the network is congested: (622 - 64) / 15, rounded up."""
PRINTED_COV = ((60, 0.054), (60, 7.42 * 0.054), (60, 5.57 * 0.054))
"""Clients and c.o.v. as printed: theory, Reno 642 % and Vegas 457 % above it."""


def current(law: str) -> str:
    """Return the name of a run of the current network."""
    return f"current | {law}"


def jobs() -> Mapping[str, Job]:
    """Return the runs of the proposed network, and those of the current one with 60 clients."""
    others = {current(law): job_of(Setting(CURRENT, law, MOST), SWEEP.seeds) for law in LAWS}
    return {**SWEEP.jobs(), **others}


def note_loss_ratios(found: Found, fast: Curve, slow: Curve) -> None:
    """Record Reno's loss in the proposed network over that in the current one."""
    for source, pick in (
        (PACKETS, lambda run: run.loss),
        (f"{PACKETS}, ACKs counted", lambda run: run.loss_with_acks),
    ):
        lost = [curve.each(pick, MOST)[0] for curve in (fast, slow)]
        found.note("reno_loss_ratio", lost[0] / lost[1], source)


def measure(results: Results) -> Evidence:
    """Record what the runs show."""
    found = Found(NAME, SWEEP, results, CONGESTED, Evidence())
    note_shared(found)
    for source in WHOLE:
        note_few(found, 34, source)
    for law in LAWS:
        slow = Curve(CURRENT, {MOST: results[current(law)]})
        fast = found.curve(law)
        found.note(f"{law}_excess_ratio", fast.excess(MOST)[0] / slow.excess(MOST)[0])
        if law == "reno":
            note_loss_ratios(found, fast, slow)
    note_ns2(found.evidence, NAME, PROPOSED)
    note_ns2_ratios(found.evidence, NAME)
    return found.evidence


def draw(results: Results) -> Figure:
    """Plot the three figures."""
    figure, axes = panels(1, 3)
    curves = partial(SWEEP.curve, results)
    title = "Figure 8: c.o.v. of traffic at the LANL router"
    draw_cov(axes[0][0], PROPOSED, curves, title, PRINTED_COV)
    draw_packets(axes[0][1], curves, "Figure 9: packets through LANL and SNL routers")
    draw_loss(axes[0][2], curves, "Figure 10: packet loss of LANL and SNL sources")
    share_legend(figure, axes[0][0])
    return figure


FIGURES8TO10 = Experiment(
    NAME,
    "Figures 8 to 10: the proposed ESnet; bars from the lowest to the highest seed.",
    measure,
    jobs,
    draw,
)
