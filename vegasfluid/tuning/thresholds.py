"""From one number, alpha, to Vegas's parameters.

**beta = alpha + 2 packets of window.** The dead zone between alpha and beta must be wide enough for
a window that moves in whole packets, judged by a rounded estimate, to find rest in it: two
packets. Where the estimate divides by the base RTT (Linux), a packet of window counts rtt / base,
and the dead zone is that much wider. Wider still only
lets flows that came from above keep more than flows that came from below, for as long as nothing
is lost, which is unfair among Vegas flows (C. Boutremans and J.-Y. Le Boudec, "A note on the
fairness of TCP Vegas", 2000; abstract). Where packets are lost, windows rest at alpha and beta
hardly matters (every loss in the dead zone pulls down, and nothing pushes up).
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from vegasfluid.congestion.vegas import Vegas
from vegasfluid.network import Network

__all__ = ["DEAD_ZONE", "dead_zone", "smallest_alpha", "whole_if_needed", "with_alpha"]

DEAD_ZONE = 2.0
"""beta - alpha, packets of window."""


def dead_zone(law: Vegas, rtt_over_base: float) -> float:
    """Beta - alpha in the dialect's own measure.

    Args:
        law: whose dialect counts.
        rtt_over_base: round-trip time over the base RTT where the flows will be.

    >>> dead_zone(Vegas(), 3.2), dead_zone(Vegas(dialect="linux"), 3.2)
    (2.0, 7.0)
    """
    zone = DEAD_ZONE * (rtt_over_base if law.implementation.divides_by_base_rtt else 1.0)
    return float(math.ceil(zone)) if law.implementation.whole_packets else zone


def with_alpha(law: Vegas, alpha: Any, zone: Any = DEAD_ZONE) -> Vegas:
    """The law with another alpha, and the beta that goes with it.

    >>> with_alpha(Vegas(), 10.0).beta
    12.0
    """
    return replace(law, alpha=alpha, beta=alpha + zone)


def whole_if_needed(law: Vegas, alpha: float) -> float:
    """Alpha as the dialect can hold it.

    >>> whole_if_needed(Vegas(dialect="ns2"), 3.4), whole_if_needed(Vegas(), 3.4)
    (3.0, 3.4)
    """
    return float(max(round(alpha), 1)) if law.implementation.whole_packets else alpha


def smallest_alpha(law: Vegas) -> float:
    """The smallest alpha worth trying, packets."""
    return 1.0 if law.implementation.whole_packets else 0.1


def largest_alpha(network: Network) -> float:
    """More than this no flow can have in the queue, packets: all that the path holds."""
    return network.bandwidth_delay() + sum(link.buffer for link in network.links.values())
