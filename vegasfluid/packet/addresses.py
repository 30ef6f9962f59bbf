"""The functions of `memory` for machine code: a record by its address.

Each is a few instructions in place, without a call: the address of the array, and the place in it
by the sizes of its axes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from vegasfluid.packet.memory import PLACES, TABLE

__all__ = ["addressed"]

WORD = ir.IntType(64)


def addressed(layout: Mapping[str, np.dtype]) -> dict[str, Any]:
    """The functions by name, for arrays of these types."""
    return {
        name: record_function(layout[array], array, sizes, goes_round)
        for name, (array, sizes, goes_round) in PLACES.items()
    }


def entry_of(builder: Any, table: Any, name: str) -> Any:
    """The value of a field of the table, which LLVM may keep: nothing writes there."""
    start = builder.bitcast(table, WORD.as_pointer())
    value = builder.load(builder.gep(start, [WORD((TABLE.names or ()).index(name))]))
    value.set_metadata("invariant.load", builder.module.add_metadata([]))
    return value


def record_function(dtype: np.dtype, array: str, sizes: tuple[str, ...], goes_round: bool) -> Any:
    """A function of the table and as many whole numbers as the array has axes."""
    record = numba.from_dtype(dtype)
    last = len(sizes) - 1

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        table, *places = arguments
        place = WORD(0)
        for axis, (size, index) in enumerate(zip(sizes, places, strict=True)):
            length = entry_of(builder, table, size)
            if axis == last and goes_round:
                index = builder.and_(index, builder.sub(length, WORD(1)))
            place = index if axis == 0 else builder.add(builder.mul(place, length), index)
        offset = builder.mul(place, WORD(dtype.itemsize))
        address = builder.add(entry_of(builder, table, array), offset)
        return builder.inttoptr(address, context.get_value_type(record))

    def typed(table: Any, *places: Any) -> Any:
        return record(table, *(types.int64 for _ in places)), generate

    one: Any = [None, lambda typing, sim, a: typed(sim, a)]
    one += [lambda typing, sim, a, b: typed(sim, a, b)]
    one += [lambda typing, sim, a, b, c: typed(sim, a, b, c)]
    return intrinsic(one[len(sizes)])
