"""Constant folding: operations on numbers that are known when a program is compiled."""

from __future__ import annotations

import numpy as np

from vegasfluid.lanes.builder import Item, constant

__all__ = ["fold"]

FOLDED = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "eq": np.equal,
    "ne": np.not_equal,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "max": np.maximum,
    "min": np.minimum,
    "neg": np.negative,
    "not": np.invert,
    "div": np.divide,
}
"""NumPy's functions for the operations that are folded."""


def fold(name: str, dtype: np.dtype, items: tuple[Item, ...]) -> Item | None:
    """The result, of type `dtype`, of the operation `name` on constants, as a constant.

    None unless all operands are constants and the operation is one of `FOLDED`. A division of
    integers gives None, too.
    """
    if name not in FOLDED or any(item.value is None for item in items):
        return None
    if name == "div" and dtype.kind != "f":
        return None
    with np.errstate(all="ignore"):
        return constant(FOLDED[name](*(item.value for item in items)), dtype)
