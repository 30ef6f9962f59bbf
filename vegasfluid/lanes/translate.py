"""Translation of a function that JAX has traced into a program that runs lanes from start to end.

Everything except loops is written out number by number. Small carried values of a loop stay in
registers, and a large carried array (such as a history) is changed in place.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from vegasfluid.lanes.arrays import LARGEST_TABLE, Arrays
from vegasfluid.lanes.builder import BOOL, INDEX, Builder, Item, NoLaneKernel, Unsupported, constant
from vegasfluid.lanes.elementwise import OPERATIONS, operate
from vegasfluid.lanes.loops import Loop
from vegasfluid.lanes.memory import (
    Deferred,
    Layout,
    Memory,
    Scratch,
    Small,
    Stored,
    Value,
    copy,
    plus,
    times,
)
from vegasfluid.lanes.packing import pack, sizes_of, unpack
from vegasfluid.lanes.scope import Scope, is_literal
from vegasfluid.lanes.tracing import functions_of
from vegasfluid.lanes.unrolling import peeled, unchanged, unrolled, write_out
from vegasfluid.lanes.varying import (
    body_of,
    differing,
    differing_carry,
    differing_while,
    parts_of_scan,
)

__all__ = ["Translator"]

TRANSPARENT = {"stop_gradient", "pvary", "pcast", "copy", "copy_p", "optimization_barrier"}
TRANSPARENT |= {"nonbatchable", "nondifferentiable_backward"}
"""Operations that return their operands; the last two are equinox's, and concern JAX only."""


