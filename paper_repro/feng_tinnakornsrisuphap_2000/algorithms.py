"""Section 2.1: what Reno, Vegas and RED are said to do, each in a small run."""

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
WIDE = vf.Link(vf.mbps(622), buffer=10_000)
NARROW = vf.Link(1000.0, buffer=50)
RED = vf.Red(min_thresh=20, max_thresh=60)


def one(law: str, link: vf.Link, **given: Any) -> vf.Network:
    """One bulk flow over a link."""
    return vf.Network(link, {"tcp": vf.Flows(1, law_named(law), base_rtt=RTT, **given)})


def windows(run: xr.Dataset) -> np.ndarray:
    """The window of the first class; (time,)."""
    return run["cwnd"].values[:, 0]


def doubling(run: xr.Dataset) -> list[float]:
    """The growth of the window from the middle of one round trip to that of the next."""
    cwnd = windows(run)[3::2]
    return (cwnd[1:] / cwnd[:-1]).tolist()


def growth(run: xr.Dataset) -> float:
    """Packets a round trip, over the second half of the run."""
    cwnd, times = windows(run), run["time"].values
    half = len(times) // 2
    return float((cwnd[-1] - cwnd[half]) / (times[-1] - times[half]) * RTT)


def cut(run: xr.Dataset) -> list[float]:
    """What each cut leaves of the window, and the timeouts of the run."""
    cwnd = windows(run)
    at = np.flatnonzero(cwnd[1:] < 0.8 * cwnd[:-1])
    return [*(cwnd[at + 1] / cwnd[at]).tolist(), float(metrics.timeouts(run)[0])]


def after_timeout(run: xr.Dataset) -> list[float]:
    """The window after the first timeout, and the threshold as a part of the window before."""
    at = int(np.flatnonzero(np.diff(run["timeouts"].values[:, 0]) > 0)[0])
    cwnd, threshold = windows(run), run["ssthresh"].values[:, 0]
    return [float(cwnd[at + 1]), float(threshold[at + 1] / cwnd[at])]


def held(run: xr.Dataset) -> float:
    """Packets of a flow that wait in the queue, mean after the warm-up.

    The time to send one belongs to the base round trip, so that it is not in Vegas's Diff.
    """
    return float(metrics.mean_queue(run)[0]) / int(run["count"].sum())


def vegas_steps(run: xr.Dataset) -> Mapping[str, float]:
    """By how much a round trip above beta changes the window, and one between the thresholds.

    The first is taken from when a rival comes (20 s), the second from the ten seconds before it.
    """
    times, cwnd = run["time"].values, windows(run)
    above = run["vegas_above_beta"].values[:, 0]
    before, rival, later = np.searchsorted(times, [10.0, 20.0, 24.0])
    return {
        "down": float((cwnd[later] - cwnd[rival]) / (above[later] - above[rival])),
        "still": float(np.ptp(cwnd[before:rival])),
    }


def red_shares(run: xr.Dataset) -> Mapping[str, float]:
    """The part of arriving packets that RED drops, by where its average is."""
    average = run["avg_queue"].values[:, 0]
    lost, admitted = (np.diff(run[name].values[:, 0]) for name in ("lost", "admitted"))
    low, high = np.minimum(average[1:], average[:-1]), np.maximum(average[1:], average[:-1])
    ranges = {
        "below": high < RED.min_thresh,
        "between": (low >= RED.min_thresh) & (high < RED.max_thresh),
        "above": low >= RED.max_thresh,
    }
    return {
        name: float(lost[of].sum() / (lost[of] + admitted[of]).sum()) for name, of in ranges.items()
    }


def vegas_and_rival() -> vf.Network:
    """A Vegas flow whose link gets a second, constant stream at 20 s."""
    rival = vf.Flows(1, Unresponsive(), base_rtt=RTT, traffic=vf.Cbr(300.0), start=20.0)
    flows = {
        "tcp": vf.Flows(1, law_named("vegas"), base_rtt=RTT, send_overhead=0.0),
        "rival": rival,
    }
    return vf.Network(vf.Link(1000.0, buffer=500), flows)


def overloaded_red() -> vf.Network:
    """A third more than the link sends."""
    traffic = vf.Poisson(1 / 1300.0)
    link = vf.Link(1000.0, buffer=1000, aqm=RED)
    return vf.Network(link, {"udp": vf.Flows(1, Unresponsive(), base_rtt=RTT, traffic=traffic)})


def vegas_flows(count: int) -> vf.Network:
    """So many Vegas flows over a link."""
    spread = vf.UniformStart(1.0)
    flows = vf.Flows(count, law_named("vegas"), base_rtt=RTT, start=spread, send_overhead=0.0)
    return vf.Network(vf.Link(1000.0, buffer=200), {"tcp": flows})


Keep = Callable[[xr.Dataset], Any]


def job(network: vf.Network, until: float, step: float, keep: Keep, warmup: float = 0.0) -> Job:
    """A run with a sample every `step` seconds."""
    return Job(network, until, keep=keep, warmup=warmup, samples=round(until / step) + 1)


def jobs() -> Mapping[str, Job]:
    """The small runs."""
    gentle = {"initial_ssthresh": 40}
    return {
        "slow_start": job(one("reno", WIDE), 0.95, RTT / 2, doubling),
        "avoidance": job(one("reno", WIDE, initial_ssthresh=10), 20.0, RTT, growth),
        "fast_retransmit": job(one("reno", NARROW, **gentle), 60.0, 0.01, cut),
        "timeout": job(one("reno", NARROW), 10.0, 0.001, after_timeout),
        "vegas_avoidance": job(one("vegas", WIDE, initial_ssthresh=10), 20.0, RTT, growth),
        "vegas_steps": job(vegas_and_rival(), 30.0, RTT / 2, vegas_steps),
        "vegas_one": job(vegas_flows(1), 60.0, RTT, held, 20.0),
        "vegas_five": job(vegas_flows(5), 60.0, RTT, held, 20.0),
        "red": job(overloaded_red(), 30.0, 0.001, red_shares),
    }


def measure(results: Results) -> Evidence:
    """What each run shows."""
    evidence = Evidence()
    for name in ("slow_start", "avoidance", "timeout", "vegas_avoidance"):
        evidence.note(PACKETS, f"{NAME}.{name}", results[name][0])
    *cuts, timeouts = results["fast_retransmit"][0]
    evidence.note(PACKETS, f"{NAME}.fast_retransmit", cuts)
    evidence.note(PACKETS, f"{NAME}.fast_retransmit_timeouts", timeouts)
    held_each = [results[name][0] for name in ("vegas_one", "vegas_five")]
    evidence.note(PACKETS, f"{NAME}.vegas_held", held_each)
    for name in ("vegas_steps", "red"):
        for part, value in results[name][0].items():
            evidence.note(PACKETS, f"{NAME}.{name}_{part}", value)
    return evidence


ALGORITHMS = Experiment(
    NAME, "Section 2.1: Reno, Vegas and RED, step by step.", measure, jobs, quick=True
)
