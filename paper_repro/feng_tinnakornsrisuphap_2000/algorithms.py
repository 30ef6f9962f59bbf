"""Section 2.1: the paper's statements about Reno, Vegas and RED, each tested in a small run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import xarray as xr

import vegasfluid as vf
from paper_repro.experiment import PACKETS, Evidence, Experiment, Job, Results
from paper_repro.feng_tinnakornsrisuphap_2000.esnet import law_named
from vegasfluid import metrics
from vegasfluid.congestion.unresponsive import Unresponsive

__all__ = ["ALGORITHMS"]

NAME = "algorithms"
RTT = 0.1
"""Base round-trip time of all runs, s (chosen)."""
WIDE = vf.Link(vf.mbps(622), buffer=10_000)
"""Link on which nothing is lost, for slow start and congestion avoidance."""
NARROW = vf.Link(1000.0, buffer=50)
"""Link (1000 packets/s) whose small buffer overflows, for losses."""
RED = vf.Red(min_thresh=20, max_thresh=60)
"""RED with thresholds (packets) far below the buffer, so that its average exceeds both."""


def one_flow(law: str, link: vf.Link, **given: Any) -> vf.Network:
    """Return a network with one bulk flow; `given` are further fields of its `Flows`."""
    return vf.Network(link, {"tcp": vf.Flows(1, law_named(law), base_rtt=RTT, **given)})


def windows(run: xr.Dataset) -> np.ndarray:
    """Return the windows of the first class, packets; (time,)."""
    return run["cwnd"].values[:, 0]


def doubling(run: xr.Dataset) -> list[float]:
    """Return the factors by which the window grows from one round trip to the next."""
    cwnd = windows(run)[3::2]
    return (cwnd[1:] / cwnd[:-1]).tolist()


def growth(run: xr.Dataset) -> float:
    """Return the window's mean growth in the second half of a run, packets per round trip."""
    cwnd, times = windows(run), run["time"].values
    half = len(times) // 2
    return float((cwnd[-1] - cwnd[half]) / (times[-1] - times[half]) * RTT)


def cut(run: xr.Dataset) -> list[float]:
    """Return the fraction of the window that each cut leaves; the last value counts timeouts."""
    cwnd = windows(run)
    places = np.flatnonzero(cwnd[1:] < 0.8 * cwnd[:-1])
    return [*(cwnd[places + 1] / cwnd[places]).tolist(), float(metrics.timeouts(run)[0])]


def after_timeout(run: xr.Dataset) -> list[float]:
    """Return window (packets) and ssthresh (fraction of the old window) after a timeout."""
    place = int(np.flatnonzero(np.diff(run["timeouts"].values[:, 0]) > 0)[0])
    cwnd, threshold = windows(run), run["ssthresh"].values[:, 0]
    return [float(cwnd[place + 1]), float(threshold[place + 1] / cwnd[place])]


def queue_per_flow(run: xr.Dataset) -> float:
    """Return the mean queue after the warm-up per flow, packets.

    The sending time of a packet is part of the base RTT here, so that Vegas's Diff excludes it.
    """
    return float(metrics.mean_queue(run)[0]) / int(run["count"].sum())


def vegas_steps(run: xr.Dataset) -> Mapping[str, float]:
    """Return how Vegas changes its window above beta and between alpha and beta.

    `down` is the change per round trip above beta (packets), in the four seconds after a second
    stream starts at 20 s; `still` the range of windows (packets) in the ten seconds before.
    """
    times, cwnd = run["time"].values, windows(run)
    above = run["vegas_above_beta"].values[:, 0]
    before, rival, later = np.searchsorted(times, [10.0, 20.0, 24.0])
    return {
        "down": float((cwnd[later] - cwnd[rival]) / (above[later] - above[rival])),
        "still": float(np.ptp(cwnd[before:rival])),
    }


