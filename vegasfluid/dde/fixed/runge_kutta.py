"""The integrator: explicit Runge-Kutta steps of constant length, with the history in a ring.

Each step writes the newest state and slope into the ring first and then only reads the new ring.
If the ring were read before it is written, XLA would copy it at every step. The slope at the end
of a step is reused at the start of the next.

Source: Hairer, Norsett and Wanner, Solving Ordinary Differential Equations I, 2nd edition 1993,
section II.17 (delay equations).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int32, PyTree

from vegasfluid.dde.fixed.history import (
    FixedStepHistory,
    Grid,
    InitialHistory,
    Real,
    Ring,
    coarser_ring,
    empty_ring,
    record,
)
from vegasfluid.dde.fixed.method import CLASSICAL, Method, Tableau, tableau
from vegasfluid.dde.fixed.schedule import Schedule, Stretch
from vegasfluid.dde.outcome import Fault, Outcome
from vegasfluid.dde.shape_checks import check_shape

__all__ = ["Problem", "Project", "RightHandSide", "Save", "integrate"]

RightHandSide = Callable[
    [Float[Array, ""], Float[Array, " n"], FixedStepHistory, PyTree], Float[Array, " n"]
]
"""dy/dt, shape (n,), as a function of the time, the state, the history and the arguments."""

Project = Callable[[Float[Array, " n"], Float[Array, " n"]], Float[Array, " n"]]
"""Maps the states before and after a step, each of shape (n,), to the state used at its end."""

Save = Callable[[Float[Array, ""], Float[Array, " n"]], Float[Array, " k"]]
"""Maps a time and a state, shape (n,), to the values that are saved, shape (k,)."""


class Problem(NamedTuple):
    """The equation, its grid and its options: everything that is constant over the steps."""

    rhs: RightHandSide
    """dy/dt as a function of (t, y, history, args)."""
    args: PyTree
    """Passed to `rhs`."""
    project: Project
    """Applied to the state at the end of each step."""
    initial_history: InitialHistory
    """The components of y that the history keeps, at times before the start."""
    grid: Grid
    """Times of the steps."""
    history_components: int | None = None
    """Number of leading components of y that the history keeps; None: all."""
    save: Save = lambda t, y: y
    """Maps (t, y) to the values that are saved."""
    method: Method = CLASSICAL
    """The Runge-Kutta method."""


class _State(NamedTuple):
    """The solve at one grid point.

    Args:
        number: number of the grid point.
        y: state there, shape (n,).
        slope: dy/dt there, shape (n,).
        ring: states and slopes at earlier grid points.
        fault: the first fault so far.
        before: state at the previous grid point; None if each save time is a grid point.
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
    """Integrate a delay equation from y0 with the constant steps of a schedule.

    Args:
        problem: the equation and its options; its grid is that of the schedule's first stretch.
        y0: state at the start, shape (n,).
        schedule: steps and m save times.

    Returns:
        The saved values `problem.save(t, y)` at the schedule's times, shape (m, k), and the first
        fault: an `Outcome` and the number of the grid point where it was detected, counted in
        steps of the first stretch. The solve goes on after a fault.

    >>> import numpy as np
    >>> from vegasfluid.dde.fixed.schedule import on_the_grid
    >>> steps = on_the_grid(np.linspace(0.0, 2.0, 3), 0.1, 0.1, np.float64)
    >>> rhs, same = (lambda t, y, history, rate: rate * y), (lambda before, y: y)
    >>> growth = Problem(rhs, 1.0, same, lambda s: jnp.ones(1), steps.first.grid)
    >>> ys, fault = integrate(growth, jnp.ones(1), steps)
    >>> [round(float(value), 3) for value in ys[:, 0]], int(fault.code)
    ([1.0, 2.718, 7.389], 0)
    """
    first, then, factor = schedule.first, schedule.then, schedule.factor
    end, ys = _first_stretch(problem, _initial_state(problem, y0), first)
    fault = end.fault
    if then is not None:
        # Unless save times are ends of steps, the last one is the time at which steps get longer.
        early = ys if first.even is not None else ys[:-1]
        end, ys = _integrate_stretch(
            problem._replace(grid=then.grid), _on_coarser_grid(problem, end, factor, then), then
        )
        late = (fault.code == jnp.int32(Outcome.SUCCESS)) & (end.fault.code != fault.code)
        scale = jnp.where(late, jnp.int32(factor), jnp.int32(1))
        fault = Fault(end.fault.code, end.fault.step * scale)
        end = end._replace(number=end.number * factor)
        ys = jnp.concatenate([early, ys])
    fault = fault.note(Outcome.NOT_FINITE, _not_finite(end.y), end.number)
    return ys, fault


