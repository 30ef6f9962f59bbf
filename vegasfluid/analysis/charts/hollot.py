"""Hollot's sufficient condition and phase margin, beside the exact edge.

Source:
    C. Hollot, V. Misra, D. Towsley and W.-B. Gong, "A control theoretic analysis of RED", INFOCOM
    2001 (abstract read; their sufficient condition as later papers quote it: the wording of the
    theorem was not checked against the original).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from vegasfluid.analysis.charts.edges import zero
from vegasfluid.analysis.charts.points import marking, reno_point

if TYPE_CHECKING:
    from vegasfluid.analysis.equilibria.equilibrium import Equilibrium

__all__ = ["Sufficient", "hollot_phase_margin", "hollot_sufficient"]


class Sufficient(NamedTuple):
    """The sufficient condition of Hollot and others, and the verdict of the chart.

    Args:
        lhs: the side that grows with the gain.
        rhs: the side that grows as the average becomes slower.
        holds: whether the first is at most the second: then the network is stable.
        stable: whether it is, by the chart: also where the condition does not hold.
    """

    lhs: float
    rhs: float
    holds: bool
    stable: bool


def hollot_sufficient(rest: Equilibrium) -> Sufficient:
    """The sufficient condition for the stability of Reno over RED, as later papers quote it.

        L (R C)^3 / (2 N)^2 <= sqrt((w / K)^2 + 1),   w = 0.1 min(2 N / (R^2 C), 1 / R)

    with L for p'. It is far from necessary.

    Args:
        rest: of Reno flows with one base RTT.

    Raises:
        InvalidInput: for other networks.

    >>> from vegasfluid import Flows, Link, Network, Red, Reno
    >>> from vegasfluid.analysis import equilibrium
    >>> link = Link(1000.0, 200, Red(min_thresh=50, max_thresh=150))
    >>> network = Network(link, {"reno": Flows(10, Reno(), base_rtt=0.05)})
    >>> found = hollot_sufficient(equilibrium(network))
    >>> f"{found.lhs:.2f}, {found.rhs:.2f}", found.holds, found.stable
    ('2.98, 1.00', False, True)
    """
    own = marking(rest, "hollot_sufficient")
    rhs = math.hypot(0.1 * min(own.poles) / own.rate, 1)
    return Sufficient(own.loop, rhs, own.loop <= rhs, reno_point(rest).stable)


def hollot_phase_margin(rest: Equilibrium) -> float:
    """The phase margin of the loop as Hollot and others simplify it, degrees.

        L K / (s + K) C^2 / (2 N) e^(-s R) / ((s + 2 N / (R^2 C)) (s + 1 / R))

    Args:
        rest: of Reno flows with one base RTT.

    Returns:
        Infinite where its gain is below 1 at all frequencies.

    Raises:
        InvalidInput: for other networks.
    """
    own = marking(rest, "hollot_phase_margin")
    loop, all_poles = own.loop, np.array([own.rate, *own.poles])
    if loop <= 1:
        return math.inf

    def excess(omega: float) -> float:
        return math.log(loop) - float(np.sum(np.log(np.hypot(1, omega / all_poles))))

    crossing = zero(excess, 0.0, loop * max(own.poles))
    turned = crossing * own.group.place["rtt"] + float(np.sum(np.arctan(crossing / all_poles)))
    return 180 - math.degrees(turned)
