"""The program of a traced function: its text in LLVM's language, and the memory that it needs."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from vegasfluid.lanes.builder import INDEX, LARGEST_IN_REGISTERS, Builder, Item, constant
from vegasfluid.lanes.memory import (
    Layout,
    Memory,
    Scratch,
    Small,
    Stored,
    Value,
    copy,
)
from vegasfluid.lanes.simplify import simplified
from vegasfluid.lanes.tracing import functions_of
from vegasfluid.lanes.translate import Translator

__all__ = ["KERNEL", "Program", "cpu_program", "gpu_program", "has_wide_arrays"]
__all__ += ["is_long"]

KERNEL = "lanes_kernel"
"""Name of the function that runs lanes from start to end."""

LONGEST_ON_GPU = 40_000
"""Largest number of lines of a program for a GPU: CUDA's driver takes minutes for longer ones (13 s
for 13 500 lines of PTX on an H100's host)."""
LARGEST_ON_GPU = 256
"""Largest number of elements of an array in registers on a GPU (chosen)."""
MOST_ELEMENTS = 100_000
"""Elements of results, in all operations, above which a program would get too long (chosen)."""
WIDE, MANY = 4.0, 8000
"""Mean number of elements of results from which they fill vectors, and number of all elements from
which lanes side by side need too many registers (chosen: fluid models with two or three groups of
flows, 2.0 to 2.8 elements of 5000, take 0.4 to 0.7 of the time with lanes side by side; with six
to twelve groups, 5.4 to 11 of 12 000 to 38 000, 1.0 to 1.4; small equations of 6 to 12 states
0.6 to 0.75)."""
LARGEST_IN_LONG_PROGRAM = 32
"""Largest number of elements of an array that such a program keeps in registers (chosen)."""


class Program(NamedTuple):
    """A program for one or more lanes, in LLVM's language.

    Args:
        text: text of the module.
        name: hash of the text, 32 hexadecimal digits.
        width: number of lanes that run at once in vectors; 1 on a GPU, for each thread.
        scratch: memory that each of these lanes needs, bytes.
        arguments: number of arguments.
        results: number of results.
    """

    text: str
    name: str
    width: int
    scratch: int
    arguments: int
    results: int

    @property
    def pointers(self) -> int:
        """The number of arguments and results together; each has one pointer."""
        return self.arguments + self.results


def cpu_program(jaxpr: Any, batched: Sequence[bool], width: int) -> Program:
    """The program of a traced function for a CPU, as text in LLVM's language.

    Args:
        jaxpr: traced function, without constants.
        batched: which of its arguments differ between lanes (instances of a batch).
        width: number of lanes in a vector.

    Raises:
        NoLaneKernel: if something in the function cannot be translated, or it is too long.
    """
    largest = LARGEST_IN_LONG_PROGRAM if is_long(jaxpr) else LARGEST_IN_REGISTERS
    b = Builder(width, largest=largest)
    scratch = Scratch(b)
    count = len(jaxpr.invars) + len(jaxpr.outvars)
    begin = ["  %last = sub i64 %lanes, 1"]
    for lane in range(width):
        begin += [
            f"  %next{lane} = add i64 %first, {lane}",
            f"  %inside{lane} = icmp slt i64 %next{lane}, %lanes",
            f"  %lane{lane} = select i1 %inside{lane}, i64 %next{lane}, i64 %last",
        ]
    for number in range(count):
        begin += [
            f"  %s{number} = getelementptr ptr, ptr %buffers, i64 {number}",
            f"  %p{number} = load ptr, ptr %s{number}",
        ]
    lanes = [f"%lane{lane}" for lane in range(width)]
    write_body(b, scratch, jaxpr, batched, lanes)
    head = f"define void @{KERNEL}(ptr %buffers, ptr noalias %scratch, i64 %first, i64 %lanes)"
    return finished(b, scratch, head, begin, jaxpr)


def is_long(jaxpr: Any) -> bool:
    """Whether a traced function needs too many lines with all arrays that registers can contain.

    Then only arrays of at most 32 elements are in registers, in which each element needs its lines.
    An array in memory needs one loop.
    """
    return sum(size for size, _ in in_registers(simplified(jaxpr)[0])) > MOST_ELEMENTS


def has_wide_arrays(jaxpr: Any) -> bool:
    """Whether the arrays of a large traced function fill vectors, one lane at a time.

    Then lanes side by side, whose numbers are too many for the registers, are no faster, and
    compiling them takes far longer.
    """
    sizes = [size for size, dtype in in_registers(simplified(jaxpr)[0]) if dtype.kind == "f"]
    return sum(sizes) >= max(MANY, WIDE * len(sizes))


def in_registers(jaxpr: Any) -> Iterator[tuple[int, Any]]:
    """Number of elements, and type, of each result of an operation that registers can contain.

    The operations include those of the functions that a traced function calls; a loop's body counts
    once.
    """
    for equation in jaxpr.eqns:
        inner = functions_of(equation)
        for function in inner:
            yield from in_registers(function)
        for variable in () if inner else equation.outvars:
            size = math.prod(variable.aval.shape)
            if size <= LARGEST_IN_REGISTERS:
                yield size, variable.aval.dtype


