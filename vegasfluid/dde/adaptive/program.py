"""The user's functions as traced programs, which are run with the history of a solve.

A program is run equation by equation where it reads the history, so each read reaches the reader
of the solve, from inside conditions, loops and compiled functions, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.extend import core
from jaxtyping import Array, PyTree

from vegasfluid.dde.adaptive.history_reader import HistoryReader
from vegasfluid.dde.adaptive.reads import read_p, window_p
from vegasfluid.errors import Unsupported
from vegasfluid.lanes.tracing import traced

__all__ = ["Program", "traced_program"]

INLINED = ("jit", "pjit", "closed_call", "core_call", "checkpoint", "remat2")
"""JAX's names of calls whose body can be run in their place."""


class Program(NamedTuple):
    """A traced function of pytrees of arrays.

    Args:
        jaxpr: the traced function of the leaves.
        constants: arrays that the function closes over.
        structure: the tree of its results.
    """

    jaxpr: Any
    constants: tuple[Any, ...]
    structure: Any

    @property
    def shapes(self) -> PyTree:
        """Shapes and dtypes of the results."""
        leaves = [variable.aval for variable in self.jaxpr.outvars]
        return jax.tree.unflatten(self.structure, leaves)

    def reads(self, derivative: bool = False) -> bool:
        """Whether the function reads the history; with `derivative`, whether it reads dy/dt."""
        return _reads(self.jaxpr, derivative)

    def run(
        self, reader: HistoryReader | None, constants: Sequence[Any], *arguments: PyTree
    ) -> PyTree:
        """The results of the function.

        Args:
            reader: serves reads of the history; None for a function without any.
            constants: the values of the field `constants`, in this order.
            arguments: pytrees of the same form as those with which the function was traced.

        Raises:
            Unsupported: for a read inside an operation that cannot be written out, such as
                `lax.while_loop`.
        """
        outputs = _run(self.jaxpr, [*constants, *jax.tree.leaves(arguments)], reader)
        return jax.tree.unflatten(self.structure, outputs)


def traced_program(function: Callable[..., PyTree], *examples: PyTree) -> Program:
    """Trace a function of pytrees of arrays; `examples` are such arguments, which may be traced."""
    closed, structure = traced(function, *examples)
    return Program(closed.jaxpr, tuple(closed.consts), structure)


def _bodies(equation: Any) -> list[Any]:
    """The traced functions among the parameters of an equation: bodies of calls and loops."""
    values = jax.tree.leaves(list(equation.params.values()), is_leaf=lambda leaf: leaf is None)
    bodies = [value.jaxpr if isinstance(value, core.ClosedJaxpr) else value for value in values]
    return [body for body in bodies if isinstance(body, core.Jaxpr)]


def _reads(jaxpr: Any, derivative: bool) -> bool:
    """Whether a traced function reads the history; with `derivative`, whether it reads dy/dt."""
    for equation in jaxpr.eqns:
        read = equation.primitive in (read_p, window_p)
        if read and (not derivative or equation.params.get("derivative", False)):
            return True
        if any(_reads(body, derivative) for body in _bodies(equation)):
            return True
    return False


def _run(jaxpr: Any, values: Sequence[Any], reader: HistoryReader | None) -> list[Any]:
    """The results of a traced function for the values of its constants and arguments."""
    if reader is None or not _reads(jaxpr, derivative=False):
        count = len(jaxpr.constvars)
        return core.jaxpr_as_fun(core.ClosedJaxpr(jaxpr, values[:count]))(*values[count:])
    known = dict(zip([*jaxpr.constvars, *jaxpr.invars], values, strict=True))

    def value(atom: Any) -> Any:
        return atom.val if isinstance(atom, core.Literal) else known[atom]

    for equation in jaxpr.eqns:
        given = [value(atom) for atom in equation.invars]
        if equation.primitive is read_p:
            outputs = [reader.read(*given, **_without_size(equation))]
        elif equation.primitive is window_p:
            outputs = reader.windows(*given, **_without_size(equation))
        elif any(_reads(body, derivative=False) for body in _bodies(equation)):
            outputs = _run_call(equation, given, reader)
        else:
            outputs = _apply(jaxpr, equation, given)
        known.update(zip(equation.outvars, outputs, strict=True))
    return [value(atom) for atom in jaxpr.outvars]


