"""The current ESnet with other sources: without TCP, short connections, and on-off sources."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import xarray as xr

import vegasfluid as vf
from paper_repro.experiment import PACKETS, Evidence, Experiment, Job, Results
from paper_repro.feng_tinnakornsrisuphap_2000.arithmetic import ON_OFF_MS
from paper_repro.feng_tinnakornsrisuphap_2000.esnet import (
    CURRENT,
    MEASURED_ROUND_TRIP,
    SESSION_SHAPE,
    Setting,
    network_of,
    theoretical_cov,
)
from paper_repro.feng_tinnakornsrisuphap_2000.summary import Summary
from paper_repro.feng_tinnakornsrisuphap_2000.sweep import job_of
from vegasfluid import metrics
from vegasfluid.congestion.base import CongestionControl
from vegasfluid.traffic import TrafficSource

__all__ = ["ON_OFF", "SHORT_CONNECTIONS", "WITHOUT_TCP", "clients_with", "on_off"]

DURATION = 100.0
"""Simulated time, s: half of the paper's."""
CLIENTS = (12, 30, 60)
"""Numbers of clients at each site without TCP."""
MOST, FEW = 60, 20
"""Numbers of clients in and without congestion."""
SHORT_MB, SHORT_GAP = 0.0375, 0.1
"""Mean size (MB; 25 packets) and mean time between the starts (s) of short connections: 3 Mb/s."""
HURST = "local_whittle"
"""Method of the Hurst parameter, as in figure 7."""


def clients_with(
    network: vf.Network,
    *,
    law: CongestionControl | None = None,
    traffic: TrafficSource | None = None,
) -> vf.Network:
    """Return the network whose clients have another congestion control or traffic source."""

    def change(name: str, flows: vf.Flows) -> vf.Flows:
        if name.startswith("outside"):
            return flows
        return replace(flows, law=law or flows.law, traffic=traffic or flows.traffic)

    flows = {name: change(name, group) for name, group in network.flows.items()}
    return replace(network, flows=flows)


def job_with(
    name: str,
    clients: int,
    *,
    law: CongestionControl | None = None,
    traffic: TrafficSource | None = None,
    outside: str | None = None,
) -> Job:
    """Return a run of the current network, with other clients.

    Args:
        name: congestion control of the clients, and of the outside sources unless given.
        clients: number of clients at each site.
        law: congestion control of the clients in its place.
        traffic: traffic source of the clients; None: Poisson.
        outside: congestion control of the outside sources.
    """
    setting = Setting(CURRENT, name, clients, outside=outside)
    network = clients_with(network_of(setting), law=law, traffic=traffic)
    return replace(job_of(setting, (1,)), network=network, until=DURATION, samples=1001)


def without_tcp_jobs() -> Mapping[str, Job]:
    """Return runs without TCP at the clients, and of Reno with the most clients."""
    runs = {str(count): job_with("reno", count, law=vf.Unresponsive()) for count in CLIENTS}
    return {**runs, "reno": job_with("reno", MOST)}


def measure_without_tcp(results: Results) -> Evidence:
    """Record c.o.v. over theory and Hurst parameters without TCP, and Reno's compared with them."""
    evidence = Evidence()
    runs: list[Summary] = [results[str(count)][0] for count in CLIENTS]
    theory = [theoretical_cov(CURRENT, count) for count in CLIENTS]
    measures = {
        "cov_over_theory": [run.cov / cov for run, cov in zip(runs, theory, strict=True)],
        "hurst": [run.hurst[HURST] for run in runs],
        "reno_over_udp": results["reno"][0].cov / runs[-1].cov,
        "reno_hurst_minus_udp": results["reno"][0].hurst[HURST] - runs[-1].hurst[HURST],
    }
    for name, value in measures.items():
        evidence.note(PACKETS, f"without_tcp.{name}", value)
    return evidence


def short_jobs() -> Mapping[str, Job]:
    """Return runs of Reno and Vegas with short connections."""
    traffic = vf.Sessions(SHORT_GAP, SHORT_MB, SESSION_SHAPE, overlapping=True)
    return {law: job_with(law, MOST, traffic=traffic) for law in ("reno", "vegas")}


def measure_short(results: Results) -> Evidence:
    """Record loss, c.o.v. and goodput of Vegas over those of Reno."""
    evidence = Evidence()
    reno, vegas = (results[law][0] for law in ("reno", "vegas"))
    for name in ("loss", "cov", "delivered"):
        ratio = getattr(vegas, name) / getattr(reno, name)
        evidence.note(PACKETS, f"short_connections.{name}", ratio)
    return evidence


def on_off(topology: str) -> vf.OnOff:
    """Return the on-off source of table 3 (`current`) or table 4 (`proposed`)."""
    on, off, rate = ON_OFF_MS[topology]
    return vf.OnOff(vf.ms(on), vf.ms(off), vf.mbps(rate), SESSION_SHAPE)


def on_off_alone(topology: str) -> vf.Network:
    """Return a network of 60 on-off sources without TCP over one link that is never full."""
    flows = vf.Flows(MOST, vf.Unresponsive(), base_rtt=0.01, traffic=on_off(topology))
    return vf.Network(vf.Link(vf.mbps(100_000), 1e6), {"udp": flows})


def rate_and_hurst(run: xr.Dataset) -> tuple[float, float]:
    """Return the mean rate of a source, Mbit/s, and the Hurst parameter of all arrivals."""
    packets = float(run["delivered"].isel(time=-1, flow_class=0))
    rate = packets / float(run["time"][-1]) / vf.mbps(1)
    return rate, metrics.hurst(run, HURST).value


def on_off_jobs() -> Mapping[str, Job]:
    """Return runs of on-off sources without TCP, and of Reno with on-off and Poisson sources."""
    runs = {
        name: Job(on_off_alone(name), seconds, keep=rate_and_hurst, bin_width=MEASURED_ROUND_TRIP)
        for name, seconds in (("current", 200.0), ("proposed", 50.0))
    }
    runs["reno_on_off"] = job_with("reno", FEW, traffic=on_off("current"))
    return {**runs, "reno_poisson": job_with("reno", FEW)}


def measure_on_off(results: Results) -> Evidence:
    """Record mean rates, the Hurst parameter, and Reno's c.o.v. over that with Poisson sources."""
    evidence = Evidence()
    rates = [results[name][0][0] for name in ("current", "proposed")]
    bursty, poisson = results["reno_on_off"][0], results["reno_poisson"][0]
    measures = {
        "mbps": rates,
        "hurst": results["current"][0][1],
        "cov_over_poisson": bursty.cov / poisson.cov,
        "loss_over_poisson": float(np.divide(bursty.loss, poisson.loss)),
    }
    for name, value in measures.items():
        evidence.note(PACKETS, f"on_off.{name}", value)
    return evidence


WITHOUT_TCP = Experiment(
    "without_tcp", "The same traffic without TCP, current ESnet.", measure_without_tcp,
    without_tcp_jobs,
)  # fmt: skip
SHORT_CONNECTIONS = Experiment(
    "short_connections", "Section 6: short connections, current ESnet.", measure_short, short_jobs
)
ON_OFF = Experiment("on_off", "Tables 3 and 4: on-off sources.", measure_on_off, on_off_jobs)
