"""Linear stability of an equilibrium, its gain and delay margins, and critical parameter values.

All results are for the linearised equations, so they hold for small disturbances.

Sources:
    C. Hollot, V. Misra, D. Towsley and W.-B. Gong, "A control theoretic analysis of RED", INFOCOM
    2001 (the linear system of Reno over RED; abstract read, derived anew).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import root_scalar

from vegasfluid.analysis.equilibria.equilibrium import THEORY, Equilibrium, equilibrium
from vegasfluid.analysis.linear_stability.linearisation import linearise
from vegasfluid.analysis.linear_stability.margins import delay_margin, gain_margin, nyquist_loci
from vegasfluid.analysis.linear_stability.spectrum import rightmost_roots
from vegasfluid.errors import InvalidInput
from vegasfluid.fluid.options import FluidOptions
from vegasfluid.network import Network

__all__ = ["Stability", "critical_value", "stability"]


@dataclass(frozen=True)
class Stability:
    """Linear stability of an equilibrium.

    Args:
        stable: whether small disturbances decay.
        roots: the rightmost roots of the characteristic function, 1/s, the rightmost first.
        gain_margin: factor on the queues' feedback (drop probability and delayed round-trip times)
            at which stability ends; below 1 for an unstable network; None if no factor changes the
            stability.
        delay_margin: additional delay of the feedback, s, at which a stable network starts to
            oscillate; None if it is unstable or no delay makes it oscillate.
        hopf_frequency: frequency of the oscillation that starts at the gain margin, rad/s; None
            without a gain margin.
    """

    stable: bool
    roots: tuple[complex, ...]
    gain_margin: float | None
    delay_margin: float | None
    hopf_frequency: float | None

    @property
    def rightmost_root(self) -> complex:
        """The root with the largest real part, 1/s; the network is stable if that is negative."""
        return self.roots[0]

    @property
    def text(self) -> str:
        """One sentence: stable or not, rightmost root (1/s), margins (a factor, ms), period (s).

        Margins and period that do not exist are left out.
        """
        root = self.rightmost_root
        words = [f"rightmost root {root.real:.3g} {root.imag:+.3g}i /s"]
        if self.gain_margin is not None:
            words.append(f"gain margin {self.gain_margin:.3g}")
        if self.delay_margin is not None:
            words.append(f"delay margin {self.delay_margin * 1e3:.3g} ms")
        if self.hopf_frequency is not None:
            period = 2 * math.pi / self.hopf_frequency
            words.append(f"period at the stability boundary {period:.3g} s")
        return f"{'stable' if self.stable else 'unstable'}: {', '.join(words)}."


def stability(network: Network | Equilibrium, options: FluidOptions = THEORY) -> Stability:
    """Linear stability of a network's equilibrium, with gain and delay margin.

    Args:
        network: the network, or an equilibrium of it.
        options: switches of the fluid model (`FluidOptions`); not used with an equilibrium, which
            has its own.

    Returns:
        Whether the equilibrium is stable, its rightmost roots (1/s), the gain margin (a factor),
        the delay margin (s) and the frequency at which oscillations start (rad/s).

    Raises:
        Unsupported: for a continuum of equilibria, a full buffer, or a network without equilibrium.
        SolveFailed: if no equilibrium is found, or not its rightmost root.

    >>> from vegasfluid import Flows, Link, Red, Reno
    >>> link = Link(1000.0, 200, Red(min_thresh=50, max_thresh=150))
    >>> stability(Network(link, {"reno": Flows(10, Reno(), base_rtt=0.05)})).stable
    True
    """
    point = network if isinstance(network, Equilibrium) else equilibrium(network, options)
    loop = linearise(point)
    roots = rightmost_roots(loop.closed_loop)
    stable = bool(roots[0].real < 0)
    loci = nyquist_loci(loop)
    gain = gain_margin(loci)
    if gain is not None and (gain.margin > 1) != stable:
        gain = None  # the instability does not come from the queues' feedback
    delay = delay_margin(loci) if stable else None
    return Stability(
        stable,
        tuple(complex(root) for root in roots),
        None if gain is None else gain.margin,
        None if delay is None else delay.margin,
        None if gain is None else gain.frequency,
    )


def critical_value(
    network_of: Callable[[float], Network],
    low: float,
    high: float,
    options: FluidOptions = THEORY,
) -> float:
    """The value of a parameter at which the network's equilibrium changes its stability.

    Args:
        network_of: makes the network with a value of the parameter.
        low: a value at which the equilibrium is stable, or one at which it is unstable.
        high: a value at which the opposite holds.
        options: switches of the fluid model (`FluidOptions`).

    Returns:
        The value, in the unit of the parameter, to a relative accuracy of 1e-9.

    Raises:
        InvalidInput: if the network is stable at both values, or at neither.
        Unsupported: where an equilibrium has no Jacobian.
        SolveFailed: if no equilibrium is found at a value, or not its rightmost root.
    """

    def largest_real_part(value: float) -> float:
        """Real part of the rightmost root with a value of the parameter, 1/s."""
        point = equilibrium(network_of(value), options)
        return float(np.real(rightmost_roots(linearise(point).closed_loop)[0]))

    ends = largest_real_part(low), largest_real_part(high)
    if ends[0] * ends[1] > 0:
        both = "stable" if ends[0] < 0 else "unstable"
        allowed = f"one stable and one unstable value (both are {both})"
        raise InvalidInput("critical_value", "low and high", allowed, (low, high))
    return root_scalar(largest_real_part, bracket=(low, high), xtol=1e-300, rtol=1e-9).root
