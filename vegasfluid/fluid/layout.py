"""Conversion between a state of named arrays and the one vector that the solver integrates."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from vegasfluid.fluid.shapes import Vector

__all__ = ["Layout"]


class Layout(NamedTuple):
    """Positions of the arrays of a state in the solver's vector; hashable, so it can be static.

    Args:
        treedef: the pytree structure of the state.
        shapes: shapes of its arrays.

    >>> layout = Layout.of({"queue": jnp.zeros(2), "cells": jnp.zeros((2, 3))})
    >>> layout.size, layout.unpack(jnp.arange(8.0))["cells"].shape
    (8, (2, 3))
    """

    treedef: Any
    shapes: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, state: PyTree) -> Layout:
        """Layout of all states that have the pytree structure and array shapes of `state`."""
        leaves, treedef = jax.tree.flatten(state)
        return cls(treedef, tuple(jnp.shape(leaf) for leaf in leaves))

    @property
    def size(self) -> int:
        """Number of components of the solver's vector."""
        return sum(math.prod(shape) for shape in self.shapes)

    @property
    def indices(self) -> Any:
        """A state whose arrays contain their own positions in the vector."""
        return self.unpack(np.arange(self.size))

    def pack(self, state: PyTree) -> Vector:
        """Vector, shape (n,), of the components of a state with the layout's array shapes."""
        return jnp.concatenate([jnp.ravel(leaf) for leaf in jax.tree.leaves(state)])

    def unpack(self, y: Float[Array | np.ndarray, "*times n"]) -> Any:
        """State with the components of a vector `y` of shape (n,).

        Vectors of shape (..., n) give arrays of shape (..., *shape).
        """
        leaves, start = [], 0
        for shape in self.shapes:
            end = start + math.prod(shape)
            leaves.append(y[..., start:end].reshape((*y.shape[:-1], *shape)))
            start = end
        return jax.tree.unflatten(self.treedef, leaves)
