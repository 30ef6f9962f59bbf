"""Section 2.1: what is said of Reno, seen on a small path and step by step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

import vegasfluid as vf
from paper_repro.experiment import PACKETS, Evidence, Experiment, Job, Results
from paper_repro.marrone_2013.driven_sender import reno_after_loss

__all__ = ["SECTION_2_1", "Sawtooth", "growth_in_avoidance"]

CAPACITY, ROUND_TRIP, BUFFER = vf.mbps(10), 0.1, 40
SAMPLE = 0.01
THRESHOLD = 60
"""Packets: slow start ends below the loss, so that every loss is that of one packet."""
ROUNDS = 6
SETTLED = 10.0
"""s: later than that all losses come in congestion avoidance."""


class Sawtooth(NamedTuple):
    """A run of one flow."""

    times: np.ndarray
    cwnd: np.ndarray
    ssthresh: np.ndarray
    queue: np.ndarray
    dropped: np.ndarray
    resent: np.ndarray
    timeouts: np.ndarray


def kept(run: xr.Dataset) -> Sawtooth:
    """What is kept of a run."""
    of = run.isel(flow_class=0)
    names = ("cwnd", "ssthresh", "dropped", "retransmitted", "timeouts")
    cwnd, ssthresh, dropped, resent, timeouts = (of[name].values for name in names)
    queue = run["queue"].isel(link=0).values
    return Sawtooth(run["time"].values, cwnd, ssthresh, queue, dropped, resent, timeouts)


def one_flow(ssthresh: float, buffer: float) -> vf.Network:
    """A small path with one Reno flow."""
    reno = vf.Flows(1, vf.Reno(), base_rtt=ROUND_TRIP, initial_ssthresh=ssthresh)
    return vf.Network(vf.Link(CAPACITY, buffer), {"reno": reno})


def jobs() -> Mapping[str, Job]:
    """Slow start alone, and sawteeth."""
    start, teeth = one_flow(1e5, 10 * BUFFER), one_flow(THRESHOLD, BUFFER)
    return {
        "start": Job(start, 1.0, keep=kept, samples=1001),
        "teeth": Job(teeth, 60.0, keep=kept, samples=1 + round(60 / SAMPLE)),
    }


def first_windows(run: Sawtooth) -> list[float]:
    """The window in the middle of each of the first round trips after the handshake, packets."""
    rtt = one_flow(THRESHOLD, BUFFER).base_rtts("reno")[0]
    return [float(run.cwnd[np.searchsorted(run.times, (k + 1.5) * rtt) - 1]) for k in range(ROUNDS)]


def growth_in_avoidance(run: Sawtooth) -> float:
    """Packets that a round trip adds between two losses, the middle of all samples."""
    rtt = one_flow(THRESHOLD, BUFFER).base_rtts("reno")[0] + run.queue / CAPACITY
    rises = np.diff(run.cwnd)
    usual = (run.times[:-1] > SETTLED) & (rises > 0) & (rises < 1)
    rounds = np.diff(run.times)[usual] / rtt[:-1][usual]
    return float(rises[usual].sum() / rounds.sum())


def gained(run: Sawtooth, counter: str) -> float:
    """How much a counter grew in congestion avoidance."""
    values = getattr(run, counter)
    return float(values[-1] - values[np.searchsorted(run.times, SETTLED)])


def measure(results: Results) -> Evidence:
    """What the runs show, and what the rules do step by step."""
    start, teeth = results["start"][0], results["teeth"][0]
    evidence, after = Evidence(), reno_after_loss()
    noted: dict[str, Any] = {
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
    for name, value in noted.items():
        evidence.note(PACKETS, f"section2_reno.{name}", value)
    return evidence


SECTION_2_1 = [Experiment("section2_reno", "Section 2.1: Reno's rules", measure, jobs, quick=True)]
