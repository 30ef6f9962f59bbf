"""Section 6: how long Reno takes from half a window of 50 Mb back to the whole."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import xarray as xr

import vegasfluid as vf
from paper_repro.experiment import ARITHMETIC, PACKETS, Evidence, Experiment, Job, Results
from paper_repro.feng_tinnakornsrisuphap_2000.arithmetic import GRID_RTT, PACKET_BITS

__all__ = ["RECOVERY", "Cycle"]

NAME = "recovery"
WINDOW_MBIT = 50.0
RATE = WINDOW_MBIT / GRID_RTT
"""Mb/s of a line that holds this window, so that Reno loses a packet just above it."""
UNTIL, SAMPLES = 480.0, 4801


@dataclass(frozen=True)
class Cycle:
    """From one cut of the window to the next."""

    seconds: float
    utilisation: float


def keep(run: xr.Dataset) -> Cycle:
    """The first whole cycle of the saw-tooth."""
    cwnd = run["cwnd"].values[:, 0]
    cuts = np.flatnonzero(cwnd[1:] < 0.7 * cwnd[:-1]) + 1
    first, second = cuts[:2]
    times, delivered = run["time"].values, run["delivered"].values[:, 0]
    seconds = float(times[second] - times[first])
    sent = float(delivered[second] - delivered[first])
    return Cycle(seconds, sent / seconds / float(run["capacity"][0]))


def jobs() -> Mapping[str, Job]:
    """One flow over the line, with hardly a buffer.

    Its host's link is hardly faster than the line, so that slow start, which is not asked about,
    fills no queue.
    """
    flows = vf.Flows(
        1, vf.Reno(), base_rtt=GRID_RTT, access=vf.mbps(1.02 * RATE), initial_ssthresh=2000
    )
    network = vf.Network(vf.Link(vf.mbps(RATE), buffer=10), {"reno": flows})
    return {"cycle": Job(network, UNTIL, keep=keep, samples=SAMPLES)}


def measure(results: Results) -> Evidence:
    """The paper's sum, and the simulated saw-tooth."""
    cycle: Cycle = results["cycle"][0]
    trips = math.ceil((WINDOW_MBIT - WINDOW_MBIT / 2) * 1e6 / PACKET_BITS)
    seconds = round(trips * GRID_RTT, 1)
    evidence = Evidence()
    evidence.note(ARITHMETIC, f"{NAME}.round_trips", trips)
    evidence.note(ARITHMETIC, f"{NAME}.seconds", seconds)
    evidence.note(ARITHMETIC, f"{NAME}.minutes", seconds / 60)
    evidence.note(PACKETS, f"{NAME}.round_trips", cycle.seconds / GRID_RTT)
    evidence.note(PACKETS, f"{NAME}.seconds", cycle.seconds)
    evidence.note(PACKETS, f"{NAME}.simulated_seconds", cycle.seconds)
    evidence.note(PACKETS, f"{NAME}.utilisation", cycle.utilisation)
    return evidence


RECOVERY = Experiment(
    NAME, "Section 6: Reno's way back to a window of 50 Mb.", measure, jobs, quick=True
)
