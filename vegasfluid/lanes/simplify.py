"""Traced functions in a simpler form: calls inlined, each operation once, nothing that is unused.

Loops have one condition (`batched_loops`).

JAX traces an expression anew wherever Python evaluates it. XLA finds repetitions, and LLVM those of
single numbers, but not those of loops over arrays in memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from jax.core import ShapedArray
from jax.extend import core

from vegasfluid.lanes.batched_loops import has_several_conditions, with_one_condition
from vegasfluid.lanes.tracing import is_function
from vegasfluid.lanes.varying import body_of

__all__ = ["simplified"]

RECENT = 8
"""Number of simplified functions kept for reuse (chosen)."""


@lru_cache(RECENT)
def simplified(jaxpr: Any) -> tuple[Any, tuple[Any, ...]]:
    """A traced function without calls, repeated operations and unused ones; and its constants.

    The bodies of loops and the branches of conditionals are simplified, too.

    >>> import jax
    >>> f = jax.jit(lambda x: x * 2)
    >>> function, _ = simplified(jax.make_jaxpr(lambda x: f(x) + f(x))(1.0).jaxpr)
    >>> [equation.primitive.name for equation in function.eqns]
    ['mul', 'add']
    """
    return Simplifier().whole(jaxpr, ())


class Simplifier:
    """Collects the equations of a function, each once."""

    def __init__(self) -> None:
        self.equations: list[Any] = []
        self._seen: dict[Any, list[Any]] = {}
        self._constants: dict[int, tuple[Any, Any]] = {}
        """Variables of constants, and the constants, by their addresses."""
        self._functions: dict[int, tuple[Any, Any]] = {}
        """Functions and their simplified form, by their addresses."""

    def whole(self, jaxpr: Any, constants: Sequence[Any]) -> tuple[Any, tuple[Any, ...]]:
        """The simplified function and its constants; `constants` are those of `jaxpr`."""
        given = [self.constant(value) for value in constants]
        arguments = [core.Var(variable.aval) for variable in jaxpr.invars]
        results = self.add(jaxpr, given, arguments)
        names, values = [], []
        for variable, value in self._constants.values():
            names.append(variable)
            values.append(value)
        function = jaxpr.replace(
            constvars=names,
            invars=arguments,
            outvars=results,
            eqns=used(self.equations, results),
        )
        return function, tuple(values)

    def constant(self, value: Any) -> Any:
        """The variable of a constant."""
        if id(value) not in self._constants:
            aval = ShapedArray(np.shape(value), np.asarray(value).dtype)
            self._constants[id(value)] = core.Var(aval), value
        return self._constants[id(value)][0]

    def add(self, jaxpr: Any, constants: Sequence[Any], arguments: Sequence[Any]) -> list[Any]:
        """Add the equations of a function, with these operands; returns its results."""
        known = dict(zip(jaxpr.constvars, constants, strict=True))
        known |= zip(jaxpr.invars, arguments, strict=True)

        def read(variable: Any) -> Any:
            return variable if isinstance(variable, core.Literal) else known[variable]

        for equation in jaxpr.eqns:
            operands = [read(variable) for variable in equation.invars]
            called = body_of(equation)
            if called is not None:
                inner, values = called
                results = self.add(inner, [self.constant(value) for value in values], operands)
            else:
                if has_several_conditions(equation):
                    equation, operands = with_one_condition(equation, operands)
                results = self.once(equation, operands)
            known |= zip(equation.outvars, results, strict=True)
        return [read(variable) for variable in jaxpr.outvars]

    def once(self, equation: Any, operands: list[Any]) -> list[Any]:
        """The results of an equation with these operands, which is added unless it is there."""
        params = {name: self.inner(value) for name, value in equation.params.items()}
        items = ((name, identity(value)) for name, value in params.items())
        key = (equation.primitive, *map(operand_key, operands), *items)
        try:
            known = self._seen.get(key)
        except TypeError:  # a parameter that cannot be compared
            key, known = None, None
        if known is not None:
            return known
        results = [core.Var(variable.aval) for variable in equation.outvars]
        self.equations.append(equation.replace(invars=operands, outvars=results, params=params))
        if key is not None and not equation.effects:
            self._seen[key] = results
        return results

    def inner(self, value: Any) -> Any:
        """A parameter of an equation, in which the functions of loops and branches are simplified.

        A function that several equations have stays the same object.
        """
        if isinstance(value, tuple) and value and all(map(is_function, value)):
            return tuple(self.inner(each) for each in value)
        if not is_function(value):
            return value
        function: Any = value
        closed: Any = value if hasattr(value, "jaxpr") else core.ClosedJaxpr(function, ())
        if id(value) not in self._functions:
            simple, constants = Simplifier().whole(closed.jaxpr, closed.consts)
            self._functions[id(value)] = value, core.ClosedJaxpr(simple, constants)
        return self._functions[id(value)][1]


def identity(value: Any) -> Any:
    """What is compared to decide whether two parameters of equations are the same."""
    if isinstance(value, tuple):
        return tuple(map(identity, value))
    return id(value) if is_function(value) else value


def operand_key(operand: Any) -> Any:
    """What is compared to decide whether two operands of equations are the same."""
    if isinstance(operand, core.Literal):
        aval: Any = operand.aval
        return str(aval), np.asarray(operand.val, aval.dtype).tobytes()
    return id(operand)


def used(equations: Sequence[Any], results: Sequence[Any]) -> list[Any]:
    """The equations on which the results, or effects, depend."""
    needed = {id(variable) for variable in results}
    kept = []
    for equation in reversed(equations):
        if equation.effects or any(id(variable) in needed for variable in equation.outvars):
            kept.append(equation)
            needed |= {id(variable) for variable in equation.invars}
    return kept[::-1]
