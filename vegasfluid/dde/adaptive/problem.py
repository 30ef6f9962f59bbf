"""A batch of problems, and the evaluation of its right-hand side."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int32, PyTree

from vegasfluid.dde.adaptive.bounds import (
    BoundArrays,
    Modes,
    bounded_components,
    clipped_state,
    zero_slopes_at_bounds,
)
from vegasfluid.dde.adaptive.breaking_points import ActiveInterval
from vegasfluid.dde.adaptive.compensated_time import CompensatedTime
from vegasfluid.dde.adaptive.history_reader import EvaluationPoint, HistoryReader
from vegasfluid.dde.adaptive.history_ring import Ring, Track
from vegasfluid.dde.adaptive.method import Method

__all__ = [
    "Equation",
    "Evaluation",
    "GuardParts",
    "InstanceContext",
    "Problem",
    "StepContext",
    "Times",
    "evaluate_rhs",
    "evaluate_rhs_one",
]


class GuardParts(NamedTuple):
    """The parts of an equation's m guards, as slices; jumps at given times come after these parts.

    Args:
        rhs: the guards whose signs the right-hand side gets.
        resets: the indicators of resets.
        events: the indicators of events that end the solve.
    """

    rhs: slice
    resets: slice
    events: slice


@jax.tree_util.register_static
@dataclass(frozen=True)
class Equation:
    """The static part of a problem, the same for every instance; hashable.

    Args:
        rhs: dy/dt as a function of (t, y, history, args), with guards also of their signs `above`.
        initial_history: y before t0, as a function of (t, args).
        guards: indicators as a function of (t, y, history, args): guards of the right-hand side,
            resets and events that end the solve, in this order; None where there are none.
        signs_of_rhs: number of guards whose signs the right-hand side takes; None: it takes none.
        resets: the resets; each `effect` is a function of (t, y, args).
        event_directions: for each event that ends the solve, the direction of its zeros that
            counts: True for rising, False for falling, None for both.
        jump_count: number of jumps at given times, which are guards too.
        project: maps (y, args) after a step to an allowed state; None: no projection.
        guard_count: number of all guards, m: of the right-hand side, resets, events and jumps.
        bounded: indices of the bounded components.
        method: the Runge-Kutta method.
        delayed: whether the right-hand side or a guard reads the history.
        neutral: whether the right-hand side or a guard reads dy/dt from the history.
    """

    rhs: Callable[..., Array]
    initial_history: Callable[[Array, PyTree], Array]
    guards: Callable[..., Array] | None
    signs_of_rhs: int | None
    resets: tuple[Any, ...]
    event_directions: tuple[bool | None, ...]
    jump_count: int
    project: Callable[[Array, PyTree], Array] | None
    guard_count: int
    bounded: tuple[int, ...]
    method: Method
    delayed: bool
    neutral: bool

    @property
    def guard_parts(self) -> GuardParts:
        """The slices of the guards that are of the right-hand side, of resets and of events."""
        first = self.signs_of_rhs or 0
        second = first + len(self.resets)
        last = second + len(self.event_directions)
        return GuardParts(slice(first), slice(first, second), slice(second, last))


class Times(NamedTuple):
    """Times given by the user that the solver must not step over; the batch axis is the last one.

    Args:
        jumps: times at which the right-hand side jumps, shape (jumps, *batch).
        stops: times at which steps end, those of jumps included, shape (stops, *batch).
        past_breaks: times before t0 at which the initial history or its derivative jumps,
            increasing, shape (past breaks, *batch).
    """

    jumps: Float[Array, "jumps batch"]
    stops: Float[Array, "stops batch"]
    past_breaks: Float[Array, "breaks batch"]


class Problem(NamedTuple):
    """A batch of problems; the batch axis is the last one of arrays, but the first one in `args`.

    Args:
        equation: the static part, common to all instances.
        args: arguments; each leaf with the batch axis first.
        y0: state at t0, shape (n, batch).
        begin: t0.
        end: t1, shape (batch,).
        bounds: bounds of the bounded components.
        time_tolerance: rounding error of a time, shape (batch,).
        times: times that steps do not step over.
        newton_scale: rtol and atol of the Newton iteration of an implicit method, shape
            (2, 1 or n, batch); zeros for an explicit method.
    """

    equation: Equation
    args: PyTree
    y0: Float[Array, "n batch"]
    begin: CompensatedTime
    end: Float[Array, " batch"]
    bounds: BoundArrays
    time_tolerance: Float[Array, " batch"]
    times: Times
    newton_scale: Float[Array, "two components batch"]


class StepContext(NamedTuple):
    """The history and the modes with which a step is computed.

    Args:
        ring: the pieces up to row `last`.
        last: the latest row, shape (batch,).
        now: start of the step.
        modes: active bounds and guard signs during the step.
        previous_step: length of the last step, shape (batch,).
        interval: the active interval of each site; None: not known yet.
    """

    ring: Ring
    last: Int32[Array, " batch"]
    now: CompensatedTime
    modes: Modes
    previous_step: Float[Array, " batch"]
    interval: ActiveInterval | None = None


class Evaluation(NamedTuple):
    """The right-hand side of each instance at one time, and its reads of the history.

    Args:
        slope: dy/dt, zero for components at a bound; shape (n, batch).
        free: dy/dt that bounded components would have without bounds; shape (bounds, batch).
        indicators: the guards' indicators; shape (m, batch).
        read_times: times read, relative to the step's start, those of the guards last;
            shape (sites, batch).
        rows: the rows of the ring whose pieces contain these times; shape (sites, batch).
        derivatives: whether each read is of dy/dt and not of y; shape (sites, batch).
        fault: the first fault of a read, an `Outcome`; shape (batch,).
        overlaps: whether a time within the step was read; shape (batch,).
        overshoot: largest time by which a site read beyond its active interval; negative if none
            did; shape (batch,).
    """

    slope: Float[Array, "n batch"]
    free: Float[Array, "bounds batch"]
    indicators: Float[Array, "m batch"]
    read_times: Float[Array, "sites batch"]
    rows: Int32[Array, "sites batch"]
    derivatives: Bool[Array, "sites batch"]
    fault: Int32[Array, " batch"]
    overlaps: Bool[Array, " batch"]
    overshoot: Float[Array, " batch"]


class InstanceContext(NamedTuple):
    """The inputs of `evaluate_rhs_one` for one instance; with a batch axis, for all instances.

    The fields `args` to `times` are those of `Problem`; `now` to `interval` those of `StepContext`.
    """

    args: PyTree
    begin: CompensatedTime
    time_tolerance: Float[Array, "*batch"]
    bounds: BoundArrays
    times: Times
    now: CompensatedTime
    modes: Modes
    previous_step: Float[Array, "*batch"]
    interval: ActiveInterval | None

    @classmethod
    def of(cls, problem: Problem, context: StepContext) -> InstanceContext:
        """The inputs of `evaluate_rhs_one` for all instances of a batch in one step.

        Args:
            problem: the batch: arguments, t0 and rounding error of times.
            context: the step: its start, modes and active intervals, and the previous step's
                length.
        """
        constants = (problem.args, problem.begin, problem.time_tolerance)
        parts = (context.now, context.modes, context.previous_step, context.interval)
        return cls(*constants, problem.bounds, problem.times, *parts)

    @classmethod
    def axes(cls) -> InstanceContext:
        """The batch axis of each field for `jax.vmap`: the first of `args`, the last of others."""
        return cls(0, *[-1] * 8)  # type: ignore[arg-type]


def evaluate_rhs(
    problem: Problem, context: StepContext, point: EvaluationPoint, *, with_guards: bool = False
) -> Evaluation:
    """Evaluate the right-hand side dy/dt of all instances at one point of a step.

    Args:
        problem: the batch.
        context: history, and active bounds and guard signs, of the step.
        point: time and state at which it is evaluated.
        with_guards: whether to evaluate the guards too; else their indicators are 0.

    Returns:
        dy/dt, shape (n, batch), with and without bounds, the guards' indicators, the past times
        read, and the first fault of a read.
    """
    size, batch = point.y.shape
    point = point._replace(arriving=jnp.broadcast_to(jnp.asarray(point.arriving), (batch,)))

    def one(
        ring: Ring, last: Array, instance: InstanceContext, point: EvaluationPoint
    ) -> Evaluation:
        """The right-hand side of one instance, with its reads of the history."""
        return evaluate_rhs_one(
            problem.equation, Track(ring, size, last), instance, point, with_guards
        )

    axes = (0, 0, InstanceContext.axes(), -1)
    instance_contexts = InstanceContext.of(problem, context)
    return jax.vmap(one, in_axes=axes, out_axes=-1)(
        context.ring, context.last, instance_contexts, point
    )


def evaluate_rhs_one(
    equation: Equation,
    track: Track,
    instance: InstanceContext,
    point: EvaluationPoint,
    with_guards: bool,
) -> Evaluation:
    """Evaluate the right-hand side dy/dt of one instance at one point of a step.

    Args:
        equation: the user's functions.
        track: the history of the instance.
        instance: its arguments, t0, and start, modes and active intervals of the step.
        point: time and state at which it is evaluated.
        with_guards: whether to evaluate the guards too; else their indicators are 0.

    Returns:
        dy/dt, shape (n,), with and without bounds, the guards' indicators, shape (m,), the past
        times read, and the first fault of a read.
    """

    def initial_history(s: Array) -> Array:
        return equation.initial_history(s, instance.args)

    history = HistoryReader(
        track,
        instance.now,
        point,
        initial_history,
        instance.begin,
        instance.time_tolerance,
        instance.interval,
        instance.previous_step,
        past_breaks=bool(instance.times.past_breaks.shape[0]),
    )
    time = instance.now.whole + (point.ahead + instance.now.compensation)
    y = clipped_state(point.y, instance.bounds, instance.modes, equation.bounded)
    count = equation.signs_of_rhs
    above = () if count is None else (instance.modes.above[:count],)
    smooth_time = _within_jumps(time, equation, instance)
    slope = equation.rhs(smooth_time, y, history, instance.args, *above).astype(y.dtype)
    indicators = jnp.zeros(equation.guard_count, y.dtype)
    if with_guards and equation.guard_count:
        # A step ends at a jump up to rounding: its guard is positive there in any case.
        ahead = (time - instance.times.jumps) + 2 * instance.time_tolerance
        if equation.guards is not None:
            values = equation.guards(time, y, history, instance.args).astype(y.dtype)
            ahead = jnp.concatenate([values, ahead])
        indicators = ahead
    free = bounded_components(slope, equation.bounded)
    slope = zero_slopes_at_bounds(slope, instance.modes, equation.bounded)
    read_times, rows = _joined(history.read_times, y.dtype), _joined(history.rows, jnp.int32)
    reads = (read_times, rows, _joined(history.derivatives, bool))
    checks = (history.fault, history.overlaps, history.overshoot)
    return Evaluation(slope, free, indicators, *reads, *checks)


def _within_jumps(time: Array, equation: Equation, instance: InstanceContext) -> Float[Array, ""]:
    """The time at which the right-hand side is evaluated: `time` clipped to between two jumps.

    At the end of a step that ends at a jump this is just before it, as rounding could otherwise
    give the right-hand side's value after the jump. Shape ().
    """
    if not equation.jump_count:
        return time
    jumps, passed = instance.times.jumps, instance.modes.above[-equation.jump_count :]
    last = jnp.max(jnp.where(passed, jumps, -jnp.inf))
    upcoming = jnp.min(jnp.where(passed, jnp.inf, jumps)) - instance.time_tolerance
    return jnp.maximum(jnp.minimum(time, upcoming), last)


def _joined(parts: list[Array], dtype: Any) -> Array:
    """One-dimensional arrays joined to one; an empty array of this dtype if there are none."""
    return jnp.concatenate(parts) if parts else jnp.zeros(0, dtype)
