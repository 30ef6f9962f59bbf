"""A trajectory summed up, by the names that every output uses."""

from __future__ import annotations

from typing import Any

import xarray as xr

from vegasfluid import metrics
from vegasfluid.network import Network
from vegasfluid.quantities import mbps

__all__ = ["sum_up"]


def sum_up(run: xr.Dataset, network: Network) -> dict[str, Any]:
    """Means after the warm-up, for each class and each link.

    Args:
        run: a trajectory.
        network: what was simulated; its packet size turns packets/s into Mbit/s.

    Returns:
        `classes`, `links` and `jain_index`, as plain numbers.
    """
    one_mbps = mbps(1.0, network.packet_bytes)
    columns = {
        "goodput_packets_per_s": metrics.goodput(run),
        "cwnd_packets": metrics.time_mean(run, "cwnd"),
        "rtt_s": metrics.time_mean(run, "rtt"),
        "retransmit_share": metrics.retransmit_share(run),
        "timeouts": metrics.timeouts(run),
    }
    rows = {
        "utilisation": metrics.utilisation(run),
        "queue_packets": metrics.mean_queue(run),
        "queueing_delay_s": metrics.queueing_delay(run),
        "drop_share": metrics.drop_share(run),
    }
    classes = {}
    for i, name in enumerate(run["flow_class"].values):
        values = {key: float(column[i]) for key, column in columns.items()}
        values["goodput_mbps"] = values["goodput_packets_per_s"] / one_mbps
        classes[str(name)] = {"count": int(run["count"][i]), **values}
    links = {
        str(name): {key: float(row[i]) for key, row in rows.items()}
        for i, name in enumerate(run["link"].values)
    }
    return {"classes": classes, "links": links, "jain_index": metrics.jain_index(run)}
