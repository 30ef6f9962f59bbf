"""Elements of small arrays side by side in vectors, in programs that run one lane at a time.

An operation on an array of a few elements is then one instruction of the processor. Each element
also has a name as a scalar; LLVM removes the instructions that extract or join elements where
nothing needs their results.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from vegasfluid.lanes.builder import Builder, Item

__all__ = ["Packed", "pack", "packable", "packed", "sizes_of", "unpack", "unpacked"]

Packed = tuple[int, Item]
"""A vector of elements as (number of elements, vector), or a single one as (`b.width`, scalar)."""

FEWEST, WIDEST = 4, 8
"""Smallest and largest number of elements in a vector (chosen: network 2's fluid run takes half the
time of scalars; vectors of two change nothing, and those of three are slower than scalars where
only some of their elements are needed)."""


def packable(b: Builder, count: int) -> bool:
    """Whether the program has vectors of elements for arrays of `count` elements."""
    return b.width == 1 and not b.gpu and count >= FEWEST


def sizes_of(b: Builder, shape: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The vectors of an array of this shape, each as (first element, number of elements).

    Vectors have up to 8 elements. If arrays of this size have no vectors, each element is alone.
    Each row (along the last axis) begins a vector, if it is long enough for one: then the same
    elements are together in arrays with more axes, such as several tangents.
    """
    count = math.prod(shape)
    row = shape[-1] if shape and packable(b, shape[-1]) else count
    size = WIDEST if packable(b, row) else 1
    for begin in range(0, count, row or 1):
        for start in range(begin, begin + row, size):
            yield start, min(size, begin + row - start)


def pack(b: Builder, items: Sequence[Item]) -> Item:
    """The vector of some elements, or a scalar if all of them are the same number.

    The builder's vectors have this number of elements (`Builder.side_by_side`).
    """
    first = items[0]
    if all(item.text == first.text for item in items):
        return first
    key = (first.dtype, *(item.text for item in items))
    if key not in b.vectors:
        b.vectors[key] = literal(b, items) or b.joined(list(items))
    return b.vectors[key]


def literal(b: Builder, items: Sequence[Item]) -> Item | None:
    """The vector of some elements as a literal; None unless all of them are constants."""
    if any(item.value is None for item in items):
        return None
    kind, dtype = b.type_of(items[0].dtype), items[0].dtype
    return Item(f"<{', '.join(f'{kind} {item.text}' for item in items)}>", dtype, True)


def unpack(b: Builder, vector: Item) -> list[Item]:
    """The elements of a vector; the same scalar for each of them if it is a scalar."""
    items = b.lanes_of(vector)
    if vector.varying:
        b.vectors[vector.dtype, *(item.text for item in items)] = vector
    return items


def packed(b: Builder, items: Sequence[Item], shape: Sequence[int]) -> list[Packed]:
    """The elements of an array of this shape in vectors, or one by one if there are too few."""
    vectors: list[Packed] = []
    for start, size in sizes_of(b, shape):
        if size == 1:
            vectors.append((b.width, items[start]))
            continue
        with b.side_by_side(size):
            vectors.append((size, b.varied(pack(b, items[start : start + size]))))
    return vectors


def unpacked(b: Builder, vectors: Iterable[Packed]) -> tuple[Item, ...]:
    """The elements of an array from its vectors (see `packed`)."""
    items: list[Item] = []
    for size, vector in vectors:
        if size == b.width:
            items.append(vector)
            continue
        with b.side_by_side(size):
            items += unpack(b, vector)
    return tuple(items)
