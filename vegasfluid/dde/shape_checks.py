"""Checks of the shapes that the user's functions return."""

from __future__ import annotations

from typing import Any

from vegasfluid.errors import InvalidInput

__all__ = ["check_flat", "check_shape"]


def check_shape(name: str, value: Any, shape: tuple[int, ...]) -> None:
    """Raise `InvalidInput` unless `value`, returned by the user's function `name`, has this shape.

    >>> import jax.numpy as jnp
    >>> check_shape("rhs", jnp.ones(2), (2,))
    """
    given = getattr(value, "shape", type(value).__name__)
    if given != shape:
        allowed = f"a function that returns an array of shape {shape}"
        raise InvalidInput("dde.solve", name, allowed, given)


def check_flat(name: str, value: Any) -> None:
    """Raise `InvalidInput` unless `value`, returned by the user's function `name`, has one axis.

    >>> import jax.numpy as jnp
    >>> check_flat("guards", jnp.ones(2))
    """
    given = getattr(value, "shape", type(value).__name__)
    if len(given) != 1 or isinstance(given, str):
        allowed = "a function that returns an array of shape (m,)"
        raise InvalidInput("dde.solve", name, allowed, given)
