"""Solve a delay differential equation with steps of constant length."""

from __future__ import annotations

import math
from numbers import Integral, Real

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree
from numpy.typing import ArrayLike

from vegasfluid.dde.fixed.history import Grid, InitialHistory
from vegasfluid.dde.fixed.method import CLASSICAL, Method
from vegasfluid.dde.fixed.runge_kutta import Problem, Project, RightHandSide, Save, integrate
from vegasfluid.dde.fixed.schedule import Schedule, on_the_grid
from vegasfluid.dde.outcome import Fault, Outcome
from vegasfluid.dde.shape_checks import check_shape
from vegasfluid.dde.solution import Solution
from vegasfluid.errors import InvalidInput
from vegasfluid.lanes import lane_kernel

__all__ = ["solve_along", "solve_fixed"]


def solve_fixed(
    rhs: RightHandSide,
    y0: Float[ArrayLike, " n"],
    args: PyTree = None,
    *,
    ts: Float[ArrayLike, " m"],
    dt0: float,
    longest_lag: float,
    project: Project | None = None,
    initial_history: InitialHistory | None = None,
    history_components: int | None = None,
    save: Save | None = None,
    longer_steps: tuple[float, int] | None = None,
) -> Solution:
    """Solve y'(t) = rhs(t, y(t), history, args) from y(t0) = y0 with steps of constant length.

    The classical Runge-Kutta method: order 4 in `dt0` where the solution is smooth between grid
    points. It can be compiled, batched and differentiated in both modes, also with respect to lags
    (with order 3; order 1 if the slope jumps at t0 and t0 plus a lag is not a grid point).

    Args:
        rhs: dy/dt, shape (n,), as a function of (t, y, history, args); see `FixedStepHistory`.
        y0: state at t0, shape (n,), floating; its dtype is used for the whole computation.
        args: passed to `rhs`; any pytree.
        ts: times of the saved states, shape (m,), concrete, equally spaced; the first is t0. All
            times have one unit, of the caller's choice.
        dt0: longest step; each interval of `ts` is divided into equal steps no longer than this. It
            must not exceed the shortest lag, and should divide constant lags.
        longest_lag: bound on the lags; the history needs memory for `longest_lag / dt0` points.
        project: maps the states before and after a step to the state at its end; None: no change.
        initial_history: y (its `history_components`) at one time s < t0; None: y0. If not y0 at
            t0, order 4 requires t0 plus each lag on the grid.
        history_components: number of leading components of y in both histories; None: all.
        save: maps (t, y) to the saved values, shape (k,); None: y.
        longer_steps: (time after t0, factor): later steps are longer by this whole factor; or None.

    Returns:
        Save times `ts` (m,), values `ys` (m, k), its `result` and the `time` of a fault.

    Raises:
        InvalidInput: for an argument out of range.

    >>> solution = solve_fixed(
    ...     lambda t, y, history, rate: -rate * history(t - 1.0), jnp.ones(1), 1.0,
    ...     ts=np.linspace(0.0, 0.75, 4), dt0=0.05, longest_lag=1.0,
    ... )
    >>> [round(float(value), 3) for value in solution.ys[:, 0]]
    [1.0, 0.75, 0.5, 0.25]
    """
    state, times = _checked_state(y0), _checked_times(ts)
    step, longest_lag = _positive("dt0", dt0), _positive("longest_lag", longest_lag)
    steps = on_the_grid(times, step, longest_lag, state.dtype, _checked_longer(longer_steps))
    return solve_along(
        *(steps, rhs, state, args),
        project=project,
        initial_history=initial_history,
        history_components=history_components,
        save=save,
        warn=True,
    )


def solve_along(
    steps: Schedule,
    rhs: RightHandSide,
    y0: Float[Array, " n"],
    args: PyTree = None,
    *,
    project: Project | None = None,
    initial_history: InitialHistory | None = None,
    history_components: int | None = None,
    save: Save | None = None,
    method: Method = CLASSICAL,
    lanes: bool = True,
    warn: bool = False,
) -> Solution:
    """Solve a delay equation with the steps and save times of a schedule, which may be traced.

    All times have one unit, which the caller chooses.

    Args:
        steps: grid and save times.
        rhs: dy/dt, shape (n,), as a function of (t, y, history, args).
        y0: state at the start, shape (n,).
        args: passed to `rhs`; any pytree.
        project: maps the states before and after a step to the state at its end; None: no change.
        initial_history: y (its `history_components`) at one time before the start; None: y0.
        history_components: number of leading components of y in the histories; None: all.
        save: maps (t, y) to the saved values, shape (k,); None: y.
        method: the Runge-Kutta method.
        lanes: whether to run the solve as a lane kernel (`vegasfluid.lanes`); else XLA compiles it.
        warn: whether to warn where `lanes` is set but XLA has to compile it.

    Returns:
        Save times `ts` (m,), saved values `ys` (m, k), the first fault as `result` (an `Outcome`)
        and its `time`. A fault raises no error; `dde.check` does.

    Raises:
        InvalidInput: for a function that returns another shape than it must.
    """
    components, grid = _checked_components(history_components, y0), steps.first.grid

    def before_start(y0: Array) -> InitialHistory:
        """The history before the start, of a solution that starts at y0."""
        return initial_history or (lambda s: y0[:components])

    problem = Problem(rhs, args, project or _same, before_start(y0), grid, components)
    problem = problem._replace(save=save or problem.save, method=method)
    _check_functions(problem, y0)

    def whole(y0: Array, steps: Schedule) -> tuple[Array, Fault]:
        past = before_start(y0)
        return integrate(problem._replace(grid=steps.first.grid, initial_history=past), y0, steps)

    ys, fault = (lane_kernel(whole, warn=warn) if lanes else whole)(y0, steps)
    times = jnp.asarray(steps.times, y0.dtype)
    found = Solution(times, ys, fault.code, _time(fault, grid, y0))
    return found._replace(t0=times[0], t1=times[-1])


