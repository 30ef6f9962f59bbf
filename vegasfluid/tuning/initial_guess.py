"""Where the search for alpha begins: at rest in theory, or with the queue shared out.

Where a certificate can be written, it encloses the alpha that is fair at rest, and by implicit
differentiation how that alpha follows the ratio, in some hundredths of a second.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from vegasfluid.analysis import certify_alpha
from vegasfluid.aqm.red import Red
from vegasfluid.errors import InvalidInput, SolveFailed
from vegasfluid.network import Flows, Link, Network

__all__ = ["PROPORTIONAL", "InitialGuess", "begin", "network_with_others_at_share"]

PROPORTIONAL = 1.0
"""The slope d log(ratio) / d log(alpha) below saturation, where a share follows its backlog."""


class InitialGuess(NamedTuple):
    """Where a search begins.

    Args:
        alpha: packets.
        slope: d log(ratio) / d log(alpha) there, above 0.
    """

    alpha: float
    slope: float


def begin(network: Network, tuned: str, ratio: float) -> InitialGuess:
    """The alpha of rest, or else the queue that is to be expected, shared out among all flows.

    Args:
        network: of one link or several.
        tuned: the Vegas class.
        ratio: goodput of a tuned flow over that of another flow.

    >>> from vegasfluid import Flows, Link, Network, Red, Reno, Vegas
    >>> flows = {
    ...     "vegas": Flows(5, Vegas(dialect="ns2"), base_rtt=0.04),
    ...     "reno": Flows(5, Reno(), base_rtt=0.04),
    ... }
    >>> red = Link(1000.0, 200, Red(min_thresh=20, max_thresh=80))
    >>> "alpha {:.2f}, slope {:.2f}".format(*begin(Network(red, flows), "vegas", 1.0))
    'alpha 4.86, slope 0.93'
    >>> begin(Network(Link(1000.0, 200), flows), "vegas", 1.0)
    InitialGuess(alpha=10.0, slope=1.0)
    """
    flows = {name: with_one_rtt(of) for name, of in network.flows.items()}
    try:
        proven = certify_alpha(replace(network, flows=flows), tuned, ratio)
    except (InvalidInput, SolveFailed):
        return InitialGuess(ratio * expected_backlog(network, tuned), PROPORTIONAL)
    alpha = float(proven.alpha)
    return InitialGuess(alpha, alpha / float(proven.claims["alpha_packets_per_log_ratio",]))


def network_with_others_at_share(network: Network, tuned: str, all_tuned: Sequence[str]) -> Network:
    """The network as it is to one of several tuned classes once all have their share.

    Flows of the other tuned classes then send what a flow of the first class that is not tuned
    sends: here they are such flows.
    """
    other = with_one_rtt(next(of for name, of in network.flows.items() if name not in all_tuned))
    alike = {
        name: of
        if name == tuned or name not in all_tuned
        else replace(of, law=other.law, base_rtt=other.base_rtt, access_delay=other.access_delay)
        for name, of in network.flows.items()
    }
    return replace(network, flows=alike)


def with_one_rtt(flows: Flows) -> Flows:
    """A class whose flows have round-trip times of their own, with their mean."""
    given = flows.base_rtt
    return replace(flows, base_rtt=sum(given) / len(given)) if isinstance(given, tuple) else flows


def expected_backlog(network: Network, tuned: str) -> float:
    """A flow's part of the queues on its path, where all flows that cross them have the same."""
    backlog = 0.0
    for link in network.path_of(tuned):
        backlog += expected_queue(network.links[link]) / network.flow_count(link)
    return backlog


def expected_queue(link: Link) -> float:
    """Half of what the queue law leaves open, packets."""
    if isinstance(link.aqm, Red):
        return float(link.aqm.min_thresh + link.aqm.max_thresh) / 2
    return float(link.buffer) / 2
