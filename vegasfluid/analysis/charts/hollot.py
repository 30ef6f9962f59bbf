"""Hollot's sufficient condition and phase margin for Reno over RED, with the exact result.

Source:
    C. Hollot, V. Misra, D. Towsley and W.-B. Gong, "A control theoretic analysis of RED", INFOCOM
    2001 (abstract read; their sufficient condition as later papers quote it: the wording of the
    theorem was not checked against the original).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from vegasfluid.analysis.charts.operating_points import reno_loop, reno_point
from vegasfluid.analysis.charts.stability_boundaries import find_zero

if TYPE_CHECKING:
    from vegasfluid.analysis.equilibria.equilibrium import Equilibrium

__all__ = ["HollotCondition", "hollot_phase_margin", "hollot_sufficient"]


class HollotCondition(NamedTuple):
    """The sufficient condition of Hollot and others, and the exact result of the chart.

    Args:
        lhs: left side of the condition, dimensionless: the loop's steady-state gain.
        rhs: right side, dimensionless; 1 without averaging, larger for a slower average.
        holds: whether `lhs` is at most `rhs`, which is enough for stability.
        stable: whether the network is stable by the exact chart; may be true where `holds` is not.
    """

    lhs: float
    rhs: float
    holds: bool
    stable: bool


def hollot_sufficient(equilibrium: Equilibrium) -> HollotCondition:
    """The sufficient condition for the stability of Reno over RED, as later papers quote it.

        L (R C)^3 / (2 N)^2 <= sqrt((w / K)^2 + 1),   w = 0.1 min(2 N / (R^2 C), 1 / R)

    for N flows, capacity C (packets/s), round-trip time R (s), slope L of the drop probability over
    the averaged queue (1/packets) and rate K of the average (1/s). It is far from necessary.

    Args:
        equilibrium: of Reno flows with one base RTT at one link.

    Returns:
        Both sides, dimensionless, whether the condition holds, and whether the network is stable.

    Raises:
        InvalidInput: for several flow groups or links.
        Unsupported: for flows without Reno, or a drop probability that does not rise with the
            queue alone.

    >>> from vegasfluid import Flows, Link, Network, Red, Reno
    >>> from vegasfluid.analysis import equilibrium
    >>> link = Link(1000.0, 200, Red(min_thresh=50, max_thresh=150))
    >>> network = Network(link, {"reno": Flows(10, Reno(), base_rtt=0.05)})
    >>> condition = hollot_sufficient(equilibrium(network))
    >>> f"{condition.lhs:.2f}, {condition.rhs:.2f}", condition.holds, condition.stable
    ('2.98, 1.00', False, True)
    """
    loop = reno_loop(equilibrium, "hollot_sufficient")
    rhs = math.hypot(0.1 * min(loop.poles) / loop.averaging_rate, 1)
    return HollotCondition(loop.gain, rhs, loop.gain <= rhs, reno_point(equilibrium).stable)


def hollot_phase_margin(equilibrium: Equilibrium) -> float:
    """The phase margin of Reno over RED, degrees, for the loop as Hollot and others simplify it.

        L K / (s + K) C^2 / (2 N) e^(-s R) / ((s + 2 N / (R^2 C)) (s + 1 / R))

    for N flows, capacity C (packets/s), round-trip time R (s), slope L of the drop probability over
    the averaged queue (1/packets) and rate K of the average (1/s).

    Args:
        equilibrium: of Reno flows with one base RTT at one link.

    Returns:
        Degrees, negative if unstable; infinite if the loop gain is at most 1 at all frequencies.

    Raises:
        InvalidInput: for several flow groups or links.
        Unsupported: for flows without Reno, or a drop probability that does not rise with the
            queue alone.
    """
    loop = reno_loop(equilibrium, "hollot_phase_margin")
    poles = np.array([loop.averaging_rate, *loop.poles])
    if loop.gain <= 1:
        return math.inf

    def log_gain(omega: float) -> float:
        """Logarithm of the loop gain at an angular frequency omega, rad/s."""
        return math.log(loop.gain) - float(np.sum(np.log(np.hypot(1, omega / poles))))

    crossover = find_zero(log_gain, 0.0, loop.gain * max(loop.poles))
    lag = crossover * loop.group.values["rtt"] + float(np.sum(np.arctan(crossover / poles)))
    return 180 - math.degrees(lag)
