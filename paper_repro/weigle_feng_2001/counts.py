"""The record of a run: packets acknowledged and retransmitted by congestion control.

Utilisation and loss rates follow from these counts, which are those of the paper.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import xarray as xr

from paper_repro.weigle_feng_2001.networks import law_of

__all__ = ["Totals", "lost", "mean_of", "ratio_of", "totals"]


class Totals(NamedTuple):
    """Counts of a run from time 0, in packets; dictionaries are by congestion control."""

    acked: dict[str, float]
    """Data packets delivered, each counted once."""
    resent: dict[str, float]
    """Retransmissions."""
    sent: dict[str, float]
    """Data packets sent."""
    timeouts: dict[str, float]
    """Retransmission timeouts."""
    cwnd: dict[str, float]
    """Mean congestion window of a flow, packets."""
    room: float
    """Data packets that the link could have sent, in all directions with data."""
    dropped: float
    """Fraction of arriving packets that queues dropped."""
    lost_acks: float
    """Dropped ACKs."""
    queue: float
    """Mean queue of the forward link, packets."""
    queue_spread: float
    """Standard deviation of that queue over time, packets."""
    jain: float
    """Jain's index of all flows."""

    @property
    def ratio(self) -> float:
        """Acknowledged packets of Vegas over those of Reno."""
        reno = self.acked["reno"]
        return self.acked["vegas"] / reno if reno else float("inf")

    @property
    def all_acked(self) -> float:
        """Acknowledged packets of all flows."""
        return sum(self.acked.values())

    @property
    def utilisation(self) -> float:
        """Acknowledged packets as a fraction of what the link could have sent."""
        return self.all_acked / self.room

    def loss_rate(self, law: str) -> float:
        """Return retransmissions as a fraction of the packets sent."""
        return self.resent[law] / self.sent[law] if self.sent[law] else 0.0


def by_law(run: xr.Dataset, name: str) -> dict[str, float]:
    """Return a counter's final value, summed over all flows of each congestion control."""
    sums: dict[str, float] = {}
    last = run[name].isel(time=-1) * (1 if name == "timeouts" else run["count"])
    for flow_class, value in zip(run["flow_class"].values, last.values, strict=True):
        law = law_of(str(flow_class))
        sums[law] = sums.get(law, 0.0) + float(value)
    return sums


def mean_windows(run: xr.Dataset) -> dict[str, float]:
    """Return the mean window of the first class of each congestion control, packets."""
    means: dict[str, float] = {}
    for flow_class in run["flow_class"].values:
        mean = float(run["cwnd"].sel(flow_class=flow_class).mean())
        means.setdefault(law_of(str(flow_class)), mean)
    return means


def totals(run: xr.Dataset) -> Totals:
    """Return the counts of a run."""
    last, until = run.isel(time=-1), float(run["time"].values[-1])
    lost, admitted = float(last["lost"].sum()), float(last["admitted"].sum())
    data_lost = float((last["dropped"] * run["count"]).sum())
    delivered = last["flow_delivered"].values
    squares = float(np.sum(delivered**2))
    return Totals(
        acked=by_law(run, "delivered"),
        resent=by_law(run, "retransmitted"),
        sent=by_law(run, "sent"),
        timeouts=by_law(run, "timeouts"),
        cwnd=mean_windows(run),
        room=float(run["capacity"].sum()) * until,
        dropped=lost / (lost + admitted),
        lost_acks=lost - data_lost,
        queue=float(last["waited"].isel(link=0)) / until,
        queue_spread=float(run["queue"].isel(link=0).std()),
        jain=float(np.sum(delivered)) ** 2 / (delivered.size * squares) if squares else 1.0,
    )


def lost(run: Totals) -> float:
    """Return retransmissions as a fraction of packets sent, over all flows."""
    return sum(run.resent.values()) / sum(run.sent.values())


def mean_of(runs: Sequence[Totals], name: str) -> float:
    """Return the mean over seeds of a number of `Totals`."""
    return float(np.mean([getattr(run, name) for run in runs]))


def ratio_of(runs: Sequence[Totals]) -> float:
    """Return Vegas's acknowledged packets over Reno's, summed over seeds."""
    acked = [sum(run.acked[law] for run in runs) for law in ("vegas", "reno")]
    return acked[0] / acked[1]
