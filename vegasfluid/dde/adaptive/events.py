"""Events: times at which a bound is reached or left, a guard changes sign or a lag passes a break.

Each event has an indicator, which turns negative at it. A step that ends with a negative indicator
has passed an event. Active bounds, guard signs and active intervals do not change during a step.
So its dense output is smooth beyond the event, and ending the step there costs no accuracy.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int32

from vegasfluid.dde.adaptive.bounds import Modes, bounded_components
from vegasfluid.dde.adaptive.breaking_points import ActiveBreaks
from vegasfluid.dde.adaptive.history_reader import EvaluationPoint
from vegasfluid.dde.adaptive.problem import Evaluation, Problem, StepContext, evaluate_rhs
from vegasfluid.dde.adaptive.roots import SIMULTANEOUS, first_root
from vegasfluid.dde.adaptive.step import Trial

__all__ = [
    "Crossings",
    "EventLocation",
    "HistoryReads",
    "StartValues",
    "find_crossings",
    "locate",
    "mode_indicators",
    "read_rates",
]

BREAK_TOLERANCE = 1e-9
"""A break no further ahead than this fraction of the change of a read time counts as passed."""
INDICATOR_RANGE = 2.0
"""Indicators at least this many times their change (in this step or the one before) away from zero
are not evaluated at the middle of the step."""


class HistoryReads(NamedTuple):
    """The past times that the right-hand side read at a step's start.

    Args:
        times: the times relative to the step's start, negative in the past; shape (sites, batch).
        rows: the rows of the ring whose pieces contain these times, shape (sites, batch).
        rates: mean rate of change of each read time in the step before, per unit of t: 1 for a
            constant lag; shape (sites, batch).
    """

    times: Float[Array, "sites batch"]
    rows: Int32[Array, "sites batch"]
    rates: Float[Array, "sites batch"]


def read_rates(
    start: Float[Array, "sites batch"],
    end: Float[Array, "sites batch"],
    step: Float[Array, " batch"],
) -> Float[Array, "sites batch"]:
    """The mean rates of change of the read times in a step, without derivatives.

    Args:
        start: times read at its start, relative to it.
        end: times read at its end, relative to its start.
        step: its length.
    """
    return jax.lax.stop_gradient((end - start) / step)


class StartValues(NamedTuple):
    """History reads, indicators and active breaks at a step's start.

    Args:
        read_times: past times that the right-hand side read.
        indicators: indicators of bounds and guards, shape (indicators, batch).
        changes: absolute change of each indicator in the step before; infinite after an event.
        active_breaks: the breaks before and after each time read.
    """

    read_times: HistoryReads
    indicators: Float[Array, "indicators batch"]
    changes: Float[Array, "indicators batch"]
    active_breaks: ActiveBreaks


class Crossings(NamedTuple):
    """The indicators that turned negative within a step: bounds and guards first, then breaks.

    Args:
        wanted: which indicators turned negative, shape (indicators, batch).
        scale: for the indicators that turned negative, their size at the end of the step (of a
            breaking point: the change of the read time over the step); 1 for all others.
        at_start: the indicators at the start of the step, divided by `scale`.
        at_half: the indicators at its middle, divided by `scale`; None without bounds and guards.
        at_end: the indicators at its end, divided by `scale`.
        breaks: for each site the next break, relative to the step's start; (sites, batch).
        rising: for each site whether its read time increases; (sites, batch).
        levels: number of continuous derivatives of what the site reads at the break: of y or
            of dy/dt; (sites, batch).
    """

    wanted: Bool[Array, "indicators batch"]
    scale: Float[Array, "indicators batch"]
    at_start: Float[Array, "indicators batch"]
    at_half: Float[Array, "indicators batch"] | None
    at_end: Float[Array, "indicators batch"]
    breaks: Float[Array, "sites batch"]
    rising: Bool[Array, "sites batch"]
    levels: Float[Array, "sites batch"]

    def masked(self, values: Float[Array, "indicators batch"]) -> Array:
        """`values` of the event indicators that turned negative in the step; 1 for the others."""
        return jnp.where(self.wanted, values, 1.0)

    def mode_count(self) -> int:
        """Number of event indicators of bounds and guards; the others are of breaking points."""
        return self.wanted.shape[0] - self.breaks.shape[0]

    def among(self, which: Bool[Array, " batch"]) -> Crossings:
        """These crossings for the instances in `which` only: no indicator of others counts."""
        return self._replace(wanted=self.wanted & which)

    def lags(self, read_times: Float[Array, "sites batch"]) -> Float[Array, "sites batch"]:
        """The distance (unit of t) of each read time from its next break; negative beyond it.

        Args:
            read_times: past times read, relative to the step's start; shape (sites, batch).

        Returns:
            Distances, shape (sites, batch).
        """
        return jnp.where(self.rising, self.breaks - read_times, read_times - self.breaks)

    @property
    def any_crossed(self) -> Bool[Array, " batch"]:
        """Whether any event indicator turned negative in the step; shape (batch,)."""
        return jnp.any(self.wanted, axis=0)


def mode_indicators(
    problem: Problem, modes: Modes, y: Array, evaluation: Evaluation
) -> Float[Array, "indicators batch"]:
    """The indicators of lower bounds, upper bounds and guards, in this order; (indicators, batch).

    An indicator turns negative at an event. For a bound it is the distance of the component from
    the bound, in the component's unit; for an active bound, the outward part of dy/dt without
    bounds. For a guard it is the user's indicator, times -1 if `modes.above` is false.

    Args:
        problem: the batch, with its bounds.
        modes: active bounds and guard signs.
        y: state, shape (n, batch).
        evaluation: slopes and guards at this state.
    """
    values, (lower, upper) = bounded_components(y, problem.equation.bounded), problem.bounds
    below = jnp.where(modes.at_bound == -1, -evaluation.free, values - lower)
    outside = jnp.where(modes.at_bound == 1, evaluation.free, upper - values)
    unbounded = jnp.ones_like(values)
    below = jnp.where(jnp.isfinite(lower) & (modes.at_bound != 1), below, unbounded)
    outside = jnp.where(jnp.isfinite(upper) & (modes.at_bound != -1), outside, unbounded)
    sides = jnp.where(modes.above, evaluation.indicators, -evaluation.indicators)
    return jnp.concatenate([below, outside, sides])


def find_crossings(
    problem: Problem,
    context: StepContext,
    start_values: StartValues,
    trial: Trial,
    step: Float[Array, " batch"],
) -> Crossings:
    """The indicators of bounds, guards and breaking points that turned negative within a step.

    Args:
        problem: the batch.
        context: history and modes of the step.
        start_values: past times read, indicators and breaking points at its start.
        trial: the attempted step.
        step: its length, shape (batch,).

    Returns:
        Which they are, and the indicators at start, middle and end, divided by `Crossings.scale`.
    """
    assert context.interval is not None
    start, end, active_breaks = (
        start_values.read_times.times,
        trial.end.read_times,
        start_values.active_breaks,
    )
    modes = mode_indicators(problem, context.modes, trial.y, trial.end)
    # A read time that does not change counts as rising, whatever its rounding.
    rising = end - start >= -2 * problem.time_tolerance
    gap = jnp.maximum(jnp.abs(end - start), problem.time_tolerance)
    breaks = jnp.where(rising, context.interval.upper, context.interval.lower)
    levels = jnp.where(rising, active_breaks.upper_level, active_breaks.lower_level)
    # The derivative has one continuous derivative less than y; where y jumps, it jumps too.
    levels = jnp.where(trial.end.derivatives, jnp.maximum(levels, 0.0) - 1, levels)
    blank = jnp.zeros((0, *step.shape), step.dtype)
    crossings = Crossings(blank, blank, blank, None, blank, breaks, rising, levels)
    near = jnp.maximum(2 * problem.time_tolerance, BREAK_TOLERANCE * gap)
    wanted = jnp.concatenate([modes < 0, crossings.lags(end) <= near])
    scale = jnp.where(wanted, jnp.concatenate([jnp.abs(modes), gap]), 1.0)
    before = jnp.concatenate([start_values.indicators, crossings.lags(start)]) / scale
    after = jnp.concatenate([modes, crossings.lags(end)]) / scale
    crossings = crossings._replace(wanted=wanted, scale=scale, at_start=before, at_end=after)
    return crossings._replace(
        at_half=_half_way(problem, context, start_values, trial, crossings, step)
    )


def _half_way(
    problem: Problem,
    context: StepContext,
    start_values: StartValues,
    trial: Trial,
    crossings: Crossings,
    step: Array,
) -> Float[Array, "indicators batch"] | None:
    """The event indicators at the middle of a step, divided by `Crossings.scale`.

    If no indicator of the batch is near zero there, they are interpolated linearly instead of
    evaluated. The result is None without bounds and guards.

    Args:
        problem: the batch.
        context: history, and active bounds and guard signs, of the step.
        start_values: indicators at its start, and their change in the step before.
        trial: the attempted step.
        crossings: the indicators at its start and end, divided by their scale.
        step: its length, shape (batch,).
    """
    mode_count = crossings.mode_count()
    if not mode_count:
        return None
    frozen = jax.lax.stop_gradient((problem, context, trial, crossings, step / 2))
    crossings = frozen[3]
    start, end = (
        crossings.at_start[:mode_count] * crossings.scale[:mode_count],
        crossings.at_end[:mode_count] * crossings.scale[:mode_count],
    )
    variation = jnp.maximum(jnp.abs(end - start), jax.lax.stop_gradient(start_values.changes))
    near = jnp.any(jnp.minimum(start, end) < INDICATOR_RANGE * variation)

    # A loop and not `lax.cond`, whose branches XLA would give a copy of the ring.
    def evaluate(_: Any) -> tuple[Array, Array]:
        return _indicators(*frozen), jnp.zeros((), bool)

    mean = (crossings.at_start + crossings.at_end) / 2
    return jax.lax.while_loop(lambda state: state[1], evaluate, (mean, near))[0]


def _indicators(
    problem: Problem, context: StepContext, trial: Trial, crossings: Crossings, ahead: Array
) -> Float[Array, "indicators batch"]:
    """The event indicators at time `ahead` after a step's start, divided by `Crossings.scale`.

    Bounds and guards come first, breaking points last; shape (indicators, batch).

    Args:
        problem: the batch.
        context: history, and active bounds and guard signs, of the step.
        trial: the attempted step, whose dense output gives the state.
        crossings: the scale of each indicator, and the breaking points.
        ahead: time after the step's start, shape (batch,).
    """
    y = trial.piece.at(ahead)
    evaluation = evaluate_rhs(
        problem, context, EvaluationPoint(ahead, y, trial.piece, trial.end.rows), with_guards=True
    )
    modes = mode_indicators(problem, context.modes, y, evaluation)
    return jnp.concatenate([modes, crossings.lags(evaluation.read_times)]) / crossings.scale


class EventLocation(NamedTuple):
    """The first event of a step.

    Args:
        ahead: time from the step's start to the event, shape (batch,).
        which: the indicators that are zero at the event, shape (indicators, batch).
        breaks: whether the event is a lag that passes a break, shape (batch,).
        first: number of the indicator that is zero first, shape (batch,).
        break_at: time of the break that the lag passes, relative to the step's start; undefined if
            `breaks` is false; shape (batch,).
    """

    ahead: Float[Array, " batch"]
    which: Bool[Array, "indicators batch"]
    breaks: Bool[Array, " batch"]
    first: Int32[Array, " batch"]
    break_at: Float[Array, " batch"]


def locate(
    problem: Problem,
    context: StepContext,
    trial: Trial,
    crossings: Crossings,
    step: Float[Array, " batch"],
) -> EventLocation:
    """Find the first event of a step; undefined for instances without a crossing.

    Args:
        problem: the batch.
        context: history and modes of the step.
        trial: the attempted step.
        crossings: the indicators that turned negative in it.
        step: its length, shape (batch,).

    Returns:
        Time from the step's start to the event, and which indicators are zero there.
    """
    frozen = jax.lax.stop_gradient((problem, context, trial, crossings, step))

    def indicators(fraction: Array) -> Array:
        """The event indicators at a fraction of the step, divided by their scale.

        Indicators that did not turn negative have the value 1.
        """
        problem, context, trial, crossings, step = frozen
        values = _indicators(problem, context, trial, crossings, fraction * step)
        return jax.lax.stop_gradient(crossings.masked(values))

    half = None if crossings.at_half is None else crossings.masked(crossings.at_half)
    known = (crossings.masked(crossings.at_start), half, crossings.masked(crossings.at_end))
    fraction, roots = first_root(indicators, crossings.any_crossed, *jax.lax.stop_gradient(known))
    first = jnp.argmin(roots, axis=0).astype(jnp.int32)
    zero = roots <= jnp.min(roots, axis=0) + SIMULTANEOUS
    ahead = event_time(
        problem, context, trial, crossings, first, jax.lax.stop_gradient(fraction * step)
    )
    site = jnp.maximum(first - jnp.int32(crossings.mode_count()), jnp.int32(0))
    break_at = jnp.zeros_like(ahead)
    if crossings.breaks.shape[0]:
        break_at = jnp.take_along_axis(crossings.breaks, site[None], axis=0)[0]
    breaks = crossings.any_crossed & (first >= crossings.mode_count())
    return EventLocation(ahead, crossings.wanted & zero, breaks, first, break_at)


@jax.custom_jvp
def event_time(
    problem: Problem,
    context: StepContext,
    trial: Trial,
    crossings: Crossings,
    first: Array,
    ahead: Array,
) -> Float[Array, " batch"]:
    """The time `ahead` from a step's start to its event, with a derivative in all arguments.

    The derivative follows from the implicit function theorem: the indicator number `first` stays
    zero.
    """
    return ahead


@event_time.defjvp
def _event_time_jvp(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Array, Array]:
    """The time of an event and its derivative: minus the indicator's change over its speed.

    `primals` and `tangents` are the arguments of `event_time` and their derivatives.
    """
    *_, first, ahead = primals

    def indicator(*inputs: Any) -> Array:
        return jnp.take_along_axis(_indicators(*inputs), first[None], axis=0)[0]

    def at_time(ahead: Array) -> Array:
        return indicator(*primals[:4], ahead)

    def with_inputs(*inputs: Any) -> Array:
        return indicator(*inputs, ahead)

    _, speed = jax.jvp(at_time, (ahead,), (jnp.ones_like(ahead),))
    _, change = jax.jvp(with_inputs, primals[:4], tangents[:4])
    crosses = jnp.abs(speed) > 0
    return ahead, jnp.where(crosses, -change / jnp.where(crosses, speed, 1.0), 0.0)
