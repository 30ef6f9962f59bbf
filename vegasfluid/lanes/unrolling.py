"""Short scans written out: the number of each iteration is a constant, so arrays stay in registers.

In a loop, an element whose number is the loop's index is read from memory and written to memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from vegasfluid.lanes.builder import INDEX, LARGEST_IN_REGISTERS, constant
from vegasfluid.lanes.memory import Small, Stored, Value, copy
from vegasfluid.lanes.packing import FEWEST, WIDEST
from vegasfluid.lanes.tracing import functions_of

__all__ = ["peeled", "size_of", "unchanged", "unrolled", "write_out"]

LONGEST_UNROLLED = 10_000
"""Largest number of instructions, estimated, of a scan that is written out (chosen: the stages of a
step of an equation with a few states and lags, and of network 2 with two derivatives)."""
LONGEST_PEELED = 6000
"""Largest number of instructions, estimated, of an iteration that is written before its loop
(chosen: the stages of a step of an equation with a few states and lags)."""
MOST_ITERATIONS = 16
"""Largest number of iterations of a scan that is written out (chosen)."""

Iteration = Callable[[Sequence[Value], Sequence[Value]], list[Value]]
"""Writes an iteration: maps carried values and slices of inputs to carried values and outputs."""


def unrolled(params: Any, inputs: int) -> bool:
    """Whether a scan is written out: it runs once, or has few, short iterations and `inputs`.

    Args:
        params: parameters of JAX's scan.
        inputs: number of arrays of which each iteration gets a slice.
    """
    length = params["length"]
    if not inputs and length != 1:
        return False
    return 0 < length <= MOST_ITERATIONS and length * size_of(params["jaxpr"]) <= LONGEST_UNROLLED


def peeled(params: Any) -> bool:
    """Whether the first iteration of a `while` loop is written before it, if it is certain to run.

    The initial values, often constants, simplify it. Only short iterations are.
    """
    return size_of(params["body_jaxpr"]) <= LONGEST_PEELED


def size_of(jaxpr: Any) -> int:
    """The number of instructions of a traced function, estimated: one for each vector computed."""
    total = 0
    for equation in getattr(jaxpr, "jaxpr", jaxpr).eqns:
        inner = sum(map(size_of, functions_of(equation)))
        sizes = [math.prod(variable.aval.shape) for variable in equation.outvars]
        total += inner or sum(instructions(size) for size in sizes)
    return total


def instructions(size: int) -> int:
    """The number of instructions of an operation on an array of this size, estimated."""
    return -(-min(size, LARGEST_IN_REGISTERS) // WIDEST) if size >= FEWEST else size


@contextmanager
def unchanged(values: Sequence[Value]) -> Iterator[None]:
    """Within this context no array among the values is overwritten."""
    memories = [memory for value in values for memory in value.memories]
    for memory in memories:
        memory.references += 1
    yield
    for memory in memories:
        memory.references -= 1


def write_out(
    translator: Any,
    params: Any,
    carry: list[Value],
    inputs: Sequence[Value],
    outputs: Sequence[Stored],
    iteration: Iteration,
) -> list[Value]:
    """Write all iterations of a scan one after the other.

    Args:
        translator: translator of the program.
        params: parameters of JAX's scan.
        carry: initial carried values.
        inputs: arrays with a slice for each iteration.
        outputs: memory for the stacked outputs.
        iteration: writes an iteration.

    Returns:
        The final carried values, then the stacked outputs.
    """
    b, length = translator.b, params["length"]
    stacked: list[list[Small]] = [[] for _ in outputs]
    order = range(length)[:: -1 if params["reverse"] else 1]
    for number in order:
        slices = [slice_at(translator, value, number) for value in inputs]
        results = iteration(carry, slices)
        carry = results[: len(carry)]
        for rows, output, value in zip(stacked, outputs, results[len(carry) :], strict=True):
            if b.in_registers(output.shape):
                rows.append(translator.arrays.registers(value))
                continue
            start = constant(number * math.prod(value.shape), INDEX)
            copy(b, value, Stored(value.shape, output.memory, start))
    ordered = [rows[:: -1 if params["reverse"] else 1] for rows in stacked]
    return [*carry, *map(together, ordered, outputs)]


def together(rows: list[Small], output: Stored) -> Value:
    """A scan's output, stacked: from the outputs of all iterations, or the array in memory."""
    if not rows:
        return output
    items = tuple(item for row in rows for item in row.items)
    return Small(output.shape, output.dtype, items)


def slice_at(translator: Any, value: Value, number: int) -> Value:
    """The slice with this number, a constant, of an array along its first axis."""
    if not isinstance(value, Small):
        part: Value = translator.slice_of(value, constant(number, INDEX))
        return part
    shape = value.shape[1:]
    size = math.prod(shape)
    return Small(shape, value.dtype, value.items[number * size : (number + 1) * size])
