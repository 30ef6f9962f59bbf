"""Nested loops over the elements of an array in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from vegasfluid.lanes.builder import INDEX, Builder, Item, constant

__all__ = ["Index", "nest"]

Index = tuple[Item, ...]
"""The indices of an element, one for each axis of the array, as 64-bit integers."""


@contextmanager
def nest(b: Builder, shape: Sequence[int], *, parallel: bool = False) -> Iterator[Index]:
    """Write loops over all elements of an array around the lines that the `with` block adds.

    Args:
        b: builder of the program.
        shape: shape of the array; the last axis varies fastest.
        parallel: whether no iteration reads what another one writes, so that LLVM may run several
            side by side in vectors.

    Yields:
        The indices of the element; along axes of length 1 it is the constant 0.
    """
    long = [axis for axis, size in enumerate(shape) if size != 1]
    index = [constant(0, INDEX)] * len(shape)
    with ExitStack() as loops:
        for axis in long:
            innermost = parallel and axis == long[-1]
            size = constant(shape[axis], INDEX)
            index[axis] = loops.enter_context(b.loop(size, parallel=innermost))
        yield tuple(index)
