"""Loops: small carried values are in registers, large carried arrays stay in their memory."""

from __future__ import annotations

import math
from collections.abc import Sequence

from vegasfluid.lanes.builder import INDEX, Builder, Item, constant
from vegasfluid.lanes.memory import Deferred, Scratch, Small, Stored, Value, copy
from vegasfluid.lanes.packing import Packed, packed, unpacked

__all__ = ["Loop"]

LARGEST_CARRIED = 14
"""Largest number of elements of an array that a loop carries in registers; a larger one is read
from memory where an iteration needs it. (Chosen: from 6 to 14, batches of a delay equation with
three states take 3 % less time than with 20 or 64; the network models take the same time.)"""


def in_place(value: Stored, result: Stored) -> bool:
    """Whether an iteration changed the carried array `value` where it is, to get `result`."""
    return result.memory is value.memory and result.offset.value == 0


class Loop:
    """A loop with carried values: call `begin`, `enter`, write an iteration, call `end`.

    Between `begin` and `enter`, write the condition of the loop.

    Args:
        b: builder of the program.
        scratch: memory of the program.
        carry: initial values of the carried values.
        varying: whether each carried value differs between lanes in any iteration.
        needed: other values that iterations read, which must not be overwritten.
    """

    def __init__(
        self,
        b: Builder,
        scratch: Scratch,
        carry: Sequence[Value],
        varying: Sequence[bool],
        needed: Sequence[Value],
    ) -> None:
        self.b, self.scratch = b, scratch
        self._needed = [value.memory for value in needed if isinstance(value, Stored)]
        for memory in self._needed:
            memory.references += 1
        self.values: list[Value] = []
        """The carried values at the start of an iteration; `begin` gives names to their numbers."""
        self._starts: list[list[Packed]] = []
        taken: set[int] = set()
        for value, differs in zip(carry, varying, strict=True):
            assert not isinstance(value, Deferred)
            if isinstance(value, Small) and len(value.items) > LARGEST_CARRIED:
                target = self.scratch.array(value.shape, value.dtype, differs)
                copy(self.b, value, target)
                value = target
            if isinstance(value, Small):
                items = [self.b.varied(item) if differs else item for item in value.items]
                self._starts.append(packed(self.b, items, value.shape))
                self.values.append(value)
                continue
            usable = value.replaceable and value.varying >= differs
            if not usable or id(value.memory) in taken:
                target = self.scratch.array(value.shape, value.dtype, differs)
                copy(self.b, value, target)
                value = target
            taken.add(id(value.memory))
            value.memory.reserved = True
            self._starts.append([])
            self.values.append(value)

    def begin(self) -> Item:
        """Write the start of the loop in the program.

        Returns:
            The program's integer that counts the finished iterations, 0 in the first iteration.
        """
        b = self.b
        self._head, self._before = b.name(), b.block
        b.write(f"br label %{self._head}")
        b.start(self._head)
        self._index = Item(f"%{b.name()}", INDEX)
        self._place = len(b.lines)
        b.write("")
        self._names = [
            [start._replace(text=f"%{b.name()}", value=None) for _, start in starts]
            for starts in self._starts
        ]
        for number, value in enumerate(self.values):
            if isinstance(value, Small):
                widths = [width for width, _ in self._starts[number]]
                items = unpacked(b, zip(widths, self._names[number], strict=True))
                self.values[number] = Small(value.shape, value.dtype, items)
        return self._index

    def enter(self, inside: Item) -> None:
        """Write a branch: into an iteration if the condition holds, else out of the loop."""
        head = self._head
        self.b.write(f"br i1 {inside.text}, label %{head}.body, label %{head}.done")
        self.b.start(f"{head}.body")
        self._vectors, self._copied = dict(self.b.vectors), self.b.copied

    def end(self, results: Sequence[Value]) -> list[Value]:
        """Write the end of an iteration, whose `results` are the carried values of the next one.

        Returns:
            The carried values after the loop.
        """
        b = self.b
        moved = [self._unshared(*each) for each in zip(self.values, results, strict=True)]
        ends = [self._handed(*each) for each in zip(self.values, moved, strict=True)]
        after = b.emit(f"add nsw i64 {self._index.text}, 1", INDEX, False)
        lines = [self._phi(self._index, constant(0, INDEX).text, after.text)]
        for names, starts, items in zip(self._names, self._starts, ends, strict=True):
            for name, (width, start), (_, item) in zip(names, starts, items, strict=True):
                with b.side_by_side(width):
                    lines.append(self._phi(name, start.text, item.text))
        b.write(f"br label %{self._head}")
        b.lines[self._place : self._place + 1] = lines
        b.start(f"{self._head}.done")
        b.vectors, b.copied = self._vectors, self._copied
        for memory in self._needed:
            memory.references -= 1
        return self.values

    def _phi(self, name: Item, start: str, end: str) -> str:
        """The line of a phi node: `name` is `start` at first, and `end` after each iteration."""
        kind = self.b.type_of(name.dtype, name.varying)
        pairs = f"[{start}, %{self._before}], [{end}, %{self.b.block}]"
        return f"  {name.text} = phi {kind} {pairs}"

    def _unshared(self, value: Value, result: Value) -> Value:
        """The new value `result` of a carried value, copied if it is another carried array.

        That array may be overwritten first. A copy of a small array is in registers.
        """
        if not isinstance(result, Stored):
            return result
        if isinstance(value, Stored) and in_place(value, result):
            return result
        if self.b.in_registers(result.shape):
            items = result.load_several(self.b, constant(0, INDEX), math.prod(result.shape))
            return Small(result.shape, result.dtype, items)
        carried = [each.memory for each in self.values if isinstance(each, Stored)]
        if not any(result.memory is memory for memory in carried):
            return result
        target = self.scratch.array(result.shape, result.dtype, result.varying)
        copy(self.b, result, target)
        return target

    def _handed(self, value: Value, result: Value) -> list[Packed]:
        """The numbers of a carried value after an iteration, in vectors where possible.

        An array in memory is copied to the memory of `value`, and the list is empty.

        Args:
            value: the carried value at the start of the iteration.
            result: its new value.
        """
        if isinstance(value, Small):
            assert isinstance(result, Small)
            pairs = zip(value.items, result.items, strict=True)
            items = [self.b.varied(item) if name.varying else item for name, item in pairs]
            return packed(self.b, items, value.shape)
        assert isinstance(value, Stored)
        if not isinstance(result, Stored) or not in_place(value, result):
            copy(self.b, result, value)
        return []
