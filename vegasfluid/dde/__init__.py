"""Solvers of delay differential equations in JAX: compiled, batched and differentiable.

    y'(t) = f(t, y(t), y(s_1), y(s_2), ...),   s_i <= t,

where the past times s_i may depend on the state. This package does not depend on networks.

>>> import jax.numpy as jnp, numpy as np
>>> from vegasfluid import dde
>>> def rhs(t, y, history, rate):
...     return -rate * history(t - 1.0)
>>> solution = dde.solve_fixed(
...     rhs, jnp.ones(1), 1.0, ts=np.array([0.0, 1.5, 3.0]), dt0=0.05, longest_lag=1.0
... )
>>> [round(float(value), 3) for value in dde.check(solution).ys[:, 0]]
[1.0, -0.375, -0.167]
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from vegasfluid.dde.fixed import (
    FixedStepHistory,
    InitialHistory,
    Project,
    RightHandSide,
    solve_fixed,
)
from vegasfluid.dde.outcome import Outcome
from vegasfluid.dde.solution import Solution, check
from vegasfluid.dde.xla_flags import prefer_compiled_loops

if TYPE_CHECKING:
    from vegasfluid.dde.adaptive import Bound, History, Reset, solve, solve_batch

_ADAPTIVE = ("Bound", "History", "Reset", "solve", "solve_batch")
"""Public names of the adaptive solver, which are imported on first use."""

__all__ = [
    "Bound",
    "FixedStepHistory",
    "History",
    "InitialHistory",
    "Outcome",
    "Project",
    "Reset",
    "RightHandSide",
    "Solution",
    "check",
    "solve",
    "solve_batch",
    "solve_fixed",
]

prefer_compiled_loops()


def __getattr__(name: str) -> Any:
    """The function or class `name` of the adaptive solver, imported on first use.

    The import is delayed because that of diffrax takes a second.

    Raises:
        AttributeError: for any name that is not in `_ADAPTIVE`.
    """
    if name not in _ADAPTIVE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.adaptive"), name)
