"""The values of a traced function's variables while it is translated."""

from __future__ import annotations

from collections import Counter
from typing import Any

from jax.extend import core

from vegasfluid.lanes.memory import Value

__all__ = ["Scope", "is_literal"]


class Scope:
    """The values of a function's variables, with counts of the references to each memory.

    Args:
        jaxpr: the traced function.
    """

    def __init__(self, jaxpr: Any) -> None:
        self._values: dict[Any, Value] = {}
        self._last: dict[int, list[Any]] = {}
        last = dict.fromkeys((v for v in jaxpr.outvars if not is_literal(v)), len(jaxpr.eqns))
        for number in reversed(range(len(jaxpr.eqns))):
            for variable in jaxpr.eqns[number].invars:
                if not is_literal(variable):
                    last.setdefault(variable, number)
        self._used = last
        operands = [variable for equation in jaxpr.eqns for variable in equation.invars]
        named = (v for v in (*operands, *jaxpr.outvars) if not is_literal(v))
        self._reads = Counter(named)
        for variable, number in last.items():
            self._last.setdefault(number, []).append(variable)

    def bind(self, variable: Any, value: Value) -> None:
        """Bind a variable of the function to a value, if an equation or the result reads it."""
        if variable in self._used:
            self._values[variable] = value
            for memory in value.memories:
                memory.references += 1

    def reads(self, variable: Any) -> int:
        """How many operands and results of the function are this variable."""
        return self._reads[variable]

    def read(self, variable: Any) -> Value:
        """The value bound to a variable."""
        return self._values[variable]

    def release(self, number: int) -> None:
        """Release the variables that the equation with this number reads last.

        The number of equations stands for the function's results.
        """
        for variable in self._last.get(number, ()):
            for memory in self._values.pop(variable).memories:
                memory.references -= 1


def is_literal(variable: Any) -> bool:
    """Whether an operand of an equation is a literal (a constant) and not a variable."""
    return isinstance(variable, core.Literal)
