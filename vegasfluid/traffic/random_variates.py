"""Random times and sizes, from uniform numbers that the packet simulator draws.

Sources:
    Inversion: P(X > x) = exp(-x / mean) and, for Pareto, (smallest / x)^shape.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

__all__ = ["exponential", "pareto"]

uniform: Callable[[Any], float]
"""A number from 0 to below 1 from a flow's own source; bound by `vegasfluid.packet.compiler`."""


def exponential(source: Any, mean: float) -> float:
    """A number that is exponentially distributed."""
    return -mean * math.log(1.0 - uniform(source))


def pareto(source: Any, mean: float, shape: float) -> float:
    """A number that is Pareto distributed, with a shape above 1."""
    smallest = mean * (shape - 1.0) / shape
    return smallest * (1.0 - uniform(source)) ** (-1.0 / shape)