def gpu_program(jaxpr: Any, batched: Sequence[bool]) -> Program:
    """The program of a traced function for an NVIDIA GPU, as text in LLVM's language.

    Each thread runs one lane.

    Args:
        jaxpr: traced function, without constants.
        batched: which of its arguments differ between lanes (instances of a batch).

    Raises:
        NoLaneKernel: if something in the function cannot be translated, or it is too long.
    """
    b = Builder(1, gpu=True, longest=LONGEST_ON_GPU, largest=LARGEST_ON_GPU)
    scratch = Scratch(b, "%lanes", "%lane")
    count = len(jaxpr.invars) + len(jaxpr.outvars)
    registers = {"thread": "tid.x", "block": "ctaid.x", "size": "ntid.x"}
    begin = []
    for name, register in registers.items():
        full = f"llvm.nvvm.read.ptx.sreg.{register}"
        b.declared[full] = f"declare i32 @{full}()"
        begin += [f"  %{name}32 = call i32 @{full}()", f"  %{name} = zext i32 %{name}32 to i64"]
    begin += [
        "  %before = mul i64 %block, %size",
        "  %lane = add i64 %before, %thread",
        "  %inside = icmp slt i64 %lane, %lanes",
        "  br i1 %inside, label %begin, label %outside",
        "outside:",
        "  ret void",
        "begin:",
    ]
    b.start("begin")
    b.lines.clear()
    write_body(b, scratch, jaxpr, batched, ["%lane"])
    pointers = ", ".join(f"ptr noalias %p{number}" for number in range(count))
    head = f"define ptx_kernel void @{KERNEL}({pointers}, ptr noalias %scratch, i64 %lanes)"
    return finished(b, scratch, head, begin, jaxpr)


def finished(b: Builder, scratch: Scratch, head: str, begin: Sequence[str], jaxpr: Any) -> Program:
    """The program, complete with declarations, from the lines of its kernel.

    Args:
        b: builder with the lines of the kernel's body and its declarations.
        scratch: memory of the program, with the lines that compute its pointers.
        head: first line of the kernel: its name and arguments.
        begin: lines at its start.
        jaxpr: traced function, for its numbers of arguments and results.
    """
    lines = [
        *b.declared.values(),
        f"{head} nounwind {{",
        "entry:",
        *begin,
        *scratch.pointers,
        *b.lines,
        "  ret void",
        "}",
        *b.metadata,
    ]
    text = "\n".join(lines)
    name = hashlib.sha256(text.encode()).hexdigest()[:32]
    sizes = len(jaxpr.invars), len(jaxpr.outvars)
    return Program(text, name, b.width, max(scratch.size, 64), *sizes)


def write_body(
    b: Builder, scratch: Scratch, jaxpr: Any, batched: Sequence[bool], lanes: Sequence[str]
) -> None:
    """Write the lines that load arguments, compute, and store results; pointers are `%p0`, ...

    Args:
        b: builder of the program.
        scratch: memory of the program.
        jaxpr: traced function, without constants.
        batched: which of its arguments differ between lanes.
        lanes: LLVM names of the numbers of the lanes that run at once.
    """
    arguments = [
        argument(b, number, variable.aval, differs, lanes)
        for number, (variable, differs) in enumerate(zip(jaxpr.invars, batched, strict=True))
    ]
    function, constants = simplified(jaxpr)
    translator = Translator(b, scratch)
    given = [translator.literal(value) for value in constants]
    results = translator.function(function, given, arguments)
    for number, value in enumerate(results):
        dtype = np.dtype(value.dtype)
        bases = pointers(b, len(arguments) + number, value.shape, dtype, lanes)
        copy(b, value, Stored(value.shape, Memory(bases, dtype, Layout.APART)))


def argument(b: Builder, number: int, aval: Any, differs: bool, lanes: Sequence[str]) -> Value:
    """The argument number `number` of the program: in registers if it is small, else in memory.

    `aval` has its shape and dtype; `differs` states whether it differs between `lanes`.
    """
    dtype, shape = np.dtype(aval.dtype), tuple(aval.shape)
    b.type_of(dtype)
    if differs:
        memory = Memory(pointers(b, number, shape, dtype, lanes), dtype, Layout.APART)
    else:
        memory = Memory((f"%p{number}",), dtype, Layout.SHARED)
    stored = Stored(shape, memory)
    if not b.in_registers(shape):
        return stored
    return Small(shape, dtype, stored.load_several(b, constant(0, INDEX), math.prod(shape)))


def pointers(
    b: Builder, number: int, shape: Sequence[int], dtype: np.dtype, lanes: Sequence[str]
) -> tuple[str, ...]:
    """LLVM names of the pointers to each lane's array, of the argument or result `number`.

    Args:
        b: builder, which gets the lines that compute them.
        number: number of the argument or result; `%p` with it points to the array of lane 0.
        shape: shape of one lane's array.
        dtype: its type.
        lanes: LLVM names of the numbers of the lanes.
    """
    size, addresses = constant(math.prod(shape) * dtype.itemsize, INDEX), []
    for lane in lanes:
        offset = b.apply("mul {r} {0}, {1}", INDEX, Item(lane, INDEX), size)
        addresses.append(
            b.emit(f"getelementptr i8, ptr %p{number}, i64 {offset.text}", INDEX, False).text
        )
    return tuple(addresses)
