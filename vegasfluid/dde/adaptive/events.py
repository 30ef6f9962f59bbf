"""Events: where within a step a clamp is met or left, a switch changes, a lag passes a break.

An indicator is not negative while a step may go on as it began; a step at whose end one is
negative passed an event. Clamps, switches and the gates of the lags are frozen during a step, so
its dense output is smooth beyond the event, and cutting it there costs no accuracy.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int32

from vegasfluid.dde.adaptive.bounds import Modes, bounded_components
from vegasfluid.dde.adaptive.breaking_points import ActiveBreaks
from vegasfluid.dde.adaptive.history import EvaluationPoint
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
]

BREAK_TOLERANCE = 1e-9
"""A break that is no further ahead than this share of the way that a lag went has been passed."""
INDICATOR_RANGE = 2.0
"""An indicator that is as far from zero as this many times its change, in this step and in the one
before, is not looked at within the step."""


class HistoryReads(NamedTuple):
    """Past times that the right-hand side asked for at a step's start, and where they were.

    Args:
        times: after the step's start, shape (sites, batch).
        rows: of the ring, shape (sites, batch).
    """

    times: Float[Array, "sites batch"]
    rows: Int32[Array, "sites batch"]


class StartValues(NamedTuple):
    """What is known of a step's start.

    Args:
        read_times: past times that the right-hand side asked for.
        indicators: of clamps and switches, shape (indicators, batch).
        changes: by how much they changed in the step before; infinite after an event.
        active_breaks: where the asked times are among the breaks.
    """

    read_times: HistoryReads
    indicators: Float[Array, "indicators batch"]
    changes: Float[Array, "indicators batch"]
    active_breaks: ActiveBreaks


class Crossings(NamedTuple):
    """The indicators that turned negative within a step; modes first, then breaks.

    Args:
        wanted: which they are, shape (indicators, batch).
        scale: by how much they changed, shape (indicators, batch); 1 for the others.
        at_start: the indicators at the start of the step, as shares of the scale.
        at_half: the indicators half way; None where there are no clamps and switches.
        at_end: the indicators at its end.
        breaks: for each site the break ahead, after the step's start; (sites, batch).
        rising: for each site whether its time rises; (sites, batch).
        levels: smoothness of y at the break; (sites, batch).
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
        """Values of the indicators that turned negative; 1 for the others."""
        return jnp.where(self.wanted, values, 1.0)

    def kinds(self) -> int:
        """How many of the indicators are clamps and switches."""
        return self.wanted.shape[0] - self.breaks.shape[0]

    def among(self, which: Bool[Array, " batch"]) -> Crossings:
        """What some of the instances met."""
        return self._replace(wanted=self.wanted & which)

    def lags(self, read_times: Float[Array, "sites batch"]) -> Float[Array, "sites batch"]:
        """The indicators of breaks where the sites ask for these times."""
        return jnp.where(self.rising, self.breaks - read_times, read_times - self.breaks)

    @property
    def any_crossed(self) -> Bool[Array, " batch"]:
        """Which instances met any."""
        return jnp.any(self.wanted, axis=0)


def mode_indicators(
    problem: Problem, modes: Modes, y: Array, seen: Evaluation
) -> Float[Array, "indicators batch"]:
    """The indicators of clamps (lower bounds, upper bounds) and switches."""
    values, (lower, upper) = bounded_components(y, problem.equation.bounded), problem.bounds
    below = jnp.where(modes.held == -1, -seen.free, values - lower)
    outside = jnp.where(modes.held == 1, seen.free, upper - values)
    unbounded = jnp.ones_like(values)
    below = jnp.where(jnp.isfinite(lower) & (modes.held != 1), below, unbounded)
    outside = jnp.where(jnp.isfinite(upper) & (modes.held != -1), outside, unbounded)
    sides = jnp.where(modes.above, seen.indicators, -seen.indicators)
    return jnp.concatenate([below, outside, sides])


