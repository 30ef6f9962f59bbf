"""Averages of one run of a network by any simulator or kernel, in the form that all have."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import numpy as np

from vegasfluid.errors import ComputationFailed
from vegasfluid.metric_formulas import IntervalTotals
from vegasfluid.network import Network
from vegasfluid.trajectory import Recording

__all__ = ["Averages", "averages_of", "parse_averages"]

CLASS_LINE = re.compile(r"^class .* count \d+ goodput_packets_per_s (\S+)$", re.MULTILINE)
"""Line that an exported scenario prints for each class."""
LINK_LINE = re.compile(r"^link .* queue_packets (\S+) drop_share (\S+)$", re.MULTILINE)
"""Line that an exported scenario prints for each link."""


@dataclass(frozen=True)
class Averages:
    """Averages of one run after the warm-up.

    Args:
        goodput: mean goodput of a flow of each class, packets/s; (flow_class,).
        ratio: goodput of a flow of each class over that of a flow of the other classes;
            (flow_class,). Infinite where the others got nothing, NaN where there are no others.
        queue: mean number of packets waiting at each link; (link,).
        drop_share: fraction of packets dropped at each link; (link,).
    """

    goodput: tuple[float, ...]
    ratio: tuple[float, ...]
    queue: tuple[float, ...]
    drop_share: tuple[float, ...]


def averages_of(recording: Recording, warmup: float) -> Averages:
    """Averages of a run of the packet simulator or the fluid model.

    Args:
        recording: the run.
        warmup: time at the start that is left out, s.
    """
    network, totals = recording.network, recording.totals_after(warmup)
    links = slice(len(network.links))  # without the queues of the reverse direction
    return _averages(
        network,
        [float(rate) for rate in totals.goodput],
        [float(queue) for queue in totals.mean_queue[links]],
        [float(share) for share in totals.drop_share[links]],
    )


def parse_averages(text: str, network: Network, whose: str) -> Averages:
    """Averages of a run of an exported scenario, from what it printed.

    Args:
        text: the output: a line for each class and each link, in the order of the network.
        network: the network of the scenario.
        whose: name of the program, for the error message.

    Raises:
        ComputationFailed: if a line is missing or has no number.
    """
    classes, links = CLASS_LINE.findall(text), LINK_LINE.findall(text)
    try:
        if (len(classes), len(links)) != (len(network.flows), len(network.links)):
            raise ValueError
        rates = [float(rate) for rate in classes]
        queues, shares = ([float(pair[i]) for pair in links] for i in (0, 1))
    except ValueError:
        wanted = f"{len(network.flows)} lines of classes and {len(network.links)} of links"
        raise ComputationFailed(
            f"crosscheck: {whose} did not print the {wanted} that its scenario ends with."
        ) from None
    return _averages(network, rates, queues, shares)


def _averages(
    network: Network, rates: list[float], queues: list[float], shares: list[float]
) -> Averages:
    """Averages with the ratio of each class.

    Args:
        network: gives the number of flows of each class.
        rates: mean goodput of a flow of each class, packets/s.
        queues: mean queue of each link, packets.
        shares: fraction of packets dropped at each link.
    """
    totals = IntervalTotals(1.0, count=network.counts, delivered=np.array(rates))
    several = len(rates) > 1
    ratios = [totals.goodput_ratio(i) if several else math.nan for i in range(len(rates))]
    return Averages(tuple(rates), tuple(ratios), tuple(queues), tuple(shares))
