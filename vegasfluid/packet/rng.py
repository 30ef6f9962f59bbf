"""A random number generator with equal results in Python and in machine code: xorshift128+.

Each flow and each link has its own generator, the fields `rng_a` and `rng_b` (uint64) of its
record. A draw leaves the other generators unchanged, so that runs with another parameter of a
congestion control use common random numbers.

Sources:
    S. Vigna, "Further scramblings of Marsaglia's xorshift generators", J. Comput. Appl. Math.
    315, 2017 (xorshift128+ with shifts 23, 17, 26).
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["uniform"]


def uniform(source: Any) -> float:
    """Draw a uniform number in [0, 1) from the generator of a flow or a link."""
    a, b = source.rng_a, source.rng_b
    a ^= a << np.uint64(23)
    mixed = a ^ b ^ (a >> np.uint64(17)) ^ (b >> np.uint64(26))
    source.rng_a = b
    source.rng_b = mixed
    return float((mixed + b) >> np.uint64(11)) / 9007199254740992.0
