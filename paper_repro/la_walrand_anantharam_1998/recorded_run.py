"""The arrays kept of a run, and the measures computed from them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import xarray as xr

__all__ = ["RecordedRun", "jain_index", "rank_correlation", "recorded_run"]


class RecordedRun(NamedTuple):
    """A run with a flow class for each connection.

    Args:
        time: times of the samples, s; (time,).
        delivered: packets of each connection delivered so far; (time, connection).
        cwnd: windows, packets; (time, connection).
        queue: waiting packets; (time,).
        dropped: dropped packets of each connection in the whole run; (connection,).
        arrived: packets that arrived at the bottleneck in the whole run, with dropped ones.
        resent: retransmissions in the whole run.
        timeouts: timeouts of all connections.
    """

    time: np.ndarray
    delivered: np.ndarray
    cwnd: np.ndarray
    queue: np.ndarray
    dropped: np.ndarray
    """Packets of each connection that were dropped in the whole run; (connection,)."""
    dropped_so_far: np.ndarray
    """Packets of all connections that had been dropped; (time,)."""
    arrived: float
    resent: float
    timeouts: float

    def at(self, values: np.ndarray, time: float) -> np.ndarray:
        """Return samples of (time, connection), interpolated at a time (s); (connection,)."""
        return np.array([np.interp(time, self.time, column) for column in values.T])

    def acked(self, time: float) -> np.ndarray:
        """Return the packets of each connection delivered up to a time (s); (connection,)."""
        return self.at(self.delivered, time)

    def rates(self, begin: float, end: float) -> np.ndarray:
        """Return the rate of each connection, packets/s; (connection,)."""
        return (self.acked(end) - self.acked(begin)) / (end - begin)

    def within(self, begin: float, end: float) -> np.ndarray:
        """Return which samples lie between two times (s); (time,)."""
        return (self.time >= begin) & (self.time <= end)

    def mean_queue(self, begin: float, end: float) -> float:
        """Return the mean of the waiting packets between two times (s)."""
        return float(self.queue[self.within(begin, end)].mean())

    def mean_windows(self, begin: float, end: float) -> np.ndarray:
        """Return mean windows between two times (s), packets; (connection,)."""
        return self.cwnd[self.within(begin, end)].mean(axis=0)

    def backlogs(self, trips: np.ndarray, begin: float, end: float) -> np.ndarray:
        """Return the paper's w - r d, with windows rounded down, mean over time; (connection,).

        Args:
            trips: round-trip times with empty queues, s; (connection,).
            begin: start of the period, s.
            end: end of the period, s.
        """
        windows = np.floor(self.cwnd[self.within(begin, end)]).mean(axis=0)
        return windows - self.rates(begin, end) * trips

    @property
    def drop_share(self) -> float:
        """Return the fraction of arriving packets that were dropped."""
        return float(self.dropped.sum()) / self.arrived


def recorded_run(run: xr.Dataset) -> RecordedRun:
    """Return the record of a trajectory whose classes have one connection each."""
    last = run.isel(time=-1)
    packets = {name: float(last[name].values[0]) for name in ("admitted", "lost")}
    return RecordedRun(
        time=run["time"].values,
        delivered=run["delivered"].values.astype(float),
        cwnd=run["cwnd"].values.astype(float),
        queue=run["queue"].values[:, 0].astype(float),
        dropped=last["dropped"].values.astype(float),
        dropped_so_far=run["dropped"].values.astype(float).sum(axis=1),
        arrived=packets["admitted"] + packets["lost"],
        resent=float(last["retransmitted"].sum()),
        timeouts=float(last["timeouts"].sum()),
    )


def jain_index(rates: np.ndarray) -> float:
    """Return (sum x)^2 / (n sum x^2), which is 1 where all rates are equal.

    >>> jain_index(np.array([1.0, 1.0])), jain_index(np.array([1.0, 0.0]))
    (1.0, 0.5)
    """
    return float(rates.sum() ** 2 / (rates.size * (rates**2).sum()))


def rank_correlation(rates: np.ndarray) -> float:
    """Return Spearman's correlation of values with their indices; 1 where all ascend.

    >>> rank_correlation(np.array([1.0, 5.0, 9.0])), rank_correlation(np.array([3.0, 2.0, 1.0]))
    (1.0, -1.0)
    """
    ranks = np.argsort(np.argsort(rates))
    return round(float(np.corrcoef(np.arange(rates.size), ranks)[0, 1]), 12)