def find_crossings(
    problem: Problem,
    context: StepContext,
    start_values: StartValues,
    trial: Trial,
    step: Float[Array, " batch"],
) -> Crossings:
    """What an attempted step passed.

    Args:
        problem: the batch.
        context: what the step saw.
        start_values: how it began.
        trial: how it came out.
        step: its length.
    """
    assert context.interval is not None
    start, end, active_breaks = (
        start_values.read_times.times,
        trial.end.read_times,
        start_values.active_breaks,
    )
    modes = mode_indicators(problem, context.modes, trial.y, trial.end)
    rising, gap = end >= start, jnp.abs(end - start)
    breaks = jnp.where(rising, context.interval.upper, context.interval.lower)
    levels = jnp.where(rising, active_breaks.upper_level, active_breaks.lower_level)
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
    """The indicators half way; where none can have turned by then, thought to run straight."""
    kinds = crossings.kinds()
    if not kinds:
        return None
    frozen = jax.lax.stop_gradient((problem, context, trial, crossings, step / 2))
    crossings = frozen[3]
    start, end = (
        crossings.at_start[:kinds] * crossings.scale[:kinds],
        crossings.at_end[:kinds] * crossings.scale[:kinds],
    )
    variation = jnp.maximum(jnp.abs(end - start), jax.lax.stop_gradient(start_values.changes))
    near = jnp.any(jnp.minimum(start, end) < INDICATOR_RANGE * variation)

    # Not `lax.cond`: XLA would hand its branches a copy of the ring, and a loop it does not.
    def seen(_: Any) -> tuple[Array, Array]:
        return _indicators(*frozen), jnp.zeros((), bool)

    straight = (crossings.at_start + crossings.at_end) / 2
    return jax.lax.while_loop(lambda state: state[1], seen, (straight, near))[0]


def _indicators(
    problem: Problem, context: StepContext, trial: Trial, crossings: Crossings, ahead: Array
) -> Float[Array, "indicators batch"]:
    """The indicators some time into the step, as shares of their scale."""
    y = trial.piece.at(ahead)
    seen = evaluate_rhs(
        problem, context, EvaluationPoint(ahead, y, trial.piece, trial.end.rows), with_guards=True
    )
    modes = mode_indicators(problem, context.modes, y, seen)
    return jnp.concatenate([modes, crossings.lags(seen.read_times)]) / crossings.scale


class EventLocation(NamedTuple):
    """The first event of a step.

    Args:
        ahead: time from the step's start to the event, shape (batch,).
        which: the indicators that are zero there, shape (indicators, batch).
        breaks: whether a break is the first of them, shape (batch,).
        first: the lowest of the indicators there, shape (batch,).
        break_at: the break, if it is one, after the step's start, shape (batch,).
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
    """Find the first event of a step; meaningless where none was met."""
    frozen = jax.lax.stop_gradient((problem, context, trial, crossings, step))

    def indicators(share: Array) -> Array:
        problem, context, trial, crossings, step = frozen
        values = _indicators(problem, context, trial, crossings, share * step)
        return jax.lax.stop_gradient(crossings.masked(values))

    half = None if crossings.at_half is None else crossings.masked(crossings.at_half)
    known = (crossings.masked(crossings.at_start), half, crossings.masked(crossings.at_end))
    share, roots = first_root(indicators, crossings.any_crossed, *jax.lax.stop_gradient(known))
    first = jnp.argmin(roots, axis=0).astype(jnp.int32)
    zero = roots <= jnp.min(roots, axis=0) + SIMULTANEOUS
    ahead = event_time(
        problem, context, trial, crossings, first, jax.lax.stop_gradient(share * step)
    )
    site = jnp.maximum(first - jnp.int32(crossings.kinds()), jnp.int32(0))
    break_at = jnp.zeros_like(ahead)
    if crossings.breaks.shape[0]:
        break_at = jnp.take_along_axis(crossings.breaks, site[None], axis=0)[0]
    breaks = crossings.any_crossed & (first >= crossings.kinds())
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
    """The time of the event `first`, found to be `ahead`: with its derivative.

    By the implicit function theorem: the indicator stays zero.
    """
    return ahead


@event_time.defjvp
def _event_time_jvp(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Array, Array]:
    *_, first, ahead = primals

    def chosen(*tree: Any) -> Array:
        return jnp.take_along_axis(_indicators(*tree), first[None], axis=0)[0]

    def of_time(ahead: Array) -> Array:
        return chosen(*primals[:4], ahead)

    def of_all(*tree: Any) -> Array:
        return chosen(*tree, ahead)

    _, speed = jax.jvp(of_time, (ahead,), (jnp.ones_like(ahead),))
    _, change = jax.jvp(of_all, primals[:4], tangents[:4])
    crosses = jnp.abs(speed) > 0
    return ahead, jnp.where(crosses, -change / jnp.where(crosses, speed, 1.0), 0.0)
