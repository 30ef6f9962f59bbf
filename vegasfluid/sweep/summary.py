"""A run as the numbers that a sweep keeps of it, by the names that every output uses."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from vegasfluid.congestion.vegas import Vegas
from vegasfluid.interval_totals import interpolation_position
from vegasfluid.network import Network
from vegasfluid.quantities import mbps
from vegasfluid.trajectory import Recording, class_means, link_names

__all__ = ["METRICS", "Metric", "Summary", "links_of", "summed_up", "tuned_class"]

Summary = dict[str, np.ndarray]
"""Arrays by names of METRICS: of one run (), (flow_class,) or (link,)."""


class Metric(NamedTuple):
    """A number that is kept of a run.

    Args:
        meaning: in words.
        units: of it.
        along: the dimension that it has besides those of the sweep; None: none.
    """

    meaning: str
    units: str
    along: str | None = None


METRICS = {
    "ratio": Metric("goodput of a tuned flow over that of a flow of the other classes", "1"),
    "jain_index": Metric("Jain's fairness index over all flows", "1"),
    "goodput_packets_per_s": Metric("goodput of a flow", "packets/s", "flow_class"),
    "goodput_mbps": Metric("goodput of a flow", "Mbit/s", "flow_class"),
    "cwnd_packets": Metric("congestion window", "packets", "flow_class"),
    "rtt_s": Metric("round-trip time", "s", "flow_class"),
    "retransmit_share": Metric("part of sent packets that was sent again", "1", "flow_class"),
    "timeouts": Metric("retransmission timeouts of the class", "1", "flow_class"),
    "utilisation": Metric("part of the capacity that was sent", "1", "link"),
    "queue_packets": Metric("packets waiting", "packets", "link"),
    "queueing_delay_s": Metric("waiting time of a packet", "s", "link"),
    "drop_share": Metric("part of arriving packets that was dropped", "1", "link"),
}
"""Means after the warm-up."""


def links_of(network: Network) -> list[str]:
    """The names of the links of a run, and of their other directions where packets wait there."""
    return link_names(network, len(network.links) * (2 if network.two_way else 1))


def tuned_class(network: Network, tune: str | None = None) -> str | None:
    """The class in the numerator of the ratio: the one named, the only Vegas, or the first one.

    None where there is one class only.
    """
    if len(network.flows) < 2:
        return None
    if tune is not None:
        return tune if tune in network.flows else None
    vegas = [name for name, flows in network.flows.items() if isinstance(flows.law, Vegas)]
    return vegas[0] if len(vegas) == 1 else next(iter(network.flows))


def summed_up(run: Recording, warmup: float, tune: str | None = None) -> Summary:
    """Means after the warm-up.

    Args:
        run: of one engine or another.
        warmup: what the means leave out, s.
        tune: the class in the numerator of the ratio; None: see `tuned_class`.
    """
    gained, counts = run.totals_after(warmup), run.network.counts
    tuned = tuned_class(run.network, tune)
    late = run.times >= warmup
    after, part = interpolation_position(run.times, warmup)

    def mean_of(name: str) -> np.ndarray:
        return class_means(counts, run.flows[name][late].mean(axis=0)[np.newaxis])[0]

    low, high = (class_means(counts, run.flows["timeouts"][[n]])[0] for n in (after - 1, after))
    last = class_means(counts, run.flows["timeouts"][[-1]])[0]
    number = None if tuned is None else list(run.network.flows).index(tuned)
    return {
        "ratio": np.array(np.nan if number is None else gained.goodput_ratio(number)),
        "jain_index": np.array(gained.jain_index),
        "goodput_packets_per_s": gained.goodput,
        "goodput_mbps": gained.goodput / mbps(1.0, run.network.packet_bytes),
        "cwnd_packets": mean_of("cwnd"),
        "rtt_s": mean_of("rtt"),
        "retransmit_share": gained.retransmit_share,
        "timeouts": (last - (low + part * (high - low))) * counts,
        "utilisation": gained.utilisation,
        "queue_packets": gained.mean_queue,
        "queueing_delay_s": gained.queueing_delay,
        "drop_share": gained.drop_share,
    }
