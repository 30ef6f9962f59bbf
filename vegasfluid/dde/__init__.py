"""Delay differential equations in JAX: compiled, batched, differentiated; usable on its own.

    y'(t) = f(t, y(t), y(s_1), y(s_2), ...),   s_i <= t,

where the past times s_i may depend on the state. Nothing here knows of networks.

>>> import jax.numpy as jnp, numpy as np
>>> from vegasfluid import dde
>>> def rhs(t, y, history, rate):
...     return -rate * history(t - 1.0)
>>> solution = dde.solve(
...     rhs, jnp.ones(1), 1.0, save_at=np.array([0.0, 1.5, 3.0]), step=0.05, longest_lag=1.0
... )
>>> [round(float(value), 3) for value in dde.check(solution).ys[:, 0]]
[1.0, -0.375, -0.167]
"""

from vegasfluid.dde.backend import prefer_compiled_loops
from vegasfluid.dde.history import History, Past
from vegasfluid.dde.outcome import Outcome
from vegasfluid.dde.runge_kutta import Project, RightHandSide
from vegasfluid.dde.solve import Solution, check, solve

__all__ = [
    "History",
    "Outcome",
    "Past",
    "Project",
    "RightHandSide",
    "Solution",
    "check",
    "solve",
]

prefer_compiled_loops()