def _time(fault: Fault, grid: Grid, y0: Array) -> Array:
    """Time of a fault's grid point, shape (), in the unit of the grid; nan without a fault."""
    fine = fault.code == jnp.int32(Outcome.SUCCESS)
    return jnp.where(fine, jnp.nan, grid.time(fault.step, 0.0, y0.dtype))


def _same(before: Array, y: Array) -> Array:
    """The state after a step, unchanged: the projection where the user gives none."""
    return y


def _checked_components(history_components: int | None, y0: Array) -> int | None:
    """The number of leading state components that the history keeps, or None for all.

    Raises:
        InvalidInput: unless it is None or a whole number from 1 to the length of y0.
    """
    match history_components:
        case None:
            return None
        case Integral() if 1 <= history_components <= y0.size:
            return history_components
    allowed = f"a whole number from 1 to {y0.size}"
    raise InvalidInput("dde.solve", "history_components", allowed, history_components)


def _checked_longer(longer_steps: tuple[float, int] | None) -> tuple[float, int] | None:
    """The time after which steps are longer, and the factor of their lengths; None: never.

    Raises:
        InvalidInput: unless it is None, or a number and a whole number from 1 up.
    """
    match longer_steps:
        case None:
            return None
        case (Real() as after, Integral() as factor) if not math.isnan(after) and factor >= 1:
            return longer_steps
    allowed = "None, or a time and a whole number from 1 up"
    raise InvalidInput("dde.solve", "longer_steps", allowed, longer_steps)


def _positive(name: str, value: float) -> float:
    """The value of the option `name` of `solve_fixed` as a float.

    Raises:
        InvalidInput: unless it is above 0 and finite.
    """
    if not 0 < value < math.inf:
        raise InvalidInput("dde.solve", name, "above 0 and finite", value)
    return float(value)


def _checked_state(y0: Float[ArrayLike, " n"]) -> Array:
    """The state at t0 as a JAX array, shape (n,).

    Raises:
        InvalidInput: unless it is floating, has one axis and is not empty.
    """
    state = jnp.asarray(y0)
    if state.ndim != 1 or not state.size or not jnp.issubdtype(state.dtype, jnp.floating):
        given = f"shape {state.shape} of {state.dtype}"
        raise InvalidInput("dde.solve", "y0", "one-dimensional, floating and not empty", given)
    return state


def _checked_times(ts: Float[ArrayLike, " m"]) -> np.ndarray:
    """The save times as an array of float64, shape (m,).

    Raises:
        InvalidInput: for fewer than two times, and for times not finite or not equally spaced.
    """
    times = np.asarray(ts, dtype=float)
    if times.ndim != 1 or times.size < 2 or not np.all(np.isfinite(times)):
        raise InvalidInput("dde.solve", "ts", "two or more finite times", times.tolist())
    gaps = np.diff(times)
    if np.any(gaps <= 0):
        raise InvalidInput("dde.solve", "ts", "increasing", times.tolist())
    rounding = 1e-9 * gaps.mean() + 8 * np.finfo(float).eps * np.abs(times).max()
    if np.ptp(gaps) > rounding:
        given = f"{gaps.min():g} to {gaps.max():g} apart"
        raise InvalidInput("dde.solve", "ts", "equally spaced", given)
    return times


def _check_functions(problem: Problem, y0: Array) -> None:
    """Check that the user's `initial_history` and `project` return arrays of the right shapes.

    Raises:
        InvalidInput: unless `initial_history` returns the components of the history, and `project`
            an array of the shape of y0.
    """
    some_time = jax.ShapeDtypeStruct((), y0.dtype)
    check_shape(
        "initial_history",
        jax.eval_shape(problem.initial_history, some_time),
        y0[: problem.history_components].shape,
    )
    check_shape("project", jax.eval_shape(problem.project, y0, y0), y0.shape)
