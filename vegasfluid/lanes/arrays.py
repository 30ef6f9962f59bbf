"""JAX's operations that move, select, join and reduce elements of arrays."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from vegasfluid.lanes.builder import (
    INDEX,
    LARGEST_IN_REGISTERS,
    Item,
    Unsupported,
    constant,
)
from vegasfluid.lanes.combining import weighted_sums
from vegasfluid.lanes.elementwise import convert, operate
from vegasfluid.lanes.large_arrays import LargeArrays
from vegasfluid.lanes.memory import (
    Deferred,
    Layout,
    Memory,
    Small,
    Stored,
    Value,
    as_index,
    neighbours,
    number_of,
    plus,
)
from vegasfluid.lanes.nests import nest
from vegasfluid.lanes.reductions import CUMULATIVE, EXTREMES, REDUCTIONS

__all__ = ["LARGEST_TABLE", "MOVES", "Arrays"]

Numbers = Any
"""An array of element numbers (flat indices), in place of the elements themselves."""


def slices(numbers: Numbers, params: Any) -> Numbers:
    """The numbers of the elements that JAX's `slice` with these parameters selects."""
    steps = params["strides"] or (1,) * numbers.ndim
    bounds = zip(params["start_indices"], params["limit_indices"], steps, strict=True)
    return numbers[tuple(slice(*each) for each in bounds)]


def broadcast(numbers: Numbers, params: Any) -> Numbers:
    """The element numbers after JAX's `broadcast_in_dim`, which adds or lengthens axes."""
    shape, axes = params["shape"], params["broadcast_dimensions"]
    sizes = [1] * len(shape)
    for axis, size in zip(axes, numbers.shape, strict=True):
        sizes[axis] = size
    return np.broadcast_to(numbers.reshape(sizes), shape)


MOVES: dict[str, Callable[[Numbers, Any], Numbers]] = {
    "reshape": lambda numbers, params: numbers.reshape(params["new_sizes"]),
    "squeeze": lambda numbers, params: numbers.squeeze(tuple(params["dimensions"])),
    "expand_dims": lambda numbers, params: np.expand_dims(numbers, tuple(params["dimensions"])),
    "transpose": lambda numbers, params: numbers.transpose(params["permutation"]),
    "rev": lambda numbers, params: np.flip(numbers, params["dimensions"]),
    "slice": slices,
    "tile": lambda numbers, params: np.tile(numbers, params["reps"]),
    "broadcast_in_dim": broadcast,
}
"""Operations that only move elements of their operand, as functions of the element numbers."""

READ_ELEMENTWISE = {"concatenate", "stack", "pad", "gather", "split"}
"""Operations, apart from moves and reductions, that can read deferred arrays."""
LARGEST_TABLE = 10_000
"""Largest number of entries of a table in a program (chosen)."""
JOINED = {"scatter-add": "add", "scatter-mul": "mul", "scatter-max": "max", "scatter-min": "min"}
"""Scatters that combine new elements with old ones, with the operation that does."""
WHOLE_ARRAYS = {
    "iota",
    "concatenate",
    "stack",
    "split",
    "unstack",
    "pad",
    "dot_general",
    "dynamic_slice",
    "dynamic_update_slice",
    "gather",
    "scatter",
}
"""Operations that are methods of `Arrays` with the same name."""


