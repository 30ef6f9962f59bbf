"""Averages of a run that a sweep stores, by the names that every output uses."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from vegasfluid.congestion.vegas import Vegas
from vegasfluid.metric_formulas import interpolation_position
from vegasfluid.network import Network
from vegasfluid.quantities import mbps
from vegasfluid.trajectory import Recording, class_means, link_names

__all__ = ["METRICS", "Metric", "Summary", "links_of", "run_averages", "tuned_class"]

Summary = dict[str, np.ndarray]
"""Averages of one run by metric: arrays of shape (), (flow class,) or (link,)."""


class Metric(NamedTuple):
    """An average that a sweep stores for each run.

    Args:
        meaning: what it is, in words.
        units: its unit.
        along: its dimension, `flow_class` or `link`; None: a single number.
    """

    meaning: str
    units: str
    along: str | None = None


METRICS = {
    "ratio": Metric("goodput of a tuned flow / goodput of a flow of the other classes", "1"),
    "jain_index": Metric("Jain's fairness index over all flows", "1"),
    "goodput_packets_per_s": Metric("goodput of a flow", "packets/s", "flow_class"),
    "goodput_mbps": Metric("goodput of a flow", "Mbit/s", "flow_class"),
    "cwnd_packets": Metric("congestion window", "packets", "flow_class"),
    "rtt_s": Metric("round-trip time", "s", "flow_class"),
    "retransmit_share": Metric("fraction of sent packets that are resent", "1", "flow_class"),
    "timeouts": Metric("retransmission timeouts of the class", "1", "flow_class"),
    "utilisation": Metric("fraction of the capacity that is used", "1", "link"),
    "queue_packets": Metric("packets waiting", "packets", "link"),
    "queueing_delay_s": Metric("queueing delay of a packet", "s", "link"),
    "drop_share": Metric("fraction of arriving packets that are dropped", "1", "link"),
}
"""Averages after the warm-up, by name. Averages of a flow class are means over its flows, but
`timeouts` is the number of timeouts of all its flows."""


def links_of(network: Network) -> list[str]:
    """Names of the links in a run of a network; with two-way traffic also of reverse directions."""
    return link_names(network, len(network.links) * (2 if network.two_way else 1))


def tuned_class(network: Network, tune: str | None = None) -> str | None:
    """Name of the class in the numerator of the goodput ratio.

    Args:
        network: the network.
        tune: name of the class; None: the only Vegas class, else the first class.

    Returns:
        The name; None if the network has only one class, or no class `tune`.
    """
    if len(network.flows) < 2:
        return None
    if tune is not None:
        return tune if tune in network.flows else None
    vegas = [name for name, flows in network.flows.items() if isinstance(flows.law, Vegas)]
    return vegas[0] if len(vegas) == 1 else next(iter(network.flows))


def run_averages(run: Recording, warmup: float, tune: str | None = None) -> Summary:
    """Averages of a run after the warm-up, by the names of METRICS, which have the units.

    Args:
        run: run of any engine.
        warmup: initial time that is excluded, s.
        tune: class in the numerator of the goodput ratio; None: the only Vegas class, else the
            first class.

    Returns:
        Arrays of shape (), (flow class,) or (link,). The ratio is NaN for a network of one class
        or without a class `tune`.
    """
    totals, counts = run.totals_after(warmup), run.network.counts
    tuned = tuned_class(run.network, tune)
    measured = run.times >= warmup
    after, part = interpolation_position(run.times, warmup)

    def mean_of(name: str) -> np.ndarray:
        """Mean of a flow variable over time after the warm-up and each class's flows; (class,)."""
        return class_means(counts, run.flows[name][measured].mean(axis=0)[np.newaxis])[0]

    low, high = (class_means(counts, run.flows["timeouts"][[n]])[0] for n in (after - 1, after))
    last = class_means(counts, run.flows["timeouts"][[-1]])[0]
    number = None if tuned is None else list(run.network.flows).index(tuned)
    return {
        "ratio": np.array(np.nan if number is None else totals.goodput_ratio(number)),
        "jain_index": np.array(totals.jain_index),
        "goodput_packets_per_s": totals.goodput,
        "goodput_mbps": totals.goodput / mbps(1.0, run.network.packet_bytes),
        "cwnd_packets": mean_of("cwnd"),
        "rtt_s": mean_of("rtt"),
        "retransmit_share": totals.retransmit_share,
        "timeouts": (last - (low + part * (high - low))) * counts,
        "utilisation": totals.utilisation,
        "queue_packets": totals.mean_queue,
        "queueing_delay_s": totals.queueing_delay,
        "drop_share": totals.drop_share,
    }
