"""What is kept of a run, and what can be asked of it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import xarray as xr

__all__ = ["RecordedRun", "jain_index", "rank_correlation", "recorded_run"]


class RecordedRun(NamedTuple):
    """A run with a class for each connection.

    Args:
        time: of the samples, s; (time,).
        delivered: packets of each connection so far; (time, connection).
        cwnd: windows, packets; (time, connection).
        queue: packets waiting; (time,).
        dropped: packets of each connection that were dropped in all; (connection,).
        arrived: packets that came to the bottleneck in all, dropped ones too.
        resent: packets sent again in all.
        timeouts: of all connections.
    """

    time: np.ndarray
    delivered: np.ndarray
    cwnd: np.ndarray
    queue: np.ndarray
    dropped: np.ndarray
    arrived: float
    resent: float
    timeouts: float

    def at(self, values: np.ndarray, time: float) -> np.ndarray:
        """Samples of (time, connection) at any time, linear between them."""
        return np.array([np.interp(time, self.time, column) for column in values.T])

    def acked(self, time: float) -> np.ndarray:
        """Packets of each connection up to a time; (connection,)."""
        return self.at(self.delivered, time)

    def rates(self, begin: float, end: float) -> np.ndarray:
        """Packets a second of each connection; (connection,)."""
        return (self.acked(end) - self.acked(begin)) / (end - begin)

    def within(self, begin: float, end: float) -> np.ndarray:
        """Which samples lie between two times."""
        return (self.time >= begin) & (self.time <= end)

    def mean_queue(self, begin: float, end: float) -> float:
        """Packets waiting, mean over time."""
        return float(self.queue[self.within(begin, end)].mean())

    def mean_windows(self, begin: float, end: float) -> np.ndarray:
        """Packets, mean over time; (connection,)."""
        return self.cwnd[self.within(begin, end)].mean(axis=0)

    def backlogs(self, trips: np.ndarray, begin: float, end: float) -> np.ndarray:
        """The paper's w - r d with whole packets of window, mean over time; (connection,).

        Args:
            trips: round trips with nothing in the queues, s; (connection,).
            begin: s.
            end: s.
        """
        windows = np.floor(self.cwnd[self.within(begin, end)]).mean(axis=0)
        return windows - self.rates(begin, end) * trips

    @property
    def drop_share(self) -> float:
        """The part of the arriving packets that was dropped."""
        return float(self.dropped.sum()) / self.arrived


def recorded_run(run: xr.Dataset) -> RecordedRun:
    """What is kept of a trajectory whose classes have one connection each."""
    last = run.isel(time=-1)
    of_link = {name: float(last[name].values[0]) for name in ("admitted", "lost")}
    return RecordedRun(
        time=run["time"].values,
        delivered=run["delivered"].values.astype(float),
        cwnd=run["cwnd"].values.astype(float),
        queue=run["queue"].values[:, 0].astype(float),
        dropped=last["dropped"].values.astype(float),
        arrived=of_link["admitted"] + of_link["lost"],
        resent=float(last["retransmitted"].sum()),
        timeouts=float(last["timeouts"].sum()),
    )


def jain_index(rates: np.ndarray) -> float:
    """(sum x)^2 / (n sum x^2): 1 where all have the same.

    >>> jain_index(np.array([1.0, 1.0])), jain_index(np.array([1.0, 0.0]))
    (1.0, 0.5)
    """
    return float(rates.sum() ** 2 / (rates.size * (rates**2).sum()))


def rank_correlation(rates: np.ndarray) -> float:
    """Spearman's correlation of values with their places: 1 where each is above the one before.

    >>> rank_correlation(np.array([1.0, 5.0, 9.0])), rank_correlation(np.array([3.0, 2.0, 1.0]))
    (1.0, -1.0)
    """
    ranks = np.argsort(np.argsort(rates))
    return round(float(np.corrcoef(np.arange(rates.size), ranks)[0, 1]), 12)
