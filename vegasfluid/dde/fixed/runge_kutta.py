"""The integrator: classical Runge-Kutta steps of one length, with the history in a ring.

Each step writes the newest state and slope into the ring first and then only reads the new ring;
the slope at the end of a step is carried to the next. Were the ring read before it is written,
XLA would copy all of it at every step.

Source of the method: Hairer, Norsett and Wanner, Solving Ordinary Differential Equations I, 2nd
edition 1993, sections II.1 (the classical method) and II.17 (delay equations).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int32, PyTree

from vegasfluid.dde.fixed.history import (
    Grid,
    History,
    Past,
    Ring,
    coarser_ring,
    empty_ring,
    record,
)
from vegasfluid.dde.outcome import Fault, Outcome
from vegasfluid.dde.shapes import check_shape

__all__ = ["Coarser", "Problem", "Project", "RightHandSide", "Save", "integrate"]

RightHandSide = Callable[
    [Float[Array, ""], Float[Array, " n"], History, PyTree], Float[Array, " n"]
]
"""dy/dt, shape (n,), of the time, the state, the history and the arguments."""

Project = Callable[[Float[Array, " n"]], Float[Array, " n"]]
"""The allowed state that stands for a state, shape (n,) to shape (n,)."""

Save = Callable[[Float[Array, ""], Float[Array, " n"]], Float[Array, " k"]]
"""What is kept of a time and a state, shape (n,) to shape (k,)."""


class Problem(NamedTuple):
    """What stays the same from step to step."""

    rhs: RightHandSide
    args: PyTree
    project: Project
    past: Past
    grid: Grid
    remember: int | None = None
    """Leading components of y that the history keeps; None: all."""
    save: Save = lambda t, y: y
    """What of the states is returned."""


class _State(NamedTuple):
    """Where the solve stands at grid point `number`; `ring` holds the points before it."""

    number: Int32[Array, ""]
    y: Float[Array, " n"]
    slope: Float[Array, " n"]
    ring: Ring
    fault: Fault


class Coarser(NamedTuple):
    """Longer steps from some time on."""

    after: int
    """Intervals with steps of the grid."""
    factor: int
    """Steps of the grid in one that is taken after them; divides the steps of an interval."""


NEVER = Coarser(2**31 - 1, 1)


def integrate(
    problem: Problem,
    y0: Float[Array, " n"],
    intervals: int,
    steps: int,
    coarser: Coarser = NEVER,
) -> tuple[Float[Array, "m k"], Fault]:
    """Integrate over `intervals` intervals of `steps` steps each.

    Args:
        problem: what to integrate.
        y0: state at `problem.grid.start`, shape (n,).
        intervals: number of intervals.
        steps: number of steps in each.
        coarser: longer steps from some time on.

    Returns:
        What is saved of the states at the ends of the intervals, with that of y0 in front, shape
        (intervals + 1, k), and the first fault.

    >>> grid = Grid(start=0.0, step=0.1, longest_lag=0.1, slack=0.0)
    >>> rhs, same = (lambda t, y, history, rate: rate * y), (lambda y: y)
    >>> growth = Problem(rhs, 1.0, same, lambda s: jnp.ones(1), grid)
    >>> ys, fault = integrate(growth, jnp.ones(1), intervals=2, steps=10)
    >>> [round(float(value), 3) for value in ys[:, 0]], int(fault.code)
    ([1.0, 2.718, 7.389], 0)
    """
    begun = _begin(problem, y0)
    first = min(coarser.after, intervals)
    end, ys = _onward(problem, begun, first, steps)
    parts = [_saved(problem, begun)[None], ys]
    fault = end.fault
    if first < intervals:
        longer, state = _coarsened(problem, end, coarser.factor)
        end, ys = _onward(longer, state, intervals - first, steps // coarser.factor)
        parts.append(ys)
        late = (fault.code == jnp.int32(Outcome.SUCCESS)) & (end.fault.code != fault.code)
        scale = jnp.where(late, jnp.int32(coarser.factor), jnp.int32(1))
        fault = Fault(end.fault.code, end.fault.step * scale)
        end = end._replace(number=end.number * coarser.factor)
    fault = fault.note(Outcome.NOT_FINITE, _not_finite(end.y), end.number)
    return jnp.concatenate(parts), fault


def _saved(problem: Problem, state: _State) -> Float[Array, " k"]:
    return problem.save(problem.grid.time(state.number, 0.0, state.y.dtype), state.y)


def _onward(
    problem: Problem, state: _State, intervals: int, steps: int
) -> tuple[_State, Float[Array, "m k"]]:
    """The state after some intervals, and what is saved at their ends."""

    def one_step(state: _State, _: None) -> tuple[_State, None]:
        return _advance(problem, state), None

    def one_interval(state: _State, _: None) -> tuple[_State, Float[Array, " k"]]:
        state, _ = jax.lax.scan(one_step, state, None, length=steps)
        return state, _saved(problem, state)

    return jax.lax.scan(one_interval, state, None, length=intervals)


def _coarsened(problem: Problem, state: _State, factor: int) -> tuple[Problem, _State]:
    """The same with longer steps; the history keeps every so-manieth of its points."""
    fine = problem.grid
    grid = fine._replace(step=fine.step * factor, slack=fine.slack / factor)
    ring = coarser_ring(state.ring, state.number - factor, factor, grid.rows)
    number = state.number // jnp.int32(factor)
    return problem._replace(grid=grid), state._replace(number=number, ring=ring)


def _begin(problem: Problem, y0: Float[Array, " n"]) -> _State:
    """The state at the start, where the history is `past` and y0."""
    number = jnp.zeros((), jnp.int32)
    kept = y0[: problem.remember]
    ring = record(empty_ring(kept, problem.grid.rows), number, kept, jnp.zeros_like(kept))
    slope, history = _slope(problem, ring, number, 0.0, y0)
    fault = _noted(Fault.none(), history.too_long, history.too_short, number)
    return _State(number, y0, slope, ring, fault)


def _advance(problem: Problem, state: _State) -> _State:
    """One step: write the ring, then read only what was written.

    The right-hand side stands in a loop over the stages, so that it is compiled once and not four
    times, which costs nothing in the run.
    """
    kept, step = slice(problem.remember), problem.grid.step
    ring = record(state.ring, state.number, state.y[kept], state.slope[kept])

    def stage(carry: _Stage, of: _Tableau) -> tuple[_Stage, tuple[Bool[Array, ""], ...]]:
        slope, history = _slope(problem, ring, state.number, of.ahead, carry.point, ~of.looks_on)
        total = carry.total + of.weight * slope
        free = state.y + step * jnp.where(of.ends, total / 6, of.reach * slope)
        # A projection must not hide a nan.
        held = jnp.where(of.ends & jnp.isfinite(free), problem.project(free), free)
        point = jnp.where(of.looks_on, carry.point, held)
        return _Stage(point, total, slope), (history.too_long, history.too_short)

    first = _Stage(state.y + step / 2 * state.slope, state.slope, state.slope)
    last, (too_long, too_short) = jax.lax.scan(stage, first, _classical(state.y.dtype))
    # Finiteness is looked at one step late, in the state that was handed over: looking at the new
    # one makes XLA compute it twice.
    fault = state.fault.note(Outcome.NOT_FINITE, _not_finite(state.y), state.number)
    number = state.number + 1
    fault = _noted(fault, jnp.any(too_long), jnp.any(too_short), number)
    return _State(number, last.point, last.slope, ring, fault)


class _Stage(NamedTuple):
    """Between two evaluations of the right-hand side in a step.

    Args:
        point: where it is evaluated next.
        total: the weighted sum of slopes so far.
        slope: the last one.
    """

    point: Float[Array, " n"]
    total: Float[Array, " n"]
    slope: Float[Array, " n"]


class _Tableau(NamedTuple):
    """The evaluations of a step after that at its start, which the step before has made.

    Args:
        ahead: steps from its start to where the slope is taken.
        weight: of the slope, in sixths.
        reach: steps along it to the next point.
        ends: whether the next point is the end of the step.
        looks_on: whether the slope is that of the next step's start.
    """

    ahead: Any
    weight: Any
    reach: Any
    ends: Any
    looks_on: Any


def _classical(dtype: jnp.dtype) -> _Tableau:
    """The classical method of order 4; the first evaluation has weight 1."""
    return _Tableau(
        ahead=jnp.array([0.5, 0.5, 1.0, 1.0], dtype),
        weight=jnp.array([2.0, 2.0, 1.0, 0.0], dtype),
        reach=jnp.array([0.5, 1.0, 0.0, 0.0], dtype),
        ends=jnp.array([False, False, True, False]),
        looks_on=jnp.array([False, False, False, True]),
    )


def _slope(
    problem: Problem,
    ring: Ring,
    last: Int32[Array, ""],
    ahead: Any,
    y: Float[Array, " n"],
    arriving: Any = False,
) -> tuple[Float[Array, " n"], History]:
    """The right-hand side `ahead` steps after grid point `last`, and the history it asked."""
    history = History(ring, last, ahead, problem.grid, problem.past, arriving)
    time = problem.grid.time(last, ahead, y.dtype)
    slope = problem.rhs(time, y, history, problem.args)
    check_shape("rhs", slope, y.shape)
    return slope.astype(y.dtype), history


def _noted(
    fault: Fault, too_long: Bool[Array, ""], too_short: Bool[Array, ""], number: Int32[Array, ""]
) -> Fault:
    """The fault so far, or a lag out of bounds on the way to grid point `number`."""
    fault = fault.note(Outcome.LAG_TOO_LONG, too_long, number)
    return fault.note(Outcome.LAG_TOO_SHORT, too_short, number)


def _not_finite(y: Float[Array, " n"]) -> Bool[Array, ""]:
    return ~jnp.all(jnp.isfinite(y))
