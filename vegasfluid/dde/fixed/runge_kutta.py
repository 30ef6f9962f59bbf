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
    FixedStepHistory,
    Grid,
    InitialHistory,
    Ring,
    coarser_ring,
    empty_ring,
    record,
)
from vegasfluid.dde.fixed.schedule import Schedule, Stretch
from vegasfluid.dde.outcome import Fault, Outcome
from vegasfluid.dde.shape_checks import check_shape

__all__ = ["Problem", "Project", "RightHandSide", "Save", "integrate"]

RightHandSide = Callable[
    [Float[Array, ""], Float[Array, " n"], FixedStepHistory, PyTree], Float[Array, " n"]
]
"""dy/dt, shape (n,), of the time, the state, the history and the arguments."""

Project = Callable[[Float[Array, " n"], Float[Array, " n"]], Float[Array, " n"]]
"""The allowed state that stands for the second of two states, to which a step led from the first;
each of shape (n,)."""

Save = Callable[[Float[Array, ""], Float[Array, " n"]], Float[Array, " k"]]
"""What is kept of a time and a state, shape (n,) to shape (k,)."""


class Problem(NamedTuple):
    """What stays the same from step to step."""

    rhs: RightHandSide
    args: PyTree
    project: Project
    initial_history: InitialHistory
    grid: Grid
    history_components: int | None = None
    """Leading components of y that the history keeps; None: all."""
    save: Save = lambda t, y: y
    """What of the states is returned."""


class _State(NamedTuple):
    """Where the solve stands at grid point `number`; `ring` holds the points before it.

    `before` is the state at the point before it, for readings between the two; None where there are
    none.
    """

    number: Int32[Array, ""]
    y: Float[Array, " n"]
    slope: Float[Array, " n"]
    ring: Ring
    fault: Fault
    before: Float[Array, " n"] | None


def integrate(
    problem: Problem, y0: Float[Array, " n"], schedule: Schedule
) -> tuple[Float[Array, "m k"], Fault]:
    """Integrate along a schedule.

    Args:
        problem: what to integrate; its grid is that of the schedule's first stretch.
        y0: state at the start, shape (n,).
        schedule: of steps and readings.

    Returns:
        What is saved of the states at the schedule's times, shape (m, k), and the first fault.

    >>> import numpy as np
    >>> from vegasfluid.dde.fixed.schedule import on_the_grid
    >>> steps = on_the_grid(np.linspace(0.0, 2.0, 3), 0.1, 0.1, np.float64)
    >>> rhs, same = (lambda t, y, history, rate: rate * y), (lambda before, y: y)
    >>> growth = Problem(rhs, 1.0, same, lambda s: jnp.ones(1), steps.first.grid)
    >>> ys, fault = integrate(growth, jnp.ones(1), steps)
    >>> [round(float(value), 3) for value in ys[:, 0]], int(fault.code)
    ([1.0, 2.718, 7.389], 0)
    """
    begin_state = _begin(problem, y0)
    first, then, factor = schedule.first, schedule.then, schedule.factor
    end, ys = _integrate_stretch(problem, begin_state, first)
    start = problem.save(problem.grid.time(begin_state.number, 0.0, y0.dtype), y0)
    fault = end.fault
    parts = [start[None], ys]
    if then is not None:
        # the last reading of steps that do not end on a time is where they become longer
        parts = [start[None], ys if first.even is not None else ys[:-1]]
        end, ys = _integrate_stretch(
            problem._replace(grid=then.grid), _on_coarser_grid(end, factor, then), then
        )
        parts.append(ys)
        late = (fault.code == jnp.int32(Outcome.SUCCESS)) & (end.fault.code != fault.code)
        scale = jnp.where(late, jnp.int32(factor), jnp.int32(1))
        fault = Fault(end.fault.code, end.fault.step * scale)
        end = end._replace(number=end.number * factor)
    fault = fault.note(Outcome.NOT_FINITE, _not_finite(end.y), end.number)
    return jnp.concatenate(parts), fault


def _integrate_stretch(
    problem: Problem, state: _State, stretch: Stretch
) -> tuple[_State, Float[Array, "m k"]]:
    """The state after a stretch, and what is saved at its readings."""

    def one_step(_: Any, state: _State) -> _State:
        return _advance(problem, state)

    def to_reading(state: _State, of: tuple[Any, Any]) -> tuple[_State, Float[Array, " k"]]:
        count, part = of
        if stretch.even is not None:
            state = jax.lax.fori_loop(0, stretch.even, one_step, state)
            time, y = problem.grid.time(state.number, 0.0, state.y.dtype), state.y
        else:
            state = jax.lax.fori_loop(0, count, one_step, state)
            time, y = _inside_last_step(problem, state, part)
        return state, problem.save(time, y)

    if stretch.even is None and state.before is None:
        state = state._replace(before=state.y)
    return jax.lax.scan(to_reading, state, (stretch.counts, stretch.parts))


