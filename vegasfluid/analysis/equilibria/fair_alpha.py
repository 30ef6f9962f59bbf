"""The alpha at which a Vegas class gets its share at rest: by numbers, for any network.

Rest is found anew at each alpha and the ratio of the rates compared (Brent's method in the
logarithms of both, as the one follows the other by a power of it, nearly). Where proofs cover the
network, `proofs` encloses the same alpha.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NamedTuple

import jax.numpy as jnp
from scipy.optimize import root_scalar

from vegasfluid.analysis.equilibria.equilibrium import THEORY, Equilibrium, equilibrium
from vegasfluid.congestion.vegas import Vegas
from vegasfluid.errors import InvalidInput
from vegasfluid.fluid.options import FluidOptions
from vegasfluid.network import Network

__all__ = ["Fair", "fair_alpha", "tuned_class", "with_alpha"]

SMALLEST, FACTOR, ROUNDS = 0.5, 4.0, 12
"""Packets at which the search begins, and by how much it goes up, how often."""
EXACT = 1e-10
ABOVE = 2.0
"""Beta above alpha, packets; at rest with losses it does not count."""


class Fair(NamedTuple):
    """Where a class gets its share.

    Args:
        alpha: packets, in the measure of the dialect.
        rest: the equilibrium there.
    """

    alpha: float
    rest: Equilibrium


def tuned_class(network: Network, given: str | None = None) -> str | None:
    """The class of Vegas flows that is tuned: the one given, or the only one; None if none is.

    Raises:
        InvalidInput: for a class that is unknown, or is no Vegas.
    """
    vegas = [name for name, flows in network.flows.items() if isinstance(flows.law, Vegas)]
    if given is None:
        return vegas[0] if len(vegas) == 1 and len(network.flows) > 1 else None
    if given not in vegas:
        raise InvalidInput("analyse", "--tune", "a class of Vegas flows", given)
    return given


def with_alpha(network: Network, tuned: str, alpha: Any) -> Network:
    """The network with another alpha, which need not be whole; beta stays out of the way."""
    law = network.flows[tuned].law
    value = jnp.asarray(alpha)  # no number of a file: a dialect of whole packets takes it, too
    return network.with_law(tuned, replace(law, alpha=value, beta=value + ABOVE))


def fair_alpha(
    network: Network, tuned: str, ratio: float = 1.0, options: FluidOptions = THEORY
) -> Fair | None:
    """The alpha at which a tuned flow gets `ratio` times what a flow of the others gets.

    Args:
        network: links, and classes of flows.
        tuned: the Vegas class.
        ratio: of goodputs, above 0.
        options: switches of the fluid model (`FluidOptions`).

    Returns:
        None where no alpha reaches the ratio: Vegas answers losses itself, and saturates.

    Raises:
        InvalidInput: where there is nobody to compare with.
    """
    if len(network.flows) < 2:
        raise InvalidInput("fair alpha", "flows", "of two classes at least", "one class")

    def excess(log_alpha: float) -> float:
        rest = equilibrium(with_alpha(network, tuned, math.exp(log_alpha)), options)
        return math.log(rest.ratio(tuned) / ratio)

    low = high = math.log(SMALLEST)
    for _ in range(ROUNDS):
        if excess(high) > 0:
            break
        low, high = high, high + math.log(FACTOR)
    else:
        return None
    if low == high:
        return None
    found = root_scalar(excess, bracket=(low, high), xtol=EXACT, rtol=EXACT)
    alpha = math.exp(found.root)
    return Fair(alpha, equilibrium(with_alpha(network, tuned, alpha), options))
