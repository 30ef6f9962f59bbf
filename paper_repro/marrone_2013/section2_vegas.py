"""Section 2.3: what is said of Vegas, on a small path and step by step."""

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

CAPACITY, ROUND_TRIP, BUFFER = vf.mbps(10), 0.1, 100
ALPHA, BETA = 1, 3
"""Packets: the thresholds of the papers that section 2.3 follows (its [2] and [3])."""
SECONDS = 60.0


class Rest(NamedTuple):
    """A run of one Vegas flow."""

    times: np.ndarray
    cwnd: np.ndarray
    queue: np.ndarray
    dropped: np.ndarray
    ended_by_threshold: np.ndarray

    def at_rest(self) -> np.ndarray:
        """The second half of the samples."""
        return self.times > self.times[-1] / 2


def kept(run: xr.Dataset) -> Rest:
    """What is kept of a run."""
    of = run.isel(flow_class=0)
    cwnd, dropped = of["cwnd"].values, of["dropped"].values
    ended = of["vegas_above_gamma"].values if "vegas_above_gamma" in of else 0 * cwnd
    return Rest(run["time"].values, cwnd, run["queue"].isel(link=0).values, dropped, ended)


def one_flow(dialect: str) -> vf.Network:
    """A small path with one Vegas flow."""
    law = vf.Vegas(alpha=ALPHA, beta=BETA, gamma=1, dialect=dialect)
    flows = {"vegas": vf.Flows(1, law, base_rtt=ROUND_TRIP)}
    return vf.Network(vf.Link(CAPACITY, BUFFER), flows)


def jobs() -> Mapping[str, Job]:
    """The rule as Brakmo and Peterson have it, and as Linux has it."""
    samples = 1 + round(SECONDS / 0.01)
    made = {
        name: Job(one_flow(name), SECONDS, keep=kept, samples=samples)
        for name in ("brakmo", "linux")
    }
    fluid = Job(one_flow("brakmo"), SECONDS, keep=kept, samples=601, engine="fluid")
    return made | {"fluid": fluid}


def rounds_to_double(run: Rest) -> float:
    """Round trips in which the window doubles in slow start: from 2 to 16 packets."""
    reached = [run.times[np.argmax(run.cwnd >= window)] for window in (2, 16)]
    return float(reached[1] - reached[0]) / one_flow("brakmo").base_rtts("vegas")[0] / 3


def printed_difference(run: Rest) -> list[float]:
    """Smallest and largest Diff = CWND/BaseRTT - CWND/RTT at rest, packets/s."""
    base = one_flow("brakmo").base_rtts("vegas")[0]
    rtt = base + run.queue / CAPACITY
    diff = (run.cwnd / base - run.cwnd / rtt)[run.at_rest()]
    return [float(diff.min()), float(diff.max())]


def refused_thresholds() -> float:
    """How many are refused of a pair with alpha above beta and one with both equal."""
    refused = 0
    for alpha, beta in ((3, 1), (3, 3)):
        try:
            vf.Vegas(alpha=alpha, beta=beta)
        except InvalidInput:
            refused += 1
    return float(refused)


def measure(results: Results) -> Evidence:
    """What the runs show, and what the rules do step by step."""
    evidence = Evidence()
    sources = {PACKETS: "brakmo", packets("the kernel's Vegas"): "linux", FLUID: "fluid"}
    for source, name in sources.items():
        run = results[name][0]
        evidence.note(source, "section2_vegas.queue", float(run.queue[run.at_rest()].mean()))
        evidence.note(source, "section2_vegas.difference", printed_difference(run))
        if source == FLUID:
            continue
        evidence.note(source, "section2_vegas.doubling", rounds_to_double(run))
        ended = [float(run.ended_by_threshold[-1]), float(run.dropped[-1])]
        evidence.note(source, "section2_vegas.ended", ended)
    evidence.note(PACKETS, "section2_vegas.refused", refused_thresholds())
    evidence.note(PACKETS, "section2_vegas.at_duplicate", checked_at_duplicate())
    evidence.note(PACKETS, "section2_vegas.after_resending", checked_after_resending())
    return evidence


SECTION_2_3 = [
    Experiment("section2_vegas", "Section 2.3: Vegas's rules", measure, jobs, quick=True)
]
