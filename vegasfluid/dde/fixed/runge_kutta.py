"""The integrator: classical Runge-Kutta steps of one length, with the history in a ring.

Each step writes the newest state and slope into the ring first and then only reads the new ring;
the slope at the end of a step is carried to the next. Were the ring read before it is written,
XLA would copy all of it at every step.

Source of the method: Hairer, Norsett and Wanner, Solving Ordinary Differential Equations I, 2nd
edition 1993, sections II.1 (the classical method) and II.17 (delay equations).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int32, PyTree

from vegasfluid.dde.fixed.history import Grid, History, Past, Ring, empty_ring, record
from vegasfluid.dde.outcome import Fault, Outcome
from vegasfluid.dde.shapes import check_shape

__all__ = ["Problem", "Project", "RightHandSide", "integrate", "rk4"]

RightHandSide = Callable[
    [Float[Array, ""], Float[Array, " n"], History, PyTree], Float[Array, " n"]
]
"""dy/dt, shape (n,), of the time, the state, the history and the arguments."""

Project = Callable[[Float[Array, " n"]], Float[Array, " n"]]
"""The allowed state that stands for a state, shape (n,) to shape (n,)."""


class Problem(NamedTuple):
    """What stays the same from step to step."""

    rhs: RightHandSide
    args: PyTree
    project: Project
    past: Past
    grid: Grid
    remember: int | None = None
    """Leading components of y that the history keeps; None: all."""


class _State(NamedTuple):
    """Where the solve stands at grid point `number`; `ring` holds the points before it."""

    number: Int32[Array, ""]
    y: Float[Array, " n"]
    slope: Float[Array, " n"]
    ring: Ring
    fault: Fault


def integrate(
    problem: Problem, y0: Float[Array, " n"], intervals: int, steps: int
) -> tuple[Float[Array, "m n"], Fault]:
    """Integrate over `intervals` intervals of `steps` steps each.

    Args:
        problem: what to integrate.
        y0: state at `problem.grid.start`, shape (n,).
        intervals: number of intervals.
        steps: number of steps in each.

    Returns:
        The states at the ends of the intervals with y0 in front, shape (intervals + 1, n), and
        the first fault.

    >>> grid = Grid(start=0.0, step=0.1, longest_lag=0.1, slack=0.0)
    >>> rhs, same = (lambda t, y, history, rate: rate * y), (lambda y: y)
    >>> growth = Problem(rhs, 1.0, same, lambda s: jnp.ones(1), grid)
    >>> ys, fault = integrate(growth, jnp.ones(1), intervals=2, steps=10)
    >>> [round(float(value), 3) for value in ys[:, 0]], int(fault.code)
    ([1.0, 2.718, 7.389], 0)
    """

    def one_step(state: _State, _: None) -> tuple[_State, None]:
        return _advance(problem, state), None

    def one_interval(state: _State, _: None) -> tuple[_State, Float[Array, " n"]]:
        state, _ = jax.lax.scan(one_step, state, None, length=steps)
        return state, state.y

    end, ys = jax.lax.scan(one_interval, _begin(problem, y0), None, length=intervals)
    fault = end.fault.note(Outcome.NOT_FINITE, _not_finite(end.y), end.number)
    return jnp.concatenate([y0[None], ys]), fault


def rk4(
    slope: Callable[[float, Float[Array, " n"]], Float[Array, " n"]],
    y: Float[Array, " n"],
    first: Float[Array, " n"],
    step: float,
) -> Float[Array, " n"]:
    """The state one step later, by the classical method of order 4.

    Args:
        slope: dy/dt, shape (n,), for how much of the step has passed (0.5 or 1.0) and a state.
        y: the state, shape (n,).
        first: the slope there, shape (n,).
        step: length of the step.

    >>> y = jnp.ones(1)
    >>> round(float(rk4(lambda passed, y: y, y, y, 0.1)[0]), 5)  # exp(0.1) = 1.10517
    1.10517
    """
    second = slope(0.5, y + step / 2 * first)
    third = slope(0.5, y + step / 2 * second)
    fourth = slope(1.0, y + step * third)
    return y + step / 6 * (first + 2 * (second + third) + fourth)


def _begin(problem: Problem, y0: Float[Array, " n"]) -> _State:
    """The state at the start, where the history is `past` and y0."""
    number = jnp.zeros((), jnp.int32)
    kept = y0[: problem.remember]
    ring = record(empty_ring(kept, problem.grid.rows), number, kept, jnp.zeros_like(kept))
    slope, history = _slope(problem, ring, number, 0.0, y0)
    return _State(number, y0, slope, ring, _noted(Fault.none(), [history], number))


def _advance(problem: Problem, state: _State) -> _State:
    """One step: write the ring, then read only what was written."""
    histories: list[History] = []
    kept = slice(problem.remember)
    ring = record(state.ring, state.number, state.y[kept], state.slope[kept])

    def slope(ahead: float, y: Float[Array, " n"]) -> Float[Array, " n"]:
        value, history = _slope(problem, ring, state.number, ahead, y, arriving=True)
        histories.append(history)
        return value

    free = rk4(slope, state.y, state.slope, problem.grid.step)
    # A projection must not hide a nan. And finiteness is looked at one step late, in the state
    # that was handed over: looking at the new one makes XLA compute it twice.
    y = jnp.where(jnp.isfinite(free), problem.project(free), free)
    next_slope, history = _slope(problem, ring, state.number, 1.0, y)
    histories.append(history)
    fault = state.fault.note(Outcome.NOT_FINITE, _not_finite(state.y), state.number)
    number = state.number + 1
    return _State(number, y, next_slope, ring, _noted(fault, histories, number))


def _slope(
    problem: Problem,
    ring: Ring,
    last: Int32[Array, ""],
    ahead: float,
    y: Float[Array, " n"],
    arriving: bool = False,
) -> tuple[Float[Array, " n"], History]:
    """The right-hand side `ahead` steps after grid point `last`, and the history it asked."""
    history = History(ring, last, ahead, problem.grid, problem.past, arriving)
    time = problem.grid.time(last, ahead, y.dtype)
    slope = problem.rhs(time, y, history, problem.args)
    check_shape("rhs", slope, y.shape)
    return slope.astype(y.dtype), history


def _noted(fault: Fault, histories: list[History], number: Int32[Array, ""]) -> Fault:
    """The fault so far, or the one that these histories met on the way to grid point `number`."""
    too_long = jnp.any(jnp.stack([history.too_long for history in histories]))
    too_short = jnp.any(jnp.stack([history.too_short for history in histories]))
    fault = fault.note(Outcome.LAG_TOO_LONG, too_long, number)
    return fault.note(Outcome.LAG_TOO_SHORT, too_short, number)


def _not_finite(y: Float[Array, " n"]) -> Bool[Array, ""]:
    return ~jnp.all(jnp.isfinite(y))
