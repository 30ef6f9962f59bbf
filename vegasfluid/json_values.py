"""Values as JSON writes them: no NumPy numbers, and null for NaN and infinities."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

__all__ = ["json_value"]


def json_value(value: Any) -> Any:
    """Copy of `value` with NumPy numbers as Python numbers, and NaN and infinities as None.

    The same holds for all values inside dicts, lists and tuples; tuples become lists. A NumPy
    array must have one element, and becomes a number.

    >>> json_value({"ratio": float("nan"), "runs": (1, 2.5)})
    {'ratio': None, 'runs': [1, 2.5]}
    """
    if isinstance(value, Mapping):
        return {key: json_value(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [json_value(part) for part in value]
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
