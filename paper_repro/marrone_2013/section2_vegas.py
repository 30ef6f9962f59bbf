"""Section 2.3: statements about Vegas, tested on a small path and on its rules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import xarray as xr

import vegasfluid as vf
from paper_repro.experiment import FLUID, PACKETS, Evidence, Experiment, Job, Results
from paper_repro.marrone_2013.driven_sender import checked_after_resending, checked_at_duplicate
from paper_repro.marrone_2013.readings import packets
from vegasfluid.errors import InvalidInput

__all__ = ["SECTION_2_3"]

CAPACITY = vf.mbps(10)
"""Capacity of the link, packets/s."""
ROUND_TRIP = 0.1
"""Base round-trip time, s."""
BUFFER = 100
"""Buffer of the link, packets."""
ALPHA = 1
"""Lower threshold, packets, in the papers that section 2.3 follows (its [2] and [3])."""
BETA = 3
"""Upper threshold in those papers, packets."""
SECONDS = 60.0
"""Simulated time, s."""


class VegasRun(NamedTuple):
    """Samples of one Vegas flow.

    Args:
        times: times of the samples, s; (time,).
        cwnd: window, packets; (time,).
        queue: queue of the link, packets; (time,).
        dropped: dropped packets so far; (time,).
        ended_by_threshold: slow starts that gamma ended so far; (time,).
    """

    times: np.ndarray
    cwnd: np.ndarray
    queue: np.ndarray
    dropped: np.ndarray
    ended_by_threshold: np.ndarray

    def settled(self) -> np.ndarray:
        """Return which samples are in the second half, at equilibrium; (time,)."""
        return self.times > self.times[-1] / 2


def kept(run: xr.Dataset) -> VegasRun:
    """Return the record of a run."""
    flow = run.isel(flow_class=0)
    cwnd, dropped = flow["cwnd"].values, flow["dropped"].values
    ended = flow["vegas_above_gamma"].values if "vegas_above_gamma" in flow else 0 * cwnd
    return VegasRun(run["time"].values, cwnd, run["queue"].isel(link=0).values, dropped, ended)


def one_flow(dialect: str) -> vf.Network:
    """Return a network with one Vegas flow, which opens with one packet."""
    law = vf.Vegas(alpha=ALPHA, beta=BETA, gamma=1, dialect=dialect)
    flows = {"vegas": vf.Flows(1, law, base_rtt=ROUND_TRIP, host="textbook")}
    return vf.Network(vf.Link(CAPACITY, BUFFER), flows)


def jobs() -> Mapping[str, Job]:
    """Return runs of the dialects `brakmo` and `linux`, and of the fluid model."""
    samples = 1 + round(SECONDS / 0.01)
    runs = {
        name: Job(one_flow(name), SECONDS, keep=kept, samples=samples)
        for name in ("brakmo", "linux")
    }
    fluid = Job(one_flow("brakmo"), SECONDS, keep=kept, samples=601, engine="fluid")
    return runs | {"fluid": fluid}


def rounds_to_double(run: VegasRun) -> float:
    """Return the round trips in which slow start doubles the window, from 2 to 16 packets."""
    reached = [run.times[np.argmax(run.cwnd >= window)] for window in (2, 16)]
    return float(reached[1] - reached[0]) / one_flow("brakmo").base_rtts("vegas")[0] / 3


def printed_difference(run: VegasRun) -> list[float]:
    """Return the smallest and largest Diff = CWND/BaseRTT - CWND/RTT at equilibrium, packets/s."""
    base = one_flow("brakmo").base_rtts("vegas")[0]
    rtt = base + run.queue / CAPACITY
    diff = (run.cwnd / base - run.cwnd / rtt)[run.settled()]
    return [float(diff.min()), float(diff.max())]


def count_rejected_thresholds() -> float:
    """Return how many of two threshold pairs (alpha above beta, both equal) are rejected."""
    rejected = 0
    for alpha, beta in ((3, 1), (3, 3)):
        try:
            vf.Vegas(alpha=alpha, beta=beta)
        except InvalidInput:
            rejected += 1
    return float(rejected)


def measure(results: Results) -> Evidence:
    """Record what the runs show, and what the rules do step by step."""
    evidence = Evidence()
    sources = {PACKETS: "brakmo", packets("the kernel's Vegas"): "linux", FLUID: "fluid"}
    for source, name in sources.items():
        run = results[name][0]
        evidence.note(source, "section2_vegas.queue", float(run.queue[run.settled()].mean()))
        evidence.note(source, "section2_vegas.difference", printed_difference(run))
        if source == FLUID:
            continue
        evidence.note(source, "section2_vegas.doubling", rounds_to_double(run))
        ended = [float(run.ended_by_threshold[-1]), float(run.dropped[-1])]
        evidence.note(source, "section2_vegas.ended", ended)
    evidence.note(PACKETS, "section2_vegas.refused", count_rejected_thresholds())
    evidence.note(PACKETS, "section2_vegas.at_duplicate", checked_at_duplicate())
    evidence.note(PACKETS, "section2_vegas.after_resending", checked_after_resending())
    return evidence


SECTION_2_3 = [
    Experiment(
        "section2_vegas", "Section 2.3: Vegas's rules", measure, jobs, quick=True, single_rules=True
    )
]
