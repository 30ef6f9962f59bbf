"""What is kept of one run: the numbers that figures 4 to 10 show, and where packets were lost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr

from paper_repro.feng_tinnakornsrisuphap_2000.esnet import ROUTERS, SWITCH_PORTS
from vegasfluid import metrics
from vegasfluid.burstiness import METHODS
from vegasfluid.errors import InvalidInput

__all__ = ["Summary", "is_client", "summary_of", "total"]


@dataclass(frozen=True)
class Summary:
    """One run."""

    cov: float
    """Of the packets that reach the LANL router in a round trip."""
    hurst: dict[str, float]
    """Of the same counts, by method."""
    packets: float
    """Data packets of the clients that entered the network through both routers."""
    delivered: float
    """Of those, the ones that arrived, each counted once."""
    loss: float
    """Per cent of the clients' packets that were dropped."""
    loss_with_acks: float
    """The same of data and ACKs together, an ACK counted for each packet."""
    resent: float
    """Per cent of the clients' packets that had been sent before."""
    router_drops: float
    """Packets, ACKs among them."""
    switch_drops: float
    """Packets, ACKs among them."""
    below_red: float
    """Share of the time in which both routers' queues are below RED's lower threshold."""
    port_use: float
    """Part of the capacity of the switch's port to SNL that is used."""
    port_queue: float
    """Mean queue there, packets."""
    outside_share: float
    """Part of that capacity that the outside sources get."""


def is_client(run: xr.Dataset) -> np.ndarray:
    """Which classes are clients; (flow_class,)."""
    return np.array([not str(name).startswith("outside") for name in run["flow_class"].values])


def total(run: xr.Dataset, name: str, which: np.ndarray) -> float:
    """What a counter reached at the end, summed over the flows of some classes."""
    last = run[name].isel(time=-1).values * run["count"].values
    return float(last[which].sum())


def known(run: xr.Dataset, names: Sequence[str]) -> list[str]:
    """Those of the queues that the run has: without reverse data there are none back."""
    return [name for name in names if name in run["link"].values]


def lost_at(run: xr.Dataset, names: Sequence[str]) -> float:
    """Packets that some queues dropped."""
    return float(run["lost"].isel(time=-1).sel(link=known(run, names)).sum())


def lost_with_acks(run: xr.Dataset) -> float:
    """Packets and ACKs that all queues dropped, but for the outside sources' packets."""
    outside = total(run, "dropped", ~is_client(run))
    return float(run["lost"].isel(time=-1).sum()) - outside


def outside_share(run: xr.Dataset) -> float:
    """Part of a port's capacity that the sessions to SNL get."""
    which = run["flow_class"].values == "outside_snl"
    rate = total(run, "delivered", which) / float(run["time"][-1])
    return rate / float(run["capacity"].sel(link=SWITCH_PORTS[0]))


def hurst_by(run: xr.Dataset, method: str) -> float:
    """The Hurst exponent at the LANL router; NaN where a method cannot say.

    The rescaled range cannot where nothing at all arrives for 32 bins.
    """
    try:
        return metrics.hurst(run, method, link=ROUTERS[0]).value
    except InvalidInput:
        return float("nan")


def summary_of(run: xr.Dataset, red_min: float) -> Summary:
    """Sum up a run.

    Args:
        run: with bins, and without a warm-up.
        red_min: RED's lower threshold in the routers, packets.
    """
    clients, port = is_client(run), SWITCH_PORTS[0]
    sent = total(run, "sent", clients)
    queue = run["queue"].sel(link=known(run, ROUTERS)).max("link").values
    return Summary(
        cov=metrics.cov(run, link=ROUTERS[0]).value,
        hurst={name: hurst_by(run, name) for name in METHODS},
        packets=float(run["arrivals"].sel(link=known(run, ROUTERS)).sum()),
        delivered=total(run, "delivered", clients),
        loss=100 * total(run, "dropped", clients) / sent,
        loss_with_acks=100 * lost_with_acks(run) / (2 * sent),
        resent=100 * total(run, "retransmitted", clients) / sent,
        router_drops=lost_at(run, ROUTERS),
        switch_drops=lost_at(run, SWITCH_PORTS),
        below_red=float(np.mean(queue < red_min)),
        port_use=float(metrics.utilisation(run).sel(link=port)),
        port_queue=float(metrics.mean_queue(run).sel(link=port)),
        outside_share=outside_share(run),
    )
