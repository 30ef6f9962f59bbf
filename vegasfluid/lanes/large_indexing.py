"""Gathers and scatters of arrays in memory, too large for registers; and views of such arrays."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from vegasfluid.lanes.builder import INDEX, Item, constant
from vegasfluid.lanes.elementwise import operate
from vegasfluid.lanes.indexing import Windows
from vegasfluid.lanes.memory import Deferred, Small, Stored, Value, number_of, plus
from vegasfluid.lanes.nests import Index, nest
from vegasfluid.lanes.reductions import Reductions

__all__ = ["LargeIndexing", "Move"]

MOST_WRITTEN = 8
"""Largest size of a scatter's slices whose elements are written out one by one (chosen)."""

Move = Callable[[Index], Index]
"""Maps the indices of an element of a result to those of the element of the operand."""


class LargeIndexing(Reductions):
    """Operations that read and write elements of large arrays by their number."""

    def settled(self, value: Value) -> Small | Stored:
        """The array itself; a deferred one is computed now and stored."""
        return self.scratch.spilled(value) if isinstance(value, Deferred) else value

    def readable(self, value: Value) -> Value:
        """The array in a form whose elements can be read at indices known when the program runs."""
        if isinstance(value, Small) and len(value.items) != 1:
            return self.in_memory(value)
        return value

    def seen_through(self, value: Value, shape: tuple[int, ...], move: Move) -> Value:
        """An array of shape `shape` whose elements are those of `value` at moved indices.

        It is in registers if it is small; else deferred.
        """
        if self.b.in_registers(shape):
            places = (tuple(constant(n, INDEX) for n in each) for each in np.ndindex(*shape))
            items = tuple(value.element(self.b, move(place)) for place in places)
            return Small(shape, value.dtype, items)
        if isinstance(value, Deferred) and math.prod(shape) > math.prod(value.shape):
            value = self.settled(value)
        source = self.readable(value)
        cheap = not isinstance(source, Deferred) or source.cheap
        return Deferred(
            shape,
            source.dtype,
            source.varying,
            source.memories,
            lambda index: source.element(self.b, move(index)),
            cheap,
        )

    def gather(self, equation: Any, value: Value, indices: Value) -> list[Value]:
        """JAX's `gather`: slices of `value` whose start indices are elements of `indices`."""
        params, shape = equation.params, equation.outvars[0].aval.shape
        value = self.settled(value)
        if self.b.in_registers(indices.shape) and self.b.in_registers(shape):
            return super().gather(equation, value, indices)
        axes = Windows.of_gather(params["dimension_numbers"])
        result = self.gathered(axes, params, value, indices, shape)
        return [self.seen_through(result, shape, lambda index: index)]

    def scattered(
        self, equation: Any, value: Value, indices: Value, update: Value, put: Any
    ) -> list[Value]:
        """An array in whose slices `put` maps each old element and its update to the new one."""
        if self.b.in_registers(indices.shape) and self.b.in_registers(update.shape):
            return super().scattered(equation, value, indices, update, put)
        axes = Windows.of_scatter(equation.params["dimension_numbers"])
        return [self.scattered_large(axes, equation.params, value, indices, update, put)]

    def gathered(
        self, axes: Windows, params: Any, value: Value, indices: Value, shape: tuple[int, ...]
    ) -> Deferred:
        """JAX's `gather` with a large result: each element is looked up where it is read.

        Args:
            axes: roles of the axes.
            params: slice sizes, the mode for slices outside the array, and the fill value.
            value: the array.
            indices: start indices of the slices.
            shape: shape of the result.
        """
        source, places = self.in_memory(value), self.readable(indices)

        def compute(index: Index) -> Item:
            begin, inside, offset = self.place_of(
                axes, index, source.shape, params["slice_sizes"], places, params["mode"]
            )
            item = source.load(self.b, plus(self.b, begin, offset))
            if inside is None:
                return item
            fill = constant(params["fill_value"], source.dtype)
            return operate(self.b, "select_n", None, source.dtype, inside, fill, item)

        varying = source.varying or places.varying
        return Deferred(shape, source.dtype, varying, source.memories + places.memories, compute)

    def place_of(
        self,
        axes: Windows,
        index: Index,
        whole: Sequence[int],
        sizes: Sequence[int],
        places: Value,
        mode: Any,
    ) -> tuple[Item, Item | None, Item]:
        """The position in an array of the element of a slice with the indices `index`.

        Returns:
            The number of the slice's first element, whether the slice is inside the array (None:
            always), and the number of the element relative to the first one.
        """
        batch = [at for axis, at in enumerate(index) if axis not in axes.window]
        given = {
            axis: places.element(self.b, (*batch, constant(number, INDEX)))
            for number, axis in enumerate(axes.indexed)
        }
        given |= {axis: batch[other] for axis, other in axes.common}
        begin, inside = self.begin_of(given, whole, sizes, mode)
        offsets = [constant(0, INDEX)] * len(whole)
        for axis, window in zip(axes.inner(len(whole)), axes.window, strict=True):
            offsets[axis] = index[window]
        return begin, inside, number_of(self.b, offsets, whole)

    def scattered_large(
        self, axes: Windows, params: Any, value: Value, indices: Value, update: Value, put: Any
    ) -> Value:
        """JAX's scatters with large indices or updates: one element after the other.

        Args:
            axes: roles of the axes.
            params: with the mode for slices outside the array.
            value: the array.
            indices: start indices of the slices.
            update: new elements of all slices.
            put: maps an old element and its update to the new one.
        """
        b, sizes = self.b, [1] * len(value.shape)
        for axis, window in zip(axes.inner(len(value.shape)), axes.window, strict=True):
            sizes[axis] = update.shape[window]
        new, places = (self.readable(self.settled(each)) for each in (update, indices))
        varying = value.varying or new.varying or places.varying
        target = self.writable(self.settled(value), varying)
        along = range(len(update.shape))
        window = [update.shape[axis] if axis in axes.window else 1 for axis in along]
        written = window if math.prod(window) <= MOST_WRITTEN else [1 for _ in along]
        outer = [size // part for size, part in zip(update.shape, written, strict=True)]
        with nest(b, outer) as begun:
            for offsets in np.ndindex(*written):
                pairs = zip(begun, offsets, strict=True)
                index = tuple(plus(b, at, constant(more, INDEX)) for at, more in pairs)
                begin, inside, offset = self.place_of(
                    axes, index, value.shape, sizes, places, params["mode"]
                )
                place = plus(b, begin, offset)
                old = target.memory.load(b, place)
                item = put(old, new.element(b, index))
                if inside is not None:
                    item = operate(b, "select_n", None, value.dtype, inside, old, item)
                target.memory.store(b, place, item)
        return self.returned(value, target)
