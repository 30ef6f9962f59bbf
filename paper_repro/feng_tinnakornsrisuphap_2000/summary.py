"""Reduction of a run to the numbers of figures 4 to 10, and to where packets were lost."""

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
    """Measures of one run."""

    cov: float
    """Coefficient of variation of the arrivals at the LANL router in a round trip."""
    hurst: dict[str, float]
    """Hurst parameter of the same counts, by method."""
    packets: float
    """Data packets of the clients that entered both routers."""
    delivered: float
    """Data packets of the clients that arrived, each counted once."""
    loss: float
    """Clients' packets that were dropped, per cent of those sent."""
    loss_with_acks: float
    """Dropped data packets and ACKs, per cent of those sent (one ACK for each packet)."""
    resent: float
    """Retransmissions, per cent of the clients' packets sent."""
    router_drops: float
    """Data packets and ACKs dropped at the routers."""
    switch_drops: float
    """Data packets and ACKs dropped at the switch."""
    below_red: float
    """Fraction of the time in which both routers' queues are below RED's lower threshold."""
    port_use: float
    """Fraction of the capacity of the switch's port to SNL that is used."""
    port_queue: float
    """Mean queue at that port, packets."""
    outside_share: float
    """Fraction of that port's capacity that the outside sources get."""


def is_client(run: xr.Dataset) -> np.ndarray:
    """Return which flow classes are clients; (flow_class,)."""
    return np.array([not str(name).startswith("outside") for name in run["flow_class"].values])


def total(run: xr.Dataset, name: str, which: np.ndarray) -> float:
    """Return the final value of a counter, summed over the flows of some classes."""
    last = run[name].isel(time=-1).values * run["count"].values
    return float(last[which].sum())


def known(run: xr.Dataset, names: Sequence[str]) -> list[str]:
    """Return the queues that the run has; without reverse data there are no reverse queues."""
    return [name for name in names if name in run["link"].values]


def lost_at(run: xr.Dataset, names: Sequence[str]) -> float:
    """Return the packets that some queues dropped."""
    return float(run["lost"].isel(time=-1).sel(link=known(run, names)).sum())


def lost_with_acks(run: xr.Dataset) -> float:
    """Return the packets and ACKs that all queues dropped, without outside sources' packets."""
    outside = total(run, "dropped", ~is_client(run))
    return float(run["lost"].isel(time=-1).sum()) - outside


def outside_share(run: xr.Dataset) -> float:
    """Return the fraction of the capacity of the port to SNL that outside sessions get."""
    which = run["flow_class"].values == "outside_snl"
    rate = total(run, "delivered", which) / float(run["time"][-1])
    return rate / float(run["capacity"].sel(link=SWITCH_PORTS[0]))


def hurst_by(run: xr.Dataset, method: str) -> float:
    """Return the Hurst parameter at the LANL router; NaN where the method fails.

    The rescaled range fails where nothing arrives for 32 bins.
    """
    try:
        return metrics.hurst(run, method, link=ROUTERS[0]).value
    except InvalidInput:
        return float("nan")


def summary_of(run: xr.Dataset, red_min: float) -> Summary:
    """Return the measures of a run.

    Args:
        run: trajectory with bins and without warm-up.
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
