"""Initial guess of alpha: the equilibrium of the theory, or an equal part of the expected queue.

Where a certificate can be written, it encloses the alpha that is fair in equilibrium, and by
implicit differentiation how that alpha follows the ratio, in some hundredths of a second.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from vegasfluid.analysis import certify_alpha
from vegasfluid.aqm.red import Red
from vegasfluid.errors import InvalidInput, SolveFailed
from vegasfluid.network import Flows, Link, Network
from vegasfluid.tuning.parameters import Parameter, alpha_parameters

__all__ = ["PROPORTIONAL", "InitialGuess", "guess_alpha", "initial_points"]
__all__ += ["network_with_others_at_share"]

PROPORTIONAL = 1.0
"""Slope d log(ratio) / d log(alpha) below saturation: goodput is in proportion to the backlog."""
QUEUE_RESTART_FACTOR = 10.0
"""The second initial point of a search over RED's thresholds divides all queues by this."""


class InitialGuess(NamedTuple):
    """Where a search for the alpha of one class begins.

    Args:
        alpha: packets.
        slope: d log(goodput ratio) / d log(alpha) there, above 0.
    """

    alpha: float
    slope: float


def guess_alpha(network: Network, tuned: str, ratio: float) -> InitialGuess:
    """First guess of the alpha at which a tuned flow gets `ratio` times another's goodput.

    From the certified equilibrium, where there is one; else `ratio` times a flow's equal part of
    the expected queues on its path.

    Args:
        network: of one link or several.
        tuned: name of the Vegas class.
        ratio: goodput of a tuned flow over that of a flow of the other classes.

    Returns:
        Alpha in packets, and d log(ratio) / d log(alpha) there (1 without a certificate).

    >>> from vegasfluid import Flows, Link, Network, Red, Reno, Vegas
    >>> flows = {
    ...     "vegas": Flows(5, Vegas(dialect="ns2"), base_rtt=0.04),
    ...     "reno": Flows(5, Reno(), base_rtt=0.04),
    ... }
    >>> red = Link(1000.0, 200, Red(min_thresh=20, max_thresh=80))
    >>> "alpha {:.2f}, slope {:.2f}".format(*guess_alpha(Network(red, flows), "vegas", 1.0))
    'alpha 4.86, slope 0.93'
    >>> guess_alpha(Network(Link(1000.0, 200), flows), "vegas", 1.0)
    InitialGuess(alpha=10.0, slope=1.0)
    """
    classes = {name: with_mean_rtt(flows) for name, flows in network.flows.items()}
    try:
        certificate = certify_alpha(replace(network, flows=classes), tuned, ratio)
    except (InvalidInput, SolveFailed):
        return InitialGuess(ratio * expected_backlog(network, tuned), PROPORTIONAL)
    alpha = float(certificate.alpha)
    per_log_ratio = float(certificate.claims["alpha_packets_per_log_ratio",])
    return InitialGuess(alpha, alpha / per_log_ratio)


def initial_points(
    network: Network, parameters: Sequence[Parameter], ratio: float
) -> list[np.ndarray]:
    """Points from which a search over several parameters begins: their logarithms.

    The first point has the alphas that theory predicts. A second point is added in two cases. With
    several alphas and nothing else, it has those of the given network. Where RED is tuned, it is
    the first point with alphas and thresholds divided by `QUEUE_RESTART_FACTOR`.

    Args:
        network: with the parameters that were given.
        parameters: tuned parameters, alphas first, then RED's numbers if these are tuned.
        ratio: goodput of a tuned flow over that of another flow.

    Returns:
        One or two points; (parameters,) each, logarithms of packets (max_drop: a probability).
    """
    given = np.log([parameter.value(network) for parameter in parameters])
    point = given.copy()
    tuned = [parameter.flows for parameter in alpha_parameters(parameters)]
    alphas = [
        guess_alpha(network_with_others_at_share(network, name, tuned), name, ratio).alpha
        for name in tuned
    ]
    point[: len(alphas)] = np.log(alphas)
    if len(alphas) == len(parameters):
        return [point] if len(parameters) == 1 else [point, given]
    packets = np.array([parameter.name != "max_drop" for parameter in parameters], float)
    return [point, point - math.log(QUEUE_RESTART_FACTOR) * packets]


def network_with_others_at_share(network: Network, tuned: str, all_tuned: Sequence[str]) -> Network:
    """The network in which all tuned classes but one behave like a class that is not tuned.

    Their flows take congestion control and delays of the first class that is not tuned, as if their
    goodput already were as wanted, so that one alpha can be found at a time.

    Args:
        network: the network to change.
        tuned: name of the one tuned class that is not changed.
        all_tuned: names of all tuned classes.
    """
    other = with_mean_rtt(
        next(flows for name, flows in network.flows.items() if name not in all_tuned)
    )
    replaced = {
        name: flows
        if name == tuned or name not in all_tuned
        else replace(flows, law=other.law, base_rtt=other.base_rtt, access_delay=other.access_delay)
        for name, flows in network.flows.items()
    }
    return replace(network, flows=replaced)


def with_mean_rtt(flows: Flows) -> Flows:
    """The class of flows with one base RTT (s), the mean over its flows, instead of a list."""
    given = flows.base_rtt
    return replace(flows, base_rtt=sum(given) / len(given)) if isinstance(given, tuple) else flows


def expected_backlog(network: Network, tuned: str) -> float:
    """Expected packets of one flow in the queues on the path of class `tuned`, packets.

    The sum over the links of expected queue / number of flows on the link.
    """
    backlog = 0.0
    for link in network.path_of(tuned):
        backlog += expected_queue(network.links[link]) / network.flow_count(link)
    return backlog


def expected_queue(link: Link) -> float:
    """Expected queue of a link, packets.

    It is the discipline's target (at most the buffer) if it has one, the mean of RED's two
    thresholds, or half of the buffer.
    """
    target = link.aqm.target_queue(link.capacity)
    if target is not None:
        return float(min(target, link.buffer))
    if isinstance(link.aqm, Red):
        return float(link.aqm.min_thresh + link.aqm.max_thresh) / 2
    return float(link.buffer) / 2
