"""Writing LLVM's intermediate representation, one instruction for each call, over vector lanes.

A lane is one instance of a batch. A value that is the same in all lanes is a scalar. One that
differs is a vector with an element for each lane that the program runs side by side. On a GPU,
where each thread runs one lane, it is a scalar too. Constants are folded when they are written.

Source: LLVM Language Reference Manual, https://llvm.org/docs/LangRef.html.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

__all__ = ["BOOL", "INDEX", "REAL", "Builder", "Item", "NoLaneKernel", "Unsupported"]
__all__ += ["LARGEST_IN_REGISTERS", "RunningTotal", "constant"]

BOOL, INDEX, REAL = np.dtype(bool), np.dtype(np.int64), np.dtype(np.float64)
"""NumPy's types of truth values, of indices and of doubles."""
TYPES = {
    BOOL: "i1",
    np.dtype(np.int8): "i8",
    np.dtype(np.int32): "i32",
    INDEX: "i64",
    np.dtype(np.uint32): "i32",
    np.dtype(np.uint64): "i64",
    np.dtype(np.float32): "float",
    REAL: "double",
}
"""LLVM's types by NumPy's (not by their names, which NumPy puts together anew each time)."""

LONGEST = 200_000
"""Largest number of lines of a program for the CPU: about ten seconds of compiling."""
LARGEST_IN_REGISTERS = 512
"""Largest number of elements of an array that is kept in registers (chosen: a piece of the dense
output of an equation with 100 states)."""


MOST_LOOPS = 1500
"""Largest number of loops over arrays in memory: LLVM's time grows with its square (20 s)."""
HINTS = ('vectorize.width", i32 8', 'interleave.count", i32 1')
"""How LLVM vectorises loops; given numbers spare it the search for others, half of its time."""


class NoLaneKernel(Exception):
    """Raised where a function cannot be compiled to a lane kernel; its text is the reason."""


class Unsupported(NoLaneKernel):
    """An operation or a type that cannot be compiled to a lane kernel.

    Args:
        what: the operation or the type.
    """

    def __init__(self, what: str) -> None:
        super().__init__(f"no translation of {what}")


class Item(NamedTuple):
    """One number of the compiled program.

    Args:
        text: name of the value in LLVM's language, such as `%v7`, or the literal of a constant.
        dtype: NumPy type of the number.
        varying: whether it is a vector with an element for each lane; else it is the same in all.
        value: value of a constant; None: known only when the program runs.
    """

    text: str
    dtype: np.dtype
    varying: bool = False
    value: Any = None


