"""A state of named parts as one vector, as the solver wants it, and back."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

__all__ = ["Layout"]


class Layout(NamedTuple):
    """Where in a vector each part of a state stands; hashable, so that it can be static.

    Args:
        structure: how the parts hang together.
        shapes: of each part.

    >>> layout = Layout.of({"queue": jnp.zeros(2), "share": jnp.zeros((2, 3))})
    >>> layout.size, layout.unpack(jnp.arange(8.0))["share"].shape
    (8, (2, 3))
    """

    structure: Any
    shapes: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, state: Any) -> Layout:
        """The layout of states like this one."""
        leaves, structure = jax.tree.flatten(state)
        return cls(structure, tuple(jnp.shape(leaf) for leaf in leaves))

    @property
    def size(self) -> int:
        """Length of the vector."""
        return sum(math.prod(shape) for shape in self.shapes)

    def pack(self, state: Any) -> Float[Array, " n"]:
        """A state as a vector.

        Args:
            state: parts of the layout's shapes.
        """
        return jnp.concatenate([jnp.ravel(leaf) for leaf in jax.tree.leaves(state)])

    def unpack(self, y: Any) -> Any:
        """A vector as a state; vectors of shape (..., n) as one with parts of (..., shape)."""
        parts, begin = [], 0
        for shape in self.shapes:
            end = begin + math.prod(shape)
            parts.append(y[..., begin:end].reshape(*y.shape[:-1], *shape))
            begin = end
        return jax.tree.unflatten(self.structure, parts)
