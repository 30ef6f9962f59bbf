"""Arrays of the compiled program: small ones in registers, large ones in memory.

In the program's memory the lanes are interleaved element by element, so that a vector (or a warp of
GPU threads) reads all of them at once. Arguments and results have JAX's layout: one array for each
lane, or one for all lanes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum

import numpy as np

from vegasfluid.lanes.builder import BOOL, INDEX, Builder, Item, constant
from vegasfluid.lanes.elementwise import convert, operate
from vegasfluid.lanes.nests import Index, nest
from vegasfluid.lanes.packing import pack, sizes_of, unpack

__all__ = ["Deferred", "Layout", "Memory", "Scratch", "Small", "Stored", "Value"]
__all__ += ["as_index", "copy", "neighbours", "number_of", "plus", "times"]

ALIGNMENT = 64
"""Alignment of arrays, bytes: a cache line."""


class Layout(Enum):
    """Layout in memory of the arrays of all lanes."""

    SHARED = "one array for all lanes"
    BESIDE = "lanes interleaved element by element"
    APART = "a separate array for each lane"


@dataclass(eq=False)
class Memory:
    """A piece of memory with the elements of an array.

    Args:
        bases: pointers to the first element: one, or with `APART` one for each lane of the vector.
        dtype: type of the elements.
        layout: layout of the lanes.
        lanes: with `BESIDE` on a GPU, the name of the number of all lanes; else "".
        size: its size for one lane, bytes; 0 if the program did not allocate it.
        owned: whether the program may write it.
        references: number of live variables of the program that refer to it.
        reserved: whether it must not be used for other arrays although no variable refers to it.
    """

    bases: tuple[str, ...]
    dtype: np.dtype
    layout: Layout
    lanes: str = ""
    size: int = 0
    owned: bool = False
    references: int = 0
    reserved: bool = False

    @property
    def varying(self) -> bool:
        """Whether lanes (instances of a batch) have different elements."""
        return self.layout is not Layout.SHARED

    def address(self, b: Builder, index: Item, lane: int | None = None) -> str:
        """Add lines that compute a pointer to the element with this number; returns its name.

        Args:
            b: builder of the program.
            index: number of the element in C order, the same in all lanes.
            lane: number of the lane in the vector; None: the pointer is to the elements of all
                lanes side by side.
        """
        element = stored_type(self.dtype)
        if self.layout is Layout.BESIDE and self.lanes:
            index = times(b, index, Item(self.lanes, INDEX))
        elif self.layout is Layout.BESIDE and lane is None and b.width > 1:
            element = f"[{b.width} x {element}]"
        elif self.layout is Layout.BESIDE and b.width > 1:
            index = plus(b, times(b, index, constant(b.width, INDEX)), constant(lane, INDEX))
        base = self.bases[(lane or 0) % len(self.bases)]
        name = b.name()
        b.write(f"%{name} = getelementptr {element}, ptr {base}, i64 {index.text}")
        return f"%{name}"

    def load(self, b: Builder, index: Item) -> Item:
        """The element with this number, as a vector of all lanes or, if they share it, a scalar.

        Args:
            b: builder, which gets the lines that load it.
            index: number of the element in C order; it may differ between lanes.
        """
        index = as_index(b, index)
        if not index.varying and self.layout is not Layout.APART:
            return read(b, self.address(b, index), self.dtype, self.varying)
        pairs = enumerate(b.lanes_of(index))
        return b.joined(
            [read(b, self.address(b, each, lane), self.dtype, False) for lane, each in pairs]
        )

    def load_several(self, b: Builder, first: Item, count: int) -> tuple[Item, ...]:
        """`count` neighbouring elements (C order) from the number `first` on.

        They are loaded in vectors where possible (`packing`).
        """
        begins = [(plus(b, first, constant(n, INDEX)), size) for n, size in sizes_of(b, (count,))]
        items: list[Item] = []
        for begin, size in begins:
            if size == 1:
                items.append(self.load(b, begin))
                continue
            address = self.address(b, begin)
            with b.side_by_side(size):
                items += unpack(b, read(b, address, self.dtype, True))
        return tuple(items)

    def store_several(self, b: Builder, first: Item, items: Sequence[Item]) -> None:
        """Write lines that store numbers to neighbouring elements from the number `first` on."""
        for n, size in sizes_of(b, (len(items),)):
            begin = plus(b, first, constant(n, INDEX))
            if size == 1:
                self.store(b, begin, items[n])
                continue
            address = self.address(b, begin)
            with b.side_by_side(size):
                put(b, address, b.varied(pack(b, items[n : n + size])))

    def store(self, b: Builder, index: Item, item: Item) -> None:
        """Write lines that store a number to the element with the number `index`, in each lane."""
        index = as_index(b, index)
        if self.layout is Layout.BESIDE and not index.varying:
            put(b, self.address(b, index), b.varied(item))
        elif self.layout is Layout.SHARED:
            put(b, self.address(b, index), item)
        else:
            pairs = zip(b.lanes_of(index), b.lanes_of(item), strict=True)
            for lane, (lane_index, lane_item) in enumerate(pairs):
                put(b, self.address(b, lane_index, lane), lane_item)


def neighbours(numbers: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Runs of consecutive whole numbers: the position of the first one in the list, and how many.

    >>> list(neighbours([4, 5, 6, 2, 3]))
    [(0, 3), (3, 2)]
    """
    begin = 0
    for place in range(1, len(numbers) + 1):
        if place == len(numbers) or numbers[place] != numbers[place - 1] + 1:
            yield begin, place - begin
            begin = place