class Arrays(LargeArrays):
    """Operations on whole arrays; those on large ones are in its base class."""

    def knows(self, name: str) -> bool:
        """Whether this class can translate JAX's operation of this name, such as `reduce_sum`."""
        groups = (WHOLE_ARRAYS, MOVES, REDUCTIONS, EXTREMES, CUMULATIVE, JOINED)
        return any(name in known for known in groups)

    def operate(self, equation: Any, values: Sequence[Value]) -> list[Value]:
        """The results of an equation (a JAX operation on whole arrays) for the operands `values`.

        Raises:
            NoLaneKernel: if it cannot be translated, for example because an array is too large.
        """
        name, params = equation.primitive.name, equation.params
        if name in MOVES:
            return [self.moved(name, params, values[0], equation.outvars[0].aval.shape)]
        if name in REDUCTIONS:
            small = self.b.in_registers(values[0].shape)
            reduced = self.reduced if small else self.reduced_large
            return [reduced(REDUCTIONS[name], params["axes"], values[0])]
        if name not in READ_ELEMENTWISE:
            values = [self.settled(value) for value in values]
        if name in EXTREMES:
            return [self.extreme(EXTREMES[name], params, values[0])]
        if name in CUMULATIVE:
            small = self.b.in_registers(values[0].shape)
            cumulated = self.cumulated if small else self.cumulated_large
            return [cumulated(CUMULATIVE[name], params, values[0])]
        if name in JOINED:
            return self.combined(JOINED[name], equation, *values)
        results: list[Value] = getattr(self, name)(equation, *values)
        return results

    def moved(self, name: str, params: Any, value: Value, shape: tuple[int, ...]) -> Value:
        """The result, of shape `shape`, of JAX's operation `name`, which only moves elements."""
        if isinstance(value, Small) and self.b.in_registers(shape):
            numbers = MOVES[name](np.arange(len(value.items)).reshape(value.shape), params)
            items = tuple(value.items[number] for number in numbers.ravel())
            return Small(shape, value.dtype, items)
        if name != "tile" and not (isinstance(value, Stored) and self.b.in_registers(shape)):
            return self.moved_large(name, params, value, shape)
        stored = self.scratch.spilled(value)
        size = math.prod(value.shape)
        numbers = np.ascontiguousarray(MOVES[name](np.arange(size).reshape(value.shape), params))
        return self.picked(stored, numbers.ravel(), shape)

    def picked(self, stored: Stored, numbers: np.ndarray, shape: tuple[int, ...]) -> Value:
        """A new array of shape `shape`: the elements with these numbers of an array in memory."""
        if self.b.in_registers(shape):
            items = self.read_at(stored, constant(0, INDEX), numbers.tolist())
            return Small(shape, stored.dtype, tuple(items))
        if not np.array_equal(numbers, numbers[0] + np.arange(numbers.size)):
            return self.permuted(stored, numbers, shape)
        offset = plus(self.b, stored.offset, constant(numbers[0], INDEX))
        return self.loaded(Stored(shape, stored.memory, offset), shape)

    def permuted(self, stored: Stored, numbers: np.ndarray, shape: tuple[int, ...]) -> Stored:
        """A new array in memory: the elements with these numbers, copied in a loop over a table.

        Raises:
            Unsupported: for more than 10 000 elements.
        """
        if numbers.size > LARGEST_TABLE:
            raise Unsupported(f"a permutation of {numbers.size} elements")
        small = numbers.astype(np.int32)
        table = Memory((self.b.table(small),), small.dtype, Layout.SHARED)
        target = self.scratch.array(shape, stored.dtype, stored.varying)
        with self.b.loop(constant(numbers.size, INDEX)) as index:
            item = stored.load(self.b, table.load(self.b, index))
            target.memory.store(self.b, index, item)
        return target

    def iota(self, equation: Any) -> list[Value]:
        """JAX's `iota`: an array of the indices 0, 1, 2, ... along one of its axes."""
        shape, axis = equation.params["shape"], equation.params["dimension"]
        dtype = np.dtype(equation.params["dtype"])
        if not self.b.in_registers(shape):
            return [
                Deferred(
                    shape,
                    dtype,
                    varying=False,
                    memories=(),
                    compute=lambda index: convert(self.b, index[axis], dtype),
                    cheap=True,
                )
            ]
        numbers = np.indices(shape)[axis].ravel()
        return [Small(shape, dtype, tuple(constant(number, dtype) for number in numbers))]

    def concatenate(self, equation: Any, *values: Value) -> list[Value]:
        """JAX's `concatenate`: arrays joined along an axis that they have."""
        axis, shape = equation.params["dimension"], equation.outvars[0].aval.shape
        if not self.b.in_registers(shape):
            return [self.together_large(values, axis, shape)]
        return [self.together(values, [value.shape for value in values], axis, shape)]

    def stack(self, equation: Any, *values: Value) -> list[Value]:
        """JAX's `stack`: arrays joined along a new axis."""
        axis, shape = equation.params["axis"], equation.outvars[0].aval.shape
        if not self.b.in_registers(shape):
            return [self.together_large(values, axis, shape, new=True)]
        shapes = [(*value.shape[:axis], 1, *value.shape[axis:]) for value in values]
        return [self.together(values, shapes, axis, shape)]

    def together(
        self,
        values: Sequence[Value],
        shapes: Sequence[tuple[int, ...]],
        axis: int,
        shape: tuple[int, ...],
    ) -> Value:
        """Arrays, reshaped to `shapes`, joined along an axis; the result has shape `shape`."""
        small = [self.registers(value) for value in values]
        items = [item for value in small for item in value.items]
        starts = np.cumsum([0, *(len(value.items) for value in small)])[:-1]
        numbers = [
            start + np.arange(math.prod(part)).reshape(part)
            for start, part in zip(starts, shapes, strict=True)
        ]
        order = np.concatenate(numbers, axis).ravel()
        return Small(shape, values[0].dtype, tuple(items[number] for number in order))

    def split(self, equation: Any, value: Value) -> list[Value]:
        """JAX's `split`: the parts, of the given sizes, of an array divided along an axis."""
        axis, sizes = equation.params["axis"], equation.params["sizes"]
        if not self.b.in_registers(value.shape):
            return [
                self.seen_through(value, variable.aval.shape, self.shifted(axis, begin))
                for variable, begin in zip(
                    equation.outvars, np.cumsum([0, *sizes]).tolist(), strict=False
                )
            ]
        small = self.registers(value)
        numbers = np.arange(len(small.items)).reshape(small.shape)
        parts = np.split(numbers, np.cumsum(sizes)[:-1], axis)
        return [
            Small(part.shape, small.dtype, tuple(small.items[n] for n in part.ravel()))
            for part in parts
        ]

    def unstack(self, equation: Any, value: Value) -> list[Value]:
        """JAX's `unstack`: the slices of an array along an axis, without this axis."""
        small = self.registers(value)
        numbers = np.arange(len(small.items)).reshape(small.shape)
        return [
            Small(part.shape, small.dtype, tuple(small.items[n] for n in part.ravel()))
            for part in np.moveaxis(numbers, equation.params["axis"], 0)
        ]

    def pad(self, equation: Any, value: Value, filling: Value) -> list[Value]:
        """JAX's `pad`: an array with `filling` around and between its elements.

        Where `padding_config` is negative, elements at the edge are left out instead.

        Raises:
            NoLaneKernel: if only the array is too large for registers.
        """
        fill, shape = self.registers(filling).items[0], equation.outvars[0].aval.shape
        if not self.b.in_registers(shape):
            return [self.padded(equation.params, value, fill, shape)]
        small = self.registers(value)
        numbers = np.full(shape, -1)
        places = []
        for size, (low, _, inside) in zip(
            small.shape, equation.params["padding_config"], strict=True
        ):
            places.append(low + (inside + 1) * np.arange(size))
        for number, place in enumerate(
            np.stack(np.meshgrid(*places, indexing="ij"), -1).reshape(-1, len(places))
        ):
            if all(0 <= at < size for at, size in zip(place, shape, strict=True)):
                numbers[tuple(place)] = number
        items = tuple(fill if n < 0 else small.items[n] for n in numbers.ravel())
        return [Small(shape, small.dtype, items)]

    def dot_general(self, equation: Any, left: Value, right: Value) -> list[Value]:
        """JAX's `dot_general`: products of two arrays, summed over axes, for each batch index."""
        shapes = left.shape, right.shape, equation.outvars[0].aval.shape
        if max(map(math.prod, shapes)) > LARGEST_IN_REGISTERS:
            return [self.product_large(equation.params["dimension_numbers"], left, right)]
        one, other = self.registers(left), self.registers(right)
        (summed, summed_right), (common, common_right) = equation.params["dimension_numbers"]
        rows = np.arange(len(one.items)).reshape(one.shape)
        columns = np.arange(len(other.items)).reshape(other.shape)
        free = [axis for axis in range(rows.ndim) if axis not in (*summed, *common)]
        free_right = [
            axis for axis in range(columns.ndim) if axis not in (*summed_right, *common_right)
        ]
        shape, dtype = equation.outvars[0].aval.shape, equation.outvars[0].aval.dtype
        if not one.items or not other.items:
            return [Small(shape, dtype, (constant(0, dtype),) * math.prod(shape))]
        batch = math.prod(one.shape[axis] for axis in common)
        length = math.prod(one.shape[axis] for axis in summed)
        rows = rows.transpose([*common, *free, *summed]).reshape(batch, -1, length)
        columns = columns.transpose([*common_right, *free_right, *summed_right])
        columns = columns.reshape(batch, -1, length)
        items: list[Item] = []
        for number in range(batch):
            for row in rows[number]:
                weights = [one.items[n] for n in row]
                parts = [[other.items[n] for n in part] for part in columns[number].T]
                items += weighted_sums(self.b, weights, parts, dtype)
        return [Small(shape, dtype, tuple(items))]

    def starts(self, places: Sequence[Value], bounds: Sequence[int]) -> list[Item]:
        """The start indices of a slice, clipped to the range from 0 to `bounds`, by axis.

        `bounds` are the last start indices at which the slice is still in the array.
        """
        starts = []
        for place, bound in zip(places, bounds, strict=True):
            item = as_index(self.b, self.registers(place).items[0])
            low = operate(self.b, "max", None, INDEX, item, constant(0, INDEX))
            starts.append(operate(self.b, "min", None, INDEX, low, constant(bound, INDEX)))
        return starts

    def dynamic_slice(self, equation: Any, value: Value, *places: Value) -> list[Value]:
        """JAX's `dynamic_slice`: a slice of `value` that starts at the indices `places`."""
        shape = equation.outvars[0].aval.shape
        bounds = [size - part for size, part in zip(value.shape, shape, strict=True)]
        begin = number_of(self.b, self.starts(places, bounds), value.shape)
        numbers = part_of(value.shape, shape)
        if isinstance(value, Small) and begin.value is not None:
            items = tuple(value.items[int(begin.value) + n] for n in numbers)
            return [Small(shape, value.dtype, items)]
        stored = self.scratch.spilled(value)
        offset = plus(self.b, stored.offset, begin)
        return [self.picked(Stored(stored.shape, stored.memory, offset), numbers, shape)]

    def dynamic_update_slice(
        self, equation: Any, value: Value, update: Value, *places: Value
    ) -> list[Value]:
        """JAX's `dynamic_update_slice`: `value` with `update` written from `places` on.

        It is changed in place, if nothing else needs the old array.
        """
        bounds = [size - part for size, part in zip(value.shape, update.shape, strict=True)]
        begin = number_of(self.b, self.starts(places, bounds), value.shape)
        numbers = part_of(value.shape, update.shape)
        if isinstance(value, Small) and begin.value is not None:
            items = list(value.items)
            for number, item in zip(numbers, self.registers(update).items, strict=True):
                items[int(begin.value) + number] = item
            return [Small(value.shape, value.dtype, tuple(items))]
        target = self.writable(value, value.varying or update.varying or begin.varying)
        if not self.b.in_registers(update.shape):
            with nest(self.b, update.shape, parallel=True) as index:
                number = plus(self.b, begin, number_of(self.b, index, value.shape))
                target.memory.store(self.b, number, update.element(self.b, index))
            return [target]
        items = self.registers(update).items
        for at, count in neighbours(numbers.tolist()):
            first = plus(self.b, begin, constant(numbers[at], INDEX))
            target.memory.store_several(self.b, first, items[at : at + count])
        return [self.returned(value, target)]


def part_of(shape: Sequence[int], part: Sequence[int]) -> np.ndarray:
    """Element numbers, in an array of shape `shape`, of its first `part` elements by axis."""
    numbers = np.arange(math.prod(shape)).reshape(shape)
    return numbers[tuple(slice(size) for size in part)].ravel()
