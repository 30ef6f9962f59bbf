"""The path from Oak Ridge to Berkeley: 70 ms over an OC-12, one TCP flow and other traffic.

The page prints neither the buffer nor the host's rate. With standard TCP the RTT rises to 80 ms,
then to 90 ms before the loss. So the buffer is 20 ms at the line's rate; the queue grows by about
10 ms in an RTT of 70 ms, as from a host that sends 700 Mbit/s.
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
    "PACKET_BYTES",
    "ROUND_TRIP",
    "SEND_BUFFER",
    "STANDARD",
    "TCP",
    "UNLIMITED",
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

LINE_MBPS = 622.0
"""Capacity of the OC-12, Mbit/s."""
BACKGROUND_MBPS = 120.0
"""Rate of the UDP background traffic, Mbit/s."""
PACKET_BYTES = 1500
"""Size of a data packet, bytes."""
ACK_BYTES = 52
"""Size of an ACK with time stamps, bytes."""
SEGMENT_BYTES = 1448
"""Data in a packet with time stamps, bytes."""
LINE = vf.mbps(LINE_MBPS, PACKET_BYTES)
"""Capacity of the OC-12, packets/s."""
ROUND_TRIP = 0.07
"""Base round-trip time, s."""
BUFFER = round(0.020 * LINE)
"""Buffer of the path, packets: 20 ms at the line's rate."""
HOST_MBPS = 700.0
"""Rate of the host, Mbit/s (see the module)."""
TIMER_MARGIN = 0.2
"""Smallest difference of Linux's retransmission timeout and the round-trip time, s."""
SEND_BUFFER = 8 * 2**20
"""Send buffer, bytes."""
WINDOW = SEND_BUFFER // SEGMENT_BYTES
"""Window that the send buffer allows, packets."""
GAMMA = 200.0
"""Net100's gamma, packets."""
STANDARD = vf.Reno(recovery="sack")
"""Standard TCP of Linux 2.4: Reno with SACK, growing by ACKs."""
SAMPLE = 0.05
"""Smallest time between two samples, s."""
MOST_SAMPLES = 4001
"""Largest number of samples of a run."""
TCP, UDP = "tcp", "udp"
"""Names of the flow classes."""
UNLIMITED = 20_000
"""Window and buffer that never limit the flow, packets: five times the bandwidth-delay product."""


@dataclass(frozen=True)
class Flow:
    """Samples of the TCP flow; every array has the shape of `times`."""

    times: np.ndarray
    """Times of the samples, s; (time,)."""
    delivered: np.ndarray
    """Packets delivered since the start."""
    cwnd: np.ndarray
    """Window, packets; at most what the send buffer allows."""
    rtt: np.ndarray
    """Base round-trip time plus the current queueing delay, s."""
    dropped: np.ndarray
    """Dropped packets so far."""
    below: np.ndarray
    """Round trips with Vegas below alpha so far."""
    unchanged: np.ndarray
    """Round trips with Vegas between alpha and beta so far."""
    above: np.ndarray
    """Round trips with Vegas above beta so far."""
    ended: np.ndarray
    """Slow starts that gamma ended so far."""
    difference: np.ndarray
    """Vegasdiff, packets."""

    def mbps(self, begin: float = 0.0, end: float | None = None) -> float:
        """Return the throughput between two times (s), Mbit/s; `end` None: the run's end."""
        end = float(self.times[-1]) if end is None else end
        low, high = np.interp([begin, end], self.times, self.delivered)
        return float(high - low) / (end - begin) * 8e-6 * PACKET_BYTES

    def first_loss(self) -> int:
        """Return the index of the first sample after a loss; the last where there is none."""
        lost = self.dropped > 0
        return int(np.argmax(lost)) if lost.any() else len(lost) - 1

    def loss_events(self) -> int:
        """Return the number of losses; losses within a second count once."""
        lost = self.times[1:][np.diff(self.dropped) > 0]
        return int((np.diff(lost, prepend=-np.inf) > 1.0).sum())

    def decisions(self, begin: float = 0.0) -> float:
        """Return the round trips after a time (s) in which Vegas's rule decided."""
        total = self.below + self.unchanged + self.above
        return float(total[-1] - np.interp(begin, self.times, total))


def flow_of(run: xr.Dataset, capacity: float) -> Flow:
    """Return the record of a run.

    Args:
        run: trajectory with a class `tcp` over one link.
        capacity: capacity of the link, packets/s.
    """
    flow = run.sel(flow_class=TCP)
    zeros = np.zeros(len(run["time"]))

    def counted(name: str) -> np.ndarray:
        return flow[name].values if name in flow else zeros

    return Flow(
        times=run["time"].values,
        delivered=flow["delivered"].values,
        cwnd=np.minimum(flow["cwnd"].values, WINDOW),
        rtt=ROUND_TRIP + run["queue"].isel(link=0).values / capacity,
        dropped=flow["dropped"].values,
        below=counted("vegas_below_alpha"),
        unchanged=counted("vegas_unchanged"),
        above=counted("vegas_above_beta"),
        ended=counted("vegas_above_gamma"),
        difference=counted("vegas_diff"),
    )


def product(rate: float = LINE) -> float:
    """Return the bandwidth-delay product at a rate (packets/s), packets."""
    return rate * ROUND_TRIP


def vegas(alpha: float, beta: float, gamma: float = GAMMA) -> vf.Vegas:
    """Return Net100's Vegas: that of Linux with these thresholds (packets)."""
    return vf.Vegas(alpha=alpha, beta=beta, gamma=gamma, dialect="linux")


def one_of(law: CongestionControl, window: float = WINDOW) -> vf.Flows:
    """Return one flow between Linux hosts of 2004; slow start ends where buffers limit the window.

    What they do is given here: the host `linux` is the kernel of twenty years later.
    """
    return vf.Flows(
        1,
        law,
        host="textbook",
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
    """Return a test of the flow `tcp`, with other flows, over one link."""
    network = vf.Network(vf.Link(rate, buffer), flows, PACKET_BYTES, ACK_BYTES)
    samples = min(1 + round(until / SAMPLE), MOST_SAMPLES)
    return Job(network, until, keep=partial(flow_of, capacity=rate), samples=samples)


def alone(law: CongestionControl, until: float, rate: float = LINE, buffer: int = BUFFER) -> Job:
    """Return a test of one flow."""
    return job_of({TCP: one_of(law)}, until, rate, buffer)


def unlimited(law: CongestionControl, until: float) -> Job:
    """Return a test of one flow that neither the send buffer nor the path's buffer limits."""
    return job_of({TCP: one_of(law, UNLIMITED)}, until, buffer=UNLIMITED)


def with_background(law: CongestionControl, until: float) -> Job:
    """Return a test of one flow with 120 Mbit/s of UDP background traffic."""
    constant = vf.Cbr(vf.mbps(BACKGROUND_MBPS, PACKET_BYTES))
    udp = vf.Flows(1, vf.Unresponsive(), base_rtt=ROUND_TRIP, traffic=constant)
    return job_of({TCP: one_of(law), UDP: udp}, until)
