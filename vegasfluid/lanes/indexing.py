"""Gathers and scatters: slices of arrays whose start indices are elements of other arrays."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
from jax.lax import GatherScatterMode

from vegasfluid.lanes.builder import (
    BOOL,
    INDEX,
    LARGEST_IN_REGISTERS,
    Builder,
    Item,
    NoLaneKernel,
    constant,
)
from vegasfluid.lanes.elementwise import operate
from vegasfluid.lanes.memory import (
    Scratch,
    Small,
    Stored,
    Value,
    as_index,
    copy,
    neighbours,
    number_of,
    plus,
)

__all__ = ["Indexing"]


class Windows(NamedTuple):
    """The roles of axes in a gather or scatter.

    Args:
        window: axes of the result (of the update) that run along a slice.
        dropped: axes of the array along which a slice has one element.
        indexed: axes of the array along which the indices give the start of a slice.
        common: batch axes, as pairs (axis of the array, axis of the indices).
    """

    window: tuple[int, ...]
    dropped: tuple[int, ...]
    indexed: tuple[int, ...]
    common: tuple[tuple[int, int], ...]

    @classmethod
    def of_gather(cls, dims: Any) -> Windows:
        """The roles of axes in a gather with these `GatherDimensionNumbers`."""
        return cls(
            tuple(dims.offset_dims),
            (*dims.collapsed_slice_dims, *dims.operand_batching_dims),
            tuple(dims.start_index_map),
            tuple(zip(dims.operand_batching_dims, dims.start_indices_batching_dims, strict=True)),
        )

    @classmethod
    def of_scatter(cls, dims: Any) -> Windows:
        """The roles of axes in a scatter with these `ScatterDimensionNumbers`."""
        return cls(
            tuple(dims.update_window_dims),
            (*dims.inserted_window_dims, *dims.operand_batching_dims),
            tuple(dims.scatter_dims_to_operand_dims),
            tuple(zip(dims.operand_batching_dims, dims.scatter_indices_batching_dims, strict=True)),
        )

    def inner(self, axes: int) -> list[int]:
        """The axes that slices have of an array with `axes` axes: all but the dropped ones."""
        return [axis for axis in range(axes) if axis not in self.dropped]


class Indexing:
    """Operations that read and write elements by their number.

    Args:
        b: builder of the program.
        scratch: memory of the program.
    """

    def __init__(self, b: Builder, scratch: Scratch) -> None:
        self.b, self.scratch = b, scratch

    def registers(self, value: Value) -> Small:
        """The array in registers: itself, or a copy of one in memory.

        Raises:
            NoLaneKernel: for an array in memory of more than 512 elements.
        """
        if isinstance(value, Small):
            return value
        if math.prod(value.shape) > LARGEST_IN_REGISTERS:
            raise NoLaneKernel(f"an array of shape {value.shape} is too large here")
        stored = self.scratch.spilled(value)
        items = stored.load_several(self.b, constant(0, INDEX), math.prod(value.shape))
        return Small(value.shape, value.dtype, items)

    def loaded(self, source: Stored, shape: tuple[int, ...]) -> Value:
        """A copy, with this shape, of the first elements of an array in memory.

        It is in registers if it is small enough, else in new memory.
        """
        if self.b.in_registers(shape):
            items = source.load_several(self.b, constant(0, INDEX), math.prod(shape))
            return Small(shape, source.dtype, items)
        target = self.scratch.array(shape, source.dtype, source.varying)
        copy(self.b, source, target)
        return target

    def writable(self, value: Value, varying: bool) -> Stored:
        """The array in memory, to be overwritten: itself or, if that is not possible, a copy.

        `varying` states whether the new elements will differ between lanes. It is copied if it is
        in registers, its content is needed later, or lanes that will differ share it.
        """
        if isinstance(value, Stored) and value.replaceable and value.varying >= varying:
            return value
        target = self.scratch.array(value.shape, value.dtype, varying)
        copy(self.b, value, target)
        return target

    def returned(self, value: Value, target: Stored) -> Value:
        """The array `target`, with the new elements of `value`: in registers if `value` was."""
        return self.loaded(target, value.shape) if isinstance(value, Small) else target

    def gather(self, equation: Any, value: Value, indices: Value) -> list[Value]:
        """JAX's `gather`: slices of `value` whose start indices are elements of `indices`.

        Raises:
            NoLaneKernel: if `indices` is too large for registers.
        """
        params, shape = equation.params, equation.outvars[0].aval.shape
        axes = Windows.of_gather(params["dimension_numbers"])
        places = self.places(
            axes, shape, value.shape, params["slice_sizes"], indices, params["mode"]
        )
        items: list[Item] = []
        for (begin, inside), slice_places in groupby(places, key=lambda place: place[:2]):
            offsets = [offset for _, _, offset in slice_places]
            items += self.elements(value, begin, inside, offsets, params["fill_value"])
        return [Small(shape, value.dtype, tuple(items))]

    def scatter(self, equation: Any, value: Value, indices: Value, update: Value) -> list[Value]:
        """JAX's `scatter`: `value` with slices, which start at `indices`, replaced by `update`."""
        return self.scattered(equation, value, indices, update, lambda old, new: new)

    def combined(
        self, name: str, equation: Any, value: Value, indices: Value, update: Value
    ) -> list[Value]:
        """JAX's scatters that combine each old element with its update by the operation `name`.

        The slices of `value` start at the elements of `indices`.
        """

        def join(old: Item, new: Item) -> Item:
            return operate(self.b, name, None, old.dtype, old, new)

        return self.scattered(equation, value, indices, update, join)

    def scattered(
        self, equation: Any, value: Value, indices: Value, update: Value, put: Any
    ) -> list[Value]:
        """An array in whose slices `put` maps each old element and its update to the new one.

        Args:
            equation: JAX's equation, with the roles of the axes.
            value: the array.
            indices: start indices of the slices.
            update: new elements of all slices.
            put: maps an old and a new element to the one that is stored.

        Raises:
            NoLaneKernel: if `indices` or `update` is too large for registers.
        """
        params = equation.params
        axes = Windows.of_scatter(params["dimension_numbers"])
        small, sizes = self.registers(update), [1] * len(value.shape)
        for axis, window in zip(axes.inner(len(value.shape)), axes.window, strict=True):
            sizes[axis] = small.shape[window]
        places = list(self.places(axes, small.shape, value.shape, sizes, indices, params["mode"]))
        if isinstance(value, Small) and all(begin.value is not None for begin, _, _ in places):
            return [self.replaced(value, places, small.items, put)]
        varying = value.varying or small.varying or any(place[0].varying for place in places)
        target = self.writable(value, varying)
        for (begin, inside, offset), item in zip(places, small.items, strict=True):
            place = plus(self.b, begin, constant(offset, INDEX))
            old = target.memory.load(self.b, place)
            new = put(old, item)
            if inside is not None:
                new = operate(self.b, "select_n", None, value.dtype, inside, old, new)
            target.memory.store(self.b, place, new)
        return [self.returned(value, target)]

    def replaced(
        self,
        value: Small,
        places: Sequence[tuple[Item, Item | None, int]],
        update: Sequence[Item],
        put: Any,
    ) -> Small:
        """An array in registers after a scatter whose slices start at known indices.

        Args:
            value: the array.
            places: positions of the slices' elements, from `places`.
            update: new elements, in the same order.
            put: maps an old and a new element to the one that the result has.
        """
        items = list(value.items)
        for (begin, inside, offset), item in zip(places, update, strict=True):
            place = int(begin.value) + offset
            new = put(items[place], item)
            if inside is not None:
                parts = inside, items[place], new
                new = operate(self.b, "select_n", None, value.dtype, *parts)
            items[place] = new
        return Small(value.shape, value.dtype, tuple(items))

    def places(
        self,
        axes: Windows,
        shape: Sequence[int],
        whole: Sequence[int],
        sizes: Sequence[int],
        indices: Value,
        mode: Any,
    ) -> Iterator[tuple[Item, Item | None, int]]:
        """The positions of the elements of all slices in the array, in order.

        Args:
            axes: roles of the axes.
            shape: shape of all slices together.
            whole: shape of the array.
            sizes: sizes of a slice along the array's axes.
            indices: start indices of the slices.
            mode: JAX's mode for slices that are partly outside the array.

        Yields:
            The number of the slice's first element, whether the slice is inside the array (None:
            always), and the number of the element relative to the first one.
        """
        index = self.registers(indices)
        deep, mode = index.shape[-1], GatherScatterMode.from_any(mode)
        outer = [axis for axis in range(len(shape)) if axis not in axes.window]
        begun: dict[tuple[int, ...], tuple[Item, Item | None]] = {}
        for place in np.ndindex(*shape):
            batch = tuple(place[axis] for axis in outer)
            if batch not in begun:
                row = int(np.ravel_multi_index((*batch, 0), index.shape))
                given = dict(zip(axes.indexed, index.items[row : row + deep], strict=True))
                given |= {axis: constant(batch[other], INDEX) for axis, other in axes.common}
                begun[batch] = self.begin_of(given, whole, sizes, mode)
            offsets = [0] * len(whole)
            for axis, window in zip(axes.inner(len(whole)), axes.window, strict=True):
                offsets[axis] = place[window]
            yield *begun[batch], int(np.ravel_multi_index(offsets, whole))

    def begin_of(
        self, given: dict[int, Item], shape: Sequence[int], sizes: Sequence[int], mode: Any
    ) -> tuple[Item, Item | None]:
        """The number of a slice's first element, and whether the slice is inside (None: always).

        Args:
            given: start index of the slice by axis; 0 along the others.
            shape: shape of the array.
            sizes: sizes of the slice along its axes.
            mode: JAX's mode for slices that are partly outside the array.
        """
        inside, starts = None, []
        for axis, size in enumerate(shape):
            item = as_index(self.b, given[axis]) if axis in given else constant(0, INDEX)
            last = constant(size - sizes[axis], INDEX)
            low = operate(self.b, "max", None, INDEX, item, constant(0, INDEX))
            bounded = operate(self.b, "min", None, INDEX, low, last)
            if mode is GatherScatterMode.FILL_OR_DROP:
                fits = operate(self.b, "eq", None, BOOL, bounded, item)
                inside = (
                    fits if inside is None else operate(self.b, "and", None, BOOL, inside, fits)
                )
            starts.append(item if mode is GatherScatterMode.PROMISE_IN_BOUNDS else bounded)
        return number_of(self.b, starts, shape), inside

    def elements(
        self, value: Value, begin: Item, inside: Item | None, offsets: Sequence[int], fill: Any
    ) -> list[Item]:
        """Elements of a slice, or fill values if the slice is outside the array.

        Args:
            value: the array.
            begin: number of the slice's first element.
            inside: whether the slice is inside the array; None: always.
            offsets: numbers of the elements relative to the first one.
            fill: the fill value; not used if the slice is always inside.
        """
        if isinstance(value, Small) and begin.value is not None:
            items = [value.items[int(begin.value) + offset] for offset in offsets]
        else:
            items = self.read_at(self.in_memory(value), begin, offsets)
        if inside is None:
            return items
        filling = constant(fill, value.dtype)
        return [
            operate(self.b, "select_n", None, value.dtype, inside, filling, item) for item in items
        ]

    def read_at(self, stored: Stored, begin: Item, offsets: Sequence[int]) -> list[Item]:
        """The elements of an array in memory whose numbers are `begin` plus each of `offsets`."""
        items: list[Item] = []
        for place, count in neighbours(offsets):
            first = plus(self.b, begin, constant(offsets[place], INDEX))
            items += stored.load_several(self.b, first, count)
        return items

    def in_memory(self, value: Value) -> Stored:
        """The array in memory; consecutive calls for one array in registers share a copy."""
        if not isinstance(value, Small):
            return self.scratch.spilled(value)
        if self.b.copied[0] is not value:
            self.b.copied = (value, self.scratch.spilled(value))
            self.b.copied[1].memory.reserved = True
        stored: Stored = self.b.copied[1]
        return stored