def _inside_last_step(problem: Problem, state: _State, part: Any) -> tuple[Any, Float[Array, " n"]]:
    """Time and state within the last step, on the straight line between its ends.

    That keeps every bound and every sum that the ends keep: a counter does not count back, and what
    was sent is what was delivered, dropped and under way. A cubic keeps none of them at a kink.
    """
    assert state.before is not None
    inside = state.before + part * (state.y - state.before)
    time = problem.grid.time(state.number, part - 1, state.y.dtype)
    return time, jnp.where(part == 1, state.y, inside)


def _on_coarser_grid(state: _State, factor: int, then: Stretch) -> _State:
    """The state on the grid of longer steps; of the history every `factor`-th point is kept."""
    ring = coarser_ring(state.ring, state.number - factor, factor, then.grid.rows)
    return state._replace(number=state.number // jnp.int32(factor), ring=ring)


def _begin(problem: Problem, y0: Float[Array, " n"]) -> _State:
    """The state at the start, where the history is `initial_history` and y0."""
    number = jnp.zeros((), jnp.int32)
    components = y0[: problem.history_components]
    ring = record(
        empty_ring(components, problem.grid.rows), number, components, jnp.zeros_like(components)
    )
    slope, history = _slope(problem, ring, number, 0.0, y0)
    fault = _note_lag_faults(Fault.none(), history.too_long, history.too_short, number)
    return _State(number, y0, slope, ring, fault, None)


def _advance(problem: Problem, state: _State) -> _State:
    """One step: write the ring, then read only what was written.

    The right-hand side stands in a loop over the stages, so that it is compiled once and not four
    times, which costs nothing in the run.
    """
    components, step = slice(problem.history_components), problem.grid.step
    ring = record(state.ring, state.number, state.y[components], state.slope[components])

    def stage(carry: _Stage, of: _Tableau) -> tuple[_Stage, tuple[Bool[Array, ""], ...]]:
        slope, history = _slope(problem, ring, state.number, of.ahead, carry.point, ~of.looks_on)
        total = carry.total + of.weight * slope
        free = state.y + step * jnp.where(of.ends, total / 6, of.reach * slope)
        # A projection must not hide a nan.
        held = jnp.where(of.ends & jnp.isfinite(free), problem.project(state.y, free), free)
        point = jnp.where(of.looks_on, carry.point, held)
        return _Stage(point, total, slope), (history.too_long, history.too_short)

    first = _Stage(state.y + step / 2 * state.slope, state.slope, state.slope)
    last, (too_long, too_short) = jax.lax.scan(stage, first, _classical(state.y.dtype))
    # Finiteness is looked at one step late, in the state that was handed over: looking at the new
    # one makes XLA compute it twice.
    fault = state.fault.note(Outcome.NOT_FINITE, _not_finite(state.y), state.number)
    number = state.number + 1
    fault = _note_lag_faults(fault, jnp.any(too_long), jnp.any(too_short), number)
    before = None if state.before is None else state.y
    return _State(number, last.point, last.slope, ring, fault, before)


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
) -> tuple[Float[Array, " n"], FixedStepHistory]:
    """The right-hand side `ahead` steps after grid point `last`, and the history it asked."""
    history = FixedStepHistory(ring, last, ahead, problem.grid, problem.initial_history, arriving)
    time = problem.grid.time(last, ahead, y.dtype)
    slope = problem.rhs(time, y, history, problem.args)
    check_shape("rhs", slope, y.shape)
    return slope.astype(y.dtype), history


def _note_lag_faults(
    fault: Fault, too_long: Bool[Array, ""], too_short: Bool[Array, ""], number: Int32[Array, ""]
) -> Fault:
    """The fault so far, or a lag out of bounds on the way to grid point `number`."""
    fault = fault.note(Outcome.LAG_TOO_LONG, too_long, number)
    return fault.note(Outcome.LAG_TOO_SHORT, too_short, number)


def _not_finite(y: Float[Array, " n"]) -> Bool[Array, ""]:
    return ~jnp.all(jnp.isfinite(y))
