"""Which values of a function differ between the lanes of a batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jax.extend import core

__all__ = ["body_of", "differing", "differing_carry", "differing_while", "parts_of_scan"]

INLINED = {
    "jit": "jaxpr",
    "pjit": "jaxpr",
    "closed_call": "call_jaxpr",
    "core_call": "call_jaxpr",
    "eval_jaxpr": "call_jaxpr",
    "remat": "jaxpr",
    "checkpoint": "jaxpr",
    "remat2": "jaxpr",
    "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr",
    "custom_vjp_call_jaxpr": "fun_jaxpr",
}
"""Primitives that call a function, with the name of the parameter that contains it."""


def body_of(equation: Any) -> tuple[Any, Sequence[Any]] | None:
    """The traced function that an equation calls, and its constants; None if it calls none."""
    name = INLINED.get(equation.primitive.name)
    if name is None or name not in equation.params:
        return None
    function = equation.params[name]
    if hasattr(function, "jaxpr"):
        return function.jaxpr, function.consts
    return function, ()


def parts_of_scan(params: Any, values: Sequence[Any]) -> list[list[Any]]:
    """Values for a scan's arguments, divided into its constants, carried values and inputs.

    Args:
        params: parameters of JAX's `scan` equation, with the numbers of constants, carried values
            and inputs (from version 0.11 of JAX on as a structure).
        values: one value for each argument.
    """
    if "num_consts" in params:
        split = params["num_consts"] + params["num_carry"]
        parts = list(values)
        return [parts[: params["num_consts"]], parts[params["num_consts"] : split], parts[split:]]
    return [list(part) for part in params["ft_in"].update(values).unpack()]


def differing(jaxpr: Any, arguments: Sequence[bool]) -> list[bool]:
    """Whether each result of a traced function differs between the lanes (instances) of a batch.

    Args:
        jaxpr: the traced function.
        arguments: whether each of its arguments differs between lanes.
    """
    known: dict[Any, bool] = dict(zip(jaxpr.invars, arguments, strict=True))

    def differs(variable: Any) -> bool:
        return not isinstance(variable, core.Literal) and known.get(variable, False)

    for equation in jaxpr.eqns:
        given = [differs(variable) for variable in equation.invars]
        known |= zip(equation.outvars, of_equation(equation, given), strict=True)
    return [differs(variable) for variable in jaxpr.outvars]


def of_equation(equation: Any, given: list[bool]) -> list[bool]:
    """Whether each result of an equation of a traced function differs between lanes (instances).

    Args:
        equation: the equation.
        given: whether each of its operands differs between lanes.
    """
    name, params = equation.primitive.name, equation.params
    function = body_of(equation)
    if function is not None:
        return differing(function[0], given)
    if name == "scan":
        constants, begun, each = parts_of_scan(params, given)
        body = params["jaxpr"].jaxpr
        carry = differing_carry(body, constants, begun, each, len(begun))
        return [*carry, *differing(body, [*constants, *carry, *each])[len(carry) :]]
    if name == "while":
        return differing_while(params, given)
    if name == "cond":
        each = [differing(branch.jaxpr, given[1:]) for branch in params["branches"]]
        return [given[0] or any(results) for results in zip(*each, strict=True)]
    return [any(given)] * len(equation.outvars)


def differing_while(params: Any, given: Sequence[bool]) -> list[bool]:
    """Whether each carried value of a `while` loop differs between lanes (instances) at its end.

    If lanes leave the loop at different iterations, all of them may differ.

    Args:
        params: parameters of JAX's `while` equation.
        given: whether each of its arguments differs: constants of the condition, constants of the
            body, and initial carried values.
    """
    first = params["cond_nconsts"]
    split = first + params["body_nconsts"]
    body, condition = params["body_jaxpr"].jaxpr, params["cond_jaxpr"].jaxpr
    carry = differing_carry(body, given[first:split], given[split:], [], len(given) - split)
    (leaves,) = differing(condition, [*given[:first], *carry])
    return [leaves or differs for differs in carry]


def differing_carry(
    body: Any,
    constants: Sequence[bool],
    carry: Sequence[bool],
    each: Sequence[bool],
    count: int,
) -> list[bool]:
    """Whether each carried value of a loop differs between lanes (instances) in any iteration.

    Args:
        body: maps constants, carried values and inputs to carried values and outputs.
        constants: which constants differ.
        carry: which initial carried values differ.
        each: which inputs of an iteration differ.
        count: number of carried values.
    """
    flags = list(carry)
    while True:
        after = differing(body, [*constants, *flags, *each])[:count]
        union = [before or later for before, later in zip(flags, after, strict=True)]
        if union == flags:
            return flags
        flags = union
