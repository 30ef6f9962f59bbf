"""Section 2.1: statements about Reno, tested on a small path and on its rules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

import vegasfluid as vf
from paper_repro.experiment import PACKETS, Evidence, Experiment, Job, Results
from paper_repro.marrone_2013.driven_sender import reno_after_loss

__all__ = ["SECTION_2_1", "Sawtooth", "growth_in_avoidance"]

CAPACITY = vf.mbps(10)
"""Capacity of the link, packets/s."""
ROUND_TRIP = 0.1
"""Base round-trip time, s."""
BUFFER = 40
"""Buffer of the link, packets."""
SAMPLE = 0.01
"""Time between two samples, s."""
THRESHOLD = 60
"""Initial ssthresh, packets: below the first loss, so that every loss is of one packet."""
ROUNDS = 6
"""Round trips of slow start that are measured."""
SETTLED = 10.0
"""Time after which all losses are in congestion avoidance, s."""


class Sawtooth(NamedTuple):
    """Samples of one flow.

    Args:
        times: times of the samples, s; (time,).
        cwnd: window, packets; (time,).
        ssthresh: threshold of slow start, packets; (time,).
        queue: queue of the link, packets; (time,).
        dropped: dropped packets so far; (time,).
        resent: retransmissions so far; (time,).
        timeouts: timeouts so far; (time,).
    """

    times: np.ndarray
    cwnd: np.ndarray
    ssthresh: np.ndarray
    queue: np.ndarray
    dropped: np.ndarray
    resent: np.ndarray
    timeouts: np.ndarray


def kept(run: xr.Dataset) -> Sawtooth:
    """Return the record of a run."""
    flow = run.isel(flow_class=0)
    names = ("cwnd", "ssthresh", "dropped", "retransmitted", "timeouts")
    cwnd, ssthresh, dropped, resent, timeouts = (flow[name].values for name in names)
    queue = run["queue"].isel(link=0).values
    return Sawtooth(run["time"].values, cwnd, ssthresh, queue, dropped, resent, timeouts)


def one_flow(ssthresh: float, buffer: float) -> vf.Network:
    """Return a network with one Reno flow."""
    reno = vf.Flows(1, vf.Reno(), base_rtt=ROUND_TRIP, initial_ssthresh=ssthresh)
    return vf.Network(vf.Link(CAPACITY, buffer), {"reno": reno})


def jobs() -> Mapping[str, Job]:
    """Return a run of slow start only, and a run with many losses."""
    start, teeth = one_flow(1e5, 10 * BUFFER), one_flow(THRESHOLD, BUFFER)
    return {
        "start": Job(start, 1.0, keep=kept, samples=1001),
        "teeth": Job(teeth, 60.0, keep=kept, samples=1 + round(60 / SAMPLE)),
    }


def first_windows(run: Sawtooth) -> list[float]:
    """Return the window in the middle of each of the first round trips, packets."""
    rtt = one_flow(THRESHOLD, BUFFER).base_rtts("reno")[0]
    return [float(run.cwnd[np.searchsorted(run.times, (k + 1.5) * rtt) - 1]) for k in range(ROUNDS)]


def growth_in_avoidance(run: Sawtooth) -> float:
    """Return the growth per round trip between losses, packets."""
    rtt = one_flow(THRESHOLD, BUFFER).base_rtts("reno")[0] + run.queue / CAPACITY
    changes = np.diff(run.cwnd)
    avoidance = (run.times[:-1] > SETTLED) & (changes > 0) & (changes < 1)
    rounds = np.diff(run.times)[avoidance] / rtt[:-1][avoidance]
    return float(changes[avoidance].sum() / rounds.sum())


def gained(run: Sawtooth, counter: str) -> float:
    """Return the increase of a counter in congestion avoidance."""
    values = getattr(run, counter)
    return float(values[-1] - values[np.searchsorted(run.times, SETTLED)])


def measure(results: Results) -> Evidence:
    """Record what the runs show, and what the rules do step by step."""
    start, teeth = results["start"][0], results["teeth"][0]
    evidence, after = Evidence(), reno_after_loss()
    measures: dict[str, Any] = {
        "slow_start": first_windows(start),
        "avoidance": growth_in_avoidance(teeth),
        "resent_once": [
            gained(teeth, "resent") / gained(teeth, "dropped"),
            gained(teeth, "timeouts"),
        ],
        "equal_acks": after.equal_acks,
        "threshold": after.kept,
        "recovery": after.beyond,
        "timeout": after.restarted,
    }
    for name, value in measures.items():
        evidence.note(PACKETS, f"section2_reno.{name}", value)
    return evidence


SECTION_2_1 = [
    Experiment(
        "section2_reno", "Section 2.1: Reno's rules", measure, jobs, quick=True, single_rules=True
    )
]
