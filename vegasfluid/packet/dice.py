"""Random numbers that are the same in Python and in machine code.

Whoever draws has a source of its own: a record with the fields `dice_a` and `dice_b` (uint64). What
one draws changes nothing for the others, so that runs with another parameter of a law meet the
same numbers.

Sources:
    S. Vigna, "Further scramblings of Marsaglia's xorshift generators", J. Comput. Appl. Math.
    315, 2017 (xorshift128+ with shifts 23, 17, 26).
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["uniform"]


def uniform(source: Any) -> float:
    """A number from 0 to below 1."""
    a, b = source.dice_a, source.dice_b
    a ^= a << np.uint64(23)
    mixed = a ^ b ^ (a >> np.uint64(17)) ^ (b >> np.uint64(26))
    source.dice_a = b
    source.dice_b = mixed
    return float((mixed + b) >> np.uint64(11)) / 9007199254740992.0
