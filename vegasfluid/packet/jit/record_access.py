"""Access to the arrays of a run from machine code: a record by its address.

A run is handed to machine code as one record (`TABLE`) of the addresses and sizes of its arrays: a
call passes one pointer instead of a hundred numbers, which halves the compile time. An access is a
few LLVM instructions: the address of the array plus the offset of the record.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from vegasfluid.packet.state import COUNTS, Simulation

__all__ = ["SIGNATURE", "record_accessors", "table_of"]

INT64 = ir.IntType(64)
"""LLVM's type of 64-bit integers."""

TABLE = np.dtype([(name, np.int64) for name in (*Simulation._fields, *COUNTS)], align=True)
"""A simulation in machine code: the address of each array, and the sizes."""


SIGNATURE = (numba.from_dtype(TABLE),)
"""Types of the arguments of a kernel, for Numba: one such record."""


class Access(NamedTuple):
    """How an accessor of `vegasfluid.packet.state` finds a record.

    Args:
        array: name of the array.
        sizes: names of the lengths of its axes.
        circular: whether the last index is taken modulo its axis, whose length is a power of two.
    """

    array: str
    sizes: tuple[str, ...]
    circular: bool = False


ACCESSORS = {
    "flow_of": Access("flows", ("flow_count",)),
    "initial_of": Access("initial", ("flow_count",)),
    "hop_of": Access("hops", ("flow_count", "hop_count")),
    "link_of": Access("links", ("link_count",)),
    "packet_of": Access("packets", ("flow_count", "hop_count", "slot_count"), True),
    "slot_of": Access("slots", ("flow_count", "slot_count"), True),
    "waiting_of": Access("waiting", ("link_count", "waiting_count"), True),
    "change_of": Access("changes", ("change_count",)),
    "time_of": Access("times", ("sample_count",)),
    "flow_sample_of": Access("flow_samples", ("sample_count", "flow_count")),
    "link_sample_of": Access("link_samples", ("sample_count", "link_count")),
    "bin_of": Access("bins", ("bin_count", "link_count")),
    "queue_of": Access("queues", ("queue_count",)),
    "heap_of": Access("heap", ("entry_count",)),
}
"""The accessors of `vegasfluid.packet.state` by name."""


def table_of(sim: Simulation) -> Any:
    """Record of the addresses of a simulation's arrays and of their sizes, for machine code.

    It is valid as long as `sim` exists.
    """
    table = np.zeros(1, TABLE)
    for name, array in zip(Simulation._fields, sim, strict=True):
        table[name] = array.ctypes.data
    for name in COUNTS:
        table[name] = getattr(sim, name)
    return table.view(np.recarray)[0]


def record_accessors(layout: Mapping[str, np.dtype]) -> dict[str, Any]:
    """Machine-code versions of the accessors of `vegasfluid.packet.state`, by name.

    Args:
        layout: the record type of each array of a `Simulation`.
    """
    return {name: accessor(layout[each.array], each) for name, each in ACCESSORS.items()}


def table_entry(builder: Any, table: Any, name: str) -> Any:
    """LLVM value of field `name` of the table of addresses and sizes: a 64-bit integer.

    The read is marked as invariant, as no code writes there.
    """
    start = builder.bitcast(table, INT64.as_pointer())
    value = builder.load(builder.gep(start, [INT64((TABLE.names or ()).index(name))]))
    value.set_metadata("invariant.load", builder.module.add_metadata([]))
    return value


def accessor(dtype: np.dtype, access: Access) -> Any:
    """Numba intrinsic `(table, *indices)` that returns a record of an array by its address.

    Args:
        dtype: type of the array's records.
        access: the array and its axes.
    """
    record = numba.from_dtype(dtype)
    last = len(access.sizes) - 1

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        """Emit the LLVM instructions that compute the address of a record from its indices."""
        table, *indices = arguments
        position = INT64(0)
        for axis, (size, index) in enumerate(zip(access.sizes, indices, strict=True)):
            length = table_entry(builder, table, size)
            if axis == last and access.circular:
                index = builder.and_(index, builder.sub(length, INT64(1)))
            position = index if axis == 0 else builder.add(builder.mul(position, length), index)
        offset = builder.mul(position, INT64(dtype.itemsize))
        address = builder.add(table_entry(builder, table, access.array), offset)
        return builder.inttoptr(address, context.get_value_type(record))

    def typed(table: Any, *indices: Any) -> Any:
        """Numba signature of the intrinsic, and the function that generates its code."""
        return record(table, *(types.int64 for _ in indices)), generate

    by_axes: Any = [None, lambda typing, sim, a: typed(sim, a)]
    by_axes += [lambda typing, sim, a, b: typed(sim, a, b)]
    by_axes += [lambda typing, sim, a, b, c: typed(sim, a, b, c)]
    return intrinsic(by_axes[len(access.sizes)])
