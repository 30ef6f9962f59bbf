"""From Oak Ridge to Berkeley as a network: 70 ms over an OC-12, one flow and what is beside it.

The buffer of the path is not printed, nor is what the host can send. With standard TCP the round
trip goes to 80 ms, then to 90 ms before the loss: so 20 ms at the line's rate can wait, and in a
round trip of 70 ms the queue grows by some 10 ms, as from a host that sends 700 Mbit/s.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
import xarray as xr

import vegasfluid as vf
from paper_repro.experiment import Job
from vegasfluid.congestion.base import CongestionControl

__all__ = [
    "BUFFER",
    "GAMMA",
    "LINE",
    "LINE_MBPS",
    "ROUND_TRIP",
    "SEND_BUFFER",
    "STANDARD",
    "TCP",
    "WINDOW",
    "Flow",
    "alone",
    "flow_of",
    "one_of",
    "product",
    "unlimited",
    "vegas",
    "with_background",
]

LINE_MBPS, BACKGROUND_MBPS = 622.0, 120.0
PACKET_BYTES, ACK_BYTES, SEGMENT_BYTES = 1500, 52, 1448
LINE = vf.mbps(LINE_MBPS, PACKET_BYTES)
ROUND_TRIP = 0.07
BUFFER = round(0.020 * LINE)
"""Packets: 20 ms of the line."""
HOST_MBPS = 700.0
TIMER_MARGIN = 0.2
"""s: Linux lets its timer be so much longer than the round trip at least."""
SEND_BUFFER = 8 * 2**20
"""Bytes."""
WINDOW = SEND_BUFFER // SEGMENT_BYTES
GAMMA = 200.0
STANDARD = vf.Reno(recovery="sack")
"""Linux 2.4: Reno with selective reports, growing by ACKs."""
SAMPLE = 0.05
"""s between two samples; more where a run is long."""
MOST_SAMPLES = 4001
TCP, UDP = "tcp", "udp"
ENDLESS = 20_000
"""Packets: five times what the path holds."""


@dataclass(frozen=True)
class Flow:
    """What the TCP flow did, over the sample times."""

    times: np.ndarray
    """s."""
    delivered: np.ndarray
    """Packets since the start."""
    cwnd: np.ndarray
    """Packets; no more than the send buffer holds."""
    rtt: np.ndarray
    """s: propagation, and what a packet waits at this time."""
    dropped: np.ndarray
    below: np.ndarray
    """Round trips with Vegas below alpha, since the start; then unchanged, and above beta."""
    unchanged: np.ndarray
    above: np.ndarray
    ended: np.ndarray
    """Slow starts that gamma ended."""
    difference: np.ndarray
    """Vegasdiff, packets."""

    def mbps(self, begin: float = 0.0, end: float | None = None) -> float:
        """Throughput from a time to another, the run's end where none is given, Mbit/s."""
        end = float(self.times[-1]) if end is None else end
        low, high = np.interp([begin, end], self.times, self.delivered)
        return float(high - low) / (end - begin) * 8e-6 * PACKET_BYTES

    def first_loss(self) -> int:
        """The first sample that knows of a loss; the last where there is none."""
        lost = self.dropped > 0
        return int(np.argmax(lost)) if lost.any() else len(lost) - 1

    def loss_events(self) -> int:
        """Times at which packets were lost; what is lost within a second is one."""
        lost = self.times[1:][np.diff(self.dropped) > 0]
        return int((np.diff(lost, prepend=-np.inf) > 1.0).sum())

    def decisions(self, begin: float = 0.0) -> float:
        """Round trips after a time (s) in which Vegas's rule chose."""
        total = self.below + self.unchanged + self.above
        return float(total[-1] - np.interp(begin, self.times, total))


def flow_of(run: xr.Dataset, capacity: float) -> Flow:
    """What is kept of a run.

    Args:
        run: with a class `tcp` over one link.
        capacity: of the link, packets/s.
    """
    of = run.sel(flow_class=TCP)
    nothing = np.zeros(len(run["time"]))

    def counted(name: str) -> np.ndarray:
        return of[name].values if name in of else nothing

    return Flow(
        times=run["time"].values,
        delivered=of["delivered"].values,
        cwnd=np.minimum(of["cwnd"].values, WINDOW),
        rtt=ROUND_TRIP + run["queue"].isel(link=0).values / capacity,
        dropped=of["dropped"].values,
        below=counted("vegas_below_alpha"),
        unchanged=counted("vegas_unchanged"),
        above=counted("vegas_above_beta"),
        ended=counted("vegas_above_gamma"),
        difference=counted("vegas_diff"),
    )


def product(rate: float = LINE) -> float:
    """The bandwidth-delay product at a rate (packets/s), packets."""
    return rate * ROUND_TRIP


def vegas(alpha: float, beta: float, gamma: float = GAMMA) -> vf.Vegas:
    """Net100's Vegas: that of Linux, with these thresholds."""
    return vf.Vegas(alpha=alpha, beta=beta, gamma=gamma, dialect="linux")


def one_of(law: CongestionControl, window: float = WINDOW) -> vf.Flows:
    """One flow from a Linux host to another; slow start ends where the buffers do."""
    return vf.Flows(
        1,
        law,
        base_rtt=ROUND_TRIP,
        access=vf.mbps(HOST_MBPS, PACKET_BYTES),
        initial_window=2,
        initial_ssthresh=window,
        max_window=window,
        delayed_ack=vf.ms(40),
        quick_acks=16,
        min_rto=ROUND_TRIP + TIMER_MARGIN,
        send_overhead=0.0,
    )


def job_of(
    flows: Mapping[str, vf.Flows], until: float, rate: float = LINE, buffer: int = BUFFER
) -> Job:
    """A test of the flow `tcp` over a link, with others beside it."""
    network = vf.Network(vf.Link(rate, buffer), flows, PACKET_BYTES, ACK_BYTES)
    samples = min(1 + round(until / SAMPLE), MOST_SAMPLES)
    return Job(network, until, keep=partial(flow_of, capacity=rate), samples=samples)


def alone(law: CongestionControl, until: float, rate: float = LINE, buffer: int = BUFFER) -> Job:
    """A test of one flow."""
    return job_of({TCP: one_of(law)}, until, rate, buffer)


def unlimited(law: CongestionControl, until: float) -> Job:
    """A test of one flow that neither the send buffer nor the path's buffer limits."""
    return job_of({TCP: one_of(law, ENDLESS)}, until, buffer=ENDLESS)


def with_background(law: CongestionControl, until: float) -> Job:
    """A test of one flow beside 120 Mbit/s of UDP."""
    constant = vf.Cbr(vf.mbps(BACKGROUND_MBPS, PACKET_BYTES))
    udp = vf.Flows(1, vf.Unresponsive(), base_rtt=ROUND_TRIP, traffic=constant)
    return job_of({TCP: one_of(law), UDP: udp}, until)
