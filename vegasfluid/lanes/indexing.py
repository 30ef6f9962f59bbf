"""Gathers and scatters: slices of arrays that begin where other arrays say."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from jax.lax import GatherScatterMode

from vegasfluid.lanes.builder import BOOL, INDEX, Builder, Item, Unsupported, constant
from vegasfluid.lanes.elementwise import operate
from vegasfluid.lanes.memory import (
    Scratch,
    Small,
    Stored,
    Value,
    as_index,
    copy,
    in_registers,
    plus,
    times,
)

__all__ = ["Indexing"]


class Windows(NamedTuple):
    """Which axes are whose, of slices that a gather reads or a scatter writes.

    Args:
        window: of all slices together, that run along a slice.
        dropped: of the array, along which a slice has one element.
        indexed: of the array, along which the indices say where a slice begins.
        common: pairs of axes of the array and of the indices that run side by side.
    """

    window: tuple[int, ...]
    dropped: tuple[int, ...]
    indexed: tuple[int, ...]
    common: tuple[tuple[int, int], ...]

    def inner(self, axes: int) -> list[int]:
        """The axes of an array of so many axes that run along a slice."""
        return [axis for axis in range(axes) if axis not in self.dropped]


class Indexing:
    """Operations that read and write elements by their number.

    Args:
        b: builder of the program.
        scratch: its memory.
    """

    def __init__(self, b: Builder, scratch: Scratch) -> None:
        self.b, self.scratch = b, scratch

    def registers(self, value: Value) -> Small:
        """The array in registers.

        Raises:
            Unsupported: where it is too large.
        """
        if isinstance(value, Stored):
            raise Unsupported(f"this operation on an array of shape {value.shape}")
        return value

    def loaded(self, source: Stored, shape: tuple[int, ...]) -> Value:
        """A part of an array in memory, copied."""
        if in_registers(shape):
            count = math.prod(shape)
            items = tuple(source.load(self.b, constant(n, INDEX)) for n in range(count))
            return Small(shape, source.dtype, items)
        target = self.scratch.array(shape, source.dtype, source.varying)
        copy(self.b, source, target)
        return target

    def flat(self, starts: Sequence[Item], shape: Sequence[int]) -> Item:
        """The number of the element with these indices."""
        total = constant(0, INDEX)
        for start, size in zip(starts, shape, strict=True):
            total = plus(self.b, times(self.b, total, constant(size, INDEX)), start)
        return total

    def writable(self, value: Value, varying: bool) -> Stored:
        """The array in memory that may be written: itself, or a copy."""
        if isinstance(value, Stored) and value.replaceable and value.varying >= varying:
            return value
        target = self.scratch.array(value.shape, value.dtype, varying)
        copy(self.b, value, target)
        return target

    def gather(self, equation: Any, value: Value, indices: Value) -> list[Value]:
        """Slices that begin where an array of indices says."""
        params, shape = equation.params, equation.outvars[0].aval.shape
        if not in_registers(shape):
            raise Unsupported(f"a gather of shape {shape}")
        of = params["dimension_numbers"]
        axes = Windows(
            tuple(of.offset_dims),
            (*of.collapsed_slice_dims, *of.operand_batching_dims),
            tuple(of.start_index_map),
            tuple(zip(of.operand_batching_dims, of.start_indices_batching_dims, strict=True)),
        )
        places = self.places(
            axes, shape, value.shape, params["slice_sizes"], indices, params["mode"]
        )
        items = tuple(
            self.element(value, begin, inside, offset, params["fill_value"])
            for begin, inside, offset in places
        )
        return [Small(shape, value.dtype, items)]

    def scatter(self, equation: Any, value: Value, indices: Value, update: Value) -> list[Value]:
        """An array with slices replaced, each of which begins where an array of indices says."""
        return self.scattered(equation, value, indices, update, lambda old, new: new)

    def combined(
        self, name: str, equation: Any, value: Value, indices: Value, update: Value
    ) -> list[Value]:
        """The same with each new element joined to the old by an operation of this name."""

        def join(old: Item, new: Item) -> Item:
            return operate(self.b, name, None, old.dtype, old, new)

        return self.scattered(equation, value, indices, update, join)

    def scattered(
        self, equation: Any, value: Value, indices: Value, update: Value, put: Any
    ) -> list[Value]:
        """An array in which each element of an update is put to an old one."""
        params, of = equation.params, equation.params["dimension_numbers"]
        axes = Windows(
            tuple(of.update_window_dims),
            (*of.inserted_window_dims, *of.operand_batching_dims),
            tuple(of.scatter_dims_to_operand_dims),
            tuple(zip(of.operand_batching_dims, of.scatter_indices_batching_dims, strict=True)),
        )
        small, sizes = self.registers(update), [1] * len(value.shape)
        for axis, own in zip(axes.inner(len(value.shape)), axes.window, strict=True):
            sizes[axis] = small.shape[own]
        places = list(self.places(axes, small.shape, value.shape, sizes, indices, params["mode"]))
        varying = value.varying or small.varying or any(place[0].varying for place in places)
        target = self.writable(value, varying)
        for (begin, inside, offset), item in zip(places, small.items, strict=True):
            place = plus(self.b, begin, constant(offset, INDEX))
            old = target.memory.load(self.b, place)
            new = put(old, item)
            if inside is not None:
                new = operate(self.b, "select_n", None, value.dtype, inside, old, new)
            target.memory.store(self.b, place, new)
        return [self.loaded(target, value.shape) if in_registers(value.shape) else target]

    def places(
        self,
        axes: Windows,
        shape: Sequence[int],
        whole: Sequence[int],
        sizes: Sequence[int],
        indices: Value,
        mode: Any,
    ) -> Iterator[tuple[Item, Item | None, int]]:
        """Where the elements of slices stand in the array from which they are, in order.

        Args:
            axes: which axes are whose.
            shape: of all slices together.
            whole: of the array.
            sizes: of a slice, along the array's axes.
            indices: where slices begin.
            mode: what is done with slices that reach outside.

        Yields:
            The number of its slice's first element, whether the slice lies inside (None: it does),
            and by how much the element is after that first one.
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
                given |= {axis: constant(batch[own], INDEX) for axis, own in axes.common}
                begun[batch] = self.begin_of(given, whole, sizes, mode)
            offsets = [0] * len(whole)
            for axis, own in zip(axes.inner(len(whole)), axes.window, strict=True):
                offsets[axis] = place[own]
            yield *begun[batch], int(np.ravel_multi_index(offsets, whole))

    def begin_of(
        self, given: dict[int, Item], shape: Sequence[int], sizes: Sequence[int], mode: Any
    ) -> tuple[Item, Item | None]:
        """The first element of a slice, and whether it lies inside; None: it does."""
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
        return self.flat(starts, shape), inside

    def element(
        self, value: Value, begin: Item, inside: Item | None, offset: int, fill: Any
    ) -> Item:
        """One element of a slice, or what stands for those outside."""
        if isinstance(value, Small) and begin.value is not None:
            item = value.items[int(begin.value) + offset]
        else:
            item = self.in_memory(value).load(self.b, plus(self.b, begin, constant(offset, INDEX)))
        if inside is None:
            return item
        if fill is None:
            fill = np.nan if value.dtype.kind == "f" else np.iinfo(value.dtype).min
        params = (constant(fill, value.dtype), item)
        return operate(self.b, "select_n", None, value.dtype, inside, *params)

    def in_memory(self, value: Value) -> Stored:
        """The value in memory; the copy that a gather has made is used again."""
        if isinstance(value, Stored):
            return value
        if getattr(self, "_spilled", (None, None))[0] is not value:
            self._spilled = (value, self.scratch.spilled(value))
        return self._spilled[1]
