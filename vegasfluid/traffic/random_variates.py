"""Random times and sizes, from the packet simulator's uniform variates.

Sources:
    Inversion: P(X > x) = exp(-x / mean) and, for Pareto, (smallest / x)^shape.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

__all__ = ["exponential", "pareto"]

uniform: Callable[[Any], float]
"""Uniform variate in [0, 1) from the generator in a record; set by `vegasfluid.packet.jit`."""


def exponential(source: Any, mean: float) -> float:
    """Exponential variate with the mean `mean`, in the unit of `mean`.

    It is drawn from the generator in the record `source`.
    """
    return -mean * math.log(1.0 - uniform(source))


def pareto(source: Any, mean: float, shape: float) -> float:
    """Pareto variate with the mean `mean`, in the unit of `mean`, and a `shape` above 1.

    It is drawn from the generator in the record `source`.
    """
    smallest = mean * (shape - 1.0) / shape
    return smallest * (1.0 - uniform(source)) ** (-1.0 / shape)