def _first_stretch(
    problem: Problem, state: _State, stretch: Stretch
) -> tuple[_State, Float[Array, "m k"]]:
    """Evaluate the slope at the start, and integrate over the first stretch.

    Where the numbers of steps may be traced, the slope at the start is the result of a step of no
    length in the same loop, so that the right-hand side is compiled once.

    Returns:
        The solver's state after the last step, and the saved values `problem.save(t, y)` at the
        start and the stretch's m - 1 save times, shape (m, k).
    """
    if stretch.even is None:
        with_start = replace(
            stretch,
            counts=jnp.concatenate([jnp.ones(1, jnp.int32), jnp.asarray(stretch.counts)]),
            parts=jnp.concatenate([jnp.ones(1, state.y.dtype), jnp.asarray(stretch.parts)]),
        )
        moving = jnp.arange(with_start.counts.size) > 0
        return _integrate_stretch(problem, state, with_start, moving)
    state = _advance(problem, state, moving=False)
    start = problem.save(problem.grid.time(state.number, 0.0, state.y.dtype), state.y)
    end, ys = _integrate_stretch(problem, state, stretch)
    return end, jnp.concatenate([start[None], ys])


def _integrate_stretch(
    problem: Problem, state: _State, stretch: Stretch, moving: Bool[Array, " m"] | bool = True
) -> tuple[_State, Float[Array, "m k"]]:
    """Integrate a delay equation over a stretch of equal steps.

    Args:
        problem: the delay equation and its grid.
        state: the solver's state at the stretch's start.
        stretch: the steps and m save times.
        moving: for each save time, whether the steps before it have a length; see `_advance`.

    Returns:
        The solver's state after the last step, and the saved values `problem.save(t, y)` at the
        stretch's m save times, shape (m, k).
    """

    def to_reading(
        state: _State, reading: tuple[Int32[Array, ""], Float[Array, ""], Bool[Array, ""] | bool]
    ) -> tuple[_State, Float[Array, " k"]]:
        """Step to the next save time: `count` steps, of which the last contains it.

        `reading` is `count`, the fraction of the last step at which it lies, and whether the steps
        have a length. Returns the state after these steps and the saved values, shape (k,).
        """
        count, part, moves = reading

        def one_step(_: Any, state: _State) -> _State:
            return _advance(problem, state, moves)

        if stretch.even is not None:
            state = jax.lax.fori_loop(0, stretch.even, one_step, state)
            time, y = problem.grid.time(state.number, 0.0, state.y.dtype), state.y
        else:
            state = jax.lax.fori_loop(0, count, one_step, state)
            time, y = _inside_last_step(problem, state, part)
        return state, problem.save(time, y)

    if stretch.even is None and state.before is None:
        state = state._replace(before=state.y)
    readings: Any = (stretch.counts, stretch.parts)
    if moving is True:
        return jax.lax.scan(lambda state, each: to_reading(state, (*each, True)), state, readings)
    return jax.lax.scan(to_reading, state, (*readings, moving))


def _inside_last_step(
    problem: Problem, state: _State, part: Float[Array, ""]
) -> tuple[Float[Array, ""], Float[Array, " n"]]:
    """Time and state y at fraction `part` (0 to 1) of the last step, interpolated linearly.

    It preserves every bound and every sum that holds at both ends: counters do not decrease, and
    packets sent equal those delivered, dropped and in flight. A cubic violates these at a kink.
    """
    assert state.before is not None
    inside = state.before + part * (state.y - state.before)
    time = problem.grid.time(state.number, part - 1, state.y.dtype)
    return time, jnp.where(part == 1, state.y, inside)


