"""What is kept of a run: the paper's two counts, acknowledged and retransmitted packets of all
flows of a law over the whole run, and what link utilisation and loss rates follow from.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import xarray as xr

from paper_repro.weigle_feng_2001.networks import law_of

__all__ = ["Totals", "lost", "mean_of", "ratio_of", "totals"]


class Totals(NamedTuple):
    """Counts of a run from time 0, in packets; of Reno and Vegas where they are named."""

    acked: dict[str, float]
    """Data packets delivered once, by law."""
    resent: dict[str, float]
    """Data packets sent again, by law."""
    sent: dict[str, float]
    """Data packets sent, by law."""
    timeouts: dict[str, float]
    """Retransmission timeouts, by law."""
    cwnd: dict[str, float]
    """Congestion window of a flow, mean over the run, by law."""
    room: float
    """Data packets that the link could have sent, in all directions that carry data."""
    dropped: float
    """The part of arriving packets that the queues dropped."""
    lost_acks: float
    """Acknowledgements that were dropped."""
    queue: float
    """Packets waiting on the forward link, mean."""
    queue_spread: float
    """Their standard deviation over time."""
    jain: float
    """Jain's fairness index over all flows."""

    @property
    def ratio(self) -> float:
        """What Vegas flows had acknowledged over what Reno flows had."""
        reno = self.acked["reno"]
        return self.acked["vegas"] / reno if reno else float("inf")

    @property
    def all_acked(self) -> float:
        """Packets acknowledged, of all flows."""
        return sum(self.acked.values())

    @property
    def utilisation(self) -> float:
        """Acknowledged packets over those that the link could have sent."""
        return self.all_acked / self.room

    def loss_rate(self, law: str) -> float:
        """Retransmitted over sent packets."""
        return self.resent[law] / self.sent[law] if self.sent[law] else 0.0


def by_law(run: xr.Dataset, name: str) -> dict[str, float]:
    """A counter at the end of a run, summed over all flows of a law."""
    found: dict[str, float] = {}
    last = run[name].isel(time=-1) * (1 if name == "timeouts" else run["count"])
    for flow_class, value in zip(run["flow_class"].values, last.values, strict=True):
        law = law_of(str(flow_class))
        found[law] = found.get(law, 0.0) + float(value)
    return found


def mean_windows(run: xr.Dataset) -> dict[str, float]:
    """The congestion window of each law's first class, mean over time."""
    found: dict[str, float] = {}
    for flow_class in run["flow_class"].values:
        mean = float(run["cwnd"].sel(flow_class=flow_class).mean())
        found.setdefault(law_of(str(flow_class)), mean)
    return found


def totals(run: xr.Dataset) -> Totals:
    """The counts of a run."""
    last, until = run.isel(time=-1), float(run["time"].values[-1])
    lost, admitted = float(last["lost"].sum()), float(last["admitted"].sum())
    data_lost = float((last["dropped"] * run["count"]).sum())
    of_flows = last["flow_delivered"].values
    squares = float(np.sum(of_flows**2))
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
        jain=float(np.sum(of_flows)) ** 2 / (of_flows.size * squares) if squares else 1.0,
    )


def lost(run: Totals) -> float:
    """Retransmitted over sent packets, of all flows."""
    return sum(run.resent.values()) / sum(run.sent.values())


def mean_of(runs: Sequence[Totals], name: str) -> float:
    """The mean over seeds of a number of `Totals`."""
    return float(np.mean([getattr(run, name) for run in runs]))


def ratio_of(runs: Sequence[Totals]) -> float:
    """What Vegas had over what Reno had, all seeds together."""
    acked = [sum(run.acked[law] for run in runs) for law in ("vegas", "reno")]
    return acked[0] / acked[1]
