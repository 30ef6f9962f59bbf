"""Figures 4 to 7: the current ESnet."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import xarray as xr
from matplotlib.figure import Figure

from paper_repro.experiment import FLUID, PACKETS, Evidence, Experiment, Job, Results
from paper_repro.feng_tinnakornsrisuphap_2000.drawing import (
    CLIENTS,
    draw_cov,
    draw_curves,
    draw_loss,
    draw_packets,
    share_legend,
)
from paper_repro.feng_tinnakornsrisuphap_2000.esnet import CURRENT, Setting, network_of
from paper_repro.feng_tinnakornsrisuphap_2000.measures import (
    METHOD,
    WHOLE,
    Found,
    note_few,
    note_shared,
    over_all_numbers,
)
from paper_repro.feng_tinnakornsrisuphap_2000.ns2 import note_ns2
from paper_repro.feng_tinnakornsrisuphap_2000.summary import is_client, total
from paper_repro.feng_tinnakornsrisuphap_2000.sweep import LAWS, READINGS, Sweep, job_of
from paper_repro.style import PAPER_MARK, label, panels

__all__ = ["FIGURES4TO7", "SWEEP"]

NAME = "figures4to7"
SWEEP = Sweep(
    CURRENT,
    clients=(2, 4, 6, 8, 10, 12, 16, 20, 30, 31, 34, 38, 60),
    red_clients=(2, 12, 20, 34, 60),
    reading_clients=(2, 12, 30, 60),
    seeds=(1, 2, 3),
)
"""Runs of the current network."""
WITHOUT_OUTSIDE = "packets, without outside traffic"
"""Source of the evidence from runs in which only the two sites send."""
ENDS = (2, 60)
"""Smallest and largest number of clients, at which the fluid model runs."""
FLUID_DURATION = 100.0
"""Simulated time of the fluid model, s; without randomness it needs no more."""
CONGESTED = 31
"""Clients from which the network is congested: (155 - 64) / 3, rounded up."""
FEW = 20
"""Number of clients below which the paper calls the network not congested."""
ALL_NUMBERS = "over all numbers of clients"
"""Another mean over the axis: with straight lines between the numbers of clients that we ran."""
ACKS = "ACKs counted"
"""Another measure of losses: ACKs count as packets."""
PRINTED_COV = ((2, 0.659), (60, 0.120), (60, 4 * 0.120), (60, 1.4 * 0.120))
"""Clients and c.o.v. as printed: theory at both ends, Reno 300 % and Vegas up to 40 % above it."""
PRINTED_HURST = (12, 1.0)
"""Clients and Hurst parameter as printed."""


def fluid_name(clients: int) -> str:
    """Return the name of the fluid model's run."""
    return f"fluid | {clients}"


def clients_of_fluid(run: xr.Dataset) -> tuple[float, float]:
    """Return the clients' packets sent, and the per cent of them that were dropped."""
    clients = is_client(run)
    sent = total(run, "sent", clients)
    return sent, 100 * total(run, "dropped", clients) / sent


def jobs() -> Mapping[str, Job]:
    """Return the packet runs, and the fluid model's runs of Vegas at both ends of the axis.

    With 60 clients Reno also runs without outside traffic.
    """
    fluid = {
        fluid_name(count): Job(
            network_of(Setting(CURRENT, "vegas", count)),
            FLUID_DURATION,
            keep=clients_of_fluid,
            engine="fluid",
        )
        for count in ENDS
    }
    alone = Setting(CURRENT, "reno", max(ENDS), outside="none")
    return {**SWEEP.jobs(), **fluid, WITHOUT_OUTSIDE: job_of(alone, SWEEP.seeds)}


def note_fluid(evidence: Evidence, results: Results) -> None:
    """Record Vegas's saturation (clients) and its largest loss (per cent) in the fluid model."""
    few, many = (results[fluid_name(count)][0] for count in ENDS)
    evidence.note(FLUID, f"{NAME}.vegas_saturation", ENDS[0] * many[0] / few[0])
    evidence.note(FLUID, f"{NAME}.vegas_loss_largest", max(few[1], many[1]))


def note_below_20(found: Found, source: str) -> None:
    """Record Reno's loss (per cent) with fewer than 20 clients, without congestion."""
    reno = found.curve("reno", reading=source)
    few = [count for count in reno.clients if count <= FEW]
    losses = reno.each(lambda run: run.loss, *few)
    found.note("reno_loss_below_20", losses[:-1].mean(0), source)
    line = over_all_numbers(few, losses, end=FEW)
    found.note("reno_loss_below_20", line, f"{source}, {ALL_NUMBERS}")
    counted = reno.each(lambda run: run.loss_with_acks, *few)
    found.note("reno_loss_below_20", counted[:-1].mean(0), f"{source}, {ACKS}")
    found.note("reno_loss_20", counted[-1], f"{source}, {ACKS}")