def _without_size(equation: Any) -> dict[str, Any]:
    """The parameters of a traced read of the history, except `size`, which the reader knows."""
    return {name: value for name, value in equation.params.items() if name != "size"}


def _apply(jaxpr: Any, equation: Any, given: list[Any]) -> list[Any]:
    """The results of one equation of a traced function."""
    pairs = zip(equation.invars, given, strict=True)
    known = {atom: value for atom, value in pairs if not isinstance(atom, core.Literal)}
    alone = jaxpr.replace(
        constvars=[], invars=list(known), outvars=equation.outvars, eqns=[equation]
    )
    return core.jaxpr_as_fun(core.ClosedJaxpr(alone, ()))(*known.values())


def _run_call(equation: Any, given: list[Any], reader: HistoryReader) -> list[Any]:
    """The results of a call, condition or loop whose body reads the history.

    Raises:
        Unsupported: unless it is a call in `INLINED`, a `lax.cond`, `lax.switch` or `lax.scan`.
    """
    name = equation.primitive.name
    if name in INLINED:
        closed = equation.params["jaxpr"]
        return _run_closed(closed, given, reader)
    if name == "cond":
        return _run_branches(equation.params["branches"], given, reader)
    if name == "scan":
        return _run_scan(equation, given, reader)
    reason = "only jax.vmap, jit, lax.cond, lax.scan and a fori_loop of known length may read it"
    raise Unsupported("dde.solve", f"history inside {name}", reason)


def _run_closed(closed: Any, given: Sequence[Any], reader: HistoryReader) -> list[Any]:
    """The results of a traced function with or without constants, for its arguments `given`."""
    if isinstance(closed, core.ClosedJaxpr):
        return _run(closed.jaxpr, [*closed.consts, *given], reader)
    return _run(closed, given, reader)


def _run_branches(branches: Sequence[Any], given: list[Any], reader: HistoryReader) -> list[Any]:
    """The results of `lax.cond` or `lax.switch`: all branches are run, and one is chosen.

    Args:
        branches: the traced functions.
        given: number of the branch that counts, and the arguments of all.
        reader: serves their reads; it disregards faults of those that do not count.
    """
    which, *arguments = given
    results = []
    for number, branch in enumerate(branches):
        with reader.counting_if(which == number):
            results.append(_run_closed(branch, arguments, reader))
    return [jax.lax.select_n(which, *cases) for cases in zip(*results, strict=True)]


def _run_scan(equation: Any, given: list[Any], reader: HistoryReader) -> list[Any]:
    """The results of `lax.scan`, with its steps one after the other."""
    parameters = equation.params
    first, length = parameters["num_consts"], parameters["length"]
    last = first + parameters["num_carry"]
    constants, carry, sequences = given[:first], given[first:last], given[last:]
    order = range(length - 1, -1, -1) if parameters["reverse"] else range(length)
    rows: dict[int, list[Any]] = {}
    for number in order:
        here = [sequence[number] for sequence in sequences]
        results = _run_closed(parameters["jaxpr"], [*constants, *carry, *here], reader)
        carry, rows[number] = results[: len(carry)], results[len(carry) :]
    stacked = [jnp.stack(each) for each in zip(*(rows[n] for n in range(length)), strict=True)]
    if not length:
        stacked = [_empty(variable) for variable in equation.outvars[len(carry) :]]
    return [*carry, *stacked]


def _empty(variable: Any) -> Array:
    """The empty array that a loop without steps returns in the place of its results."""
    return jnp.zeros(variable.aval.shape, variable.aval.dtype)
