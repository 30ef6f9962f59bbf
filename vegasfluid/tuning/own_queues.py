"""Vegas flows that share no queue with others: their alpha decides their delay, not their share.

Where every link that a class shares with others has a queue for each flow, all flows that send
enough have equal goodputs. Alpha is then how many packets wait in a flow's own queue, so that the
smallest one that keeps the share is best: the usual alpha of the Vegas implementation, or, if the
packets do not confirm it, the one that was given.
"""

from __future__ import annotations

import math
from typing import NamedTuple, cast

from vegasfluid.network import Network
from vegasfluid.tuning.evaluate import Evaluator
from vegasfluid.tuning.scalar_root import FluidOptimum
from vegasfluid.tuning.stochastic_root import CENTRED

__all__ = ["Kept", "has_own_queues", "sufficient_alpha"]

FLUID_TOLERANCE = 0.01
"""Largest relative difference of the fluid model's ratio from a target that counts as reached."""


class Kept(NamedTuple):
    """A setting that needs no search.

    Args:
        network: the network with it.
        optimum: its alpha, and the fluid model's ratio there, which alpha hardly changes.
        reason: why there was no search, as part of a sentence.
    """

    network: Network
    optimum: FluidOptimum
    reason: str


def has_own_queues(network: Network, tuned: str) -> bool:
    """Whether each link that the class `tuned` shares with other classes has a queue for each flow.

    False if it shares no link.
    """
    others = {link for name in network.flows if name != tuned for link in network.path_of(name)}
    shared = [network.links[link] for link in network.path_of(tuned) if link in others]
    return bool(shared) and all(link.aqm.flow_queues for link in shared)


def sufficient_alpha(evaluator: Evaluator) -> Kept | None:
    """A setting of the tuned class that needs no search, as packets confirm the target with it.

    It is the default alpha and beta of the dialect or else the given ones, with a ratio within 3 %
    of the target. None if neither has such a ratio, or if flows share queues.
    """
    if not has_own_queues(evaluator.network, evaluator.tuned):
        return None
    law = evaluator.law
    for candidate in (type(law)(dialect=law.dialect), law):
        alpha, beta = (float(cast(float, value)) for value in (candidate.alpha, candidate.beta))
        network = evaluator.with_law(evaluator.law_at(alpha, beta - alpha))
        ratio = evaluator.evaluate_packets(network).ratio
        if ratio > 0 and abs(math.log(ratio / evaluator.target_ratio)) < CENTRED:
            fluid = evaluator.evaluate_fluid(network)["ratio"]
            reached = abs(fluid / evaluator.target_ratio - 1) < FLUID_TOLERANCE
            optimum = FluidOptimum(alpha, fluid, 0.0, reached, 1)
            return Kept(network, optimum, reason(network, evaluator.tuned))
    return None


def reason(network: Network, tuned: str) -> str:
    """Why alpha of the class `tuned` was not tuned for a ratio, as part of a sentence."""
    links = [name for name in network.path_of(tuned) if network.links[name].aqm.flow_queues]
    return (
        f"each flow has its own queue at {' and '.join(links)}, so a larger alpha brings no "
        "larger share: alpha sets how many packets wait in the flow's own queue"
    )