class Translator:
    """Writes traced functions into a program.

    Args:
        b: builder of the program.
        scratch: memory of the program.
    """

    def __init__(self, b: Builder, scratch: Scratch) -> None:
        self.b, self.scratch, self.arrays = b, scratch, Arrays(b, scratch)

    def function(
        self, jaxpr: Any, constants: Sequence[Value], arguments: Sequence[Value]
    ) -> list[Value]:
        """Write a traced function into the program; returns its results.

        Args:
            jaxpr: traced function.
            constants: values of its constants.
            arguments: values of its arguments.

        Raises:
            NoLaneKernel: if an operation cannot be translated, or the program gets too long.
        """
        scope = Scope(jaxpr)
        self.bind(scope, jaxpr.constvars, constants)
        self.bind(scope, jaxpr.invars, arguments)

        def read(variable: Any) -> Value:
            if is_literal(variable):  # of the type that JAX gives it
                return self.literal(np.asarray(variable.val, variable.aval.dtype))
            return scope.read(variable)

        for number, equation in enumerate(jaxpr.eqns):
            values = [read(variable) for variable in equation.invars]
            scope.release(number)
            self.bind(scope, equation.outvars, self.equation(equation, values))
            for value in values:
                for memory in value.memories:
                    self.scratch.release(memory)
            if len(self.b.lines) > self.b.longest:
                raise NoLaneKernel("the function is too long")
        results = [read(variable) for variable in jaxpr.outvars]
        scope.release(len(jaxpr.eqns))
        return results

    def bind(self, scope: Scope, variables: Sequence[Any], values: Sequence[Value]) -> None:
        """Bind variables to values.

        Deferred arrays that are read more than once are computed, and arrays too large for
        registers, such as the result of an operation on registers only, are stored.
        """
        for variable, value in zip(variables, values, strict=True):
            large = isinstance(value, Small) and not self.b.in_registers(value.shape)
            shared = isinstance(value, Deferred) and not value.cheap and scope.reads(variable) > 1
            scope.bind(variable, self.scratch.spilled(value) if large or shared else value)

    def literal(self, value: Any) -> Value:
        """A constant array as a value of the program.

        Raises:
            Unsupported: if it is too large to be written into a program: more than 10 000 elements.
        """
        array = np.asarray(value)
        if array.dtype == jax.dtypes.float0:  # the derivative of a whole number, never read
            array = np.zeros(array.shape, bool)
        if self.b.in_registers(array.shape):
            items = tuple(constant(each, array.dtype) for each in array.ravel())
            return Small(array.shape, array.dtype, items)
        if array.size > LARGEST_TABLE:
            raise Unsupported(f"a constant of shape {array.shape}")
        return Stored(array.shape, Memory((self.b.table(array),), array.dtype, Layout.SHARED))

    def equation(self, equation: Any, values: list[Value]) -> list[Value]:
        """Write one equation (a JAX operation) with the operands `values`; returns its results.

        Raises:
            NoLaneKernel: if the operation cannot be translated.
        """
        name = equation.primitive.name
        function = body_of(equation)
        if function is not None:
            jaxpr, constants = function
            return self.function(jaxpr, [self.literal(value) for value in constants], values)
        if name == "scan":
            return self.scan(equation, values)
        if name == "while":
            return self.repeat(equation, values)
        if name == "cond":
            return self.branch(equation, values)
        if self.arrays.knows(name):
            return self.arrays.operate(equation, values)
        if name in TRANSPARENT and len(equation.outvars) == len(values):
            return values
        if name in OPERATIONS:
            return [self.each(equation, values)]
        raise Unsupported(name)

    def each(self, equation: Any, values: list[Value]) -> Value:
        """Write an elementwise operation on arrays; returns its result."""
        name, params = equation.primitive.name, equation.params
        shape, dtype = equation.outvars[0].aval.shape, np.dtype(equation.outvars[0].aval.dtype)
        if self.b.in_registers(shape):
            columns = [spread_out(self.arrays.registers(value), shape) for value in values]
            return Small(shape, dtype, self.on_elements(name, params, dtype, columns, shape))
        return self.arrays.on_large(name, params, dtype, shape, values)

    def on_elements(
        self,
        name: str,
        params: Any,
        dtype: np.dtype,
        columns: Sequence[Sequence[Item]],
        shape: Sequence[int],
    ) -> tuple[Item, ...]:
        """Write an elementwise operation on the elements of its operands (`columns`, in C order).

        Returns the elements of its result, of type `dtype` and shape `shape`.
        """
        results: list[Item] = []
        for start, size in sizes_of(self.b, shape):
            parts = [column[start : start + size] for column in columns]
            if size == 1 or all(item.value is not None for part in parts for item in part):
                rows = zip(*parts, strict=True)
                results += [operate(self.b, name, params, dtype, *row) for row in rows]
                continue
            with self.b.side_by_side(size):
                operands = [pack(self.b, part) for part in parts]
                results += unpack(self.b, operate(self.b, name, params, dtype, *operands))
        return tuple(results)

    def branch(self, equation: Any, values: list[Value]) -> list[Value]:
        """Write a conditional (JAX's `cond`): all branches are computed, and one is selected.

        Returns its results. The first of `values` is the number of the branch, the others are its
        operands. If the number is a constant, only its branch is written.

        Raises:
            NoLaneKernel: for a branch with a `while` loop, which might not end in a lane that
                selects another branch, and for results that are too large for registers.
        """
        values = [self.arrays.settled(value) for value in values]
        which = self.arrays.registers(values[0]).items[0]
        branches = equation.params["branches"]
        if which.value is not None:
            branch = branches[int(np.clip(int(which.value), 0, len(branches) - 1))]
            return self.function(branch.jaxpr, [self.literal(v) for v in branch.consts], values[1:])
        if any(has_loop(branch.jaxpr) for branch in branches):
            raise Unsupported("a loop in a branch")
        for value in values[1:]:
            if isinstance(value, Stored):
                value.memory.references += 1
        branch_results = [
            self.function(branch.jaxpr, [self.literal(v) for v in branch.consts], values[1:])
            for branch in branches
        ]
        for value in values[1:]:
            if isinstance(value, Stored):
                value.memory.references -= 1
        results: list[Value] = []
        for cases in zip(*branch_results, strict=True):
            small = [self.arrays.registers(case) for case in cases]
            rows = zip(*(case.items for case in small), strict=True)
            dtype = small[0].dtype
            items = tuple(operate(self.b, "select_n", None, dtype, which, *row) for row in rows)
            results.append(Small(small[0].shape, dtype, items))
        return results

    def scan(self, equation: Any, values: list[Value]) -> list[Value]:
        """Write JAX's `scan`: a loop over the slices of its inputs, which stacks its outputs.

        Returns the final carried values, then the stacked outputs. `values` are its constants,
        initial carried values and inputs.
        """
        values = [self.arrays.settled(value) for value in values]
        params, body = equation.params, equation.params["jaxpr"]
        length = params["length"]
        constants, carry, inputs = parts_of_scan(params, values)
        flags = [[value.varying for value in part] for part in (constants, carry, inputs)]
        varying = differing_carry(body.jaxpr, flags[0], flags[1], flags[2], len(carry))
        outputs = self.room_for(body.jaxpr, [*flags[0], *varying, *flags[2]], len(carry), length)
        inner = [self.literal(value) for value in body.consts]

        def iteration(carry: Sequence[Value], slices: Sequence[Value]) -> list[Value]:
            return self.function(body.jaxpr, inner, [*constants, *carry, *slices])

        if not self.b.gpu and unrolled(params, len(inputs)):
            with unchanged([*constants, *inputs]):
                return write_out(self, params, carry, inputs, outputs, iteration)
        each = [self.scratch.spilled(value) for value in inputs]
        loop = Loop(self.b, self.scratch, carry, varying, [*constants, *each])
        index = loop.begin()
        inside = operate(self.b, "lt", None, BOOL, index, constant(length, INDEX))
        loop.enter(inside)
        number = index
        if params["reverse"]:
            number = operate(self.b, "sub", None, INDEX, constant(length - 1, INDEX), index)
        slices = [self.slice_of(value, number) for value in each]
        results = iteration(loop.values, slices)
        for value, output in zip(results[len(carry) :], outputs, strict=True):
            start = times(self.b, number, constant(math.prod(value.shape), INDEX))
            copy(self.b, value, Stored(value.shape, output.memory, start))
        final = loop.end([self.arrays.settled(value) for value in results[: len(carry)]])
        stacked = [
            self.arrays.loaded(output, output.shape)
            if self.b.in_registers(output.shape)
            else output
            for output in outputs
        ]
        return [*final, *stacked]

    def room_for(
        self, body: Any, varying: Sequence[bool], carried: int, length: int
    ) -> list[Stored]:
        """Memory for the outputs of all `length` iterations of a scan, stacked.

        Args:
            body: traced function of an iteration.
            varying: whether each of its arguments differs between lanes.
            carried: number of carried values, which are its first results.
            length: number of iterations.
        """
        differs = differing(body, varying)[carried:]
        avals = [variable.aval for variable in body.outvars[carried:]]
        return [
            self.scratch.array((length, *aval.shape), np.dtype(aval.dtype), varies)
            for aval, varies in zip(avals, differs, strict=True)
        ]

    def slice_of(self, value: Stored, number: Item) -> Value:
        """The slice `number` of an array along its first axis, in registers if it is small."""
        shape = value.shape[1:]
        start = times(self.b, number, constant(math.prod(shape), INDEX))
        part = Stored(shape, value.memory, plus(self.b, value.offset, start))
        return self.arrays.loaded(part, shape) if self.b.in_registers(shape) else part

    def repeat(self, equation: Any, values: list[Value]) -> list[Value]:
        """Write JAX's `while`, a loop that ends when its condition is false.

        Returns the final carried values. `values` are the constants of the condition and of the
        body, and the initial carried values.

        Raises:
            Unsupported: if lanes in a vector might end the loop at different iterations.
        """
        values = [self.arrays.settled(value) for value in values]
        params = equation.params
        first = params["cond_nconsts"]
        split = first + params["body_nconsts"]
        condition, body = params["cond_jaxpr"], params["body_jaxpr"]
        condition_constants, constants, carry = values[:first], values[first:split], values[split:]

        def continues(carry: Sequence[Value]) -> Item:
            given = [*condition_constants, *carry]
            inner = [self.literal(value) for value in condition.consts]
            (result,) = self.function(condition.jaxpr, inner, given)
            return self.arrays.registers(result).items[0]

        def iteration(carry: Sequence[Value]) -> list[Value]:
            inner = [self.literal(value) for value in body.consts]
            results = self.function(body.jaxpr, inner, [*constants, *carry])
            return [self.arrays.settled(value) for value in results]

        if not self.b.gpu and peeled(params):
            with unchanged([*condition_constants, *constants]):
                with unchanged(carry):
                    certain = continues(carry).value
                carry = iteration(carry) if certain else carry
        flags = [value.varying for value in [*condition_constants, *constants, *carry]]
        varying = differing_while(params, flags)
        loop = Loop(self.b, self.scratch, carry, varying, [*condition_constants, *constants])
        loop.begin()
        inside = continues(loop.values)
        if inside.varying:
            raise Unsupported("a vectorised loop that lanes leave at different times")
        loop.enter(inside)
        return loop.end(iteration(loop.values))


def spread_out(value: Small, shape: Sequence[int]) -> list[Item]:
    """The items of an array in registers, broadcast to a shape, in C order."""
    if value.shape == tuple(shape):
        return list(value.items)
    numbers = np.broadcast_to(np.arange(len(value.items)).reshape(value.shape), shape)
    return [value.items[number] for number in numbers.ravel()]


def has_loop(jaxpr: Any) -> bool:
    """Whether a traced function, or one that it calls, has a `while` loop; a scan is none."""
    return any(
        equation.primitive.name == "while"
        or any(has_loop(function) for function in functions_of(equation))
        for equation in jaxpr.eqns
    )
