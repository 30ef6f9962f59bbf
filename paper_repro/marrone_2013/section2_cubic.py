"""Section 2.2: statements about CUBIC, with the paper's constants (a cut of 0.2, C = 0.4)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import xarray as xr

import vegasfluid as vf
from paper_repro.experiment import PACKETS, Evidence, Experiment, Job, Results
from paper_repro.marrone_2013.arithmetic import PAPER_BETA, PAPER_C, cubic_window, plateau_time
from paper_repro.marrone_2013.environment import CAPACITY, NETEM_LIMIT
from vegasfluid import metrics
from vegasfluid.congestion.base import CongestionControl

__all__ = ["SECTION_2_2"]

AS_PRINTED = vf.Cubic(C=PAPER_C, beta=1 - PAPER_BETA, fast_convergence=False)
"""CUBIC with the paper's constants; the paper does not mention fast convergence."""
CONVERGING = vf.Cubic(C=PAPER_C, beta=1 - PAPER_BETA)
"""CUBIC with fast convergence: the window exceeds W_max before the path is full."""
SACK_RENO = vf.Reno(recovery="sack")
"""Reno with SACK."""
ROUND_TRIP = 0.2
"""Base round-trip time, s."""
THRESHOLD = 1000.0
"""Initial ssthresh, packets: far below the bandwidth-delay product."""
SMALL = vf.mbps(10)
"""Capacity, packets/s, of a path on which standard TCP grows faster than the cubic."""
NEAR = 0.02
"""Base round-trip time of that path, s."""
LATER = 5
"""Index of the cycle that is measured; the first W_max are too large, because slow start overshoots
the path."""
SEEDS = (1, 2, 3, 4, 5, 6, 7, 8)
"""Seeds of the runs of four flows."""
FAIR_SECONDS = 300.0
"""Simulated time of those runs, s."""
FAIR_WARMUP = 100.0
"""Warm-up of those runs, s."""


class Windows(NamedTuple):
    """Samples of one flow.

    Args:
        times: times of the samples, s; (time,).
        cwnd: window, packets; (time,).
        queue: queue of the link, packets; (time,).
        dropped: dropped packets so far; (time,).
    """

    times: np.ndarray
    cwnd: np.ndarray
    queue: np.ndarray
    dropped: np.ndarray

    def losses(self) -> np.ndarray:
        """Return the indices of the last samples before the window falls."""
        return np.flatnonzero(self.cwnd[1:] < 0.95 * self.cwnd[:-1])


def kept(run: xr.Dataset) -> Windows:
    """Return the record of a run of one flow."""
    flow = run.isel(flow_class=0)
    queue = run["queue"].isel(link=0).values
    return Windows(run["time"].values, flow["cwnd"].values, queue, flow["dropped"].values)


def one_flow(
    law: CongestionControl, capacity: float, rtt: float, buffer: float, ssthresh: float
) -> vf.Network:
    """Return a network with one flow."""
    flows = vf.Flows(1, law, base_rtt=rtt, initial_ssthresh=ssthresh)
    return vf.Network(vf.Link(capacity, buffer), {"flow": flows})


def sessions(law: CongestionControl) -> vf.Network:
    """Return a network with two flows of 0.1 s and two of 0.4 s over the paper's link."""
    flows = {
        name: vf.Flows(2, law, base_rtt=rtt, start=vf.UniformStart(5.0), send_overhead=0.0)
        for name, rtt in (("near", 0.1), ("far", 0.4))
    }
    return vf.Network(vf.Link(CAPACITY, NETEM_LIMIT), flows)


def jobs() -> Mapping[str, Job]:
    """Return the runs of one flow, and of four."""

    def one_job(until: float, *path: float, law: CongestionControl = AS_PRINTED) -> Job:
        return Job(one_flow(law, *path), until, keep=kept, samples=1 + round(until / 0.02))

    fair = {
        name: Job(sessions(law), FAIR_SECONDS, metrics.jain_index, FAIR_WARMUP, seeds=SEEDS)
        for name, law in (("fair_cubic", AS_PRINTED), ("fair_reno", SACK_RENO))
    }
    return fair | {
        "long": one_job(120, CAPACITY, ROUND_TRIP, NETEM_LIMIT, THRESHOLD),
        "longer": one_job(240, CAPACITY / 2, 2 * ROUND_TRIP, NETEM_LIMIT, THRESHOLD),
        "beyond": one_job(240, CAPACITY, ROUND_TRIP, NETEM_LIMIT, THRESHOLD, law=CONVERGING),
        "near": one_job(30, SMALL, NEAR, 17, 20),
        "start_cubic": one_job(10, CAPACITY, ROUND_TRIP, NETEM_LIMIT, 1e5),
        "start_reno": one_job(10, CAPACITY, ROUND_TRIP, NETEM_LIMIT, 1e5, law=SACK_RENO),
    }


