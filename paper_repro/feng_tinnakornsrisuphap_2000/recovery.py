"""Section 6: the time that Reno takes from half a window of 50 Mbit to the full window."""

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
"""Full window of section 6, Mbit."""
RATE = WINDOW_MBIT / GRID_RTT
"""Capacity at which the full window just fills the line, Mbit/s; a larger window loses a packet."""
WINDOW = WINDOW_MBIT * 1e6 / PACKET_BITS
"""Full window, packets."""
PLAIN = "packets, plain Reno"
"""Source of the evidence from Reno without NewReno."""
UNTIL = {PACKETS: 470.0, PLAIN: 570.0}
"""Simulated time, s; the window is full after about 240 s for the first time."""
STEP = 0.1
"""Time between two samples, s."""


@dataclass(frozen=True)
class Cycle:
    """Recovery of the window from a cut to the full size."""

    seconds: float
    """Duration, s."""
    utilisation: float
    """Fraction of the capacity that is used meanwhile."""


def keep(run: xr.Dataset) -> Cycle:
    """Return the first cycle of the saw-tooth."""
    cwnd = run["cwnd"].values[:, 0]
    whole = cwnd >= WINDOW
    cut = int(np.argmax(whole)) + int(np.argmin(whole[np.argmax(whole) :]))
    back = cut + int(np.argmax(whole[cut:]))
    times, delivered = run["time"].values, run["delivered"].values[:, 0]
    seconds = float(times[back] - times[cut])
    rate = float(delivered[back] - delivered[cut]) / seconds
    return Cycle(seconds, rate / float(run["capacity"][0]))


def jobs() -> Mapping[str, Job]:
    """Return the runs of one flow over a line with a buffer of ten packets.

    The flow loses two packets in a row before it notices. The paper expects one halving, as NewReno
    makes; plain Reno waits for a timeout and halves twice. The host's link is hardly faster than
    the line, so that slow start fills no queue.
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
        name: Job(one, UNTIL[name], keep=keep, samples=round(UNTIL[name] / STEP) + 1)
        for name, one in ((PACKETS, network), (PLAIN, plain))
    }


def measure(results: Results) -> Evidence:
    """Record the paper's calculation, and the simulated saw-tooth."""
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
