"""Solve a delay differential equation with steps of one length."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree
from numpy.typing import ArrayLike

from vegasfluid.dde.fixed.history import Grid, Past
from vegasfluid.dde.fixed.runge_kutta import Problem, Project, RightHandSide, Save, integrate
from vegasfluid.dde.fixed.schedule import Schedule, on_the_grid
from vegasfluid.dde.outcome import Fault, Outcome
from vegasfluid.dde.shapes import check_shape
from vegasfluid.dde.solution import Solution
from vegasfluid.errors import InvalidInput
from vegasfluid.lanes import lane_kernel

__all__ = ["solve_along", "solve_fixed"]


def solve_fixed(
    rhs: RightHandSide,
    y0: Float[ArrayLike, " n"],
    args: PyTree = None,
    *,
    save_at: Float[ArrayLike, " m"],
    step: float,
    longest_lag: float,
    project: Project | None = None,
    past: Past | None = None,
    remember: int | None = None,
    save: Save | None = None,
    longer_steps: tuple[float, int] | None = None,
) -> Solution:
    """Solve y'(t) = rhs(t, y(t), history, args) from y(t0) = y0 with steps of one length.

    Of order 4 in `step` where the solution is smooth between grid points; a kink of `past`,
    `project` or a breaking point between them lowers it. May be compiled (do so if you call it
    often), batched by `jax.vmap`, and differentiated forward and in reverse by `y0`, `args` and
    what `past` and `project` close over, also through lags that depend on them. (By something
    that moves a lag: order 3; order 1 if the slope jumps at t0 and t0 plus a lag is no grid point.)

    Args:
        rhs: dy/dt, shape (n,), of (t, y, history, args). `history(s)` is y at s <= t; `History`
            says where it may be called.
        y0: state at t0, shape (n,), floating; its dtype is that of the whole computation.
        args: handed to `rhs`; any pytree.
        save_at: times of the saved states, shape (m,), concrete, equally spaced; the first is t0.
        step: largest step; each interval of `save_at` is cut into equal steps no longer. It must
            not exceed the shortest lag, and divides a constant lag best.
        longest_lag: bound on t - s; memory is about `longest_lag / step` states and slopes.
        project: applied to the states before and after each step; returns the one that the step
            is to end in, such as the latter clamped at zero; None: nothing.
        past: y at one time s < t0, shape () to shape (n,); None: y0. Is evaluated at
            t0 as well; if it does not meet y0 there, order 4 needs t0 plus each lag on the grid.
        remember: number of leading components of y that history and `past` have; None: all.
        save: what is saved of (t, y), shape (k,); None: y.
        longer_steps: after so much time, and how many times as long; a shorter lag is a fault.

    Returns:
        What is saved, and how it ended: also whether a lag was beyond `longest_lag` and was cut to
        it (not before t0), or a time after the last known grid point, and to that.

    Raises:
        InvalidInput: an argument makes no sense.

    >>> solution = solve_fixed(
    ...     lambda t, y, history, rate: -rate * history(t - 1.0), jnp.ones(1), 1.0,
    ...     save_at=np.linspace(0.0, 0.75, 4), step=0.05, longest_lag=1.0,
    ... )
    >>> [round(float(value), 3) for value in solution.ys[:, 0]]
    [1.0, 0.75, 0.5, 0.25]
    """
    state, times = _checked_state(y0), _checked_times(save_at)
    step, longest_lag = _positive("step", step), _positive("longest_lag", longest_lag)
    steps = on_the_grid(times, step, longest_lag, state.dtype, longer_steps)
    of = {"project": project, "past": past, "remember": remember, "save": save}
    return solve_along(steps, rhs, state, args, **of, warn=True)


def solve_along(
    steps: Schedule,
    rhs: RightHandSide,
    y0: Float[Array, " n"],
    args: PyTree = None,
    *,
    project: Project | None = None,
    past: Past | None = None,
    remember: int | None = None,
    save: Save | None = None,
    lanes: bool = True,
    warn: bool = False,
) -> Solution:
    """Solve with the steps of a schedule, whose numbers may be traced.

    Beside that: as `solve_fixed`, which has the same other arguments and returns the same. With
    `lanes` the whole solve is a lane kernel where it can be, of which `warn` warns where not; else
    XLA compiles it.
    """
    kept, grid = _checked_number(remember, y0), steps.first.grid
    problem = Problem(rhs, args, project or _same, past or (lambda s: y0[:kept]), grid, kept)
    problem = problem if save is None else problem._replace(save=save)
    _check_functions(problem, y0)

    def whole(y0: Array, steps: Schedule) -> tuple[Array, Fault]:
        return integrate(problem._replace(grid=steps.first.grid), y0, steps)

    ys, fault = (lane_kernel(whole, warn=warn) if lanes else whole)(y0, steps)
    return Solution(jnp.asarray(steps.times, y0.dtype), ys, fault.code, _time(fault, grid, y0))


def _time(fault: Fault, grid: Grid, y0: Array) -> Array:
    """When it went wrong; NaN where it did not."""
    fine = fault.code == jnp.int32(Outcome.SUCCESS)
    return jnp.where(fine, jnp.nan, grid.time(fault.step, 0.0, y0.dtype))


def _same(before: Array, y: Array) -> Array:
    return y


def _checked_number(remember: int | None, y0: Array) -> int | None:
    if remember is not None and not 1 <= remember <= y0.size:
        raise InvalidInput("dde.solve", "remember", f"from 1 to {y0.size}", remember)
    return remember


def _positive(name: str, value: float) -> float:
    if not 0 < value < math.inf:
        raise InvalidInput("dde.solve", name, "above 0 and finite", value)
    return float(value)


def _checked_state(y0: Float[ArrayLike, " n"]) -> Array:
    state = jnp.asarray(y0)
    if state.ndim != 1 or not state.size or not jnp.issubdtype(state.dtype, jnp.floating):
        given = f"shape {state.shape} of {state.dtype}"
        raise InvalidInput("dde.solve", "y0", "one-dimensional, floating and not empty", given)
    return state


def _checked_times(save_at: Float[ArrayLike, " m"]) -> np.ndarray:
    """The save times, if they are two or more and increase by equal amounts."""
    times = np.asarray(save_at, dtype=float)
    if times.ndim != 1 or times.size < 2 or not np.all(np.isfinite(times)):
        raise InvalidInput("dde.solve", "save_at", "two or more finite times", times.tolist())
    gaps = np.diff(times)
    if np.any(gaps <= 0):
        raise InvalidInput("dde.solve", "save_at", "increasing", times.tolist())
    rounding = 1e-9 * gaps.mean() + 8 * np.finfo(float).eps * np.abs(times).max()
    if np.ptp(gaps) > rounding:
        given = f"{gaps.min():g} to {gaps.max():g} apart"
        raise InvalidInput("dde.solve", "save_at", "equally spaced", given)
    return times


def _check_functions(problem: Problem, y0: Array) -> None:
    """Refuse a `past` or `project` that returns another shape than the state's."""
    some_time = jax.ShapeDtypeStruct((), y0.dtype)
    check_shape("past", jax.eval_shape(problem.past, some_time), y0[: problem.remember].shape)
    check_shape("project", jax.eval_shape(problem.project, y0, y0), y0.shape)