def tooth(run: Windows, place: int = LATER) -> Windows:
    """Return the samples between a loss and the next, with times from the loss on."""
    losses = run.losses()
    begin, end = losses[place] + 1, losses[place + 1] + 1
    return Windows(run.times[begin:end] - run.times[begin], *(a[begin:end] for a in run[1:]))


def thirds(cwnd: np.ndarray) -> list[float]:
    """Return the growth in three successive thirds of a period, packets."""
    return np.diff(cwnd[np.linspace(0, len(cwnd) - 1, 4).astype(int)]).tolist()


def regions(run: Windows) -> dict[str, float | list[float]]:
    """Return how the window grows below and above W_max, and its deviation from equation (1)."""
    losses, cycle = run.losses(), tooth(run)
    w_max = run.cwnd[losses[LATER]]
    plateau = float(plateau_time(w_max))
    rising = cycle.times <= plateau
    deviations = np.abs(cycle.cwnd - cubic_window(cycle.times, w_max))[rising] / w_max
    growing = cycle.cwnd[rising & (cycle.cwnd > cycle.cwnd[0])]
    first = np.searchsorted(run.cwnd, THRESHOLD)
    reached = cycle.cwnd >= w_max - 1
    return {
        "concave": thirds(growing),
        "convex": thirds(run.cwnd[first : losses[0]]),
        "formula": float(deviations.max()),
        "plateau": float(cycle.times[np.argmax(reached)]) / plateau if reached.any() else 9.9,
    }


def turning_point(run: Windows) -> float:
    """Return the window of slowest growth over the W_max of the loss before.

    It is searched for in the middle half of the longest time between two losses; W_max is 0.9 of
    the window at a loss because of fast convergence.
    """
    losses = run.losses()
    longest = int(np.argmax(np.diff(losses)))
    cycle = tooth(run, longest)
    w_max = run.cwnd[losses[longest]] * (2 - PAPER_BETA) / 2
    steps = round(1.0 / (cycle.times[1] - cycle.times[0]))
    quarter = len(cycle.cwnd) // 4
    middle = cycle.cwnd[quarter:-quarter]
    slowest = int(np.argmin(middle[steps:] - middle[:-steps])) + steps // 2
    return float(middle[slowest]) / float(w_max)


def friendly_growth(run: Windows) -> float:
    """Return the window's growth per round trip where standard TCP would grow faster, packets."""
    rtt = one_flow(AS_PRINTED, SMALL, NEAR, 17, 20).base_rtts("flow")[0] + run.queue / SMALL
    changes = np.diff(run.cwnd)
    avoidance = (run.times[:-1] > 5) & (changes > 0)
    return float(
        changes[avoidance].sum() / (np.diff(run.times)[avoidance] / rtt[:-1][avoidance]).sum()
    )


def same_start(cubic: Windows, reno: Windows) -> float:
    """Return the largest difference of two windows before the first loss, packets."""
    before = (cubic.dropped == 0) & (reno.dropped == 0)
    return float(np.abs(cubic.cwnd - reno.cwnd)[before].max())


def measure(results: Results) -> Evidence:
    """Record what the runs show."""
    runs = {name: results[name][0] for name in results}
    evidence = Evidence()
    measures = regions(runs["long"]) | {
        "turning": turning_point(runs["beyond"]),
        "friendly": friendly_growth(runs["near"]),
        "same_start": same_start(runs["start_cubic"], runs["start_reno"]),
        "clock": tooth(runs["longer"]).times[-1] / tooth(runs["long"]).times[-1],
    }
    for name, value in measures.items():
        evidence.note(PACKETS, f"section2_cubic.{name}", value)
    gain = np.subtract(results["fair_cubic"], results["fair_reno"])
    evidence.note_mean(PACKETS, "section2_cubic.fairer", gain.tolist())
    return evidence


SECTION_2_2 = [
    Experiment(
        "section2_cubic", "Section 2.2: CUBIC's rules", measure, jobs, quick=True, single_rules=True
    )
]
