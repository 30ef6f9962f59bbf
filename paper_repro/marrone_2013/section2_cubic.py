"""Section 2.2: what is said of CUBIC, with the paper's constants (a cut of 0.2, C = 0.4)."""

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
"""The paper says nothing of fast convergence."""
CONVERGING = vf.Cubic(C=PAPER_C, beta=1 - PAPER_BETA)
"""With it the window goes beyond W_max before the path is full."""
SACK_RENO = vf.Reno(recovery="sack")
ROUND_TRIP, THRESHOLD = 0.2, 1000.0
"""s, and packets at which slow start is left: far below what the path holds."""
SMALL, NEAR = vf.mbps(10), 0.02
"""packets/s and s: a path on which standard TCP grows faster than the cubic."""
LATER = 5
"""The tooth that is looked at: before the first loss slow start's end has carried the window
beyond what the path holds, and the first W_max are too large."""
SEEDS = (1, 2, 3, 4, 5, 6, 7, 8)
FAIR_SECONDS, FAIR_WARMUP = 300.0, 100.0


class Windows(NamedTuple):
    """A window over time."""

    times: np.ndarray
    cwnd: np.ndarray
    queue: np.ndarray
    dropped: np.ndarray

    def losses(self) -> np.ndarray:
        """The last samples before the window falls."""
        return np.flatnonzero(self.cwnd[1:] < 0.95 * self.cwnd[:-1])


def kept(run: xr.Dataset) -> Windows:
    """What is kept of a run of one flow."""
    of = run.isel(flow_class=0)
    queue = run["queue"].isel(link=0).values
    return Windows(run["time"].values, of["cwnd"].values, queue, of["dropped"].values)


def one_flow(
    law: CongestionControl, capacity: float, rtt: float, buffer: float, ssthresh: float
) -> vf.Network:
    """A path with one flow."""
    flows = vf.Flows(1, law, base_rtt=rtt, initial_ssthresh=ssthresh)
    return vf.Network(vf.Link(capacity, buffer), {"flow": flows})


def sessions(law: CongestionControl) -> vf.Network:
    """Two sessions near and two far away over the paper's link."""
    flows = {
        name: vf.Flows(2, law, base_rtt=rtt, start=vf.UniformStart(5.0), send_overhead=0.0)
        for name, rtt in (("near", 0.1), ("far", 0.4))
    }
    return vf.Network(vf.Link(CAPACITY, NETEM_LIMIT), flows)


def jobs() -> Mapping[str, Job]:
    """Runs of one flow, and of four."""

    def alone(until: float, *path: float, law: CongestionControl = AS_PRINTED) -> Job:
        return Job(one_flow(law, *path), until, keep=kept, samples=1 + round(until / 0.02))

    fair = {
        name: Job(sessions(law), FAIR_SECONDS, metrics.jain_index, FAIR_WARMUP, seeds=SEEDS)
        for name, law in (("fair_cubic", AS_PRINTED), ("fair_reno", SACK_RENO))
    }
    return fair | {
        "long": alone(120, CAPACITY, ROUND_TRIP, NETEM_LIMIT, THRESHOLD),
        "longer": alone(240, CAPACITY / 2, 2 * ROUND_TRIP, NETEM_LIMIT, THRESHOLD),
        "beyond": alone(240, CAPACITY, ROUND_TRIP, NETEM_LIMIT, THRESHOLD, law=CONVERGING),
        "near": alone(30, SMALL, NEAR, 17, 20),
        "start_cubic": alone(10, CAPACITY, ROUND_TRIP, NETEM_LIMIT, 1e5),
        "start_reno": alone(10, CAPACITY, ROUND_TRIP, NETEM_LIMIT, 1e5, law=SACK_RENO),
    }


def tooth(run: Windows, place: int = LATER) -> Windows:
    """What lies between a loss and the next, with times from the first of them."""
    losses = run.losses()
    begin, end = losses[place] + 1, losses[place + 1] + 1
    return Windows(run.times[begin:end] - run.times[begin], *(a[begin:end] for a in run[1:]))


def thirds(cwnd: np.ndarray) -> list[float]:
    """Growth in three successive parts of a time, packets."""
    return np.diff(cwnd[np.linspace(0, len(cwnd) - 1, 4).astype(int)]).tolist()


def regions(run: Windows) -> dict[str, float | list[float]]:
    """How the window grows below and above W_max, and how near the formula it is."""
    losses, after = run.losses(), tooth(run)
    w_max = run.cwnd[losses[LATER]]
    plateau = float(plateau_time(w_max))
    below = after.times <= plateau
    away = np.abs(after.cwnd - cubic_window(after.times, w_max))[below] / w_max
    growing = after.cwnd[below & (after.cwnd > after.cwnd[0])]
    first = np.searchsorted(run.cwnd, THRESHOLD)
    reached = after.cwnd >= w_max - 1
    return {
        "concave": thirds(growing),
        "convex": thirds(run.cwnd[first : losses[0]]),
        "formula": float(away.max()),
        "plateau": float(after.times[np.argmax(reached)]) / plateau if reached.any() else 9.9,
    }


def turning_point(run: Windows) -> float:
    """The window at which growth is slowest, over the W_max that the loss before left.

    Looked for in the middle half of the longest time between two losses; W_max is 0.9 of the
    window at a loss, as fast convergence has it.
    """
    losses = run.losses()
    longest = int(np.argmax(np.diff(losses)))
    after = tooth(run, longest)
    w_max = run.cwnd[losses[longest]] * (2 - PAPER_BETA) / 2
    steps = round(1.0 / (after.times[1] - after.times[0]))
    quarter = len(after.cwnd) // 4
    middle = after.cwnd[quarter:-quarter]
    slowest = int(np.argmin(middle[steps:] - middle[:-steps])) + steps // 2
    return float(middle[slowest]) / float(w_max)


def friendly_growth(run: Windows) -> float:
    """Packets that a round trip adds where standard TCP would have more."""
    rtt = one_flow(AS_PRINTED, SMALL, NEAR, 17, 20).base_rtts("flow")[0] + run.queue / SMALL
    rises = np.diff(run.cwnd)
    usual = (run.times[:-1] > 5) & (rises > 0)
    return float(rises[usual].sum() / (np.diff(run.times)[usual] / rtt[:-1][usual]).sum())


def same_start(cubic: Windows, reno: Windows) -> float:
    """The largest difference of two windows up to the first loss, packets."""
    before = (cubic.dropped == 0) & (reno.dropped == 0)
    return float(np.abs(cubic.cwnd - reno.cwnd)[before].max())


def measure(results: Results) -> Evidence:
    """What the runs show."""
    runs = {name: results[name][0] for name in results}
    evidence = Evidence()
    found = regions(runs["long"]) | {
        "turning": turning_point(runs["beyond"]),
        "friendly": friendly_growth(runs["near"]),
        "same_start": same_start(runs["start_cubic"], runs["start_reno"]),
        "clock": tooth(runs["longer"]).times[-1] / tooth(runs["long"]).times[-1],
    }
    for name, value in found.items():
        evidence.note(PACKETS, f"section2_cubic.{name}", value)
    gain = np.subtract(results["fair_cubic"], results["fair_reno"])
    evidence.note_mean(PACKETS, "section2_cubic.fairer", gain.tolist())
    return evidence


SECTION_2_2 = [
    Experiment("section2_cubic", "Section 2.2: CUBIC's rules", measure, jobs, quick=True)
]
