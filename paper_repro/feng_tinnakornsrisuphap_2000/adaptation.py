"""How slowly TCP adapts: slow start by bandwidth-delay product, and windows that stay fixed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import xarray as xr

import vegasfluid as vf
from paper_repro.experiment import PACKETS, Evidence, Experiment, Job, Results
from paper_repro.feng_tinnakornsrisuphap_2000.arithmetic import GRID_RTT
from paper_repro.feng_tinnakornsrisuphap_2000.esnet import (
    CURRENT,
    SWITCH_BUFFER,
    Setting,
    law_named,
    network_of,
)
from paper_repro.feng_tinnakornsrisuphap_2000.other_sources import clients_with
from paper_repro.feng_tinnakornsrisuphap_2000.sweep import job_of
from vegasfluid.congestion.base import PacketRules

__all__ = ["ADAPTATION", "START_UP", "start_up"]

RATES = (10.0, 100.0, 622.0)
"""Capacities of the line with a round trip of 100 ms, Mbit/s."""
BUFFER = 0.1
"""Buffer, as a fraction of the bandwidth-delay product."""
UNTIL = 60.0
"""Simulated time of a slow start, s."""
STEP = 0.1
"""Time between two samples, s."""
CLIENTS = 60
"""Clients at each site."""
DURATION = 100.0
"""Simulated time of the network, s: half of the paper's."""
LARGE = (100, 300)
"""Alpha and beta with which Vegas does not avoid congestion, packets: 38 a client fill the port."""
GAMMAS = (1, 5, 20)
"""Thresholds at which slow start ends, packets."""


@dataclass(frozen=True)
class StartUp:
    """The first slow start of a flow.

    Args:
        lost: packets lost in the first 10 s.
        seconds: time from the first loss until half of the capacity is used for a second, s.
    """

    lost: float
    seconds: float


def start_up(run: xr.Dataset) -> StartUp:
    """Return the record of a slow start."""
    times, flow = run["time"].values, run.isel(flow_class=0)
    dropped, delivered = flow["dropped"].values, flow["delivered"].values
    first = int(np.argmax(dropped > 0))
    steps = round(1 / STEP)
    rates = (delivered[steps:] - delivered[:-steps]) / float(run["capacity"][0])
    later = rates[first:] >= 0.5
    seconds = times[first + int(np.argmax(later)) + steps] if later.any() else times[-1]
    return StartUp(float(np.interp(10.0, times, dropped)), float(seconds - times[first]))


def gamma_run(gamma: int) -> vf.Network:
    """Return one Vegas flow on an idle line, whose slow start ends at gamma packets."""
    law = vf.Vegas(alpha=1, beta=3, gamma=gamma, dialect="ns2")
    return vf.Network(vf.Link(1000.0, 500), {"tcp": vf.Flows(1, law, base_rtt=GRID_RTT)})


def backlog_at_exit(run: xr.Dataset) -> float:
    """Return Vegas's Diff in the round trip in which slow start ended, packets."""
    flow = run.isel(flow_class=0)
    place = int(np.argmax(flow["vegas_above_gamma"].values > 0))
    return float(flow["vegas_diff"].values[place])


def start_up_jobs() -> Mapping[str, Job]:
    """Return slow starts of Reno by capacity, and of Vegas by gamma."""
    runs = {}
    for rate in RATES:
        capacity = vf.mbps(rate)
        flows = {"tcp": vf.Flows(1, law_named("reno"), base_rtt=GRID_RTT)}
        network = vf.Network(vf.Link(capacity, round(BUFFER * capacity * GRID_RTT)), flows)
        runs[f"{rate:g}"] = Job(network, UNTIL, keep=start_up, samples=round(UNTIL / STEP) + 1)
    for gamma in GAMMAS:
        runs[f"gamma_{gamma}"] = Job(gamma_run(gamma), 10.0, keep=backlog_at_exit, samples=1001)
    return runs


