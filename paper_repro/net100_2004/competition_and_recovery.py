"""The page's other sentences: competing with standard TCP, faster recovery, and send stalls.

A send stall is a packet that the host's own interface queue refuses, which Linux 2.4 answers as it
answers a loss. Our hosts have no such queue. In its place stands a link of the interface's rate
with the queue in front of it: there the packet is lost, so that it must be sent again as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import xarray as xr

import vegasfluid as vf
from paper_repro.experiment import PACKETS, Evidence, Experiment, Job, Results
from paper_repro.net100_2004.path import (
    BUFFER,
    LINE,
    STANDARD,
    TCP,
    Flow,
    alone,
    one_of,
    product,
    vegas,
)
from vegasfluid import metrics

__all__ = ["COMPETITION"]

PAIRS = {"1_3": (1, 3), "6_8": (6, 8), "60_80": (60, 80), "600_620": (600, 620)}
COMPETING, WARMUP, SEEDS = 600.0, 100.0, (1, 2, 3)
SLOW_MBPS, SLOW_BUFFER = 10.0, 17
"""Mbit/s and packets: a low-speed link with the same 20 ms of buffer."""
COMPETES = 0.9
"""Goodput over that of standard TCP from which on Vegas competes."""
RECOVERING = 300.0
INTERFACE_MBPS, INTERFACE_QUEUE = 100.0, 100
"""Mbit/s, and packets (txqueuelen of Linux 2.4)."""
STALLING = 300.0
REGAINED = 0.95
"""Of the bandwidth-delay product: where a window has recovered."""


def ratio(run: xr.Dataset) -> float:
    """Goodput of the Vegas flow over that of the standard one."""
    return metrics.goodput_ratio(run, TCP)


def against(pair: tuple[int, int], rate: float, buffer: int) -> Job:
    """One Vegas flow against a standard one."""
    laws = {TCP: vegas(*pair, gamma=2), "standard": STANDARD}
    flows = {name: replace(one_of(law), start=vf.UniformStart(1.0)) for name, law in laws.items()}
    network = vf.Network(vf.Link(rate, buffer), flows, ack_bytes=52)
    return Job(network, COMPETING, keep=ratio, warmup=WARMUP, seeds=SEEDS)


def competing_jobs() -> Mapping[str, Job]:
    """Several thresholds on the OC-12, and the smallest on a slow link."""
    made = {name: against(pair, LINE, BUFFER) for name, pair in PAIRS.items()}
    slow = vf.mbps(SLOW_MBPS)
    return made | {f"slow_{name}": against(pair, slow, SLOW_BUFFER) for name, pair in PAIRS.items()}


def needed(results: Results, prefix: str = "") -> float:
    """The least alpha of those tried with which Vegas competes, packets; ten times the largest
    where none does.
    """
    enough = [
        alpha for name, (alpha, _) in PAIRS.items() if np.mean(results[prefix + name]) >= COMPETES
    ]
    return float(min(enough, default=6000))


def measure_competing(results: Results) -> Evidence:
    """Vegas over standard TCP."""
    evidence = Evidence()
    by_pair = [float(np.mean(results[name])) for name in PAIRS]
    evidence.note(PACKETS, "competing.by_thresholds", by_pair)
    evidence.note_mean(PACKETS, "competing.default", results["1_3"])
    evidence.note(PACKETS, "competing.needed", needed(results) / needed(results, "slow_"))
    return evidence


def recovering_jobs() -> Mapping[str, Job]:
    """Standard TCP and two that recover faster."""
    laws = {"standard": STANDARD, "highspeed": vf.HighSpeed(), "scalable": vf.Scalable()}
    return {name: alone(law, RECOVERING) for name, law in laws.items()}


def regained(flow: Flow) -> float:
    """Time from the first loss until the window fills the path again, s; to the end if it never
    does.
    """
    loss = flow.first_loss()
    low = loss + int(np.argmin(flow.cwnd[loss : loss + 20]))
    full = flow.cwnd[low:] >= REGAINED * product()
    at = low + int(np.argmax(full)) if full.any() else -1
    return float(flow.times[at] - flow.times[loss])


def measure_recovering(results: Results) -> Evidence:
    """Recovery and throughput over those of standard TCP."""
    evidence, flow = Evidence(), {name: results[name][0] for name in results}
    for name in ("highspeed", "scalable"):
        share = regained(flow[name]) / regained(flow["standard"])
        evidence.note(PACKETS, f"recovering.{name}", share)
    return evidence


def stalling_jobs() -> Mapping[str, Job]:
    """A host whose interface is the slowest link."""
    rate = vf.mbps(INTERFACE_MBPS)
    laws = {"standard": STANDARD, "vegas": vegas(1, 3, gamma=2)}
    return {name: alone(law, STALLING, rate, INTERFACE_QUEUE) for name, law in laws.items()}


def measure_stalling(results: Results) -> Evidence:
    """Send stalls and throughput, Vegas's over standard TCP's."""
    evidence = Evidence()
    standard, calm = (results[name][0] for name in ("standard", "vegas"))
    evidence.note(PACKETS, "stalling.stalls", calm.loss_events() / standard.loss_events())
    evidence.note(PACKETS, "stalling.throughput", calm.mbps() / standard.mbps())
    return evidence


COMPETITION = [
    Experiment("competing", "Vegas against standard TCP", measure_competing, competing_jobs),
    Experiment("recovering", "Accelerated recovery", measure_recovering, recovering_jobs),
    Experiment("stalling", "Send stalls", measure_stalling, stalling_jobs, quick=True),
]