def note_packets(found: Found, source: str) -> None:
    """Record the packets of Vegas over those of Reno, over all numbers in congestion."""
    curves = [found.curve(law, reading=source) for law in LAWS]
    busy = [count for count in curves[0].clients if count >= CONGESTED]
    reno, vegas = (curve.each(lambda run: run.packets, *busy) for curve in curves)
    line = over_all_numbers(busy, vegas / reno)
    found.note("packets_vegas_over_reno", line, f"{source}, {ALL_NUMBERS}")


def note_one_law(found: Found, source: str) -> None:
    """Record a reading of one law beside the usual runs of the other, with most clients."""
    curves = [found.curve(law, reading=source) for law in LAWS]
    if sum(bool(curve.points) for curve in curves) != 1:
        return
    last = max(ENDS)
    usual = [found.curve(law) for law in LAWS]
    pair = (own if own.points else other for own, other in zip(curves, usual, strict=True))
    reno, vegas = (curve.each(lambda run: run.packets, last)[0][:1] for curve in pair)
    found.note("packets_vegas_over_reno", vegas / reno, source)


def note_reno(found: Found, source: str) -> None:
    """Record where Reno's packets are dropped with most clients, and twelve clients' measures."""
    reno = found.curve("reno", reading=source)
    if not reno.points:
        return
    last = max(reno.clients)
    found.note("reno_switch_drops_60", reno.each(lambda run: run.switch_drops, last)[0], source)
    found.note("reno_router_drops_60", reno.each(lambda run: run.router_drops, last)[0], source)
    found.note("hurst_reno_12", reno.each(lambda run: run.hurst[METHOD], 12)[0], source)
    found.note("port_use_12", reno.each(lambda run: run.port_use, 12)[0], source)


def note_hurst_range(found: Found) -> None:
    """Record the smallest and largest Hurst parameter, means over the seeds."""
    estimates = [
        value
        for law in LAWS
        for value in found.curve(law).mean(lambda run: run.hurst[METHOD]).tolist()
    ]
    found.evidence.note(PACKETS, f"{NAME}.hurst_range", [min(estimates), max(estimates)])


def measure(results: Results) -> Evidence:
    """Record what the runs show."""
    found = Found(NAME, SWEEP, results, CONGESTED, Evidence())
    note_shared(found)
    for source in WHOLE:
        note_few(found, 20, source)
        note_below_20(found, source)
        note_packets(found, source)
    for source in READINGS:
        note_reno(found, source)
        note_one_law(found, source)
    reno = found.curve("reno")
    alone = [run.router_drops for run in results[WITHOUT_OUTSIDE]]
    found.evidence.note_mean(WITHOUT_OUTSIDE, f"{NAME}.reno_router_drops_60", alone)
    outside = reno.each(lambda run: run.outside_share, 12)[0] * CURRENT.wan_mbps
    found.note("outside_mbps_12", outside)
    note_hurst_range(found)
    note_ns2(found.evidence, NAME, CURRENT)
    note_fluid(found.evidence, results)
    return found.evidence


def draw(results: Results) -> Figure:
    """Plot the four figures."""
    figure, axes = panels(2, 2)
    curves = partial(SWEEP.curve, results)
    title = "Figure 4: c.o.v. of traffic at the LANL router"
    draw_cov(axes[0][0], CURRENT, curves, title, PRINTED_COV)
    draw_packets(axes[0][1], curves, "Figure 5: packets through LANL and SNL routers")
    draw_loss(axes[1][0], curves, "Figure 6: packet loss of LANL and SNL sources")
    draw_curves(axes[1][1], curves, lambda run: run.hurst[METHOD])
    axes[1][1].plot(*PRINTED_HURST, **PAPER_MARK)
    axes[1][1].set_ylim(0.4, 1.5)
    label(
        axes[1][1],
        "Figure 7: Hurst parameter at the LANL router",
        CLIENTS,
        "H (local Whittle)",
        legend=False,
    )
    share_legend(figure, axes[0][0])
    return figure


FIGURES4TO7 = Experiment(
    NAME,
    "Figures 4 to 7: the current ESnet; bars from the lowest to the highest seed.",
    measure,
    jobs,
    draw,
)
