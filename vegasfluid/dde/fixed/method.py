"""Explicit Runge-Kutta methods for steps of constant length.

Source: Hairer, Norsett and Wanner, Solving Ordinary Differential Equations I, 2nd edition 1993,
section II.1 (Heun's method of order 2 and the classical one of order 4).
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

__all__ = ["CLASSICAL", "HEUN", "Method", "Tableau", "tableau"]


class Method(NamedTuple):
    """An explicit Runge-Kutta method each of whose stages uses the slope of the one before only.

    Args:
        nodes: times of the second and later stages, in steps from the step's start. Each stage lies
            that far along the slope of the stage before.
        weights: weights of all stages' slopes in the step, over their sum.
    """

    nodes: tuple[float, ...]
    weights: tuple[float, ...]


CLASSICAL = Method((0.5, 0.5, 1.0), (1.0, 2.0, 2.0, 1.0))
"""The classical method of order 4."""
HEUN = Method((1.0,), (1.0, 1.0))
"""Heun's method of order 2, the trapezoidal rule with an Euler step to its end."""


class Tableau(NamedTuple):
    """The stages of a step from the second on, and the first stage of the next step.

    Args:
        ahead: time of the stage, in steps from the step's start.
        weight: weight of its slope in the step, times the sum of all weights.
        reach: how far the next stage's point lies along this stage's slope, in steps.
        ends: whether the next point is the end of the step.
        next_step: whether the stage is the first one of the next step.
    """

    ahead: Float[Array, "*stages"]
    weight: Float[Array, "*stages"]
    reach: Float[Array, "*stages"]
    ends: Bool[Array, "*stages"]
    next_step: Bool[Array, "*stages"]


def tableau(method: Method, dtype: jnp.dtype) -> Tableau:
    """A method as a table of its stages from the second on.

    The last row is the first stage of the next step. The first stage is not in the table.
    """
    stages = len(method.nodes)
    return Tableau(
        ahead=jnp.array([*method.nodes, 1.0], dtype),
        weight=jnp.array([*method.weights[1:], 0.0], dtype),
        reach=jnp.array([*method.nodes[1:], 0.0, 0.0], dtype),
        ends=jnp.arange(stages + 1) == stages - 1,
        next_step=jnp.arange(stages + 1) == stages,
    )