def _on_coarser_grid(problem: Problem, state: _State, factor: int, then: Stretch) -> _State:
    """The solver's state for the stretch `then`, whose steps are `factor` times as long.

    Its history keeps every `factor`-th grid point; the state's number is divided by `factor`.
    """
    last, rows = state.number - factor, then.grid.rows
    ring = coarser_ring(state.ring, problem.grid, last, factor, rows)
    return state._replace(number=state.number // jnp.int32(factor), ring=ring)


def _initial_state(problem: Problem, y0: Float[Array, " n"]) -> _State:
    """The solver's state at grid point 0, the start; the slope is 0, to be evaluated later.

    Each part has been computed from y0 once, so that under `shard_map` all have the types that they
    have after a step.
    """
    number, components = jnp.zeros((), jnp.int32), y0[: problem.history_components]
    empty, slope = empty_ring(components, problem.grid.rows), jnp.zeros_like(y0)
    ring = record(empty, number, components, jnp.zeros_like(components))
    fault = Fault.none().note(Outcome.NOT_FINITE, _not_finite(y0), number)
    return _State(number, y0, slope, ring, fault, None)


def _advance(problem: Problem, state: _State, moving: bool | Bool[Array, ""] = True) -> _State:
    """The solver's state one step later, by the problem's Runge-Kutta method.

    The step writes the start's state and slope into the history and evaluates the stages with it.
    The stages are a loop, so that the right-hand side is compiled once and not once for each; the
    run time is the same.

    Args:
        problem: the delay equation and its grid.
        state: the solver's state at the step's start.
        moving: whether the step has a length. Without one it only evaluates the slope.
    """
    components, (nodes, weights) = slice(problem.history_components), problem.method
    step = jnp.where(moving, problem.grid.step, 0.0)
    ring = record(
        *(state.ring, problem.grid.row(state.number)),
        *(state.y[components], state.slope[components]),
    )

    def stage(carry: _Stage, row: Tableau) -> tuple[_Stage, tuple[Bool[Array, ""], ...]]:
        """Evaluate one stage: its slope, and the state at which the next stage is evaluated.

        Returns also whether the stage read the history beyond its longest lag or after its last
        point.
        """
        ahead = jnp.where(moving, row.ahead, 0.0)
        arriving = moving & ~row.next_step
        slope, history = _slope(problem, ring, state.number, ahead, carry.point, arriving)
        total = carry.total + row.weight * slope
        free = state.y + step * jnp.where(row.ends, total / sum(weights), row.reach * slope)
        # A projection must not hide a nan.
        projected = moving & row.ends & jnp.isfinite(free)
        y = jnp.where(projected, problem.project(state.y, free), free)
        point = jnp.where(row.next_step, carry.point, y)
        return _Stage(point, total, slope), (history.too_long, history.too_short)

    point = state.y + step * nodes[0] * state.slope
    first = _Stage(point, weights[0] * state.slope, state.slope)
    last, (too_long, too_short) = jax.lax.scan(stage, first, tableau(problem.method, point.dtype))
    # Finiteness is checked one step late, in the state at the step's start: a check of the new
    # state would make XLA compute it twice.
    fault = state.fault.note(Outcome.NOT_FINITE, _not_finite(state.y), state.number)
    number = state.number + jnp.where(moving, jnp.int32(1), jnp.int32(0))
    fault = _note_lag_faults(fault, jnp.any(too_long), jnp.any(too_short), number)
    before = None if state.before is None else state.y
    return _State(number, last.point, last.slope, ring, fault, before)


class _Stage(NamedTuple):
    """The state of the loop over the stages of a step.

    Args:
        point: state at which the right-hand side is evaluated next.
        total: weighted sum of the slopes so far.
        slope: the last slope.
    """

    point: Float[Array, " n"]
    total: Float[Array, " n"]
    slope: Float[Array, " n"]


def _slope(
    problem: Problem,
    ring: Ring,
    last: Int32[Array, ""],
    ahead: Real,
    y: Float[Array, " n"],
    arriving: bool | Bool[Array, ""] = False,
) -> tuple[Float[Array, " n"], FixedStepHistory]:
    """The slope dy/dt `ahead` steps after grid point `last`, and the history that was read for it.

    Args:
        problem: the delay equation and its grid.
        ring: states and slopes at the grid points up to `last`, shape (rows, 2 n).
        last: number of the last known grid point.
        ahead: steps from there to the evaluation, 0 to 1.
        y: state at that time, shape (n,).
        arriving: whether this evaluation ends a step and is not the start of the next one.
    """
    history = FixedStepHistory(ring, last, ahead, problem.grid, problem.initial_history, arriving)
    time = problem.grid.time(last, ahead, y.dtype)
    slope = problem.rhs(time, y, history, problem.args)
    check_shape("rhs", slope, y.shape)
    return slope.astype(y.dtype), history


def _note_lag_faults(
    fault: Fault, too_long: Bool[Array, ""], too_short: Bool[Array, ""], number: Int32[Array, ""]
) -> Fault:
    """The first fault of a solve, after one more step.

    Args:
        fault: the first fault so far.
        too_long: whether a lag in this step was longer than the history.
        too_short: whether a lag in this step reached past the last known time.
        number: number of the grid point at which the step ends.
    """
    fault = fault.note(Outcome.LAG_TOO_LONG, too_long, number)
    return fault.note(Outcome.LAG_TOO_SHORT, too_short, number)


def _not_finite(y: Float[Array, " n"]) -> Bool[Array, ""]:
    """Whether any component of the state y is infinite or nan."""
    return ~jnp.all(jnp.isfinite(y))