def stored_type(dtype: np.dtype) -> str:
    """LLVM's type of an array element in memory: truth values take a byte."""
    return "i8" if dtype == BOOL else Builder(1).type_of(dtype)


def read(b: Builder, address: str, dtype: np.dtype, varying: bool) -> Item:
    """Load the number at a pointer, or those of all lanes side by side if it is `varying`."""
    if dtype == BOOL:
        byte = read(b, address, np.dtype(np.int8), varying)
        return b.apply("icmp ne {t0} {0}, {1}", BOOL, byte, constant(0, np.int8))
    kind = b.type_of(dtype, varying)
    text = f"load {kind}, ptr {address}, align {dtype.itemsize}{b.access}"
    return b.emit(text, dtype, varying)


def put(b: Builder, address: str, item: Item) -> None:
    """Write a line that stores a number, or those of all lanes side by side, at a pointer."""
    if item.dtype == BOOL:
        byte = convert(b, item, np.int8)
        item = b.varied(byte) if item.varying else byte
    kind = b.type_of(item.dtype, item.varying)
    b.write(f"store {kind} {item.text}, ptr {address}, align {item.dtype.itemsize}{b.access}")


def as_index(b: Builder, item: Item) -> Item:
    """A whole number converted to a 64-bit integer, the type of indices."""
    return convert(b, item, INDEX)


def plus(b: Builder, x: Item, y: Item) -> Item:
    """The sum of two 64-bit integers; no line is written if one of them is the constant 0."""
    if x.value == 0:
        return y
    return x if y.value == 0 else operate(b, "add", None, INDEX, x, y)


def times(b: Builder, x: Item, y: Item) -> Item:
    """The product of two 64-bit integers; no line is written if one of them is the constant 1."""
    if x.value == 1:
        return y
    return x if y.value == 1 else operate(b, "mul", None, INDEX, x, y)


def number_of(b: Builder, index: Sequence[Item], shape: Sequence[int]) -> Item:
    """The number, in C order, of the element of an array of shape `shape` with these indices."""
    total = constant(0, INDEX)
    for place, size in zip(index, shape, strict=True):
        total = plus(b, times(b, total, constant(size, INDEX)), place)
    return total


@dataclass(frozen=True)
class Small:
    """An array in registers.

    Args:
        shape: shape of the array.
        dtype: type of its elements.
        items: its elements in C order (the last axis varies fastest).
    """

    shape: tuple[int, ...]
    dtype: np.dtype
    items: tuple[Item, ...]

    @property
    def varying(self) -> bool:
        """Whether any element differs between lanes (instances of a batch)."""
        return any(item.varying for item in self.items)

    @property
    def memories(self) -> tuple[Memory, ...]:
        """The memories that it needs: none."""
        return ()

    def element(self, b: Builder, index: Index) -> Item:
        """The element with these indices, which must be constants unless there is one element."""
        number = number_of(b, index, self.shape)
        return self.items[0 if len(self.items) == 1 else int(number.value)]


@dataclass(frozen=True)
class Stored:
    """An array in memory.

    Args:
        shape: shape of the array.
        memory: memory that contains it.
        offset: number of its first element there.
    """

    shape: tuple[int, ...]
    memory: Memory
    offset: Item = field(default_factory=lambda: constant(0, INDEX))

    @property
    def dtype(self) -> np.dtype:
        """NumPy type of the elements."""
        return self.memory.dtype

    @property
    def varying(self) -> bool:
        """Whether elements differ between lanes (instances of a batch)."""
        return self.memory.varying or self.offset.varying

    @property
    def replaceable(self) -> bool:
        """Whether the program may overwrite the array: it owns it, and no variable refers to it."""
        return self.memory.owned and not self.memory.references and self.offset.value == 0

    @property
    def memories(self) -> tuple[Memory, ...]:
        """The memories that it needs: its own."""
        return (self.memory,)

    def element(self, b: Builder, index: Index) -> Item:
        """The element with these indices."""
        return self.load(b, number_of(b, index, self.shape))

    def load(self, b: Builder, index: Item) -> Item:
        """The array's element with the number `index` (C order), in each lane."""
        return self.memory.load(b, plus(b, self.offset, as_index(b, index)))

    def load_several(self, b: Builder, first: Item, count: int) -> tuple[Item, ...]:
        """`count` neighbouring elements of the array (C order), from the number `first` on."""
        return self.memory.load_several(b, plus(b, self.offset, as_index(b, first)), count)


