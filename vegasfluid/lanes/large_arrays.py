"""Operations on arrays in memory, too large for registers, as loops over their elements.

Operations on single elements and moves of elements are deferred: they are computed in the loop that
reads them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from vegasfluid.lanes.builder import INDEX, Item, Unsupported, constant
from vegasfluid.lanes.elementwise import operate
from vegasfluid.lanes.large_indexing import LargeIndexing, Move
from vegasfluid.lanes.memory import Deferred, Small, Stored, Value, copy, number_of, plus, times
from vegasfluid.lanes.nests import Index, nest
from vegasfluid.lanes.reductions import neutral

__all__ = ["LargeArrays"]


class LargeArrays(LargeIndexing):
    """Operations whose operand or result is not in registers; gathers are in its base class."""

    def on_large(self, name: str, params: Any, dtype: Any, shape: Any, values: Any) -> Deferred:
        """The elementwise operation `name` on arrays that broadcast to one shape, deferred."""
        values = [self.readable(value) for value in values]
        memories = tuple(memory for value in values for memory in value.memories)

        def compute(index: Index) -> Item:
            row = [value.element(self.b, broadcast_to(index, value.shape)) for value in values]
            return operate(self.b, name, params, dtype, *row)

        varying = any(value.varying for value in values)
        return Deferred(shape, dtype, varying, memories, compute)

    def moved_large(self, name: str, params: Any, value: Value, shape: tuple[int, ...]) -> Value:
        """The result, of shape `shape`, of JAX's operation `name`, which only moves elements."""
        if name in ("reshape", "squeeze", "expand_dims"):
            return self.reshaped(value, shape)
        move = self.move_of(name, params, value.shape)
        return self.seen_through(value, shape, move)

    def reshaped(self, value: Value, shape: tuple[int, ...]) -> Value:
        """The array with the same elements in C order, and another shape."""
        long = [axis for axis, size in enumerate(value.shape) if size != 1]
        wide = [axis for axis, size in enumerate(shape) if size != 1]
        if isinstance(value, Deferred):
            if [value.shape[axis] for axis in long] == [shape[axis] for axis in wide]:
                pairs = dict(zip(long, wide, strict=True))
                zero = constant(0, INDEX)

                def move(index: Index) -> Index:
                    axes = range(len(value.shape))
                    return tuple(index[pairs[axis]] if axis in pairs else zero for axis in axes)

                return self.seen_through(value, shape, move)
            value = self.settled(value)
        if isinstance(value, Small):
            return Small(shape, value.dtype, value.items)
        assert isinstance(value, Stored)
        view = Stored(shape, value.memory, value.offset)
        return self.loaded(view, shape) if self.b.in_registers(shape) else view

    def move_of(self, name: str, params: Any, shape: Sequence[int]) -> Move:
        """The move of indices of JAX's operation `name` on an operand of shape `shape`.

        Raises:
            Unsupported: for an operation that is not known here.
        """
        if name == "broadcast_in_dim":
            axes = params["broadcast_dimensions"]
            return lambda index: broadcast_to(tuple(index[axis] for axis in axes), shape)
        if name == "transpose":
            order = np.argsort(params["permutation"])
            return lambda index: tuple(index[axis] for axis in order)
        if name == "slice":
            steps = params["strides"] or (1,) * len(shape)
            bounds = list(zip(params["start_indices"], steps, strict=True))
            return lambda index: tuple(
                self.stretched(place, step, start)
                for place, (start, step) in zip(index, bounds, strict=True)
            )
        if name == "rev":
            turned = params["dimensions"]
            return lambda index: tuple(
                self.stretched(place, -1, size - 1) if axis in turned else place
                for axis, (place, size) in enumerate(zip(index, shape, strict=True))
            )
        raise Unsupported(f"{name} of a large array")

    def shifted(self, axis: int, begin: int) -> Move:
        """The move of indices to an array of which a part starts at `begin` along an axis."""
        start = constant(begin, INDEX)
        return lambda index: tuple(
            plus(self.b, place, start) if number == axis else place
            for number, place in enumerate(index)
        )

    def stretched(self, place: Item, step: int, start: int) -> Item:
        """The index `start` + `step` * `place`."""
        scaled = times(self.b, place, constant(step, INDEX))
        return plus(self.b, scaled, constant(start, INDEX))

    def reduced_large(self, name: str, axes: Sequence[int], value: Value) -> Value:
        """The elements of an array, joined along axes by the operation `name` (add, max, ...).

        Raises:
            Unsupported: for several axes that are not the last ones.
        """
        kept = [axis for axis in range(len(value.shape)) if axis not in axes]
        shape = tuple(value.shape[axis] for axis in kept)
        long = [axis for axis in axes if value.shape[axis] != 1]
        if len(long) > 1:
            first = min(axes)
            if sorted(axes) != list(range(first, len(value.shape))):
                raise Unsupported("a reduction of a large array along inner axes")
            count = math.prod(value.shape[axis] for axis in axes)
            value = self.reshaped(self.settled(value), (*shape, count))
            long = [first]
        axis = long[0] if long else axes[0]
        if not shape or math.prod(shape) == 1:
            index = [constant(0, INDEX)] * len(value.shape)
            return Small(shape, value.dtype, (self.joined_along(name, value, axis, index),))
        target = self.scratch.array(shape, value.dtype, value.varying)
        with nest(self.b, shape) as place:
            index = [constant(0, INDEX)] * len(value.shape)
            for number, at in zip(kept, place, strict=True):
                index[number] = at
            total = self.joined_along(name, value, axis, index)
            target.memory.store(self.b, number_of(self.b, place, shape), total)
        if not self.b.in_registers(shape):
            return target
        result = self.loaded(target, shape)
        self.scratch.release(target.memory)
        return result

    def product_large(self, dimensions: Any, left: Value, right: Value) -> Value:
        """JAX's `dot_general` with these `dimension_numbers`: a sum over deferred products."""
        left, right = self.readable(left), self.readable(right)
        (summed, summed_right), (common, common_right) = dimensions
        free = [axis for axis in range(len(left.shape)) if axis not in (*summed, *common)]
        others = [
            axis for axis in range(len(right.shape)) if axis not in (*summed_right, *common_right)
        ]
        axes = [*common, *free, *summed]
        shape = (
            *(left.shape[axis] for axis in (*common, *free)),
            *(right.shape[axis] for axis in others),
            *(left.shape[axis] for axis in summed),
        )
        ends = len(common) + len(free), len(shape) - len(summed)

        def compute(index: Index) -> Item:
            known = dict(zip(axes, (*index[: ends[0]], *index[ends[1] :]), strict=True))
            inner = dict(zip(common_right, index, strict=False))
            inner |= zip(others, index[ends[0] : ends[1]], strict=True)
            inner |= zip(summed_right, index[ends[1] :], strict=True)
            row = (
                array.element(self.b, tuple(places[axis] for axis in range(len(array.shape))))
                for array, places in ((left, known), (right, inner))
            )
            return operate(self.b, "mul", None, left.dtype, *row)

        memories = left.memories + right.memories
        varying = left.varying or right.varying
        products = Deferred(shape, left.dtype, varying, memories, compute)
        return self.reduced_large("add", range(ends[1], len(shape)), products)

    def cumulated_large(self, name: str, params: Any, value: Value) -> Stored:
        """Cumulative sums, products or extremes (operation `name`) along an axis of an array."""
        b, dtype, axis = self.b, value.dtype, params["axis"]
        target, count = self.scratch.array(value.shape, dtype, value.varying), value.shape[axis]
        start = self.start_of(name, value)
        source, move = self.readable(value), self.stretched
        others = [1 if number == axis else size for number, size in enumerate(value.shape)]
        with nest(b, others) as place, b.total(constant(count, INDEX), start) as loop:
            at = move(loop.index, -1, count - 1) if params["reverse"] else loop.index
            index = (*place[:axis], at, *place[axis + 1 :])
            assert loop.value is not None
            item = source.element(b, index)
            loop.next = operate(b, name, None, dtype, loop.value, item)
            target.memory.store(b, number_of(b, index, value.shape), loop.next)
        return target

    def start_of(self, name: str, value: Value) -> Item:
        """The number with which elements are joined first by the operation `name`."""
        start = constant(neutral(name, value.dtype), value.dtype)
        return self.b.varied(start) if value.varying else start

    def joined_along(self, name: str, value: Value, axis: int, index: list[Item]) -> Item:
        """The elements along one axis, the other indices fixed, joined by the operation `name`."""
        b, dtype = self.b, value.dtype
        start = self.start_of(name, value)
        # The order of a sum may change, so that vectors can be added.
        summed = name == "add" and dtype.kind == "f"
        with b.total(constant(value.shape[axis], INDEX), start, parallel=True) as loop:
            index[axis] = loop.index
            item = value.element(b, tuple(index))
            assert loop.value is not None
            if summed:
                loop.next = b.apply("fadd reassoc {r} {0}, {1}", dtype, loop.value, item)
            else:
                loop.next = operate(b, name, None, dtype, loop.value, item)
        assert loop.value is not None
        return loop.value

    def together_large(
        self, values: Sequence[Value], axis: int, shape: tuple[int, ...], *, new: bool = False
    ) -> Stored:
        """Arrays joined along an axis, or along a new one; the result has shape `shape`."""
        varying = any(value.varying for value in values)
        target, begin = self.scratch.array(shape, values[0].dtype, varying), 0
        for value in map(self.readable, values):
            with nest(self.b, value.shape, parallel=True) as place:
                at = list(place)
                if new:
                    at.insert(axis, constant(begin, INDEX))
                else:
                    at[axis] = plus(self.b, at[axis], constant(begin, INDEX))
                item = value.element(self.b, place)
                target.memory.store(self.b, number_of(self.b, at, shape), item)
            begin += 1 if new else value.shape[axis]
        return target

    def padded(self, params: Any, value: Value, filling: Item, shape: tuple[int, ...]) -> Stored:
        """JAX's `pad` with a large result: an array with `filling` around and between its elements.

        Raises:
            Unsupported: if elements are left out.
        """
        sides = params["padding_config"]
        if any(low < 0 or high < 0 for low, high, _ in sides):
            raise Unsupported("a negative padding of a large array")
        target = self.scratch.array(shape, value.dtype, value.varying or filling.varying)
        background = Small((), value.dtype, (filling,))
        copy(self.b, self.seen_through(background, shape, lambda _: ()), target)
        source = self.readable(value)
        with nest(self.b, value.shape, parallel=True) as place:
            at = [
                self.stretched(each, inside + 1, low)
                for each, (low, _, inside) in zip(place, sides, strict=True)
            ]
            item = source.element(self.b, place)
            target.memory.store(self.b, number_of(self.b, at, shape), item)
        return target


def broadcast_to(index: Index, shape: Sequence[int]) -> Index:
    """The indices, in an array of shape `shape`, of an element of the array broadcast."""
    if not shape:
        return ()
    zero = constant(0, INDEX)
    return tuple(place if size != 1 else zero for place, size in zip(index, shape, strict=True))
