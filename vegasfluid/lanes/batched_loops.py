"""Loops of several instances inside one lane, which `jax.vmap` within a function makes.

JAX gives such a `while` loop an array of conditions, one for each instance: it runs while any of
them holds, and instances whose condition does not hold keep their values.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend import core

__all__ = ["has_several_conditions", "with_one_condition"]


def has_several_conditions(equation: Any) -> bool:
    """Whether an equation is a `while` loop of several instances."""
    if equation.primitive.name != "while":
        return False
    (condition,) = equation.params["cond_jaxpr"].out_avals
    return math.prod(condition.shape) > 1


def with_one_condition(equation: Any, operands: Sequence[Any]) -> tuple[Any, list[Any]]:
    """A `while` loop of several instances as one with a single condition, and its operands.

    Args:
        equation: the loop.
        operands: constants of the conditions, constants of the body, and initial carried values;
            the first axis (or axes) of each carried value is that of the conditions.

    Returns:
        The loop, whose body selects between new and old values, and its operands: those of the
        conditions are constants of the body, too.
    """
    params = equation.params
    first = params["cond_nconsts"]
    split = first + params["body_nconsts"]
    conditions = core.jaxpr_as_fun(params["cond_jaxpr"])
    body = core.jaxpr_as_fun(params["body_jaxpr"])

    def continues(*given: Any) -> Any:
        return jnp.any(conditions(*given)[0])

    def iteration(*given: Any) -> list[Any]:
        carry = given[split:]
        (which,) = conditions(*given[:first], *carry)
        pairs = zip(body(*given[first:split], *carry), carry, strict=True)
        return [select(which, new, old) for new, old in pairs]

    avals = [jax.ShapeDtypeStruct(each.aval.shape, each.aval.dtype) for each in equation.invars]
    changed = params | {
        "cond_jaxpr": jax.make_jaxpr(continues)(*avals[:first], *avals[split:]),
        "body_jaxpr": jax.make_jaxpr(iteration)(*avals),
        "body_nconsts": split,
    }
    constants = list(operands[:first])
    return equation.replace(params=changed), [*constants, *operands]


def select(which: Any, new: Any, old: Any) -> Any:
    """The new values of instances for which `which` is true, and the old ones of the others."""
    return jnp.where(which.reshape(which.shape + (1,) * (new.ndim - which.ndim)), new, old)
