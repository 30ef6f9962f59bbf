"""Arrays of one flow in a run, and the measures that the paper's figures and text need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import xarray as xr

from paper_repro.experiment import Job
from paper_repro.marrone_2013.environment import BOTTLENECK, CAPACITY, LINK_MBPS, Environment
from vegasfluid.congestion.base import CongestionControl

__all__ = ["FIVE", "RecordedFlow", "each_law", "job", "mean", "recorded_flow"]

FIVE = (1, 2, 3, 4, 5)
"""Seeds of a test: "each test was run five or more times"."""

SAMPLE = 0.05
"""Time between two samples of a run, s."""
LONG_SAMPLE = 0.5
"""Time between two samples of a long run, s."""
LONG = 500.0
"""Simulated time above which a run is long, s."""
FALL = 0.9
"""Fraction of the previous sample below which a window has responded to a loss."""
TOGETHER = 3.0
"""Time within which falls of the window belong to the same loss, s."""
PROBED = 3 / 4
"""Smallest threshold that tcp_probe prints, as a fraction of the window
(`tcp_current_ssthresh`)."""


@dataclass(frozen=True)
class RecordedFlow:
    """Samples of one flow; every array has the shape of `times`."""

    times: np.ndarray
    """Times of the samples, s; (time,)."""
    delivered: np.ndarray
    """Packets delivered since the start."""
    cwnd: np.ndarray
    """Window, packets; as in Linux, at most what the stations' buffers allow."""
    ssthresh: np.ndarray
    """Threshold of slow start, packets."""
    queue: np.ndarray
    """Queue of the routers' link, packets."""
    decided: np.ndarray
    """Round trips in which Vegas's rule decided since the start, without slow start."""

    @property
    def until(self) -> float:
        """Duration of the run, s."""
        return float(self.times[-1])

    def throughput(self, begin: float = 0.0, end: float | None = None) -> float:
        """Return the throughput between two times (s), Mbit/s; `end` None: the run's end."""
        end = self.until if end is None else end
        low, high = np.interp([begin, end], self.times, self.delivered)
        return LINK_MBPS * float(high - low) / (end - begin) / CAPACITY

    def rates(self, width: float = 5.0) -> tuple[np.ndarray, np.ndarray]:
        """Return the ends of time slots of a width (s), and the throughput in them, Mbit/s."""
        edges = np.arange(0.0, self.until + width / 2, width)
        packets = np.diff(np.interp(edges, self.times, self.delivered))
        return edges[1:], LINK_MBPS * packets / width / CAPACITY

    def lowest(self, after: float, width: float) -> float:
        """Return the rate of the slowest slot (width in s) that starts after a time (s), Mbit/s."""
        ends, rates = self.rates(width)
        return float(rates[ends > after + width].min())

    def reaches(self, rate: float) -> float:
        """Return the end of the first slot with at least a rate (Mbit/s), s; else the run's end."""
        ends, rates = self.rates()
        fast = rates >= rate
        return float(ends[np.argmax(fast)]) if fast.any() else self.until

    def largest_window_at(self) -> float:
        """Return when the window first is within 1 % of its largest, s."""
        return float(self.times[np.argmax(self.cwnd >= 0.99 * self.cwnd.max())])

    def half_way(self) -> float:
        """Return the end of the first second with half the link's capacity delivered, s."""
        ends, rates = self.rates(1.0)
        return float(ends[np.argmax(rates >= LINK_MBPS / 2)])

    def losses(self, after: float = 0.0) -> np.ndarray:
        """Return the indices of the last samples before the window falls, after a time (s)."""
        falls = np.flatnonzero(self.cwnd[1:] < FALL * self.cwnd[:-1])
        separate = np.diff(self.times[falls], prepend=-TOGETHER) >= TOGETHER
        return falls[separate & (self.times[falls] > after)]

    def left(self, after: float = 0.0) -> float:
        """Return the median fraction of the window that losses leave; NaN without a loss."""
        steps = 1 + int(TOGETHER / (self.times[1] - self.times[0]))
        fractions = [self.cwnd[i : i + steps].min() / self.cwnd[i] for i in self.losses(after)]
        return float(np.median(fractions)) if fractions else float("nan")

    def cycle(self, after: float = 0.0) -> float:
        """Return the mean time between losses, s; the period's length with fewer than two."""
        gaps = np.diff(self.times[self.losses(after)])
        return float(gaps.mean()) if gaps.size else self.until - after

    def probed(self) -> np.ndarray:
        """Return the threshold as tcp_probe prints it, packets."""
        return np.maximum(self.ssthresh, PROBED * self.cwnd)


def recorded_flow(run: xr.Dataset, window: int) -> RecordedFlow:
    """Return the record of a run of one flow whose window is at most `window` packets."""
    flow = run.isel(flow_class=0)
    rules = ("vegas_unchanged", "vegas_above_beta", "vegas_below_alpha")
    decided = (
        sum(flow[name].values for name in rules) if rules[0] in flow else 0.0 * flow["cwnd"].values
    )
    return RecordedFlow(
        times=run["time"].values,
        delivered=flow["delivered"].values,
        cwnd=np.minimum(flow["cwnd"].values, window),
        ssthresh=flow["ssthresh"].values,
        queue=run["queue"].sel(link=BOTTLENECK).values,
        decided=np.asarray(decided),
    )


def job(
    environment: Environment,
    name: str,
    until: float,
    *,
    seeds: Sequence[int] = FIVE,
    law: CongestionControl | None = None,
) -> Job:
    """Return a test of one flow over `until` seconds."""
    return Job(
        environment.network(name, law),
        until,
        keep=partial(recorded_flow, window=environment.window),
        seeds=seeds,
        samples=1 + round(until / (SAMPLE if until <= LONG else LONG_SAMPLE)),
    )


def each_law(
    environment: Environment,
    until: float,
    *,
    names: Sequence[str] = ("reno", "cubic", "vegas"),
    seeds: Sequence[int] = FIVE,
    prefix: str = "",
) -> dict[str, Job]:
    """Return the same test of several congestion controls; a job's name is prefix plus theirs."""
    return {prefix + name: job(environment, name, until, seeds=seeds) for name in names}


def mean(records: Sequence[RecordedFlow], begin: float = 0.0, end: float | None = None) -> float:
    """Return the mean throughput of several runs, Mbit/s."""
    return float(np.mean([record.throughput(begin, end) for record in records]))
