"""Functions of pytrees, traced to JAX's equations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

__all__ = ["functions_of", "is_function", "of_one_instance", "traced", "without_constants"]


def traced(function: Callable[..., Any], *examples: Any) -> tuple[Any, Any]:
    """Trace a function of pytrees of arrays.

    Args:
        function: maps pytrees of arrays to a pytree of arrays; JAX must be able to trace it.
        examples: arguments of it, which may be traced themselves.

    Returns:
        The closed jaxpr of the function of all leaves, and the tree of the results.

    >>> closed, structure = traced(lambda pair: {"sum": pair[0] + pair[1]}, (1.0, 2.0))
    >>> len(closed.jaxpr.invars), structure
    (2, PyTreeDef({'sum': *}))
    """
    leaves, structure = jax.tree.flatten(examples)
    results: Any = None

    def flat(*values: Any) -> list[Any]:
        nonlocal results
        outputs, results = jax.tree.flatten(function(*jax.tree.unflatten(structure, values)))
        return outputs

    return jax.make_jaxpr(flat)(*leaves), results


def of_one_instance(arguments: Any) -> Any:
    """Shapes and dtypes of the arguments for one instance, from those of a batch (its axis first).

    >>> import jax.numpy as jnp
    >>> of_one_instance(jnp.zeros((10, 3))).shape
    (3,)
    """
    return jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape[1:], x.dtype), arguments)


def without_constants(closed: Any) -> Any:
    """The jaxpr of a closed jaxpr, with its constants as the first arguments instead."""
    jaxpr = closed.jaxpr
    return jaxpr.replace(constvars=[], invars=[*jaxpr.constvars, *jaxpr.invars])


def is_function(value: Any) -> bool:
    """Whether a parameter of an equation is a traced function, closed or not."""
    return hasattr(getattr(value, "jaxpr", value), "eqns")


def functions_of(equation: Any) -> list[Any]:
    """The traced functions among an equation's parameters, such as the body of a loop."""
    values = [
        each
        for value in equation.params.values()
        for each in (value if isinstance(value, tuple | list) else (value,))
    ]
    return [getattr(each, "jaxpr", each) for each in values if is_function(each)]
