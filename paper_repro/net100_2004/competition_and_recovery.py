"""The page's other sentences: competition with standard TCP, faster recovery, and send stalls.

A send stall is a packet that the host's interface queue rejects; Linux 2.4 responds to it as to a
loss. Our hosts have no such queue. A link of the interface's rate with the same queue replaces
it: there the packet is lost, so that it must be retransmitted as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import xarray as xr

import vegasfluid as vf
from paper_repro.experiment import PACKETS, Evidence, Experiment, Job, Results
from paper_repro.net100_2004.other_readings import OF_HOSTS, OF_HOSTS_AND_PATH
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
from paper_repro.other_readings import with_readings
from vegasfluid import metrics

__all__ = ["COMPETITION"]

PAIRS = {"1_3": (1, 3), "6_8": (6, 8), "60_80": (60, 80), "600_620": (600, 620)}
"""Alpha and beta of the tests, packets."""
COMPETING = 600.0
"""Simulated time of a test of competition, s."""
WARMUP = 100.0
"""Warm-up of such a test, s."""
SEEDS = (1, 2, 3)
"""Seeds of such a test."""
SLOW_MBPS = 10.0
"""Capacity of a slow link, Mbit/s."""
SLOW_BUFFER = 17
"""Its buffer, packets: 20 ms like that of the fast link."""
COMPETES = 0.9
"""Goodput relative to standard TCP's from which Vegas competes (chosen)."""
RECOVERING = 300.0
"""Simulated time of a test of recovery, s."""
INTERFACE_MBPS = 100.0
"""Rate of the host's interface, Mbit/s."""
INTERFACE_QUEUE = 100
"""Queue of the interface, packets (txqueuelen of Linux 2.4)."""
STALLING = 300.0
"""Simulated time of a test of send stalls, s."""
REGAINED = 0.95
"""Fraction of the bandwidth-delay product at which a window has recovered (chosen)."""


def ratio(run: xr.Dataset) -> float:
    """Return the goodput of the Vegas flow over that of the standard flow."""
    return metrics.goodput_ratio(run, TCP)


def against(pair: tuple[int, int], rate: float, buffer: int) -> Job:
    """Return a test of one Vegas flow competing with a standard flow."""
    laws = {TCP: vegas(*pair, gamma=2), "standard": STANDARD}
    flows = {name: replace(one_of(law), start=vf.UniformStart(1.0)) for name, law in laws.items()}
    network = vf.Network(vf.Link(rate, buffer), flows, ack_bytes=52)
    return Job(network, COMPETING, keep=ratio, warmup=WARMUP, seeds=SEEDS)


def competing_jobs() -> Mapping[str, Job]:
    """Return tests of all thresholds on the OC-12 and on a slow link."""
    runs = {name: against(pair, LINE, BUFFER) for name, pair in PAIRS.items()}
    slow = vf.mbps(SLOW_MBPS)
    return runs | {f"slow_{name}": against(pair, slow, SLOW_BUFFER) for name, pair in PAIRS.items()}


def needed(results: Results, prefix: str = "") -> float:
    """Return the smallest tested alpha with which Vegas competes, packets.

    6000, ten times the largest, where none does.
    """
    enough = [
        alpha for name, (alpha, _) in PAIRS.items() if np.mean(results[prefix + name]) >= COMPETES
    ]
    return float(min(enough, default=6000))


def measure_competing(results: Results) -> Evidence:
    """Record the goodput of Vegas over that of standard TCP, and each run's ratio of thresholds."""
    evidence = Evidence()
    by_pair = [float(np.mean(results[name])) for name in PAIRS]
    evidence.note(PACKETS, "competing.by_thresholds", by_pair)
    evidence.note_mean(PACKETS, "competing.default", results["1_3"])
    evidence.note(PACKETS, "competing.needed", needed(results) / needed(results, "slow_"))
    count = min(map(len, results.values()))
    each = [{name: [ratios[run]] for name, ratios in results.items()} for run in range(count)]
    ratios = [needed(one) / needed(one, "slow_") for one in each]
    evidence.note("packets, each run", "competing.needed", ratios)
    return evidence


def recovering_jobs() -> Mapping[str, Job]:
    """Return tests of standard TCP, HighSpeed TCP and Scalable TCP."""
    laws = {"standard": STANDARD, "highspeed": vf.HighSpeed(), "scalable": vf.Scalable()}
    return {name: alone(law, RECOVERING) for name, law in laws.items()}


def regained(flow: Flow) -> float:
    """Return the time from the first loss until the window fills the path, s; else to the end.

    NaN without a loss.
    """
    if not flow.dropped.any():
        return float("nan")
    loss = flow.first_loss()
    low = loss + int(np.argmin(flow.cwnd[loss : loss + 20]))
    full = flow.cwnd[low:] >= REGAINED * product()
    place = low + int(np.argmax(full)) if full.any() else -1
    return float(flow.times[place] - flow.times[loss])


def cycle(flow: Flow) -> float:
    """Return the mean time from a loss until path and buffer are full again: to the next loss, s.

    Losses within a second count once; where there is only one, the time is that to the end, and
    without any it is NaN.
    """
    lost = flow.times[1:][np.diff(flow.dropped) > 0]
    events = lost[np.diff(lost, prepend=-np.inf) > 1.0]
    if events.size == 0:
        return float("nan")
    return float(np.diff(np.append(events, flow.times[-1]) if events.size < 2 else events).mean())


def measure_recovering(results: Results) -> Evidence:
    """Record recovery times over that of standard TCP."""
    evidence, flows = Evidence(), {name: results[name][0] for name in results}
    for name in ("highspeed", "scalable"):
        fraction = regained(flows[name]) / regained(flows["standard"])
        evidence.note(PACKETS, f"recovering.{name}", fraction)
        cycles = cycle(flows[name]) / cycle(flows["standard"])
        evidence.note(PACKETS, f"recovering.{name}_cycle", cycles)
    return evidence


def stalling_jobs() -> Mapping[str, Job]:
    """Return tests of a host whose interface is the bottleneck."""
    rate = vf.mbps(INTERFACE_MBPS)
    laws = {"standard": STANDARD, "vegas": vegas(1, 3, gamma=2)}
    return {name: alone(law, STALLING, rate, INTERFACE_QUEUE) for name, law in laws.items()}


def measure_stalling(results: Results) -> Evidence:
    """Record send stalls and throughput of Vegas over those of standard TCP."""
    evidence = Evidence()
    standard, vegas_flow = (results[name][0] for name in ("standard", "vegas"))
    evidence.note(PACKETS, "stalling.stalls", vegas_flow.loss_events() / standard.loss_events())
    evidence.note(PACKETS, "stalling.throughput", vegas_flow.mbps() / standard.mbps())
    return evidence


COMPETITION = [
    with_readings(
        Experiment("competing", "Vegas against standard TCP", measure_competing, competing_jobs),
        OF_HOSTS_AND_PATH,
    ),
    with_readings(
        Experiment("recovering", "Accelerated recovery", measure_recovering, recovering_jobs),
        OF_HOSTS_AND_PATH,
    ),
    with_readings(
        Experiment("stalling", "Send stalls", measure_stalling, stalling_jobs, quick=True),
        OF_HOSTS,
    ),
]