def measure_start_up(results: Results) -> Evidence:
    """Record losses and silences by capacity, and Diff minus gamma at the end of slow start."""
    evidence = Evidence()
    starts = [results[f"{rate:g}"][0] for rate in RATES]
    measures = {
        "lost": [start.lost for start in starts],
        "lost_over_product": [
            start.lost / (vf.mbps(rate) * GRID_RTT)
            for start, rate in zip(starts, RATES, strict=True)
        ],
        "seconds": [start.seconds for start in starts],
        "above_gamma": [results[f"gamma_{gamma}"][0] - gamma for gamma in GAMMAS],
    }
    for name, value in measures.items():
        evidence.note(PACKETS, f"start_up.{name}", value)
    return evidence


def best_window() -> int:
    """Return the window with which 60 clients just fill pipe and port, packets."""
    return int((CURRENT.bandwidth_delay + SWITCH_BUFFER) / CLIENTS)


def keep_full(flow: Any, now: int, acked: int) -> None:
    """Set a flow's window to its largest value."""
    flow.cwnd = float(flow.max_window)


def keep_window(flow: Any, window: float) -> float:
    """Return the window after a loss, packets: the one before."""
    return window


@dataclass(frozen=True)
class FixedWindow(vf.Reno):
    """Reno's retransmissions with a window that does not change."""

    @property
    def rules(self) -> PacketRules:
        """Return Reno's rules with a constant window."""
        return replace(super().rules, increase_window=keep_full, window_after_loss=keep_window)


def limited(network: vf.Network) -> vf.Network:
    """Return the network whose clients have the best window as the largest, and start with it."""
    window = best_window()
    flows = {
        name: group
        if name.startswith("outside")
        else replace(group, max_window=window, initial_window=window)
        for name, group in network.flows.items()
    }
    return replace(network, flows=flows)


def adaptation_jobs() -> Mapping[str, Job]:
    """Return runs of the current network with free and other windows, and a large alpha."""
    reno = Setting(CURRENT, "reno", CLIENTS)
    free, (alpha, beta) = network_of(reno), LARGE
    vegas = vf.Vegas(alpha=alpha, beta=beta, gamma=alpha, dialect="ns2")
    undisturbed = network_of(replace(reno, outside="none"))
    networks = {
        "free": free,
        "limited": limited(free),
        "fixed": limited(clients_with(free, law=FixedWindow())),
        "free alone": undisturbed,
        "fixed alone": limited(clients_with(undisturbed, law=FixedWindow())),
        "large": clients_with(network_of(replace(reno, law="vegas")), law=vegas),
    }
    job = replace(job_of(reno, (1,)), until=DURATION, samples=1001)
    return {name: replace(job, network=network) for name, network in networks.items()}


def measure_adaptation(results: Results) -> Evidence:
    """Record loss and c.o.v. of free over fixed windows, and Vegas's loss with a large alpha."""
    evidence = Evidence()
    pairs = {
        PACKETS: ("free", "fixed"),
        "packets, windows of at most 39": ("free", "limited"),
        "packets, no outside sources": ("free alone", "fixed alone"),
    }
    for source, names in pairs.items():
        free, fixed = (results[name][0] for name in names)
        evidence.note(source, "adaptation.free_minus_fixed_loss", free.loss - fixed.loss)
        evidence.note(source, "adaptation.free_over_fixed_cov", free.cov / fixed.cov)
    evidence.note(PACKETS, "adaptation.loss_with_large_alpha", results["large"][0].loss)
    return evidence


START_UP = Experiment(
    "start_up", "Section 5: slow start by bandwidth-delay product.", measure_start_up, start_up_jobs
)
ADAPTATION = Experiment(
    "adaptation", "Sections 4 and 7: fixed windows, and Vegas with a large alpha.",
    measure_adaptation, adaptation_jobs,
)  # fmt: skip
