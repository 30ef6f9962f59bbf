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
WINDOW = WINDOW_MBIT * 1e6 / PACKET_BITS
PLAIN = "packets, plain Reno"
UNTIL = {PACKETS: 470.0, PLAIN: 570.0}
"""s: the window is whole after some 240 s for the first time."""
STEP = 0.1
"""s between two samples."""


@dataclass(frozen=True)
class Cycle:
    """From a cut of the window until it is whole again."""

    seconds: float
    utilisation: float


def keep(run: xr.Dataset) -> Cycle:
    """The first cycle of the saw-tooth."""
    cwnd = run["cwnd"].values[:, 0]
    whole = cwnd >= WINDOW
    cut = int(np.argmax(whole)) + int(np.argmin(whole[np.argmax(whole) :]))
    back = cut + int(np.argmax(whole[cut:]))
    times, delivered = run["time"].values, run["delivered"].values[:, 0]
    seconds = float(times[back] - times[cut])
    rate = float(delivered[back] - delivered[cut]) / seconds
    return Cycle(seconds, rate / float(run["capacity"][0]))


def jobs() -> Mapping[str, Job]:
    """One flow over the line, with hardly a buffer.

    Two packets are lost in a row before the sender knows of it. The paper reckons with one halving,
    which is what NewReno makes of them; plain Reno waits for its timer, and halves twice. The
    host's link is hardly faster than the line, so that slow start, which is not asked about, fills
    no queue.
    """
    flows = vf.Flows(
        1,
        vf.Reno(recovery="newreno"),
        base_rtt=GRID_RTT,
        access=vf.mbps(1.005 * RATE),
        initial_ssthresh=1800,
    )
    network = vf.Network(vf.Link(vf.mbps(RATE), buffer=10), {"reno": flows})
    plain = network.with_law("reno", vf.Reno())
    return {
        name: Job(of, UNTIL[name], keep=keep, samples=round(UNTIL[name] / STEP) + 1)
        for name, of in ((PACKETS, network), (PLAIN, plain))
    }


def measure(results: Results) -> Evidence:
    """The paper's sum, and the simulated saw-tooth."""
    trips = math.ceil((WINDOW_MBIT - WINDOW_MBIT / 2) * 1e6 / PACKET_BITS)
    seconds = round(trips * GRID_RTT, 1)
    evidence = Evidence()
    evidence.note(ARITHMETIC, f"{NAME}.round_trips", trips)
    evidence.note(ARITHMETIC, f"{NAME}.seconds", seconds)
    evidence.note(ARITHMETIC, f"{NAME}.minutes", seconds / 60)
    for source in (PACKETS, PLAIN):
        cycle: Cycle = results[source][0]
        evidence.note(source, f"{NAME}.simulated_seconds", cycle.seconds)
        evidence.note(source, f"{NAME}.utilisation", cycle.utilisation)
    return evidence


RECOVERY = Experiment(
    NAME, "Section 6: Reno's way back to a window of 50 Mb.", measure, jobs, quick=True
)
