"""Quadrature of distributed delays: panels between breaking points, Gauss nodes in each.

The integral over a window is smooth where its integrand has a kink, so a node that passes a
breaking point needs no end of a step; but a quadrature formula must not reach across a kink.
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

__all__ = ["Panels", "gauss_nodes", "panels_between"]


class Panels(NamedTuple):
    """The nodes of all panels of a window, panel after panel.

    Args:
        nodes: times relative to the step's start, shape (panels, nodes).
        weights: weights of the integrand in the integral, in the unit of t, shape (panels, nodes).
        lower: last breaking point at or before each panel, shape (panels, 1).
        upper: next breaking point after each panel, shape (panels, 1).
    """

    nodes: Float[Array, "panels nodes"]
    weights: Float[Array, "panels nodes"]
    lower: Float[Array, "panels 1"]
    upper: Float[Array, "panels 1"]


def gauss_nodes(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of the Gauss-Legendre formula on (0, 1), shape (count,) each.

    >>> gauss_nodes(1)
    (array([0.5]), array([1.]))
    """
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return (nodes + 1) / 2, weights / 2


def panels_between(
    ends: Float[Array, " edges"],
    limits: tuple[Float[Array, ""], Float[Array, ""]],
    count: int,
) -> Panels:
    """The Gauss nodes of a window that is divided at breaking points.

    Args:
        ends: start of the window, breaking points in it and its end, relative to the step's start,
            shape (panels + 1,); breaks that are not there are equal to the end.
        limits: the last break before the start of the window and the first after its end.
        count: nodes of each panel.
    """
    nodes, weights = (jnp.asarray(part, ends.dtype) for part in gauss_nodes(count))
    begin, width = ends[:-1, None], jnp.diff(ends)[:, None]
    last = ends[1:] >= ends[-1]
    lower = jnp.concatenate([limits[0][None], ends[1:-1]])
    upper = jnp.where(last, limits[1], ends[1:])
    return Panels(begin + width * nodes, width * weights, lower[:, None], upper[:, None])