def red_shares(run: xr.Dataset) -> Mapping[str, float]:
    """Return the fractions of arrivals that RED drops, by the range of its average queue."""
    average = run["avg_queue"].values[:, 0]
    lost, admitted = (np.diff(run[name].values[:, 0]) for name in ("lost", "admitted"))
    low, high = np.minimum(average[1:], average[:-1]), np.maximum(average[1:], average[:-1])
    ranges = {
        "below": high < RED.min_thresh,
        "between": (low >= RED.min_thresh) & (high < RED.max_thresh),
        "above": low >= RED.max_thresh,
    }
    return {
        name: float(lost[inside].sum() / (lost[inside] + admitted[inside]).sum())
        for name, inside in ranges.items()
    }


def vegas_and_rival() -> vf.Network:
    """Return a network with a Vegas flow, and a constant stream that starts at 20 s."""
    rival = vf.Flows(1, Unresponsive(), base_rtt=RTT, traffic=vf.Cbr(300.0), start=20.0)
    flows = {
        "tcp": vf.Flows(1, law_named("vegas"), base_rtt=RTT, send_overhead=0.0),
        "rival": rival,
    }
    return vf.Network(vf.Link(1000.0, buffer=500), flows)


def overloaded_red() -> vf.Network:
    """Return a network whose arrivals are 30 % above the capacity of a link with RED."""
    traffic = vf.Poisson(1 / 1300.0)
    link = vf.Link(1000.0, buffer=1000, aqm=RED)
    return vf.Network(link, {"udp": vf.Flows(1, Unresponsive(), base_rtt=RTT, traffic=traffic)})


def vegas_flows(count: int) -> vf.Network:
    """Return a network with `count` Vegas flows that start within the first second."""
    starts = vf.UniformStart(1.0)
    flows = vf.Flows(count, law_named("vegas"), base_rtt=RTT, start=starts, send_overhead=0.0)
    return vf.Network(vf.Link(1000.0, buffer=200), {"tcp": flows})


Keep = Callable[[xr.Dataset], Any]
"""Function that reduces a trajectory to the measured values."""


def job(network: vf.Network, until: float, step: float, keep: Keep, warmup: float = 0.0) -> Job:
    """Return a run of `until` seconds with a sample every `step` seconds."""
    return Job(network, until, keep=keep, warmup=warmup, samples=round(until / step) + 1)


def jobs() -> Mapping[str, Job]:
    """Return the small runs by name."""
    gentle = {"initial_ssthresh": 40}
    return {
        "slow_start": job(one_flow("reno", WIDE), 0.95, RTT / 2, doubling),
        "avoidance": job(one_flow("reno", WIDE, initial_ssthresh=10), 20.0, RTT, growth),
        "fast_retransmit": job(one_flow("reno", NARROW, **gentle), 60.0, 0.01, cut),
        "timeout": job(one_flow("reno", NARROW), 10.0, 0.001, after_timeout),
        "vegas_avoidance": job(one_flow("vegas", WIDE, initial_ssthresh=10), 20.0, RTT, growth),
        "vegas_steps": job(vegas_and_rival(), 30.0, RTT / 2, vegas_steps),
        "vegas_one": job(vegas_flows(1), 60.0, RTT, queue_per_flow, 20.0),
        "vegas_five": job(vegas_flows(5), 60.0, RTT, queue_per_flow, 20.0),
        "red": job(overloaded_red(), 30.0, 0.001, red_shares),
    }


def measure(results: Results) -> Evidence:
    """Record what each run shows."""
    evidence = Evidence()
    for name in ("slow_start", "avoidance", "timeout", "vegas_avoidance"):
        evidence.note(PACKETS, f"{NAME}.{name}", results[name][0])
    *cuts, timeouts = results["fast_retransmit"][0]
    evidence.note(PACKETS, f"{NAME}.fast_retransmit", cuts)
    evidence.note(PACKETS, f"{NAME}.fast_retransmit_timeouts", timeouts)
    per_flow = [results[name][0] for name in ("vegas_one", "vegas_five")]
    evidence.note(PACKETS, f"{NAME}.vegas_held", per_flow)
    for name in ("vegas_steps", "red"):
        for part, value in results[name][0].items():
            evidence.note(PACKETS, f"{NAME}.{name}_{part}", value)
    return evidence


ALGORITHMS = Experiment(
    NAME,
    "Section 2.1: Reno, Vegas and RED, step by step.",
    measure,
    jobs,
    quick=True,
    single_rules=True,
)
