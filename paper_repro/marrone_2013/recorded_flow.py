"""What one flow did in a run, and what the paper's figures and sentences say of it."""

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
"""Seeds: "each test was run five or more times"."""

SAMPLE, LONG_SAMPLE, LONG = 0.05, 0.5, 500.0
"""s between two samples of a run, and of one that is longer than the third."""
FALL = 0.9
"""A window that keeps less than this share from one sample to the next has met a loss."""
TOGETHER = 3.0
"""s: falls that follow so soon belong to the same loss."""
PROBED = 3 / 4
"""Of the window: what tcp_probe prints at least as the threshold (`tcp_current_ssthresh`)."""


@dataclass(frozen=True)
class RecordedFlow:
    """One flow, sampled; every array is over `times`."""

    times: np.ndarray
    """s."""
    delivered: np.ndarray
    """Packets since the start."""
    cwnd: np.ndarray
    """Packets; no more than the stations' buffers allow, as Linux has it."""
    ssthresh: np.ndarray
    queue: np.ndarray
    """Packets that wait for the routers' link."""
    decided: np.ndarray
    """Round trips in which Vegas's rule chose, since the start; slow start is left out."""

    @property
    def until(self) -> float:
        """The length of the run, s."""
        return float(self.times[-1])

    def throughput(self, begin: float = 0.0, end: float | None = None) -> float:
        """Mbit/s from one time to another, the run's end where none is given."""
        end = self.until if end is None else end
        low, high = np.interp([begin, end], self.times, self.delivered)
        return LINK_MBPS * float(high - low) / (end - begin) / CAPACITY

    def rates(self, width: float = 5.0) -> tuple[np.ndarray, np.ndarray]:
        """Ends of time slots of a width (s), and Mbit/s in them."""
        edges = np.arange(0.0, self.until + width / 2, width)
        packets = np.diff(np.interp(edges, self.times, self.delivered))
        return edges[1:], LINK_MBPS * packets / width / CAPACITY

    def lowest(self, after: float, width: float) -> float:
        """Mbit/s in the slowest slot of a width (s) that begins after a time (s)."""
        ends, rates = self.rates(width)
        return float(rates[ends > after + width].min())

    def reaches(self, rate: float) -> float:
        """The end of the first slot with so many Mbit/s, s; of the run where there is none."""
        ends, rates = self.rates()
        fast = rates >= rate
        return float(ends[np.argmax(fast)]) if fast.any() else self.until

    def half_way(self) -> float:
        """When half of what the link sends in a second was delivered in one, s."""
        ends, rates = self.rates(1.0)
        return float(ends[np.argmax(rates >= LINK_MBPS / 2)])

    def losses(self, after: float = 0.0) -> np.ndarray:
        """The last samples before the window falls, later than `after` (s)."""
        falls = np.flatnonzero(self.cwnd[1:] < FALL * self.cwnd[:-1])
        apart = np.diff(self.times[falls], prepend=-TOGETHER) >= TOGETHER
        return falls[apart & (self.times[falls] > after)]

    def left(self, after: float = 0.0) -> float:
        """The share of the window that a loss leaves, the middle of all; NaN without a loss."""
        steps = 1 + int(TOGETHER / (self.times[1] - self.times[0]))
        shares = [self.cwnd[i : i + steps].min() / self.cwnd[i] for i in self.losses(after)]
        return float(np.median(shares)) if shares else float("nan")

    def cycle(self, after: float = 0.0) -> float:
        """Mean time between two losses, s; the time looked at where there are not two."""
        gaps = np.diff(self.times[self.losses(after)])
        return float(gaps.mean()) if gaps.size else self.until - after

    def probed(self) -> np.ndarray:
        """The threshold as tcp_probe prints it, packets."""
        return np.maximum(self.ssthresh, PROBED * self.cwnd)


def recorded_flow(run: xr.Dataset, window: int) -> RecordedFlow:
    """What is kept of a run of one flow whose window is at most so many packets."""
    of = run.isel(flow_class=0)
    rules = ("vegas_unchanged", "vegas_above_beta", "vegas_below_alpha")
    decided = sum(of[name].values for name in rules) if rules[0] in of else 0.0 * of["cwnd"].values
    return RecordedFlow(
        times=run["time"].values,
        delivered=of["delivered"].values,
        cwnd=np.minimum(of["cwnd"].values, window),
        ssthresh=of["ssthresh"].values,
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
    """One test: a flow of a law, for some seconds."""
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
    """The same test of several laws; a job's name is the prefix and the law's name."""
    return {prefix + name: job(environment, name, until, seeds=seeds) for name in names}


def mean(records: Sequence[RecordedFlow], begin: float = 0.0, end: float | None = None) -> float:
    """The mean throughput of several runs, Mbit/s."""
    return float(np.mean([record.throughput(begin, end) for record in records]))
