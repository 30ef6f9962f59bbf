"""The alpha with which a Vegas class has a given goodput ratio at equilibrium, for any network.

Brent's method solves for the logarithm of alpha; the logarithm of the ratio is nearly linear in it.
For networks that proofs cover, `proofs` encloses the same alpha.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NamedTuple

import jax.numpy as jnp
from scipy.optimize import root_scalar

from vegasfluid.analysis.equilibria.equilibrium import THEORY, Equilibrium, equilibrium
from vegasfluid.congestion.vegas import Vegas
from vegasfluid.errors import InvalidInput, Unsupported
from vegasfluid.fluid.options import FluidOptions
from vegasfluid.network import Network

__all__ = ["FairAlpha", "fair_alpha", "network_with_alpha", "tuned_class"]

SMALLEST_ALPHA = 0.5
"""Packets: the first alpha of the search; no dialect has a smaller useful one."""
FACTOR = 4.0
"""Factor from one alpha of the search to the next."""
MAX_ALPHAS = 12
"""Bound on the number of alphas tried, so the largest is about 2 million packets."""
TOLERANCE = 1e-10
"""Tolerance on the natural logarithm of alpha."""
BETA_ABOVE_ALPHA = 2.0
"""Beta minus alpha, packets; with losses the equilibrium does not depend on beta."""


class FairAlpha(NamedTuple):
    """An alpha with which a class has the wanted goodput ratio.

    Args:
        alpha: packets, in the units of the dialect.
        equilibrium: equilibrium of the network with this alpha.
    """

    alpha: float
    equilibrium: Equilibrium


def tuned_class(network: Network, given: str | None = None) -> str | None:
    """The name of the Vegas class that is tuned: `given`, or else the network's only Vegas class.

    Without a given class it is None if not exactly one class is Vegas, or if there is no other
    class.

    Raises:
        InvalidInput: if the given class does not exist or is not Vegas.
    """
    vegas = [name for name, flows in network.flows.items() if isinstance(flows.law, Vegas)]
    if given is None:
        return vegas[0] if len(vegas) == 1 and len(network.flows) > 1 else None
    if given not in vegas:
        raise InvalidInput("analyse", "--tune", "a class of Vegas flows", given)
    return given


def network_with_alpha(network: Network, tuned: str, alpha: Any) -> Network:
    """A copy of the network with this alpha (packets) for class `tuned`, and beta 2 packets above.

    Alpha may be fractional, also for dialects that take whole packets only.
    """
    law = network.flows[tuned].law
    value = jnp.asarray(alpha)  # dialects check only plain numbers for whole packets
    return network.with_law(tuned, replace(law, alpha=value, beta=value + BETA_ABOVE_ALPHA))


def fair_alpha(
    network: Network, tuned: str, ratio: float = 1.0, options: FluidOptions = THEORY
) -> FairAlpha | None:
    """The alpha with which a tuned flow has `ratio` times the goodput of a flow of other classes.

    Args:
        network: with at least two flow classes.
        tuned: the Vegas class whose alpha is varied; beta is always two packets larger.
        ratio: wanted ratio of goodputs, above 0.
        options: switches of the fluid model (`FluidOptions`).

    Returns:
        The alpha (packets) and the equilibrium with it. None if an alpha of 0.5 packets already
        gives more than the ratio, or if no alpha up to 2 million packets gives more (with a large
        alpha losses limit a Vegas flow, so the ratio has a largest value).

    Raises:
        InvalidInput: for a class that is not Vegas, or a ratio that is not above 0.
        Unsupported: for a network with one flow class.
        SolveFailed: if no equilibrium is found.
    """
    if not isinstance(network.flow_class(tuned).law, Vegas):
        raise InvalidInput("fair_alpha", "tuned", "a class of Vegas flows", tuned)
    if not 0 < ratio < math.inf:
        raise InvalidInput("fair_alpha", "ratio", "above 0 and finite", ratio)
    if len(network.flows) < 2:
        raise Unsupported("fair_alpha", "a single flow class", "a ratio needs two classes")

    def excess(log_alpha: float) -> float:
        """(r - wanted) / (r + wanted) of the goodput ratio r at equilibrium, for log(alpha).

        It is tanh(log(r / wanted) / 2), which is defined also where one of the goodputs is 0.
        """
        point = equilibrium(network_with_alpha(network, tuned, math.exp(log_alpha)), options)
        mine, wanted = point.mean(tuned, "goodput"), ratio * point.goodput_of_others(tuned)
        return (mine - wanted) / (mine + wanted) if mine + wanted > 0 else 0.0

    low = high = math.log(SMALLEST_ALPHA)
    for _ in range(MAX_ALPHAS):
        if excess(high) > 0:
            break
        low, high = high, high + math.log(FACTOR)
    else:
        return None
    if low == high:
        return None
    root = root_scalar(excess, bracket=(low, high), xtol=TOLERANCE, rtol=TOLERANCE).root
    alpha = math.exp(root)
    return FairAlpha(alpha, equilibrium(network_with_alpha(network, tuned, alpha), options))