@dataclass(frozen=True)
class Deferred:
    """An array whose elements are computed one by one where they are read.

    So a chain of operations on a large array becomes one loop.

    Args:
        shape: shape of the array.
        dtype: type of its elements.
        varying: whether elements differ between lanes (instances of a batch).
        memories: memories that the computation reads.
        compute: maps the indices of an element to it, and adds lines that compute it.
        cheap: whether it costs no more than a load, so that it is computed at each use.
    """

    shape: tuple[int, ...]
    dtype: np.dtype
    varying: bool
    memories: tuple[Memory, ...]
    compute: Callable[[Index], Item]
    cheap: bool = False

    def element(self, b: Builder, index: Index) -> Item:
        """The element with these indices; lines that compute it are added to the program."""
        return self.compute(index)


Value = Small | Stored | Deferred
"""An array of the program: in registers, in memory, or not computed yet."""


class Scratch:
    """The memory of a program, allocated while it is written.

    Args:
        b: builder of the program.
        lanes: on a GPU, the name of the number of all lanes; else "".
        lane: on a GPU, the name of the number of this lane.
    """

    def __init__(self, b: Builder, lanes: str = "", lane: str = "") -> None:
        self._b, self._lanes, self._lane = b, lanes, lane
        self.size = 0
        self.pointers: list[str] = []
        """Lines that compute the pointers, for the start of the function."""
        self._free: dict[tuple[Layout, int, int], list[Memory]] = {}
        """Memories that no variable refers to any more, by layout, element size and size."""

    def array(self, shape: Sequence[int], dtype: np.dtype, varying: bool = True) -> Stored:
        """A new array in the program's memory, whose elements are not initialised.

        Args:
            shape: shape of the array.
            dtype: type of its elements.
            varying: whether lanes have separate arrays; else they share one.
        """
        beside = varying or bool(self._lanes)
        layout = Layout.BESIDE if beside else Layout.SHARED
        each = 1 if dtype == BOOL else dtype.itemsize
        size = -(-math.prod(shape) * each // ALIGNMENT) * ALIGNMENT
        if unused := self._free.get((layout, each, size)):
            bases = unused.pop().bases
            memory = Memory(bases, dtype, layout, self._lanes, size, owned=True)
            return Stored(tuple(shape), memory)
        width, name = self._b.width, self._b.name()
        element = stored_type(dtype)
        if self._lanes:
            begin, start = f"%{name}.o", f"%{name}.b"
            self.pointers += [
                f"  {begin} = mul i64 {self._lanes}, {self.size}",
                f"  {start} = getelementptr i8, ptr %scratch, i64 {begin}",
                f"  %{name} = getelementptr {element}, ptr {start}, i64 {self._lane}",
            ]
        else:
            offset = self.size * width
            self.pointers.append(f"  %{name} = getelementptr i8, ptr %scratch, i64 {offset}")
        self.size += size
        memory = Memory((f"%{name}",), dtype, layout, self._lanes, size, owned=True)
        return Stored(tuple(shape), memory)

    def release(self, memory: Memory) -> None:
        """Allow other arrays to use a memory, if no variable refers to it."""
        if not memory.owned or memory.references or memory.reserved:
            return
        memory.reserved = True  # this object is not used any more
        each = 1 if memory.dtype == BOOL else memory.dtype.itemsize
        self._free.setdefault((memory.layout, each, memory.size), []).append(memory)

    def spilled(self, value: Value) -> Stored:
        """The array in memory: itself, or a copy if it is in registers."""
        if isinstance(value, Stored):
            return value
        stored = self.array(value.shape, value.dtype, value.varying)
        copy(self._b, value, stored)
        return stored


def copy(b: Builder, source: Value, target: Stored) -> None:
    """Write lines that copy all elements of an array to an array in memory of the same size."""
    if isinstance(source, Small):
        target.memory.store_several(b, target.offset, source.items)
        return
    if isinstance(source, Deferred):
        with nest(b, source.shape, parallel=True) as place:
            number = number_of(b, place, source.shape)
            item = source.element(b, place)
            target.memory.store(b, plus(b, target.offset, number), item)
        return
    with b.loop(constant(math.prod(source.shape), INDEX)) as index:
        item = source.load(b, index)
        target.memory.store(b, plus(b, target.offset, index), item)
