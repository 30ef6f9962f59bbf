"""Range of alpha and beta on the plane, which contains the fair alpha of the theory."""

from __future__ import annotations

import contextlib
from typing import Any

from vegasfluid.errors import VegasfluidError
from vegasfluid.network import Network
from vegasfluid.tuning.initial_guess import guess_alpha
from vegasfluid.tuning.parameters import largest_alpha, vegas_classes

__all__ = ["alpha_ranges"]

BEYOND = 1.7
"""Upper end of the range over the larger of the fair alpha and the given beta; chosen."""
SMALLEST_END = 10.0
"""Smallest upper end of the range, packets, unless the network holds fewer."""


def alpha_ranges(network: Network) -> dict[str, tuple[float, float]]:
    """Lower and upper end of the range of alpha and beta of each Vegas class, packets, by its name.

    The lower end is 1. The upper one is 1.7 times the larger of beta and the fair alpha (beta alone
    if there is no other class, or no theory), at least 10. It is at most the bandwidth-delay
    product plus all buffers, and has two digits.
    """
    ranges = {}
    for name in vegas_classes(network):
        law: Any = network.flows[name].law
        high = float(law.beta)
        if len(network.flows) > 1:
            with contextlib.suppress(VegasfluidError, ArithmeticError):
                high = max(high, guess_alpha(network, name, 1.0).alpha)
        end = min(max(BEYOND * high, SMALLEST_END), largest_alpha(network))
        ranges[name] = (1.0, float(f"{end:.2g}"))
    return ranges
