"""Whether a network stays at rest, how far it is from where it does not, and where that is.

Verdicts are of the linear system near rest, so they hold for small disturbances.

Sources:
    C. Hollot, V. Misra, D. Towsley and W.-B. Gong, "A control theoretic analysis of RED", INFOCOM
    2001 (the linear system of Reno over RED; abstract read, derived anew).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import root_scalar

from vegasfluid.analysis.equilibria.equilibrium import THEORY, Equilibrium, equilibrium
from vegasfluid.analysis.linear_stability.linearisation import linearise
from vegasfluid.analysis.linear_stability.margins import delay_margin, gain_margin
from vegasfluid.analysis.linear_stability.spectrum import roots
from vegasfluid.errors import InvalidInput
from vegasfluid.fluid.options import FluidOptions
from vegasfluid.network import Network

__all__ = ["Stability", "critical_value", "stability"]


@dataclass(frozen=True)
class Stability:
    """What becomes of small disturbances of rest.

    Args:
        stable: whether they die out.
        roots: the rightmost roots of the characteristic function, 1/s, from the right.
        gain_margin: by how much stronger the queues' signals may be before the network
            oscillates; below 1 it does; None where they do not make it.
        delay_margin: by how much later they may come, s; None where it oscillates already, or
            nothing makes it.
        hopf_frequency: of the oscillation that begins at the gain margin, rad/s.
    """

    stable: bool
    roots: tuple[complex, ...]
    gain_margin: float | None
    delay_margin: float | None
    hopf_frequency: float | None

    @property
    def rightmost_root(self) -> complex:
        """The root that decides, 1/s."""
        return self.roots[0]


def stability(network: Network | Equilibrium, options: FluidOptions = THEORY) -> Stability:
    """Whether a network stays at rest after small disturbances, and by what margins.

    Args:
        network: or its equilibrium, with the options that it was found with.
        options: switches of the fluid model (`FluidOptions`).

    Raises:
        InvalidInput: where rest is a set, or the queue stands at the end of its buffer.
        SolveFailed: where no rest is found.

    >>> from vegasfluid import Flows, Link, Red, Reno
    >>> link = Link(1000.0, 200, Red(min_thresh=50, max_thresh=150))
    >>> stability(Network(link, {"reno": Flows(10, Reno(), base_rtt=0.05)})).stable
    True
    """
    rest = network if isinstance(network, Equilibrium) else equilibrium(network, options)
    loop = linearise(rest)
    found = roots(loop.closed)
    stable = bool(found[0].real < 0)
    gain = gain_margin(loop)
    if gain is not None and (gain.size > 1) != stable:
        gain = None  # it oscillates, or would, with other reasons than the queues' signals
    delay = delay_margin(loop) if stable else None
    return Stability(
        stable,
        tuple(complex(root) for root in found),
        None if gain is None else gain.size,
        None if delay is None else delay.size,
        None if gain is None else gain.frequency,
    )


def critical_value(
    network_of: Callable[[float], Network],
    low: float,
    high: float,
    options: FluidOptions = THEORY,
) -> float:
    """The value of a parameter at which stability is lost or won; rest moves with it.

    Args:
        network_of: the network with a value of the parameter.
        low: a value where it is stable, or is not.
        high: one where it is the other.
        options: switches of the fluid model (`FluidOptions`).

    Raises:
        InvalidInput: where the network is stable at both, or at none.
    """

    def rightmost(value: float) -> float:
        rest = equilibrium(network_of(value), options)
        return float(np.real(roots(linearise(rest).closed)[0]))

    ends = rightmost(low), rightmost(high)
    if ends[0] * ends[1] > 0:
        allowed = "stable at one end, and not at the other"
        both = "stable at both" if ends[0] < 0 else "stable at none"
        raise InvalidInput("critical_value", "low and high", allowed, both)
    return root_scalar(rightmost, bracket=(low, high), xtol=1e-300, rtol=1e-9).root