def constant(value: Any, dtype: Any) -> Item:
    """A number that is known when the program is compiled.

    Args:
        value: its value.
        dtype: NumPy type to which it is rounded, and which determines its LLVM literal.

    >>> constant(2, np.float64).text, constant(True, bool).text
    ('0x4000000000000000', 'true')
    """
    dtype = np.dtype(dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        exact = dtype.type(value)
    if dtype == BOOL:
        text = "true" if exact else "false"
    elif dtype.kind in "iu":
        text = str(int(exact))
    else:
        text = f"0x{struct.unpack('<Q', struct.pack('<d', float(exact)))[0]:016X}"
    return Item(text, dtype, False, exact)


class Builder:
    """Writes the lines of one function of LLVM's language, with names for its values.

    Args:
        width: number of lanes in a vector; 1: scalars.
        gpu: whether the program is for an NVIDIA GPU.
        longest: largest number of lines of the program; longer ones take too long to compile.
        largest: largest number of elements of an array that is kept in registers.
    """

    def __init__(
        self,
        width: int,
        gpu: bool = False,
        longest: int = LONGEST,
        largest: int = LARGEST_IN_REGISTERS,
    ) -> None:
        self.width, self.gpu, self.longest, self.largest = width, gpu, longest, largest
        self.lines: list[str] = []
        """Lines of the function so far, without its head."""
        self.declared: dict[str, str] = {}
        """Lines outside the function, by name: declarations of called functions, and tables."""
        self.made: dict[str, tuple[str, tuple[Item, ...]]] = {}
        """By the name of a value: JAX's operation that computed it, and its operands."""
        self.vectors: dict[tuple[Any, ...], Item] = {}
        """Vectors of elements of an array (`packing`), by the type and the names of the elements.
        It has only vectors that are certain to be computed before the next line runs."""
        self.copied: tuple[Any, Any] = (None, None)
        """The array in registers that was copied to memory last, and the copy. It is reset where
        the copy is not certain to be made before the next line runs."""
        self.metadata: list[str] = []
        """Lines at the end of the module, with statements about loops."""
        self.access = ""
        """Suffix of loads and stores in a loop whose iterations may run side by side."""
        self._count = 0
        self._block = "entry"

    @property
    def block(self) -> str:
        """Name of the basic block that is being written."""
        return self._block

    def name(self) -> str:
        """A name, such as `v7`, that no other value or block of the program has."""
        self._count += 1
        return f"v{self._count}"

    def type_of(self, dtype: np.dtype, varying: bool = False) -> str:
        """LLVM's type of a number of this NumPy type; of a vector of them if it is `varying`.

        Raises:
            Unsupported: for a NumPy type that has no LLVM type here.

        >>> Builder(4).type_of(REAL, True)
        '<4 x double>'
        """
        scalar = TYPES.get(dtype)
        if scalar is None:
            raise Unsupported(f"numbers of type {dtype}")
        return f"<{self.width} x {scalar}>" if varying and self.width > 1 else scalar

    def write(self, line: str) -> None:
        """Add a line to the program, indented: an instruction without a result."""
        self.lines.append(f"  {line}")

    def in_registers(self, shape: Sequence[int]) -> bool:
        """Whether arrays of this shape are kept in registers; larger ones are in memory."""
        return math.prod(shape) <= self.largest

    def table(self, numbers: np.ndarray) -> str:
        """Add a constant array, stored in C order, to the program; returns its LLVM name."""
        dtype = np.dtype(np.int8) if numbers.dtype == BOOL else numbers.dtype
        kind, name = self.type_of(dtype), f"@{self.name()}"
        each = [f"{kind} {constant(number, dtype).text}" for number in numbers.ravel()]
        self.declared[name] = (
            f"{name} = private constant [{len(each)} x {kind}] [{', '.join(each)}]"
        )
        return name

    def start(self, block: str) -> None:
        """Begin a basic block with the name `block`; later lines belong to it."""
        self.lines.append(f"{block}:")
        self._block = block

    def emit(self, text: str, dtype: np.dtype, varying: bool) -> Item:
        """Add an instruction with a result.

        Args:
            text: the instruction in LLVM's language, without the name of its result.
            dtype: NumPy type of the result.
            varying: whether the result is a vector with an element for each lane.

        Returns:
            The result, under a new name.
        """
        name = f"%{self.name()}"
        self.lines.append(f"  {name} = {text}")
        return Item(name, dtype, varying and self.width > 1)

    def apply(self, template: str, dtype: np.dtype, *items: Item) -> Item:
        """Add an instruction; if one operand is a vector, the others are made vectors too.

        Args:
            template: the instruction, with `{0}`, `{1}` ... for operands, `{t0}` ... for their
                types and `{r}` for the type of the result.
            dtype: type of the result.
            items: operands.

        Returns:
            The result: a vector with an element for each lane if any operand is one, else a scalar.
        """
        varying = self.width > 1 and any(item.varying for item in items)
        texts = [self.spread(item) if varying else item.text for item in items]
        types = {f"t{k}": self.type_of(item.dtype, varying) for k, item in enumerate(items)}
        result = self.type_of(dtype, varying)
        return self.emit(template.format(*texts, r=result, **types), dtype, varying)

    def spread(self, item: Item) -> str:
        """The LLVM text of a number as a vector with equal elements, if the program has vectors."""
        if self.width == 1 or item.varying:
            return item.text
        scalar, vector = self.type_of(item.dtype), self.type_of(item.dtype, True)
        if item.value is not None:
            return f"splat ({scalar} {item.text})"
        first, name = self.name(), self.name()
        self.write(f"%{first} = insertelement {vector} poison, {scalar} {item.text}, i32 0")
        mask = f"<{self.width} x i32> zeroinitializer"
        self.write(f"%{name} = shufflevector {vector} %{first}, {vector} poison, {mask}")
        return f"%{name}"

    def varied(self, item: Item) -> Item:
        """A number as a vector with an element for each lane, if the program has vectors."""
        return item if self.width == 1 else Item(self.spread(item), item.dtype, True)

    def lanes_of(self, item: Item) -> list[Item]:
        """The elements of a vector as scalars, one for each lane; a scalar is repeated."""
        if not item.varying or self.width == 1:
            return [item] * self.width
        vector = self.type_of(item.dtype, True)
        return [
            self.emit(f"extractelement {vector} {item.text}, i32 {lane}", item.dtype, False)
            for lane in range(self.width)
        ]

    def joined(self, items: list[Item]) -> Item:
        """The vector of the scalars of all lanes, in order; with one lane, its scalar."""
        if self.width == 1:
            return items[0]
        dtype = items[0].dtype
        scalar, vector, text = self.type_of(dtype), self.type_of(dtype, True), "poison"
        for lane, item in enumerate(items):
            insert = f"insertelement {vector} {text}, {scalar} {item.text}, i32 {lane}"
            text = self.emit(insert, dtype, True).text
        return Item(text, dtype, True)

    def call(self, function: str, dtype: np.dtype, *items: Item, flags: str = "") -> Item:
        """Add a call of one of LLVM's intrinsic functions; returns its result.

        Args:
            function: its name without type, such as `sqrt`.
            dtype: NumPy type of the result.
            items: operands, all of one type: float64, float32, int64 or int32. If any of them is a
                vector, the others are made vectors too.
            flags: LLVM's flags for floating-point operations, with a space after each.
        """
        varying = self.width > 1 and any(item.varying for item in items)
        suffix = {"float64": "f64", "float32": "f32", "int32": "i32", "int64": "i64"}[
            items[0].dtype.name
        ]
        full = f"llvm.{function}.{f'v{self.width}' if varying else ''}{suffix}"
        operand, result = self.type_of(items[0].dtype, varying), self.type_of(dtype, varying)
        self.declared[full] = f"declare {result} @{full}({', '.join([operand] * len(items))})"
        operands = ", ".join(f"{{t{k}}} {{{k}}}" for k in range(len(items)))
        return self.apply(f"call {flags}{{r}} @{full}({operands})", dtype, *items)

    @contextmanager
    def side_by_side(self, count: int) -> Iterator[None]:
        """Let vectors have `count` elements of an array, instead of lanes, within the block."""
        width, self.width = self.width, count
        try:
            yield
        finally:
            self.width = width

    @contextmanager
    def loop(self, count: Item, *, parallel: bool = False) -> Iterator[Item]:
        """Write a loop without carried values around the lines that the `with` block adds.

        Yields the loop's index, which counts from 0 to `count` - 1 when the program runs. If
        `count` is 0 or less, the lines are not run.

        Args:
            count: number of iterations.
            parallel: whether no iteration reads what another one writes, so that LLVM may run
                several side by side in vectors.
        """
        with self.total(count, None, parallel=parallel) as loop:
            yield loop.index

    @contextmanager
    def total(
        self, count: Item, start: Item | None, *, parallel: bool = False
    ) -> Iterator[RunningTotal]:
        """Write a loop with one carried number, or none, around the lines that the block adds.

        Args:
            count: number of iterations.
            start: the number before the first iteration; None: there is none.
            parallel: see `loop`.

        Yields:
            The loop's index and the number so far. The block sets `next`, the number after the
            iteration; after the block `value` is the final number.
        """
        before, head = self.block, self.name()
        index = Item(f"%{self.name()}", INDEX)
        value = start and start._replace(text=f"%{self.name()}", value=None)
        self.write(f"br label %{head}")
        self.start(head)
        place = len(self.lines)
        self.lines += ["", ""]  # the phi nodes, which need the last block of the loop
        # A loop that runs at least once is tested at its end, which LLVM would change it to.
        tested_first = not (count.value is not None and count.value > 0)
        if tested_first:
            inside = self.emit(f"icmp slt i64 {index.text}, {count.text}", BOOL, False)
            self.write(f"br i1 {inside.text}, label %{head}.body, label %{head}.done")
            self.start(f"{head}.body")
        vectors, copied, access = dict(self.vectors), self.copied, self.access
        self.access, hint = self.side_by_side_loop() if parallel else ("", "")
        running = RunningTotal(index, value, value)
        yield running
        self.vectors, self.copied, self.access = vectors, copied, access
        after = self.emit(f"add nuw nsw i64 {index.text}, 1", INDEX, False)
        last = self.block
        self.lines[place] = f"  {index.text} = phi i64 [0, %{before}], [{after.text}, %{last}]"
        if start is not None and value is not None and running.next is not None:
            kind = self.type_of(value.dtype, value.varying)
            pairs = f"[{start.text}, %{before}], [{running.next.text}, %{last}]"
            self.lines[place + 1] = f"  {value.text} = phi {kind} {pairs}"
        if tested_first:
            self.write(f"br label %{head}{hint}")
        else:
            running.value = running.next
            ends = self.emit(f"icmp eq i64 {after.text}, {count.text}", BOOL, False)
            self.write(f"br i1 {ends.text}, label %{head}.done, label %{head}{hint}")
        self.start(f"{head}.done")

    def side_by_side_loop(self) -> tuple[str, str]:
        """Suffixes that allow LLVM to vectorise a loop: of its loads and stores, and of its end."""
        if self.gpu or self.width > 1:
            return "", ""
        if len(self.metadata) > 3 * MOST_LOOPS:
            raise NoLaneKernel("the function has too many loops over arrays")
        if not self.metadata:
            self.metadata += [f'!{n} = !{{!"llvm.loop.{hint}}}' for n, hint in enumerate(HINTS)]
        group, loop, accesses = (f"!{len(self.metadata) + n}" for n in range(3))
        hints = ", ".join(f"!{n}" for n in range(len(HINTS)))
        self.metadata += [
            f"{group} = distinct !{{}}",
            f"{loop} = distinct !{{{loop}, {accesses}, {hints}}}",
            f'{accesses} = !{{!"llvm.loop.parallel_accesses", {group}}}',
        ]
        return f", !llvm.access.group {group}", f", !llvm.loop {loop}"


@dataclass
class RunningTotal:
    """A loop with one carried number, while it is written (`Builder.total`).

    Args:
        index: number of finished iterations.
        value: the carried number at the start of an iteration, and after the loop.
        next: the carried number after the iteration.
    """

    index: Item
    value: Item | None
    next: Item | None
