"""Rules of thumb of the literature for alpha and beta.

Source:
    E. Weigle and W. Feng, "A case for TCP Vegas in high-performance computational grids",
    LA-UR-01-3420, 2001: section 4.1 (a third of the queue), 4.2 (RED's thresholds less 2; and in
    proportion to them) and 4.3 (RED_min / N). They state the rules of 4.1 and 4.2 for one Reno and
    one Vegas flow. Ours: of N flows, each two are given their part of the queue, 2 / N; and of the
    rule of proportion, which leaves its constants open, both are 1 / N. Where data go both ways N
    counts one way, as there (50 in network 2), since each way has its own queue.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import cast

from vegasfluid.aqm.red import Red
from vegasfluid.congestion.vegas import Vegas
from vegasfluid.network import Network
from vegasfluid.tuning.parameters import DEAD_BAND, smallest_alpha

__all__ = ["RULES", "rules_of_thumb"]

RULES = {
    "queue_over_3": "Q / 3",
    "thresholds_minus_2": "RED thresholds - 2",
    "red_min_over_n": "RED_min / N",
    "proportional": "proportional",
}
"""Names of the rules in results, and on the screen."""


def rules_of_thumb(network: Network, tuned: str) -> dict[str, Vegas]:
    """Alpha and beta of a Vegas class by each rule of thumb of the literature.

    With the buffer Q, RED's thresholds and N flows in the class's direction, alpha and beta are:
    `queue_over_3`: 2 Q / (3 N) less 1, and 2 Q / (3 N). `thresholds_minus_2`: 2 / N times RED_min
    and RED_max, both less 2. `red_min_over_n`: RED_min / N, and 2 packets more. `proportional`:
    RED_min / N and RED_max / N.

    Numbers are rounded down, as section 4.1 does, with alpha at least 1 packet and beta at least
    alpha. Rules count packets in the queue, and are taken as they are in every dialect.

    Args:
        network: of one link.
        tuned: the class of Vegas flows.

    Returns:
        Vegas with alpha and beta (packets) by the rule's name in `RULES`. Without RED, only the
        rule of the queue; over several links none.

    >>> from vegasfluid import Flows, Link, Red, Reno
    >>> link = Link(1000.0, 300, Red(min_thresh=60, max_thresh=180))
    >>> flows = {"reno": Flows(2, Reno(), base_rtt=0.1), "vegas": Flows(2, Vegas(), base_rtt=0.1)}
    >>> for name, law in rules_of_thumb(Network(link, flows), "vegas").items():
    ...     print(name, law.alpha, law.beta)
    queue_over_3 49 50
    thresholds_minus_2 28 88
    red_min_over_n 15 17
    proportional 15 45
    """
    if len(network.links) > 1:
        return {}  # the rules are about one queue
    law, aqm = cast(Vegas, network.flows[tuned].law), network.link.aqm
    count = flows_in_direction(network, tuned)
    pair, third = 2 / count, 2 * network.link.buffer / count / 3
    rules = {"queue_over_3": (third - 1, third)}
    if isinstance(aqm, Red):
        low, high = aqm.min_thresh, aqm.max_thresh
        rules["thresholds_minus_2"] = (low * pair - 2, high * pair - 2)
        rules["red_min_over_n"] = (low / count, low / count + DEAD_BAND)
        rules["proportional"] = (low / count, high / count)
    return {name: rounded_down(law, *thresholds) for name, thresholds in rules.items()}


def flows_in_direction(network: Network, tuned: str) -> int:
    """Number of flows that send data in the same direction as class `tuned`, itself included."""
    direction = network.flows[tuned].direction
    return sum(flows.count for flows in network.flows.values() if flows.direction == direction)


def rounded_down(law: Vegas, alpha: float, beta: float) -> Vegas:
    """`law` with alpha and beta (packets) rounded down; alpha at least 1, beta at least alpha."""
    whole_alpha = max(math.ceil(smallest_alpha(law)), math.floor(alpha))
    return replace(law, alpha=whole_alpha, beta=max(whole_alpha, math.floor(beta)))
