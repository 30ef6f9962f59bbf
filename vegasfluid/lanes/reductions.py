"""JAX's operations that join the elements of an array along axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from vegasfluid.lanes.builder import BOOL, Item, constant
from vegasfluid.lanes.combining import combined
from vegasfluid.lanes.elementwise import operate
from vegasfluid.lanes.indexing import Indexing
from vegasfluid.lanes.memory import Small, Value

__all__ = ["CUMULATIVE", "EXTREMES", "REDUCTIONS", "Reductions"]

REDUCTIONS = {
    "reduce_sum": "add",
    "reduce_prod": "mul",
    "reduce_max": "max",
    "reduce_min": "min",
    "reduce_and": "and",
    "reduce_or": "or",
    "reduce_xor": "xor",
}
"""Reductions along axes, with the operation that joins two elements."""
CUMULATIVE = {"cumsum": "add", "cumprod": "mul", "cummax": "max", "cummin": "min"}
"""Cumulative reductions along an axis, with the operation that joins two elements."""
EXTREMES = {"argmin": "lt", "argmax": "gt"}
"""Indices of extremes, with the comparison that a more extreme element satisfies."""


def neutral(name: str, dtype: np.dtype) -> Any:
    """The number that leaves any other unchanged in the operation `name`, of type `dtype`.

    Args:
        name: add, mul, max, min, and, or, xor.
        dtype: type of the elements.

    >>> float(neutral("max", np.dtype(float))), int(neutral("and", np.dtype(np.int8)))
    (-inf, -1)
    """
    if name in ("max", "min") and dtype.kind == "f":
        return dtype.type(-np.inf if name == "max" else np.inf)
    if name in ("max", "min") and dtype.kind != "b":
        limits = np.iinfo(dtype)
        return dtype.type(limits.min if name == "max" else limits.max)
    if name == "and" and dtype.kind != "b":
        return np.invert(dtype.type(0))
    return dtype.type(name in ("mul", "and", "min"))


class Reductions(Indexing):
    """Sums, extremes and cumulative operations; gathers and scatters are in its base class."""

    def reduced(self, name: str, axes: Sequence[int], value: Value) -> Value:
        """The sum, product, maximum, ... of an array's elements along axes, without these axes.

        `name` is the operation: add, mul, max, min, and, or, xor.

        Along axes without elements the result is what changes no other number: 0, 1, infinity, ...

        Raises:
            NoLaneKernel: if the array is not in registers.
        """
        small = self.registers(value)
        numbers = np.arange(len(small.items)).reshape(small.shape)
        kept = [axis for axis in range(numbers.ndim) if axis not in axes]
        shape = tuple(small.shape[axis] for axis in kept)
        size = math.prod(small.shape[axis] for axis in axes)
        rows = numbers.transpose([*kept, *axes]).reshape(math.prod(shape), size)
        none = [] if size else [constant(neutral(name, small.dtype), small.dtype)]
        items = tuple(combined(self.b, name, [small.items[n] for n in row] or none) for row in rows)
        return Small(shape, small.dtype, items)

    def extreme(self, better: str, params: Any, value: Value) -> Value:
        """The index of the first least or greatest element along an axis; nan counts as extreme.

        Args:
            better: the comparison (lt or gt) that a more extreme element satisfies.
            params: JAX's parameters: the axis, and the type of the index.
            value: the array.

        Raises:
            NoLaneKernel: if the array is not in registers.
        """
        small, (axis,) = self.registers(value), params["axes"]
        dtype = np.dtype(params["index_dtype"])
        numbers = np.moveaxis(np.arange(len(small.items)).reshape(small.shape), axis, -1)
        items = []
        for row in numbers.reshape(-1, small.shape[axis]):
            best, index = small.items[row[0]], constant(0, dtype)
            for place, number in enumerate(row[1:], 1):
                item = small.items[number]
                further = self.is_further(better, item, best)
                index = operate(
                    self.b, "select_n", None, dtype, further, index, constant(place, dtype)
                )
                best = operate(self.b, "select_n", None, small.dtype, further, best, item)
            items.append(index)
        return Small(numbers.shape[:-1], dtype, tuple(items))

    def is_further(self, better: str, item: Item, best: Item) -> Item:
        """Whether an element is more extreme than the best so far: by `better` (lt or gt), or nan.

        Nothing is more extreme than nan.
        """
        is_nan = operate(self.b, "ne", None, BOOL, item, item)
        known = operate(self.b, "eq", None, BOOL, best, best)
        first_nan = operate(self.b, "and", None, BOOL, is_nan, known)
        return operate(
            self.b, "or", None, BOOL, operate(self.b, better, None, BOOL, item, best), first_nan
        )

    def cumulated(self, name: str, params: Any, value: Value) -> Value:
        """Cumulative sums, products or extremes (operation `name`) along an axis of an array.

        `params` has the `axis`, and `reverse`: whether to cumulate from its end.

        Raises:
            NoLaneKernel: if the array is not in registers.
        """
        small = self.registers(value)
        items, axis = list(small.items), params["axis"]
        numbers = np.arange(len(items)).reshape(small.shape)
        rows = np.moveaxis(numbers, axis, -1).reshape(-1, max(small.shape[axis], 1))
        for row in rows[:, ::-1] if params["reverse"] else rows:
            for before, here in pairwise(row):
                pair = items[before], items[here]
                items[here] = operate(self.b, name, None, small.dtype, *pair)
        return Small(small.shape, small.dtype, tuple(items))
