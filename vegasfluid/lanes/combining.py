"""Sums, products and extremes of many numbers, with vectors where the program has them.

The numbers are combined in an order that does not depend on the program's vectors: eight partial
results, each of every eighth number, are combined in pairs. No instruction waits for all others.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np

from vegasfluid.lanes.builder import Builder, Item
from vegasfluid.lanes.elementwise import operate
from vegasfluid.lanes.packing import WIDEST, pack, packable, sizes_of, unpack

__all__ = ["combined", "weighted_sums"]


def combined(b: Builder, name: str, items: Sequence[Item]) -> Item:
    """Numbers combined to one by the operation `name` of `Reductions` (such as add or max).

    Args:
        b: builder, which gets the lines.
        name: the operation.
        items: at least one number, all of one type.
    """
    if len(items) < 2 * WIDEST:
        return in_pairs(b, name, items) if len(items) >= WIDEST else in_order(b, name, items)
    whole = len(items) // WIDEST * WIDEST
    rows = [items[start : start + WIDEST] for start in range(0, whole, WIDEST)]
    if packable(b, WIDEST) and all(item.value is None for item in items):
        with b.side_by_side(WIDEST):
            partial = unpack(b, b.varied(in_order(b, name, [pack(b, row) for row in rows])))
    else:
        partial = [in_order(b, name, column) for column in zip(*rows, strict=True)]
    rest = items[whole:]
    return in_order(b, name, [in_pairs(b, name, partial), *rest])


def in_order(b: Builder, name: str, items: Sequence[Item]) -> Item:
    """Numbers combined to one by an operation, from the first to the last."""
    return reduce(lambda x, y: operate(b, name, None, x.dtype, x, y), items)


def in_pairs(b: Builder, name: str, items: Sequence[Item]) -> Item:
    """Numbers combined to one by an operation: those of both halves in pairs, then again."""
    items = list(items)
    while len(items) > 1:
        half = (len(items) + 1) // 2
        pairs = zip(items[:half], items[half:], strict=False)
        joined = [operate(b, name, None, x.dtype, x, y) for x, y in pairs]
        items = joined + items[len(joined) : half]
    return items[0]


def weighted_sums(
    b: Builder, weights: Sequence[Item], columns: Sequence[Sequence[Item]], dtype: np.dtype
) -> list[Item]:
    """The sum of columns of numbers, each times its weight, element by element.

    Products of constants that are 0 are left out.

    Args:
        b: builder, which gets the lines.
        weights: one number for each column.
        columns: the columns, all of the same length.
        dtype: type of the result.
    """
    results: list[Item] = []
    for start, size in sizes_of(b, (len(columns[0]),)):
        parts = [column[start : start + size] for column in columns]
        if size == 1:
            results.append(inner_product(b, weights, [part[0] for part in parts], dtype))
            continue
        with b.side_by_side(size):
            packs = [pack(b, part) for part in parts]
            results += unpack(b, inner_product(b, weights, packs, dtype))
    return results


def inner_product(b: Builder, row: Sequence[Item], column: Sequence[Item], dtype: np.dtype) -> Item:
    """The sum of the products of two lists of numbers, without constant products that are 0."""
    pairs = zip(row, column, strict=True)
    terms = [operate(b, "mul", None, dtype, x, y) for x, y in pairs]
    return in_order(b, "add", [each for each in terms if each.value != 0] or terms[:1])
